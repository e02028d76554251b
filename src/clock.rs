//! Owns time, ids and randomness: the only source of non-determinism in the engine.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::model::{Id, Timestamp};

/// Time, ids and randomness. Tests run the whole engine on a fake one.
pub trait Clock: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// Milliseconds that pass while this process can work, whatever becomes of the wall clock. None: only the wall clock is known.
    fn steady(&self) -> Option<i64> {
        None
    }
    /// A new UUIDv7.
    fn id(&self) -> Id;
    /// Unpredictable bytes.
    fn random(&self, into: &mut [u8]);
}

/// The real clock.
#[derive(Debug, Default)]
pub struct SystemClock {
    last: AtomicU64,
    seed: OnceLock<u64>,
    began: OnceLock<Instant>,
}

impl SystemClock {
    /// Unpredictable once for each clock: ids need to differ, not to be secret.
    fn seed(&self) -> u64 {
        *self.seed.get_or_init(|| {
            let mut seed = [0; 8];
            self.random(&mut seed);
            u64::from_ne_bytes(seed)
        })
    }
}

/// So far the wall clock may be from the time that passed: it is corrected in small steps.
const CORRECTED: i64 = 5_000;

/// How the wall clock goes beside the time that passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    /// What the wall clock says less the time that passed; none when that is not known.
    offset: Option<i64>,
}

impl Passing {
    /// From `now` on, which the wall clock said just before.
    pub(crate) fn since(clock: &dyn Clock, now: Timestamp) -> Self {
        Self { offset: clock.steady().map(|steady| now.0 - steady) }
    }

    /// By how many milliseconds the wall clock went ahead, or back, up to `now`, which it said just before; none when it may have been corrected.
    pub(crate) fn ahead(self, clock: &dyn Clock, now: Timestamp) -> Option<i64> {
        let ahead = now.0 - clock.steady()? - self.offset?;
        (ahead.abs() > CORRECTED).then_some(ahead)
    }

    /// So much of it is known.
    pub(crate) fn known(&mut self, ahead: i64) {
        self.offset = self.offset.map(|offset| offset.saturating_add(ahead));
    }
}

/// Spreads every bit of a number over all of them.
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn steady(&self) -> Option<i64> {
        i64::try_from(self.began.get_or_init(Instant::now).elapsed().as_millis()).ok()
    }

    /// 48 bits of milliseconds, 12 bits of order within one, 62 bits that differ between clocks; never goes back within a process.
    fn id(&self) -> Id {
        let now = u64::try_from(self.now().0).unwrap_or(0) << 12;
        let before = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)));
        let tick = now.max(before.unwrap_or(now) + 1);
        Id::v7(tick >> 12, (tick & 0xfff) as u16, mixed(self.seed().wrapping_add(tick)))
    }

    fn random(&self, into: &mut [u8]) {
        for chunk in into.chunks_mut(16) {
            chunk.copy_from_slice(&uuid::Uuid::new_v4().as_bytes()[..chunk.len()]);
        }
    }
}
