//! Owns the server's clock for leases, because the clocks of hosts may differ.

use std::time::{Duration, Instant};

use crate::model::Timestamp;
use crate::store::db::postgres::Session;
use crate::store::error::StoreError;
use crate::sync::Mutex;

/// An answer that is quick enough to be believed.
const QUICK: Duration = Duration::from_millis(20);
/// How often it is asked for a quick answer.
const TRIES: u32 = 4;
/// A reading of the server's clock is taken again after this.
const OLD: Duration = Duration::from_secs(30);

/// What the server's clock said last, and when that was; a host's own clock may jump in between.
#[derive(Debug, Default)]
pub(super) struct ServerClock(Mutex<Option<(Timestamp, Instant)>>);

impl ServerClock {
    /// Asks the server what time it is: what it says was true in the middle between question and answer, so a quick answer counts.
    pub(super) fn read(&self, session: &Session) -> Result<(), StoreError> {
        let mut best = None;
        for _ in 0..TRIES {
            let asked = Instant::now();
            let told = session.time()?;
            let took = asked.elapsed();
            if best.is_none_or(|(_, _, least)| took < least) {
                best = Some((told, asked + took / 2, took));
            }
            if took < QUICK {
                break;
            }
        }
        *self.0.lock() = best.map(|(told, at, _)| (told, at));
        Ok(())
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
