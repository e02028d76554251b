//! Owns the dates of Excel files: numbers that a style shows as a date.

use super::xml::{self, Piece};
use super::zip::Archive;

/// The most styles and formats that are looked at.
const STYLES: usize = 65_536;

/// What a style makes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shown {
    date: bool,
    time: bool,
}

/// Which styles show dates.
#[derive(Debug, Default)]
pub(super) struct Dates {
    styles: Vec<Shown>,
    since_1904: bool,
}

impl Dates {
    pub(super) fn read(archive: &Archive<'_>, styles: Option<&str>, since_1904: bool) -> Result<Self, String> {
        let mut dates = Self { since_1904, ..Self::default() };
        let Some(part) = styles.map_or(Ok(None), |name| archive.part(name))? else { return Ok(dates) };
        let (mut formats, mut inside) = (std::collections::HashMap::new(), false);
        xml::each(part, &mut |piece| {
            match piece {
                Piece::Open("numFmt", element) if formats.len() < STYLES => {
                    let code = element.get("formatCode").unwrap_or_default();
                    formats.extend(element.get("numFmtId").map(|id| (id, of_code(&code))));
                }
                Piece::Open("cellXfs", _) => inside = true,
                Piece::Close("cellXfs") => inside = false,
                Piece::Open("xf", element) if inside && dates.styles.len() < STYLES => {
                    let id = element.get("numFmtId").unwrap_or_default();
                    let own = formats.get(&id).copied();
                    dates.styles.push(own.unwrap_or_else(|| of_number(id.parse().unwrap_or(0))));
                }
                Piece::Open(..) | Piece::Text(_) | Piece::Close(_) => {}
            }
            Ok(())
        })?;
        Ok(dates)
    }

    /// A number as the date that its style shows; none when it shows a number.
    pub(super) fn shown(&self, style: usize, value: &str) -> Option<String> {
        let shown = *self.styles.get(style)?;
        if shown == Shown::default() {
            return None;
        }
        let number: f64 = value.parse().ok().filter(|number| (0.0..2_958_466.0).contains(number))?;
        #[expect(clippy::cast_possible_truncation, reason = "it is below three million days")]
        let seconds = (number * 86_400.0).round() as i64;
        let (mut days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Days of the file count from 1904, or from 1900 with a 29 February that there was not.
        days -= if self.since_1904 { 24_107 } else { 25_569 - i64::from(days < 60) };
        let date = if shown.date { civil(days) } else { String::new() };
        let time = format!("{:02}:{:02}", second / 3600, second / 60 % 60);
        Some(match (shown.date, shown.time) {
            (true, true) => format!("{date} {time}"),
            (true, false) => date,
            (false, _) => time,
        })
    }
}

/// The formats that every file has.
const fn of_number(id: u32) -> Shown {
    match id {
        14..=17 | 27..=31 | 36 | 50..=58 => Shown { date: true, time: false },
        22 => Shown { date: true, time: true },
        18..=21 | 32..=35 | 45..=47 => Shown { date: false, time: true },
        _ => Shown { date: false, time: false },
    }
}

/// What a format's own code shows: its letters outside of quotes and brackets.
fn of_code(code: &str) -> Shown {
    let (mut shown, mut quoted, mut bracket, mut escaped) = (Shown::default(), false, false, false);
    for letter in code.chars().take(256) {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match letter.to_ascii_lowercase() {
            '\\' | '_' => escaped = true,
            '"' => quoted = !quoted,
            '[' => bracket = true,
            ']' => bracket = false,
            _ if quoted || bracket => {}
            'y' | 'd' => shown.date = true,
            'h' | 's' => shown.time = true,
            _ => {}
        }
    }
    shown
}

/// The date of days since 1970.
fn civil(days: i64) -> String {
    let seconds = days.saturating_mul(86_400);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| String::new(), |at| at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_dates_that_people_see() {
        let styles = vec![of_number(0), of_number(14), of_number(22), of_code("dd/mm/yyyy"), of_code("[Red]0.00 \"days\""), of_code("hh:mm")];
        let dates = Dates { styles: styles.clone(), since_1904: false };
        let shown = |style, value| dates.shown(style, value);
        assert_eq!(shown(0, "45292"), None);
        assert_eq!(shown(1, "45292").as_deref(), Some("2024-01-01"));
        assert_eq!(shown(2, "45292.5").as_deref(), Some("2024-01-01 12:00"));
        assert_eq!(shown(3, "1").as_deref(), Some("1900-01-01"));
        assert_eq!((shown(4, "5"), shown(1, "x"), shown(1, "-1"), shown(1, "1e99")), (None, None, None, None));
        assert_eq!(shown(5, "0.25").as_deref(), Some("06:00"));
        assert_eq!(Dates { styles, since_1904: true }.shown(1, "43830").as_deref(), Some("2024-01-01"));
    }
}
