//! Owns the execution time of a run, computed from its log.

use crate::model::Timestamp;

/// Working time of one run, followed entry by entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkingTime {
    /// Of the stretches that are over.
    before: u64,
    /// When the present stretch began.
    since: Option<Timestamp>,
    /// When the last entry was appended.
    last: Timestamp,
    /// By how much the clock went ahead of the time that passed, in the present stretch; less than zero when it went back.
    ahead: i64,
}

impl WorkingTime {
    /// An entry was appended. Called after what the entry does.
    pub const fn seen(&mut self, at: Timestamp) {
        self.last = at;
    }

    /// A stretch begins; one that is still open ended with the last entry.
    pub fn start(&mut self, at: Timestamp) {
        self.before = self.until(self.last);
        (self.since, self.ahead) = (Some(at), 0);
    }

    /// A stretch ends.
    pub fn stop(&mut self, at: Timestamp) {
        self.before = self.until(at);
        (self.since, self.ahead) = (None, 0);
    }

    /// Of the stretches that are over.
    pub const fn over(&self) -> u64 {
        self.before
    }

    /// When the last entry was appended.
    pub const fn last(&self) -> Timestamp {
        self.last
    }

    /// Another owner goes on. The former one was last known to be at work when it appended the last entry, or when it stored
    /// `stored`; how long nobody drove the run since then does not count.
    pub fn take_over(&mut self, at: Timestamp, stored: Option<u64>) {
        self.start(at);
        self.before = self.before.max(stored.unwrap_or(0));
    }

    /// The clock jumped while somebody was at work: so much of the time up to now did not pass, or passed though the clock does not show it.
    pub const fn jumped(&mut self, millis: i64) {
        self.ahead = self.ahead.saturating_add(millis);
    }

    /// In milliseconds, up to a moment.
    pub fn until(&self, now: Timestamp) -> u64 {
        self.before + self.since.map_or(0, |since| u64::try_from(now.0.saturating_sub(since.0).saturating_sub(self.ahead)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp(millis)
    }

    #[test]
    fn time_between_stretches_does_not_count() {
        let mut time = WorkingTime::default();
        time.start(at(1_000));
        time.stop(at(3_000));
        assert_eq!(time.until(at(HOUR)), 2_000);
        time.start(at(HOUR));
        assert_eq!(time.until(at(HOUR + 500)), 2_500);
    }

    #[test]
    fn the_time_between_the_last_entry_and_a_takeover_does_not_count() {
        let mut time = WorkingTime::default();
        time.start(at(1_000));
        time.seen(at(1_000));
        time.seen(at(5_000));
        time.take_over(at(14 * HOUR), None);
        assert_eq!(time.until(at(14 * HOUR + 700)), 4_700);
    }

    #[test]
    fn what_a_clock_jumped_ahead_does_not_count() {
        let mut time = WorkingTime::default();
        time.start(at(1_000));
        time.seen(at(2_000));
        time.jumped(2 * HOUR);
        time.seen(at(2 * HOUR + 2_500));
        assert_eq!(time.until(at(2 * HOUR + 3_000)), 2_000);
        time.stop(at(2 * HOUR + 4_000));
        time.start(at(3 * HOUR));
        assert_eq!(time.until(at(3 * HOUR + 500)), 3_500);
    }

    #[test]
    fn a_clock_that_is_set_right_again_takes_no_time_away() {
        let mut time = WorkingTime::default();
        time.start(at(1_000));
        time.jumped(2 * HOUR);
        time.seen(at(2 * HOUR + 3_000));
        time.jumped(-2 * HOUR);
        time.seen(at(5_000));
        assert_eq!(time.until(at(6_000)), 5_000);
        time.jumped(-HOUR);
        assert_eq!(time.until(at(7_000 - HOUR)), 6_000, "set back behind its beginning");
    }

    #[test]
    fn what_the_former_owner_stored_of_a_long_step_counts() {
        let mut time = WorkingTime::default();
        time.start(at(1_000));
        time.seen(at(2_000));
        time.take_over(at(HOUR), Some(60_000));
        assert_eq!(time.until(at(HOUR + 700)), 60_700);
        time.seen(at(HOUR));
        time.take_over(at(2 * HOUR), Some(60_000));
        assert_eq!(time.until(at(2 * HOUR)), 60_000, "it never becomes less, and counts once");
    }
}
