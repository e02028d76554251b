//! Owns `observability.propagate`: which calls carry the `traceparent` of their span.

use serde::{Deserialize, Serialize};

/// Which calls carry the `traceparent` of their span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Propagate {
    /// Of models and tools.
    #[default]
    All,
    /// Of tools: MCP servers, webhooks, the host's.
    Tools,
    /// None.
    None,
}

impl Propagate {
    /// Calls of models, embeddings and rerankers carry it.
    pub fn reaches_models(self) -> bool {
        self == Self::All
    }

    /// Calls of tools carry it. Where they do not, no call does.
    pub fn reaches_tools(self) -> bool {
        self != Self::None
    }
}
