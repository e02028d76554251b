//! Owns recordings: what was asked and what was answered, without secrets, as files that are replayed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::faults::server::Act;

/// How an answer is cut when it is replayed: through words, letters and events.
const PIECE: usize = 97;
/// Members of requests that differ each time.
const VOLATILE: [&str; 1] = ["prompt_cache_key"];

/// One request and its answer.
pub struct Exchange {
    pub path: String,
    pub body: Value,
    pub status: u16,
    pub content_type: String,
    pub answer: Vec<u8>,
}

/// One conversation.
pub struct Tape {
    pub provider: String,
    pub model: String,
    /// The path of the base URL.
    pub path: String,
    /// Further settings of the provider.
    pub more: Value,
    pub outcome: Value,
    pub exchanges: Vec<Exchange>,
}

/// A request in the form in which it is compared. Heads are seen in small letters only.
pub fn asked(path: &str, body: &Value) -> Value {
    json!({"path": path.to_ascii_lowercase(), "body": stable(body)})
}

/// A body without what differs each time.
fn stable(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, _| !VOLATILE.contains(&name.as_str()));
    }
    serde_json::from_str(&numbered(&body.to_string())).expect("JSON")
}

/// Ids of calls are numbered: the studio makes them up, by chance, where a provider gives none.
fn numbered(text: &str) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices("call_") {
        let id = text.get(at..at + 29).filter(|id| id[5..].bytes().all(|letter| letter.is_ascii_hexdigit()));
        if let Some(id) = id.filter(|id| !ids.contains(id)) {
            ids.push(id);
        }
    }
    ids.iter().enumerate().fold(text.to_owned(), |text, (number, id)| text.replace(id, &format!("call_{number}")))
}

/// Where two values differ first.
pub fn difference(one: &Value, other: &Value) -> Option<String> {
    match (one, other) {
        _ if one == other => None,
        (Value::Object(members), Value::Object(others)) => {
            let member = |members: &Map<String, Value>, name: &str| members.get(name).cloned().unwrap_or_default();
            let mut names = members.keys().chain(others.keys());
            names.find_map(|name| Some(format!("/{name}{}", difference(&member(members, name), &member(others, name))?)))
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            items.iter().zip(others).enumerate().find_map(|(at, (one, other))| Some(format!("/{at}{}", difference(one, other)?)))
        }
        _ => Some(format!(": {one} is not {other}")),
    }
}

impl Exchange {
    pub fn asked(&self) -> Value {
        asked(&self.path, &self.body)
    }

    /// The answer, to be given again.
    pub fn act(&self) -> Act {
        let pieces = self.answer.chunks(PIECE).map(Bytes::copy_from_slice).collect();
        Act::Bytes(self.status, vec![("content-type", self.content_type.clone())], pieces)
    }

    fn written(&self) -> Value {
        let answer = match std::str::from_utf8(&self.answer) {
            // One line of the file for each line of the answer.
            Ok(text) => json!(text.split_inclusive('\n').collect::<Vec<_>>()),
            Err(_) => json!({"base64": STANDARD.encode(&self.answer)}),
        };
        let request = json!({"path": self.path, "body": stable(&self.body)});
        json!({"request": request, "answer": {"status": self.status, "content_type": self.content_type, "body": answer}})
    }

    fn read(told: &Value) -> Self {
        let (request, answer) = (&told["request"], &told["answer"]);
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let bytes = match &answer["body"] {
            Value::Array(lines) => lines.iter().map(text).collect::<String>().into_bytes(),
            body => STANDARD.decode(text(&body["base64"])).expect("base64"),
        };
        let status = answer["status"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
        Self { path: text(&request["path"]), body: request["body"].clone(), status, content_type: text(&answer["content_type"]), answer: bytes }
    }
}

impl Tape {
    /// The file, with these words masked.
    pub fn written(&self, secrets: &[String]) -> String {
        let exchanges: Vec<Value> = self.exchanges.iter().map(Exchange::written).collect();
        let whole = json!({
            "provider": self.provider, "model": self.model, "path": self.path, "settings": self.more, "outcome": self.outcome, "exchanges": exchanges,
        });
        let mut written = serde_json::to_string_pretty(&whole).expect("JSON");
        for secret in secrets.iter().filter(|secret| secret.len() > 5) {
            // As it is, and as it is inside of a text of JSON.
            let quoted = json!(secret).to_string();
            written = written.replace(secret.as_str(), "***").replace(quoted.trim_matches('"'), "***");
        }
        written + "\n"
    }

    /// What a file has.
    pub fn read(written: &str) -> Self {
        let whole: Value = serde_json::from_str(written).expect("a recording");
        let text = |name: &str| whole[name].as_str().expect("text").to_owned();
        let exchanges = whole["exchanges"].as_array().expect("exchanges").iter().map(Exchange::read).collect();
        let (more, outcome) = (whole["settings"].clone(), whole["outcome"].clone());
        Self { provider: text("provider"), model: text("model"), path: text("path"), more, outcome, exchanges }
    }

    /// Takes other requests for the same answers.
    pub fn accept(&mut self, asked: &[Value]) {
        for (exchange, asked) in self.exchanges.iter_mut().zip(asked) {
            exchange.path = asked["path"].as_str().expect("a path").to_owned();
            exchange.body = asked["body"].clone();
        }
    }
}
