//! Owns the interface between protocol and transport: whole messages in and out, and an end.

use std::sync::LazyLock;

use futures_util::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::json;

/// One message may measure this much.
pub(super) const MESSAGE_LIMIT: usize = 8 << 20;
/// The beginning and the end of a message that was not read, where its id is looked for.
pub(super) const EDGE: usize = 256;
/// Messages that wait for a reader.
const WAITING: usize = 32;

/// A message was not sent.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct Broken {
    pub(super) text: String,
    /// The server saw nothing of it.
    pub(super) unreached: bool,
}

/// A message on its way out, and the receiver of whether it was sent.
pub(super) type Outgoing = (ClientJsonRpcMessage, oneshot::Sender<Result<(), Broken>>);

/// A carrier of messages: a task writes, a task reads.
pub(super) struct Wire {
    outgoing: Option<mpsc::Sender<Outgoing>>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    end: Option<BoxFuture<'static, ()>>,
    tasks: JoinSet<()>,
}

/// The far side of a wire.
pub(super) struct Ends {
    pub(super) outgoing: mpsc::Receiver<Outgoing>,
    pub(super) incoming: mpsc::Sender<ServerJsonRpcMessage>,
}

impl Wire {
    /// A wire and its far side, which tasks carry on.
    pub(super) fn new() -> (Self, Ends) {
        let (outgoing, from_us) = mpsc::channel(WAITING);
        let (to_us, incoming) = mpsc::channel(WAITING);
        let wire = Self { outgoing: Some(outgoing), incoming, end: None, tasks: JoinSet::new() };
        (wire, Ends { outgoing: from_us, incoming: to_us })
    }

    /// A task of the wire, ended with it.
    pub(super) fn carry(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    /// What is done once nothing more is sent.
    pub(super) fn ends_with(&mut self, end: BoxFuture<'static, ()>) {
        self.end = Some(end);
    }
}

fn closed() -> Broken {
    Broken { text: "closed the connection".into(), unreached: true }
}

impl Transport<RoleClient> for Wire {
    type Error = Broken;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Broken>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let (tell, told) = oneshot::channel();
            outgoing.ok_or_else(closed)?.send((item, tell)).await.map_err(|_| closed())?;
            told.await.map_err(|_| closed())?
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Broken> {
        self.outgoing = None;
        self.incoming.close();
        if let Some(end) = self.end.take() {
            end.await;
        }
        self.tasks.shutdown().await;
        Ok(())
    }
}

/// What an answer is marked with that was not read; no server can know it.
static UNREAD: LazyLock<serde_json::Value> = LazyLock::new(|| uuid::Uuid::new_v4().to_string().into());

/// Stands for an answer that came and was not read.
pub(super) fn unread(id: RequestId, text: String) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::internal_error(text, Some(UNREAD.clone())), Some(id))
}

/// Whether a call was answered by what was not read: it may have been made.
pub(super) fn is_unread(error: &ErrorData) -> bool {
    error.data.as_ref() == Some(&*UNREAD)
}

/// What the caller receives, instead of waiting on, if an answer cannot be read, for example because it is nested too deeply.
pub(super) fn unreadable(line: &[u8], problem: &json::Unread) -> Option<ServerJsonRpcMessage> {
    let id = id_at_edge(&line[..line.len().min(EDGE)], &line[line.len().saturating_sub(EDGE)..])?;
    Some(unread(id, format!("the answer could not be read: {problem}")))
}

/// The id of an answer whose middle was not kept.
pub(super) fn id_at_edge(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    static PATTERNS: LazyLock<[Option<regex::Regex>; 3]> = LazyLock::new(|| {
        let version = r#""jsonrpc"\s*:\s*"2\.0""#;
        [
            format!(r#"^\s*\{{\s*(?:{version}\s*,\s*)?"id"\s*:\s*(\d+)\s*,"#),
            format!(r#","id"\s*:\s*(\d+)\s*(?:,\s*{version}\s*)?\}}\s*$"#),
            format!(r#",{version}\s*,\s*"id"\s*:\s*(\d+)\s*\}}\s*$"#),
        ]
        .map(|pattern| regex::Regex::new(&pattern).ok())
    });
    let number = |pattern: &Option<regex::Regex>, bytes: &[u8]| -> Option<RequestId> {
        let found = pattern.as_ref()?.captures(&String::from_utf8_lossy(bytes))?.get(1)?.as_str().parse().ok()?;
        Some(RequestId::Number(found))
    };
    let [first, last, last_behind] = &*PATTERNS;
    number(first, head).or_else(|| number(last, tail)).or_else(|| number(last_behind, tail))
}
