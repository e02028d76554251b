//! Owns the mcp node: one call of an MCP server's tool with the node's parameters.

use std::sync::Arc;

use serde_json::{Value, json};

use super::tool::{call_id, must_fit};
use crate::engine::agent::server_reference_of;
use crate::engine::calls::tool_calls::ToolEnd;
use crate::engine::drive::context::{StepContext, StepEnd, StepResult};
use crate::model::chat::ToolCall;
use crate::model::event::{Change, Fault, FaultCode};
use crate::model::node::McpNode;
use crate::tools::BoundTool;

/// Runs the node.
///
/// # Errors
/// `mcp_unavailable` when the server was not reached and nothing was done; `credential_missing`; `tool_not_found`; `tool_failed` with
/// what the tool says.
pub async fn run(context: &StepContext, node: &McpNode) -> StepResult {
    let name = node.tool_name.clone().unwrap_or_default();
    let id = call_id(context);
    let outcome = match context.settled(&id)? {
        Some(outcome) => outcome,
        None => match call(context, node, ToolCall { id, name: name.clone(), arguments: Value::Null, invalid: None }).await? {
            ToolEnd::Gave(outcome) => outcome,
            ToolEnd::Asks(reason) => return Ok(StepEnd::Pause(reason)),
        },
    };
    if outcome.is_error {
        return Err(Fault::new(outcome.undone.unwrap_or(FaultCode::ToolFailed), outcome.result));
    }
    let result = super::tool::value_of(outcome.result);
    let mut written = json!({"server": slug(context, node), "name": name, "result": result});
    super::tool::add_files(&mut written, &outcome.files);
    let change = Change::from_iter([(Arc::from(&*node.output_key), Arc::new(written))]);
    Ok(StepEnd::Left { handle: "default", change, turn: None, attachment_count: 0 })
}

fn slug(context: &StepContext, node: &McpNode) -> String {
    let named = node.mcp_server.as_deref().unwrap_or_default();
    let pinned = context.definitions().mcp_server(named).and_then(|server| server.get("slug")?.as_str());
    pinned.unwrap_or(named).to_owned()
}

async fn call(context: &StepContext, node: &McpNode, call: ToolCall) -> Result<ToolEnd, Fault> {
    let tool = bind(context, node).await?;
    let arguments = Value::Object(node.parameters.resolve(context.state(), &context.system(), context.world().config.limits.state_kb)?);
    must_fit(&call.name, &tool, &arguments)?;
    context.tool_that_may_ask(&ToolCall { arguments, ..call }, &tool).await
}

async fn bind(context: &StepContext, node: &McpNode) -> Result<BoundTool, Fault> {
    let reference = server_reference_of(node)?;
    if reference.only.is_none() {
        return Err(Fault::new(FaultCode::ToolNotFound, "the node names no tool of its MCP server"));
    }
    let mut found = context.world().tools.bind(&reference, context.definitions(), &context.run().tenant).await?;
    found.pop().ok_or_else(|| Fault::new(FaultCode::ToolNotFound, "the MCP server has no such tool"))
}
