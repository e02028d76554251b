//! Owns the opening of a connection: the stateless protocol first, then the handshake.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::Transport;

use super::bounded::Bounded;
use super::changes::Changes;
use super::client::{Client, HANDSHAKE, STATELESS};
use super::live::Live;
#[cfg(not(unix))]
use super::elsewhere::{self as program, LastWords, Process};
#[cfg(unix)]
use super::process::Process;
#[cfg(unix)]
use super::program::{self, LastWords};
use super::server::{Ready, ServerAddress, unavailable};
use super::{events, web};
use crate::model::event::Fault;
use crate::tools::guard::Guard;

/// How long a server may take to start, or to list its tools: as long as one of its calls, within these bounds.
const LEAST: Duration = Duration::from_secs(3);
const MOST: Duration = Duration::from_secs(10);

/// How long what has to come before a call may take.
pub(super) fn patience(ready: &Ready) -> Duration {
    ready.timeout.clamp(LEAST, MOST)
}

/// Which protocol a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// Asks what the server knows; a server from before answers that it does not understand.
    Asking,
    /// The handshake at once, for servers that fall silent or end when they are asked.
    Handshake,
}

/// Why there is no connection.
struct OpenFailure {
    text: String,
    /// Another beginning may help.
    retry: bool,
}

impl OpenFailure {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry: false }
    }
}

/// Opens a connection.
///
/// # Errors
/// `mcp_unavailable` with the reason; nothing is left behind.
pub(super) async fn open(ready: &Ready, guard: &Guard) -> Result<Live, Fault> {
    let first = if matches!(ready.server_address, ServerAddress::Events(_)) { Beginning::Handshake } else { Beginning::Asking };
    let failure = match begin(ready, guard, first).await {
        Err(failure) if failure.retry && first == Beginning::Asking => begin(ready, guard, Beginning::Handshake).await,
        other => other,
    };
    failure.map_err(|failure| unavailable(&ready.slug, &ready.masked(failure.text)))
}

async fn begin(ready: &Ready, guard: &Guard, beginning: Beginning) -> Result<Live, OpenFailure> {
    let within = patience(ready);
    let late = || OpenFailure { text: format!("did not answer within {} ms", within.as_millis()), retry: true };
    tokio::time::timeout(within, connect(ready, guard, beginning)).await.unwrap_or_else(|_| Err(late()))
}

async fn connect(ready: &Ready, guard: &Guard, beginning: Beginning) -> Result<Live, OpenFailure> {
    let changes = Changes::default();
    match &ready.server_address {
        ServerAddress::Program(program) => {
            let (wire, process, words) = program::start(program, &ready.hidden).map_err(OpenFailure::plain)?;
            let started = Started(process, words);
            match greet(wire, ready, changes, beginning).await {
                Ok(service) => Ok(Live::new(service, Some((Arc::clone(&started.0), started.1.clone())), ready.clone()).await),
                Err(failure) => Err(started.blamed(failure).await),
            }
        }
        ServerAddress::Http(address) => {
            let transport = web::open(address, (&ready.elicitation, &changes), guard).map_err(OpenFailure::plain)?;
            Ok(Live::new(greet(transport, ready, changes, beginning).await?, None, ready.clone()).await)
        }
        ServerAddress::Events(address) => {
            let wire = events::open(address, guard, ready.timeout).await.map_err(OpenFailure::plain)?;
            Ok(Live::new(greet(wire, ready, changes, beginning).await?, None, ready.clone()).await)
        }
    }
}

/// A program that was started, with what it said of itself.
struct Started(Arc<Process>, LastWords);

impl Started {
    /// Its last output says more than our error.
    async fn blamed(&self, failure: OpenFailure) -> OpenFailure {
        self.0.kill();
        let words = self.1.to_the_end().await;
        if words.is_empty() { failure } else { OpenFailure { text: format!("{}; it said: {words}", failure.text), ..failure } }
    }
}

async fn greet<T>(transport: T, ready: &Ready, changes: Changes, beginning: Beginning) -> Result<RunningService<RoleClient, Client>, OpenFailure>
where
    T: Transport<RoleClient> + 'static,
{
    let mode = match beginning {
        Beginning::Asking => ClientLifecycleMode::Auto { preferred_versions: vec![STATELESS], legacy_version: Some(HANDSHAKE) },
        Beginning::Handshake => ClientLifecycleMode::Initialize,
    };
    Client::new(ready, changes).serve_with_lifecycle(Bounded::new(transport), mode).await.map_err(open_failure)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
fn open_failure(problem: ClientInitializeError) -> OpenFailure {
    match problem {
        ClientInitializeError::TransportError { error, .. } => OpenFailure::plain(web::describe_error(error.error.as_ref()).0),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => open_failure(*fallback),
        ClientInitializeError::ConnectionClosed(_) => OpenFailure { text: "ended while it was started".into(), retry: true },
        ClientInitializeError::JsonRpcError(error) => OpenFailure::plain(format!("refused the connection: {}", error.message)),
        // Servers that answer anything to what they do not know, or know other revisions only.
        other => OpenFailure { text: format!("does not speak the protocol: {other}"), retry: true },
    }
}
