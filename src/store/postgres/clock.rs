//! Owns the server's clock as this process knows it: by it leases are told, since the clocks of hosts may differ.

use std::time::{Duration, Instant};

use crate::model::Timestamp;
use crate::sync::Mutex;

/// A reading of the server's clock is taken again after this.
const OLD: Duration = Duration::from_secs(30);

/// What the server's clock said last, and when that was; a host's own clock may jump in between.
#[derive(Debug, Default)]
pub(super) struct ServerClock(Mutex<Option<(Timestamp, Instant)>>);

impl ServerClock {
    /// The server has just told its time.
    pub(super) fn set(&self, told: Timestamp) {
        *self.0.lock() = Some((told, Instant::now()));
    }

    /// The server's time; none before it was first asked.
    pub(super) fn now(&self) -> Option<Timestamp> {
        let (told, at) = (*self.0.lock())?;
        let since = i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
        Some(Timestamp(told.0.saturating_add(since)))
    }

    /// It should be read again.
    pub(super) fn is_old(&self) -> bool {
        self.0.lock().is_none_or(|(_, at)| at.elapsed() > OLD)
    }
}
