//! Owns the toolkit `calendar`: today, days from a date, days between dates.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::Unit;
use serde_json::{Value, json};

use super::{Built, Place, ToolReply, failed, text};
use crate::tools::schema;

pub(super) const NOW: Built = Built {
    toolkit: "calendar",
    name: "now",
    description: "The current date and time, with the weekday.",
    idempotent: true,
    schema: || schema::object(&[]),
    run: now,
};

pub(super) const ADD: Built = Built {
    toolkit: "calendar",
    name: "add",
    description: "The date that lies a number of days after a date; before it when the number is negative.",
    idempotent: true,
    schema: || schema::object(&[("date", "string", "YYYY-MM-DD"), ("days", "integer", "Number of days")]),
    run: add,
};

pub(super) const DIFFERENCE: Built = Built {
    toolkit: "calendar",
    name: "difference",
    description: "The number of days from one date to another; negative when the other is earlier.",
    idempotent: true,
    schema: || schema::object(&[("from", "string", "YYYY-MM-DD"), ("to", "string", "YYYY-MM-DD")]),
    run: difference,
};

fn now(_: &Value, place: &Place) -> ToolReply {
    let at = jiff::Timestamp::from_millisecond(place.clock.now().0).unwrap_or_default();
    let here = at.to_zoned(TimeZone::get(&place.timezone).unwrap_or(TimeZone::UTC));
    let zone = here.time_zone().iana_name().unwrap_or("UTC").to_owned();
    ToolReply::value(&json!({
        "now": here.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(), "date": here.date().to_string(),
        "weekday": here.strftime("%A").to_string(), "timezone": zone,
    }))
}

fn add(arguments: &Value, _: &Place) -> ToolReply {
    let days = arguments.get("days").and_then(Value::as_i64).unwrap_or(0);
    let span = jiff::Span::new().try_days(days);
    match date(arguments, "date").and_then(|date| span.and_then(|span| date.checked_add(span)).map_err(|problem| problem.to_string())) {
        Ok(date) => ToolReply::value(&json!({"date": date.to_string(), "weekday": date.strftime("%A").to_string()})),
        Err(problem) => failed(problem),
    }
}

fn difference(arguments: &Value, _: &Place) -> ToolReply {
    let days = date(arguments, "from").and_then(|from| {
        let to = date(arguments, "to")?;
        from.until((Unit::Day, to)).map(|span| span.get_days()).map_err(|problem| problem.to_string())
    });
    days.map_or_else(failed, |days| ToolReply::value(&json!({ "days": days })))
}

fn date(arguments: &Value, name: &str) -> Result<Date, String> {
    let given = text(arguments, name).trim();
    given.parse().map_err(|_| format!("`{name}` is no date of the form YYYY-MM-DD: `{given}`"))
}

#[cfg(test)]
mod tests {
    use super::super::try_out;
    use super::*;

    #[test]
    fn dates_are_counted() {
        assert_eq!(
            try_out(&NOW, &json!({})),
            r#"{"now":"2025-11-20T22:00:00+00:00","date":"2025-11-20","weekday":"Thursday","timezone":"UTC"}"#
        );
        assert_eq!(try_out(&ADD, &json!({"date": "2024-02-28", "days": 2})), r#"{"date":"2024-03-01","weekday":"Friday"}"#);
        assert_eq!(try_out(&ADD, &json!({"date": "2024-01-01", "days": -1})), r#"{"date":"2023-12-31","weekday":"Sunday"}"#);
        assert!(try_out(&ADD, &json!({"date": "2024-01-01", "days": i64::MAX})).starts_with("error "));
        assert_eq!(try_out(&DIFFERENCE, &json!({"from": "2024-02-28", "to": "2024-03-01"})), r#"{"days":2}"#);
        assert_eq!(
            try_out(&DIFFERENCE, &json!({"from": "x", "to": "2024-03-01"})),
            r#"error {"error":"`from` is no date of the form YYYY-MM-DD: `x`"}"#
        );
    }
}
