//! Owns the routes for node types, tools, schemas, providers and settings, for validation and for tool tests.

use axum::response::Response;

use crate::error::Result;
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Reads, Route};
use crate::studio::ModelQuery;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/api/graph/validate", "validateGraph", validate)
            .reads(Reads::Json("GraphBody"))
            .gives(200, Gives::Json("Validation")),
        Route::get("/api/graph/schema", "getGraphSchema", schema).gives(200, Gives::Json("GraphSchema")),
        Route::post("/api/tools/{id}/test", "testTool", test_tool)
            .reads(Reads::Json("ToolTest"))
            .gives(200, Gives::Json("ToolTested")),
        Route::get("/api/registry/tools", "listRegistryTools", tools).gives(200, Gives::Json("RegistryTools")),
        Route::get("/api/registry/schemas", "listRegistrySchemas", schemas).gives(200, Gives::Json("RegistrySchemas")),
        Route::get("/api/providers", "listProviders", providers).gives(200, Gives::Json("Providers")),
        Route::get("/api/models", "listModels", models)
            .query(&["provider", "input", "output", "tools", "q"])
            .gives(200, Gives::Json("Models")),
        Route::get("/api/settings", "getSettings", settings).gives(200, Gives::Json("Settings")),
    ]
}

async fn validate(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.validate_graph(&call.scope, &call.body).await?))
}

async fn schema(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.graph_schema()))
}

async fn test_tool(call: Call) -> Result<Response> {
    let mut told = call.studio.try_tool(&call.scope, call.part("id"), &call.body).await?;
    if told["is_error"] == true {
        call.visit.asker.say(told.get_mut("result"));
    }
    Ok(answer::ok(&told))
}

async fn tools(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.registry_tools(&call.scope).await?))
}

async fn schemas(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.registry_schemas()))
}

async fn providers(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.providers(&call.scope).await?))
}

async fn models(call: Call) -> Result<Response> {
    let query = ModelQuery {
        provider: call.query("provider"),
        input: call.query("input"),
        output: call.query("output"),
        tools: call.query("tools"),
        text: call.query("q"),
    };
    Ok(answer::ok(&call.studio.models(&query)?))
}

async fn settings(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.settings()))
}
