//! Owns the parts of a message besides text, calls and files (reasoning, sources), and messages as lists of parts.

mod file;
pub(crate) mod sniff;

pub use file::{File, HELD, NewFile};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::chat::{Message, Role};

/// Something that a message holds beside its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// What the model thought before it spoke.
    Reasoning(Reasoning),
    /// What its answer rests on.
    Source(Source),
}

/// What a model thought. What its provider needs back of it is with the provider's own blocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The text that people may read; none of what is encrypted, redacted or not wanted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A page of the web.
    Url,
    /// A document that the provider was given or keeps.
    Document,
}

/// What an answer rests on, as its provider says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The same for the same source.
    pub source_id: String,
    /// What it is.
    pub kind: SourceKind,
    /// Of a page: its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Of a document: the provider's name of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// Of a document: the page, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u64>,
}

impl Source {
    /// Its texts, which may hold what is to be masked.
    pub fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        self.url.iter_mut().chain(&mut self.title).chain(&mut self.document_id)
    }
}

impl Part {
    /// Its texts, which may hold what is to be masked.
    pub fn each_text(&mut self, mut each: impl FnMut(&mut String)) {
        match self {
            Self::Reasoning(reasoning) => each(&mut reasoning.text),
            Self::Source(source) => source.texts().for_each(each),
        }
    }

    /// A piece of reasoning; without text it is only known to have been there.
    #[must_use]
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning(Reasoning { text: text.into() })
    }

    /// The same without what people may read.
    #[must_use]
    pub fn unseen(self) -> Self {
        match self {
            Self::Reasoning(_) => Self::reasoning(""),
            source @ Self::Source(_) => source,
        }
    }

    /// About the bytes that it takes.
    pub fn weight(&self) -> usize {
        match self {
            Self::Reasoning(reasoning) => reasoning.text.len(),
            Self::Source(source) => 128 + source.url.as_ref().map_or(0, String::len),
        }
    }

    /// As people see it; none of what is not shown.
    fn shown(&self) -> Option<Value> {
        match self {
            Self::Source(_) => serde_json::to_value(self).ok(),
            Self::Reasoning(Reasoning { text }) => (!text.is_empty()).then(|| json!({"type": "reasoning", "text": text})),
        }
    }
}

impl Message {
    /// What it rests on.
    pub fn sources(&self) -> Vec<Source> {
        let sources = self.parts.iter().filter_map(|part| if let Part::Source(source) = part { Some(source.clone()) } else { None });
        sources.collect()
    }

    /// The message as people see it: what it thought, its text or result, its files, its calls.
    pub fn shown_parts(&self) -> Vec<Value> {
        let text = (!self.content.is_empty()).then(|| json!({"type": "text", "text": self.content}));
        let files = self.attachments.iter().map(|file| {
            let size = file.size.map(|size| ("size", size));
            let mut shown = json!({"type": "file", "storage_key": file.storage_key, "name": file.name, "media_type": file.mime_type});
            size.into_iter().for_each(|(key, size)| shown[key] = size.into());
            shown
        });
        if self.role == Role::Tool {
            let parts: Vec<Value> = text.into_iter().chain(files).collect();
            return vec![json!({"type": "result", "call_id": self.tool_call_id, "name": self.name, "is_error": self.is_error, "parts": parts})];
        }
        let calls = self.tool_calls.iter().map(|call| json!({"type": "call", "call_id": call.id, "name": call.name, "inputs": call.arguments}));
        let (sources, thoughts): (Vec<&Part>, Vec<&Part>) = self.parts.iter().partition(|part| matches!(part, Part::Source(_)));
        let shown = |parts: Vec<&Part>| parts.into_iter().filter_map(Part::shown).collect::<Vec<_>>();
        shown(thoughts).into_iter().chain(text).chain(shown(sources)).chain(files).chain(calls).collect()
    }
}

/// A stored message as a trace shows it: with its parts where it has more than text, and without what only its provider reads.
pub fn show_in_trace(message: &mut Map<String, Value>) {
    message.remove("blocks");
    let has = |name: &str| message.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let had = message.contains_key("parts");
    if !had && !has("attachments") && !has("tool_calls") {
        return;
    }
    let read = serde_json::from_value::<Message>(Value::Object(message.clone()));
    if had || read.is_ok() {
        message.insert("parts".into(), read.map(|message| message.shown_parts()).unwrap_or_default().into());
    }
}

#[cfg(test)]
mod tests {
    use super::super::chat::{Attachment, ProviderBlocks, ToolCall};
    use super::*;

    fn thoughtful() -> Message {
        Message {
            parts: vec![Part::reasoning("Hm."), Part::reasoning("")],
            tool_calls: vec![ToolCall { id: "c".into(), name: "t".into(), arguments: json!({"a": 1}), invalid: None }],
            blocks: Some(ProviderBlocks { family: "f".into(), by: None, value: json!([{"signature": "s"}]) }),
            ..Message::text(Role::Assistant, "Yes")
        }
    }

    #[test]
    fn messages_are_shown_as_parts_and_without_what_is_encrypted() {
        let shown = json!([{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Yes"}, {"type": "call", "call_id": "c", "name": "t", "inputs": {"a": 1}}]);
        assert_eq!(Value::from(thoughtful().shown_parts()), shown);
        let result = Message { tool_call_id: Some("c".into()), name: Some("t".into()), ..Message::text(Role::Tool, "18") };
        let told = json!([{"type": "result", "call_id": "c", "name": "t", "is_error": false, "parts": [{"type": "text", "text": "18"}]}]);
        assert_eq!(Value::from(result.shown_parts()), told);
        let Ok(Value::Object(mut stored)) = serde_json::to_value(thoughtful()) else { panic!("an object") };
        show_in_trace(&mut stored);
        assert_eq!((stored.get("blocks"), &stored["parts"]), (None, &shown));
    }

    #[test]
    fn an_answer_with_files_or_calls_alone_has_parts_in_a_trace() {
        let file = Attachment { kind: "image".into(), mime_type: "image/png".into(), storage_key: "k".into(), name: Some("dot.png".into()), size: Some(3) };
        let picture = Message { attachments: vec![file], ..Message::text(Role::Assistant, "A dot.") };
        let calls = Message { parts: Vec::new(), blocks: None, ..thoughtful() };
        for (message, kinds) in [(picture, "text file"), (calls, "text call")] {
            let Ok(Value::Object(mut stored)) = serde_json::to_value(&message) else { panic!("an object") };
            show_in_trace(&mut stored);
            let shown: Vec<&str> = stored["parts"].as_array().into_iter().flatten().filter_map(|part| part["type"].as_str()).collect();
            assert_eq!((shown.join(" ").as_str(), &stored["content"]), (kinds, &json!(message.content)));
        }
    }

    #[test]
    fn what_was_stored_before_is_one_text() {
        let stored = r#"{"role":"assistant","content":"Yes","blocks":{"family":"f","value":[]}}"#;
        let message: Message = serde_json::from_str(stored).expect("a message");
        assert_eq!(Value::from(message.shown_parts()), json!([{"type": "text", "text": "Yes"}]));
        assert_eq!(serde_json::to_string(&message).expect("JSON"), stored);
        let Ok(Value::Object(mut trace)) = serde_json::from_str(stored) else { panic!("an object") };
        show_in_trace(&mut trace);
        assert_eq!(Value::Object(trace).to_string(), r#"{"role":"assistant","content":"Yes"}"#, "what is its provider's alone is not shown");
    }
}
