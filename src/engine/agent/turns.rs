//! Owns the turns of an agent: model call and tool calls, until an answer without calls or a pause.

use std::collections::{BTreeMap, HashMap};

use futures_util::{StreamExt, stream};

use super::approval::{self, CallDecision, Planned};
use super::binding::{Bound, ToolTable};
use super::find_tools;
use super::ids::CallIds;
use super::inside_turn::Room;
use super::limit::ANSWER_NOW;
use super::media::{self, Files};
use super::profile::Profile;
use super::structured::Shape;
use super::{SUMMARIZE, memory, specialist, words};
use crate::engine::calls::tool_calls::ToolEnd;
use crate::engine::calls::{ModelAnswer, ModelCall, Tell};
use crate::engine::drive::context::StepContext;
use crate::model::agent::{Parameters, ToolChoice};
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::parts::File;
use crate::model::event::{Fault, FaultCode, OWN_MODEL, PauseReason, ToolOutcome, Warning};
use crate::providers::{Asker, ChatRequest, Media};

/// Calls of one turn that run at the same time.
const AT_ONCE: usize = 8;

/// The position of an agent's conversation in a step.
pub(in crate::engine) struct Scope {
    /// The call that a specialist answers; none for the step's own agent.
    pub(super) parent: Option<String>,
    tell: Tell,
}

impl Scope {
    /// The node's own agent or model.
    pub(in crate::engine) const fn step(streams: bool, publish_reply: bool) -> Self {
        let tell = if streams { Tell::Tokens { publish_reply } } else { Tell::Silent };
        Self { parent: None, tell }
    }

    /// The specialist that answers a call.
    pub(super) const fn specialist(call_id: String) -> Self {
        Self { parent: Some(call_id), tell: Tell::Silent }
    }

    /// The key of the n-th model call: the same when the step is entered again.
    pub(super) fn model_key(&self, number: u32) -> String {
        match &self.parent {
            Some(parent) => format!("{parent}/model:{number}"),
            None => format!("{OWN_MODEL}{number}"),
        }
    }

    /// The key of the summary that is made before the n-th model call.
    pub(super) fn summary_key(&self, number: u32, at: &str) -> String {
        match &self.parent {
            Some(parent) => format!("{parent}/{SUMMARIZE}:{number}/{at}"),
            None => format!("{SUMMARIZE}:{number}/{at}"),
        }
    }
}

/// One who speaks with a model inside a step.
pub(in crate::engine) struct Speaker<'a> {
    pub(in crate::engine) context: &'a StepContext,
    pub(in crate::engine) profile: &'a Profile,
    pub(in crate::engine) tools: &'a ToolTable<'a>,
    pub(in crate::engine) shape: Option<&'a Shape>,
    pub(in crate::engine) scope: Scope,
}

pub(in crate::engine) enum ConversationEnd {
    Answer(Answer),
    /// A person has to decide first.
    Pause(PauseReason),
}

/// The end of a conversation.
pub(in crate::engine) struct Answer {
    /// The text of the last turn.
    pub(in crate::engine) text: String,
    /// Its structured value.
    pub(in crate::engine) value: Option<serde_json::Value>,
    /// The user message and all that followed.
    pub(in crate::engine) messages: Vec<Message>,
    /// Every call of the last pause was declined.
    pub(in crate::engine) rejected: bool,
}

/// What became of the calls of a turn.
enum Made {
    /// All gave a result.
    All(Vec<ToolOutcome>),
    /// One asks a person first.
    Asks(PauseReason),
    /// A person must decide on some first.
    Waits,
}

/// What a call of the model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// An answer, or calls of tools.
    Open,
    /// The answer without tools after which the step ends.
    Last,
    /// The answer once more, in its form.
    Repair,
}

/// A conversation while it goes on.
pub(super) struct Conversation {
    /// As the model is sent it.
    pub(super) sent: Vec<Message>,
    /// The user message and all that followed, with whole results.
    kept: Vec<Message>,
    pub(super) media: Vec<Media>,
    /// Tools that the model found and is offered from then on.
    pub(super) found: Vec<String>,
    pub(super) room: Room,
    /// So many of the last messages that are sent were said to the model alone.
    pub(super) aside: usize,
}

