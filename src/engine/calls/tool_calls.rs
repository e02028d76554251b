//! Owns tool calls: recorded before and after, never repeated after success, suspended while a person is asked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};


use crate::engine::calls::files::Ready;
use crate::engine::calls::millis;
use crate::engine::drive::context::{StepContext, cut_short, lost};
use crate::engine::drive::question;
use crate::engine::log::journal::Lost;
use crate::model::Id;
use crate::model::chat::ToolCall;
use crate::model::event::{
    Asked, CallFinished, CallKind, CallOutcome, CallServer, CallStarted, Event, Fault, FaultCode, PauseReason, ToolOutcome,
};
use crate::model::redaction::is_masked;
use crate::model::run::Call;
use crate::tools::{Asking, BoundTool, Caller, OnCancel, SpentList, ToolReply};

/// Said instead of calling a tool with a mask for a value.
const MASKED: &str = "The tool was not called: one of its values was redacted (`observability.redact`) and is not known any more. \
                      Give it again, or let the tool use a secret by its name.";

/// How far a call came.
pub enum ToolEnd {
    /// It gave a result.
    Gave(ToolOutcome),
    /// It asks a person first.
    Asks(PauseReason),
}

/// How far a call without a result came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was not begun.
    None,
    /// It asked a person, and is to be made again with the answer.
    Asked,
    /// It was begun, and nobody knows how it ended.
    Begun,
}

impl StepContext {
    /// Publishes the tool calls that the model requests, each call once, with the servers that they are for.
    ///
    /// # Errors
    /// When the run is lost.
    pub async fn announce_tools(&self, calls: &[ToolCall], mut servers: BTreeMap<String, CallServer>, parent: Option<&str>) -> Result<(), Fault> {
        let known = self.open(|step| step.announced.clone()).unwrap_or_default();
        let calls: Vec<ToolCall> = calls.iter().filter(|call| !known.contains_key(&call.id)).cloned().collect();
        if calls.is_empty() {
            return Ok(());
        }
        servers.retain(|id, _| !known.contains_key(id));
        self.record(Event::ToolsCalled { step: self.step(), calls, parent_call_id: parent.map(str::to_owned), servers })
    }

    /// The server for which a call was announced, if its tool belongs to a server. Calls in logs of earlier versions have none.
    pub fn server_of(&self, call_id: &str) -> Option<CallServer> {
        self.open(|step| step.servers.get(call_id).cloned()).flatten()
    }

    /// Whether a call has a result.
    pub fn is_made(&self, call_id: &str) -> bool {
        self.done(&format!("tool:{call_id}")).is_some_and(|done| matches!(done.outcome, CallOutcome::Tool(_)))
    }

    /// How far a call without a result came.
    pub fn progress(&self, call_id: &str) -> Progress {
        let key = format!("tool:{call_id}");
        let came = self.open(|step| match (step.calls.get(&key), step.asked.contains_key(&key)) {
            (Some(Call::Open(_)), _) => Progress::Begun,
            (Some(Call::Done(_)) | None, true) => Progress::Asked,
            (Some(Call::Done(_)) | None, false) => Progress::None,
        });
        came.unwrap_or(Progress::None)
    }

    /// Runs a tool, or returns its recorded result. It must not ask a person.
    ///
    /// # Errors
    /// A cancel or the store; a tool's own failure is a result.
    pub async fn tool(&self, call: &ToolCall, tool: &BoundTool, parent: Option<&str>) -> Result<ToolOutcome, Fault> {
        match self.call_tool(call, tool, parent, Asking::Never).await? {
            ToolEnd::Gave(outcome) => Ok(outcome),
            ToolEnd::Asks(_) => Err(Fault::new(FaultCode::Internal, "a call asks a person where nobody can be asked")),
        }
    }

    /// Runs a tool that may ask a person, unless the run is a chat turn: its readers know of no such question.
    ///
    /// # Errors
    /// A cancel or the store; a tool's own failure is a result.
    pub async fn tool_that_may_ask(&self, call: &ToolCall, tool: &BoundTool) -> Result<ToolEnd, Fault> {
        let asking = if self.run().workflow_id.is_some() { Asking::Maybe } else { Asking::Never };
        self.call_tool(call, tool, None, asking).await
    }

