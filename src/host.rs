//! Owns the callbacks of the embedding application: tools, gate, secrets, models, usage, logs.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

named! {
    /// What a host may be asked.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum HostOp {
        /// Run a tool: `{name, arguments, call_id, idempotency_key, trace_id, node_id, tenant, user}`.
        #[serde(rename = "tool.call")]
        ToolCall = "tool.call",
        /// A tool's result, or the answer to a question, is no longer wanted: `{call_id, trace_id}`. A tool may still answer within
        /// `timeouts.cancel_grace_ms`.
        #[serde(rename = "tool.cancel")]
        ToolCancel = "tool.cancel",
        /// May this user come in: `{gate, user, tenant, method, path}` gives `{allow}`.
        #[serde(rename = "gate")]
        Gate = "gate",
        /// A secret by name: `{name, tenant}` gives `{value}`.
        #[serde(rename = "secret.get")]
        SecretGet = "secret.get",
        /// A token for an MCP server that wants authorization: `{server, url, tenant, status, challenge}` gives `{token}`.
        #[serde(rename = "mcp.authorize")]
        McpAuthorize = "mcp.authorize",
        /// A server asks a person in the middle of a call: `{server, tool, tenant, user, trace_id, node_id, call_id, message, schema, problems,
        /// timeout_ms}` gives `{action, content}`.
        #[serde(rename = "mcp.elicit")]
        McpElicit = "mcp.elicit",
        /// A model that the host provides.
        #[serde(rename = "provider.chat")]
        ProviderChat = "provider.chat",
        /// A reranker that the host provides: `{provider, model, query, documents, tenant, timeout_ms}` gives `{results: [{index, relevance_score}], usage?}`.
        #[serde(rename = "provider.rerank")]
        ProviderRerank = "provider.rerank",
        /// A run ended; sent again until it is answered.
        #[serde(rename = "usage.recorded")]
        UsageRecorded = "usage.recorded",
        /// A line of log.
        #[serde(rename = "log")]
        Log = "log",
    }
}

/// A tool that the host runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostTool {
    /// As models see it.
    pub name: String,
    /// As models see it.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of its arguments.
    #[serde(default = "any_object")]
    pub input_schema: Value,
    /// A person approves each call.
    #[serde(default)]
    pub require_approval: bool,
    /// Calling it twice does no harm.
    #[serde(default)]
    pub idempotent: bool,
    /// Instead of the configured limit.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

fn any_object() -> Value {
    serde_json::json!({"type": "object"})
}

/// What the host declares: what it answers, its tools, its output schemas, its registered classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDeclaration {
    /// The ops that it answers.
    #[serde(default)]
    pub ops: Vec<HostOp>,
    /// Its tools.
    #[serde(default)]
    pub tools: Vec<HostTool>,
    /// Output schemas by name.
    #[serde(default)]
    pub schemas: BTreeMap<String, Value>,
    /// Definitions by class name.
    #[serde(default)]
    pub classes: BTreeMap<String, Value>,
}

/// The payload with how long the answer is waited for.
pub(crate) fn within(mut payload: Value, limit: std::time::Duration) -> Value {
    if let Value::Object(fields) = &mut payload {
        let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        fields.entry("timeout_ms").or_insert_with(|| millis.into());
    }
    payload
}

/// In what a host answers to `tool.cancel`, if it answers anything: false when it had not taken the call, and never will.
pub const TAKEN: &str = "taken";

/// A host could not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailure {
    /// Shown as the failure of the tool or the provider.
    pub message: String,
    /// Of a tool: it ran, or nobody knows whether it did. It is not called again without a person's decision.
    pub may_have_run: bool,
}

impl HostFailure {
    /// A failure with this text. The tool failed by itself.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), may_have_run: false }
    }
}

