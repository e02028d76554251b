//! Owns the fields of an MCP server, and the servers that the configuration defines.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::address::{HIDDEN, without_credentials};
use crate::model::{mcp_environment, secret};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::{Fields, Problems};
use crate::studio::definitions::{must_find, secrets, tools};
use crate::studio::{Resource, Scope, Studio};

impl Studio {
    /// Opens a connection to a server and lists its tools: `{ok, protocol_version, tools, error}`.
    pub async fn test_mcp_server(&self, scope: &Scope, id: &str) -> Result<Value> {
        let (tenant, catalog, id) = (Arc::clone(&scope.tenant), self.catalog(), id.to_owned());
        let found = self.reading(move |tx| must_find(tx, &tenant, &catalog, Resource::McpServer, &id)).await?;
        let (mcp, tenant) = (Arc::clone(self.mcp()), Arc::clone(&scope.tenant));
        let body = Value::Object(found.show(Resource::McpServer));
        self.on_runtime(async move { Ok(mcp.test(&body, &tenant).await) }).await
    }
}

/// Reads the writable fields of a server, in the order in which they are shown.
pub(in crate::studio) fn read(fields: &mut Fields<'_>, catalog: &Catalog) -> Map<String, Value> {
    let body = read_fields(fields);
    let command = body.get("command").and_then(Value::as_str);
    if let Some(command) = command.filter(|command| !catalog.config().mcp.stdio_allowlist.iter().any(|one| one == command)) {
        fields.wrong("command", &format!("`{command}` is not on the list `mcp.stdio_allowlist` of commands that may be started"));
    }
    for name in body.get("env").and_then(Value::as_object).into_iter().flat_map(|env| env.keys()) {
        if !mcp_environment::is_name(name) {
            fields.wrong(&format!("env.{name}"), "is no name of a variable");
        } else if !mcp_environment::may_be_set(name, &catalog.config().mcp.env_allowlist) {
            fields.wrong(&format!("env.{name}"), "is not on the list `mcp.env_allowlist` of variables that may be set");
        }
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

/// A server of the configuration as its body, without the secrets in it; what is wrong with it was said when the studio started.
pub(in crate::studio) fn configured(server: &Value) -> Map<String, Value> {
    let empty = Map::new();
    let mut ignored = Problems::default();
    let mut body = read_fields(&mut Fields::new(server.as_object().unwrap_or(&empty), &mut ignored));
    for key in ["env", "headers"] {
        for (name, value) in body.get_mut(key).and_then(Value::as_object_mut).into_iter().flatten() {
            if value.as_str().is_some_and(|text| secrets::looks_secret(name, text)) {
                *value = HIDDEN.into();
            }
        }
    }
    if let Some(url) = body.get("url").and_then(Value::as_str) {
        let shown = without_credentials(url).into_owned();
        body.insert("url".into(), shown.into());
    }
    if let Some(arguments) = body.get("args").and_then(Value::as_array) {
        let shown = shown_arguments(arguments.iter().filter_map(Value::as_str));
        body.insert("args".into(), shown.into());
    }
    if body.get("token").and_then(Value::as_str).is_some_and(|token| !secret::is_reference(token)) {
        body.insert("token".into(), Value::Null);
    }
    if body.get("transport") == Some(&Value::from("")) {
        let usual = if body.get("url").is_some_and(Value::is_string) { "http" } else { "stdio" };
        body.insert("transport".into(), usual.into());
    }
    body
}

/// Arguments of a program without the secrets in them: `--token X`, `--token=X`, `TOKEN=X`, `Authorization: X`, an address.
fn shown_arguments<'a>(arguments: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut before = "";
    arguments.map(|argument| shown_argument(std::mem::replace(&mut before, argument), argument)).collect()
}

fn shown_argument(before: &str, argument: &str) -> String {
    let names = |name: &str| name.starts_with('-') && !name.contains(['=', ' ']);
    let is_value_of = |name: &str| names(name) && !names(argument) && secrets::looks_secret(name, argument);
    let by_header = argument.split_once(": ").map(|(name, value)| (name, ": ", value));
    let parts = by_header.or_else(|| argument.split_once('=').map(|(name, value)| (name, "=", value)));
    match parts {
        _ if argument.contains("://") && !is_value_of(before) => without_credentials(argument).into_owned(),
        Some((name, sign, value)) if secrets::looks_secret(name, value) => format!("{name}{sign}{HIDDEN}"),
        Some(_) if !is_value_of(before) => argument.to_owned(),
        Some(_) | None if is_value_of(before) || secrets::looks_secret("", argument) => HIDDEN.to_owned(),
        Some(_) | None => argument.to_owned(),
    }
}

/// Refuses a copy of a server whose secrets only the configuration knows: it would be stored with what is shown of them.
pub(in crate::studio) fn must_be_whole(server: &Map<String, Value>) -> Result<()> {
    let hidden = |value: &Value| value.as_str().is_some_and(|text| text.contains(HIDDEN));
    let has_hidden = |value: &Value| match value {
        Value::Array(items) => items.iter().any(hidden),
        Value::Object(members) => members.values().any(hidden),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => hidden(value),
    };
    let keys = ["args", "env", "url", "headers"].into_iter().filter(|key| server.get(*key).is_some_and(has_hidden));
    let told: Vec<_> = keys
        .map(|key| (key.to_owned(), format!("{key} has secrets that are written out in the configuration and are not copied; make a server of your own that names them, as in `secret:NAME`")))
        .collect();
    if told.is_empty() { Ok(()) } else { Err(Error::fields(told)) }
}
