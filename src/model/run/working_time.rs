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
}

impl WorkingTime {
    /// An entry was appended. Called after what the entry does.
    pub const fn seen(&mut self, at: Timestamp) {
        self.last = at;
    }

    /// A stretch begins; one that is still open ended with the last entry.
    pub fn start(&mut self, at: Timestamp) {
        self.before = self.until(self.last);
        self.since = Some(at);
    }

    /// A stretch ends.
    pub fn stop(&mut self, at: Timestamp) {
        self.before = self.until(at);
        self.since = None;
    }

    /// Another owner goes on. The former one was last known to be at work when it appended the last entry, or when it stored
    /// `stored`; how long nobody drove the run since then does not count.
    pub fn take_over(&mut self, at: Timestamp, stored: Option<u64>) {
        self.start(at);
        self.before = self.before.max(stored.unwrap_or(0));
    }

    /// In milliseconds, up to a moment.
    #[must_use]
    pub fn until(&self, now: Timestamp) -> u64 {
        self.before + self.since.map_or(0, |since| now.since(since))
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
