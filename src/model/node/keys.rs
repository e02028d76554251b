//! Owns the data keys of every node type: name, type, range, default. Validation and the graph schema read this table.

use super::super::agent::{InsideTurn, OnToolLimit};
use super::super::graph::NodeKind;

/// What a data key holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyType {
    /// Text.
    Text,
    /// Text with placeholders.
    Template,
    /// True or false.
    Flag,
    /// A whole number in a range.
    Whole(u64, u64),
    /// The bound of a loop: a whole number; its range is checked as a rule of its own.
    LoopBound,
    /// A number in a range; the lower end itself is left out when the flag is set.
    Number(f64, f64, bool),
    /// One of some words.
    Choice(&'static [&'static str]),
    /// One of some words, checked as part of the test that it belongs to.
    TestWord(Words),
    /// A key of the state that the node may write.
    OutputKey,
    /// A path into the state that is written.
    KeyPath,
    /// A path into the state that is read.
    Path,
    /// A path into the state, checked as part of the test that it belongs to.
    TestPath,
    /// Any object.
    Object,
    /// An object whose texts have placeholders.
    TemplateObject,
    /// A filter on the metadata of documents; texts have placeholders.
    Filter,
    /// Any JSON; texts have placeholders.
    AnyTemplate,
    /// Any JSON.
    Any,
    /// A JSON Schema.
    Schema,
    /// `{provider, model, candidates}`.
    Rerank,
    /// `{max, backoff_ms}`.
    Retries,
    /// Settings of model calls.
    Parameters,
    /// Models that are asked when the node's own does not answer.
    Fallbacks,
    /// A list of tool references.
    Tools,
    /// How a specialist shows itself.
    Exposure,
    /// A list of branch ids.
    Branches,
    /// A list of rules, checked as part of the test that it belongs to.
    Rules,
}

/// Words of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// `all`, `any`.
    Logic,
    /// The operators.
    Operator,
    /// How the value is converted.
    ValueType,
}

/// A data key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: KeyType,
    /// Its default, as JSON text.
    pub default: &'static str,
    /// It must be there.
    pub required: bool,
}

const fn key(name: &'static str, holds: KeyType, default: &'static str) -> Key {
    Key { name, holds, default, required: false }
}

const fn required(name: &'static str, holds: KeyType) -> Key {
    Key { name, holds, default: "null", required: true }
}

const NONE: &str = "null";
const MOST: u64 = 1 << 53;

