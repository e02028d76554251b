//! Owns the refusal of a class or a JSON file that cannot be imported, `import_invalid`, with file and line of each problem.

use serde_json::{Map, Value, json};

use crate::codegen::ReadError;
use crate::error::{Error, Kind};

/// The position of problems.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) file: String,
    pub(super) line: u32,
}

impl Spot {
    pub(super) fn new(file: impl Into<String>, line: u32) -> Self {
        Self { file: file.into(), line }
    }

    /// The refusal of what is there.
    pub(super) fn invalid<T: Into<String>>(&self, messages: impl IntoIterator<Item = T>) -> Error {
        let messages: Vec<String> = messages.into_iter().map(Into::into).collect();
        let first = messages.first().map_or("it cannot be imported", String::as_str);
        let told = format!("{}:{}: {first}", self.file, self.line);
        let issue = |message: &String| json!({"file": self.file, "line": self.line, "message": message});
        Error::new(Kind::ImportInvalid, told).with("issues", messages.iter().map(issue).collect::<Vec<_>>())
    }

    /// The refusal of a source file.
    pub(super) fn unreadable(&self, error: &ReadError) -> Error {
        Self::new(self.file.clone(), error.line).invalid([error.message.as_str()])
    }

    /// The refusal of a definition whose graph or fields are not valid; missing agents are reported unchanged.
    pub(super) fn of_definition(&self, error: Error) -> Error {
        let texts = |value: &Value| -> Vec<String> { value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect() };
        let fields = error.members.get("errors").and_then(Value::as_object);
        let missing = fields.is_some_and(|fields| fields.contains_key("agents"));
        let is_ours = matches!(error.kind, Kind::GraphInvalid) || (error.kind == Kind::ValidationFailed && !missing);
        if !is_ours {
            return error;
        }
        let messages: Vec<String> = fields.into_iter().flat_map(Map::values).flat_map(texts).collect();
        self.invalid(messages)
    }
}
