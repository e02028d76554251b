//! Owns connections between calls: how they are made, kept while nobody uses them, and let go of.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::uri::Authority;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::runtime::{self, Handle};

use crate::providers::outbound::CONNECT;
use crate::sync::Mutex;

/// A connection that nobody used for so long is closed.
pub(super) const KEPT: Duration = Duration::from_secs(90);
/// The next address of a server is tried beside one that is silent for so long.
const BESIDE: Duration = Duration::from_millis(300);
/// While a model thinks, the other machine is asked so often whether it is still there,
const ASKED: Duration = Duration::from_secs(15);
/// and must have answered within so long.
#[cfg(target_os = "linux")]
const ANSWERED: Duration = Duration::from_secs(30);

/// Who may use a connection again: calls to the same server from the same runtime, which alone tells when it can be read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    authority: Authority,
    runtime: runtime::Id,
}

impl Place {
    pub(super) fn of(authority: &Authority) -> Self {
        Self { authority: authority.clone(), runtime: Handle::current().id() }
    }
}

/// A connection that nobody uses, and since when.
struct Idle(TcpStream, Instant);

impl Idle {
    /// It was used lately, and its server neither closed it nor sent what nobody asked for.
    fn is_good(&self, unused: Duration) -> bool {
        self.1.elapsed() < unused && self.0.try_read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// Connections that nobody uses, the longest unused ones first. Each runtime with a place here has one task that closes them, at the
/// latest when the runtime ends.
#[derive(Default)]
pub(super) struct Pool(Mutex<HashMap<Place, Vec<Idle>>>);

impl Pool {
    /// The connection that was used last.
    pub(super) fn take(&self, place: &Place) -> Option<TcpStream> {
        loop {
            let last = self.0.lock().get_mut(place)?.pop()?;
            if last.is_good(KEPT) {
                return Some(last.0);
            }
        }
    }

    /// Keeps a connection for the next call.
    pub(super) fn keep(self: &Arc<Self>, place: Place, stream: TcpStream) {
        let id = place.runtime;
        let Some(runtime) = Handle::try_current().ok().filter(|here| here.id() == id) else { return };
        let mut kept = self.0.lock();
        let first = kept.keys().all(|other| other.runtime != id);
        kept.entry(place).or_default().push(Idle(stream, Instant::now()));
        drop(kept);
        if first {
            runtime.spawn(close_unused(Caretaker { pool: Arc::downgrade(self), runtime: id }));
        }
    }

    /// Closes what was not used for so long, or is good for nothing; false when nothing of a runtime is left. What is looked at is not here
    /// meanwhile.
    pub(super) fn close_unused(&self, runtime: runtime::Id, unused: Duration) -> bool {
        let taken = |(place, idle): (&Place, &mut Vec<Idle>)| (place.runtime == runtime).then(|| (place.clone(), std::mem::take(idle)));
        let mut looked_at: Vec<_> = self.0.lock().iter_mut().filter_map(taken).collect();
        looked_at.iter_mut().for_each(|(_, idle)| idle.retain(|one| one.is_good(unused)));
        let mut kept = self.0.lock();
        for (place, mut idle) in looked_at {
            let now = kept.entry(place).or_default();
            idle.append(now);
            *now = idle;
        }
        kept.retain(|place, idle| place.runtime != runtime || !idle.is_empty());
        kept.keys().any(|place| place.runtime == runtime)
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.lock().values().map(Vec::len).sum()
    }
}

/// Who closes a runtime's connections.
struct Caretaker {
    pool: Weak<Pool>,
    runtime: runtime::Id,
}

impl Drop for Caretaker {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            let mine = |place: &Place, _: &mut Vec<Idle>| place.runtime == self.runtime;
            let closed: Vec<_> = pool.0.lock().extract_if(mine).collect();
            drop(closed);
        }
    }
}

async fn close_unused(of: Caretaker) {
    loop {
        tokio::time::sleep(KEPT / 2).await;
        let Some(true) = of.pool.upgrade().map(|pool| pool.close_unused(of.runtime, KEPT)) else { return };
    }
}

/// Connects to one of a server's addresses.
pub(super) async fn connect(authority: &Authority) -> io::Result<TcpStream> {
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let connecting = async { first_of(tokio::net::lookup_host((host, authority.port_u16().unwrap_or(80))).await?).await };
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, format!("no connection was made within {} s", CONNECT.as_secs()));
    let stream = tokio::time::timeout(CONNECT, connecting).await.map_err(late)??;
    // Where the system cannot do these, calls go on without them.
    let _late = stream.set_nodelay(true);
    let socket = SockRef::from(&stream);
    let _unasked = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(ASKED).with_interval(ASKED));
    #[cfg(target_os = "linux")]
    let _patient = socket.set_tcp_user_timeout(Some(ANSWERED));
    Ok(stream)
}

/// The first address that answers; a silent one does not stand in the way of the next.
pub(super) async fn first_of(mut addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let (mut trying, mut failed) = (FuturesUnordered::new(), None);
    loop {
        let more = addresses.next().map(|address| trying.push(TcpStream::connect(address))).is_some();
        let next = trying.next();
        let answer = if more { tokio::time::timeout(BESIDE, next).await.ok() } else { Some(next.await) };
        match answer {
            Some(Some(Ok(stream))) => return Ok(stream),
            Some(Some(Err(problem))) => failed = failed.or(Some(problem)),
            Some(None) => return Err(failed.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into())),
            None => {}
        }
    }
}
