//! Owns the test of a stored tool: one call as in a run.

use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::model::chat::ToolCall;
use crate::studio::definitions::fields::object_of;
use crate::studio::definitions::must_find;
use crate::studio::{Resource, Scope, Studio};
use crate::tools::{BoundTool, Caller, ToolReply, schema};

impl Studio {
    /// Calls a stored tool with an input: `{result, is_error, duration_ms}`. A failure of the tool is an answer, not an error.
    ///
    /// # Errors
    /// There is no such tool, or the input is no object.
    pub async fn try_tool(&self, scope: &Scope, id: &str, body: &Value) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        let found = self.reading(move |tx| must_find(tx, &tenant, &catalog, Resource::Tool, &id)).await?;
        let arguments = input_of(body)?;
        let definition = Value::Object(found.show(Resource::Tool));
        let tool = self.world().tools.stored(&definition).ok_or_else(|| Error::internal("stored tools are not called here"))?;
        let run = self.world().clock.id();
        let caller = Caller { run, node_id: "".into(), tenant: scope.tenant.clone(), user: scope.user.clone() };
        let most = usize::try_from(self.config().limits.tool_result_kb).unwrap_or(usize::MAX).saturating_mul(1024);
        let started = Instant::now();
        let reply = self.on_runtime(async move { Ok(answer(&tool, arguments, &caller).await.capped(most)) }).await?;
        let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let result = serde_json::from_str(&reply.text).unwrap_or(Value::String(reply.text));
        let mut told = json!({"result": result, "is_error": reply.is_error, "duration_ms": took});
        if !reply.files.is_empty() {
            let files = reply.files.iter().map(|file| json!({"name": file.name, "media_type": file.media_type, "size": file.bytes.len()}));
            told["files"] = files.collect();
        }
        Ok(told)
    }
}

/// The arguments of a body; none when it has no `input`.
fn input_of(body: &Value) -> Result<Value> {
    match object_of(body)?.get("input") {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(Value::Object(input)) => Ok(Value::Object(input.clone())),
        Some(_) => Err(Error::field("input", "input must be an object")),
    }
}

async fn answer(tool: &BoundTool, arguments: Value, caller: &Caller) -> ToolReply {
    let problems = schema::argument_problems(&tool.offer.input_schema, &arguments);
    if !problems.is_empty() {
        return ToolReply::error(format!("the input does not fit `{}`: {}", tool.offer.name, problems.join("; ")));
    }
    let call = ToolCall { id: "test".into(), name: tool.offer.name.clone(), arguments, invalid: None };
    tool.answer(tool.invocation(&call, caller)).await
}
