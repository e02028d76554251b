//! Owns the readers of runs that another process drives.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::model::Id;
use crate::sync::Mutex;
use tokio::sync::Notify;

/// Those who wait, by run; an entry lives as long as somebody holds it.
#[derive(Debug, Default)]
pub(in crate::engine) struct RemoteRuns(Mutex<HashMap<Id, Weak<Notify>>>);

impl RemoteRuns {
    /// A handle to wait for a change of a run.
    pub(in crate::engine) fn watch(&self, run: Id) -> Arc<Notify> {
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
    pub(in crate::engine) fn moved(&self, run: Id) {
        if let Some(waiting) = self.0.lock().get(&run).and_then(Weak::upgrade) {
            waiting.notify_waiters();
        }
    }

    /// Any run may have gone on.
    pub(in crate::engine) fn all_moved(&self) {
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
        let (remote, [one, two]) = (RemoteRuns::default(), [1, 2].map(|number| Id::v7(number, 0, number)));
        let waits = async |of: Id, act: &dyn Fn()| {
            let notify = remote.watch(of);
            let mut moved = std::pin::pin!(notify.notified());
            moved.as_mut().enable();
            act();
            futures_util::poll!(moved).is_ready()
        };
        assert!(waits(one, &|| remote.moved(one)).await);
        assert!(!waits(one, &|| remote.moved(two)).await);
        assert!(waits(one, &|| remote.all_moved()).await && waits(two, &|| remote.all_moved()).await);
    }
}
