//! Owns the only writer of a run's log: check, fold, publish, store.

mod beginning;
mod pace;
#[cfg(test)]
mod tests;
mod writing;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::engine::feed::{Feed, Order};
use crate::engine::log::masking::Masking;
use crate::engine::log::spans::Watch;
use crate::engine::log::{projection, spans};
use crate::clock::Passing;
use crate::engine::world::World;
use crate::model::{Id, Timestamp};
use crate::model::event::{Entry, Event, LaneId, PartHash, Seq};
use crate::model::run::{Run, Status};
use crate::model::telling::LOST_TOKENS;
use crate::store::log::{Append, Known, TokenRow};

pub(in crate::engine) use crate::engine::log::journal::beginning::{Beginning, Stored};
pub(in crate::engine) use crate::engine::log::journal::pace::{PendingText, weight};

/// Nothing more can be written for this run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// When the append hook is called: before each write of a run, in the transaction, and after its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// The entry is about to be stored.
    Before,
    /// It is durable.
    After,
}

/// Entries that may wait for the disk before pure steps wait for it too, and their bytes.
const AHEAD: usize = 4096;
const AHEAD_BYTES: usize = 8 << 20;
/// Pieces of text that may wait before they are stored without an entry.
const TEXTS: usize = 256;
/// Pieces of text that may be published before they are stored: fewer than the numbers that a crash skips.
const UNSTORED: u64 = LOST_TOKENS / 2;

/// Who works on a run, and how it came to them.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// The engine that owns the lease.
    pub owner: Arc<str>,
    /// Its token.
    pub fence: i64,
    /// `sync` or `async`.
    pub mode: &'static str,
    /// The queue that it came from.
    pub queue: Option<Arc<str>>,
    /// Executions of the job so far.
    pub tries: u32,
}

/// A run and what waits to be stored of it.
pub struct Core {
    /// The fold of everything appended, durable or not.
    pub run: Run,
    pub(in crate::engine) pending: Pending,
    passing: Passing,
}

#[derive(Default)]
pub(in crate::engine) struct Pending {
    pub(in crate::engine) entries: Vec<Arc<Entry>>,
    /// About the bytes of the entries.
    bytes: usize,
    pub(in crate::engine) append: projection::Rows,
    tokens: Vec<TokenRow>,
    texts: usize,
    queued: bool,
    /// Nothing is given to the writer: more is on its way, and goes with it.
    held: bool,
    /// Something wanted to be written meanwhile.
    wanted: bool,
    flush_planned: bool,
    stored_head: Seq,
    released: bool,
    /// It is to be given back, and nothing that was taken to be written says so.
    release_waits: bool,
    /// Texts that went with an entry of this stretch: they are stored when what follows is.
    known: HashSet<PartHash>,
}

/// The log of a run that is driven here.
pub struct Journal {
    /// The run.
    pub run: Id,
    /// Its tenant.
    pub tenant: Arc<str>,
    world: Arc<World>,
    feed: Arc<Feed>,
    ownership: Ownership,
    keep_tokens: bool,
    core: Mutex<Core>,
    /// The run as it is stored up to an entry.
    known: Mutex<Option<(Seq, Known)>>,
    /// What is stored with the first entries, until it is.
    beginning: Mutex<Option<Box<Beginning>>>,
    /// What is being written, or waits to be written again.
    writing: Mutex<Option<Arc<Append>>>,
    /// Pieces of text that were published and are not stored.
    unstored: AtomicU64,
    /// Their approximate size in bytes, as published.
    unstored_bytes: AtomicU64,
    durable: AtomicU64,
    changed: Notify,
    broken: CancellationToken,
    /// Held while the run is driven: what an answer came to is with the writer before it is let go.
    driven: Mutex<()>,
    watch: Watch,
    masking: Masking,
}

