//! Tests that every code of an issue is reported where it should be, and nowhere else.

mod agents;
mod flow;
mod forks;
mod properties;
mod shape;
mod stored;
mod warnings;

use serde_json::{Value, json};

use super::*;
use crate::model::sketch;

/// What tests know beside the graph.
struct Stock;

impl Known for Stock {
    fn agent(&self, name: &str) -> Option<KnownAgent> {
        let plain = KnownAgent::default();
        match name {
            "plain" => Some(plain),
            "careful" => Some(KnownAgent { require_tool_approval: true, ..plain }),
            "gated" => Some(KnownAgent { gated_tool: true, ..plain }),
            "native" => Some(KnownAgent { provider_native: true, ..plain }),
            "schema" => Some(KnownAgent { schema: true, ..plain }),
            _ => None,
        }
    }

    fn tool(&self, reference: &str) -> Option<KnownTool> {
        let named = |name: &str| KnownTool { names: vec![name.to_owned()], ..KnownTool::default() };
        match reference {
            "host:a" | "tool:a" => Some(named("a")),
            "host:b" => Some(named("b")),
            "host:gated" => Some(KnownTool { require_approval: true, ..named("gated") }),
            "host:safe" => Some(KnownTool { idempotent: true, ..named("safe") }),
            "toolkit:kit" => Some(KnownTool { names: vec!["a".into(), "c".into()], ..KnownTool::default() }),
            "toolkit:kit/c" => Some(named("c")),
            "mcp:files" => Some(KnownTool::default()),
            "mcp:told" => Some(KnownTool { names: vec!["a".into(), "c".into()], ..KnownTool::default() }),
            "provider:search" => Some(KnownTool { provider_native: true, ..named("search") }),
            _ => None,
        }
    }

    fn mcp_server(&self, name: &str) -> Option<KnownServer> {
        match name {
            "files" | "told" => Some(KnownServer::default()),
            "gated" => Some(KnownServer { require_approval: true }),
            _ => None,
        }
    }

    fn knowledge_base(&self, name: &str) -> bool {
        name == "docs"
    }

    fn schema(&self, name: &str) -> Option<Value> {
        match name {
            "answer" => Some(json!({"type": "object"})),
            "broken" => Some(json!({"type": 5})),
            _ => None,
        }
    }

    fn state_keys(&self) -> Vec<String> {
        vec!["given".into()]
    }
}

fn limits() -> GraphLimits {
    GraphLimits { fork_branches: 5, loop_max_steps: 20, ..GraphLimits::default() }
}

/// Every issue as a line: code, node, edge, field.
fn said_of(graph: &Value) -> Vec<String> {
    let issues = check(graph, &Stock, &limits());
    let line = |issue: &Issue| {
        assert!(!issue.message.contains("issue.") && !issue.message.contains(['{', '}']), "{}", issue.message);
        let code = serde_json::to_value(issue.code).unwrap();
        let edge = issue.edge_id.as_ref().map(|edge| format!("edge {edge}"));
        let parts = [code.as_str().map(str::to_owned), issue.node_id.clone(), edge, issue.field.clone()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    };
    issues.iter().map(line).collect()
}

fn said(text: &str) -> Vec<String> {
    said_of(&sketch::graph(text).unwrap())
}

/// Nothing is said of a graph.
#[track_caller]
fn fine(text: &str) {
    assert_eq!(said(text), Vec::<String>::new(), "{text}");
}

#[track_caller]
fn says(text: &str, lines: &[&str]) {
    assert_eq!(said(text), lines, "{text}");
}
