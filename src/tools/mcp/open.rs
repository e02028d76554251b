//! Owns the opening of a connection: the stateless protocol first, then the handshake.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::Transport;

use super::bounded::Bounded;
use super::client::{Client, HANDSHAKE, STATELESS};
use super::live::Live;
#[cfg(not(unix))]
use super::elsewhere::{self as program, LastWords, Process};
#[cfg(unix)]
use super::process::Process;
#[cfg(unix)]
use super::program::{self, LastWords};
use super::server::{Ready, Way, unavailable};
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
struct Trouble {
    text: String,
    /// Another beginning may help.
    retry: bool,
}

impl Trouble {
    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry: false }
    }
}

/// Opens a connection.
///
/// # Errors
/// `mcp_unavailable` with the reason; nothing is left behind.
pub(super) async fn open(ready: &Ready, guard: &Guard) -> Result<Live, Fault> {
    let first = if matches!(ready.way, Way::Events(_)) { Beginning::Handshake } else { Beginning::Asking };
    let trouble = match begin(ready, guard, first).await {
        Err(trouble) if trouble.retry && first == Beginning::Asking => begin(ready, guard, Beginning::Handshake).await,
        other => other,
    };
    trouble.map_err(|trouble| unavailable(&ready.slug, &ready.masked(trouble.text)))
}

async fn begin(ready: &Ready, guard: &Guard, beginning: Beginning) -> Result<Live, Trouble> {
    let within = patience(ready);
    let late = || Trouble { text: format!("did not answer within {} ms", within.as_millis()), retry: true };
    tokio::time::timeout(within, connect(ready, guard, beginning)).await.unwrap_or_else(|_| Err(late()))
}

async fn connect(ready: &Ready, guard: &Guard, beginning: Beginning) -> Result<Live, Trouble> {
    match &ready.way {
        Way::Program(program) => {
            let (wire, process, words) = program::start(program, &ready.hidden).map_err(Trouble::plain)?;
            let started = Started(process, words);
            match greet(wire, ready, beginning).await {
                Ok(service) => Ok(Live::new(service, Some((Arc::clone(&started.0), started.1.clone())), ready.clone()).await),
                Err(trouble) => Err(started.blamed(trouble).await),
            }
        }
        Way::Http(address) => {
            let transport = web::open(address, &ready.elicitation, guard).map_err(Trouble::plain)?;
            Ok(Live::new(greet(transport, ready, beginning).await?, None, ready.clone()).await)
        }
        Way::Events(address) => {
            let wire = events::open(address, guard, ready.timeout).await.map_err(Trouble::plain)?;
            Ok(Live::new(greet(wire, ready, beginning).await?, None, ready.clone()).await)
        }
    }
}

/// A program that was started, with what it said of itself.
struct Started(Arc<Process>, LastWords);

impl Started {
    /// Its last output says more than our error.
    async fn blamed(&self, trouble: Trouble) -> Trouble {
        self.0.kill();
        let words = self.1.to_the_end().await;
        if words.is_empty() { trouble } else { Trouble { text: format!("{}; it said: {words}", trouble.text), ..trouble } }
    }
}

async fn greet<T>(transport: T, ready: &Ready, beginning: Beginning) -> Result<RunningService<RoleClient, Client>, Trouble>
where
    T: Transport<RoleClient> + 'static,
{
    let mode = match beginning {
        Beginning::Asking => ClientLifecycleMode::Auto { preferred_versions: vec![STATELESS], legacy_version: Some(HANDSHAKE) },
        Beginning::Handshake => ClientLifecycleMode::Initialize,
    };
    Client::new(ready).serve_with_lifecycle(Bounded::new(transport), mode).await.map_err(trouble)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
fn trouble(problem: ClientInitializeError) -> Trouble {
    match problem {
        ClientInitializeError::TransportError { error, .. } => Trouble::plain(web::told(error.error.as_ref()).0),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => trouble(*fallback),
        ClientInitializeError::ConnectionClosed(_) => Trouble { text: "ended while it was started".into(), retry: true },
        ClientInitializeError::JsonRpcError(error) => Trouble::plain(format!("refused the connection: {}", error.message)),
        // Servers that answer anything to what they do not know, or know other revisions only.
        other => Trouble { text: format!("does not speak the protocol: {other}"), retry: true },
    }
}
