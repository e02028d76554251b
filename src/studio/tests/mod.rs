//! Owns the facade's tests of definitions, threads and files, and what they share.

mod closing;
mod fields;
mod files;
mod graphs;
mod registry;
mod round_trips;
mod tenants;
mod threads;
mod weights;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{Options, Resource, Scope, Studio};
use crate::clock::Clock;
use crate::error::{Error, Kind};
use crate::model::{Id, Timestamp};

/// A clock that goes on by a second with each look, and numbers its ids.
#[derive(Default)]
struct Steps(AtomicU64);

impl Steps {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

impl Clock for Steps {
    fn now(&self) -> Timestamp {
        Timestamp(1_795_207_200_000 + i64::try_from(self.next()).unwrap_or(0) * 1000)
    }

    fn id(&self) -> Id {
        Id::v7(1_795_207_200_000, 0, self.next())
    }

    fn random(&self, into: &mut [u8]) {
        let start = self.next().to_le_bytes();
        into.iter_mut().zip(start.iter().cycle()).for_each(|(to, from)| *to = *from);
    }
}

/// A studio in memory with more configuration.
fn studio_with(more: &Value) -> Studio {
    let mut settings = json!({
        "database": crate::place::database(":memory:"), "mcp": {"stdio_allowlist": ["npx"], "servers": {"files": {"transport": "stdio", "command": "python3"}}},
        "output_schemas": {"verdict": {"type": "object"}}, "allow_builder_tools": true,
    });
    crate::studio::definitions::edits::merge(&mut settings, more);
    let config = crate::config::Config::with(settings).expect("a configuration");
    Studio::open_with(config, Options { clock: Some(Arc::new(Steps::default())), ..Options::default() }).expect("a studio")
}

fn studio() -> Studio {
    studio_with(&json!({}))
}

fn scope() -> Scope {
    Scope::default()
}

fn user(id: &str) -> Scope {
    Scope { user: Some(json!({"id": id})), ..Scope::default() }
}

async fn make(studio: &Studio, resource: Resource, body: Value) -> Value {
    studio.create(&scope(), resource, &body).await.unwrap_or_else(|error| panic!("{body}: {error} {:?}", error.members))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// A refusal: its code and, when fields are wrong, which.
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.expect_err("a refusal");
    let fields = error.members.get("errors").and_then(Value::as_object);
    let fields: Vec<&str> = fields.into_iter().flatten().map(|(path, _)| path.as_str()).collect();
    [&[error.kind.code()][..], &fields].concat().join(" ")
}

fn is(error: &Error, kind: Kind) -> bool {
    error.kind == kind
}

/// A body that makes one of each.
fn example(resource: Resource) -> Value {
    match resource {
        Resource::Agent => json!({"name": "Support assistant", "instructions": "Be brief.", "tools": [{"ref": "toolkit:calculator"}]}),
        Resource::Workflow => json!({"name": "Triage", "description": "Sorts", "tags": ["a"]}),
        Resource::Tool => json!({"name": "lookup_order", "kind": "webhook", "config": {"url": "https://shop.example/orders/{order_id}"}}),
        Resource::McpServer => json!({"name": "Docs", "transport": "http", "url": "https://mcp.example/mcp", "token": "secret:MCP_TOKEN"}),
        Resource::KnowledgeBase => json!({"name": "Docs"}),
    }
}
