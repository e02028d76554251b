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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_who_wait_for_a_run_hear_of_it_and_of_all_runs_together() {
        let (afar, [one, two]) = (Afar::default(), [1, 2].map(|number| Id::v7(number, 0, number)));
        let waits = async |of: Id, news: &dyn Fn()| {
            let notify = afar.watch(of);
            let mut moved = std::pin::pin!(notify.notified());
            moved.as_mut().enable();
            news();
            futures_util::poll!(moved).is_ready()
        };
        assert!(waits(one, &|| afar.moved(one)).await);
        assert!(!waits(one, &|| afar.moved(two)).await);
        assert!(waits(one, &|| afar.all_moved()).await && waits(two, &|| afar.all_moved()).await);
    }
}
