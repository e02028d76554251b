//! Owns the route that tests an MCP server.

use axum::response::Response;

use crate::error::Result;
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![Route::post("/api/mcp-servers/{id}/test", "testMcpServer", test).gives(200, Gives::Json("McpServerTest"))]
}

async fn test(call: Call) -> Result<Response> {
    let mut told = call.studio.test_mcp_server(&call.scope, call.part("id")).await?;
    call.visit.asker.say(told.get_mut("error"));
    Ok(answer::ok(&told))
}
