//! Owns model calls: recorded before and after, never repeated after success; and the start of conversations.

mod context_spans;
pub(in crate::engine) mod embeddings_and_searches;
pub(in crate::engine) mod endings;
pub(in crate::engine) mod fallbacks;
mod files;
mod in_doubt;
pub(in crate::engine) mod tool_calls;

use std::sync::{Arc, OnceLock};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use self::fallbacks::{Candidate, InTurn};
use self::files::Ready;
use crate::engine::drive::advance::log_too_large;
use crate::engine::drive::context::{StepContext, cut_short, lost, store_fault};

use crate::engine::log::journal::{Lost, PendingText};
use crate::model::agent::OnLength;
use crate::model::truncation::Cut;
use crate::model::chat::{Message, Tokens};
use crate::model::event::{AskedWith, CallFinished, CallKind, CallOutcome, CallStarted, CostSource, Event, Fault, FaultCode, PartHash, Warning};
use crate::model::run::{Call, Finished};
use crate::model::usage::{Picos, Usage};
use crate::model::{Id, Timestamp};
use crate::providers::prompt_cache_key::Conversation;
use crate::providers::{anthropic, bedrock, host, responses};
use crate::providers::{ChatReply, ChatRequest, Delta, Finish, Provider as _, ProviderFailure};
use crate::sync::Mutex;

/// The currency of costs that providers report.
const DOLLARS: &str = "USD";

#[derive(Debug)]
pub struct ModelCall {
    /// `chat` or `summarize`.
    pub name: &'static str,
    /// The provider's id.
    pub provider: String,
    /// What it is asked.
    pub request: ChatRequest,
    /// The receiver of streamed text.
    pub tell: Tell,
    /// What becomes of an answer that is cut at its token limit.
    pub on_length: OnLength,
    /// Who is asked when it does not answer, in this order.
    pub others: Vec<Candidate>,
    /// What people should know of it before it is made.
    pub warnings: Vec<Warning>,
}

/// A conversation that is about to be begun.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    pub messages: Vec<Message>,
    /// What was cut to its budget in them.
    pub cuts: Vec<Cut>,
    /// Of the summariser: the messages that its answer will stand for.
    pub covers: Vec<Id>,
}

/// The receiver of a model's streamed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// None.
    Silent,
    /// Readers of the run.
    Tokens {
        /// The text is meant for the chat user.
        publish_reply: bool,
    },
}

/// What a model answered, now or before.
#[derive(Clone, Debug)]
pub struct ModelAnswer {
    pub message: Message,
    /// Its structured answer, when the provider speaks that natively.
    pub structured: Option<Value>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of what it was sent, when the provider reported them.
    pub prompt_tokens: Option<u64>,
}

/// Tokens of what a model was sent, as they are recorded: of several requests for one answer those of the last.
fn reported(usage: &Usage, last_prompt: Option<u64>) -> Option<u64> {
    Some(last_prompt.unwrap_or(usage.tokens.prompt)).filter(|tokens| *tokens > 0)
}

/// What a call has reported so far.
#[derive(Default)]
struct CallProgress {
    /// What it took so far.
    spent: Mutex<Option<Tokens>>,
    /// How long it waited for room at its provider.
    waited_ms: AtomicU64,
    /// Its provider was asked.
    made: AtomicBool,
    /// Readers received some of its text.
    published: AtomicBool,
    /// How long its first piece took.
    first_piece_ms: OnceLock<u64>,
}

/// What is known of a call beside its result.
struct CallDetails<'a> {
    began: Timestamp,
    took: Duration,
    heard: CallProgress,
    warnings: Vec<Warning>,
    turn: Option<&'a InTurn<'a>>,
    /// Files that are stored with it.
    ready: Ready,
}

impl StepContext {
    /// The conversation that the step begins with: built once, read back when the step is entered again.
    ///
    /// # Errors
    /// What building fails with, or the store.
    pub async fn prompt(&self, name: &str, build: impl Future<Output = Result<Prompt, Fault>> + Send) -> Result<Vec<Message>, Fault> {
        if let Some(parts) = self.open(|step| step.prompts.get(name).cloned()).flatten() {
            return self.messages(&parts).await;
        }
        let Prompt { messages, cuts, covers } = build.await?;
        self.measure_cuts(name, &cuts)?;
        let parts = self.keep(&messages)?;
        self.record(Event::PromptBuilt { step: self.step(), prompt: name.to_owned(), parts, covers })?;
        Ok(messages)
    }

