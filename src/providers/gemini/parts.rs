//! Owns the parts of a conversation's contents, both ways.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::FAMILY;
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::parts::{HELD, NewFile};
use crate::model::registry::Facts;
use crate::providers::Media;
use crate::providers::files::{self, File, Kind};
use crate::providers::own::{self, Pieces, Sort};
use crate::providers::reply::{object, text};

/// The parts of what a model said.
pub(super) struct Parts;

impl Pieces for Parts {
    const FAMILY: &'static str = FAMILY;

    fn sort(part: &Value) -> Sort<'_> {
        match (part.get("functionCall"), part.get("text")) {
            (Some(_), _) => Sort::Call,
            (None, Some(Value::String(text))) if !is_thought(part) => Sort::Text(text.into()),
            (None, _) if part.get(HELD).is_some() => Sort::File,
            (None, _) => Sort::Own,
        }
    }

    /// The signature of a part belongs to the place, not to the words.
    fn text(text: &str, like: Option<&Value>) -> Value {
        let mut part = json!({ "text": text });
        if let (Some(signature), Some(part)) = (like.and_then(|like| like.get("thoughtSignature")), part.as_object_mut()) {
            part.insert("thoughtSignature".into(), signature.clone());
        }
        part
    }

    fn call(call: &ToolCall, like: Option<&Value>) -> Value {
        let Some(part) = like else {
            return json!({"functionCall": {"id": call.id, "name": call.name, "args": object(call)}});
        };
        let mut part = part.clone();
        let arguments = object(call);
        let said = part.pointer("/functionCall/args").cloned().unwrap_or_else(|| json!({}));
        if let Some(told) = part.get_mut("functionCall").and_then(Value::as_object_mut) {
            if said != arguments {
                told.insert("args".into(), arguments);
            }
            if told.get("name").is_none_or(|name| *name != call.name) {
                told.insert("name".into(), call.name.as_str().into());
            }
        }
        part
    }
}

/// A summary of what the model thought.
pub(super) fn is_thought(part: &Value) -> bool {
    part.get("thought") == Some(&Value::Bool(true))
}

/// The contents of a conversation: what one side says in several messages is one content.
pub(super) fn contents(messages: &[Message], media: &[Media]) -> Vec<Value> {
    let mut contents: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut ids = HashMap::new();
    for message in messages {
        let (role, parts) = match message.role {
            Role::System => continue,
            Role::User => ("user", user(message, media)),
            Role::Assistant => ("model", said(message, media, &mut ids)),
            Role::Tool => ("user", vec![result(message, &ids)]),
        };
        match contents.last_mut().filter(|last| last.0 == role) {
            Some(last) => last.1.extend(parts),
            None if parts.is_empty() => {}
            None => contents.push((role, parts)),
        }
    }
    contents.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

/// What the model said, and under which id, if any, it knows each of its calls.
fn said<'a>(message: &'a Message, media: &[Media], ids: &mut HashMap<&'a str, Option<String>>) -> Vec<Value> {
    let mut parts = own::pieces::<Parts>(message);
    parts.retain_mut(|part| part.get(HELD).is_none() || put_back(part, message, media));
    let known = parts.iter().filter_map(|part| part.get("functionCall")).map(|call| call.get("id")?.as_str().map(str::to_owned));
    ids.extend(message.tool_calls.iter().map(|call| call.id.as_str()).zip(known));
    parts
}

/// A picture or a sound goes back where it was, with its signature; false when its bytes are not sent.
fn put_back(part: &mut Value, message: &Message, media: &[Media]) -> bool {
    let Some(file) = files::held(part, message, media) else { return false };
    let mut told = file_part(file);
    if let (Some(signature), Some(told)) = (part.get("thoughtSignature"), told.as_object_mut()) {
        told.insert("thoughtSignature".into(), signature.clone());
    }
    *part = told;
    true
}

/// Takes the files out of the parts of an answer, and leaves their places there. Drafts that belong to a thought are no part of it.
pub(super) fn take_files(parts: &mut Vec<Value>) -> Vec<NewFile> {
    let mut files = Vec::new();
    parts.retain_mut(|part| {
        let thought = is_thought(part);
        let Some(inline) = part.get("inlineData") else { return true };
        let file = NewFile::of_base64(inline.get("displayName").and_then(Value::as_str), text(inline, "mimeType"), text(inline, "data"));
        let (Some(file), Some(part), false) = (file, part.as_object_mut(), thought) else { return false };
        part.remove("inlineData");
        part.insert(HELD.into(), files.len().into());
        files.push(file);
        true
    });
    files
}

fn result(message: &Message, ids: &HashMap<&str, Option<String>>) -> Value {
    let key = if message.is_error { "error" } else { "output" };
    let called = message.tool_call_id.as_deref().unwrap_or_default();
    let mut response = json!({"name": message.name, "response": {key: message.content}});
    if let (Some(Some(id)), Some(response)) = (ids.get(called), response.as_object_mut()) {
        response.insert("id".into(), id.as_str().into());
    }
    json!({"functionResponse": response})
}

fn user(message: &Message, media: &[Media]) -> Vec<Value> {
    let text = (!message.content.is_empty()).then(|| json!({"text": message.content}));
    text.into_iter().chain(files::of(message, media).map(file_part)).collect()
}

/// It takes the bytes of such a file, or its text.
pub(in crate::providers) const fn carries(_: &Facts, kind: Kind, _: &str) -> bool {
    !matches!(kind, Kind::Other)
}

fn file_part(file: File<'_>) -> Value {
    match file.kind() {
        Kind::Image | Kind::Audio | Kind::Video | Kind::Pdf => json!({"inlineData": {"mimeType": file.mime(), "data": file.base64()}}),
        Kind::Text | Kind::Other => json!({"text": file.to_text()}),
    }
}

/// Adds parts that came to those that came before. Texts of one kind are joined, but never across a signature.
pub(super) fn join(parts: &mut Vec<Value>, more: &[Value]) {
    for part in more {
        let joins = |last: &&mut Value| is_plain(last) && is_plain(part) && is_thought(last) == is_thought(part);
        match parts.last_mut().filter(joins).and_then(|last| last.get_mut("text")) {
            Some(Value::String(kept)) => kept.push_str(text(part, "text")),
            Some(_) | None => parts.push(part.clone()),
        }
    }
}

/// Takes the ids of calls away, which Vertex AI does not know: it finds a result by its name and its place.
pub(super) fn without_ids(body: &mut Value) {
    let contents = body.get_mut("contents").and_then(Value::as_array_mut).into_iter().flatten();
    for part in contents.filter_map(|content| content.get_mut("parts")?.as_array_mut()).flatten() {
        for key in ["functionCall", "functionResponse"] {
            if let Some(told) = part.get_mut(key).and_then(Value::as_object_mut) {
                told.shift_remove("id");
            }
        }
    }
}

fn is_plain(part: &Value) -> bool {
    part.get("text").is_some_and(Value::is_string) && part.get("thoughtSignature").is_none()
}
