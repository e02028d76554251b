//! Owns tools: what a model or a node can call, and how a reference becomes something callable.

pub mod guard;
pub mod host;
pub mod schema;
pub mod search;
pub mod toolkits;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::clock::Clock;
use crate::config::Config;
use crate::host::HostDoor;
use crate::model::Id;
use crate::model::agent::{Definitions, ToolRef};
use crate::model::chat::{Tokens, ToolCall};
use crate::model::event::{Fault, FaultCode};
use crate::providers::ToolOffer;

/// Something that can be called.
pub trait Tool: Send + Sync {
    /// Calls it. Dropping the future means that the result is no longer wanted.
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply>;
}

/// One call of a tool.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct ToolInvocation {
    pub name: String,
    pub arguments: Value,
    pub call_id: String,
    pub run: Id,
    pub node_id: Arc<str>,
    pub tenant: Arc<str>,
    pub user: Option<Value>,
    pub config: Map<String, Value>,
    pub timeout: Duration,
}

impl ToolInvocation {
    /// The same for each attempt of this call, another one for any other call of any run: receivers tell repeats by it.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        uuid::Uuid::new_v5(&self.run.0, self.call_id.as_bytes()).to_string()
    }
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolReply {
    /// The text that a model sees; JSON results as compact JSON.
    pub text: String,
    /// It tells a failure.
    pub is_error: bool,
    /// A provider's call that it took.
    pub spent: Option<Spent>,
}

/// What a call of a provider took that a tool or a search made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
    /// Its report; none when it made none.
    pub tokens: Option<Tokens>,
}

impl ToolReply {
    /// A result; a string is taken as text.
    #[must_use]
    pub fn value(value: &Value) -> Self {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self { text, ..Self::default() }
    }

    /// A failure that a model may react to.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, spent: None }
    }
}

/// Who calls a tool.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct Caller {
    pub run: Id,
    pub node_id: Arc<str>,
    pub tenant: Arc<str>,
    pub user: Option<Value>,
}

/// A tool that is ready to be offered and called.
#[derive(Clone)]
pub struct BoundTool {
    /// As models see it, without the fixed arguments.
    pub offer: ToolOffer,
    /// A person approves each call.
    pub require_approval: bool,
    /// Calling it twice does no harm.
    pub idempotent: bool,
    /// How long it may take.
    pub timeout: Duration,
    /// Merged into the arguments, hidden from the model.
    pub fixed: Map<String, Value>,
    /// Per-use configuration.
    pub config: Map<String, Value>,
    /// What runs.
    pub tool: Arc<dyn Tool>,
}

impl BoundTool {
    /// The call as the tool gets it: fixed arguments win over the model's.
    #[must_use]
    pub fn invocation(&self, call: &ToolCall, caller: &Caller) -> ToolInvocation {
        let mut arguments = call.arguments.clone();
        if let Value::Object(arguments) = &mut arguments {
            arguments.extend(self.fixed.clone());
        }
        ToolInvocation {
            name: self.offer.name.clone(),
            arguments,
            call_id: call.id.clone(),
            run: caller.run,
            node_id: caller.node_id.clone(),
            tenant: caller.tenant.clone(),
            user: caller.user.clone(),
            config: self.config.clone(),
            timeout: self.timeout,
        }
    }

    /// Fixes arguments: the model no longer sees nor fills them.
    #[must_use]
    pub fn fixing(mut self, fixed: Map<String, Value>) -> Self {
        self.offer.input_schema = schema::without(&self.offer.input_schema, fixed.keys());
        self.fixed.extend(fixed);
        self
    }
}

/// What is looked for at a source of tools.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The reference after its scheme: `calculator`, `demo/issue_refund`.
    pub key: &'a str,
    /// The whole reference with its configuration.
    pub reference: &'a ToolRef,
    /// The definitions that the run pinned.
    pub definitions: &'a Definitions,
    /// The tenant.
    pub tenant: &'a str,
}

/// Where tools of one scheme come from: `host:`, `toolkit:`, and every other kind as a file of its own.
pub trait ToolSource: Send + Sync {
    /// What its references begin with, without the colon.
    fn scheme(&self) -> &'static str;

    /// The tools that a reference names; none when it knows no such thing.
    fn bind<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Result<Vec<BoundTool>, Fault>>;
}

