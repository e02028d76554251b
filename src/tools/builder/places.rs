//! Owns how many scripts may be at work at once, those included that do not stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Scripts at work at once; with 64 MiB each that is what they can take together.
const PLACES: usize = 4;

/// The places where scripts work.
#[derive(Clone)]
pub(super) struct Places {
    free: Arc<Semaphore>,
    stuck: Arc<AtomicUsize>,
}

impl Default for Places {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(PLACES)), stuck: Arc::default() }
    }
}

impl Places {
    /// A place, waited for at most so long.
    ///
    /// # Errors
    /// There is none; the text says why.
    pub(super) async fn take(&self, wait: Duration) -> Result<Place, String> {
        let taken = tokio::time::timeout(wait, Arc::clone(&self.free).acquire_owned()).await;
        let Ok(Ok(permit)) = taken else {
            let stuck = self.stuck.load(Ordering::SeqCst);
            let text = format!("{stuck} scripts ran over their time and do not stop; no other script is started until one of them ends");
            return Err(if stuck >= PLACES { text } else { format!("all {PLACES} places for scripts are taken; the script was not started") });
        };
        Ok(Place { _permit: permit, stuck: Arc::clone(&self.stuck), left: Arc::new(AtomicBool::new(false)) })
    }
}

/// A place that a script's thread holds until it ends.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
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
        let places = Places::default();
        let stuck = || places.stuck.load(Ordering::SeqCst);
        let mut taken = Vec::new();
        for _ in 0..PLACES {
            taken.push(places.take(Duration::ZERO).await.expect("a place"));
        }
        assert!(places.take(Duration::from_millis(1)).await.err().is_some_and(|text| text.contains("all 4 places")));
        for place in &taken {
            place.watch().give_up();
        }
        assert_eq!(stuck(), PLACES);
        assert!(places.take(Duration::from_millis(1)).await.err().is_some_and(|text| text.contains("do not stop")));
        taken.pop();
        assert_eq!(stuck(), PLACES - 1);
        let last = places.take(Duration::ZERO).await.expect("a place");
        let watch = last.watch();
        drop(last);
        watch.give_up();
        assert_eq!(stuck(), PLACES - 1, "a script that has ended is not stuck");
    }
}
