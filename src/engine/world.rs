//! Owns the dependencies of the engine: configuration, clock, store, providers, tools, host, and the active runs.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::sync::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::drive::Signals;
use super::feed::Hub;
use crate::clock::Clock;
use crate::config::{Config, Durability};
use crate::engine::drive::context::store_fault;
use crate::engine::feed::remote::RemoteRuns;
use crate::engine::leases::Room;
use crate::engine::log::journal::{Boundary, Journal};
use crate::host::HostDoor;
use crate::knowledge::Knowledge;
use crate::model::agent::Definitions;
use crate::model::event::{Fault, FaultCode, PartHash, Seq};
use crate::model::graph::Graph;
use crate::model::plan::Plan;
use crate::model::prices::PriceTable;
use crate::model::redaction::{Masks, Redaction};
use crate::model::telling::Wire;
use crate::model::texts::{self, Locale};
use crate::model::{Id, Timestamp};
use crate::observe::Observer;
use crate::providers::registry::Providers;
use crate::store::files::attachments::AttachmentRow;
use crate::store::files::attachments;
use crate::store::files::folder::FileRoom;
use crate::store::{Notification, Store};
use crate::tools::Toolbox;

const NO_RUNTIME: &str = "there is no runtime to work on; open the studio before using it";

/// Called at the border of each write of a run's log: crash tests kill the process there.
pub type AppendHook = Arc<dyn Fn(Boundary, Id, Seq) + Send + Sync>;

/// The dependencies of the engine.
pub struct World {
    /// The configuration.
    pub config: Arc<Config>,
    /// Time, ids, randomness.
    pub clock: Arc<dyn Clock>,
    /// The database.
    pub store: Store,
    /// Model providers.
    pub providers: Arc<Providers>,
    /// Knowledge bases.
    pub knowledge: Arc<Knowledge>,
    /// The embedding application.
    pub host: HostDoor,
    /// What tokens cost.
    pub prices: Arc<PriceTable>,
    /// The receivers of spans and metrics.
    pub observer: Arc<Observer>,
    /// Key names whose values are masked.
    redaction: Option<Arc<Redaction>>,
    /// Tools by reference.
    pub tools: Toolbox,
    /// The configured language.
    pub locale: Locale,
    /// Feeds of the runs that are driven here.
    pub hub: Hub,
    /// The name under which this engine holds leases, from its first use on: an engine may be opened before a fork.
    owner: OnceLock<Arc<str>>,
    /// The engine shuts down: nothing new begins.
    pub stopping: CancellationToken,
    /// The shutdown time is nearly over: active work is dropped.
    pub(crate) hurry: CancellationToken,
    /// Runs were given back: until then their leases are kept, also while cut calls are waited for.
    pub(super) gone: CancellationToken,
    /// There may be a job in the queue.
    pub(super) wake: watch::Sender<()>,
    /// Readers of runs that are driven elsewhere.
    pub(super) remote: RemoteRuns,
    /// A run was driven to its end or to a pause here.
    pub ended: Notify,
    /// The folder of uploaded files; none if they are in the database.
    pub files: Option<FileRoom>,
    pub(super) active: Mutex<HashMap<Id, Active>>,
    pub(super) hook: Option<AppendHook>,
    pub(super) runtime: OnceLock<tokio::runtime::Handle>,
    /// Queued runs that are driven here.
    pub(super) queued: AtomicUsize,
    /// How many times runs are being claimed here.
    pub(super) taking: AtomicUsize,
    /// Runs that were claimed here and are not driven yet, with their fences.
    pub(super) claimed: Mutex<HashSet<(Id, i64)>>,
    /// The slots for runs that this engine claims.
    pub(super) room: Room,
    plans: Kept<Plan>,
    pinned: Kept<Definitions>,
}

/// A run that is driven here.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) signals: Signals,
    pub(super) definitions: Arc<Definitions>,
    pub(super) journal: Arc<Journal>,
    /// Cancelled when driving has ended.
    pub(super) over: CancellationToken,
}

/// The parts of a `World`.
#[expect(missing_docs, reason = "the fields are those of `World`")]
pub struct Parts {
    pub config: Arc<Config>,
    pub clock: Arc<dyn Clock>,
    pub store: Store,
    pub providers: Arc<Providers>,
    pub knowledge: Arc<Knowledge>,
    pub host: HostDoor,
    pub prices: Arc<PriceTable>,
    pub observer: Arc<Observer>,
    pub tools: Toolbox,
    pub hook: Option<AppendHook>,
}

/// Bytes at the beginning of an image that contain its size.
const HEAD: u64 = 256 * 1024;
/// Plans, and definitions, that are kept ready.
const READY: usize = 256;

