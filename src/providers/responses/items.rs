//! Owns the items of a conversation: messages, calls, results, and items of the provider.

use serde_json::{Value, json};

use super::FAMILY;
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::parts::{HELD, NewFile};
use crate::model::registry::Facts;
use crate::providers::Media;
use crate::providers::files::{self, File, Kind};
use crate::providers::own::{self, Pieces, Sort};
use crate::providers::reply::{object, text};

/// A picture that the model made.
pub(super) const IMAGE: &str = "image_generation_call";

/// The items of an assistant message.
pub(super) struct Items;

impl Pieces for Items {
    const FAMILY: &'static str = FAMILY;

    fn sort(item: &Value) -> Sort<'_> {
        match text(item, "type") {
            "message" => Sort::Text(spoken(item).into()),
            "function_call" => Sort::Call,
            IMAGE => Sort::File,
            _ => Sort::Own,
        }
    }

    fn text(text: &str, like: Option<&Value>) -> Value {
        match like {
            Some(item) => changed(item, [("content", json!([{"type": "output_text", "text": text, "annotations": []}]))]),
            // Not every server knows the item without its type.
            None => json!({"type": "message", "role": "assistant", "content": text}),
        }
    }

    fn call(call: &ToolCall, like: Option<&Value>) -> Value {
        let Some(item) = like else {
            return json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": object(call).to_string()});
        };
        let said = serde_json::from_str::<Value>(text(item, "arguments")).ok();
        let arguments = if said.as_ref() == Some(&call.arguments) { item["arguments"].clone() } else { object(call).to_string().into() };
        changed(item, [("call_id", call.id.as_str().into()), ("name", call.name.as_str().into()), ("arguments", arguments)])
    }
}

fn changed<const N: usize>(item: &Value, members: [(&str, Value); N]) -> Value {
    let mut item = item.clone();
    if let Some(item) = item.as_object_mut() {
        item.extend(members.map(|(key, value)| (key.to_owned(), value)));
    }
    item
}

/// The text of a message item.
pub(super) fn spoken(item: &Value) -> String {
    part_texts(item, "output_text", "text")
}

/// What a message item says instead of an answer.
pub(super) fn refused(item: &Value) -> String {
    part_texts(item, "refusal", "refusal")
}

fn part_texts(item: &Value, kind: &str, key: &str) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter(|part| text(part, "type") == kind).map(|part| text(part, key)).collect()
}

/// The items of a message, without system messages.
pub(super) fn of(message: &Message, media: &[Media]) -> Vec<Value> {
    match message.role {
        Role::System => Vec::new(),
        Role::User => vec![json!({"role": "user", "content": files::content(message, media, text_part, part)})],
        Role::Assistant => said(message, media),
        Role::Tool => {
            vec![json!({"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content})]
        }
    }
}

fn said(message: &Message, media: &[Media]) -> Vec<Value> {
    let mut items = own::pieces::<Items>(message);
    items.retain_mut(|item| {
        if text(item, "type") != IMAGE {
            return true;
        }
        let Some(file) = files::held(item, message, media).filter(|file| file.kind() == Kind::Image) else { return false };
        *item = json!({"type": IMAGE, "id": item["id"], "status": "completed", "result": file.base64()});
        true
    });
    items
}

/// Takes the pictures out of the items of an answer, and leaves their places there.
pub(super) fn take_files(items: &mut Vec<Value>) -> Vec<NewFile> {
    let mut files = Vec::new();
    items.retain_mut(|item| {
        if text(item, "type") != IMAGE {
            return true;
        }
        let format = item.get("output_format").and_then(Value::as_str).unwrap_or("png");
        let Some(file) = NewFile::of_base64(None, &format!("image/{format}"), text(item, "result")) else { return false };
        *item = json!({"type": IMAGE, "id": item["id"], HELD: files.len()});
        files.push(file);
        true
    });
    files
}

fn text_part(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

/// It takes the bytes of such a file, or its text.
pub(in crate::providers) const fn carries(_: &Facts, kind: Kind, _: &str) -> bool {
    matches!(kind, Kind::Image | Kind::Pdf | Kind::Text)
}

fn part(file: File<'_>) -> Value {
    match file.kind() {
        Kind::Image => json!({"type": "input_image", "image_url": file.data_url(), "detail": "auto"}),
        Kind::Pdf => json!({"type": "input_file", "filename": file.name(), "file_data": file.data_url()}),
        Kind::Audio | Kind::Video | Kind::Text | Kind::Other => text_part(&file.to_text()),
    }
}
