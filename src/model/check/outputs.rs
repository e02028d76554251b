//! Owns the checks that structured outputs have a schema that compiles, and that no secret is written in plain text.

use serde_json::{Map, Value};

use super::super::fallback::Fallback;
use super::super::graph::GraphNode;
use super::super::node::{LlmNode, Node};
use super::super::{schema, secret};
use super::Subject;
use super::issue::{IssueCode, Report};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    for (_, node) in subject.nodes() {
        match &node.node {
            Node::Agent(agent) => {
                let stored = agent.agent_id.as_deref().filter(|_| !agent.is_inline()).and_then(|id| subject.known.agent(id));
                let wanted = Wanted {
                    structured: agent.structured,
                    schema: agent.schema.as_ref(),
                    name: agent.output_schema.as_deref(),
                    stored: stored.is_some_and(|agent| agent.schema),
                };
                wanted.check(subject, node, report);
                credential(node, agent.credential.as_deref(), report);
                credentials(node, &agent.fallbacks, report);
                for (n, tool) in agent.tools.iter().enumerate() {
                    config(node, &tool.config, &format!("data.tools.{n}.config"), report);
                }
            }
            Node::Llm(llm) => {
                Wanted::of(llm).check(subject, node, report);
                credential(node, llm.credential.as_deref(), report);
                credentials(node, &llm.fallbacks, report);
            }
            Node::Tool(tool) => config(node, &tool.config, "data.config", report),
            Node::Start
            | Node::Stop(_)
            | Node::Rag(_)
            | Node::Mcp(_)
            | Node::Human(_)
            | Node::Fork(_)
            | Node::Join(_)
            | Node::Loop(_)
            | Node::SetState(_)
            | Node::Condition(_)
            | Node::Note => {}
        }
    }
}

/// What a node says of its output.
struct Wanted<'n> {
    structured: bool,
    schema: Option<&'n Value>,
    name: Option<&'n str>,
    /// The stored agent has one.
    stored: bool,
}

impl<'n> Wanted<'n> {
    fn of(llm: &'n LlmNode) -> Self {
        Self { structured: llm.structured, schema: llm.schema.as_ref(), name: llm.output_schema.as_deref(), stored: false }
    }

    fn check(&self, subject: &Subject<'_>, node: &GraphNode, report: &mut Report) {
        if let Some(schema) = self.schema {
            return compiles(schema, "data.schema", node, report);
        }
        if !self.structured {
            return;
        }
        let values = [("node", node.label()), ("schema", self.name.unwrap_or_default())];
        match self.name.map(|name| subject.known.schema(name)) {
            Some(Some(schema)) => compiles(&schema, "data.output_schema", node, report),
            Some(None) => report.add(IssueCode::SchemaMissing, "unknown", node.spot().field("data.output_schema"), &values),
            None if self.stored => {}
            None => report.add(IssueCode::SchemaMissing, "", node.spot().field("data.schema"), &values),
        }
    }
}

fn compiles(given: &Value, field: &str, node: &GraphNode, report: &mut Report) {
    if let Some(detail) = schema::fault(given) {
        report.add(IssueCode::SchemaInvalid, "", node.spot().field(field), &[("node", node.label()), ("detail", &detail)]);
    }
}

fn credential(node: &GraphNode, credential: Option<&str>, report: &mut Report) {
    if credential.is_some_and(|credential| !secret::is_reference(credential)) {
        literal(node, "data.credential", report);
    }
}

fn credentials(node: &GraphNode, fallbacks: &[Fallback], report: &mut Report) {
    let written = |fallback: &Fallback| fallback.credential.as_deref().is_some_and(|credential| !secret::is_reference(credential));
    for (n, _) in fallbacks.iter().enumerate().filter(|(_, fallback)| written(fallback)) {
        literal(node, &format!("data.fallbacks.{n}.credential"), report);
    }
}

fn literal(node: &GraphNode, field: &str, report: &mut Report) {
    let name = field.strip_prefix("data.").unwrap_or(field);
    report.add(IssueCode::SecretLiteral, "", node.spot().field(field), &[("node", node.label()), ("field", name)]);
}

/// Tokens, credentials and headers in a tool's configuration.
fn config(node: &GraphNode, config: &Map<String, Value>, at: &str, report: &mut Report) {
    for (name, value) in config {
        match (name.as_str(), value) {
            ("token" | "credential", Value::String(text)) if !text.trim().is_empty() && !secret::is_reference(text) => {
                literal(node, &format!("{at}.{name}"), report);
            }
            ("headers", Value::Object(headers)) => {
                let written = headers
                    .iter()
                    .filter(|(name, value)| value.as_str().is_some_and(|value| secret::looks_written_out(name, value)));
                written.for_each(|(header, _)| literal(node, &format!("{at}.{name}.{header}"), report));
            }
            _ => {}
        }
    }
}