/// What was made of stored texts, by their hash.
struct Kept<T>(Mutex<HashMap<PartHash, Arc<T>>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<T> Kept<T> {
    fn find(&self, hash: &PartHash) -> Option<Arc<T>> {
        self.0.lock().get(hash).cloned()
    }

    fn keep(&self, hash: &PartHash, made: T) -> Arc<T> {
        let made = Arc::new(made);
        let mut all = self.0.lock();
        if all.len() >= READY {
            all.clear();
        }
        all.insert(Arc::clone(hash), Arc::clone(&made));
        made
    }
}

impl World {
    /// Creates it from its parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let files = parts.config.attachments_folder().map(FileRoom::new);
        let locale = Locale::named(&parts.config.locale).unwrap_or(Locale::En);
        let redaction = Redaction::new(&parts.config.observability.redact);
        let room = Room::new(usize::try_from(parts.config.worker.concurrency).unwrap_or(usize::MAX), None);
        Self {
            config: parts.config,
            clock: parts.clock,
            store: parts.store,
            providers: parts.providers,
            knowledge: parts.knowledge,
            host: parts.host,
            prices: parts.prices,
            observer: parts.observer,
            redaction,
            tools: parts.tools,
            locale,
            hub: Hub::default(),
            owner: OnceLock::new(),
            stopping: CancellationToken::new(),
            hurry: CancellationToken::new(),
            gone: CancellationToken::new(),
            runtime: OnceLock::new(),
            wake: watch::Sender::default(),
            remote: RemoteRuns::default(),
            ended: Notify::new(),
            files,
            active: Mutex::new(HashMap::new()),
            hook: parts.hook,
            queued: AtomicUsize::new(0),
            taking: AtomicUsize::new(0),
            claimed: Mutex::default(),
            room,
            plans: Kept::default(),
            pinned: Kept::default(),
        }
    }

    pub(super) fn boundary(&self, boundary: Boundary, run: Id, head: Seq) {
        if let Some(hook) = &self.hook {
            hook(boundary, run, head);
        }
    }

    /// Starts a task on the studio's runtime, whatever thread this is.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match self.handle() {
            Some(runtime) => drop(runtime.spawn(task)),
            None => tracing::error!("{NO_RUNTIME}"),
        }
    }

    fn handle(&self) -> Option<tokio::runtime::Handle> {
        self.runtime.get().cloned().or_else(|| tokio::runtime::Handle::try_current().ok())
    }

    /// There is a job in the queue: the workers of all processes look.
    pub(super) fn wake_workers(&self) {
        self.wake.send_replace(());
        self.store.tell(Notification::Jobs);
    }

    /// Subscribes to the notifications of other processes on the database.
    pub(super) fn listen(self: &Arc<Self>) {
        let world = Arc::downgrade(self);
        self.store.listen(Arc::new(move |notification| {
            let Some(world) = world.upgrade() else { return };
            match notification {
                Notification::Jobs => world.wake.send_replace(()),
                Notification::Run(run) => world.remote.moved(run),
                Notification::Anything => {
                    world.wake.send_replace(());
                    world.remote.all_moved();
                }
            }
        }));
    }

    /// Sleeps on the studio's runtime, whatever executor this is; false when the studio ends meanwhile.
    pub(super) async fn nap(&self, time: Duration) -> bool {
        if self.stopping.is_cancelled() {
            return false;
        }
        let asleep = self.runtime.get().map(|runtime| {
            let _entered = runtime.enter();
            tokio::time::sleep(time)
        });
        let Some(asleep) = asleep else { return false };
        tokio::select! {
            biased;
            () = self.stopping.cancelled() => false,
            () = asleep => true,
        }
    }

    /// The name under which this engine holds leases.
    pub fn owner(&self) -> &Arc<str> {
        self.owner.get_or_init(|| crate::engine::leases::owner::name(self.clock.id()))
    }

    /// The clock of leases and waiting jobs: that of the database if hosts share a server.
    pub(super) fn common_time(&self) -> Timestamp {
        self.store.time(self.clock.now())
    }

    /// Every step is durable before the next begins.
    pub fn step_durable(&self) -> bool {
        self.config.database.durability == Durability::Step
    }

    /// Runs are not stored.
    pub fn keeps_nothing(&self) -> bool {
        self.config.database.durability == Durability::None
    }

    /// The plan of a graph, made once.
    ///
    /// # Errors
    /// When the stored graph cannot be read.
    pub fn plan(&self, hash: &PartHash, graph: &str) -> Result<Arc<Plan>, String> {
        if let Some(plan) = self.known_plan(hash) {
            return Ok(plan);
        }
        let json = serde_json::from_str(graph).map_err(|error| error.to_string())?;
        let graph = Graph::parse(&json).map_err(|issues| issues.first().map(|issue| issue.message.clone()).unwrap_or_default())?;
        Ok(self.plans.keep(hash, Plan::new(Arc::new(graph))))
    }

    /// The plan of a graph that is kept ready.
    pub(super) fn known_plan(&self, hash: &PartHash) -> Option<Arc<Plan>> {
        self.plans.find(hash)
    }

    /// The definitions of a run, made once of their text.
    pub(super) fn definitions(&self, hash: &PartHash, text: &str) -> Result<Arc<Definitions>, String> {
        let definitions = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(self.pinned.keep(hash, definitions))
    }

    /// The definitions of a hash that are kept ready.
    pub(super) fn known_definitions(&self, hash: &PartHash) -> Option<Arc<Definitions>> {
        self.pinned.find(hash)
    }

    /// Masks for one run, when something is to be masked.
    pub fn masks(&self) -> Option<Masks> {
        self.redaction.clone().map(Masks::new)
    }

    /// A text in the configured language.
    pub fn text(&self, key: &str) -> String {
        texts::text(self.locale, key, &[])
    }

    /// How much of a tool's answer a model sees.
    pub(super) fn result_bytes(&self) -> usize {
        usize::try_from(self.config.limits.tool_result_kb).unwrap_or(256) * 1024
    }

    /// How many runs are driven here.
    pub fn at_work(&self) -> usize {
        self.active.lock().len()
    }

    /// Runs are driven here, or being claimed.
    pub(crate) fn is_busy(&self) -> bool {
        self.taking.load(Ordering::SeqCst) > 0 || self.at_work() > 0
    }

    /// An uploaded file that this user may read, with its bytes; none when it is gone.
    ///
    /// # Errors
    /// When the store or the file cannot be read.
    pub async fn file(&self, tenant: &str, user: Option<String>, key: &str) -> Result<Option<(AttachmentRow, Vec<u8>)>, Fault> {
        let (tenant, key) = (tenant.to_owned(), key.to_owned());
        let (owner, named) = (tenant.clone(), key.clone());
        let found = self.store.read(move |tx| {
            let row = attachments::get(tx, &tenant, &key)?.filter(|row| row.readable(user.as_deref()));
            let Some(row) = row else { return Ok(None) };
            Ok(Some((row, attachments::content(tx, &tenant, &key)?)))
        });
        let Some((row, kept)) = found.await.map_err(|error| store_fault(&error))? else { return Ok(None) };
        let bytes = match kept {
            Some(kept) => Some(kept),
            None => lying(self.at_files(move |room| room.get(&owner, &named)).await)?,
        };
        Ok(bytes.map(|bytes| (row, bytes)))
    }

    /// The beginning of an uploaded file; none when it is gone.
    ///
    /// # Errors
    /// When the store or the file cannot be read.
    pub async fn file_head(&self, tenant: &str, key: &str) -> Result<Option<Vec<u8>>, Fault> {
        let (tenant, key) = (tenant.to_owned(), key.to_owned());
        let (owner, named) = (tenant.clone(), key.clone());
        let kept = self.store.read(move |tx| attachments::part(tx, &tenant, &key, 0, HEAD)).await;
        match kept.map_err(|error| store_fault(&error))? {
            Some(kept) => Ok(Some(kept)),
            None => lying(self.at_files(move |room| room.part(&owner, &named, 0, HEAD)).await),
        }
    }

    /// Works in the folder of files, on a thread for that. Where the database keeps them nothing is found.
    pub async fn at_files<T: Send + 'static>(&self, work: impl FnOnce(&FileRoom) -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let room = self.files.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let runtime = self.handle().ok_or_else(|| io::Error::other(NO_RUNTIME))?;
        room.work(&runtime, work).await
    }

    /// How frames look.
    pub fn wire(&self) -> Wire {
        let kb = usize::try_from(self.config.limits.event_value_kb).unwrap_or(64);
        Wire { value_bytes: kb * 1024, currency: self.config.usage.currency.as_str().into() }
    }

    /// The pinned definitions of a run that is driven here.
    pub(super) fn pinned(&self, run: Id) -> Option<Arc<Definitions>> {
        self.active.lock().get(&run).map(|active| Arc::clone(&active.definitions))
    }

    /// Runs that are driven here and were not queued.
    pub fn sync_runs(&self) -> usize {
        self.at_work().saturating_sub(self.queued.load(Ordering::Relaxed))
    }
}

/// What lies in the folder of files: nothing when it was removed. What cannot be read now may be there later.
fn lying(read: io::Result<Vec<u8>>) -> Result<Option<Vec<u8>>, Fault> {
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let text = format!("the file could not be read: {error}; check the folder of `attachments.path` and its disk");
            Err(Fault::new(FaultCode::StoreUnavailable, text))
        }
    }
}
