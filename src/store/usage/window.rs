//! Owns time windows: days of a time zone, split into whole hours and days of the sums and the rest.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::store::error::StoreError;

/// Milliseconds.
pub(in crate::store) const HOUR: i64 = 3_600_000;
/// Milliseconds.
pub(in crate::store) const DAY: i64 = 86_400_000;

/// From the first up to, without, the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Window {
    pub(in crate::store) from: i64,
    pub(in crate::store) to: i64,
}

impl Window {
    /// From the beginning of a day to the end of another.
    pub(in crate::store) fn days(first: Date, last: Date, zone: &TimeZone) -> Result<Self, StoreError> {
        let after = last.tomorrow().map_err(|error| no_such_day(&error))?;
        Ok(Self { from: midnight(first, zone)?, to: midnight(after, zone)? })
    }
}

fn no_such_day(error: &jiff::Error) -> StoreError {
    StoreError::Fault(error.to_string())
}

/// The first moment of a day; where clocks leap over midnight that is later than 00:00.
fn midnight(day: Date, zone: &TimeZone) -> Result<i64, StoreError> {
    let start = zone.to_zoned(day.at(0, 0, 0, 0)).map_err(|error| no_such_day(&error))?;
    Ok(start.timestamp().as_millisecond())
}

/// A window as whole days of UTC, whole hours, and the rest of hours.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Pieces {
    /// Width of the sums, and the window that they cover.
    pub(in crate::store) sums: Vec<(i64, Window)>,
    /// What has to be added up row by row.
    pub(in crate::store) rows: Vec<Window>,
}

impl Pieces {
    pub(in crate::store) fn of(window: Window) -> Self {
        let mut pieces = Self::default();
        let (from, to) = (ceil(window.from, DAY), floor(window.to, DAY));
        if from < to {
            pieces.hours(Window { from: window.from, to: from });
            pieces.sums.push((DAY, Window { from, to }));
            pieces.hours(Window { from: to, to: window.to });
        } else {
            pieces.hours(window);
        }
        pieces
    }

    /// Whether sums cover the hour that begins then.
    pub(in crate::store) fn sum_up(&self, hour: i64) -> bool {
        self.sums.iter().any(|(_, window)| window.from <= hour && hour < window.to)
    }

    fn hours(&mut self, window: Window) {
        let (from, to) = (ceil(window.from, HOUR), floor(window.to, HOUR));
        if from < to {
            self.sums.push((HOUR, Window { from, to }));
            self.rest(Window { from: window.from, to: from });
            self.rest(Window { from: to, to: window.to });
        } else {
            self.rest(window);
        }
    }

    fn rest(&mut self, window: Window) {
        if window.from < window.to {
            self.rows.push(window);
        }
    }
}

const fn floor(at: i64, width: i64) -> i64 {
    at - at.rem_euclid(width)
}

const fn ceil(at: i64, width: i64) -> i64 {
    floor(at + width - 1, width)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_cover_a_window_once(from in -3 * DAY..3 * DAY, length in 0..5 * DAY) {
            let pieces = Pieces::of(Window { from, to: from + length });
            let mut all: Vec<Window> = pieces.sums.iter().map(|(_, window)| *window).chain(pieces.rows.iter().copied()).collect();
            all.sort_by_key(|window| window.from);
            let mut at = from;
            for window in &all {
                prop_assert_eq!(window.from, at);
                prop_assert!(window.from < window.to);
                at = window.to;
            }
            prop_assert_eq!(at, from + length);
            for (width, window) in pieces.sums {
                prop_assert_eq!((window.from.rem_euclid(width), window.to.rem_euclid(width)), (0, 0));
            }
            prop_assert!(pieces.rows.iter().all(|window| window.to - window.from < 2 * HOUR));
        }
    }

    #[test]
    fn days_have_the_length_that_their_zone_gives_them() {
        let hours = |zone: &str, day: Date| {
            let window = Window::days(day, day, &TimeZone::get(zone).unwrap()).unwrap();
            (window.to - window.from) / HOUR
        };
        assert_eq!(hours("UTC", date(2026, 3, 29)), 24);
        assert_eq!(hours("Europe/Berlin", date(2026, 3, 29)), 23);
        assert_eq!(hours("Europe/Berlin", date(2026, 10, 25)), 25);
        assert_eq!(hours("America/New_York", date(2026, 3, 8)), 23);
        // There was no midnight: clocks went from 24:00 to 01:00.
        assert_eq!(hours("America/Sao_Paulo", date(2018, 11, 4)), 23);
    }
}
