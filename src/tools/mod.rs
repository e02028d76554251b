//! Owns tools: what models and nodes can call, and the way from a reference to a callable tool.

pub mod builder;
pub mod guard;
pub mod host;
pub mod knowledge_search;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "mcp/absent.rs"]
pub mod mcp;
pub mod names;
pub mod parts;
pub mod rag;
pub mod schema;
pub mod stored;
pub mod toolkits;
pub mod webhook;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::Config;
use crate::host::HostDoor;
use crate::model::Id;
use crate::model::agent::{Definitions, ToolRef};
use crate::model::chat::{Tokens, ToolCall};
use crate::model::event::{Asked, Fault, FaultCode};
use crate::model::parts::{File, NewFile};
use crate::model::trace_context::TraceContext;
use crate::providers::ToolOffer;
use crate::providers::trust::Trust;
use crate::secrets::Secrets;
use crate::sync::Mutex;
use guard::{Guard, GuardedClient};

/// Something that can be called.
pub trait Tool: Send + Sync {
    /// Calls it. Dropping the future means that the result is no longer wanted.
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply>;

    /// What it does when its call is cancelled.
    fn on_cancel(&self) -> OnCancel {
        OnCancel::Drops
    }

    /// Where it comes from, for tools of servers, whose names are their own.
    fn origin(&self) -> Option<Origin<'_>> {
        None
    }
}

/// What a tool does when its call is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCancel {
    /// Its future is dropped, and nothing else happens: an answer cannot come any more.
    Drops,
    /// It looks at [`ToolInvocation::cancelled`] and may still answer for a while.
    Answers,
    /// It looks at [`ToolInvocation::cancelled`] and ends by itself, whatever time that takes.
    Ends,
}

/// The server that offers a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The id of its definition.
    pub id: &'a str,
    /// Its slug.
    pub server: &'a str,
    /// The tool's name there, which models may have to be shown differently.
    pub name: &'a str,
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
    pub asking: Asking,
    /// The span that it is made in.
    pub trace: Option<Arc<TraceContext>>,
    /// The call is to end.
    pub cancelled: CancellationToken,
    /// What it takes on its way.
    pub spent: SpentList,
}

/// Whether a call may ask a person something, and what people said to what it asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Asking {
    /// Nobody is there to be asked.
    #[default]
    Never,
    /// It may.
    Maybe,
    /// It did, and is made again with the answers.
    Answered {
        /// What it asked.
        asked: Asked,
        /// The answers, by the questions' names.
        said: BTreeMap<String, Value>,
    },
}

impl Asking {
    /// Whether something that a person said, or that goes back with it, is such a value.
    pub fn knows(&self, is_such: impl Fn(&Value) -> bool) -> bool {
        match self {
            Self::Never | Self::Maybe => false,
            Self::Answered { asked, said } => asked.state.iter().any(|state| is_such(&state.as_str().into())) || said.values().any(is_such),
        }
    }
}

impl ToolInvocation {
    /// The same for each attempt of this call, another one for any other call of any run: receivers recognise repetitions by it.
    pub fn idempotency_key(&self) -> String {
        uuid::Uuid::new_v5(&self.run.0, self.call_id.as_bytes()).to_string()
    }
}

/// What a tool answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolReply {
    /// The text that a model sees; JSON results as compact JSON.
    pub text: String,
    /// It is a failure.
    pub is_error: bool,
    /// Its result is not known: no answer came, or it ran and its answer could not be taken.
    pub unanswered: bool,
    /// Nothing was done, for a reason that is not the tool's.
    pub undone: Option<FaultCode>,
    /// Files that came with it.
    pub files: Vec<NewFile>,
    /// Files of it that are stored already.
    pub stored: Vec<File>,
    /// Names of tools that it found, which the model is offered from then on.
    pub found: Vec<String>,
    /// It has no result yet: people are asked first.
    pub asked: Option<Box<Asked>>,
}

/// What a call of a provider took that a tool or a search made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The provider's id.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What it has to be paid, if anything: its report, which may be missing.
    pub tokens: Option<Option<Tokens>>,
    /// It put what was found in order; else it made vectors.
    pub ranks: bool,
    /// Why it failed.
    pub failed: Option<(FaultCode, String)>,
}

