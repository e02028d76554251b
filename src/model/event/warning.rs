//! Owns warnings of model calls that succeeded.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Something that was changed, dropped or cut, and did not fail a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is, such as `answer_cut`.
    pub code: Cow<'static, str>,
    /// For people.
    pub message: String,
    /// The setting that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter: Option<Cow<'static, str>>,
}

impl Warning {
    /// The answer is not whole.
    pub const ANSWER_CUT: &'static str = "answer_cut";
    /// Another model answered than the one that was to.
    pub const FALLBACK: &'static str = "fallback";

    /// The model wanted tools in more turns than it may, and answered without.
    pub const TOOL_LIMIT: &'static str = "tool_limit";

    /// What was found is in the order that it has without the reranker.
    pub const RERANK_FAILED: &'static str = "rerank_failed";

    /// The most of one step.
    const MOST: usize = 100;

    /// Adds what is not there yet.
    pub fn collect(all: &mut Vec<Self>, more: &[Self]) {
        for warning in more.iter().take(Self::MOST) {
            if all.len() < Self::MOST && !all.contains(warning) {
                all.push(warning.clone());
            }
        }
    }

    /// A warning of a code with a message.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), parameter: None }
    }
}
