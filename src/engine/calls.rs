//! Owns calls: everything that costs money or touches the world, recorded before and after, never made again once it ended well.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::context::{StepContext, lost, store_fault};
use super::journal::Lost;
use super::values::ValueCall;
use crate::model::{Id, Timestamp};
use crate::model::budget::Cut;
use crate::model::chat::{Message, Tokens, ToolCall};
use crate::model::event::{
    CallFinished, CallKind, CallOutcome, CallStarted, DoubtAction, Event, Fault, FaultCode, PartHash, ToolOutcome,
};
use crate::model::run::{Call, Finished};
use crate::model::usage::Usage;
use crate::sync::Mutex;
use crate::providers::{Provider as _, ChatReply, ChatRequest, Delta, Finish, ProviderFailure};
use crate::tools::{BoundTool, Caller, Spent, ToolReply};

/// A model call.
#[derive(Debug)]
pub struct ModelCall {
    /// `chat` or `summarize`.
    pub name: &'static str,
    /// The provider's id.
    pub provider: String,
    /// What it is asked.
    pub request: ChatRequest,
    /// Who hears the text while it comes.
    pub tell: Tell,
}

/// A conversation that is about to be begun.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// The messages.
    pub messages: Vec<Message>,
    /// What was cut to its budget in them.
    pub cuts: Vec<Cut>,
    /// Of the summariser: the messages that its answer will stand for.
    pub covers: Vec<Id>,
}

