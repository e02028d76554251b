//! Owns the query parameters of lists of runs: filters, pages, and days in the configured time zone.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::http::call::Call;
use crate::http::settings;
use crate::model::event::EntityKind;
use crate::model::usage::Picos;
use crate::model::Timestamp;
use crate::studio::RunsQuery;

/// What a run can be.
const STATUSES: [&str; 7] =
    ["queued", "running", "awaiting_input", "awaiting_tool_approval", "completed", "failed", "cancelled"];

/// Items of a page when nothing else is said, and at most.
const PER_PAGE: (u64, u64) = (25, 100);

pub(super) fn list(call: &Call) -> Result<RunsQuery> {
    let zone = settings::time_zone(call.studio.config());
    Ok(RunsQuery {
        status: statuses(call.query("status"))?,
        entity_type: entity(call.query("entity_type"))?,
        entity_id: call.query("entity_id").map(str::to_owned),
        thread_id: call.query("thread_id").map(str::to_owned),
        parent_run_id: call.query("parent_run_id").filter(|id| *id != "none").map(str::to_owned),
        from: call.query("from").map(|text| bound("from", text, &zone, false)).transpose()?,
        to: call.query("to").map(|text| bound("to", text, &zone, true)).transpose()?,
        revision: call.query("revision").map(revision).transpose()?,
        min_cost: call.query("min_cost").map(cost).transpose()?,
        model: call.query("model").map(str::to_owned),
        list: call.list()?,
    })
}

/// Number and size of a page, and the statuses.
pub(super) fn page(call: &Call) -> Result<(u64, u64, Vec<String>)> {
    let page = number("page", call.query("page"), 1)?;
    let per_page = number("per_page", call.query("per_page"), PER_PAGE.0)?.min(PER_PAGE.1);
    Ok((page, per_page, statuses(call.query("status"))?))
}

fn revision(text: &str) -> Result<i64> {
    let number = text.parse().ok().filter(|number| *number >= 1);
    number.ok_or_else(|| Error::field("revision", "revision must be an integer from 1"))
}

/// An amount of the currency as a decimal, such as `0.02`; digits behind the twelfth are left out.
fn cost(text: &str) -> Result<Picos> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let picos = || format!("{whole}{part:0<12.12}").parse().ok();
    let known = (digits(whole) && digits(part)).then(picos).flatten().map(Picos);
    known.ok_or_else(|| Error::field("min_cost", "min_cost must be a decimal, such as `0.02`"))
}

fn number(name: &str, given: Option<&str>, usual: u64) -> Result<u64> {
    let Some(text) = given else { return Ok(usual) };
    let number = text.parse().ok().filter(|number| *number >= 1);
    number.ok_or_else(|| Error::field(name, format!("{name} must be an integer from 1")))
}

fn statuses(given: Option<&str>) -> Result<Vec<String>> {
    let words = given.into_iter().flat_map(|list| list.split(',')).map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let known = STATUSES.contains(&word);
            known.then(|| word.to_owned()).ok_or_else(|| Error::field("status", format!("status knows no `{word}`; it is one of: {}", STATUSES.join(", "))))
        })
        .collect()
}

/// `agent` or `workflow`.
pub(super) fn entity(given: Option<&str>) -> Result<Option<EntityKind>> {
    match given {
        None => Ok(None),
        Some("agent") => Ok(Some(EntityKind::Agent)),
        Some("workflow") => Ok(Some(EntityKind::Workflow)),
        Some(_) => Err(Error::field("entity_type", "entity_type must be `agent` or `workflow`")),
    }
}

/// A time, or a day: its first millisecond, or its last.
fn bound(name: &str, text: &str, zone: &TimeZone, last: bool) -> Result<Timestamp> {
    let wrong = || Error::field(name, format!("{name} must be a date or a time, such as `2026-11-20`"));
    if text.len() > "YYYY-MM-DD".len() {
        let at: jiff::Timestamp = text.replace(' ', "+").parse().map_err(|_| wrong())?;
        return Ok(Timestamp(at.as_millisecond()));
    }
    let day: Date = text.parse().map_err(|_| wrong())?;
    let day = if last { day.tomorrow().map_err(|_| wrong())? } else { day };
    let start = day.to_zoned(zone.clone()).map_err(|_| wrong())?;
    Ok(Timestamp(start.timestamp().as_millisecond() - i64::from(last)))
}

/// Reads a text as everything that a list may be asked.
#[cfg(feature = "fuzzing")]
pub(in crate::http) fn read_any(text: &str) {
    for zone in [TimeZone::UTC, TimeZone::fixed(jiff::tz::offset(-3))] {
        let (first, last) = (bound("from", text, &zone, false), bound("to", text, &zone, true));
        assert!(first.ok().zip(last.ok()).is_none_or(|(first, last)| first <= last), "{text}");
    }
    let _refused = (revision(text).is_err(), cost(text).is_err(), number("page", Some(text), 1).is_err(), statuses(Some(text)).is_err());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_whole_in_its_time_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(-3));
        let shown = |text, last| bound("to", text, &zone, last).map(|at: Timestamp| at.rfc3339()).unwrap_or_default();
        assert_eq!(shown("2026-11-20", false), "2026-11-20T03:00:00.000+00:00");
        assert_eq!(shown("2026-11-20", true), "2026-11-21T02:59:59.999+00:00");
        assert_eq!(shown("2026-11-20T10:00:00.5-03:00", true), "2026-11-20T13:00:00.500+00:00");
        assert_eq!(shown("2026-11-20T10:00:00 00:00", false), "2026-11-20T10:00:00.000+00:00");
        for wrong in ["", "x", "2026-13-01", "2026-11-20T", "20261"] {
            assert_eq!(shown(wrong, false), "", "{wrong}");
        }
    }

    #[test]
    fn amounts_are_exact() {
        let read = |text| cost(text).map(|picos| picos.0).ok();
        assert_eq!(read("0.02"), Some(20_000_000_000));
        assert_eq!(read("1"), Some(1_000_000_000_000));
        assert_eq!(read("0.0000000000019"), Some(1));
        for wrong in ["", ".5", "1.", "-1", "1,5", "1e3", "99999999999"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn unknown_words_are_refused() {
        assert_eq!(statuses(Some("failed, queued,")).expect("statuses"), ["failed", "queued"]);
        assert!(statuses(Some("done")).is_err());
        assert!(entity(Some("tool")).is_err());
        assert!(number("page", Some("0"), 1).is_err());
        assert!(revision("0").is_err() && revision("2").is_ok());
    }
}
