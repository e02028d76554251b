//! Owns the reasons why steps and runs fail: error codes, and calls with an unknown outcome.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a step or a run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// A run code of the contract, such as `provider_timeout`.
    pub code: FaultCode,
    /// For people.
    pub message: String,
    /// With `structured_invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation_errors: Vec<String>,
    /// Calls with an unknown outcome that must not be repeated: with `in_doubt`, and with any other failure of the run meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<DoubtfulCall>,
}

impl Fault {
    /// A fault of a code with a message.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), validation_errors: Vec::new(), calls: Vec::new() }
    }
}

named! {
    /// Codes of run failures.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[expect(missing_docs, reason = "the names are the run codes of the contract")]
    pub enum FaultCode {
        Cancelled = "cancelled",
        ContextOverflow = "context_overflow",
        CredentialMissing = "credential_missing",
        ExpressionError = "expression_error",
        InDoubt = "in_doubt",
        Internal = "internal",
        KnowledgeBaseFailed = "knowledge_base_failed",
        KnowledgeBaseMissing = "knowledge_base_missing",
        MaxStepsExceeded = "max_steps_exceeded",
        McpUnavailable = "mcp_unavailable",
        NestingLimit = "nesting_limit",
        NodeTimeout = "node_timeout",
        OutputTruncated = "output_truncated",
        ProviderAuth = "provider_auth",
        ProviderBadRequest = "provider_bad_request",
        ProviderContentFiltered = "provider_content_filtered",
        ProviderProtocol = "provider_protocol",
        ProviderRateLimited = "provider_rate_limited",
        ProviderTimeout = "provider_timeout",
        ProviderUnavailable = "provider_unavailable",
        RunStepLimit = "run_step_limit",
        RunTimeout = "run_timeout",
        RunTooLarge = "run_too_large",
        StateTooLarge = "state_too_large",
        StoreUnavailable = "store_unavailable",
        StructuredInvalid = "structured_invalid",
        ToolFailed = "tool_failed",
        ToolLimit = "tool_limit",
        ToolNotFound = "tool_not_found",
        WorkerLost = "worker_lost",
    }
}

impl FaultCode {
    /// The same may go well a while later, with nothing changed: the queue tries such a run again.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::ProviderRateLimited | Self::ProviderUnavailable | Self::ProviderTimeout | Self::McpUnavailable | Self::StoreUnavailable
        )
    }
}

/// A tool call that was in flight when its process died.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoubtfulCall {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What it was given.
    pub arguments: Value,
    /// Where.
    pub node_id: String,
}
