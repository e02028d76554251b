//! Owns the position of a reader in a stream: `Last-Event-ID`, `after` and `order`.

use crate::engine::{From, Order};
use crate::error::{Error, Result};
use crate::http::call::Call;

/// What a reader asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Position {
    pub(in crate::http) order: Order,
    /// Right after this, if it said.
    pub(in crate::http) after: Option<u64>,
}

impl Position {
    /// Reads a request's position. The header wins over the query; the form of the id selects the order.
    pub(in crate::http) fn of(call: &Call) -> Result<Self> {
        let header = call.headers.get("last-event-id").map(|value| value.to_str().unwrap_or("?"));
        let header = header.filter(|id| !id.is_empty()).map(|id| ("Last-Event-ID", id));
        let given = header.or_else(|| call.query_as_given("after").map(|id| ("after", id)));
        Self::parse(given, call.query("order"))
    }

    pub(in crate::http) fn parse(given: Option<(&str, &str)>, order: Option<&str>) -> Result<Self> {
        let order = match order {
            None => None,
            Some("ordered") => Some(Order::Ordered),
            Some("live") => Some(Order::Live),
            Some(_) => return Err(Error::field("order", "order must be `ordered` or `live`")),
        };
        let Some((field, id)) = given else { return Ok(Self { order: order.unwrap_or_default(), after: None }) };
        let wrong = || Error::field(field, format!("{field} must be an event id, such as `7` or `L7`"));
        let (form, after) = event_id(id).ok_or_else(wrong)?;
        if order.is_some_and(|order| order != form) {
            return Err(Error::field("order", format!("order does not fit {field} `{id}`")));
        }
        Ok(Self { order: form, after: Some(after) })
    }

    /// From this position, but not before `first`.
    pub(in crate::http) fn not_before(self, first: u64) -> From {
        From { order: self.order, after: self.after.map_or(first, |after| after.max(first)) }
    }
}

/// `7` is ordered, `L7` live. Numbers too long to hold are beyond every end.
fn event_id(id: &str) -> Option<(Order, u64)> {
    let (order, digits) = id.strip_prefix('L').map_or((Order::Ordered, id), |digits| (Order::Live, digits));
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| (order, digits.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_id_selects_the_order() {
        let read = |id, order| Position::parse(Some(("after", id)), order).map(|found| (found.order, found.after)).ok();
        for (id, order, wanted) in [
            ("7", None, Some((Order::Ordered, Some(7)))),
            ("0", Some("ordered"), Some((Order::Ordered, Some(0)))),
            ("L7", None, Some((Order::Live, Some(7)))),
            ("L7", Some("live"), Some((Order::Live, Some(7)))),
            ("99999999999999999999999", None, Some((Order::Ordered, Some(u64::MAX)))),
            ("7", Some("live"), None),
            ("L7", Some("ordered"), None),
            ("", None, None),
            ("L", None, None),
            ("l7", None, None),
            ("-1", None, None),
            ("+1", None, None),
            ("7 ", None, None),
            ("7", Some("sideways"), None),
        ] {
            assert_eq!(read(id, order), wanted, "{id} {order:?}");
        }
        assert_eq!(Position::parse(None, Some("live")).expect("a position"), Position { order: Order::Live, after: None });
    }

    #[test]
    fn a_refusal_names_the_field_that_is_wrong() {
        let fields = |given, order| {
            let error = Position::parse(given, order).expect_err("refused");
            error.members["errors"].as_object().expect("fields").keys().next().cloned()
        };
        assert_eq!(fields(Some(("Last-Event-ID", "x")), None).as_deref(), Some("Last-Event-ID"));
        assert_eq!(fields(Some(("after", "x")), None).as_deref(), Some("after"));
        assert_eq!(fields(Some(("after", "7")), Some("live")).as_deref(), Some("order"));
    }

    #[test]
    fn a_replay_never_begins_before_its_answer() {
        let from = |after| Position { order: Order::Ordered, after }.not_before(5).after;
        assert_eq!((from(None), from(Some(2)), from(Some(9))), (5, 5, 9));
    }
}
