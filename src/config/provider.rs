//! Owns what can be configured of one model provider.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    pub max_retries: Option<u32>,
    /// Of Azure OpenAI and Anthropic.
    pub api_version: Option<String>,
    /// Of `script`: what each model answers.
    pub scripts: Map<String, Value>,
}

/// What a provider cannot do although its family can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// False: its answers are asked for whole.
    pub stream: Option<bool>,
    /// Of speakers of OpenAI's chat completions, whether usage is asked for in streams: some refuse the question.
    pub stream_usage: Option<bool>,
}

/// A model as pickers show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the keys of the contract")]
pub struct ModelConfig {
    pub id: String,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub context_window: Option<u64>,
    #[serde(default)]
    pub capabilities: Vec<String>,
    /// Of Azure OpenAI.
    #[serde(default)]
    pub deployment: Option<String>,
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
