//! Owns what the engine works with: configuration, clock, store, providers, tools, host, and the runs at work here.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::drive::Signals;
use super::feed::Hub;
use super::journal::Boundary;
use crate::clock::Clock;
use crate::config::{Config, Durability};
use crate::host::HostDoor;
use crate::model::Id;
use crate::model::agent::Definitions;
use crate::model::event::{PartHash, Seq};
use crate::model::graph::Graph;
use crate::model::plan::Plan;
use crate::model::prices::PriceTable;
use crate::model::telling::Wire;
use crate::model::texts::Texts;
use crate::providers::Providers;
use crate::store::Store;
use crate::tools::Toolbox;

/// Called at the border of each write of a run's log: crash tests kill the process there.
pub type AppendHook = Arc<dyn Fn(Boundary, Id, Seq) + Send + Sync>;

/// What the engine works with.
pub struct World {
    /// The configuration.
    pub config: Arc<Config>,
    /// Time, ids, randomness.
    pub clock: Arc<dyn Clock>,
    /// The database.
    pub store: Store,
    /// Model providers.
    pub providers: Providers,
    /// The embedding application.
    pub host: Arc<HostDoor>,
    /// What tokens cost.
    pub prices: Arc<PriceTable>,
    /// Tools by reference.
    pub tools: Toolbox,
    /// Texts in the configured language.
    pub texts: Texts,
    /// Feeds of the runs that are driven here.
    pub hub: Hub,
    /// The name under which this engine holds leases.
    pub owner: Arc<str>,
    /// The engine shuts down.
    pub stopping: CancellationToken,
    /// There may be a job in the queue.
    pub wake: Notify,
    pub(super) active: Mutex<HashMap<Id, Active>>,
    pub(super) hook: Option<AppendHook>,
    plans: Mutex<HashMap<PartHash, Arc<Plan>>>,
}

/// A run that is driven here.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) signals: Signals,
    pub(super) definitions: Arc<Definitions>,
    /// Cancelled when driving has ended.
    pub(super) over: CancellationToken,
    pub(super) queued: bool,
}

/// What a world is made of.
pub struct Parts {
    /// The configuration.
    pub config: Arc<Config>,
    /// Time, ids, randomness.
    pub clock: Arc<dyn Clock>,
    /// The database.
    pub store: Store,
    /// Model providers.
    pub providers: Providers,
    /// The embedding application.
    pub host: Arc<HostDoor>,
    /// What tokens cost.
    pub prices: Arc<PriceTable>,
    /// Tools by reference.
    pub tools: Toolbox,
    /// Called at the border of each write.
    pub hook: Option<AppendHook>,
}

/// Plans that are kept ready.
const PLANS: usize = 256;

impl World {
    /// A world of these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let owner = super::names::owner(parts.clock.id());
        let texts = Texts::new(&parts.config.locale);
        Self {
            config: parts.config,
            clock: parts.clock,
            store: parts.store,
            providers: parts.providers,
            host: parts.host,
            prices: parts.prices,
            tools: parts.tools,
            texts,
            hub: Hub::default(),
            owner,
            stopping: CancellationToken::new(),
            wake: Notify::new(),
            active: Mutex::new(HashMap::new()),
            hook: parts.hook,
            plans: Mutex::new(HashMap::new()),
        }
    }

    pub(super) fn boundary(&self, boundary: Boundary, run: Id, head: Seq) {
        if let Some(hook) = &self.hook {
            hook(boundary, run, head);
        }
    }

    /// Every step is durable before the next begins.
    #[must_use]
    pub fn step_durable(&self) -> bool {
        self.config.database.durability == Durability::Step
    }

    /// The plan of a graph, made once.
    ///
    /// # Errors
    /// When the stored graph cannot be read.
    pub fn plan(&self, hash: &PartHash, graph: &str) -> Result<Arc<Plan>, String> {
        if let Some(plan) = self.plans.lock().get(hash) {
            return Ok(Arc::clone(plan));
        }
        let json = serde_json::from_str(graph).map_err(|error| error.to_string())?;
        let graph = Graph::parse(&json).map_err(|issues| issues.first().map(|issue| issue.message.clone()).unwrap_or_default())?;
        let plan = Arc::new(Plan::new(Arc::new(graph)));
        let mut plans = self.plans.lock();
        if plans.len() >= PLANS {
            plans.clear();
        }
        plans.insert(Arc::clone(hash), Arc::clone(&plan));
        Ok(plan)
    }

    /// How frames look.
    #[must_use]
    pub fn wire(&self) -> Wire {
        let kb = usize::try_from(self.config.limits.event_value_kb).unwrap_or(64);
        Wire { value_bytes: kb * 1024, currency: self.config.usage.currency.as_str().into() }
    }

    /// The pinned definitions of a run that is driven here.
    pub(super) fn pinned(&self, run: Id) -> Option<Arc<Definitions>> {
        self.active.lock().get(&run).map(|active| Arc::clone(&active.definitions))
    }

    /// Runs that are driven here for somebody who waits.
    #[must_use]
    pub fn sync_runs(&self) -> usize {
        self.active.lock().values().filter(|active| !active.queued).count()
    }
}