/// The calls of providers that a call of a tool took: kept outside of it, so that they are known when it is cut short.
#[derive(Clone, Debug, Default)]
pub struct SpentList(Arc<Mutex<Vec<Spent>>>);

impl SpentList {
    /// A call begins that may have to wait, and takes nothing so far; its outcome is reported with its place.
    pub fn begin(&self, provider: &str, model: &str, ranks: bool) -> usize {
        let mut list = self.0.lock();
        list.push(Spent { provider: provider.to_owned(), model: model.to_owned(), tokens: None, ranks, failed: None });
        list.len() - 1
    }

    /// The call is made: it has to be paid, if there is a report or not.
    pub fn made(&self, at: usize) {
        self.0.lock()[at].tokens = Some(None);
    }

    /// The newest call ended with a report, or counts without one; or it took nothing.
    pub fn end(&self, at: usize, tokens: Option<Tokens>, counts: bool) {
        let mut list = self.0.lock();
        if counts {
            list[at].tokens = Some(tokens);
        } else {
            list.remove(at);
        }
    }

    /// The newest call failed; what it has to be paid, if anything.
    pub fn failed(&self, at: usize, tokens: Option<Option<Tokens>>, why: (FaultCode, String)) {
        let mut list = self.0.lock();
        (list[at].tokens, list[at].failed) = (tokens, Some(why));
    }

    /// All of them, in their order.
    pub fn list(&self) -> Vec<Spent> {
        self.0.lock().clone()
    }
}

impl ToolReply {
    /// A result; a string is taken as text.
    #[must_use]
    pub fn value(value: &Value) -> Self {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Self { text, ..Self::default() }
    }

    /// Its text, cut at a limit with a mark.
    #[must_use]
    pub fn capped(mut self, limit: usize) -> Self {
        cap(&mut self.text, limit);
        self
    }

    /// A failure that a model may react to.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, ..Self::default() }
    }

    /// A failure of a call that ran or may have run: it is not made again without a person's decision.
    pub fn unanswered(text: impl Into<String>) -> Self {
        Self { unanswered: true, ..Self::error(text) }
    }

    /// A failure before the tool was reached; nothing was done.
    #[must_use]
    pub fn undone(fault: Fault) -> Self {
        Self { undone: Some(fault.code), ..Self::error(fault.message) }
    }
}

/// Cuts the result of a tool at a limit, with a mark.
pub fn cap(text: &mut String, limit: usize) {
    if text.len() > limit {
        let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n\n[truncated]");
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
            asking: Asking::Never,
            trace: None,
            cancelled: CancellationToken::new(),
            spent: SpentList::default(),
        }
    }

    /// Calls it, at most as long as it may take.
    pub async fn answer(&self, invocation: ToolInvocation) -> ToolReply {
        let late = |_| ToolReply::unanswered(format!("the tool did not answer within {} ms", self.timeout.as_millis()));
        tokio::time::timeout(self.timeout, self.tool.call(invocation)).await.unwrap_or_else(late)
    }

    /// The name that people know it by.
    fn own_name(&self) -> &str {
        self.tool.origin().map_or(self.offer.name.as_str(), |origin| origin.name)
    }

    /// It is given once more: a person approves its calls if one of both says so, and what the other fixes is fixed.
    pub fn join(&mut self, other: Self) {
        self.require_approval |= other.require_approval;
        if self.tool.origin().is_some() && self.tool.origin() == other.tool.origin() {
            let fixed = other.fixed.into_iter().filter(|(key, _)| !self.fixed.contains_key(key)).collect();
            *self = self.clone().fixing(fixed);
        }
    }

    /// Fixes arguments: the model no longer sees nor fills them.
    #[must_use]
    pub fn fixing(mut self, fixed: Map<String, Value>) -> Self {
        self.offer.input_schema = schema::without(&self.offer.input_schema, &fixed.keys());
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
    stored: Option<Arc<stored::StoredTools>>,
    search: knowledge_search::SearchDoor,
}

/// What references of tools that run at the provider begin with.
pub const NATIVE: &str = "provider:";

