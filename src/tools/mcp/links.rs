//! Owns the connections of this engine: one per server and its secrets, opened on first use, shared by all runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Notify;

use super::link::{Link, Use};
use super::live::ServerTool;
use super::open;
use super::server::{Ready, Server, unavailable};
use super::server_call::ServerCall;
use crate::config::Config;
use crate::host::HostDoor;
use crate::model::event::Fault;
use crate::providers::trust::Trust;
use crate::secrets::Secrets;
use crate::sync::Mutex;
use crate::tools::ToolReply;
use crate::tools::guard::Guard;

/// How long one that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(300);
/// How often it is looked for such.
const SWEEP: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct Links(Arc<Shared>);

struct Shared {
    config: Arc<Config>,
    secrets: Secrets,
    host: HostDoor,
    guard: Guard,
    links: Mutex<HashMap<String, Arc<Link>>>,
    /// Told when a connection is no longer used.
    freed: Arc<Notify>,
    closed: AtomicBool,
    sweeping: AtomicBool,
}

/// What a server said when it was tried.
pub(super) struct Tried {
    pub(super) version: String,
    pub(super) tools: Arc<[ServerTool]>,
}

impl Links {
    /// No connection yet.
    ///
    /// # Errors
    /// What is wrong with the configured addresses.
    pub(super) fn new(config: Arc<Config>, secrets: Secrets, host: HostDoor) -> Result<Self, Vec<String>> {
        let guard = Guard::new(("mcp", &["*".to_owned()]), ("mcp.allow_private", &config.mcp.allow_private))?;
        let guard = guard.trusting(Trust::of(&config).map_err(|problem| vec![problem])?);
        let (links, freed, closed, sweeping) = Default::default();
        Ok(Self(Arc::new(Shared { config, secrets, host, guard, links, freed, closed, sweeping })))
    }

    /// The configuration that says what may be started.
    pub(super) fn config(&self) -> &Config {
        &self.0.config
    }

    /// The tools of a server, with the names that it has for them.
    ///
    /// # Errors
    /// `mcp_unavailable`, `credential_missing`.
    pub(super) async fn tools(&self, server: &Server, tenant: &str) -> Result<Arc<[ServerTool]>, Fault> {
        self.link(server, tenant).await?.tools(&self.0.guard).await
    }

    pub(super) async fn call(&self, server: &Server, tenant: &str, call: &ServerCall) -> ToolReply {
        match self.link(server, tenant).await {
            Ok(link) => link.call(&self.0.guard, call).await,
            Err(fault) => ToolReply::undone(fault),
        }
    }

    /// Opens a connection of its own to a server, lists its tools and ends it again.
    ///
    /// # Errors
    /// `mcp_unavailable`, `credential_missing`.
    pub(super) async fn try_out(&self, server: &Server, tenant: &str) -> Result<Tried, Fault> {
        let ready = self.ready(server, tenant).await?;
        let live = open::open(&ready, &self.0.guard).await?;
        let tools = live.tools().await;
        let version = live.version().to_owned();
        live.close().await;
        let tools = tools.map_err(|text| unavailable(&ready.slug, &ready.masked(text)))?;
        Ok(Tried { version, tools })
    }

    async fn ready(&self, server: &Server, tenant: &str) -> Result<Ready, Fault> {
        server.ready(&self.0.config, &self.0.secrets, &self.0.host, tenant).await
    }

    /// The way to a server, used from now on. Where all places are taken it waits for one, as long as a call of the server may take.
    async fn link(&self, server: &Server, tenant: &str) -> Result<Use, Fault> {
        let ready = self.ready(server, tenant).await?;
        let until = tokio::time::Instant::now() + ready.timeout;
        loop {
            let freed = Arc::clone(&self.0.freed).notified_owned();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if let Some(link) = self.place(&ready)? {
                return Ok(link);
            }
            if tokio::time::timeout_at(until, freed).await.is_err() {
                let (most, waited) = (self.0.config.mcp.connections_per_tenant, ready.timeout.as_millis());
                let text = format!("was not called: no connection became free within {waited} ms (`mcp.connections`; at most {most} for each tenant)");
                return Err(unavailable(&ready.slug, &text));
            }
        }
    }

    /// The connection of a server, or a place for it; none while all places are taken by connections that are used.
    fn place(&self, ready: &Ready) -> Result<Option<Use>, Fault> {
        let mut links = self.0.links.lock();
        if self.0.closed.load(Ordering::Acquire) {
            return Err(unavailable(&ready.slug, "was not asked: the studio is shutting down"));
        }
        if let Some(link) = links.get(&ready.print) {
            return Ok(Some(link.enter()));
        }
        let limits = &self.0.config.mcp;
        let own = links.values().filter(|link| link.tenant() == &*ready.tenant).count() as u64;
        let crowded = own >= limits.connections_per_tenant;
        if crowded || links.len() as u64 >= limits.connections {
            // A tenant at its limit makes room among its own connections, so that it cannot push out those of others.
            let may_end = |link: &Arc<Link>| link.is_free() && (!crowded || link.tenant() == &*ready.tenant);
            let idle = links.iter().filter(|(_, link)| may_end(link)).min_by_key(|(_, link)| link.used());
            let Some(print) = idle.map(|(print, _)| print.clone()) else { return Ok(None) };
            if let Some(link) = links.remove(&print) {
                tokio::spawn(async move { link.close().await });
            }
        }
        let link = Arc::new(Link::new(ready.clone(), Arc::clone(&self.0.freed)));
        links.insert(ready.print.clone(), Arc::clone(&link));
        let used = link.enter();
        drop(links);
        self.sweep();
        Ok(Some(used))
    }

    /// Ends connections that nobody uses, as long as there are any.
    fn sweep(&self) {
        if self.0.sweeping.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                let Some(idle) = shared.upgrade().map(|shared| shared.idle(IDLE)) else { return };
                join_all(idle.iter().map(|link| link.close())).await;
                if Self::rests(&shared) {
                    return;
                }
            }
        });
    }

    fn rests(shared: &Weak<Shared>) -> bool {
        let Some(shared) = shared.upgrade() else { return true };
        let links = shared.links.lock();
        let none = links.is_empty();
        if none {
            shared.sweeping.store(false, Ordering::Release);
        }
        none
    }

    /// Ends all connections in good order, within a limit, and opens none any more.
    pub(super) async fn close(&self, limit: Duration) {
        self.0.closed.store(true, Ordering::Release);
        let links = self.0.take();
        let closing = join_all(links.iter().map(|link| link.close()));
        if tokio::time::timeout(limit, closing).await.is_err() {
            links.iter().for_each(|link| link.kill());
        }
    }

    /// Ends all connections at once.
    pub(super) fn kill(&self) {
        self.0.closed.store(true, Ordering::Release);
        self.0.take().iter().for_each(|link| link.kill());
    }
}

impl Shared {
    fn take(&self) -> Vec<Arc<Link>> {
        self.links.lock().drain().map(|(_, link)| link).collect()
    }

    fn idle(&self, limit: Duration) -> Vec<Arc<Link>> {
        let old = |link: &Arc<Link>| link.is_free() && Instant::now().duration_since(link.used()) >= limit;
        self.links.lock().extract_if(|_, link| old(link)).map(|(_, link)| link).collect()
    }
}
