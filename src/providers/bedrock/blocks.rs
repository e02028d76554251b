//! Owns the content blocks of a conversation, both ways.

use serde_json::{Value, json};

use super::FAMILY;
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::registry::{Facts, Medium};
use crate::providers::Media;
use crate::providers::anthropic::blocks::id;
use crate::providers::files::{self, File, Kind};
use crate::providers::own::{self, Pieces, Sort};
use crate::providers::reply::{object, text};

/// The longest id of a call.
const LONGEST_ID: usize = 64;

/// The blocks of an assistant message.
pub(super) struct Blocks;

impl Pieces for Blocks {
    const FAMILY: &'static str = FAMILY;

    fn sort(block: &Value) -> Sort<'_> {
        match (block.get("text"), block.get("toolUse")) {
            (Some(Value::String(text)), _) => Sort::Text(text.into()),
            (_, Some(_)) => Sort::Call,
            (_, None) => Sort::Own,
        }
    }

    fn text(text: &str, _: Option<&Value>) -> Value {
        json!({ "text": text })
    }

    fn call(call: &ToolCall, _: Option<&Value>) -> Value {
        json!({"toolUse": {"toolUseId": short(&call.id), "name": call.name, "input": object(call)}})
    }
}

/// Ids of other providers may hold characters that are refused here, or too many.
fn short(told: &str) -> String {
    let mut id = id(told);
    id.truncate(LONGEST_ID);
    id
}

/// What the model of a request takes beside text.
#[derive(Clone, Copy)]
pub(super) struct Taken<'a> {
    pub(super) facts: &'a Facts,
    /// Results of calls may be marked as errors.
    pub(super) status: bool,
}

/// The turns of a conversation.
pub(super) fn turns(messages: &[Message], media: &[Media], taken: Taken<'_>) -> Vec<Value> {
    let mut documents = 0;
    own::turns(messages, |message| match message.role {
        Role::System => Vec::new(),
        Role::User => user(message, media, taken, &mut documents),
        Role::Assistant => said(message),
        Role::Tool => vec![result(message, taken)],
    })
}

/// Blank texts are refused, also those that the model wrote.
fn said(message: &Message) -> Vec<Value> {
    let mut blocks = own::pieces::<Blocks>(message);
    blocks.retain(|block| !block.get("text").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty()));
    let says = blocks.iter().any(|block| !matches!(Blocks::sort(block), Sort::Own));
    if says { blocks } else { Vec::new() }
}

/// Files come before the text that asks about them. A document is taken only beside a text.
fn user(message: &Message, media: &[Media], taken: Taken<'_>, documents: &mut usize) -> Vec<Value> {
    let mut blocks: Vec<Value> = files::of(message, media).map(|file| file_block(file, taken.facts, documents)).collect();
    let lone = blocks.iter().any(|block| block.get("document").is_some()) && blocks.iter().all(|block| block.get("text").is_none());
    if !message.content.trim().is_empty() {
        blocks.push(Blocks::text(&message.content, None));
    } else if lone {
        blocks.push(Blocks::text("(the user sent this document without a text)", None));
    }
    blocks
}

fn result(message: &Message, taken: Taken<'_>) -> Value {
    let called = message.tool_call_id.as_deref().unwrap_or_default();
    let told = if message.content.trim().is_empty() { "(the result is empty)" } else { &message.content };
    let mut result = json!({"toolUseId": short(called), "content": [{ "text": told }]});
    if message.is_error && taken.status {
        result["status"] = "error".into();
    }
    json!({ "toolResult": result })
}

/// It takes the bytes of such a file, or its text.
pub(in crate::providers) fn carries(facts: &Facts, kind: Kind, mime: &str) -> bool {
    match (kind, mime.split_once('/').map_or("", |(_, kind)| kind)) {
        (Kind::Image, kind) => matches!(kind, "png" | "jpeg" | "gif" | "webp"),
        (Kind::Video, kind) => matches!(kind, "mp4" | "webm" | "quicktime"),
        (Kind::Text, _) => true,
        (sort, kind) => document(sort, kind).is_some() && facts.reads(Medium::Pdf),
    }
}

fn file_block(file: File<'_>, facts: &Facts, documents: &mut usize) -> Value {
    let bytes = || json!({"bytes": file.base64()});
    let kind = file.mime().split_once('/').map_or("", |(_, kind)| kind);
    match (file.kind(), kind) {
        (Kind::Image, "png" | "jpeg" | "gif" | "webp") => json!({"image": {"format": kind, "source": bytes()}}),
        (Kind::Video, "mp4" | "webm") => json!({"video": {"format": kind, "source": bytes()}}),
        (Kind::Video, "quicktime") => json!({"video": {"format": "mov", "source": bytes()}}),
        (sort, kind) => match document(sort, kind).filter(|_| facts.reads(Medium::Pdf)) {
            Some(format) => {
                *documents += 1;
                json!({"document": {"format": format, "name": name(file.name(), *documents), "source": bytes()}})
            }
            None => Blocks::text(&file.to_text(), None),
        },
    }
}

/// The format of a document that is sent as bytes; texts are sent as text.
fn document(sort: Kind, kind: &str) -> Option<&'static str> {
    match (sort, kind) {
        (Kind::Pdf, _) => Some("pdf"),
        (Kind::Other, "msword") => Some("doc"),
        (Kind::Other, "vnd.openxmlformats-officedocument.wordprocessingml.document") => Some("docx"),
        (Kind::Other, "vnd.ms-excel") => Some("xls"),
        (Kind::Other, "vnd.openxmlformats-officedocument.spreadsheetml.sheet") => Some("xlsx"),
        _ => None,
    }
}

/// Names hold letters, figures, single blanks, hyphens and brackets only, and no two documents of a request have the same.
fn name(told: &str, number: usize) -> String {
    let plain: String = told.chars().map(|sign| if sign.is_ascii_alphanumeric() || matches!(sign, '-' | '(' | ')') { sign } else { ' ' }).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let shown: String = words.join(" ").chars().take(100).collect();
    format!("{} [{number}]", if shown.trim().is_empty() { "document" } else { shown.trim() })
}

/// What the model thought, as people may read it; what is redacted has no text.
pub(super) fn thought(block: &Value) -> Option<&str> {
    let reasoning = block.get("reasoningContent")?;
    Some(reasoning.get("reasoningText").map_or("", |told| text(told, "text")))
}
