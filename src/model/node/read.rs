//! Owns the conversion of a node's data into typed fields; invalid data reads as the default.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::agent::{MemoryConfig, OnLength};
use super::super::arguments::Arguments;
use super::super::condition::Test;
use super::super::graph::NodeKind;
use super::super::path::{KeyPath, Path};
use super::super::template_text::Template;
use super::fields::Fields;
use super::{
    AgentNode, Assigned, Common, ConfigMode, Fork, Human, Join, LlmNode, LoopNode, McpNode, Memory, Node, OnError, OnMax,
    OnMissing, RagNode, Retries, SetState, Stop, ToolExposure, ToolNode,
};

impl Node {
    /// Reads the data of a node of a type.
    #[must_use]
    pub fn read(kind: NodeKind, data: &Map<String, Value>) -> Self {
        let fields = Fields(data);
        match kind {
            NodeKind::Start => Self::Start,
            NodeKind::Stop => Self::Stop(Stop { reply: fields.template("reply") }),
            NodeKind::Agent => Self::Agent(Box::new(agent(fields))),
            NodeKind::Llm => Self::Llm(Box::new(llm(fields))),
            NodeKind::Rag => Self::Rag(Box::new(rag(fields))),
            NodeKind::Tool => Self::Tool(Box::new(tool(fields))),
            NodeKind::Mcp => Self::Mcp(Box::new(mcp(fields))),
            NodeKind::Human => Self::Human(Human { prompt: fields.template("prompt"), output_key: fields.key("human_response") }),
            NodeKind::Fork => Self::Fork(Fork { branches: branches(fields), join: fields.filled("join") }),
            NodeKind::Join => Self::Join(Join { output_key: fields.key("parallel_results") }),
            NodeKind::Loop => Self::Loop(LoopNode {
                test: Test::stored(data),
                max_steps: fields.bound("max_steps"),
                on_max: if fields.is("on_max", "exit") { OnMax::Exit } else { OnMax::Fail },
            }),
            NodeKind::SetState => Self::SetState(set_state(fields)),
            NodeKind::Condition => Self::Condition(Test::stored_or_default(data)),
            NodeKind::Note => Self::Note,
        }
    }
}

fn common(fields: Fields<'_>) -> Common {
    let default = Retries::default();
    let retries = fields.object("retries").map_or(default, |retries| Retries {
        max: Fields(retries).small("max").unwrap_or(default.max),
        backoff_ms: Fields(retries).count("backoff_ms").unwrap_or(default.backoff_ms),
    });
    let on_error = if fields.is("on_error", "continue") { OnError::Continue } else { OnError::Fail };
    Common { timeout_ms: fields.count("timeout_ms"), retries, on_error }
}

fn agent(fields: Fields<'_>) -> AgentNode {
    AgentNode {
        common: common(fields),
        config_mode: match fields.value("config_mode").and_then(Value::as_str) {
            Some("existing") => Some(ConfigMode::Existing),
            Some("inline") => Some(ConfigMode::Inline),
            Some(_) | None => None,
        },
        agent_id: fields.filled("agent_id"),
        agent_ref: fields.filled("agent_ref"),
        provider: fields.filled("provider"),
        model: fields.filled("model"),
        credential: fields.filled("credential"),
        instructions: fields.template("instructions"),
        parameters: fields.typed("parameters"),
        fallbacks: fields.typed("fallbacks"),
        tools: fields.typed("tools"),
        message: fields.template("message"),
        output_key: fields.key("agent_response"),
        files_key: fields.files_key(),
        stream: fields.flag("stream", false),
        publish_reply: fields.flag("publish_reply", true),
        structured: fields.flag("structured", false),
        schema: fields.value("schema").cloned(),
        output_schema: fields.filled("output_schema"),
        require_tool_approval: fields.maybe_flag("require_tool_approval"),
        checkpoint: fields.flag("checkpoint", false),
        tool_max_runs: fields.small("tool_max_runs"),
        parallel_tool_calls: fields.maybe_flag("parallel_tool_calls"),
        on_length: on_length(fields),
        on_tool_limit: fields.typed("on_tool_limit"),
        stream_approval: fields.maybe_flag("stream_approval"),
        vision: fields.flag("vision", true),
        memory: match fields.value("memory").and_then(Value::as_str) {
            Some("shared") => Memory::Shared,
            Some("none") => Memory::None,
            Some(_) | None => Memory::Own,
        },
        memory_config: memory_config(fields),
        tool_mode: fields.flag("tool_mode", false),
        tool_exposure: fields.object("tool_exposure").map(|exposure| exposed(Fields(exposure))),
    }
}

fn on_length(fields: Fields<'_>) -> Option<OnLength> {
    match fields.value("on_length").and_then(Value::as_str) {
        Some("fail") => Some(OnLength::Fail),
        Some("keep") => Some(OnLength::Keep),
        Some(_) | None => None,
    }
}

fn memory_config(fields: Fields<'_>) -> MemoryConfig {
    MemoryConfig {
        context_window: fields.count("context_window"),
        driver: fields.filled("driver"),
        summarization_enabled: fields.maybe_flag("summarization_enabled"),
        summarization_threshold: fields.fraction("summarization_threshold"),
        budget_rag: fields.count("budget_rag"),
        budget_tool_results: fields.count("budget_tool_results"),
        budget_state: fields.count("budget_state"),
        inside_turn: fields.typed("inside_turn"),
    }
}

