//! Owns one open connection to a server: its list of tools, calls, its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputRequiredResult, InputResponses, PaginatedRequestParams, PingRequest, ServerResult,
    SubscriptionFilter, Tool,
};
use rmcp::service::{ClientCacheConfig, Peer, PeerRequestOptions, RunningService, ServiceError};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::client::Client;
#[cfg(not(unix))]
use super::elsewhere::{LastWords, Process};
#[cfg(unix)]
use super::process::Process;
#[cfg(unix)]
use super::program::LastWords;
use super::server::Ready;
use super::server_call::{self, Replied, ServerCall, Underway};
use super::{web, wire};
use crate::sync::Mutex;

/// How long a list is true where the server says nothing of it.
const USUALLY_TRUE: Duration = Duration::from_secs(300);
/// A server may not make a list true for longer.
const LONGEST_TRUE: Duration = Duration::from_secs(3600);
/// How long an end may take before the connection is cut.
const END: Duration = Duration::from_secs(6);
/// More tools or pages of them are not read.
const TOOLS: usize = 1000;
const PAGES: usize = 50;
/// What all descriptions and schemas of a server may measure: a model is sent them with every request. What comes after is left out.
const ALL: usize = 512 << 10;
/// What is kept of a description, and of a schema.
const DESCRIPTION: usize = 8 << 10;
const SCHEMA: usize = 128 << 10;
/// How often a server may ask for more before it answers a call.
const ROUNDS: usize = 8;

/// A tool that a server offers.
#[derive(Clone, Debug)]
pub(super) struct ServerTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
}

/// Why a call gave no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The server saw nothing of it.
    Unreached(String),
    /// The server no longer knows the connection; it did nothing.
    Forgotten(String),
    /// It was sent; nobody knows what became of it.
    Lost(String),
    /// The server answered it, with what was not read.
    Unread(String),
    /// The server refused it.
    Refused(String),
}

/// An open connection.
pub(super) struct Live {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Client>>>,
    pub(super) program: Option<(Arc<Process>, LastWords)>,
    version: String,
    stateless: bool,
    /// The server reports when its tools change.
    listens: Arc<AtomicBool>,
    client: Client,
    ready: Ready,
    listed: Mutex<Option<Listed>>,
    /// Requests that are under way.
    requests: watch::Sender<usize>,
}

/// As long as a request is under way.
pub(super) struct Request<'a>(&'a watch::Sender<usize>);

impl<'a> Request<'a> {
    fn new(requests: &'a watch::Sender<usize>) -> Self {
        requests.send_modify(|count| *count += 1);
        Self(requests)
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

struct Listed {
    tools: Arc<[ServerTool]>,
    /// None: until the server says otherwise.
    until: Option<Instant>,
}

impl Live {
    /// A connection that was just opened.
    pub(super) async fn new(service: RunningService<RoleClient, Client>, program: Option<(Arc<Process>, LastWords)>, ready: Ready) -> Self {
        let peer = service.peer().clone();
        peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let info = peer.peer_info();
        let version = info.as_ref().map(|info| info.protocol_version.clone());
        let told = info.as_ref().and_then(|info| info.capabilities.tools.as_ref()).and_then(|tools| tools.list_changed).unwrap_or(false);
        let stateless = version.as_ref().is_some_and(|version| !version.has_initialize());
        let live = Self {
            client: service.service().clone(),
            ready,
            peer,
            service: Mutex::new(Some(service)),
            program,
            version: version.map(|version| version.to_string()).unwrap_or_default(),
            stateless,
            listens: Arc::new(AtomicBool::new(told && !stateless)),
            listed: Mutex::new(None),
            requests: watch::Sender::new(0),
        };
        if told && stateless {
            live.subscribe();
        }
        live
    }

    /// Without a session, the server reports changes only on request.
    fn subscribe(&self) {
        let (peer, stale, listens) = (self.peer.clone(), Arc::clone(&self.client.stale), Arc::clone(&self.listens));
        tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(mut changes) = peer.listen(filter).await else { return };
            listens.store(changes.acknowledged().tools_list_changed == Some(true), Ordering::Release);
            // A change before the request reached the server is not reported.
            stale.store(true, Ordering::Release);
            while let Ok(Some(_)) = changes.next().await {
                stale.store(true, Ordering::Release);
            }
            listens.store(false, Ordering::Release);
            stale.store(true, Ordering::Release);
        });
    }

    /// The revision of the protocol that is spoken.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Nothing more comes from it.
    pub(super) fn is_dead(&self) -> bool {
        self.peer.is_transport_closed()
    }

