//! Owns the run summary in lists with its usage fields, as JSON.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::model::Timestamp;
use crate::model::event::EntityKind;
use crate::model::memory::text_tokens;
use crate::model::truncation::cut;
use crate::model::usage::Usage;
use crate::store::runs::RunRow;
use crate::store::runs::line::RunLine;

/// Bytes of an error in lists; the trace of its run has a longer one whole.
const ERROR: usize = 2048;
/// Tokens of its message, when it is cut.
const MESSAGE: u64 = 256;

/// A run as lists show it.
#[derive(Clone, Copy, Debug)]
pub(in crate::studio) struct RunSummary<'a> {
    run: &'a RunLine<'a>,
    now: Timestamp,
    currency: &'a str,
    /// Its error is shown whatever its length.
    whole: bool,
}

impl<'a> RunSummary<'a> {
    pub(in crate::studio) const fn of(run: &'a RunLine<'_>, now: Timestamp, currency: &'a str) -> Self {
        Self { run, now, currency, whole: false }
    }

    /// Its error as JSON.
    fn error(&self) -> Cow<'a, str> {
        let error = self.run.error.as_ref().map_or("null", |error| error.get());
        if self.whole || error.len() <= ERROR { error.into() } else { shorter(error).into() }
    }

    /// Writes the members in their order.
    pub(in crate::studio) fn write(&self, to: &mut Vec<u8>) {
        let (run, mut out) = (self.run, Written(to));
        let workflow = (run.entity_type == EntityKind::Workflow.as_str()).then_some(&*run.entity_id);
        let duration = run.started_at.map_or(0, |started| run.finished_at.unwrap_or(self.now).since(started));
        out.text("{\"id\":", &run.id);
        out.text(",\"trace_id\":", &run.id);
        out.text(",\"status\":", run.status);
        out.text(",\"entity_type\":", run.entity_type);
        out.text(",\"entity_id\":", &run.entity_id);
        out.text(",\"entity_name\":", run.entity_name);
        out.text_or_null(",\"workflow_id\":", workflow);
        out.text(",\"thread_id\":", &run.thread);
        out.text_or_null(",\"parent_run_id\":", run.parent.as_deref());
        out.text_or_null(",\"awaiting_node_id\":", run.awaiting_node);
        out.text_or_null(",\"awaiting_pause_id\":", run.awaiting_pause.as_deref());
        out.text(",\"input_preview\":", run.input_preview);
        out.text(",\"mode\":", run.mode);
        out.time_or_null(",\"created_at\":", Some(run.created_at));
        out.time_or_null(",\"started_at\":", run.started_at);
        out.time_or_null(",\"finished_at\":", run.finished_at);
        out.number(",\"duration_ms\":", duration);
        out.number(",\"working_ms\":", run.working_ms);
        out.number(",\"waiting_ms\":", run.waiting_ms);
        out.json(",\"error\":", &self.error());
        out.json(",", "");
        out.usage(&run.total, self.currency);
        out.json("}", "");
    }

    /// As an object.
    pub(in crate::studio) fn members(&self) -> Map<String, Value> {
        let mut text = Vec::with_capacity(1024);
        self.write(&mut text);
        read(&text)
    }
}

/// JSON as it is being written.
struct Written<'a>(&'a mut Vec<u8>);

impl Written<'_> {
    /// JSON behind what names it.
    fn json(&mut self, before: &str, json: &str) {
        self.0.extend(before.as_bytes());
        self.0.extend(json.as_bytes());
    }

    fn text(&mut self, before: &str, text: &str) {
        self.0.extend(before.as_bytes());
        // Few texts need escapes: scanning a whole text checks many bytes at once.
        let escapes = text.bytes().fold(false, |any, byte| any | (byte < b' ') | (byte == b'"') | (byte == b'\\'));
        if escapes {
            self.0.extend(Value::from(text).to_string().as_bytes());
        } else {
            self.0.push(b'"');
            self.0.extend(text.as_bytes());
            self.0.push(b'"');
        }
    }

    fn text_or_null(&mut self, before: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(before, text),
            None => self.json(before, "null"),
        }
    }

    fn time_or_null(&mut self, before: &str, at: Option<Timestamp>) {
        match at {
            Some(at) => {
                self.0.extend(before.as_bytes());
                self.0.push(b'"');
                self.0.extend(at.written());
                self.0.push(b'"');
            }
            None => self.json(before, "null"),
        }
    }

    fn number(&mut self, before: &str, number: u64) {
        let mut digits = [b'0'; 20];
        let (mut rest, mut first) = (number, digits.len() - 1);
        digits[first] += (rest % 10) as u8;
        while rest > 9 {
            rest /= 10;
            first -= 1;
            digits[first] += (rest % 10) as u8;
        }
        self.0.extend(before.as_bytes());
        self.0.extend(&digits[first..]);
    }

    fn usage(&mut self, usage: &Usage, currency: &str) {
        let tokens = &usage.tokens;
        self.number("\"prompt_tokens\":", tokens.prompt);
        self.number(",\"completion_tokens\":", tokens.completion);
        self.number(",\"total_tokens\":", tokens.prompt + tokens.completion);
        self.number(",\"cached_tokens\":", tokens.cached);
        self.number(",\"cache_write_tokens\":", tokens.cache_write);
        self.number(",\"reasoning_tokens\":", tokens.reasoning);
        self.text(",\"estimated_cost\":", &usage.cost.shown());
        self.text(",\"currency\":", currency);
        self.json(",\"unpriced\":", if usage.unpriced { "true" } else { "false" });
    }
}

