//! Owns the time zone (`timezone`).

use jiff::tz::TimeZone;

use super::Keys;

impl Keys {
    /// Where days begin and clocks are read.
    pub fn time_zone(&self) -> TimeZone {
        time_zone(&self.timezone).unwrap_or(TimeZone::UTC)
    }
}

/// A time zone by name; UTC also where the system knows no time zones. Other names make the process look through all that it knows.
pub(crate) fn time_zone(name: &str) -> Option<TimeZone> {
    if matches!(name, "UTC" | "Etc/UTC") { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() }
}
