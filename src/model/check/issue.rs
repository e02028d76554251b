//! Owns one result of validation: a code, a location and a localized sentence.

use serde::{Deserialize, Serialize};

use super::super::texts::{Locale, text};

/// How bad an issue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The graph cannot be saved or run.
    Error,
    /// It can.
    Warning,
}

/// The codes of issues, in the order in which they are listed: errors, then warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the codes of the contract")]
pub enum IssueCode {
    GraphVersion,
    GraphTooLarge,
    NodeIdInvalid,
    NodeIdDuplicate,
    NodeTypeUnknown,
    NodeDataInvalid,
    TitleInvalid,
    EdgeIdDuplicate,
    EdgeEndUnknown,
    StartCount,
    StopMissing,
    PathMissing,
    HandleIncompatible,
    HandleMultipleEdges,
    CycleWithoutLoop,
    AgentConfig,
    AgentUnknown,
    ToolsTargetNotInline,
    ToolsSourceInvalid,
    ToolsetWithoutToolMode,
    ToolModeControlEdge,
    ToolModeSlug,
    ToolNameDuplicate,
    ToolModeCycle,
    ToolModeApproval,
    ToolRefUnknown,
    McpUnknown,
    KnowledgeBaseUnknown,
    ConditionInvalid,
    ExpressionInvalid,
    LoopMaxSteps,
    ForkWithoutJoin,
    ForkWithoutBranch,
    ForkBranchInvalid,
    ForkBranchEscapes,
    JoinWithoutFork,
    JoinShared,
    ForkNesting,
    SchemaMissing,
    SchemaInvalid,
    SecretLiteral,
    HandleUnconnected,
    NodeUnreachable,
    KnowledgeBaseMissing,
    LoopWithoutCondition,
    TemplateUnknownKey,
    StreamIgnored,
    CheckpointUnsupported,
    ApprovalProviderTool,
    RetryNotIdempotent,
    ForkSingleBranch,
}

impl IssueCode {
    /// How bad it is.
    pub fn severity(self) -> Severity {
        if self < Self::HandleUnconnected { Severity::Error } else { Severity::Warning }
    }
}

/// Something wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// What kind.
    pub code: IssueCode,
    /// How bad it is.
    pub severity: Severity,
    /// For people.
    pub message: String,
    /// The node, when it is about one.
    pub node_id: Option<String>,
    /// The edge, when it is about one.
    pub edge_id: Option<String>,
    /// Such as `data.model`.
    pub field: Option<String>,
}

/// What is found, in the order in which the graph is read; listed by code.
#[derive(Debug)]
pub(super) struct Report {
    issues: Vec<Issue>,
    locale: Locale,
}

/// Where an issue points to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot<'s> {
    pub(super) node: Option<&'s str>,
    pub(super) edge: Option<&'s str>,
    pub(super) field: Option<&'s str>,
}

impl<'s> Spot<'s> {
    pub(super) fn node(id: &'s str) -> Self {
        Self { node: Some(id), ..Self::default() }
    }

    pub(super) fn edge(id: &'s str) -> Self {
        Self { edge: Some(id), ..Self::default() }
    }

    pub(super) fn field(self, field: &'s str) -> Self {
        Self { field: Some(field), ..self }
    }
}

impl Report {
    pub(super) const fn new(locale: Locale) -> Self {
        Self { issues: Vec::new(), locale }
    }

    /// Adds an issue; `variant` chooses among the texts of its code, `""` when it has one.
    pub(super) fn add(&mut self, code: IssueCode, variant: &str, spot: Spot<'_>, values: &[(&str, &str)]) {
        let name = serde_json::to_value(code).unwrap_or_default();
        let dot = if variant.is_empty() { "" } else { "." };
        let key = format!("issue.{}{dot}{variant}", name.as_str().unwrap_or_default());
        self.issues.push(Issue {
            code,
            severity: code.severity(),
            message: text(self.locale, &key, values),
            node_id: spot.node.map(str::to_owned),
            edge_id: spot.edge.map(str::to_owned),
            field: spot.field.map(str::to_owned),
        });
    }

    /// A phrase for the text of an issue.
    pub(super) fn phrase(&self, key: &str, values: &[(&str, &str)]) -> String {
        text(self.locale, key, values)
    }

    /// All issues by code, those of one code in graph order.
    pub(super) fn into_issues(mut self) -> Vec<Issue> {
        self.issues.sort_by_key(|issue| issue.code);
        self.issues
    }
}