/// A run as lists show it, but with its whole error.
pub fn run_summary(run: &RunRow, now: Timestamp, currency: &str) -> Map<String, Value> {
    RunSummary { whole: true, ..RunSummary::of(&run.into(), now, currency) }.members()
}

/// An error with the beginning of its message, and without its tool calls if they are long.
fn shorter(error: &str) -> String {
    let mut error: Value = serde_json::from_str(error).unwrap_or_default();
    shorten(&mut error);
    let short = error.to_string();
    match error.as_object_mut() {
        Some(members) if short.len() > 2 * ERROR => {
            members.retain(|name, _| name != "calls");
            error.to_string()
        }
        _ => short,
    }
}

/// Leaves of the message of an error its beginning.
pub(in crate::studio) fn shorten(error: &mut Value) {
    if let Some(Value::String(message)) = error.get_mut("message")
        && text_tokens(message) > MESSAGE
    {
        *message = cut(message, MESSAGE).0;
    }
}

/// Adds the usage fields.
pub fn add_usage(to: &mut Map<String, Value>, usage: &Usage, currency: &str) {
    let mut text = b"{".to_vec();
    Written(&mut text).usage(usage, currency);
    text.push(b'}');
    to.extend(read(&text));
}

fn read(text: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;
    use crate::model::chat::Tokens;
    use crate::model::usage::Picos;

    #[test]
    fn a_long_error_is_cut_in_lists() {
        let (long, calls) = ("x".repeat(200_000), json!([{"call_id": "c", "name": "pay", "arguments": {"text": "y".repeat(9000)}, "node_id": "n"}]));
        let cut = |error: &Value| serde_json::from_str::<Value>(&shorter(&error.to_string())).expect("JSON");
        let error = cut(&json!({"code": "tool_failed", "message": long, "node_id": "n"}));
        let message = error["message"].as_str().expect("a text");
        assert!(message.len() < 1100 && message.starts_with("xxx") && message.ends_with("[truncated]"), "{message}");
        assert_eq!((&error["code"], &error["node_id"]), (&json!("tool_failed"), &json!("n")));
        let doubt = cut(&json!({"code": "in_doubt", "message": "What happened?", "node_id": "n", "calls": calls}));
        assert_eq!(doubt, json!({"code": "in_doubt", "message": "What happened?", "node_id": "n"}));
        assert_eq!(shorter("7"), "7");
    }

    proptest! {
        #[test]
        fn a_run_is_written_as_its_members(
            texts in proptest::collection::vec(any::<String>(), 4),
            some in any::<bool>(),
            numbers in proptest::collection::vec(0..u64::MAX / 4, 6),
        ) {
            let error = RawValue::from_string(json!({"code": "x", "message": texts[2]}).to_string()).unwrap();
            let at = |millis: i64| Timestamp(1_795_219_200_000 + millis);
            let usage = Usage {
                tokens: Tokens { prompt: numbers[0], completion: numbers[1], cached: numbers[2], cache_write: numbers[3], reasoning: 0, ..Tokens::default() },
                cost: Picos(1_234_567_000),
                unpriced: some,
            };
            let run = RunLine {
                id: "r".into(),
                status: "completed",
                entity_type: if some { "workflow" } else { "agent" },
                entity_id: "e".into(),
                entity_name: &texts[0],
                thread: "t".into(),
                parent: some.then(|| "p".into()),
                awaiting_node: some.then_some(texts[1].as_str()),
                awaiting_pause: None,
                input_preview: &texts[3],
                mode: "sync",
                created_at: at(0),
                started_at: some.then(|| at(1)),
                finished_at: None,
                working_ms: numbers[4],
                waiting_ms: numbers[5],
                error: some.then_some(Cow::Owned(error)),
                total: usage,
                no: 7,
            };
            let wanted = json!({
                "id": "r", "trace_id": "r", "status": "completed", "entity_type": run.entity_type, "entity_id": "e",
                "entity_name": texts[0], "workflow_id": some.then_some("e"), "thread_id": "t", "parent_run_id": some.then_some("p"),
                "awaiting_node_id": some.then_some(&texts[1]), "awaiting_pause_id": null, "input_preview": texts[3], "mode": "sync",
                "created_at": at(0).rfc3339(), "started_at": some.then(|| at(1).rfc3339()), "finished_at": null,
                "duration_ms": if some { 9 } else { 0 }, "working_ms": numbers[4], "waiting_ms": numbers[5],
                "error": some.then(|| json!({"code": "x", "message": texts[2]})),
                "prompt_tokens": numbers[0], "completion_tokens": numbers[1], "total_tokens": numbers[0] + numbers[1],
                "cached_tokens": numbers[2], "cache_write_tokens": numbers[3], "reasoning_tokens": 0,
                "estimated_cost": "0.001235", "currency": "EUR", "unpriced": some,
            });
            let mut written = Vec::new();
            let summary = RunSummary::of(&run, at(10), "EUR");
            summary.write(&mut written);
            prop_assert_eq!(String::from_utf8(written).unwrap(), wanted.to_string());
            prop_assert_eq!(Value::Object(summary.members()), wanted);
        }
    }
}
