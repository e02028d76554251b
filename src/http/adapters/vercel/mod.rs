//! Owns the translation of events to the UI message stream (version 1). Pure: events in, parts out.

pub(super) mod request;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::End;
use super::event::{PublishedEvent, as_text};
use super::pauses::Pauses;

/// The limit of reported sources of one search.
const SOURCES: usize = 20;
/// Figures of the run that the end of a message carries.
const FIGURES: [&str; 9] = [
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "estimated_cost",
    "currency",
    "unpriced",
];

/// Translates one message.
#[derive(Debug, Default)]
pub(super) struct Translator {
    run: String,
    thread: String,
    /// Of the message that begins; none when the client goes on with its last one.
    message_id: Option<String>,
    /// The client knows no approvals (major version 5).
    no_approvals: bool,
    pub(super) end: Option<End>,
    /// The text block that is open, and what the last one said.
    block: Option<String>,
    said: String,
    /// A thought came in the middle of a text, which goes on behind it.
    goes_on: bool,
    /// The block of thoughts that is open.
    thought: Option<String>,
    in_step: bool,
    /// The number of the event before.
    last: u64,
    /// Calls that the client has in the message.
    calls: HashSet<String>,
    /// Calls that must not be sent to it again.
    decided: HashSet<String>,
    pauses: Pauses,
    /// Where the studio is, for those outside of it.
    place: String,
}

impl Translator {
    /// Of a run on a thread. Without an id, the client goes on with its last message.
    pub(super) fn new(run: String, thread: String, message_id: Option<String>, no_approvals: bool) -> Self {
        Self { run, thread, message_id, no_approvals, ..Self::default() }
    }

    /// Of a studio at an address, where its files are read.
    pub(super) fn at(self, place: &str) -> Self {
        Self { place: place.to_owned(), ..self }
    }

    pub(super) fn open(&self, out: &mut Vec<Value>) {
        out.push(self.message_id.as_ref().map_or_else(|| json!({"type": "start"}), |id| json!({"type": "start", "messageId": id})));
    }

    pub(super) fn tell(&mut self, published: PublishedEvent, out: &mut Vec<Value>) {
        if let Some(end) = End::of(&published) {
            self.end.get_or_insert(end);
            return;
        }
        if published.begins_again(std::mem::replace(&mut self.last, published.number)) {
            self.end_block(out);
            self.goes_on = false;
        }
        self.pauses.hear(&published);
        match published.event {
            "token" => self.token(&published, out),
            "reasoning" => self.reason(&published, out),
            "step_started" if published.of_model() => self.begin_step(out),
            "step_completed" | "step_failed" if published.of_model() => self.end_step(out),
            "tool_call" => {
                let call = published.text("call_id");
                if !self.decided.contains(call) {
                    self.call(call, published.text("name"), &published.object("inputs").into(), out);
                }
            }
            "tool_result" => self.result(&published, out),
            "rag_query" => self.sources(&published, out),
            "source" => self.source(&published, out),
            "file" => self.file(&published, out),
            "human_input_required" | "tool_approval_required" => self.pauses.add(published),
            "tool_approval_resolved" => self.resolved(&published),
            "run_terminal" => {}
            event => {
                self.end_block(out);
                let mut data = Map::new();
                data.insert("event".into(), event.into());
                data.extend(published.data().clone());
                out.push(json!({"type": "data-studio", "data": data, "transient": true}));
            }
        }
    }

    fn token(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        let Some(text) = published.shown_text() else { return };
        self.say(text, published.number, out);
    }

    fn say(&mut self, text: &str, number: u64, out: &mut Vec<Value>) {
        self.end_thought(out);
        if self.block.is_none() {
            let id = format!("text-{number}");
            out.push(json!({"type": "text-start", "id": id}));
            self.block = Some(id);
            if !std::mem::take(&mut self.goes_on) {
                self.said.clear();
            }
        }
        self.said.push_str(text);
        out.push(json!({"type": "text-delta", "id": self.block, "delta": text}));
    }

