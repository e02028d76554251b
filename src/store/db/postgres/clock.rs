//! Owns the server's clock for leases, because the clocks of hosts may differ.

use std::time::{Duration, Instant, SystemTime};

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
/// The host's wall clock may go so much otherwise than its time that passes. Where it went further, it was set, or the machine slept:
/// the time that passes stands still meanwhile.
const CORRECTED: Duration = Duration::from_secs(5);

/// What the server's clock said, and what the host's clocks said then.
#[derive(Clone, Copy, Debug)]
struct Reading {
    server_time: Timestamp,
    at: Instant,
    wall: SystemTime,
}

impl Reading {
    /// So much time passed since, and the host's wall clock agrees.
    fn is_sound(&self, passed: Duration, wall: SystemTime) -> bool {
        wall.duration_since(self.wall).is_ok_and(|by_wall| by_wall.abs_diff(passed) <= CORRECTED)
    }

    fn is_sound_now(&self) -> bool {
        self.is_sound(self.at.elapsed(), SystemTime::now())
    }
}

/// What the server's clock said last, and when that was; a host's own clock may jump in between.
#[derive(Debug, Default)]
pub(super) struct ServerClock(Mutex<Option<Reading>>);

impl ServerClock {
    /// Asks the server what time it is: what it says was true in the middle between question and answer, so a quick answer counts.
    pub(super) fn read(&self, session: &Session) -> Result<(), StoreError> {
        let mut best = None;
        for _ in 0..TRIES {
            let asked = Instant::now();
            let server_time = session.time()?;
            let took = asked.elapsed();
            if best.is_none_or(|(_, _, least)| took < least) {
                best = Some((server_time, asked + took / 2, took));
            }
            if took < QUICK {
                break;
            }
        }
        let wall = SystemTime::now();
        *self.0.lock() = best.map(|(server_time, at, _)| Reading { server_time, at, wall: wall - at.elapsed() });
        Ok(())
    }

    /// The server's time; none before it was first asked.
    pub(super) fn now(&self) -> Option<Timestamp> {
        let reading = (*self.0.lock())?;
        let since = i64::try_from(reading.at.elapsed().as_millis()).unwrap_or(i64::MAX);
        Some(Timestamp(reading.server_time.0.saturating_add(since)))
    }

    /// It should be read again.
    pub(super) fn is_old(&self) -> bool {
        self.0.lock().is_none_or(|reading| reading.at.elapsed() > OLD || !reading.is_sound_now())
    }

    /// It was read, and the machine has not slept since.
    pub(super) fn is_known(&self) -> bool {
        self.0.lock().is_some_and(|reading| reading.is_sound_now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_slept_asks_again() {
        let reading = Reading { server_time: Timestamp(1), at: Instant::now(), wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) };
        let second = Duration::from_secs(1);
        assert!(reading.is_sound(second, reading.wall + second), "time passed");
        assert!(!reading.is_sound(second, reading.wall + second * 28_800), "the machine slept");
        assert!(!reading.is_sound(second, reading.wall - second), "the wall clock was set back");
    }
}