/// One question to the host.
pub struct HostCall {
    /// What is asked.
    pub op: HostOp,
    /// Its details.
    pub payload: Value,
    /// Where chunks go that come before the result (`provider.chat`).
    pub chunks: Option<tokio::sync::mpsc::UnboundedSender<Value>>,
}

/// The embedding application.
pub trait Host: Send + Sync {
    /// Answers a question. Dropping the future means that the answer is no longer wanted.
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>>;

    /// It receives cancelled tool calls even if it did not declare `tool.cancel`.
    fn hears_cancels(&self) -> bool {
        false
    }

    /// The engine ends: an answer that comes from here on is refused. Ready when every answer that was accepted before has reached its call.
    fn shut(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The way to the host: whatever host is set at the moment of a question.
#[derive(Clone, Default)]
pub struct HostDoor(std::sync::Arc<crate::sync::RwLock<Embedded>>);

#[derive(Clone, Default)]
struct Embedded {
    host: Option<std::sync::Arc<dyn Host>>,
    declaration: std::sync::Arc<HostDeclaration>,
    /// Classes that were registered one by one: they stay when a host is set.
    registered: BTreeMap<String, Value>,
}

impl HostDoor {
    /// Sets the host and what it declares; replaces the one before.
    pub fn set(&self, host: std::sync::Arc<dyn Host>, mut declaration: HostDeclaration) {
        let mut embedded = self.0.write();
        for (class, definition) in &embedded.registered {
            declaration.classes.entry(class.clone()).or_insert_with(|| definition.clone());
        }
        (embedded.host, embedded.declaration) = (Some(host), std::sync::Arc::new(declaration));
    }

    /// Adds a class to what is declared.
    pub fn register(&self, class: &str, definition: Value) {
        let mut embedded = self.0.write();
        let mut declaration = HostDeclaration::clone(&embedded.declaration);
        declaration.classes.insert(class.to_owned(), definition.clone());
        embedded.registered.insert(class.to_owned(), definition);
        embedded.declaration = std::sync::Arc::new(declaration);
    }

    /// Takes no more answers; ready when those that were accepted have reached their calls.
    pub(crate) async fn shut(&self) {
        let host = self.0.read().host.clone();
        if let Some(host) = host {
            host.shut().await;
        }
    }

    /// What the host declares.
    pub fn declaration(&self) -> std::sync::Arc<HostDeclaration> {
        self.0.read().declaration.clone()
    }

    /// The host answers this op.
    pub fn answers(&self, op: HostOp) -> bool {
        let embedded = self.0.read();
        let heard = |host: &std::sync::Arc<dyn Host>| op == HostOp::ToolCancel && host.hears_cancels();
        embedded.host.as_ref().is_some_and(|host| embedded.declaration.ops.contains(&op) || heard(host))
    }

    /// Asks the host and waits at most `limit`.
    ///
    /// # Errors
    /// The host failed, was silent, or does not answer this op.
    pub async fn call(&self, op: HostOp, payload: Value, limit: std::time::Duration) -> Result<Value, HostFailure> {
        let asked = tokio::time::timeout(limit, self.call_streaming(op, within(payload, limit), None));
        asked.await.unwrap_or_else(|_| Err(HostFailure::new(format!("the host did not answer `{}` within {} ms", op.as_str(), limit.as_millis()))))
    }

    /// Asks the host; chunks that come before the result go to `chunks`. The caller keeps the time.
    ///
    /// # Errors
    /// The host failed, or does not answer this op.
    pub async fn call_streaming(
        &self,
        op: HostOp,
        payload: Value,
        chunks: Option<tokio::sync::mpsc::UnboundedSender<Value>>,
    ) -> Result<Value, HostFailure> {
        if !self.answers(op) {
            return Err(HostFailure::new(format!("the host does not answer `{}`", op.as_str())));
        }
        let host = self.0.read().host.clone();
        let Some(host) = host else { return Err(HostFailure::new("there is no host")) };
        host.call(HostCall { op, payload, chunks }).await
    }
}
