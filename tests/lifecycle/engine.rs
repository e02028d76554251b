//! Owns engines: opened on one database with one clock, ended as processes end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::Boundary;
use wfstudio::model::{Id, Timestamp};
use wfstudio::studio::{Options, Studio};

use super::chance::Chance;
use super::fair::Moment;
use super::host::{Book, Life, Played, declaration};

/// A clock that can be set.
#[derive(Default)]
pub struct Time {
    ahead: AtomicI64,
    system: SystemClock,
}

impl Time {
    pub fn jump(&self, millis: i64) {
        self.ahead.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for Time {
    fn now(&self) -> Timestamp {
        Timestamp(self.system.now().0 + self.ahead.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Option<i64> {
        self.system.steady()
    }

    fn id(&self) -> Id {
        self.system.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.system.random(into);
    }
}

/// What all engines of a seed are configured with.
#[derive(Clone, Debug)]
pub struct Limits {
    pub concurrency: usize,
    pub branches: u64,
    pub tries: u64,
    pub takeovers: u32,
    pub run_seconds: u64,
}

/// How long a lease is, in seconds; the clock that jumps ends it.
pub const LEASE: i64 = 3600;

impl Limits {
    pub fn of(chance: &mut Chance) -> Self {
        Self {
            concurrency: 1 + usize::try_from(chance.below(3)).expect("a small number"),
            branches: 1 + chance.below(4),
            tries: 1 + chance.below(3),
            takeovers: 1 + u32::try_from(chance.below(3)).expect("a small number"),
            run_seconds: 1200,
        }
    }

    fn config(&self, place: &Path) -> Config {
        let path = place.join("studio.sqlite");
        let mut database = super::place::database(path.to_str().expect("a path"));
        database["synchronous"] = json!("normal");
        let all: Value = json!({
            "environment": "local", "database": database, "default_provider": "peer", "default_model": "x/",
            "providers": {"peer": {"kind": "host"}}, "memory": {"summarizer": {"provider": "peer", "model": "sum"}},
            "worker": {"in_process": false, "concurrency": self.concurrency}, "async_runs_enabled": true,
            "queue_tries": self.tries, "queue_backoff": 0, "parallel": {"concurrency": self.branches},
            "runs": {"lease_seconds": LEASE, "max_takeovers": self.takeovers},
            "timeouts": {"run_seconds": self.run_seconds, "cancel_grace_ms": 150}, "rag": {"async_ingest": false},
        });
        Config::load(ConfigSources { file: None, json: Some(all), env: BTreeMap::new() }).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// One engine.
pub struct Engine {
    pub no: usize,
    pub life: Arc<Life>,
    pub studio: Studio,
    pub owner: String,
}

impl Engine {
    pub fn open(no: usize, place: &Path, limits: &Limits, time: &Arc<Time>, book: &Arc<Book>) -> Self {
        let life = Arc::new(Life::new(no));
        let hooked = Arc::clone(&life);
        let hook = move |boundary: Boundary, run: Id, _| {
            hooked.spend(&hooked.writes);
            if hooked.is_over() && boundary == Boundary::Before {
                hooked.cut.lock().expect("a lock").push(run);
                // A dead process writes nothing; no message is printed.
                std::panic::resume_unwind(Box::new("the process is dead"));
            }
        };
        let clock: Arc<dyn Clock> = Arc::<Time>::clone(time);
        let options = Options { clock: Some(clock), on_append: Some(Arc::new(hook)) };
        let studio = Studio::open_with(limits.config(place), options).expect("a studio");
        studio.set_host(Arc::new(Played { book: Arc::clone(book), life: Arc::clone(&life) }), declaration());
        let owner = studio.world().owner().to_string();
        Self { no, life, studio, owner }
    }

    /// It is dropped; tasks that were at work end when they are left by their threads.
    pub async fn let_go(self) {
        let world = Arc::downgrade(self.studio.world());
        drop(self);
        let began = Moment::now();
        while world.strong_count() > 0 && began.elapsed() < Duration::from_millis(500) {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }

    /// Its process is dead: nothing more is written or called.
    pub async fn die(self) {
        self.life.dead.store(true, Ordering::SeqCst);
        self.studio.world().store.close(Duration::ZERO).await;
    }
}