impl Toolbox {
    /// The tools of the host, the toolkits that are switched on, stored tools and those of MCP servers.
    ///
    /// # Errors
    /// What is wrong with the configuration, one sentence each.
    pub fn of(config: &Arc<Config>, clock: &Arc<dyn Clock>, host: &HostDoor, mcp: Arc<mcp::McpServers>) -> Result<Self, Vec<String>> {
        let millis = Duration::from_millis;
        let toolkits = toolkits::Toolkits::new(&config.tools.toolkits, Arc::clone(clock), &config.timezone);
        let search = knowledge_search::SearchDoor::default();
        let guard = Guard::new(("webhook.allowed_hosts", &config.webhook.allowed_hosts), ("webhook.allow_private", &config.webhook.allow_private))?;
        let guard = guard.trusting(Trust::of(config).map_err(|problem| vec![problem])?);
        let secrets = Secrets::new(Arc::clone(config), host.clone());
        let stored = Arc::new(stored::StoredTools {
            webhooks: Arc::new(webhook::Webhooks { client: GuardedClient::new(guard), secrets }),
            builders: builder::Builders::default(),
            search: search.clone(),
            webhook_timeout: millis(config.timeouts.webhook_ms),
            search_timeout: millis(config.timeouts.tool_ms),
        });
        let hosts = host::HostTools::new(host.clone(), millis(config.timeouts.tool_ms));
        let sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(hosts), Arc::new(toolkits), Arc::<stored::StoredTools>::clone(&stored), mcp];
        Ok(Self { sources, stored: Some(stored), search })
    }

    /// The way to whoever searches knowledge bases; set once, when the studio opens.
    pub const fn search(&self) -> &knowledge_search::SearchDoor {
        &self.search
    }

    /// The tool of a stored definition, from its resource JSON; none in a toolbox without stored tools.
    pub fn stored(&self, definition: &Value) -> Option<BoundTool> {
        self.stored.as_ref().map(|stored| stored.bound(definition))
    }

    /// The tools of a reference, with what the reference says of them.
    ///
    /// # Errors
    /// `tool_not_found` when there is none; else what the source says.
    pub async fn bind(&self, reference: &ToolRef, definitions: &Definitions, tenant: &str) -> Result<Vec<BoundTool>, Fault> {
        let missing = || Fault::new(FaultCode::ToolNotFound, format!("there is no tool `{}`", reference.reference));
        let (scheme, key) = reference.reference.split_once(':').ok_or_else(|| {
            let name = &reference.reference;
            let sources = format!("`host:{name}` for a tool of the application, `tool:{name}`, `toolkit:{name}` or `mcp:{name}`");
            Fault::new(FaultCode::ToolNotFound, format!("there is no tool `{name}`: a reference says where the tool comes from: {sources}"))
        })?;
        let source = self.sources.iter().find(|source| source.scheme() == scheme).ok_or_else(missing)?;
        let found = source.bind(Wanted { key, reference, definitions, tenant }).await?;
        let is_wanted = |tool: &BoundTool| {
            let name = tool.own_name();
            reference.only.as_ref().is_none_or(|only| only.is_empty() || named(only, name)) && !named(&reference.exclude, name)
        };
        let bound: Vec<_> = found.into_iter().filter(is_wanted).map(|tool| with_settings_of(tool, reference)).collect();
        if bound.is_empty() { Err(missing()) } else { Ok(bound) }
    }
}

fn named(list: &[String], name: &str) -> bool {
    list.iter().any(|one| one == name)
}

/// A use may ask for approval of its own accord, never do without the one that the tool itself asks for.
fn with_settings_of(mut tool: BoundTool, reference: &ToolRef) -> BoundTool {
    tool.require_approval |= reference.require_approval == Some(true);
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
        let toolbox = Toolbox { sources: vec![Arc::new(toolkits)], ..Toolbox::default() };
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
            (
                json!({"ref": "x"}),
                "tool_not_found: there is no tool `x`: a reference says where the tool comes from: \
                 `host:x` for a tool of the application, `tool:x`, `toolkit:x` or `mcp:x`",
            ),
        ];
        for (value, wanted) in table {
            assert_eq!(names(value).await, wanted);
        }
    }
}