const COMMON: &[Key] = &[
    key("timeout_ms", KeyType::Whole(1, 3_600_000), NONE),
    key("retries", KeyType::Retries, r#"{"max":0,"backoff_ms":1000}"#),
    key("on_error", KeyType::Choice(&["fail", "continue"]), r#""fail""#),
];

const OUTPUT: &[Key] = &[
    key("files_key", KeyType::OutputKey, NONE),
    key("structured", KeyType::Flag, "false"),
    key("schema", KeyType::Schema, NONE),
    key("output_schema", KeyType::Text, NONE),
    key("checkpoint", KeyType::Flag, "false"),
    key("vision", KeyType::Flag, "true"),
    key("stream", KeyType::Flag, "false"),
    key("publish_reply", KeyType::Flag, "true"),
    key("budget_rag", KeyType::Whole(1, MOST), NONE),
    key("budget_state", KeyType::Whole(1, MOST), NONE),
];

const AGENT: &[Key] = &[
    key("config_mode", KeyType::Choice(&["existing", "inline"]), NONE),
    key("agent_id", KeyType::Text, NONE),
    key("agent_ref", KeyType::Text, NONE),
    key("provider", KeyType::Text, NONE),
    key("model", KeyType::Text, NONE),
    key("credential", KeyType::Text, NONE),
    key("instructions", KeyType::Template, r#""""#),
    key("parameters", KeyType::Parameters, "{}"),
    key("fallbacks", KeyType::Fallbacks, "[]"),
    key("tools", KeyType::Tools, "[]"),
    key("message", KeyType::Template, r#""""#),
    key("output_key", KeyType::OutputKey, r#""agent_response""#),
    key("require_tool_approval", KeyType::Flag, NONE),
    key("tool_max_runs", KeyType::Whole(1, 100), "10"),
    key("parallel_tool_calls", KeyType::Flag, NONE),
    key("on_length", KeyType::Choice(&["keep", "fail"]), NONE),
    key("on_tool_limit", KeyType::Choice(&OnToolLimit::NAMES), NONE),
    key("stream_approval", KeyType::Flag, NONE),
    key("memory", KeyType::Choice(&["own", "shared", "none"]), r#""own""#),
    key("context_window", KeyType::Whole(256, MOST), NONE),
    key("driver", KeyType::Choice(&["database", "in_memory"]), NONE),
    key("summarization_enabled", KeyType::Flag, NONE),
    key("summarization_threshold", KeyType::Number(0.0, 1.0, true), NONE),
    key("budget_tool_results", KeyType::Whole(1, MOST), NONE),
    key("inside_turn", KeyType::Choice(&InsideTurn::NAMES), NONE),
    key("tool_mode", KeyType::Flag, "false"),
    key("tool_exposure", KeyType::Exposure, NONE),
];

const LLM: &[Key] = &[
    key("provider", KeyType::Text, NONE),
    key("model", KeyType::Text, NONE),
    key("credential", KeyType::Text, NONE),
    key("parameters", KeyType::Parameters, "{}"),
    key("fallbacks", KeyType::Fallbacks, "[]"),
    key("prompt", KeyType::Template, r#""""#),
    key("instructions", KeyType::Template, r#""""#),
    key("output_key", KeyType::OutputKey, r#""llm_response""#),
    key("on_length", KeyType::Choice(&["keep", "fail"]), r#""keep""#),
];

const RAG: &[Key] = &[
    key("knowledge_base_id", KeyType::Text, NONE),
    key("on_missing", KeyType::Choice(&["fail", "empty"]), r#""fail""#),
    key("query", KeyType::Template, r#""""#),
    key("top_k", KeyType::Whole(1, 100), NONE),
    key("threshold", KeyType::Number(0.0, 1.0, false), NONE),
    key("mode", KeyType::Choice(&["hybrid", "vector", "text"]), NONE),
    key("rerank", KeyType::Rerank, NONE),
    key("filter", KeyType::Filter, NONE),
    key("output_key", KeyType::OutputKey, r#""rag_context""#),
    key("checkpoint", KeyType::Flag, "false"),
];

const TOOL: &[Key] = &[
    required("tool_ref", KeyType::Text),
    key("parameters", KeyType::TemplateObject, "{}"),
    key("config", KeyType::Object, "{}"),
    key("output_key", KeyType::OutputKey, r#""tool_result""#),
    key("idempotent", KeyType::Flag, "false"),
    key("always", KeyType::Flag, "false"),
    key("checkpoint", KeyType::Flag, "false"),
];

const MCP: &[Key] = &[
    required("mcp_server", KeyType::Text),
    key("tool_name", KeyType::Text, NONE),
    key("parameters", KeyType::TemplateObject, "{}"),
    key("output_key", KeyType::OutputKey, r#""mcp_result""#),
    key("idempotent", KeyType::Flag, "false"),
    key("always", KeyType::Flag, "false"),
];

const HUMAN: &[Key] = &[key("prompt", KeyType::Template, r#""""#), key("output_key", KeyType::OutputKey, r#""human_response""#)];

const FORK: &[Key] = &[key("branches", KeyType::Branches, NONE), key("join", KeyType::Text, NONE)];

const JOIN: &[Key] = &[key("output_key", KeyType::OutputKey, r#""parallel_results""#)];

const LOOP: &[Key] =
    &[key("max_steps", KeyType::LoopBound, "10"), key("on_max", KeyType::Choice(&["fail", "exit"]), r#""fail""#)];

const CONDITION: &[Key] =
    &[key("state_key", KeyType::TestPath, r#""input""#), key("operator", KeyType::TestWord(Words::Operator), r#""not_empty""#)];

const LOOP_TEST: &[Key] = &[key("state_key", KeyType::TestPath, NONE), key("operator", KeyType::TestWord(Words::Operator), NONE)];

const TEST: &[Key] = &[
    key("value", KeyType::Any, NONE),
    key("value_type", KeyType::TestWord(Words::ValueType), r#""auto""#),
    key("strict", KeyType::Flag, "false"),
    key("logic", KeyType::TestWord(Words::Logic), r#""all""#),
    key("rules", KeyType::Rules, "[]"),
    key("expression", KeyType::Text, NONE),
];

const SET_STATE: &[Key] =
    &[required("key", KeyType::KeyPath), key("value", KeyType::AnyTemplate, r#""""#), key("from_key", KeyType::Path, NONE)];

const STOP: &[Key] = &[key("reply", KeyType::Template, r#""""#)];

const NOTE: &[Key] = &[key("text", KeyType::Text, r#""""#)];

/// The data keys of a node type, in the order in which they are shown.
pub fn of(kind: NodeKind) -> impl Iterator<Item = &'static Key> {
    let groups: &[&[Key]] = match kind {
        NodeKind::Start => &[],
        NodeKind::Stop => &[STOP],
        NodeKind::Agent => &[AGENT, OUTPUT, COMMON],
        NodeKind::Llm => &[LLM, OUTPUT, COMMON],
        NodeKind::Rag => &[RAG, COMMON],
        NodeKind::Tool => &[TOOL, COMMON],
        NodeKind::Mcp => &[MCP, COMMON],
        NodeKind::Human => &[HUMAN],
        NodeKind::Fork => &[FORK],
        NodeKind::Join => &[JOIN],
        NodeKind::Loop => &[LOOP, LOOP_TEST, TEST],
        NodeKind::SetState => &[SET_STATE],
        NodeKind::Condition => &[CONDITION, TEST],
        NodeKind::Note => &[NOTE],
    };
    groups.iter().copied().flatten()
}