/// All sources of tools.
#[derive(Clone, Default)]
pub struct Toolbox {
    sources: Vec<Arc<dyn ToolSource>>,
}

/// What references of tools that run at the provider begin with.
pub const NATIVE: &str = "provider:";

impl Toolbox {
    /// The tools of the host and the toolkits that are switched on.
    #[must_use]
    pub fn of(config: &Config, clock: &Arc<dyn Clock>, host: &HostDoor) -> Self {
        let timeout = Duration::from_millis(config.timeouts.tool_ms);
        let toolkits = toolkits::Toolkits::new(&config.tools.toolkits, Arc::clone(clock), &config.timezone);
        Self::new(vec![Arc::new(host::HostTools::new(host.clone(), timeout)), Arc::new(toolkits)])
    }

    /// A toolbox of these sources.
    #[must_use]
    pub fn new(sources: Vec<Arc<dyn ToolSource>>) -> Self {
        Self { sources }
    }

    /// The tools of a reference, with what the reference says of them.
    ///
    /// # Errors
    /// `tool_not_found` when there is none; else what the source says.
    pub async fn bind(&self, reference: &ToolRef, definitions: &Definitions, tenant: &str) -> Result<Vec<BoundTool>, Fault> {
        let missing = || Fault::new(FaultCode::ToolNotFound, format!("there is no tool `{}`", reference.reference));
        let (scheme, key) = reference.reference.split_once(':').ok_or_else(missing)?;
        let source = self.sources.iter().find(|source| source.scheme() == scheme).ok_or_else(missing)?;
        let found = source.bind(Wanted { key, reference, definitions, tenant }).await?;
        let is_wanted = |tool: &BoundTool| {
            let name = &tool.offer.name;
            reference.only.as_ref().is_none_or(|only| only.is_empty() || only.contains(name)) && !reference.exclude.contains(name)
        };
        let bound: Vec<_> = found.into_iter().filter(is_wanted).map(|tool| told_by(tool, reference)).collect();
        if bound.is_empty() { Err(missing()) } else { Ok(bound) }
    }
}

fn told_by(mut tool: BoundTool, reference: &ToolRef) -> BoundTool {
    tool.require_approval = reference.require_approval.unwrap_or(tool.require_approval);
    tool.idempotent = reference.idempotent.unwrap_or(tool.idempotent);
    tool.config.extend(reference.config.clone());
    tool
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::SystemClock;

    fn reference(value: Value) -> ToolRef {
        serde_json::from_value(value).expect("a reference")
    }

    async fn names(value: Value) -> String {
        let toolkits = toolkits::Toolkits::new(&["calculator", "calendar", "demo"], Arc::new(SystemClock::default()), "UTC");
        let toolbox = Toolbox::new(vec![Arc::new(toolkits)]);
        match toolbox.bind(&reference(value), &Definitions::default(), "").await {
            Ok(tools) => {
                let told = tools.iter().map(|tool| format!("{} {} {}", tool.offer.name, tool.require_approval, tool.idempotent));
                told.collect::<Vec<_>>().join(", ")
            }
            Err(fault) => format!("{}: {}", fault.code.as_str(), fault.message),
        }
    }

    #[tokio::test]
    async fn references_become_tools_and_override_them() {
        let table = [
            (json!({"ref": "toolkit:calculator"}), "calculate false true"),
            (json!({"ref": "toolkit:calendar", "exclude": ["now"]}), "add false true, difference false true"),
            (json!({"ref": "toolkit:demo", "only": ["issue_refund"], "require_approval": true}), "issue_refund true false"),
            (json!({"ref": "toolkit:demo/issue_refund", "idempotent": true}), "issue_refund false true"),
            (json!({"ref": "toolkit:demo/other"}), "tool_not_found: there is no tool `toolkit:demo/other`"),
            (json!({"ref": "toolkit:calendar", "only": ["x"]}), "tool_not_found: there is no tool `toolkit:calendar`"),
            (json!({"ref": "host:x"}), "tool_not_found: there is no tool `host:x`"),
            (json!({"ref": "x"}), "tool_not_found: there is no tool `x`"),
        ];
        for (value, wanted) in table {
            assert_eq!(names(value).await, wanted);
        }
    }
}
