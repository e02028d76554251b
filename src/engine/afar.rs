//! Owns who waits for runs that are driven in another process.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::model::Id;
use crate::sync::Mutex;
use tokio::sync::Notify;

/// Those who wait, by run; an entry lives as long as somebody holds it.
#[derive(Debug, Default)]
pub(super) struct Afar(Mutex<HashMap<Id, Weak<Notify>>>);

impl Afar {
    /// Something to wait on for news of a run.
    pub(super) fn watch(&self, run: Id) -> Arc<Notify> {
        let mut known = self.0.lock();
        if let Some(found) = known.get(&run).and_then(Weak::upgrade) {
            return found;
        }
        known.retain(|_, waiting| waiting.strong_count() > 0);
        let fresh = Arc::new(Notify::new());
        known.insert(run, Arc::downgrade(&fresh));
        fresh
    }

    /// A run went on.
    pub(super) fn moved(&self, run: Id) {
        if let Some(waiting) = self.0.lock().get(&run).and_then(Weak::upgrade) {
            waiting.notify_waiters();
        }
    }

    /// Any run may have gone on.
    pub(super) fn all_moved(&self) {
        for waiting in self.0.lock().values().filter_map(Weak::upgrade) {
            waiting.notify_waiters();
        }
    }
}
