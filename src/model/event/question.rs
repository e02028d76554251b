//! Owns questions of tools to people during a call, and the answers.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What whoever runs a tool wants to know before the call goes on; the call did nothing final yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The questions, each answered for itself.
    pub questions: Vec<Question>,
    /// Given back with the answers, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How often this call has asked, this time included.
    pub round: u32,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its name among the questions of the call.
    pub key: String,
    /// For the person.
    pub message: String,
    /// What an answer must fit: an object of plain values.
    pub schema: Value,
}

/// A question that a pause waits with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The call's key in its step.
    pub call: String,
    /// The call.
    pub call_id: String,
    /// The question's name.
    pub key: String,
    /// The server that asks.
    pub server: String,
    /// Its tool, as the server calls it.
    pub tool: String,
    /// What an answer must fit.
    pub schema: Value,
}

impl OpenQuestion {
    /// As pauses and their event show it.
    pub fn shown(&self) -> Value {
        json!({"server": self.server, "tool": self.tool, "call_id": self.call_id, "schema": self.schema})
    }
}

/// A person's answer to a question in the form of the protocol: `{action, content?}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// The call's key in its step.
    pub call: String,
    /// The question's name.
    pub key: String,
    /// What was said.
    pub answer: Value,
}
