//! Owns the query parameters of the usage export.

use jiff::civil::Date;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::event::EntityKind;
use crate::store::usage::report::GroupBy;

/// Days between the first and the last of a window, at most.
const DAYS: i32 = 366;

/// What is asked of the usage export, checked.
#[derive(Clone, Debug)]
pub struct UsageWindow {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
    /// Runs of agents or of workflows.
    pub entity_type: Option<EntityKind>,
    /// Runs of this agent or workflow, by id or slug.
    pub entity_id: Option<String>,
    /// A breakdown.
    pub group_by: Option<GroupBy>,
    /// Calls of this model alone.
    pub model: Option<String>,
}

impl UsageWindow {
    /// Reads a query: text members by their names; others are left alone, empty ones are absent.
    ///
    /// # Errors
    /// `validation_failed` with everything that is wrong.
    pub fn parse(query: &Map<String, Value>) -> Result<Self> {
        let mut wrong = QueryProblems::default();
        let (from, to) = (wrong.day(query, "from"), wrong.day(query, "to"));
        if let Some((from, to)) = from.zip(to) {
            wrong.order(from, to);
        }
        let entity_type = wrong.word(query, "entity_type", &[("agent", EntityKind::Agent), ("workflow", EntityKind::Workflow)]);
        let entity_id = wrong.text(query, "entity_id").map(str::to_owned);
        let groups =
            [("model", GroupBy::Model), ("entity", GroupBy::Entity), ("day", GroupBy::Day), ("thread", GroupBy::Thread)];
        let group_by = wrong.word(query, "group_by", &groups);
        let model = wrong.text(query, "model").map(str::to_owned);
        match (from, to, wrong.0.is_empty()) {
            (Some(from), Some(to), true) => Ok(Self { from, to, entity_type, entity_id, group_by, model }),
            _ => Err(Error::fields(wrong.0)),
        }
    }
}

/// What is wrong with a query, by field.
#[derive(Default)]
struct QueryProblems(Vec<(String, String)>);

impl QueryProblems {
    fn say(&mut self, name: &str, told: String) {
        self.0.push((name.to_owned(), told));
    }

    fn text<'q>(&mut self, query: &'q Map<String, Value>, name: &str) -> Option<&'q str> {
        match query.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.as_str()).filter(|text| !text.is_empty()),
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                self.say(name, format!("{name} must be text"));
                None
            }
        }
    }

    fn day(&mut self, query: &Map<String, Value>, name: &str) -> Option<Date> {
        let before = self.0.len();
        let Some(text) = self.text(query, name) else {
            if self.0.len() == before {
                self.say(name, format!("{name} is required"));
            }
            return None;
        };
        let day = day(text);
        if day.is_none() {
            self.say(name, format!("{name} must be a date such as `2026-11-20`"));
        }
        day
    }

    fn order(&mut self, from: Date, to: Date) {
        if to < from {
            self.say("to", "to must not be before from".to_owned());
        } else if (to - from).get_days() > DAYS {
            self.say("to", format!("to must be at most {DAYS} days after from"));
        }
    }

    fn word<T: Copy>(&mut self, query: &Map<String, Value>, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(query, name)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meant)| *meant);
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.say(name, format!("{name} must be {}", known.join(" or ")));
        }
        found
    }
}

/// A date that is written out; the first and the last years of the calendar have no days around them.
fn day(text: &str) -> Option<Date> {
    let digits = |at: usize, byte: u8| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() };
    let written = text.len() == 10 && text.bytes().enumerate().all(|(at, byte)| digits(at, byte));
    let day: Date = if written { text.parse().ok()? } else { return None };
    (1..=9998).contains(&day.year()).then_some(day)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
use serde_json::json;

    use super::*;

    fn asked(query: Value) -> Result<UsageWindow> {
        UsageWindow::parse(query.as_object().expect("an object"))
    }

    #[test]
    fn every_wrong_member_is_told() {
        let wrong = asked(json!({"from": "2026-1-01", "entity_type": "tool", "entity_id": 7, "group_by": "provider", "model": []}));
        let told = wrong.expect_err("a refusal").members["errors"].to_string();
        expect![[r#"{"from":["from must be a date such as `2026-11-20`"],"to":["to is required"],"entity_type":["entity_type must be `agent` or `workflow`"],"entity_id":["entity_id must be text"],"group_by":["group_by must be `model` or `entity` or `day` or `thread`"],"model":["model must be text"]}"#]].assert_eq(&told);
    }

    #[test]
    fn a_window_has_an_order_and_a_length() {
        for (from, to, told) in [
            ("2026-11-02", "2026-11-01", "to must not be before from"),
            ("2026-01-01", "2027-01-03", "to must be at most 366 days after from"),
            ("0000-12-31", "2026-01-01", "from must be a date such as `2026-11-20`"),
            ("9999-12-31", "9999-12-31", "from must be a date such as `2026-11-20`"),
            ("2026-02-29", "2026-03-01", "from must be a date such as `2026-11-20`"),
            ("+026-02-01", "2026-03-01", "from must be a date such as `2026-11-20`"),
            ("2026-02-01T00:00", "2026-03-01", "from must be a date such as `2026-11-20`"),
            ("", "2026-03-01", "from is required"),
        ] {
            let refusal = asked(json!({"from": from, "to": to})).expect_err("a refusal");
            assert_eq!((refusal.message.as_str(), refusal.kind.status()), (told, 422));
        }
        let widest = asked(json!({"from": "2026-01-01", "to": "2027-01-02", "model": "", "tenant": 7})).expect("a window");
        assert_eq!((widest.to - widest.from).get_days(), 366);
        assert_eq!(widest.model, None);
        assert!(asked(json!({"from": "0001-01-01", "to": "0001-01-01"})).is_ok());
    }
}
