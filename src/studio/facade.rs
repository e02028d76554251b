//! Owns the studio: its options, its runtime, its close.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::sync::Mutex;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::codegen::registered;
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::engine::{AppendHook, Parts, World};
use crate::error::{Error, Kind, Result};
use crate::host::{Host, HostDeclaration, HostDoor};
use crate::knowledge::Knowledge;
use crate::model::texts::Locale;
use crate::observe::Observer;
use crate::providers::http_client::Outbound;
use crate::providers::trust::Trust;
use crate::providers::registry::Providers;
use crate::secrets::Secrets;
use crate::store::{Store, StoreSettings};
use crate::studio::definitions::sources::Sources;
use crate::studio::prices::prices;
use crate::studio::stream_limit::OpenStreams;
use crate::tools::Toolbox;
use crate::tools::mcp::McpServers;

/// Who asks: the tenant that scopes every row, and the user as the host knows it.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Opaque; `""` where the host has no tenants.
    pub tenant: Arc<str>,
    /// Opaque but for its `id`.
    pub user: Option<Value>,
}

/// The studio: one method per capability. Cloning it is cheap; all clones are one studio.
#[derive(Clone)]
pub struct Studio(Arc<Inner>, Locale);

struct Inner {
    world: Arc<World>,
    runtime: Mutex<Option<tokio::runtime::Runtime>>,
    handle: OnceLock<tokio::runtime::Handle>,
    streams: OpenStreams,
    sources: Sources,
    mcp: Arc<McpServers>,
    /// What the classes are that the host registered.
    registered: Mutex<registered::Kept>,
}

/// The message for a panic.
const FAULT: &str = "a fault in the studio stopped this request";

impl Drop for Inner {
    fn drop(&mut self) {
        self.world.stopping.cancel();
        self.world.hurry.cancel();
        self.mcp.kill();
        self.world.abandon();
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
    }
}

/// What a studio can be opened with beside its configuration.
#[derive(Default)]
pub struct Options {
    /// Time, ids and randomness; the system's when absent.
    pub clock: Option<Arc<dyn Clock>>,
    /// Called at the border of each write of a run's log: crash tests kill the process there.
    pub on_append: Option<AppendHook>,
}

impl Studio {
    /// Opens a studio. Nothing is started or connected before its first use: until then it takes no run from the queue and none over
    /// from an owner that is gone. [`Studio::start_workers`] is a first use that does nothing else.
    ///
    /// # Errors
    /// When the configuration cannot work; all problems are named.
    pub fn open(config: Config) -> Result<Self> {
        Self::open_with(config, Options::default())
    }

    /// Opens a studio with a clock or a hook of its own.
    ///
    /// # Errors
    /// When the configuration cannot work; all problems are named.
    pub fn open_with(config: Config, options: Options) -> Result<Self> {
        let config = Arc::new(config);
        let host = HostDoor::default();
        let clock = options.clock.unwrap_or_else(|| Arc::new(SystemClock::default()));
        let trust = Trust::of(&config).map_err(|problem| Error::fields([("tls.ca_file".to_owned(), problem)]))?;
        let outbound = Arc::new(Outbound::new(Arc::clone(&clock), trust));
        let providers = Providers::new(&config, outbound, host.clone())
            .map_err(|problems| Error::fields(problems.into_iter().map(|problem| ("providers".to_owned(), problem))))?;
        let mcp = McpServers::new(Arc::clone(&config), Secrets::new(Arc::clone(&config), host.clone()), host.clone())
            .map_err(|problems| Error::fields(problems.into_iter().map(|problem| ("mcp.allow_private".to_owned(), problem))))?;
        let mcp = Arc::new(mcp);
        let prices = prices(&config)?;
        let tools = Toolbox::of(&config, &clock, &host, Arc::<McpServers>::clone(&mcp))
            .map_err(|problems| Error::fields(problems.into_iter().map(|problem| ("webhook".to_owned(), problem))))?;
        let (store, providers, prices) = (Store::open(StoreSettings::of(&config)?), Arc::new(providers), Arc::new(prices));
        let knowledge = Knowledge::new(Arc::clone(&config), Arc::clone(&clock), store.clone(), Arc::clone(&providers), Arc::clone(&prices));
        let knowledge = Arc::new(knowledge);
        tools.search().set(Arc::<Knowledge>::clone(&knowledge));
        let observer = Arc::new(Observer::new(&config, &Secrets::new(Arc::clone(&config), host.clone())));
        let world = World::new(Parts {
            store,
            knowledge,
            tools,
            clock,
            providers,
            prices,
            observer,
            hook: options.on_append,
            host,
            config,
        });
        let locale = Locale::named(&world.config.locale).unwrap_or_default();
        let inner = Inner {
            world: Arc::new(world),
            runtime: Mutex::new(None),
            handle: OnceLock::new(),
            streams: OpenStreams::default(),
            sources: Sources::default(),
            mcp,
            registered: Mutex::default(),
        };
        Ok(Self(Arc::new(inner), locale))
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.0.world.config
    }

    /// The same studio for one who reads another language than the configuration's.
    #[must_use]
    pub fn speaking(&self, locale: Locale) -> Self {
        Self(Arc::clone(&self.0), locale)
    }

    pub(super) const fn locale(&self) -> Locale {
        self.1
    }

    /// The dependencies of the engine.
    pub fn world(&self) -> &Arc<World> {
        &self.0.world
    }

    /// Lets the embedding application answer tools, the gate, secrets and more; calling it again replaces.
    pub fn set_host(&self, host: Arc<dyn Host>, declaration: HostDeclaration) {
        self.0.world.host.set(host, declaration);
    }

