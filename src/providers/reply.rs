//! Owns the parts of a whole answer, shared by all families.

use serde_json::{Map, Value};

use super::sources::Sources;
use super::wire::malformed;
use super::{ChatReply, ChatRequest, Finish, Named, ProviderFailure};
use crate::json::surrogates::PendingSurrogate;
use crate::json::{self, Unread};
use crate::model::chat::{Message, ProviderBlocks, Role, Tokens, ToolCall};
use crate::model::event::FaultCode;
use crate::model::parts::{NewFile, Part};
use crate::model::usage::Picos;

/// No turn holds more calls; an answer that asks for more is not taken.
pub(super) const MOST_CALLS: usize = 1024;

/// The failure of an answer that asks for more calls.
pub(super) fn too_many_calls() -> ProviderFailure {
    malformed("it asks for too many tools at once")
}

/// The parts of an answer.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) text: String,
    /// The calls that it asks for.
    pub(super) calls: Vec<ToolCall>,
    /// What it thought.
    pub(super) thoughts: Vec<Part>,
    /// What the answer rests on.
    pub(super) sources: Sources,
    /// Pictures and sounds that the model made.
    pub(super) files: Vec<NewFile>,
    /// What the family wants back unchanged.
    pub(super) own: Option<Value>,
    /// The last usage report.
    pub(super) tokens: Option<Tokens>,
    /// What the provider calls the answer and its model.
    pub(super) named: Named,
    /// What it costs in dollars, as the provider says it.
    pub(super) cost: Option<Picos>,
    /// Why it ended, as the provider says it.
    pub(super) finish: Finish,
    /// Why a filter stopped it.
    pub(super) explanation: String,
}

impl Parts {
    /// The answer of a family.
    pub(super) fn into_reply(mut self, family: &str, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        if self.calls.len() > MOST_CALLS {
            return Err(too_many_calls());
        }
        let (silent, calls) = (self.text.trim().is_empty() && self.files.is_empty(), !self.calls.is_empty());
        let finish = match self.finish {
            Finish::ContentFilter if silent && !calls => return Err(filtered(&self.explanation)),
            Finish::ToolCalls if silent && !calls => return Err(malformed("it ends with calls of tools, but holds none")),
            Finish::ToolCalls if !calls => Finish::Other,
            Finish::Stop | Finish::ToolCalls | Finish::Other if calls => Finish::ToolCalls,
            finish @ (Finish::Stop | Finish::ToolCalls | Finish::Length | Finish::ContentFilter | Finish::Other) => finish,
        };
        sound_names(&mut self.calls, request);
        let structured = request.schema.as_ref().and_then(|_| crate::json::read(self.text.as_bytes()).ok());
        let blocks = self.own.map(|value| ProviderBlocks { family: family.into(), by: None, value });
        let shows = request.parameters.shows_reasoning();
        let thoughts = self.thoughts.into_iter().map(|part| if shows { part } else { part.unseen() });
        let parts = thoughts.chain(self.sources.into_list().into_iter().map(Part::Source)).collect();
        let message = Message { tool_calls: self.calls, parts, blocks, ..Message::text(Role::Assistant, self.text) };
        // Every call takes tokens: who reports none has not counted.
        let tokens = self.tokens.filter(|tokens| tokens.prompt + tokens.completion > 0);
        Ok(ChatReply { message, files: self.files, structured, tokens, last_prompt: None, named: self.named, cost: self.cost, finish, warnings: Vec::new(), reply_index: None })
    }
}

/// The failure of an answer that a filter stopped, or that is a refusal.
pub(super) fn filtered(text: &str) -> ProviderFailure {
    let text = if text.is_empty() { "the provider's filter stopped the answer" } else { text };
    ProviderFailure::new(FaultCode::ProviderContentFiltered, text)
}

/// The failure of an answer that the provider gave up.
pub(super) fn broken_off() -> ProviderFailure {
    ProviderFailure::new(FaultCode::ProviderUnavailable, "the provider broke off its answer")
}

/// A tool call whose arguments came as text; nothing at all means none.
pub(super) fn tool_call(id: String, name: String, arguments: &str) -> ToolCall {
    let text = arguments.trim();
    let parsed = if text.is_empty() { Ok(Value::Object(Map::new())) } else { parse(text) };
    let (arguments, invalid) = match parsed {
        Ok(object @ Value::Object(_)) => (object, None),
        Ok(_) => (Value::String(arguments.to_owned()), Some("the arguments are not a JSON object".to_owned())),
        Err(Unread::Heavy) => (Value::String(arguments.to_owned()), Some("the arguments have too many values".to_owned())),
        Err(problem @ Unread::Wrong(_)) => (Value::String(arguments.to_owned()), Some(format!("the arguments are not valid JSON: {problem}"))),
    };
    ToolCall { id, name, arguments, invalid }
}