/// Stores what was held back; also when the work panics, for the outcomes of calls may be in it.
struct Release<'a>(&'a Arc<Journal>);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        let mut core = self.0.core.lock();
        core.pending.held = false;
        if std::mem::take(&mut core.pending.wanted) {
            self.0.queue(&mut core);
        }
    }
}

impl Journal {
    /// The journal of a run whose log is stored up to its head, or not at all. What is appended waits for the first
    /// [`Journal::together`].
    pub(in crate::engine) fn new(
        world: Arc<World>,
        feed: Arc<Feed>,
        run: Run,
        tenant: Arc<str>,
        ownership: Ownership,
        stored: Stored,
        passing: Passing,
    ) -> Arc<Self> {
        let keep_tokens = world.config.async_progress.enabled || ownership.mode == "sync";
        let mut pending = Pending { stored_head: run.head, held: true, ..Pending::default() };
        let (known, mut beginning) = match stored {
            Stored::Whole(known) => (known, None),
            Stored::Nothing(beginning) => (None, Some(beginning)),
        };
        if let Some(beginning) = &mut beginning {
            (pending.stored_head, pending.wanted) = (0, true);
            pending.entries.append(&mut beginning.entries);
        }
        let masking = Masking::of(&world, &run);
        Arc::new(Self {
            run: run.id,
            tenant,
            durable: AtomicU64::new(pending.stored_head),
            known: Mutex::new(known.map(|known| (run.head, known))),
            beginning: Mutex::new(beginning),
            core: Mutex::new(Core { run, pending, passing }),
            world,
            feed,
            ownership,
            keep_tokens,
            writing: Mutex::new(None),
            unstored: AtomicU64::new(0),
            unstored_bytes: AtomicU64::new(0),
            changed: Notify::new(),
            broken: CancellationToken::new(),
            driven: Mutex::default(),
            watch: Watch::default(),
            masking,
        })
    }

    /// Looks at the run.
    pub fn with<T>(&self, look: impl FnOnce(&Run) -> T) -> T {
        look(&self.core.lock().run)
    }