    pub(super) fn mcp(&self) -> &Arc<McpServers> {
        &self.0.mcp
    }

    /// The classes that the host registered, read once for each declaration.
    pub(super) fn registered(&self, declaration: &Arc<HostDeclaration>, read: impl FnOnce() -> Vec<registered::Registered>) -> Arc<Vec<registered::Registered>> {
        if let Some((of, kept)) = &*self.0.registered.lock()
            && Arc::ptr_eq(of, declaration)
        {
            return Arc::clone(kept);
        }
        let read = Arc::new(read());
        *self.0.registered.lock() = Some((Arc::clone(declaration), Arc::clone(&read)));
        read
    }

    pub(super) fn sources(&self) -> &Sources {
        &self.0.sources
    }

    /// The runtime that runs are driven on; started with its first use.
    ///
    /// # Errors
    /// When the studio shuts down, or the system gives no threads.
    pub fn runtime(&self) -> Result<tokio::runtime::Handle> {
        if let Some(handle) = self.0.handle.get() {
            return Ok(handle.clone());
        }
        let mut slot = self.0.runtime.lock();
        if let Some(handle) = self.0.handle.get() {
            return Ok(handle.clone());
        }
        if self.0.world.stopping.is_cancelled() {
            return Err(Error::new(Kind::ShuttingDown, "the studio is shutting down; nothing was done"));
        }
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(1, 4);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("studio")
            .enable_all()
            .build()
            .map_err(|error| Error::internal("the operating system started no threads for the studio").caused_by(error))?;
        let handle = runtime.handle().clone();
        let _entered = handle.enter();
        self.0.world.keep();
        *slot = Some(runtime);
        Ok(self.0.handle.get_or_init(|| handle.clone()).clone())
    }

    /// Starts what the first use starts: where `worker.in_process` is on, queued runs and those whose owners are gone are taken from now
    /// on. For a process that is only a worker, and for one that goes on with its predecessor's runs before anybody asks it for anything.
    ///
    /// # Errors
    /// When the studio shuts down, or the system gives no threads.
    pub fn start_workers(&self) -> Result<()> {
        self.runtime().map(drop)
    }

    /// Runs a piece of work on the studio's own runtime, whatever executor the caller is on.
    pub(crate) async fn on_runtime<T: Send + 'static>(&self, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        match self.runtime()?.spawn(work).await {
            Ok(result) => result,
            Err(gone) if gone.is_cancelled() => Err(Error::new(Kind::ShuttingDown, "the studio is shutting down")),
            Err(panic) => Err(Error::internal(FAULT).caused_by(panic)),
        }
    }

    /// Begins a piece of work on the caller's own thread; if it has to wait, it goes on on the studio's runtime. For work that does
    /// little before it waits: whoever need not be woken is served sooner.
    pub(super) async fn here_first<T: Send + 'static>(&self, mut work: BoxFuture<'static, Result<T>>) -> Result<T> {
        let runtime = self.runtime()?;
        let begun = {
            let _entered = runtime.enter();
            let begin = || work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            std::panic::catch_unwind(AssertUnwindSafe(begin))
        };
        match begun {
            Ok(Poll::Ready(result)) => result,
            Ok(Poll::Pending) => self.on_runtime(work).await,
            Err(_) => Err(Error::internal(FAULT)),
        }
    }

    pub(super) fn open_streams(&self) -> &OpenStreams {
        &self.0.streams
    }

    /// Ends the studio: runs at work stop after their step and are left to be taken over at once. A step that takes too long for
    /// the time that is given is dropped.
    pub async fn shutdown(&self, timeout: Duration) {
        let world = Arc::clone(self.world());
        world.stopping.cancel();
        let until = Instant::now() + timeout;
        if let Some(handle) = self.0.handle.get() {
            let (stop, mcp, observer) = (stop(Arc::clone(&world), timeout), Arc::clone(&self.0.mcp), Arc::clone(&world.observer));
            let world = Arc::clone(&world);
            let stop = async move {
                stop.await;
                let _a_call_that_is_never_looked_at = tokio::time::timeout(SHUTDOWN_NOTICE, world.host.shut()).await;
                tokio::join!(mcp.close(timeout / 8), observer.close(timeout / 8));
            };
            let _ended = handle.spawn(stop).await;
        }
        world.hurry.cancel();
        world.abandon();
        // What was accepted is on disk before the process may exit.
        world.store.close(until.saturating_duration_since(Instant::now()).max(SHUTDOWN_NOTICE)).await;
    }

    /// Takes over runs whose owner is gone, here and now instead of at the next look, as far as there is room for them
    /// (`worker.concurrency`). How many.
    ///
    /// # Errors
    /// When the store cannot be used, or the studio shuts down.
    pub async fn take_over(&self) -> Result<usize> {
        let world = Arc::clone(self.world());
        self.on_runtime(async move { world.take_over().await }).await
    }

    /// Ends the runtime's threads; for callers that are on none of them.
    pub fn stop_runtime(&self, timeout: Duration) {
        let runtime = self.0.runtime.lock().take();
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(timeout);
        }
    }
}

/// How long an answer that the host was thanked for may take to reach its call when the engine ends.
const SHUTDOWN_NOTICE: Duration = Duration::from_millis(500);

/// Lets runs finish their steps, and documents the vectors under way, for most of the time; then cuts them.
async fn stop(world: Arc<World>, timeout: Duration) {
    let done = async {
        while world.is_busy() || world.knowledge.is_busy() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::pin!(done);
    if tokio::time::timeout(timeout * 3 / 4, &mut done).await.is_err() {
        world.hurry.cancel();
        let _given_up_otherwise = tokio::time::timeout(timeout / 8, done).await;
    }
}