fn parse(text: &str) -> Result<Value, Unread> {
    json::read(text.as_bytes()).or_else(|problem| match PendingSurrogate::default().mend(text) {
        Some(mended) => json::read(mended.as_bytes()),
        None => Err(problem),
    })
}

/// The longest name of a tool.
const LONGEST_NAME: usize = 64;

/// Renames calls of unknown tools to names that providers accept: they refuse a conversation with any other name.
pub(super) fn sound_names(calls: &mut [ToolCall], request: &ChatRequest) {
    for call in calls.iter_mut().filter(|call| !is_name(&call.name)) {
        if request.tools.iter().all(|tool| tool.name != call.name) {
            call.name = sound(&call.name);
        }
    }
}

const fn fits(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(fits)
}

/// The nearest name that providers accept. No tool has it; the model receives that error.
fn sound(name: &str) -> String {
    let name: String = name.chars().take(LONGEST_NAME - 1).map(|letter| if fits(letter) { letter } else { '_' }).collect();
    if name.is_empty() { "unnamed".into() } else { format!("{name}_") }
}

/// A tool call whose arguments came as JSON, or as text that holds it.
pub(super) fn tool_call_of(id: &str, name: &str, arguments: Option<&Value>) -> ToolCall {
    let arguments = match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    tool_call(id.to_owned(), name.to_owned(), &arguments)
}

/// The arguments of a call as an object, which is all that wires take.
pub(super) fn object(call: &ToolCall) -> Value {
    if call.arguments.is_object() { call.arguments.clone() } else { Value::Object(Map::new()) }
}

/// A text member, or none of it.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// No report of tokens is larger: sums of such figures stay far below what a number can hold.
pub(super) const MOST_TOKENS: u64 = 1_000_000_000_000;

/// What is at a path of keys.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// A count of tokens at a path. Some write it with a point, or as a text.
pub(super) fn count(value: &Value, path: &[&str]) -> Option<u64> {
    let found = at(value, path)?;
    let whole = found.as_u64().or_else(|| found.as_str()?.trim().parse().ok());
    whole.or_else(|| rounded(found)).map(|count| count.min(MOST_TOKENS))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number that is not negative becomes the nearest count")]
fn rounded(value: &Value) -> Option<u64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (number.is_finite() && number >= 0.0).then(|| number.round() as u64)
}

/// More than any call costs: such a report is not believed.
const DEAREST: f64 = 100_000.0;

/// A cost in dollars: a number, or an object with the sum of its parts.
#[expect(clippy::cast_possible_truncation, reason = "the bound is far below what fits")]
pub(super) fn dollars(told: &Value) -> Option<Picos> {
    let amount = told.get("total_cost").unwrap_or(told).as_f64().filter(|amount| (0.0..DEAREST).contains(amount))?;
    Some(Picos((amount * 1e12).round() as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::providers::ToolOffer;

    #[test]
    fn counts_are_read_however_they_are_written() {
        for (told, wanted) in [
            (json!(100), Some(100)),
            (json!(100.0), Some(100)),
            (json!("100"), Some(100)),
            (json!(" 99.6 "), Some(100)),
            (json!(-1), None),
            (json!("many"), None),
            (json!(null), None),
            (json!(1e300), Some(MOST_TOKENS)),
        ] {
            assert_eq!(count(&json!({"a": {"b": told}}), &["a", "b"]), wanted, "{told}");
        }
    }

    #[test]
    fn a_call_has_a_name_that_can_be_sent_back() {
        let mut request = ChatRequest::new("m", Vec::new());
        request.tools = vec![ToolOffer { name: "files.read".into(), description: String::new(), input_schema: json!({}) }];
        let named = |name: &str| {
            let mut calls = [tool_call(String::new(), name.to_owned(), "")];
            sound_names(&mut calls, &request);
            calls[0].name.clone()
        };
        assert_eq!(["read_file-2", "", "files.read", "files.write", "lo\nok\u{1b}[31m"].map(named),
            ["read_file-2", "unnamed", "files.read", "files_write_", "lo_ok__31m_"]);
        assert_eq!(named(&"é".repeat(500_000)).len(), 64);
    }

    #[test]
    fn an_answer_holds_so_many_calls_and_no_more() {
        let reply = |count: usize| {
            let calls = (0..count).map(|at| tool_call(format!("c{at}"), "t".into(), "")).collect();
            Parts { calls, ..Parts::default() }.into_reply("f", &ChatRequest::new("m", Vec::new()))
        };
        assert_eq!(reply(MOST_CALLS).expect("a reply").message.tool_calls.len(), MOST_CALLS);
        let refused = reply(MOST_CALLS + 1).expect_err("too many");
        assert_eq!(refused.fault.code, FaultCode::ProviderProtocol);
    }

    #[test]
    fn arguments_may_hold_half_a_character() {
        let call = tool_call(String::new(), "t".into(), r#"{"path":"a\ud83d b"}"#);
        assert_eq!((call.arguments, call.invalid), (json!({"path": "a\u{fffd} b"}), None));
    }
}