    async fn call_tool(&self, call: &ToolCall, tool: &BoundTool, parent: Option<&str>, mut asking: Asking) -> Result<ToolEnd, Fault> {
        let key = format!("tool:{}", call.id);
        if let Some(done) = self.done(&key)
            && let CallOutcome::Tool(outcome) = done.outcome
        {
            return Ok(ToolEnd::Gave(outcome));
        }
        if let Some(outcome) = self.unknown(&key, call, parent)? {
            return self.tool_ended(&key, outcome, Duration::ZERO).map(ToolEnd::Gave);
        }
        if let Some(asked) = self.open(|step| step.asked.get(&key).cloned()).flatten() {
            let said = self.open(|step| step.said.get(&key).cloned()).flatten().unwrap_or_default();
            if let Some(waiting) = self.waiting(&key, call, tool, &asked, |question| said.contains_key(question)) {
                return Ok(ToolEnd::Asks(waiting));
            }
            asking = Asking::Answered { asked, said };
        }
        let fixed = || tool.fixed.values().any(is_masked);
        if self.journal().masking().is_on() && (is_masked(&call.arguments) || fixed() || asking.knows(is_masked)) {
            return self.refuse_tool(call, MASKED, false, parent).await.map(ToolEnd::Gave);
        }
        self.may_call()?;
        let span = self.tool_begins(&key, call, tool)?;
        self.journal().durable().await.map_err(|Lost| lost())?;
        if let Err(cut) = self.may_call() {
            self.call_ended(&key, CallOutcome::Failed(cut.clone()), Duration::ZERO)?;
            return Err(cut);
        }
        let started = Instant::now();
        let spent = SpentList::default();
        let invoked = self.invoke(call, tool, asking, span, &spent).await;
        let took = started.elapsed();
        // Also of a call that stays open for whoever goes on with the run.
        self.spent(&key, &spent)?;
        let (reply, abandoned) = invoked?;
        if let Some(asked) = reply.asked {
            let waiting = self.waiting(&key, call, tool, &asked, |_| false);
            self.call_ended(&key, CallOutcome::Asked(*asked), took)?;
            let none = || Fault::new(FaultCode::Internal, "a call asks a person nothing");
            return waiting.map(ToolEnd::Asks).ok_or_else(none);
        }
        let cut = reply.is_error && self.cancelled().is_cancelled();
        if cut && reply.undone.is_some() {
            // It never ran, so it may be made when the step is entered again.
            self.call_ended(&key, CallOutcome::Failed(Fault::new(FaultCode::Cancelled, reply.text)), took)?;
            return Err(cut_short());
        }
        let (reply, ready) = if reply.files.is_empty() { (reply, Ready::default()) } else { Box::pin(self.with_files(reply)).await };
        let ToolReply { text, is_error, unanswered, undone, stored, found, .. } = reply;
        let files = [stored, ready.files.clone()].concat();
        let outcome = ToolOutcome { abandoned, unanswered, undone, files, found, ..outcome(call, text, is_error, parent) };
        self.attach(ready);
        let outcome = self.tool_ended(&key, outcome, took)?;
        if cut { Err(cut_short()) } else { Ok(ToolEnd::Gave(outcome)) }
    }

    /// A reply with its files ready to be stored. One whose files are not taken is a failure, with its text, of a call that ran.
    async fn with_files(&self, mut reply: ToolReply) -> (ToolReply, Ready) {
        // Masking learns from its text which values must not stand in the names of its files.
        self.journal().masking().mask(|masks| masks.text(&mut reply.text.clone()));
        match self.keep_given(std::mem::take(&mut reply.files)).await {
            Ok(ready) => (reply, ready),
            Err(why) => {
                let told = format!("The tool ran, but none of the files of its result was kept: {why}.");
                reply.text = if reply.text.is_empty() { told } else { format!("{told}\n{}", reply.text) };
                (ToolReply { is_error: true, unanswered: true, ..reply }, Ready::default())
            }
        }
    }

