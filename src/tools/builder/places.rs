//! Owns the slots for concurrent scripts, including abandoned ones.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sync::Mutex;

/// The limit of concurrent scripts, and, with 64 MiB each, of their memory.
const PLACES: usize = 4;
/// Of these, one tenant has at most so many: the scripts of another always find one that is free, or soon will be.
const OF_TENANT: usize = PLACES - 1;

/// The places where scripts work.
#[derive(Clone)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    tenants: Arc<Mutex<HashMap<Arc<str>, Weak<Semaphore>>>>,
    stuck: Arc<AtomicUsize>,
}

impl Default for Places {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(PLACES)), tenants: Arc::default(), stuck: Arc::default() }
    }
}

impl Places {
    /// The places of a tenant.
    fn of(&self, tenant: &Arc<str>) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock();
        if let Some(known) = tenants.get(tenant).and_then(Weak::upgrade) {
            return known;
        }
        tenants.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(OF_TENANT));
        tenants.insert(Arc::clone(tenant), Arc::downgrade(&places));
        places
    }

    /// A place for a script of this tenant, waited for at most so long.
    pub(super) async fn take(&self, tenant: &Arc<str>, wait: Duration) -> Result<Place, String> {
        let places = self.of(tenant);
        let both = async { Ok::<_, tokio::sync::AcquireError>([places.acquire_owned().await?, Arc::clone(&self.free).acquire_owned().await?]) };
        let Ok(Ok(permits)) = tokio::time::timeout(wait, both).await else {
            let stuck = self.stuck.load(Ordering::SeqCst);
            let text = format!("{stuck} scripts exceeded their time limit and do not stop; no other script starts until one of them ends");
            return Err(if stuck >= OF_TENANT { text } else { format!("too many scripts run (at most {PLACES}, of one tenant {OF_TENANT}); this script was not started; try again later") });
        };
        Ok(Place { _permits: permits, stuck: Arc::clone(&self.stuck), left: Arc::new(AtomicBool::new(false)) })
    }
}

/// A place that a script's thread holds until it ends.
pub(super) struct Place {
    _permits: [OwnedSemaphorePermit; 2],
    stuck: Arc<AtomicUsize>,
    left: Arc<AtomicBool>,
}

impl Place {
    /// The side of the one who waits for the script.
    pub(super) fn watch(&self) -> Watch {
        Watch { stuck: Arc::clone(&self.stuck), left: Arc::clone(&self.left) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.left.swap(true, Ordering::SeqCst) {
            self.stuck.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// The one who waits for a script, and may give it up.
pub(super) struct Watch {
    stuck: Arc<AtomicUsize>,
    left: Arc<AtomicBool>,
}

impl Watch {
    /// Nobody waits for the script any more; it counts as stuck until its thread ends.
    pub(super) fn give_up(&self) {
        self.stuck.fetch_add(1, Ordering::SeqCst);
        if self.left.swap(true, Ordering::SeqCst) {
            self.stuck.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_place_that_is_given_up_counts_until_it_ends() {
        let (places, tenant) = (Places::default(), Arc::from("a"));
        let stuck = || places.stuck.load(Ordering::SeqCst);
        let mut taken = Vec::new();
        for _ in 0..OF_TENANT {
            taken.push(places.take(&tenant, Duration::ZERO).await.expect("a place"));
        }
        assert!(places.take(&tenant, Duration::from_millis(1)).await.err().is_some_and(|text| text.contains("at most 4, of one tenant 3")));
        for place in &taken {
            place.watch().give_up();
        }
        assert_eq!(stuck(), OF_TENANT);
        assert!(places.take(&tenant, Duration::from_millis(1)).await.err().is_some_and(|text| text.contains("do not stop")));
        taken.pop();
        assert_eq!(stuck(), OF_TENANT - 1);
        let last = places.take(&tenant, Duration::ZERO).await.expect("a place");
        let watch = last.watch();
        drop(last);
        watch.give_up();
        assert_eq!(stuck(), OF_TENANT - 1, "a script that has ended is not stuck");
    }

    #[tokio::test]
    async fn a_tenant_with_many_scripts_leaves_a_place_to_another() {
        let (places, busy, other) = (Places::default(), Arc::from("busy"), Arc::from("other"));
        let mut taken = Vec::new();
        for _ in 0..OF_TENANT {
            taken.push(places.take(&busy, Duration::ZERO).await.expect("a place"));
        }
        let waiting: Vec<_> = (0..20).map(|_| places.take(&busy, Duration::from_secs(5))).collect();
        let waiting = futures_util::future::join_all(waiting);
        tokio::pin!(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert!(places.take(&other, Duration::ZERO).await.is_ok());
        drop(taken);
        assert_eq!(places.tenants.lock().len(), 2);
    }
}