    pub(in crate::engine) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock()
    }

    /// The spans for collectors.
    pub(in crate::engine) const fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(in crate::engine) const fn masking(&self) -> &Masking {
        &self.masking
    }

    /// Who works on it.
    pub const fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// When the run is lost to this owner, or the entry cannot follow.
    pub fn emit(self: &Arc<Self>, lane: LaneId, event: Event) -> Result<Seq, Lost> {
        self.emit_in(&mut self.core.lock(), lane, event)
    }

    /// Appends an entry while the run is looked at.
    pub(in crate::engine) fn emit_in(self: &Arc<Self>, core: &mut Core, lane: LaneId, event: Event) -> Result<Seq, Lost> {
        if self.broken.is_cancelled() {
            return Err(Lost);
        }
        let at = self.world.clock.now();
        if matches!(event, Event::Began | Event::TakenOver { .. }) {
            // What the clock did before the run goes to work is no working time.
            core.passing = Passing::since(&*self.world.clock, at);
        } else if let Some(ahead_ms) = self.ahead(core, at) {
            core.passing.known(ahead_ms);
            self.append(core, 0, at, Event::ClockJumped { ahead_ms })?;
        }
        self.append(core, lane, at, event)
    }

    /// By how much the wall clock jumped since an entry said so, while the run was at work here.
    fn ahead(&self, core: &Core, now: Timestamp) -> Option<i64> {
        core.passing.ahead(&*self.world.clock, now).filter(|_| core.run.status == Status::Running)
    }

    /// What the wall clock would say if it had not jumped since an entry said so.
    fn since_jumps(&self, core: &Core) -> Timestamp {
        let now = self.world.clock.now();
        Timestamp(now.0 - self.ahead(core, now).unwrap_or(0))
    }

    /// How long the run has been at work.
    pub(in crate::engine) fn worked(&self) -> u64 {
        let core = self.core.lock();
        core.run.worked(self.since_jumps(&core)).saturating_sub(core.run.spent_ms)
    }

    fn append(self: &Arc<Self>, core: &mut Core, lane: LaneId, at: Timestamp, event: Event) -> Result<Seq, Lost> {
        if let Err(refusal) = core.run.accepts(lane, &event) {
            tracing::error!(run = %self.run, %refusal, "an entry was refused; the run stops here");
            self.broken.cancel();
            return Err(Lost);
        }
        let entry = Arc::new(Entry { seq: core.run.head + 1, at, lane, event });
        let child = projection::child_of(core, &entry);
        let told = self.masking.entry(&entry);
        projection::before(&self.world, core, &entry);
        spans::tell(&self.world, core, &told, self);
        core.run.apply(&entry);
        projection::after(&self.world, core, &entry, child, self);
        self.feed.stage(&told);
        let seq = entry.seq;
        let weight = told.event.weight();
        core.pending.bytes += weight;
        core.run.weight += weight as u64;
        core.pending.entries.push(told);
        self.queue(core);
        Ok(seq)
    }

    /// Keeps a text that an entry is about to name by its hash.
    pub fn part(&self, text: Arc<str>) -> PartHash {
        let (hash, text) = self.masking.part(text);
        let core = &mut *self.core.lock();
        if core.pending.known.insert(Arc::clone(&hash)) {
            core.run.weight += text.len() as u64;
            core.pending.append.parts.push((Arc::clone(&hash), text));
        }
        hash
    }

    /// Stores what is appended meanwhile together, when it is done.
    pub(in crate::engine) fn together<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        self.core.lock().pending.held = true;
        let _stored_after_a_panic_too = Release(self);
        work()
    }

    /// Drives the run a bit further, and stores what is appended meanwhile together. None when nothing more can be written: an answer that a call was
    /// given then would be lost, so none is taken.
    pub(in crate::engine) fn further<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> Option<T> {
        let _until_it_is_with_the_writer = self.driven.lock();
        (!self.lost()).then(|| self.together(work))
    }

    /// Adds rows that are stored with the next entry.
    pub(in crate::engine) fn add(&self, add: impl FnOnce(&mut projection::Rows)) {
        add(&mut self.core.lock().pending.append);
    }

    /// Publishes a piece of text or reasoning at once; it is stored later.
    pub fn token(self: &Arc<Self>, lane: LaneId, step: Id, as_what: (bool, bool), delta: &str) {
        self.text(lane, step, as_what, delta, false);
    }

    /// Publishes a whole text, which is stored with the next entry and visible then. After a takeover before that, the new owner publishes it again.
    pub(in crate::engine) fn whole_text(self: &Arc<Self>, lane: LaneId, step: Id, publish_reply: bool, text: &str) {
        self.text(lane, step, (publish_reply, false), text, true);
    }

    fn text(self: &Arc<Self>, lane: LaneId, step: Id, (publish_reply, thought): (bool, bool), delta: &str, with_next: bool) {
        if !self.keep_tokens {
            return;
        }
        let delta: Arc<str> = delta.into();
        let mut core = self.core.lock();
        let hold = !self.world.keeps_nothing() && self.unstored.fetch_add(1, Ordering::Relaxed) >= UNSTORED;
        let hold = hold || with_next;
        let bytes = weight(&delta);
        core.run.weight += bytes;
        self.unstored_bytes.fetch_add(bytes, Ordering::Relaxed);
        let told = self.feed.stage_token(lane, step, (publish_reply, thought), &delta, hold);
        let pending = &mut core.pending;
        pending.texts += 1;
        match pending.tokens.last_mut() {
            Some(row) if row.step == step && row.after_seq == told.after && (row.publish_reply, row.thought) == (publish_reply, thought) => {
                row.count += 1;
                row.deltas.push(delta);
            }
            Some(_) | None => pending.tokens.push(TokenRow {
                n: told.n,
                after_seq: told.after,
                lane,
                step,
                publish_reply,
                thought,
                count: 1,
                deltas: vec![delta],
            }),
        }
        if pending.texts >= TEXTS {
            self.queue(&mut core);
        } else if !pending.flush_planned && !with_next {
            pending.flush_planned = true;
            self.plan_flush();
        }
    }

    fn plan_flush(self: &Arc<Self>) {
        let journal = Arc::clone(self);
        self.world.spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let mut core = journal.core.lock();
            core.pending.flush_planned = false;
            if core.pending.texts > 0 {
                journal.queue(&mut core);
            }
        });
    }

    /// Releases the lease with the next write, so that another worker can take the run over.
    pub fn release(self: &Arc<Self>) {
        let mut core = self.core.lock();
        (core.pending.released, core.pending.release_waits) = (true, true);
        self.queue(&mut core);
    }

    /// Nothing more is written here.
    pub(in crate::engine) fn give_up(&self) {
        self.broken.cancel();
    }

    /// Nothing more is written here, but for what the run's driver has just taken from its calls; a driver that does not come back is not waited for.
    pub(in crate::engine) fn put_down(&self, until: Instant) {
        let mut driven = self.driven.try_lock();
        while driven.is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
            driven = self.driven.try_lock();
        }
        self.give_up();
    }

    /// Whether anything of it is stored.
    pub(in crate::engine) fn is_begun(&self) -> bool {
        self.durable.load(Ordering::Acquire) > 0
    }

    /// Waits until everything appended so far is durable.
    ///
    /// # Errors
    /// When it never will be.
    pub async fn durable(&self) -> Result<(), Lost> {
        let head = self.core.lock().run.head;
        if self.world.keeps_nothing() {
            return self.show(head).await;
        }
        self.durable_to(head).await
    }

    /// Waits until the run is stored: nothing that others could see happens before.
    ///
    /// # Errors
    /// When it never will be.
    pub(in crate::engine) async fn begun(&self) -> Result<(), Lost> {
        self.durable_to(1).await
    }

    /// Publishes entries of a run that is not stored; waits for slow readers, because there is no log to read from.
    async fn show(&self, head: Seq) -> Result<(), Lost> {
        self.durable.store(head, Ordering::Release);
        self.feed.release(head);
        self.changed.notify_waiters();
        self.feed.room().await;
        if self.lost() { Err(Lost) } else { Ok(()) }
    }

    async fn durable_to(&self, head: Seq) -> Result<(), Lost> {
        if self.durable.load(Ordering::Acquire) >= head {
            return Ok(());
        }
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.durable.load(Ordering::Acquire) >= head {
                return Ok(());
            }
            tokio::select! {
                () = &mut changed => {}
                () = self.broken.cancelled() => return Err(Lost),
            }
        }
    }

    /// So much waits for the disk that pure steps must wait for it too.
    pub fn is_far_ahead(&self) -> bool {
        self.core.lock().pending.is_far_ahead()
    }

    /// Waits while too much is not stored yet, or while anything is when every step must be durable.
    pub async fn keep_up(&self) {
        let (head, ahead) = {
            let core = self.core.lock();
            (core.run.head, core.pending.is_far_ahead())
        };
        if self.world.keeps_nothing() {
            let _lost_is_seen_by_the_caller = self.show(head).await;
        } else if self.world.step_durable() || ahead {
            let _lost_is_seen_by_the_caller = self.durable_to(head).await;
        }
    }

    /// Whether nothing more can be written.
    pub fn lost(&self) -> bool {
        self.broken.is_cancelled()
    }

    /// Waits until nothing more can be written.
    pub async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Its last number in the order of branches.
    pub fn last_ordered_number(&self) -> u64 {
        self.feed.last(Order::Ordered)
    }

    /// Where the run stands.
    pub fn status(&self) -> Status {
        self.core.lock().run.status
    }
}
