//! Owns the translation of events to AG-UI 1.0. Pure: events in, events out.

mod messages;
pub(super) mod request;
mod steps;
#[cfg(test)]
mod tests;

pub(super) use messages::of_thread;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::End;
use super::event::{PublishedEvent, as_text};
use super::pauses::Pauses;
use steps::Steps;

/// Translates one AG-UI run.
#[derive(Debug, Default)]
pub(super) struct Translator {
    run: String,
    /// As the client names them.
    thread_id: String,
    run_id: String,
    /// Of a workflow: what it knows so far.
    pub(super) state: Option<Map<String, Value>>,
    /// Of an agent: the messages so far, older turns first. Of a workflow only for a client that reconnects: what it received before this part.
    pub(super) messages: Option<Vec<Value>>,
    pub(super) end: Option<End>,
    /// The message that is open, and what the last one said.
    message: Option<String>,
    said: String,
    /// A thought came in the middle of a text, which goes on behind it.
    goes_on: bool,
    /// What the model thinks, while it is open.
    thought: Option<String>,
    /// The message of this turn of the model that calls belong to.
    parent: Option<String>,
    steps: Steps,
    /// The number of the event before.
    last: u64,
    calls: HashSet<String>,
    pauses: Pauses,
}

impl Translator {
    /// Of a run, and the names that the client has for thread and run.
    pub(super) fn new(run: String, thread_id: String, run_id: String) -> Self {
        Self { run, thread_id, run_id, ..Self::default() }
    }

    /// Reads the events before this stream.
    pub(super) fn remember(&mut self, past: Vec<PublishedEvent>) {
        let mut sent = Vec::new();
        for event in past {
            self.tell(event, &mut sent);
        }
        self.end_message(&mut sent);
        self.steps.forget();
        self.pauses = Pauses::default();
        (self.end, self.parent) = (None, None);
        self.said.clear();
        if let Some(known) = &mut self.messages {
            let mut heard = Vec::new();
            messages::add(&mut heard, &sent);
            heard.retain(|message| !known.iter().any(|one| one["id"] == message["id"]));
            known.append(&mut heard);
        }
    }

    pub(super) fn open(&self, out: &mut Vec<Value>) {
        out.push(json!({"type": "RUN_STARTED", "threadId": self.thread_id, "runId": self.run_id, "protocolVersion": "1.0"}));
        out.extend(self.state.as_ref().map(|state| json!({"type": "STATE_SNAPSHOT", "snapshot": state})));
        out.extend(self.messages.as_ref().map(|messages| json!({"type": "MESSAGES_SNAPSHOT", "messages": messages})));
    }

    pub(super) fn tell(&mut self, published: PublishedEvent, out: &mut Vec<Value>) {
        if let Some(end) = End::of(&published) {
            self.end.get_or_insert(end);
            return;
        }
        if published.begins_again(std::mem::replace(&mut self.last, published.number)) {
            self.end_turn(out);
        }
        self.pauses.hear(&published);
        match published.event {
            "thread" if self.state.is_none() => out.push(json!({"type": "CUSTOM", "name": "studio.trace", "value": published.data()})),
            "trace_started" => {
                let value = json!({"trace_id": published.value("trace_id"), "thread_id": published.value("thread_id"), "workflow_id": published.value("workflow_id")});
                out.push(json!({"type": "CUSTOM", "name": "studio.trace", "value": value}));
            }
            "thread" | "run_terminal" => {}
            "token" => self.token(&published, out),
            "reasoning" => self.reason(&published, out),
            "step_started" => {
                self.end_turn(out);
                out.push(self.steps.begin(&published));
            }
            "step_completed" | "step_failed" => self.end_step(&published, out),
            "tool_call" => self.call(published.text("call_id"), published.text("name"), &published.object("inputs").into(), out),
            "tool_result" => self.result(&published, out),
            "human_input_required" => {
                self.end_turn(out);
                self.pauses.add(published);
            }
            "tool_approval_required" => {
                for call in published.list("pending_tools") {
                    self.call(&as_text(&call["call_id"]), &as_text(&call["name"]), &call["arguments"], out);
                }
                self.end_turn(out);
                self.pauses.add(published);
            }
            event => {
                self.end_message(out);
                if event == "tool_approval_resolved" {
                    self.pauses.close(published.text("pause_id"));
                }
                out.push(json!({"type": "CUSTOM", "name": format!("studio.{event}"), "value": published.data()}));
            }
        }
    }

    fn token(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        if let Some(text) = published.shown_text() {
            self.say(text, published.number, out);
        }
    }