/// Who hears a model's text while it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// Nobody.
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
    /// Its message.
    pub message: Message,
    /// Its structured answer, when the provider speaks that natively.
    pub structured: Option<Value>,
    /// Why it ended.
    pub finish: Finish,
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
    #[must_use]
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
            wanted.iter().map(|hash| crate::store::parts::part(tx, &tenant, hash)).collect::<Result<Vec<_>, _>>()
        };
        let texts = self.world().store.read(read).await.map_err(|error| store_fault(&error))?;
        texts
            .into_iter()
            .map(|text| {
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
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn answer(&self, key: &str) -> Result<Option<ModelAnswer>, Fault> {
        let Some(done) = self.done(key) else { return Ok(None) };
        let CallOutcome::Message(part) = &done.outcome else { return Ok(None) };
        let message = self.messages(std::slice::from_ref(part)).await?.pop();
        let message = message.ok_or_else(|| Fault::new(FaultCode::Internal, "a recorded answer is missing"))?;
        Ok(Some(ModelAnswer { message, structured: done.structured, finish: finish_of(done.finish.as_deref()) }))
    }

    /// Messages that a summary of this step stands for.
    #[must_use]
    pub fn covers(&self) -> Vec<Id> {
        self.open(|step| step.covers.clone()).unwrap_or_default()
    }

    /// Asks a model, or gives back what it answered before.
    ///
    /// # Errors
    /// The provider's failure; a cancel; the store.
    pub async fn model(&self, key: &str, call: ModelCall) -> Result<ModelAnswer, Fault> {
        if let Some(answer) = self.answer(key).await? {
            return Ok(answer);
        }
        let ModelCall { name, provider, mut request, tell } = call;
        let asker: Option<Arc<str>> = request.asker.node_id.as_deref().map(Arc::from);
        if let Some(asker) = &asker {
            let used = self.journal().with(|run| run.scripted.get(asker).cloned()).unwrap_or_default();
            (request.asker.calls_before, request.asker.replies_used) = (used.calls, used.replies);
        }
        request.asker.run = self.run().id.to_string();
        request.asker.tenant = self.run().tenant.to_string();
        let prompt = self.keep(&request.messages)?;
        self.record(Event::CallStarted(Box::new(CallStarted {
            step: self.step(),
            key: key.to_owned(),
            kind: CallKind::Model,
            span: self.world().clock.id(),
            name: name.to_owned(),
            call_id: None,
            arguments: None,
            repeatable: true,
            streams: tell != Tell::Silent,
            provider: Some(provider.clone()),
            model: Some(request.model.clone()),
            prompt,
            asker,
        })))?;
        self.journal().durable().await.map_err(|Lost| lost())?;
        let (started, began) = (Instant::now(), self.world().clock.now());
        let spent = Mutex::new(None);
        let result = tokio::select! {
            result = self.ask(&provider, &request, tell, &spent) => result,
            () = self.cancelled().cancelled() => {
                let cut = ProviderFailure::new(FaultCode::Cancelled, "the call was cut short");
                let Some(tokens) = *spent.lock() else { return Err(cut.fault) };
                Err(ProviderFailure { tokens: Some(tokens), ..cut })
            }
        };
        self.answered(key, &provider, &request.model, result, (began, started.elapsed()))
    }

    async fn ask(&self, provider: &str, request: &ChatRequest, tell: Tell, spent: &Mutex<Option<Tokens>>) -> Result<ChatReply, ProviderFailure> {
        let provider = self.world().providers.get(provider)?;
        let (journal, lane, step) = (self.journal(), self.lane(), self.step());
        let hear = |delta: Delta| match (delta, tell) {
            (Delta::Text(text), Tell::Tokens { publish_reply }) if !text.is_empty() => journal.token(lane, step, publish_reply, &text),
            (Delta::Text(_) | Delta::Reasoning(_), Tell::Silent | Tell::Tokens { .. }) => {}
            (Delta::Spent(tokens), Tell::Silent | Tell::Tokens { .. }) => *spent.lock() = Some(tokens),
        };
        provider.chat(request, &hear).await
    }

    fn answered(
        &self,
        key: &str,
        provider: &str,
        model: &str,
        result: Result<ChatReply, ProviderFailure>,
        (began, took): (Timestamp, Duration),
    ) -> Result<ModelAnswer, Fault> {
        let finished = |outcome, usage| CallFinished {
            step: self.step(),
            key: key.to_owned(),
            outcome,
            usage,
            duration_ms: millis(took),
            reply_index: None,
            structured: None,
            finish: None,
        };
        match result {
            Ok(reply) => {
                let reply = reply.storable();
                let part = self.keep(std::slice::from_ref(&reply.message))?.pop();
                let part = part.ok_or_else(|| Fault::new(FaultCode::Internal, "an answer has no JSON form"))?;
                let mut call = finished(CallOutcome::Message(part), Some(self.meter(provider, model, reply.tokens, began)));
                call.reply_index = reply.reply_index;
                call.structured.clone_from(&reply.structured);
                call.finish = Some(finish_name(reply.finish).to_owned());
                self.record(Event::CallFinished(Box::new(call)))?;
                Ok(ModelAnswer { message: reply.message, structured: reply.structured, finish: reply.finish })
            }
            Err(failure) => {
                let usage = failure.tokens.map(|tokens| self.meter(provider, model, Some(tokens), began));
                let mut call = finished(CallOutcome::Failed(failure.fault.clone()), usage);
                call.reply_index = failure.reply_index;
                self.record(Event::CallFinished(Box::new(call)))?;
                Err(failure.fault)
            }
        }
    }

    /// The exact cost of a report; without one, or without a price, the call counts as unpriced.
    pub(super) fn meter(&self, provider: &str, model: &str, tokens: Option<Tokens>, began: Timestamp) -> Usage {
        let Some(tokens) = tokens else { return Usage { unpriced: true, ..Usage::default() } };
        match self.world().prices.lookup(provider, model, began) {
            Some(price) => Usage { tokens, cost: price.cost(&tokens), unpriced: false },
            None => Usage { tokens, unpriced: true, ..Usage::default() },
        }
    }

    /// Tells readers which tools the model asks for; each call once.
    ///
    /// # Errors
    /// When the run is lost.
    pub async fn announce_tools(&self, calls: &[ToolCall], parent: Option<&str>) -> Result<(), Fault> {
        let known = self.open(|step| step.announced.clone()).unwrap_or_default();
        let calls: Vec<ToolCall> = calls.iter().filter(|call| !known.contains(&call.id)).cloned().collect();
        if calls.is_empty() {
            return Ok(());
        }
        self.record(Event::ToolsCalled { step: self.step(), calls, parent_call_id: parent.map(str::to_owned) })
    }

    /// Runs a tool, or gives back what it gave before.
    ///
    /// # Errors
    /// A cancel or the store; a tool's own failure is a result.
    pub async fn tool(&self, call: &ToolCall, tool: &BoundTool, parent: Option<&str>) -> Result<ToolOutcome, Fault> {
        let key = format!("tool:{}", call.id);
        if let Some(done) = self.done(&key)
            && let CallOutcome::Tool(outcome) = done.outcome
        {
            return Ok(outcome);
        }
        if let Some(outcome) = self.unknown(&key, call, parent) {
            return self.tool_ended(&key, outcome, Duration::ZERO);
        }
        self.record(Event::CallStarted(Box::new(CallStarted {
            step: self.step(),
            key: key.clone(),
            kind: CallKind::Tool,
            span: self.world().clock.id(),
            name: call.name.clone(),
            call_id: Some(call.id.clone()),
            arguments: Some(call.arguments.clone()),
            repeatable: tool.idempotent,
            streams: false,
            provider: None,
            model: None,
            prompt: Vec::new(),
            asker: None,
        })))?;
        self.journal().durable().await.map_err(|Lost| lost())?;
        let started = Instant::now();
        let (outcome, spent) = self.invoke(call, tool, parent).await;
        let (cut, took) = (outcome.is_error && self.cancelled().is_cancelled(), started.elapsed());
        if let Some(Spent { provider, model, tokens }) = spent {
            let embedding = ValueCall { kind: CallKind::Embedding, name: "embed", metered: Some((provider, model)) };
            self.value(&format!("{key}/embed"), embedding, async { Ok((Value::Null, tokens)) }).await?;
        }
        let outcome = self.tool_ended(&key, outcome, took)?;
        if cut { Err(Fault::new(FaultCode::Cancelled, "the call was cut short")) } else { Ok(outcome) }
    }

    /// A call that was cut in mid air earlier: a person's word, or never again.
    fn unknown(&self, key: &str, call: &ToolCall, parent: Option<&str>) -> Option<ToolOutcome> {
        let (open, doubt) = self.open(|step| (step.calls.get(key).cloned(), step.doubts.get(&call.id).cloned()))?;
        let Call::Open(open) = open? else { return None };
        let outcome = |result: String, is_error, skipped| ToolOutcome {
            call_id: call.id.clone(),
            name: call.name.clone(),
            inputs: call.arguments.clone(),
            result,
            is_error,
            skipped,
            abandoned: false,
            unreached: false,
            parent_call_id: parent.map(str::to_owned),
        };
        match doubt {
            Some(answer) => match answer.action {
                DoubtAction::Rerun => None,
                DoubtAction::Skip => Some(outcome("The call was skipped; it is not known whether it ran.".into(), false, true)),
                DoubtAction::Use => Some(outcome(answer.result.unwrap_or_default(), false, false)),
            },
            None if open.repeatable => None,
            None => Some(outcome("The call was cut short; it is not known whether it ran, so it was not repeated.".into(), true, false)),
        }
    }

    async fn invoke(&self, call: &ToolCall, tool: &BoundTool, parent: Option<&str>) -> (ToolOutcome, Option<Spent>) {
        let facts = self.run();
        let caller = Caller {
            run: facts.id,
            node_id: Arc::clone(&self.node().id),
            tenant: Arc::clone(&facts.tenant),
            user: facts.user.clone(),
        };
        let invocation = tool.invocation(call, &caller);
        let (reply, abandoned) = tokio::select! {
            reply = tool.answer(invocation) => (reply, false),
            () = self.cancelled().cancelled() => (ToolReply::error("the run was ended; the call was abandoned"), true),
        };
        let reply = reply.capped(self.world().result_bytes());
        let outcome = ToolOutcome {
            call_id: call.id.clone(),
            name: call.name.clone(),
            inputs: call.arguments.clone(),
            result: reply.text,
            is_error: reply.is_error,
            skipped: false,
            abandoned,
            unreached: reply.unreached,
            parent_call_id: parent.map(str::to_owned),
        };
        (outcome, reply.spent)
    }

    /// Gives a model a result without running anything.
    ///
    /// # Errors
    /// When the run is lost.
    pub async fn refuse_tool(&self, call: &ToolCall, text: &str, skipped: bool, parent: Option<&str>) -> Result<ToolOutcome, Fault> {
        let key = format!("tool:{}", call.id);
        if let Some(done) = self.done(&key)
            && let CallOutcome::Tool(outcome) = done.outcome
        {
            return Ok(outcome);
        }
        let outcome = ToolOutcome {
            call_id: call.id.clone(),
            name: call.name.clone(),
            inputs: call.arguments.clone(),
            result: text.to_owned(),
            is_error: !skipped,
            skipped,
            abandoned: false,
            unreached: false,
            parent_call_id: parent.map(str::to_owned),
        };
        self.tool_ended(&key, outcome, Duration::ZERO)
    }

    fn tool_ended(&self, key: &str, outcome: ToolOutcome, took: Duration) -> Result<ToolOutcome, Fault> {
        self.record(Event::CallFinished(Box::new(CallFinished {
            step: self.step(),
            key: key.to_owned(),
            outcome: CallOutcome::Tool(outcome.clone()),
            usage: None,
            duration_ms: millis(took),
            reply_index: None,
            structured: None,
            finish: None,
        })))?;
        Ok(outcome)
    }
}

pub(super) fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

const fn finish_name(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
    }
}

fn finish_of(name: Option<&str>) -> Finish {
    match name {
        Some("tool_calls") => Finish::ToolCalls,
        Some("length") => Finish::Length,
        Some("content_filter") => Finish::ContentFilter,
        Some(_) | None => Finish::Stop,
    }
}
