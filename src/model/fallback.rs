//! Owns the setting `fallbacks`: the models that are asked when those before them in the list did not answer.

use serde::{Deserialize, Serialize};

use super::agent::Parameters;

/// The most that one agent or node may have.
pub const MOST: usize = 4;

/// A model that is asked when those before it in the list did not answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
    /// `secret:NAME`, instead of the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// Settings that win over those of the agent or node, key by key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Parameters>,
}
