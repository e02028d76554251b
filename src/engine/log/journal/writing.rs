//! Owns the writes of a run's log: waiting entries together, in order, repeated after a failure of the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::engine::log::journal::{AHEAD, AHEAD_BYTES, Boundary, Core, Journal, Pending, projection};
use crate::model::event::Seq;
use crate::store::log::{self, Append, Appended, Known};
use crate::store::{Job, Notification, StoreError};
use crate::sync::Mutex;

/// Waits between tries while the store cannot write.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

impl Pending {
    /// No write is in progress.
    fn forget(&mut self, head: Seq) {
        self.entries.clear();
        self.tokens.clear();
        self.append = projection::Rows::default();
        (self.texts, self.bytes, self.stored_head) = (0, 0, head);
    }

    pub(super) fn is_far_ahead(&self) -> bool {
        self.entries.len() > AHEAD || self.bytes > AHEAD_BYTES
    }
}

impl Journal {
    pub(super) fn queue(self: &Arc<Self>, core: &mut Core) {
        if self.world.keeps_nothing() {
            core.pending.forget(core.run.head);
            return;
        }
        if core.pending.held {
            core.pending.wanted = true;
            return;
        }
        if self.lost() || std::mem::replace(&mut core.pending.queued, true) {
            return;
        }
        self.write(FIRST_WAIT);
    }

    /// Writes what waits; while the store cannot write, again after a wait.
    fn write(self: &Arc<Self>, wait: Duration) {
        let [write, then] = [self, self].map(Arc::clone);
        let taken = Arc::new(Mutex::new(None));
        let took = Arc::clone(&taken);
        let job = Job {
            work: Box::new(move |tx| {
                let first = took.lock().is_none();
                let Some((append, again)) = write.take(first) else { return Ok(()) };
                *took.lock() = Some(Arc::clone(&append));
                write.world.boundary(Boundary::Before, write.run, append.expect_head);
                let stored = if again { log::append_again(tx, &append) } else { log::append(tx, &append) };
                stored.map(|stored| write.learn(&append, stored))
            }),
            then: Box::new(move |result| {
                let append = taken.lock().take();
                match result {
                    Ok(()) => then.stored(append.as_deref()),
                    Err(error) => then.refused(&error, append.is_some(), wait),
                }
            }),
        };
        self.world.store.write_then(self.run, job);
    }

    /// What is written next; true when it was tried before. When a job is done again, another one may wait already. A beginning is for
    /// the job that took it alone: when that is refused, the starter of the run is told so, and nothing is written.
    fn take(&self, first: bool) -> Option<(Arc<Append>, bool)> {
        let mut core = self.core.lock();
        let core = &mut *core;
        core.pending.queued &= !first;
        let mut writing = self.writing.lock();
        if let Some(append) = &*writing {
            return (!first || append.made.is_none()).then(|| (Arc::clone(append), true));
        }
        (core.pending.texts, core.pending.release_waits) = (0, false);
        let mut rows = std::mem::take(&mut core.pending.append);
        let mut row = projection::row(&self.world, &core.run, self, core.pending.released, self.since_jumps(core));
        self.masking.rows(&mut rows);
        self.masking.update(&mut row);
        let mut append = Append::new(self.run, Arc::clone(&self.tenant), core.pending.stored_head, self.ownership.fence, row);
        if core.pending.stored_head == 0 && let Some(beginning) = &mut *self.beginning.lock() {
            append.made = beginning.give(&append.row);
            rows.parts.append(&mut beginning.parts);
            append.named.append(&mut beginning.files);
        }
        append.entries = std::mem::take(&mut core.pending.entries);
        core.pending.bytes = 0;
        append.tokens = std::mem::take(&mut core.pending.tokens);
        let known = self.known.lock();
        append.known = known.as_ref().filter(|(head, _)| *head == append.expect_head).map(|(_, known)| known.clone());
        drop(known);
        core.pending.stored_head += append.entries.len() as u64;
        let append = Arc::new(rows.into(append));
        *writing = Some(Arc::clone(&append));
        Some((append, false))
    }

    /// The run as it is stored with this append; another may be taken back, but this one is tried until it is kept.
    fn learn(&self, append: &Append, (no, hash): Appended) {
        let created = Arc::clone(&self.core.lock().run.created);
        let known = Known { no, entity_type: created.entity, entity_id: created.entity_id, hash, stands: append.row.standing() };
        *self.known.lock() = Some((append.expect_head + append.entries.len() as u64, known));
    }

    /// Runs on the writer's thread, which holds no lock, before it writes more of this run.
    fn stored(self: &Arc<Self>, append: Option<&Append>) {
        let Some(append) = append else { return };
        // Taken while the write is still known: a later job that a closed store refuses tells the starter nothing.
        let beginning = self.beginning.lock().take();
        *self.writing.lock() = None;
        let head = append.expect_head + append.entries.len() as u64;
        self.world.boundary(Boundary::After, self.run, head);
        let texts = append.tokens.iter().map(|row| row.count).sum();
        self.unstored.fetch_sub(texts, Ordering::Relaxed);
        let bytes = append.tokens.iter().flat_map(|row| &row.deltas).map(|delta| crate::engine::log::journal::pace::weight(delta)).sum();
        self.unstored_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.durable.store(head, Ordering::Release);
        self.feed.release(head);
        if let Some(beginning) = beginning {
            self.watch().begun(&self.world);
            beginning.tell(Ok(()));
        }
        self.world.store.tell(Notification::Run(self.run));
        let mut core = self.core.lock();
        let pending = &core.pending;
        let texts_wait = pending.texts > 0 && !pending.flush_planned;
        if !pending.entries.is_empty() || texts_wait || pending.release_waits {
            self.queue(&mut core);
        }
        drop(core);
        self.changed.notify_waiters();
    }

    /// Does not lock the run: it may be called from within `queue`.
    fn refused(self: &Arc<Self>, error: &StoreError, taken: bool, wait: Duration) {
        if !taken && self.writing.lock().as_ref().is_some_and(|append| append.made.is_some()) {
            // The job with the beginning reports the result.
            return;
        }
        let beginning = self.beginning.lock().take();
        if let Some(beginning) = beginning {
            beginning.tell(Err(error.clone()));
            self.broken.cancel();
            self.changed.notify_waiters();
            return;
        }
        if !error.passes() || self.world.hurry.is_cancelled() {
            tracing::error!(run = %self.run, %error, "the log of a run could not be stored; the run stops in this process");
            self.broken.cancel();
            self.changed.notify_waiters();
            return;
        }
        tracing::warn!(run = %self.run, %error, "the log of a run could not be stored; another attempt follows");
        let journal = Arc::clone(self);
        self.world.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(wait) => journal.again(taken, wait),
                () = journal.world.hurry.cancelled() => journal.broken.cancel(),
                () = journal.broken.cancelled() => {}
            }
        });
    }

    /// Writes again what the store refused; `taken` when the refused write had begun, so that another may be queued by now.
    fn again(self: &Arc<Self>, taken: bool, wait: Duration) {
        let mut core = self.core.lock();
        if taken && (self.writing.lock().is_none() || std::mem::replace(&mut core.pending.queued, true)) {
            return;
        }
        drop(core);
        self.write((wait * 2).min(LONGEST_WAIT));
    }
}
