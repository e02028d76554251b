//! Owns the parts of messages of the host's models: joined from pieces, stored with `provider_data`, sent back unchanged.

use serde_json::{Map, Value, json};

use super::FAMILY;
use crate::model::chat::{Message, ToolCall};
use crate::model::parts::Part;
use crate::providers::own::{self, Pieces, Sort};
use crate::providers::reply::{object, text, tool_call_of};
use crate::providers::sources::Sources;
use crate::providers::{Delta, Deltas};

/// The member of a part that is the host's alone.
const OWN: &str = "provider_data";
/// Parts of one answer. What is said beyond them joins the part before, whatever data that has; other parts may be as many more.
const MOST: usize = 10_000;

/// The parts of a message that the host's model wrote.
struct Written;

impl Pieces for Written {
    const FAMILY: &'static str = FAMILY;

    fn sort(part: &Value) -> Sort<'_> {
        match text(part, "type") {
            "text" => Sort::Text(text(part, "text").into()),
            "call" => Sort::Call,
            _ => Sort::Own,
        }
    }

    fn text(text: &str, like: Option<&Value>) -> Value {
        with_own(json!({"type": "text", "text": text}), like)
    }

    fn call(call: &ToolCall, like: Option<&Value>) -> Value {
        with_own(json!({"type": "call", "call_id": call.id, "name": call.name, "inputs": object(call)}), like)
    }
}

fn with_own(mut part: Value, like: Option<&Value>) -> Value {
    if let Some(own) = like.and_then(|like| like.get(OWN)) {
        part[OWN] = own.clone();
    }
    part
}

/// The parts of a message, if the host sent more than text and calls.
pub(super) fn of(message: &Message) -> Option<Vec<Value>> {
    message.blocks.as_ref().filter(|own| own.family == FAMILY)?;
    Some(own::pieces::<Written>(message))
}

/// The parts of an answer as far as they came.
#[derive(Debug, Default)]
pub(super) struct ReceivedParts {
    parts: Vec<Value>,
    /// A call of a chunk `tool_call`, or of the last answer, counts where no part is one.
    calls: Vec<ToolCall>,
    /// A part was not kept.
    too_many: bool,
}

impl ReceivedParts {
    /// Takes a part: text and thoughts are joined to those before, unless these have data of the host's own, which ends them.
    pub(super) fn take(&mut self, part: &Value, deltas: Deltas<'_>) {
        let (kind, said) = (text(part, "type"), text(part, "text"));
        match kind {
            "text" if !said.is_empty() => deltas(Delta::Text(said.to_owned())),
            "reasoning" if !said.is_empty() => deltas(Delta::Reasoning(said.to_owned())),
            "call" => self.calls.push(tool_call_of(text(part, "call_id"), text(part, "name"), part.get("inputs"))),
            "text" | "reasoning" | "source" => {}
            // Parts that later versions may send are unknown here.
            _ => return,
        }
        let (says, count) = (matches!(kind, "text" | "reasoning"), self.parts.len());
        let joins = |last: &&mut Value| says && text(last, "type") == kind && last.get(OWN).is_none();
        let last = match self.parts.last_mut().filter(joins) {
            None if says && count >= MOST => self.parts.iter_mut().rfind(|part| text(part, "type") == kind),
            last => last,
        };
        match last.and_then(Value::as_object_mut) {
            Some(last) => {
                if let Some(Value::String(before)) = last.get_mut("text") {
                    before.push_str(said);
                }
                if let (None, Some(own)) = (last.get(OWN), part.get(OWN)) {
                    last.insert(OWN.to_owned(), own.clone());
                }
            }
            None if count < 2 * MOST => self.parts.push(kept(part, kind, said)),
            None => self.too_many = true,
        }
    }

    /// Whether there were more parts than are kept.
    pub(super) fn has_too_many(&self) -> bool {
        self.too_many
    }

    pub(super) fn call(&mut self, call: ToolCall) {
        self.parts.push(Written::call(&call, None));
        self.calls.push(call);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The text of all parts.
    pub(super) fn text(&self) -> String {
        self.parts.iter().filter(|part| text(part, "type") == "text").map(|part| text(part, "text")).collect()
    }

    /// Calls, thoughts, sources, and the parts themselves when there is more in them than text and calls.
    pub(super) fn end(self) -> (Vec<ToolCall>, Vec<Part>, Sources, Option<Value>) {
        let thoughts = self.parts.iter().filter(|part| text(part, "type") == "reasoning").map(|part| Part::reasoning(text(part, "text")));
        let thoughts: Vec<Part> = thoughts.collect();
        let sources = Sources::of_host(self.parts.iter().filter(|part| text(part, "type") == "source"));
        let special = self.parts.iter().any(|part| part.get(OWN).is_some() || matches!(Written::sort(part), Sort::Own));
        (self.calls, thoughts, sources, special.then_some(Value::Array(self.parts)))
    }
}

/// Of a part what is known; a thought or a text has a text, if an empty one.
fn kept(part: &Value, kind: &str, said: &str) -> Value {
    let mut members: Map<String, Value> = part.as_object().cloned().unwrap_or_default();
    if matches!(kind, "text" | "reasoning") {
        members.retain(|name, _| name == OWN || name == "type");
        members.insert("text".into(), said.into());
    }
    Value::Object(members)
}