impl Conversation {
    /// Something that was said since the last call came with files.
    fn lacks_files(&self) -> bool {
        let since = self.sent.iter().rev().take_while(|message| message.role == Role::Tool).count();
        self.sent.iter().rev().take(since + 1).any(|message| !message.attachments.is_empty())
    }

    /// Something is said to the model alone.
    pub(super) fn tell(&mut self, message: Message) {
        self.room.add(&message);
        self.sent.push(message);
        self.aside += 1;
    }

    /// The place of the turn's user message in what is sent.
    pub(super) fn user_at(&self, sent: &[Message]) -> Option<usize> {
        let turn = sent.get(..sent.len().saturating_sub(self.aside))?;
        turn.iter().rposition(|message| message.role == Role::User)
    }

    fn push(&mut self, message: Message) {
        self.room.add(&message);
        self.kept.push(message.clone());
        self.sent.push(message);
    }
}

impl Speaker<'_> {
    /// Speaks until there is an answer, or a person must decide.
    pub(in crate::engine) async fn talk(&self, mut prompt: Vec<Message>) -> Result<ConversationEnd, Fault> {
        let mut kept: Vec<Message> = prompt.last().cloned().into_iter().collect();
        let Files { media, gone } = Box::pin(media::load(self.context, &mut prompt)).await?;
        kept.iter_mut().for_each(|message| message.attachments.retain(|file| !gone.contains(&file.storage_key)));
        let mut ids = CallIds::new(self.context, self.scope.parent.as_deref(), &prompt);
        let room = Room::new(self.context, &prompt);
        let mut conversation = Conversation { sent: prompt, kept, media, found: Vec::new(), room, aside: 0 };
        let mut rejected = false;
        let mut number = 1;
        loop {
            let mut answer = self.ask_within(number, &mut conversation, Turn::Open).await?;
            if answer.message.tool_calls.is_empty() {
                return self.end(number, answer, conversation, rejected).await.map(ConversationEnd::Answer);
            }
            if number > self.profile.tool_max_runs {
                return Box::pin(self.at_limit(number, conversation, rejected)).await;
            }
            ids.settle(number, &mut answer.message.tool_calls);
            let mut calls = approval::plan(self.context, self.tools, self.scope.parent.is_none(), &answer.message.tool_calls);
            let results = match Box::pin(self.make(&mut calls)).await? {
                Made::All(results) => results,
                Made::Asks(reason) => return Ok(ConversationEnd::Pause(reason)),
                Made::Waits => {
                    let waiting = calls.iter_mut().enumerate().filter(|(_, one)| matches!(one.decision, CallDecision::Wait(_)));
                    waiting.for_each(|(at, one)| ids.settle_waiting(number, at, &mut one.call));
                    return Ok(ConversationEnd::Pause(self.pause(calls)));
                }
            };
            rejected = approval::all_declined(&calls).unwrap_or(rejected);
            answer.message.tool_calls = calls.into_iter().map(|one| one.call).collect();
            conversation.push(answer.message);
            self.add_results(&mut conversation, results)?;
            if conversation.lacks_files() {
                Box::pin(media::add(self.context, &mut conversation)).await?;
            }
            number += 1;
        }
    }

    /// Asks the model once.
    pub(super) async fn ask_with(&self, number: u32, conversation: &Conversation, turn: Turn) -> Result<ModelAnswer, Fault> {
        self.context.model(&self.scope.model_key(number), self.call_with(number, conversation, turn)).await
    }

    fn call_with(&self, number: u32, conversation: &Conversation, turn: Turn) -> ModelCall {
        let mut messages = conversation.sent.clone();
        let last = turn == Turn::Last;
        messages.extend(last.then(|| Message::text(Role::User, ANSWER_NOW)));
        let mut call = self.call(messages, &conversation.media);
        if turn != Turn::Repair || self.repairs_beside_tools(number) {
            call.request.tools = self.tools.offers(&conversation.found);
            call.request.native_tools.clone_from(&self.tools.native);
            call.request.parallel_tool_calls = self.profile.parallel_tool_calls;
            call.request.tool_choice = if turn == Turn::Open { self.choice(number, &mut call.warnings) } else { Some(ToolChoice::None) };
        }
        call.warnings.extend(last.then(|| self.tool_limit()));
        call
    }

    /// Whether the model that is asked next answers in its form beside the tools, so that the request begins like the one before.
    fn repairs_beside_tools(&self, number: u32) -> bool {
        let other = (self.place(number) as usize).checked_sub(1).and_then(|place| self.profile.fallbacks.get(place));
        let (provider, model) = other.map_or((&*self.profile.provider, &*self.profile.model), |other| (&*other.provider, &*other.model));
        self.context.world().providers.repairs_beside_tools(provider, model)
    }

    /// What was set for this call of the step; a tool that is not there cannot be wanted.
    fn choice(&self, number: u32, warnings: &mut Vec<Warning>) -> Option<ToolChoice> {
        let choice = self.profile.parameters.tool_choice.clone().filter(|choice| number == 1 || !choice.is_for_the_first_call())?;
        match &choice {
            ToolChoice::Tool(name) if self.tools.find(name).is_none() => {
                let text = format!("`tool_choice` is left out: the agent has no tool `{name}`");
                warnings.push(Warning { parameter: Some("tool_choice".into()), ..Warning::new("parameter_dropped", text) });
                None
            }
            ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_) => Some(choice),
        }
    }

    fn call(&self, messages: Vec<Message>, media: &[Media]) -> ModelCall {
        let profile = self.profile;
        let mut request = ChatRequest::new(profile.model.as_str(), messages);
        request.media = media.to_vec();
        request.parameters = Parameters { tool_choice: None, ..profile.parameters.clone() };
        request.schema = self.shape.map(|shape| shape.schema.clone());
        request.live = self.scope.tell != Tell::Silent;
        request.credential.clone_from(&profile.credential);
        request.asker = Asker { node_id: Some(profile.node_id.to_string()), agent: profile.slug.clone(), ..Asker::default() };
        let (tell, on_length) = (self.scope.tell, profile.on_length);
        let (others, warnings) = (profile.others(), Vec::new());
        ModelCall { name: "chat", provider: profile.provider.clone(), request, tell, on_length, others, warnings }
    }

    pub(super) async fn end(&self, number: u32, answer: ModelAnswer, mut conversation: Conversation, rejected: bool) -> Result<Answer, Fault> {
        let (message, value) = match self.shape {
            Some(shape) => Box::pin(shape.settle(self, number, answer, &mut conversation)).await.map(|(message, value)| (message, Some(value)))?,
            None => (answer.message, None),
        };
        let (text, mut messages) = (message.content.clone(), conversation.kept);
        messages.push(message);
        Ok(Answer { text, value, messages, rejected })
    }

    /// Makes the calls of a turn: first those without approval, then those that a person decided.
    async fn make(&self, calls: &mut [Planned<'_, '_>]) -> Result<Made, Fault> {
        let free: Vec<&Planned<'_, '_>> = calls.iter().filter(|one| !one.gated).collect();
        let mut results = match self.make_together(&free).await? {
            Made::All(results) => results,
            asks @ (Made::Asks(_) | Made::Waits) => return Ok(asks),
        };
        if calls.iter().any(|one| matches!(one.decision, CallDecision::Wait(_))) {
            return Ok(Made::Waits);
        }
        let decided: Vec<&Planned<'_, '_>> = calls.iter().filter(|one| one.gated).collect();
        match self.make_together(&decided).await? {
            Made::All(more) => results.extend(more),
            asks @ (Made::Asks(_) | Made::Waits) => return Ok(asks),
        }
        let places: HashMap<&str, usize> = calls.iter().enumerate().map(|(at, one)| (one.call.id.as_str(), at)).collect();
        results.sort_by_key(|outcome| places.get(outcome.call_id.as_str()).copied());
        Ok(Made::All(results))
    }

    /// Publishes all calls, then makes them concurrently.
    async fn make_together(&self, calls: &[&Planned<'_, '_>]) -> Result<Made, Fault> {
        if calls.is_empty() {
            return Ok(Made::All(Vec::new()));
        }
        let told: Vec<ToolCall> = calls.iter().map(|one| one.call.clone()).collect();
        let servers = calls.iter().filter_map(|one| Some((one.call.id.clone(), one.server.clone()?))).collect();
        self.context.announce_tools(&told, servers, self.scope.parent.as_deref()).await?;
        let made = calls.iter().map(|one| self.make_one(one));
        // All of them end: one that is cut short must not keep the others from recording what they gave.
        let made: Vec<Result<ToolEnd, Fault>> = stream::iter(made.collect::<Vec<_>>()).buffered(AT_ONCE).collect().await;
        let mut results = Vec::with_capacity(made.len());
        for end in made {
            match end? {
                ToolEnd::Gave(outcome) => results.push(outcome),
                ToolEnd::Asks(reason) => return Ok(Made::Asks(reason)),
            }
        }
        Ok(Made::All(results))
    }

    async fn make_one(&self, planned: &Planned<'_, '_>) -> Result<ToolEnd, Fault> {
        let (call, parent) = (&planned.call, self.scope.parent.as_deref());
        let outcome = match &planned.decision {
            // A specialist answers within its supervisor's call, so it cannot ask a person.
            CallDecision::Run(Bound::Tool(tool)) if parent.is_none() => return self.context.tool_that_may_ask(call, tool).await,
            CallDecision::Run(Bound::Tool(tool)) => self.context.tool(call, tool, parent).await,
            CallDecision::Run(Bound::Specialist(specialist)) => specialist::answer(self.context, specialist, call, parent).await,
            CallDecision::Refuse(text) => self.context.refuse_tool(call, text, false, parent).await,
            CallDecision::Declined(text) => self.context.refuse_tool(call, text, true, parent).await,
            CallDecision::Wait(_) => Err(Fault::new(FaultCode::Internal, "a call that waits for a person cannot be made")),
        };
        outcome.map(ToolEnd::Gave)
    }

    fn pause(&self, planned: Vec<Planned<'_, '_>>) -> PauseReason {
        let mut calls = Vec::with_capacity(planned.len());
        let (mut schemas, mut servers, mut fixed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for Planned { call, decision, server, .. } in planned {
            let CallDecision::Wait(bound) = decision else { continue };
            schemas.insert(call.name.clone(), bound.offer().input_schema.clone());
            fixed.extend(bound.fixed().map(|fixed| (call.name.clone(), fixed.clone())));
            servers.extend(server.map(|server| (call.id.clone(), server)));
            calls.push(call);
        }
        let message = words::waiting(calls.len(), &self.context.system().locale);
        PauseReason::Approval { calls, message, schemas, servers, fixed }
    }

    /// Results enter the conversation in model order, cut to their budget; the kept ones stay whole.
    fn add_results(&self, conversation: &mut Conversation, results: Vec<ToolOutcome>) -> Result<(), Fault> {
        for outcome in results {
            find_tools::take(self.tools, &outcome, &mut conversation.found);
            let content = memory::enter(self.context, self.profile, &outcome.call_id, &outcome.name, outcome.result.clone())?;
            let (tool_call_id, name, is_error) = (Some(outcome.call_id), Some(outcome.name), outcome.is_error);
            let attachments = outcome.files.iter().map(File::attached).collect();
            let whole = Message { tool_call_id, name, is_error, attachments, ..Message::text(Role::Tool, outcome.result) };
            let sent = Message { content, ..whole.clone() };
            conversation.room.add(&sent);
            conversation.sent.push(sent);
            conversation.kept.push(whole);
        }
        Ok(())
    }
}