fn exposed(fields: Fields<'_>) -> ToolExposure {
    let input = fields.object("parameters").and_then(|parameters| Fields(parameters).object("input"));
    ToolExposure {
        slug: fields.filled("slug").unwrap_or_default(),
        description: fields.filled("description").unwrap_or_default(),
        input_description: input.and_then(|input| Fields(input).filled("description")).unwrap_or_default(),
    }
}

fn llm(fields: Fields<'_>) -> LlmNode {
    LlmNode {
        common: common(fields),
        provider: fields.filled("provider"),
        model: fields.filled("model"),
        credential: fields.filled("credential"),
        parameters: fields.typed("parameters"),
        fallbacks: fields.typed("fallbacks"),
        prompt: fields.template("prompt"),
        instructions: fields.template("instructions"),
        output_key: fields.key("llm_response"),
        files_key: fields.files_key(),
        on_length: on_length(fields).unwrap_or_default(),
        stream: fields.flag("stream", false),
        publish_reply: fields.flag("publish_reply", true),
        structured: fields.flag("structured", false),
        schema: fields.value("schema").cloned(),
        output_schema: fields.filled("output_schema"),
        vision: fields.flag("vision", true),
        checkpoint: fields.flag("checkpoint", false),
        budget_rag: fields.count("budget_rag"),
        budget_state: fields.count("budget_state"),
    }
}

fn rag(fields: Fields<'_>) -> RagNode {
    RagNode {
        common: common(fields),
        knowledge_base_id: fields.filled("knowledge_base_id"),
        on_missing: if fields.is("on_missing", "empty") { OnMissing::Empty } else { OnMissing::Fail },
        query: fields.template("query"),
        top_k: fields.small("top_k"),
        threshold: fields.fraction("threshold"),
        mode: fields.filled("mode"),
        rerank: fields.object("rerank").cloned(),
        filter: fields.object("filter").map(Arguments::with_templates),
        output_key: fields.key("rag_context"),
        checkpoint: fields.flag("checkpoint", false),
    }
}

fn tool(fields: Fields<'_>) -> ToolNode {
    ToolNode {
        common: common(fields),
        tool_ref: fields.filled("tool_ref"),
        parameters: fields.references("parameters"),
        config: fields.object("config").cloned().unwrap_or_default(),
        output_key: fields.key("tool_result"),
        idempotent: fields.flag("idempotent", false),
        always: fields.flag("always", false),
        checkpoint: fields.flag("checkpoint", false),
    }
}

fn mcp(fields: Fields<'_>) -> McpNode {
    McpNode {
        common: common(fields),
        mcp_server: fields.filled("mcp_server"),
        tool_name: fields.filled("tool_name"),
        parameters: fields.references("parameters"),
        output_key: fields.key("mcp_result"),
        idempotent: fields.flag("idempotent", false),
        always: fields.flag("always", false),
    }
}

/// Null and an empty list leave the order to the edges.
fn branches(fields: Fields<'_>) -> Option<Vec<Arc<str>>> {
    let listed = fields.value("branches")?.as_array().filter(|listed| !listed.is_empty())?;
    Some(listed.iter().filter_map(Value::as_str).map(Arc::from).collect())
}

fn set_state(fields: Fields<'_>) -> SetState {
    let key = fields.filled("key").as_deref().and_then(KeyPath::parse);
    let value = match fields.filled("from_key").as_deref().and_then(Path::parse) {
        Some(path) => Assigned::From(path),
        None => assigned(fields.0.get("value")),
    };
    SetState { key: key.unwrap_or_default(), value }
}

fn assigned(value: Option<&Value>) -> Assigned {
    match value {
        None => Assigned::Literal(Arc::new(Value::String(String::new()))),
        Some(Value::String(text)) => {
            let template = Template::parse(text);
            if template.is_static() { Assigned::Literal(Arc::new(Value::String(text.clone()))) } else { Assigned::Text(template) }
        }
        Some(value) => Assigned::Literal(Arc::new(value.clone())),
    }
}

/// The templates of a node, each with its field.
pub(super) fn templates(node: &Node) -> Vec<(String, &Template)> {
    let named = |name: &str, template| (format!("data.{name}"), template);
    match node {
        Node::Stop(node) => vec![named("reply", &node.reply)],
        Node::Agent(node) if node.is_inline() => vec![named("instructions", &node.instructions), named("message", &node.message)],
        Node::Agent(node) => vec![named("message", &node.message)],
        Node::Llm(node) => vec![named("prompt", &node.prompt), named("instructions", &node.instructions)],
        Node::Rag(node) => {
            let filter = node.filter.iter().flat_map(|filter| within("filter", filter));
            std::iter::once(named("query", &node.query)).chain(filter).collect()
        }
        Node::Tool(node) => within("parameters", &node.parameters).collect(),
        Node::Mcp(node) => within("parameters", &node.parameters).collect(),
        Node::Human(node) => vec![named("prompt", &node.prompt)],
        Node::SetState(SetState { value: Assigned::Text(template), .. }) => vec![named("value", template)],
        Node::SetState(_) | Node::Start | Node::Fork(_) | Node::Join(_) | Node::Loop(_) | Node::Condition(_) | Node::Note => {
            Vec::new()
        }
    }
}

fn within<'n>(name: &'static str, arguments: &'n Arguments) -> impl Iterator<Item = (String, &'n Template)> {
    arguments.templates().into_iter().map(move |(at, template)| (format!("data.{name}.{at}"), template))
}
