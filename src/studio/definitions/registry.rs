//! Owns the registry: tools that need not be stored, and registered output schemas.

use serde_json::{Value, json};

use crate::error::Result;
use crate::host::HostTool;
use crate::studio::{Scope, Studio};
use crate::tools::BoundTool;

/// Tools that run at the provider, with what they do.
const NATIVE: [(&str, &str); 3] = [
    ("web_search", "Searches the web; runs at the provider, where the model has it"),
    ("code_interpreter", "Runs code; runs at the provider, where the model has it"),
    ("file_search", "Searches files that the provider keeps; runs at the provider, where the model has it"),
];

fn of_host(tool: &HostTool) -> Value {
    json!({"ref": format!("host:{}", tool.name), "name": tool.name, "description": tool.description, "input_schema": tool.input_schema,
        "kind": "host", "require_approval": tool.require_approval, "idempotent": tool.idempotent})
}

fn of_toolkit(key: &str, tool: &BoundTool) -> Value {
    let offer = &tool.offer;
    json!({"ref": format!("toolkit:{key}/{}", offer.name), "name": offer.name, "description": offer.description,
        "input_schema": offer.input_schema, "kind": "toolkit", "require_approval": tool.require_approval, "idempotent": tool.idempotent})
}

fn of_provider((kind, description): (&str, &str)) -> Value {
    json!({"ref": format!("provider:{kind}"), "name": kind, "description": description, "input_schema": {"type": "object"},
        "kind": "provider", "require_approval": false, "idempotent": false})
}

impl Studio {
    /// Tools of the host, of the toolkits and of providers: `{data}`.
    #[expect(clippy::unused_async, reason = "what a host offers may have to be asked for")]
    pub async fn registry_tools(&self, _scope: &Scope) -> Result<Value> {
        let catalog = self.catalog();
        let mut data: Vec<Value> = catalog.host_tools().iter().map(of_host).collect();
        data.extend(catalog.toolkits().all().map(|(key, tool)| of_toolkit(key, &tool)));
        data.extend(NATIVE.into_iter().map(of_provider));
        Ok(json!({ "data": data }))
    }

    /// Registered output schemas: `{data: [{name, schema}]}`.
    pub fn registry_schemas(&self) -> Value {
        json!({"data": self.catalog().schemas()})
    }
}
