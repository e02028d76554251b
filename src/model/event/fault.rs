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

/// Codes of run failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the run codes of the contract")]
pub enum FaultCode {
    Cancelled,
    ContextOverflow,
    CredentialMissing,
    ExpressionError,
    InDoubt,
    Internal,
    KnowledgeBaseFailed,
    KnowledgeBaseMissing,
    MaxStepsExceeded,
    McpUnavailable,
    NestingLimit,
    NodeTimeout,
    OutputTruncated,
    ProviderAuth,
    ProviderBadRequest,
    ProviderContentFiltered,
    ProviderProtocol,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnavailable,
    RunStepLimit,
    RunTimeout,
    RunTooLarge,
    StateTooLarge,
    StoreUnavailable,
    StructuredInvalid,
    ToolFailed,
    ToolLimit,
    ToolNotFound,
    WorkerLost,
}

impl FaultCode {
    /// The same may go well a while later, with nothing changed: the queue tries such a run again.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::ProviderRateLimited | Self::ProviderUnavailable | Self::ProviderTimeout | Self::McpUnavailable | Self::StoreUnavailable
        )
    }

    /// The code in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::ContextOverflow => "context_overflow",
            Self::CredentialMissing => "credential_missing",
            Self::ExpressionError => "expression_error",
            Self::InDoubt => "in_doubt",
            Self::Internal => "internal",
            Self::KnowledgeBaseFailed => "knowledge_base_failed",
            Self::KnowledgeBaseMissing => "knowledge_base_missing",
            Self::MaxStepsExceeded => "max_steps_exceeded",
            Self::McpUnavailable => "mcp_unavailable",
            Self::NestingLimit => "nesting_limit",
            Self::NodeTimeout => "node_timeout",
            Self::OutputTruncated => "output_truncated",
            Self::ProviderAuth => "provider_auth",
            Self::ProviderBadRequest => "provider_bad_request",
            Self::ProviderContentFiltered => "provider_content_filtered",
            Self::ProviderProtocol => "provider_protocol",
            Self::ProviderRateLimited => "provider_rate_limited",
            Self::ProviderTimeout => "provider_timeout",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::RunStepLimit => "run_step_limit",
            Self::RunTimeout => "run_timeout",
            Self::RunTooLarge => "run_too_large",
            Self::StateTooLarge => "state_too_large",
            Self::StoreUnavailable => "store_unavailable",
            Self::StructuredInvalid => "structured_invalid",
            Self::ToolFailed => "tool_failed",
            Self::ToolLimit => "tool_limit",
            Self::ToolNotFound => "tool_not_found",
            Self::WorkerLost => "worker_lost",
        }
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
