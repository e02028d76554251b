//! Owns the request that clients of both protocols make, and the parsing of its members.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::Id;
use crate::model::trace_context::TraceContext;

/// Characters of a client's name for a chat.
const CHAT: usize = 191;

/// What a body asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ask {
    /// The client's name of the chat.
    pub(super) chat: Option<String>,
    /// What the user says.
    pub(super) said: NewMessage,
    /// The last message is one of the assistant, with decisions on tool calls.
    pub(super) verdicts: Vec<Verdict>,
    /// The last message is one of the assistant, without decisions: the user says nothing new.
    pub(super) is_answered: bool,
    /// Answers to pauses, by the pauses' ids.
    pub(super) interrupts: Vec<Interrupt>,
    /// A resume body of the studio's own routes.
    pub(super) native: Option<Value>,
    /// The last answer is to be made again.
    pub(super) regenerates: bool,
    /// The client's id of that answer.
    pub(super) message_id: Option<String>,
    /// The initial state.
    pub(super) state: Option<Value>,
    /// The state is that of the client, which sends it with each run: agents are not shown it.
    pub(super) is_own_state: bool,
    /// What the client's application knows.
    pub(super) context: Option<Value>,
    /// As it came.
    pub(super) on_disconnect: Option<Value>,
    /// The client's name of its run.
    pub(super) run: Option<String>,
    /// All messages, of an AG-UI client.
    pub(super) posted: Vec<Value>,
    /// The span of the host that it is part of; no part of the body.
    pub(super) trace: Option<Arc<TraceContext>>,
}

/// A message, with files that are not stored yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NewMessage {
    pub(super) text: Value,
    pub(super) files: Vec<File>,
    /// Files as the studio's own routes name them.
    pub(super) attachments: Option<Value>,
    /// What a refusal of the message names.
    pub(super) field: &'static str,
}

/// A file as a message names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct File {
    /// `data:`, or the address of a file that was uploaded before.
    pub(super) url: String,
    pub(super) mime_type: Option<String>,
    pub(super) name: Option<String>,
}

/// A decision on one tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) pause: String,
    pub(super) call: String,
    pub(super) approved: bool,
    pub(super) reason: Option<String>,
}

/// An answer to one pause.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interrupt {
    pub(super) pause: String,
    /// None to cancel.
    pub(super) payload: Option<Value>,
}

pub(super) fn members(body: &Value) -> Result<&Map<String, Value>> {
    body.as_object().ok_or_else(|| Error::field("body", "the body must be an object"))
}

/// A member that is there and not null.
pub(super) fn given<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

pub(super) fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>> {
    let wrong = || Error::field(name, format!("{name} must be a string"));
    given(members, name).map(|value| value.as_str().map(str::to_owned).ok_or_else(wrong)).transpose()
}

/// A name that a client gives a chat or a run.
pub(super) fn name(members: &Map<String, Value>, field: &str) -> Result<Option<String>> {
    let found = text(members, field)?.filter(|text| !text.is_empty());
    if found.as_ref().is_some_and(|text| text.chars().count() > CHAT) {
        return Err(Error::field(field, format!("{field} must have at most {CHAT} characters")));
    }
    Ok(found)
}

/// The id of a pause in its usual form; what is none stays as it is.
pub(super) fn pause_id(given: &str) -> String {
    given.parse::<Id>().map_or_else(|_| given.to_owned(), |id| id.to_string())
}

/// A list of objects; empty where there is none.
pub(super) fn objects<'a>(members: &'a Map<String, Value>, name: &str) -> Result<Vec<&'a Map<String, Value>>> {
    let wrong = |at: &str| Error::field(at, format!("{at} must be {}", if at == name { "a list" } else { "an object" }));
    let Some(value) = given(members, name) else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or_else(|| wrong(name))?;
    items.iter().enumerate().map(|(at, item)| item.as_object().ok_or_else(|| wrong(&format!("{name}.{at}")))).collect()
}

pub(super) fn object(members: &Map<String, Value>, name: &str) -> Result<Option<Value>> {
    match given(members, name) {
        Some(value) if !value.is_object() => Err(Error::field(name, format!("{name} must be an object"))),
        found => Ok(found.cloned()),
    }
}
