//! Owns the tool node: one call with the node's parameters.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::agent::reference_of;
use crate::engine::drive::context::{StepContext, StepEnd, StepResult};
use crate::model::chat::ToolCall;
use crate::model::event::{CallOutcome, Change, Fault, FaultCode, ToolOutcome};
use crate::model::node::ToolNode;
use crate::model::parts::File;
use crate::model::run::Call;
use crate::model::state::{MAX_DEPTH, depth_of, is_too_deep};
use crate::tools::{BoundTool, schema};

/// Runs the node.
///
/// # Errors
/// `tool_not_found`; `credential_missing` when a secret of the tool is not set; else `tool_failed` with what the tool says.
pub async fn run(context: &StepContext, node: &ToolNode) -> StepResult {
    let id = call_id(context);
    let outcome = match context.settled(&id)? {
        Some(outcome) => outcome,
        None => call(context, node, id).await?,
    };
    if outcome.is_error {
        return Err(Fault::new(outcome.undone.unwrap_or(FaultCode::ToolFailed), result_text(outcome.result)));
    }
    let mut written = json!({"name": outcome.name, "result": value_of(outcome.result)});
    add_files(&mut written, &outcome.files);
    let change = Change::from_iter([(Arc::from(&*node.output_key), Arc::new(written))]);
    Ok(StepEnd::Left { handle: "default", change, turn: None, attachment_count: 0 })
}

async fn call(context: &StepContext, node: &ToolNode, id: String) -> Result<ToolOutcome, Fault> {
    let tool = bind(context, node).await?;
    let arguments = Value::Object(node.parameters.resolve(context.state(), &context.system(), context.world().config.limits.state_kb)?);
    let name = tool.offer.name.clone();
    must_fit(&name, &tool, &arguments)?;
    context.tool(&ToolCall { id, name, arguments, invalid: None }, &tool, None).await
}

/// The files of a result, where there are any.
pub(super) fn add_files(written: &mut Value, files: &[File]) {
    if !files.is_empty() {
        written["files"] = File::listed(files);
    }
}

/// Whether a tool can be called with these parameters.
pub(super) fn must_fit(name: &str, tool: &BoundTool, arguments: &Value) -> Result<(), Fault> {
    let problems = schema::argument_problems(&tool.offer.input_schema, arguments);
    if !problems.is_empty() {
        let text = format!("the parameters do not fit `{name}`: {}", problems.join("; "));
        return Err(Fault::new(FaultCode::ToolFailed, text));
    }
    if is_too_deep(arguments) {
        let text = format!("the parameters of `{name}` are nested deeper than {MAX_DEPTH} levels");
        return Err(Fault::new(FaultCode::ToolFailed, text));
    }
    Ok(())
}

/// The message of a failure in the form `{"error": text}`.
fn result_text(result: String) -> String {
    let parsed: Option<Value> = serde_json::from_str(&result).ok();
    parsed.and_then(|value| Some(value.get("error")?.as_str()?.to_owned())).unwrap_or(result)
}

/// One call for each attempt: the same one when the step is entered again, another one after it failed.
pub(super) fn call_id(context: &StepContext) -> String {
    let id = |attempt: u32| match attempt {
        1 => format!("call_{}", context.step()),
        later => format!("call_{}_{later}", context.step()),
    };
    (1..context.attempt()).map(id).find(|id| !failed_before(context, id)).unwrap_or_else(|| id(context.attempt()))
}

/// The value of a tool's text: JSON as such, unless it is nested too deeply to be kept inside the state.
pub(super) fn value_of(text: String) -> Value {
    let parsed: Option<Value> = serde_json::from_str(&text).ok();
    // It stands two levels deep in the state at most.
    let fits = |value: &Value| depth_of(value) + 2 <= MAX_DEPTH;
    parsed.filter(fits).unwrap_or(Value::String(text))
}

fn failed_before(context: &StepContext, call_id: &str) -> bool {
    let failed = context.open(|step| match step.calls.get(&format!("tool:{call_id}")) {
        Some(Call::Done(done)) => matches!(&done.outcome, CallOutcome::Tool(outcome) if outcome.is_error),
        Some(Call::Open(_)) | None => false,
    });
    failed.unwrap_or(false)
}

async fn bind(context: &StepContext, node: &ToolNode) -> Result<BoundTool, Fault> {
    let reference = reference_of(node)?;
    let found = context.world().tools.bind(&reference, context.definitions(), &context.run().tenant).await?;
    let [tool] = <[BoundTool; 1]>::try_from(found).map_err(|found| {
        let text = format!("`{}` names {} tools; a tool node calls one: name it as `…/<tool>`", reference.reference, found.len());
        Fault::new(FaultCode::ToolNotFound, text)
    })?;
    Ok(tool)
}