    fn say(&mut self, text: &str, number: u64, out: &mut Vec<Value>) {
        self.end_thought(out);
        if self.message.is_none() {
            let id = format!("{}-{number}", self.run);
            out.push(json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}));
            self.parent = Some(id.clone());
            self.message = Some(id);
            if !std::mem::take(&mut self.goes_on) {
                self.said.clear();
            }
        }
        self.said.push_str(text);
        out.push(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": self.message, "delta": text}));
    }

    fn reason(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        let Some(thought) = published.shown_text() else { return };
        if self.thought.is_none() {
            self.goes_on |= self.message.is_some();
            self.end_message(out);
            let id = format!("{}-reasoning-{}", self.run, published.number);
            out.push(json!({"type": "REASONING_START", "messageId": id}));
            out.push(json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}));
            self.thought = Some(id);
        }
        out.push(json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": self.thought, "delta": thought}));
    }

    fn end_thought(&mut self, out: &mut Vec<Value>) {
        if let Some(id) = self.thought.take() {
            out.push(json!({"type": "REASONING_MESSAGE_END", "messageId": id}));
            out.push(json!({"type": "REASONING_END", "messageId": id}));
        }
    }

    fn end_message(&mut self, out: &mut Vec<Value>) {
        self.end_thought(out);
        if let Some(id) = self.message.take() {
            out.push(json!({"type": "TEXT_MESSAGE_END", "messageId": id}));
        }
    }

    fn end_turn(&mut self, out: &mut Vec<Value>) {
        self.end_message(out);
        self.goes_on = false;
        self.parent = None;
    }

    fn end_step(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        self.end_turn(out);
        out.extend(self.steps.end(published));
        let Some(state) = self.state.as_mut().filter(|_| !published.in_branch()) else { return };
        let changed = published.object("changes");
        if changed.is_empty() {
            return;
        }
        let patch: Vec<Value> = changed
            .into_iter()
            .map(|(key, value)| {
                let path = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
                let known = state.insert(key, value.clone()).is_some();
                json!({"op": if known { "replace" } else { "add" }, "path": path, "value": value})
            })
            .collect();
        out.push(json!({"type": "STATE_DELTA", "delta": patch}));
    }

    fn call(&mut self, id: &str, name: &str, arguments: &Value, out: &mut Vec<Value>) {
        self.end_message(out);
        self.goes_on = false;
        if !self.calls.insert(id.to_owned()) {
            return;
        }
        let mut start = json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name});
        if let Some(parent) = &self.parent {
            start["parentMessageId"] = parent.as_str().into();
        }
        out.push(start);
        out.push(json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": arguments.to_string()}));
        out.push(json!({"type": "TOOL_CALL_END", "toolCallId": id}));
    }

    fn result(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        let id = published.text("call_id").to_owned();
        self.call(&id, published.text("name"), &published.object("inputs").into(), out);
        self.parent = None;
        let message = format!("{}-{id}", self.run);
        out.push(json!({"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": id, "role": "tool", "content": as_text(&published.value("result"))}));
    }

    /// Sends the end of the run; nothing follows.
    pub(super) fn close(&mut self, usage: &[Value], out: &mut Vec<Value>) {
        let pauses = self.pauses.take();
        let end = match self.end.take() {
            None if pauses.is_empty() => Some(End::broken()),
            end => end,
        };
        match end {
            Some(End::Completed(published)) => self.completed(&published, usage, out),
            Some(End::Failed { code, message }) => {
                self.close_all(out);
                out.push(json!({"type": "RUN_ERROR", "message": message, "code": code}));
            }
            Some(End::Cancelled) => {
                self.close_all(out);
                out.push(self.finished(&json!({"type": "cancelled"}), usage));
            }
            None => {
                self.close_all(out);
                out.extend(pauses.iter().map(|pause| json!({"type": "CUSTOM", "name": "awaiting_input", "value": self.awaiting(pause)})));
                let interrupts: Vec<Value> = pauses.iter().map(interrupt).collect();
                out.push(self.finished(&json!({"type": "interrupt", "interrupts": interrupts}), usage));
            }
        }
    }

    fn close_all(&mut self, out: &mut Vec<Value>) {
        self.end_turn(out);
        out.extend(self.steps.end_all());
    }

    fn completed(&mut self, published: &PublishedEvent, usage: &[Value], out: &mut Vec<Value>) {
        if let Some(reply) = published.reply_unlike(&self.said) {
            self.end_message(out);
            self.goes_on = false;
            self.say(reply, published.number, out);
        }
        self.close_all(out);
        let mut result = json!({"trace_id": self.run, "reply": published.value("reply")});
        if self.state.is_some() {
            result["output"] = published.value("output");
        }
        let mut finished = self.finished(&json!({"type": "success"}), usage);
        finished["result"] = result;
        out.push(finished);
    }

    fn finished(&self, outcome: &Value, usage: &[Value]) -> Value {
        json!({"type": "RUN_FINISHED", "threadId": self.thread_id, "runId": self.run_id, "outcome": outcome, "usage": usage})
    }

    fn awaiting(&self, pause: &PublishedEvent) -> Value {
        let human = pause.event == "human_input_required";
        let status = if human { "awaiting_input" } else { "awaiting_tool_approval" };
        let mut value =
            json!({"status": status, "trace_id": self.run, "node_id": pause.value("node_id"), "pause_id": pause.value("pause_id")});
        for key in if human { &["prompt"][..] } else { &["message", "pending_tools"][..] } {
            value[*key] = pause.value(key);
        }
        value
    }
}

/// A pause as the client is asked to answer it.
fn interrupt(pause: &PublishedEvent) -> Value {
    let id = pause.value("pause_id");
    if pause.event == "human_input_required" {
        let schema = json!({"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]});
        return json!({"id": id, "reason": "input_required", "message": pause.text("prompt"), "responseSchema": schema});
    }
    let word = json!({"type": "string", "enum": ["approve", "reject"]});
    let decision = json!({
        "type": "object", "required": ["call_id", "approval"],
        "properties": {"call_id": {"type": "string"}, "approval": word, "arguments": {"type": "object"}, "message": {"type": "string"}},
    });
    let schema = json!({
        "type": "object",
        "properties": {"approval": word, "message": {"type": "string"}, "decisions": {"type": "array", "items": decision}},
    });
    let mut asked = json!({"id": id, "reason": "tool_call", "message": pause.text("message"), "responseSchema": schema});
    if let [only] = pause.list("pending_tools") {
        asked["toolCallId"] = only["call_id"].clone();
    }
    asked
}
