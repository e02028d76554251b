//! Owns the options of one provider: extra members of requests, support for `tool_choice` and cache keys.

use serde_json::{Map, Value};

use super::{Entry, Family};
use crate::model::agent::{OWN_MEMBERS, ToolChoice};
use crate::model::registry::{Facts, Structured};
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

    /// Whether an answer that did not fit its schema is asked for again beside the tools: the model can be told to call none of them, and
    /// they do not change how its answer gets its form. Otherwise it is asked for without.
    pub(super) fn repairs_beside_tools(&self, model: &str, facts: &Facts) -> bool {
        let chosen = facts.tools != Some(false) && facts.tool_choice != Some(false) && self.takes_choice(&ToolChoice::None);
        let formed = match self.family {
            Family::OpenAi => {
                let dialect = self.dialect();
                dialect.structure(facts, true) == dialect.structure(facts, false)
            }
            Family::Responses | Family::Anthropic => true,
            Family::Gemini | Family::Vertex => {
                !self.is_gemini(model) || facts.structured() != Structured::Schema || facts.structured_with_tools != Some(false)
            }
            Family::Bedrock | Family::Ollama | Family::Cohere | Family::Script | Family::Hash | Family::Host => false,
        };
        chosen && formed
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
