//! Owns the configuration of one model provider.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::registry::Facts;

/// One provider; what is absent has the default of its kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys of the contract")]
pub struct ProviderConfig {
    /// A wire family such as `openai-compatible`, or `host`.
    pub kind: Option<String>,
    pub label: Option<String>,
    pub base_url: Option<String>,
    /// `secret:NAME`.
    pub credential: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub models: Vec<ModelConfig>,
    pub embeddings: Vec<EmbeddingConfig>,
    /// The longest silence of its models, before the first byte and after it.
    pub timeout_ms: Option<u64>,
    pub quirks: Quirks,
    /// `off`: nothing is done so that the beginning of a prompt is kept at the provider.
    pub cache: CacheMode,
    pub max_retries: Option<u32>,
    /// How much this engine asks of it; none: no limit.
    pub limits: ProviderLimits,
    /// Of Azure OpenAI and Anthropic.
    pub api_version: Option<String>,
    /// Of Bedrock: where its models are.
    pub region: Option<String>,
    /// Of Bedrock, `secret:NAME` each: what requests are signed with in place of an API key.
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    /// Of Vertex AI: who pays, and where the models are.
    pub project: Option<String>,
    pub location: Option<String>,
    /// Of Vertex AI: where tokens come from when it is not Google's own server.
    pub token_url: Option<String>,
    /// Of `script`: what each model answers.
    pub scripts: Map<String, Value>,
}

/// How much one engine asks of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderLimits {
    /// Calls at the same time.
    pub concurrent: Option<NonZeroU32>,
    /// Calls that begin within any minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens, sent and answered, of the calls that begin within any minute.
    pub tokens_per_minute: Option<NonZeroU64>,
}

/// Whether the beginning of a prompt is to be kept at the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// As far as the provider can.
    #[default]
    Auto,
    /// No request asks for it.
    Off,
}

/// What a provider cannot do although its family can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// False: its answers are asked for whole.
    pub stream: Option<bool>,
    /// Of speakers of OpenAI's chat completions, whether usage is asked for in streams: some refuse the question.
    pub stream_usage: Option<bool>,
    /// The role of the message with the instructions.
    pub system_role: Option<SystemRole>,
    /// The name of the token limit, such as `max_completion_tokens`.
    pub max_tokens_name: Option<String>,
    /// The member of a message that carries what the model thinks, both ways.
    pub reasoning_field: Option<String>,
    /// Whether what it thought goes back with its messages.
    pub echo_reasoning: Option<bool>,
    /// False: schemas are never sent as strict ones.
    pub strict_schemas: Option<bool>,
    /// True: `[DONE]` ends an answer also where no finish reason came.
    pub end_marker: Option<bool>,
}

named! {
    /// The role of instructions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[expect(missing_docs, reason = "the variants are the values of the contract")]
    pub enum SystemRole {
        System = "system",
        Developer = "developer",
        User = "user",
    }
}

/// A model: what pickers show, and facts that win over those of the bundled table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
#[expect(missing_docs, reason = "the fields are the keys of the contract")]
pub struct ModelConfig {
    pub id: String,
    pub capabilities: Vec<String>,
    /// Of Azure OpenAI.
    pub deployment: Option<String>,
    pub facts: Facts,
}

/// The members of a model that are no facts.
#[derive(Serialize, Deserialize)]
struct Named {
    id: String,
    #[serde(default)]
    capabilities: Vec<String>,
    #[serde(default)]
    deployment: Option<String>,
}

impl TryFrom<Map<String, Value>> for ModelConfig {
    type Error = serde_json::Error;

    fn try_from(members: Map<String, Value>) -> Result<Self, Self::Error> {
        let (named, facts) = members.into_iter().partition(|(name, _)| matches!(name.as_str(), "id" | "capabilities" | "deployment"));
        let Named { id, capabilities, deployment } = serde_json::from_value(Value::Object(named))?;
        Ok(Self { id, capabilities, deployment, facts: serde_json::from_value(Value::Object(facts))? })
    }
}

impl From<ModelConfig> for Map<String, Value> {
    fn from(model: ModelConfig) -> Self {
        let named = Named { id: model.id, capabilities: model.capabilities, deployment: model.deployment };
        let parts = [serde_json::to_value(named), serde_json::to_value(model.facts)];
        parts.into_iter().filter_map(Result::ok).filter_map(|part| if let Value::Object(part) = part { Some(part) } else { None }).flatten().collect()
    }
}

/// An embeddings model as pickers show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the provider list")]
pub struct EmbeddingConfig {
    pub id: String,
    #[serde(default)]
    pub dimensions: Option<u32>,
}