    /// The tools as they were listed, when that is still true.
    pub(super) fn listed(&self) -> Option<Arc<[ServerTool]>> {
        let stale = self.client.stale.load(Ordering::Acquire);
        let listed = self.listed.lock();
        let true_still = |listed: &&Listed| !stale && listed.until.is_none_or(|until| Instant::now() < until);
        listed.as_ref().filter(true_still).map(|listed| Arc::clone(&listed.tools))
    }

    /// The tools as they were listed last.
    pub(super) fn known(&self) -> Option<Arc<[ServerTool]>> {
        self.listed.lock().as_ref().map(|listed| Arc::clone(&listed.tools))
    }

    /// The tools of the server; those of the last list if the server is too busy to answer.
    ///
    /// # Errors
    /// What went wrong, as a sentence's end.
    pub(super) async fn tools(&self) -> Result<Arc<[ServerTool]>, String> {
        if let Some(tools) = self.listed() {
            return Ok(tools);
        }
        // A change while it is read makes the list stale again.
        self.client.stale.store(false, Ordering::Release);
        let within = super::open::patience(&self.ready);
        let read = tokio::time::timeout(within, self.list()).await;
        let late = || format!("did not list its tools within {} ms", within.as_millis());
        let (tools, ttl) = match read.unwrap_or_else(|_| Err(late())) {
            Ok(read) => read,
            Err(text) => {
                self.client.stale.store(true, Ordering::Release);
                return self.known().filter(|_| !self.is_dead()).ok_or(text);
            }
        };
        let life = match (self.listens.load(Ordering::Acquire), ttl) {
            (true, _) => None,
            (false, ttl) => Some(ttl.unwrap_or(USUALLY_TRUE).min(LONGEST_TRUE)),
        };
        *self.listed.lock() = Some(Listed { tools: Arc::clone(&tools), until: life.map(|life| Instant::now() + life) });
        Ok(tools)
    }

    async fn list(&self) -> Result<(Arc<[ServerTool]>, Option<Duration>), String> {
        let _underway = Request::new(&self.requests);
        let (mut tools, mut cursor, mut ttl) = (Vec::new(), None, None);
        for _ in 0..PAGES {
            let params = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = self.peer.list_tools(params).await.map_err(|problem| match self.call_error(problem) {
                CallError::Unreached(text) | CallError::Forgotten(text) | CallError::Lost(text) | CallError::Unread(text) | CallError::Refused(text) => text,
            })?;
            ttl = page.ttl_ms.map(Duration::from_millis);
            tools.extend(page.tools.into_iter().take(TOOLS).map(|tool| server_tool(tool, |text| self.ready.masked(text))));
            cursor = page.next_cursor.filter(|_| tools.len() < TOOLS);
            if cursor.is_none() {
                break;
            }
        }
        tools.truncate(TOOLS);
        let fitting = fitting(&tools);
        if fitting < tools.len() {
            let (slug, left_out) = (&self.ready.slug, tools.len() - fitting);
            tracing::warn!(server = %slug, left_out, "the descriptions and schemas of an MCP server's tools have more than {} KiB; the last tools are omitted", ALL >> 10);
            tools.truncate(fitting);
        }
        Ok((tools.into(), ttl))
    }