    fn reason(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        let Some(thought) = published.shown_text() else { return };
        if self.thought.is_none() {
            self.goes_on |= self.block.is_some();
            self.end_block(out);
            let id = format!("reasoning-{}", published.number);
            out.push(json!({"type": "reasoning-start", "id": id}));
            self.thought = Some(id);
        }
        out.push(json!({"type": "reasoning-delta", "id": self.thought, "delta": thought}));
    }

    fn end_thought(&mut self, out: &mut Vec<Value>) {
        if let Some(id) = self.thought.take() {
            out.push(json!({"type": "reasoning-end", "id": id}));
        }
    }

    fn end_block(&mut self, out: &mut Vec<Value>) {
        self.end_thought(out);
        if let Some(id) = self.block.take() {
            out.push(json!({"type": "text-end", "id": id}));
        }
    }

    fn begin_step(&mut self, out: &mut Vec<Value>) {
        self.end_step(out);
        self.in_step = true;
        out.push(json!({"type": "start-step"}));
    }

    fn end_step(&mut self, out: &mut Vec<Value>) {
        self.end_block(out);
        self.goes_on = false;
        if std::mem::take(&mut self.in_step) {
            out.push(json!({"type": "finish-step"}));
        }
    }

    fn call(&mut self, id: &str, name: &str, input: &Value, out: &mut Vec<Value>) {
        self.end_block(out);
        self.goes_on = false;
        self.calls.insert(id.to_owned());
        out.push(json!({"type": "tool-input-available", "toolCallId": id, "toolName": name, "input": input, "dynamic": true}));
    }

    fn result(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        self.end_block(out);
        let (id, result) = (published.text("call_id").to_owned(), published.value("result"));
        if !self.calls.contains(&id) && !self.decided.contains(&id) {
            self.call(&id, published.text("name"), &published.object("inputs").into(), out);
        }
        out.push(if published.flag("skipped") && !self.no_approvals {
            json!({"type": "tool-output-denied", "toolCallId": id})
        } else if published.flag("skipped") || published.flag("is_error") {
            json!({"type": "tool-output-error", "toolCallId": id, "errorText": as_text(&result), "dynamic": true})
        } else {
            json!({"type": "tool-output-available", "toolCallId": id, "output": result, "dynamic": true})
        });
    }

    fn sources(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        self.end_block(out);
        let text = |source: &Value, key: &str| as_text(source.get(key).unwrap_or(&Value::Null));
        out.extend(published.sources.iter().take(SOURCES).map(|source| {
            json!({"type": "source-document", "sourceId": text(source, "chunk_id"), "mediaType": "text/plain", "title": text(source, "source_name")})
        }));
    }

    fn source(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        self.end_block(out);
        let (id, title) = (published.text("source_id"), published.text("title"));
        out.push(if published.text("kind") == "url" {
            json!({"type": "source-url", "sourceId": id, "url": published.text("url"), "title": title})
        } else {
            let title = if title.is_empty() { published.text("document_id") } else { title };
            json!({"type": "source-document", "sourceId": id, "mediaType": "application/octet-stream", "title": title})
        });
    }

    fn file(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        self.end_block(out);
        let url = format!("{}{}?storage_key={}", self.place, crate::http::adapters::files::PATH, published.text("storage_key"));
        out.push(json!({"type": "file", "url": url, "mediaType": published.text("media_type")}));
    }

    /// A client that continues its message already has the decided calls; only edited ones are sent again.
    fn resolved(&mut self, published: &PublishedEvent) {
        self.pauses.close(published.text("pause_id"));
        if self.message_id.is_some() {
            return;
        }
        for decision in published.list("decisions") {
            if decision["edited"] != Value::Bool(true) {
                self.decided.insert(as_text(&decision["call_id"]));
            }
        }
    }

