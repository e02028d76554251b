//! Owns the fields of an MCP server, and the servers that the configuration defines.

use serde_json::{Map, Value};

use super::catalog::Catalog;
use super::fields::{Fields, Problems};
use super::{secrets, tools};

/// Reads the writable fields of a server, in the order in which they are shown.
pub(super) fn read(fields: &mut Fields<'_>, catalog: &Catalog) -> Map<String, Value> {
    let body = read_fields(fields);
    let command = body.get("command").and_then(Value::as_str);
    if let Some(command) = command.filter(|command| !catalog.config().mcp.stdio_allowlist.iter().any(|one| one == command)) {
        fields.wrong("command", &format!("`{command}` is not on the list `mcp.stdio_allowlist` of commands that may be started"));
    }
    body
}

fn read_fields(fields: &mut Fields<'_>) -> Map<String, Value> {
    let transport = fields.choice("transport", &["stdio", "http", "sse"]);
    if fields.value("transport").is_none() {
        fields.wrong("transport", "is required");
    }
    let (command, url) = read_place(fields, transport);
    let mut body = Map::new();
    body.insert("description".into(), fields.text("description", 10_000).unwrap_or_default().into());
    body.insert("transport".into(), transport.unwrap_or_default().into());
    body.insert("command".into(), command);
    body.insert("args".into(), fields.texts("args").into());
    body.insert("env".into(), secrets::read_map(fields, "env").into());
    body.insert("url".into(), url);
    body.insert("headers".into(), secrets::read_headers(fields, "headers").into());
    body.insert("token".into(), secrets::read_name(fields, "token"));
    body.insert("only".into(), fields.texts("only").into());
    body.insert("exclude".into(), fields.texts("exclude").into());
    body.insert("require_approval".into(), fields.flag("require_approval", false).into());
    body.insert("timeout_ms".into(), fields.integer("timeout_ms", 1..=3_600_000).unwrap_or(30_000).into());
    body.insert("enabled".into(), fields.flag("enabled", true).into());
    body.insert("metadata".into(), fields.object("metadata").into());
    body
}

/// Command and address; the one that the transport needs must be there.
fn read_place(fields: &mut Fields<'_>, transport: Option<&str>) -> (Value, Value) {
    let command = if transport == Some("stdio") { fields.required("command", 4096) } else { fields.text("command", 4096) };
    let by_address = matches!(transport, Some("http" | "sse"));
    let url = if by_address { fields.required("url", 4096) } else { fields.text("url", 4096) };
    tools::check_url(fields, "url", url.unwrap_or_default());
    (command.into(), url.into())
}

/// A server of the configuration as its body; what is wrong with it was said when the studio started.
pub(super) fn configured(server: &Value) -> Map<String, Value> {
    let empty = Map::new();
    let mut ignored = Problems::default();
    read_fields(&mut Fields::new(server.as_object().unwrap_or(&empty), &mut ignored))
}
