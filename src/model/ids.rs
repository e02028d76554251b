//! Owns ids, slugs and points in time as they are stored and shown.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A UUID, shown in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(pub uuid::Uuid);

impl Id {
    /// A version 7 id of its parts: milliseconds, 12 bits of order, 62 random bits.
    #[must_use]
    pub fn v7(millis: u64, order: u16, random: u64) -> Self {
        let high = (millis << 16) | 0x7000 | u64::from(order & 0xfff);
        let low = (random & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        Self(uuid::Uuid::from_u64_pair(high, low))
    }

    /// It is a version 7 id, as all are that the studio makes.
    pub const fn is_timed(&self) -> bool {
        self.0.get_version_num() == 7
    }

    /// When a version 7 id was made.
    pub fn made_at(&self) -> Timestamp {
        Timestamp(i64::try_from(self.0.as_u64_pair().0 >> 16).unwrap_or(i64::MAX))
    }
}

/// An id in text form, without memory of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdText([u8; 36]);

impl Id {
    /// Its text form.
    pub(crate) fn text(&self) -> IdText {
        let mut text = [0; 36];
        self.0.as_hyphenated().encode_lower(&mut text);
        IdText(text)
    }
}

impl Deref for IdText {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.as_hyphenated(), out)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The longest slug.
pub const LONGEST_SLUG: usize = 80;

/// Whether this is a slug: lower-case words and digits with single hyphens between them.
pub fn is_slug(text: &str) -> bool {
    text.len() <= LONGEST_SLUG
        && text.split('-').all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
}

impl FromStr for Id {
    type Err = uuid::Error;
    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        uuid::Uuid::try_parse(text).map(Self)
    }
}

/// Milliseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// `2026-11-20T20:39:54.123+00:00`.
    pub fn rfc3339(self) -> String {
        String::from_utf8(self.written().to_vec()).unwrap_or_default()
    }

    /// The same, as bytes.
    pub(crate) fn written(self) -> [u8; 29] {
        let at = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default();
        let at = jiff::tz::TimeZone::UTC.to_datetime(at);
        let mut text = *b"0000-00-00T00:00:00.000+00:00";
        let mut write = |places: std::ops::Range<usize>, number: i16| {
            let mut rest = number.unsigned_abs();
            for digit in text[places].iter_mut().rev() {
                *digit += u8::try_from(rest % 10).unwrap_or(0);
                rest /= 10;
            }
        };
        write(0..4, at.year());
        write(20..23, at.millisecond());
        for (place, number) in [(5, at.month()), (8, at.day()), (11, at.hour()), (14, at.minute()), (17, at.second())] {
            write(place..place + 2, number.into());
        }
        text
    }

    /// The same in another zone: `2026-11-20T17:39:54.123-03:00`.
    pub fn rfc3339_in(self, zone: &jiff::tz::TimeZone) -> String {
        let at = jiff::Timestamp::from_millisecond(self.0).unwrap_or_default().to_zoned(zone.clone());
        at.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
    }

    /// Milliseconds from `earlier` to this, not below zero.
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0 - earlier.0).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_have_one_text_form() {
        let id = Id::v7(1_700_000_000_000, 0xabc, 7);
        assert_eq!(&*id.text(), id.to_string());
    }

    proptest! {
        #[test]
        fn times_are_written_as_the_calendar_has_them(millis in prop_oneof![-62_167_219_200_000..253_402_200_000_000i64, i64::MAX - 9..i64::MAX]) {
            let at = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
            let wanted = at.strftime("%Y-%m-%dT%H:%M:%S%.3f+00:00").to_string();
            prop_assert_eq!(Timestamp(millis).rfc3339(), wanted);
        }
    }
}