    /// Sends the end of the message; nothing follows.
    pub(super) fn close(&mut self, out: &mut Vec<Value>) {
        let pauses = self.pauses.take();
        match self.end.take() {
            Some(End::Completed(published)) => self.completed(&published, out),
            Some(End::Failed { code, message }) => self.failed(&code, &message, out),
            Some(End::Cancelled) => {
                self.end_step(out);
                out.push(json!({"type": "abort", "reason": "cancelled"}));
            }
            None if pauses.is_empty() => {
                self.end = Some(End::broken());
                self.close(out);
            }
            None => self.paused(&pauses, out),
        }
    }

    fn completed(&mut self, published: &PublishedEvent, out: &mut Vec<Value>) {
        if let Some(reply) = published.reply_unlike(&self.said) {
            self.end_block(out);
            self.goes_on = false;
            self.say(reply, published.number, out);
        }
        self.end_step(out);
        let mut about = self.about("completed");
        about.extend(FIGURES.iter().filter_map(|name| Some(((*name).to_owned(), published.get(name)?.clone()))));
        out.push(json!({"type": "finish", "finishReason": "stop", "messageMetadata": about}));
    }

    fn failed(&mut self, code: &str, message: &str, out: &mut Vec<Value>) {
        self.end_step(out);
        out.push(json!({"type": "error", "errorText": message}));
        let about = json!({"trace_id": self.run, "code": code, "status": "failed"});
        out.push(json!({"type": "finish", "finishReason": "error", "messageMetadata": about}));
    }

    fn about(&self, status: &str) -> Map<String, Value> {
        let members = [("trace_id", self.run.as_str()), ("thread_id", self.thread.as_str()), ("status", status)];
        members.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
    }

    fn paused(&mut self, pauses: &[PublishedEvent], out: &mut Vec<Value>) {
        let mut reason = "stop";
        for pause in pauses {
            if pause.event == "human_input_required" {
                self.question(pause, out);
            } else {
                reason = "tool-calls";
                self.approval(pause, out);
            }
        }
        self.end_step(out);
        let status = if reason == "stop" { "awaiting_input" } else { "awaiting_tool_approval" };
        out.push(json!({"type": "finish", "finishReason": reason, "messageMetadata": self.about(status)}));
    }

    fn question(&mut self, pause: &PublishedEvent, out: &mut Vec<Value>) {
        self.end_block(out);
        let mut data = self.awaiting("awaiting_input", pause);
        data.insert("prompt".into(), pause.value("prompt"));
        out.push(json!({"type": "data-awaiting_input", "id": pause.text("pause_id"), "data": data}));
        let prompt = pause.text("prompt");
        if !prompt.is_empty() {
            self.say(prompt, pause.number, out);
            self.end_block(out);
        }
    }

    fn approval(&mut self, pause: &PublishedEvent, out: &mut Vec<Value>) {
        self.end_block(out);
        for call in pause.list("pending_tools") {
            let id = as_text(&call["call_id"]);
            if !self.calls.contains(&id) {
                self.call(&id, &as_text(&call["name"]), &call["arguments"], out);
            }
            if !self.no_approvals {
                let approval = format!("{}.{id}", pause.text("pause_id"));
                out.push(json!({"type": "tool-approval-request", "approvalId": approval, "toolCallId": id}));
            }
        }
        let mut data = self.awaiting("awaiting_tool_approval", pause);
        data.insert("message".into(), pause.value("message"));
        data.insert("pending_tools".into(), pause.value("pending_tools"));
        out.push(json!({"type": "data-awaiting_input", "id": pause.text("pause_id"), "data": data}));
    }

    fn awaiting(&self, status: &str, pause: &PublishedEvent) -> Map<String, Value> {
        let mut data = Map::new();
        data.insert("status".into(), status.into());
        data.insert("trace_id".into(), self.run.as_str().into());
        data.insert("node_id".into(), pause.value("node_id"));
        data.insert("pause_id".into(), pause.value("pause_id"));
        data
    }
}
