//! Owns the options of one provider: extra members of requests, support for `tool_choice` and cache keys.

use serde_json::{Map, Value};

use super::{Entry, Family};
use crate::model::agent::{OWN_MEMBERS, ToolChoice};
use crate::providers::wire::merge;

impl Entry {
    /// The members that are meant for it, by its kind and then by its id.
    pub(super) fn options(&self, id: &str, options: &Map<String, Value>) -> Map<String, Value> {
        let mut merged = Value::Object(Map::new());
        for members in [self.dialect.as_str(), id].into_iter().filter_map(|name| options.get(name)) {
            merge(&mut merged, members);
        }
        let mut members = if let Value::Object(members) = merged { members } else { Map::new() };
        members.retain(|name, _| !OWN_MEMBERS.contains(&name.as_str()));
        members
    }

    /// Whether its models support this `tool_choice`.
    pub(super) fn takes_choice(&self, choice: &ToolChoice) -> bool {
        match self.family {
            Family::Ollama => false,
            Family::Cohere => !matches!(choice, ToolChoice::Tool(_)),
            Family::Bedrock => !matches!(choice, ToolChoice::None),
            Family::OpenAi | Family::Responses | Family::Anthropic | Family::Gemini | Family::Vertex | Family::Script | Family::Hash | Family::Host => true,
        }
    }

    /// It finds the beginning of a prompt by a key. Azure's dated interfaces refuse members that they do not know.
    pub(super) fn takes_cache_key(&self) -> bool {
        match self.dialect.as_str() {
            "openai" | "openai-responses" => true,
            "azure-openai" => self.dialect().azure.is_some_and(|azure| azure.is_current(&self.base_url)),
            _ => false,
        }
    }
}