    /// That prompt was built before.
    pub fn has_prompt(&self, name: &str) -> bool {
        self.open(|step| step.prompts.contains_key(name)).unwrap_or(false)
    }

    fn keep(&self, messages: &[Message]) -> Result<Vec<PartHash>, Fault> {
        messages
            .iter()
            .map(|message| {
                let text = serde_json::to_string(message)
                    .map_err(|error| Fault::new(FaultCode::Internal, format!("a message has no JSON form: {error}")))?;
                Ok(self.journal().part(text.into()))
            })
            .collect()
    }

    async fn messages(&self, parts: &[PartHash]) -> Result<Vec<Message>, Fault> {
        self.journal().durable().await.map_err(|Lost| lost())?;
        let (tenant, wanted) = (Arc::clone(&self.run().tenant), parts.to_vec());
        let read = move |tx: &mut crate::store::Tx<'_>| {
            wanted.iter().map(|hash| crate::store::log::parts::part(tx, &tenant, hash)).collect::<Result<Vec<_>, _>>()
        };
        let texts = self.world().store.read(read).await.map_err(|error| store_fault(&error))?;
        texts
            .into_iter()
            .zip(parts)
            .map(|(text, hash)| {
                let text = self.journal().masking().original(hash).or(text);
                let text = text.ok_or_else(|| Fault::new(FaultCode::Internal, "a stored message is missing"))?;
                serde_json::from_str(&text)
                    .map_err(|error| Fault::new(FaultCode::Internal, format!("a stored message is unreadable: {error}")))
            })
            .collect()
    }

    pub(super) fn done(&self, key: &str) -> Option<Finished> {
        self.open(|step| match step.calls.get(key) {
            Some(Call::Done(done)) => Some((**done).clone()),
            Some(Call::Open(_)) | None => None,
        })
        .flatten()
    }

    /// What a model answered to that call of this step, if it did.
    pub async fn answer(&self, key: &str) -> Result<Option<ModelAnswer>, Fault> {
        let Some(done) = self.done(key) else { return Ok(None) };
        let CallOutcome::Message(part) = &done.outcome else { return Ok(None) };
        let message = self.messages(std::slice::from_ref(part)).await?.pop();
        let message = message.ok_or_else(|| Fault::new(FaultCode::Internal, "a recorded answer is missing"))?;
        let finish = done.finish.as_deref().map_or(Finish::Stop, Finish::named);
        Ok(Some(ModelAnswer { message, structured: done.structured, finish, prompt_tokens: done.usage.as_ref().and_then(|usage| reported(usage, done.last_prompt)) }))
    }

    /// Messages that a summary of this step stands for.
    pub fn covers(&self) -> Vec<Id> {
        self.open(|step| step.covers.clone()).unwrap_or_default()
    }

    /// Asks a model, or gives back what it answered before.
    ///
    /// # Errors
    /// The provider's failure; a cancel; the store.
    pub async fn model(&self, key: &str, mut call: ModelCall) -> Result<ModelAnswer, Fault> {
        if let Some(answer) = self.answer(key).await? {
            return Ok(answer);
        }
        if call.others.is_empty() { self.ask_one(key, &mut call, None).await } else { Box::pin(self.ask_in_turn(key, call)).await }
    }

    /// Makes one call of one model.
    async fn ask_one(&self, key: &str, call: &mut ModelCall, turn: Option<&InTurn<'_>>) -> Result<ModelAnswer, Fault> {
        self.may_call()?;
        self.journal().with(|run| log_too_large(self.world(), run)).map_or(Ok(()), Err)?;
        call.request.stream = self.world().providers.streams(&call.provider);
        leave_out_foreign(&call.provider, &mut call.request);
        let conversation = Conversation { tenant: &self.run().tenant, entity: self.run().entity_id, thread: self.run().thread };
        let mut warnings = std::mem::take(&mut call.warnings);
        warnings.extend(self.world().providers.fit(&call.provider, &mut call.request, &conversation, self.world().clock.now()));
        warnings.extend(turn.and_then(InTurn::warning));
        let span = self.begin_call(key, call)?;
        self.journal().durable().await.map_err(|Lost| lost())?;
        let (started, began) = (Instant::now(), self.world().clock.now());
        let heard = CallProgress::default();
        let result = match self.may_call() {
            Err(cut) => Err(cut.into()),
            Ok(()) => tokio::select! {
                biased;
                result = self.ask(call, &heard) => result,
                () = self.cancelled().cancelled() => Err(ProviderFailure { tokens: *heard.spent.lock(), cut: heard.made.load(Ordering::Relaxed), ..cut_short().into() }),
            },
        };
        let took = started.elapsed();
        let (result, ready) = match result {
            Ok(mut reply) if !reply.files.is_empty() => {
                let ready = Box::pin(self.keep_made(&mut reply)).await;
                (Ok(reply), ready)
            }
            result => (result, Ready::default()),
        };
        if self.world().observer.wants_content() {
            let answer = result.as_ref().ok().map(|reply| reply.message.clone());
            self.journal().watch().hear(span, std::mem::take(&mut call.request.messages), answer);
        }
        self.answered(key, call, result, CallDetails { began, took, heard, warnings, turn, ready })
    }

    /// Records that a model is about to be asked; the span of the call.
    fn begin_call(&self, key: &str, call: &mut ModelCall) -> Result<Id, Fault> {
        let ModelCall { name, provider, request, tell, on_length: _, others: _, warnings: _ } = call;
        let asker: Option<Arc<str>> = request.asker.node_id.as_deref().map(Arc::from);
        if let Some(asker) = &asker {
            let used = self.journal().with(|run| run.scripted.get(asker).cloned()).unwrap_or_default();
            (request.asker.calls_before, request.asker.replies_used) = (used.calls, used.replies);
        }
        request.asker.run = self.run().id.to_string();
        request.asker.tenant = self.run().tenant.to_string();
        let (prompt, span) = (self.keep(&request.messages)?, self.world().clock.id());
        self.record(Event::CallStarted(Arc::new(CallStarted {
            step: self.step(),
            key: key.to_owned(),
            kind: CallKind::Model,
            span,
            name: (*name).to_owned(),
            call_id: None,
            arguments: None,
            repeatable: true,
            streams: *tell != Tell::Silent,
            provider: Some(provider.clone()),
            model: Some(request.model.clone()),
            prompt,
            options: request.parameters.provider_options.clone(),
            parameters: AskedWith::of(&request.parameters),
            asker,
        })))?;
        request.asker.trace = self.onward(span);
        Ok(span)
    }

    async fn ask(&self, call: &ModelCall, heard: &CallProgress) -> Result<ChatReply, ProviderFailure> {
        let provider = self.world().providers.get(&call.provider)?;
        let (journal, lane, step) = (self.journal(), self.lane(), self.step());
        let (masked, held, thoughts) = (journal.masking().is_on(), Mutex::new(String::new()), Mutex::new(String::new()));
        let (said, silent, blind) = (PendingText::default(), call.tell == Tell::Silent, !call.request.parameters.shows_reasoning());
        let tell = |thought: bool, text: &str| {
            if let Tell::Tokens { publish_reply } = call.tell
                && !text.is_empty()
            {
                heard.published.fetch_or(!thought, Ordering::Relaxed);
                journal.token(lane, step, (publish_reply, thought), text);
            }
        };
        // What a played model takes says nothing.
        let (began, timed) = (Instant::now(), self.world().providers.kind(&call.provider) != "script");
        let first = |delta: &Delta| {
            if timed && matches!(delta, Delta::Text(_) | Delta::Reasoning(_)) {
                heard.first_piece_ms.get_or_init(|| millis(began.elapsed()).saturating_sub(heard.waited_ms.load(Ordering::Relaxed)));
            }
        };
        let hear = |delta: Delta| match delta {
            Delta::Text(_) | Delta::Reasoning(_) if silent => {}
            Delta::Reasoning(_) if blind => {}
            Delta::Reasoning(text) if masked => said.push(true, journal.unheld(&thoughts, &text)),
            Delta::Reasoning(text) => said.push(true, text),
            Delta::Text(text) if masked => said.push(false, journal.unheld(&held, &text)),
            Delta::Text(text) => said.push(false, text),
            Delta::Spent(tokens) => *heard.spent.lock() = Some(tokens),
            Delta::Made => heard.made.store(true, Ordering::Relaxed),
            Delta::Waited(time) => heard.waited_ms.store(millis(time).max(1), Ordering::Relaxed),
        };
        let hear = |delta: Delta| {
            first(&delta);
            hear(delta);
        };
        let reply = journal.at_pace(provider.chat(&call.request, &hear), &said, tell).await;
        tell(true, &journal.rest_of(&thoughts));
        tell(false, &journal.rest_of(&held));
        reply
    }

    fn answered(
        &self,
        key: &str,
        asked: &ModelCall,
        result: Result<ChatReply, ProviderFailure>,
        around: CallDetails<'_>,
    ) -> Result<ModelAnswer, Fault> {
        let (began, waited_ms) = (around.began, around.heard.waited_ms.load(Ordering::Relaxed));
        let instead = |fault: &Fault| around.turn?.next(fault, around.heard.published.load(Ordering::Relaxed));
        let finished = |outcome, usage| CallFinished {
            warnings: around.warnings.clone(),
            waited_ms: (waited_ms > 0).then_some(waited_ms),
            first_piece_ms: around.heard.first_piece_ms.get().copied(),
            ..CallFinished::new(self.step(), key, outcome, usage, millis(around.took).saturating_sub(waited_ms))
        };
        let (provider, model) = (&asked.provider, &asked.request.model);
        match result {
            Ok(reply) => {
                let mut reply = reply.storable();
                if let Some(blocks) = &mut reply.message.blocks {
                    blocks.by = Some(maker(provider, model));
                }
                let refused = endings::judge(asked, &mut reply);
                let outcome = match &refused {
                    Some(fault) => CallOutcome::Failed(fault.clone()),
                    None => {
                        let part = self.keep(std::slice::from_ref(&reply.message))?.pop();
                        CallOutcome::Message(part.ok_or_else(|| Fault::new(FaultCode::Internal, "an answer has no JSON form"))?)
                    }
                };
                let (usage, source) = self.cost(provider, model, (reply.tokens, reply.cost), began);
                let mut call = finished(outcome, Some(usage));
                (call.cost_source, call.last_prompt) = (Some(source), reply.last_prompt);
                (call.response_id, call.response_model) = (reply.named.id.clone(), reply.named.model.clone());
                call.sources = if refused.is_none() { reply.message.sources() } else { Vec::new() };
                if refused.is_none() {
                    call.files.clone_from(&around.ready.files);
                    self.attach(around.ready);
                }
                call.reply_index = reply.reply_index;
                call.structured = reply.structured.clone().filter(|_| refused.is_none());
                call.finish = Some(reply.finish.as_str().to_owned());
                call.warnings.extend(reply.warnings);
                self.record_failed(Event::CallFinished(Box::new(call)), refused.as_ref().and_then(instead))?;
                let prompt_tokens = reported(&usage, reply.last_prompt);
                let answer = ModelAnswer { message: reply.message, structured: reply.structured, finish: reply.finish, prompt_tokens };
                refused.map_or(Ok(answer), Err)
            }
            Err(failure) => {
                let spent = failure.tokens.is_some() || failure.cost.is_some() || failure.cut;
                let (usage, source) = spent.then(|| self.cost(provider, model, (failure.tokens, failure.cost), began)).unzip();
                let mut call = finished(CallOutcome::Failed(failure.fault.clone()), usage);
                call.cost_source = source;
                call.reply_index = failure.reply_index;
                self.record_failed(Event::CallFinished(Box::new(call)), instead(&failure.fault))?;
                Err(failure.fault)
            }
        }
    }

    /// What a call took by its report, and who says so: the provider's own figure wins over the table.
    fn cost(&self, provider: &str, model: &str, (tokens, cost): (Option<Tokens>, Option<Picos>), began: Timestamp) -> (Usage, CostSource) {
        let usage = self.meter(provider, model, tokens, began);
        match cost.filter(|_| self.world().prices.currency() == DOLLARS) {
            Some(cost) => (Usage { cost, unpriced: false, ..usage }, CostSource::Provider),
            None if usage.unpriced => (usage, CostSource::None),
            None => (usage, CostSource::Table),
        }
    }

    /// What a call took by its report.
    pub(super) fn meter(&self, provider: &str, model: &str, tokens: Option<Tokens>, began: Timestamp) -> Usage {
        self.world().prices.meter(provider, model, tokens, began)
    }
}

fn maker(provider: &str, model: &str) -> String {
    format!("{provider}/{model}")
}

/// What one provider or model signed or encrypted for itself another one refuses: such messages go as text and calls alone.
fn leave_out_foreign(provider: &str, request: &mut ChatRequest) {
    let own = maker(provider, &request.model);
    for message in &mut request.messages {
        message.blocks.take_if(|blocks| {
            let closed = [responses::FAMILY, anthropic::FAMILY, bedrock::FAMILY, host::FAMILY].contains(&blocks.family.as_str());
            closed && blocks.by.as_ref().is_some_and(|by| *by != own)
        });
    }
}

pub(super) fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
