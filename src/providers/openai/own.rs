//! Owns the fields that chat completion servers want back with their messages, and their ids of calls.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::answer::{content, text};
use super::dialect::Echo;

/// The key of what `Echo::Thinking` keeps.
const THINKING: &str = "thinking";
/// The key of what came before the text: a thought with its tags.
const TAGGED: &str = "tagged_thought";

/// Keeps what one piece of an answer adds.
pub(super) fn keep(own: &mut Map<String, Value>, echo: &Echo, message: &Value) {
    match echo {
        Echo::Text(key) => keep_text(own, key, text(message.get(&**key))),
        Echo::Details(key) => {
            let more = message.get(*key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if more.is_empty() {
                return;
            }
            if let Value::Array(kept) = own.entry(*key).or_insert_with(|| json!([])) {
                more.iter().for_each(|detail| keep_detail(kept, detail));
            }
        }
        Echo::Thinking => {
            let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
            let thoughts = parts.filter(|part| text(part.get("type")) == "thinking");
            thoughts.for_each(|part| keep_text(own, THINKING, &content(part.get("thinking"))));
        }
    }
}

fn keep_text(own: &mut Map<String, Value>, key: &str, more: &str) {
    if more.is_empty() {
        return;
    }
    match own.get_mut(key) {
        Some(Value::String(kept)) => kept.push_str(more),
        Some(_) | None => {
            own.insert(key.to_owned(), more.into());
        }
    }
}

/// Pieces of one detail have the same kind and index.
fn keep_detail(kept: &mut Vec<Value>, detail: &Value) {
    let same = |last: &&mut Value| detail.get("index").is_some() && ["type", "index"].iter().all(|key| last.get(*key) == detail.get(*key));
    let Some(last) = kept.last_mut().filter(same).and_then(Value::as_object_mut) else {
        kept.push(detail.clone());
        return;
    };
    for (key, more) in detail.as_object().into_iter().flatten().filter(|(_, more)| !more.is_null()) {
        match (last.get_mut(key), more) {
            (Some(Value::String(kept)), Value::String(more)) if matches!(key.as_str(), "text" | "summary" | "data") => kept.push_str(more),
            (_, more) => {
                last.insert(key.clone(), more.clone());
            }
        }
    }
}

/// Restores stored fields in a message, without those of other servers of the same family.
pub(super) fn put_back(told: &mut Map<String, Value>, echo: &[Echo], own: &Value) {
    for echo in echo {
        match echo {
            Echo::Text(key) => told.extend(own.get(&**key).map(|kept| (key.to_string(), kept.clone()))),
            Echo::Details(key) => told.extend(own.get(*key).map(|kept| ((*key).to_owned(), kept.clone()))),
            Echo::Thinking => {
                let Some(thought) = own.get(THINKING) else { continue };
                let said = told.get("content").and_then(Value::as_str).filter(|said| !said.is_empty());
                let said = said.map(|said| json!({"type": "text", "text": said}));
                let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": thought}]});
                told.insert("content".into(), [thinking].into_iter().chain(said).collect());
            }
        }
    }
}

/// Keeps a thought with its tags, as it came before the text.
pub(super) fn keep_tag(own: &mut Map<String, Value>, tagged: String) {
    own.insert(TAGGED.into(), tagged.into());
}

/// Puts a thought with its tags back before the text.
pub(super) fn put_tag_back(told: &mut Map<String, Value>, own: &Value) {
    if let Some(tagged) = own.get(TAGGED).and_then(Value::as_str) {
        let said = told.get("content").and_then(Value::as_str).unwrap_or_default();
        told.insert("content".into(), format!("{tagged}{said}").into());
    }
}

/// An id of nine letters and figures: the one that it is, else one made of it.
pub(super) fn short_id(id: &str) -> String {
    const LENGTH: usize = 9;
    const SIGNS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    if id.len() == LENGTH && id.bytes().all(|sign| sign.is_ascii_alphanumeric()) {
        return id.to_owned();
    }
    let hash = Sha256::digest(id);
    hash.iter().take(LENGTH).map(|byte| char::from(SIGNS[usize::from(byte % 32)])).collect()
}