    /// A request is under way from now on: until this is dropped, whoever gives the connection up lets it stand.
    pub(super) fn request(&self) -> Request<'_> {
        Request::new(&self.requests)
    }

    /// Calls a tool. If the future is dropped, the server receives a cancellation.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
    pub(super) async fn call(&self, call: &ServerCall) -> Result<Replied, CallError> {
        let _open = self.client.open(call);
        let mut params = call.params();
        for _ in 0..ROUNDS {
            match self.send(params.clone(), call.options(self.stateless)).await.map_err(|problem| self.call_error(problem))? {
                ServerResult::CallToolResult(result) => return Ok(Replied::Result(result)),
                ServerResult::InputRequiredResult(wanted) => match call.asked(&wanted)? {
                    Some(asked) => return Ok(Replied::Asked(asked)),
                    None => (params.input_responses, params.request_state) = (self.answers(call, &wanted).await?, wanted.request_state),
                },
                ServerResult::CreateTaskResult(_) => return Err(CallError::Lost("began a task, which nobody asked for".into())),
                _ => return Err(CallError::Lost("answered with something else than a result".into())),
            }
        }
        Err(CallError::Refused(format!("asked for more {ROUNDS} times and gave no result")))
    }

    /// What is said to questions for which the run does not wait.
    async fn answers(&self, call: &ServerCall, wanted: &InputRequiredResult) -> Result<Option<InputResponses>, CallError> {
        let mut answers = InputResponses::new();
        for (key, question) in server_call::wanted(wanted)? {
            answers.insert(key.clone(), self.client.ask(&call.asker, question).await);
        }
        Ok((!answers.is_empty()).then_some(answers))
    }

    async fn send(&self, params: CallToolRequestParams, options: PeerRequestOptions) -> Result<ServerResult, ServiceError> {
        let sent = self.peer.send_request_with_option(ClientRequest::CallToolRequest(CallToolRequest::new(params)), options).await?;
        let underway = Underway::new(&self.peer, sent.id.clone());
        let result = sent.await_response().await;
        underway.over();
        result
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
    fn call_error(&self, problem: ServiceError) -> CallError {
        match problem {
            ServiceError::McpError(error) if self.program.is_none() && !self.stateless && web::is_forgotten(&error) => {
                CallError::Forgotten(format!("no longer knows the session: {}", error.message))
            }
            ServiceError::McpError(error) if wire::is_unread(&error) => CallError::Unread(format!("answered, but {}", error.message)),
            ServiceError::McpError(error) => CallError::Refused(format!("refused the call: {}", error.message)),
            ServiceError::TransportSend(problem) => {
                let (text, unreached) = web::describe_error(problem.error.as_ref());
                if unreached { CallError::Unreached(text) } else { CallError::Lost(text) }
            }
            ServiceError::TransportClosed => CallError::Lost("ended before it answered".into()),
            other => CallError::Lost(other.to_string()),
        }
    }

    /// Whether the server still reacts.
    pub(super) async fn reacts(&self, limit: Duration) -> bool {
        let asking = async {
            if self.stateless {
                drop(self.peer.list_tools(None).await);
            } else {
                drop(self.peer.send_request(ClientRequest::PingRequest(PingRequest::default())).await);
            }
        };
        tokio::time::timeout(limit, asking).await.is_ok() && !self.is_dead()
    }

    /// Ends it in good order once the requests that are under way have ended: they are those of other runs, and may get their answers.
    pub(super) async fn close_after_requests(&self) {
        if !self.is_dead() {
            let mut requests = self.requests.subscribe();
            drop(requests.wait_for(|count| *count == 0).await);
        }
        self.close().await;
    }

    /// Ends it in good order: a program is asked first.
    pub(super) async fn close(&self) {
        let service = self.service.lock().take();
        if let Some(mut service) = service {
            let _cut_otherwise = service.close_with_timeout(END).await;
        }
        self.kill();
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        if let Some((process, _)) = &self.program {
            process.kill();
        }
        drop(self.service.lock().take());
    }
}

/// How many of the tools are kept.
fn fitting(tools: &[ServerTool]) -> usize {
    let mut size = 0;
    let fits = |tool: &&ServerTool| {
        size += tool.name.len() + tool.description.len() + tool.input_schema.to_string().len();
        size <= ALL
    };
    tools.iter().take_while(fits).count()
}

/// A server may repeat the secrets that it was given; what it says of its tools goes to providers of models.
fn server_tool(tool: Tool, masked: impl Fn(&str) -> String) -> ServerTool {
    let description = tool.description.or_else(|| tool.title.map(Into::into)).unwrap_or_default().into_owned();
    let mut description = masked(&description);
    if description.len() > DESCRIPTION {
        let end = (0..=DESCRIPTION).rev().find(|end| description.is_char_boundary(*end)).unwrap_or(0);
        description.truncate(end);
    }
    let written = Value::Object((*tool.input_schema).clone()).to_string();
    let schema = serde_json::from_str(&masked(&written)).unwrap_or(Value::Null);
    let fits = schema.get("type").is_some_and(|kind| kind == "object") && written.len() <= SCHEMA;
    ServerTool { name: tool.name.into_owned(), description, input_schema: if fits { schema } else { json!({"type": "object"}) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_tells_of_a_tool_is_bounded() {
        let tool = |description: &str, schema: Value| {
            server_tool(
                serde_json::from_value(json!({"name": "t", "description": description, "inputSchema": schema})).expect("a tool"),
                |text| text.replace("s3cret", "***"),
            )
        };
        let long = tool(&"é".repeat(DESCRIPTION), json!({"type": "object", "title": "x".repeat(SCHEMA)}));
        assert!(long.description.len() <= DESCRIPTION && long.input_schema == json!({"type": "object"}));
        assert_eq!(tool("d", json!({})).input_schema, json!({"type": "object"}));
        let told = tool("with s3cret", json!({"type": "object", "description": "s3cret"}));
        assert_eq!((told.description.as_str(), &told.input_schema["description"]), ("with ***", &json!("***")));
        let many: Vec<ServerTool> = (0..100).map(|_| tool(&"x".repeat(DESCRIPTION), json!({"type": "object"}))).collect();
        assert!((60..70).contains(&fitting(&many)), "{}", fitting(&many));
    }
}