    fn tool_begins(&self, key: &str, call: &ToolCall, tool: &BoundTool) -> Result<Id, Fault> {
        let span = self.world().clock.id();
        self.record(Event::CallStarted(Arc::new(CallStarted {
            step: self.step(),
            key: key.to_owned(),
            kind: CallKind::Tool,
            span,
            name: call.name.clone(),
            call_id: Some(call.id.clone()),
            arguments: Some(call.arguments.clone()),
            repeatable: tool.idempotent,
            streams: false,
            provider: None,
            model: None,
            prompt: Vec::new(),
            options: serde_json::Map::new(),
            parameters: None,
            asker: None,
        })))?;
        Ok(span)
    }

    /// The first unanswered question of a call.
    fn waiting(&self, key: &str, call: &ToolCall, tool: &BoundTool, asked: &Asked, answered: impl Fn(&str) -> bool) -> Option<PauseReason> {
        let open = asked.questions.iter().find(|question| !answered(&question.key))?;
        let output_key = self.node().node.output_key().map(|key| key.to_string()).unwrap_or_default();
        Some(question::pause(open, (key, call, tool), output_key, &self.system().locale))
    }

    /// What the tool replied, and whether it was abandoned: cut short, it may have a while to end by itself.
    async fn invoke(&self, call: &ToolCall, tool: &BoundTool, asking: Asking, span: Id, spent: &SpentList) -> Result<(ToolReply, bool), Fault> {
        let facts = self.run();
        let caller = Caller {
            run: facts.id,
            node_id: Arc::clone(&self.node().id),
            tenant: Arc::clone(&facts.tenant),
            user: facts.user.clone(),
        };
        let mut invocation = tool.invocation(call, &caller);
        (invocation.asking, invocation.cancelled) = (asking, self.cancelled().clone());
        invocation.trace = self.onward(span);
        invocation.spent = spent.clone();
        let capped = |reply: ToolReply| reply.capped(self.world().result_bytes());
        let mut answer = std::pin::pin!(tool.answer(invocation));
        tokio::select! {
            biased;
            reply = &mut answer => return Ok((capped(reply), false)),
            () = self.cancelled().cancelled() => {}
        }
        let last = match tool.tool.on_cancel() {
            OnCancel::Drops => None,
            OnCancel::Answers => tokio::time::timeout(self.grace(), answer).await.ok(),
            OnCancel::Ends => Some(answer.await),
        };
        if let Some(reply) = last.filter(|reply| !reply.unanswered) {
            return Ok((capped(reply), false));
        }
        if self.world().hurry.is_cancelled() {
            // The next owner of the run finds the call open.
            return Err(cut_short());
        }
        Ok((ToolReply::error("the call was cut short and gave no answer in time; it was abandoned"), true))
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
        if let Some(decided) = self.decided(&key, call, parent)? {
            return self.tool_ended(&key, decided, Duration::ZERO);
        }
        let outcome = ToolOutcome { skipped, ..outcome(call, text.to_owned(), !skipped, parent) };
        self.tool_ended(&key, outcome, Duration::ZERO)
    }

    pub(super) fn tool_ended(&self, key: &str, outcome: ToolOutcome, took: Duration) -> Result<ToolOutcome, Fault> {
        self.call_ended(key, CallOutcome::Tool(outcome.clone()), took)?;
        Ok(outcome)
    }

    fn call_ended(&self, key: &str, outcome: CallOutcome, took: Duration) -> Result<(), Fault> {
        self.record(Event::CallFinished(Box::new(CallFinished::new(self.step(), key, outcome, None, millis(took)))))
    }
}

pub(super) fn outcome(call: &ToolCall, result: String, is_error: bool, parent: Option<&str>) -> ToolOutcome {
    ToolOutcome {
        call_id: call.id.clone(),
        name: call.name.clone(),
        inputs: call.arguments.clone(),
        result,
        is_error,
        skipped: false,
        abandoned: false,
        unanswered: false,
        undone: None,
        parent_call_id: parent.map(str::to_owned),
        files: Vec::new(),
        found: Vec::new(),
    }
}
