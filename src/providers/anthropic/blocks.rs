//! Owns the content blocks of a conversation, both ways.

use serde_json::{Value, json};

use super::FAMILY;
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::registry::Facts;
use crate::providers::Media;
use crate::providers::files::{self, File, Kind};
use crate::providers::own::{self, Pieces, Sort};
use crate::providers::reply::{object, text};

/// The blocks of an assistant message.
pub(super) struct Blocks;

impl Pieces for Blocks {
    const FAMILY: &'static str = FAMILY;

    fn sort(block: &Value) -> Sort<'_> {
        match text(block, "type") {
            "text" => Sort::Text(text(block, "text").into()),
            "tool_use" => Sort::Call,
            _ => Sort::Own,
        }
    }

    fn text(text: &str, _: Option<&Value>) -> Value {
        json!({"type": "text", "text": text})
    }

    fn call(call: &ToolCall, _: Option<&Value>) -> Value {
        json!({"type": "tool_use", "id": id(&call.id), "name": call.name, "input": object(call)})
    }
}

/// Ids of other providers may hold characters that are refused here.
pub(in crate::providers) fn id(id: &str) -> String {
    id.chars().map(|one| if one.is_ascii_alphanumeric() || one == '-' { one } else { '_' }).collect()
}

/// The turns of a conversation.
pub(super) fn turns(messages: &[Message], media: &[Media]) -> Vec<Value> {
    own::turns(messages, |message| match message.role {
        Role::System => Vec::new(),
        Role::User => user(message, media),
        Role::Assistant => said(message),
        Role::Tool => vec![result(message, media)],
    })
}

/// Blank texts are refused, also those that the provider wrote.
fn said(message: &Message) -> Vec<Value> {
    let mut blocks = own::pieces::<Blocks>(message);
    blocks.retain(|block| text(block, "type") != "text" || !text(block, "text").trim().is_empty());
    let says = blocks.iter().any(|block| !matches!(Blocks::sort(block), Sort::Own));
    if says { blocks } else { Vec::new() }
}

/// Files come before the text that asks about them; blank texts are refused.
fn user(message: &Message, media: &[Media]) -> Vec<Value> {
    let text = (!message.content.trim().is_empty()).then(|| Blocks::text(&message.content, None));
    files::of(message, media).map(file_block).chain(text).collect()
}

fn result(message: &Message, media: &[Media]) -> Value {
    let called = message.tool_call_id.as_deref().unwrap_or_default();
    let files: Vec<Value> = files::of(message, media).map(file_block).collect();
    let content: Value = match files.is_empty() {
        true => message.content.as_str().into(),
        false => {
            let text = (!message.content.trim().is_empty()).then(|| Blocks::text(&message.content, None));
            text.into_iter().chain(files).collect()
        }
    };
    let mut result = json!({"type": "tool_result", "tool_use_id": id(called), "content": content});
    if let (true, Some(result)) = (message.is_error, result.as_object_mut()) {
        result.insert("is_error".into(), true.into());
    }
    result
}

/// It takes the bytes of such a file, or its text.
pub(in crate::providers) fn carries(_: &Facts, kind: Kind, mime: &str) -> bool {
    match kind {
        Kind::Image => matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp"),
        Kind::Pdf | Kind::Text => true,
        Kind::Audio | Kind::Video | Kind::Other => false,
    }
}

fn file_block(file: File<'_>) -> Value {
    let base64 = || json!({"type": "base64", "media_type": file.mime(), "data": file.base64()});
    match (file.kind(), file.mime()) {
        (Kind::Image, "image/png" | "image/jpeg" | "image/gif" | "image/webp") => json!({"type": "image", "source": base64()}),
        (Kind::Pdf, _) => json!({"type": "document", "title": file.name(), "source": base64()}),
        (Kind::Text, _) => {
            let source = json!({"type": "text", "media_type": "text/plain", "data": file.text()});
            json!({"type": "document", "title": file.name(), "source": source})
        }
        (Kind::Image | Kind::Audio | Kind::Video | Kind::Other, _) => Blocks::text(&file.to_text(), None),
    }
}
