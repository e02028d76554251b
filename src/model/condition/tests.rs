use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::event::FaultCode;
use crate::model::sketch::any_json;

fn holds(data: &Value, state: &Value) -> bool {
    let test = Test::parse_or_default(data.as_object().unwrap()).unwrap_or_else(|flaws| panic!("{data}: {flaws:?}"));
    test.holds(&State::from_json(state.as_object().cloned().unwrap_or_default())).unwrap()
}

/// Does an operator hold between a state value and a given one?
fn rule(operator: &str, state: &Value, value: &Value) -> bool {
    holds(&json!({"state_key": "k", "operator": operator, "value": value}), &json!({"k": state}))
}

#[track_caller]
fn table(operator: &str, negation: Option<&str>, rows: Value) {
    for row in rows.as_array().unwrap() {
        let (state, value, expected) = (&row[0], &row[1], row[2].as_bool().unwrap());
        assert_eq!(rule(operator, state, value), expected, "{state} {operator} {value}");
        if let Some(negation) = negation {
            assert_eq!(rule(negation, state, value), !expected, "{state} {negation} {value}");
        }
    }
}

#[test]
fn emptiness() {
    table(
        "not_empty",
        Some("empty"),
        json!([["a", null, true], [" ", null, true], [0, null, true], [false, null, true], [[0], null, true], [{"a": 1}, null, true],
        ["", null, false], [[], null, false], [{}, null, false], [null, null, false]]),
    );
    assert!(rule("is_empty", &json!(""), &Value::Null));
    assert!(holds(&json!({"state_key": "gone", "operator": "empty"}), &json!({})));
}

#[test]
fn equality() {
    table(
        "equals",
        Some("not_equals"),
        json!([
            ["a", "a", true], ["a", "A", false], ["5", 5, true], [5, "5.0", true], ["1e2", 100, true], ["05", "5", true], [9007199254740993_i64, 9007199254740992_i64, false],
            [true, "yes", true], ["on", true, true], [1, true, true], [0, "false", true], ["maybe", true, false], [true, "true", true], ["TRUE", "true", true], [2, true, false], [null, false, false],
            [null, "", true], ["", null, true], [null, null, true], [null, "null", true], ["null", "null", false], ["x", null, false], [0, null, false],
            [[1, "a"], [1.0, "a"], true], [[1], ["1"], false], [{"a": [1]}, {"a": [1]}, true], [{"a": 1}, {"a": 1, "b": 2}, false], [[1], "[1]", false],
            ["nan", "nan", true], ["inf", "inf", true], ["1_0", "10", false], ["0x10", 16, false]
        ]),
    );
    assert!(holds(&json!({"state_key": "gone", "operator": "equals", "value": ""}), &json!({})));
}

#[test]
fn strict_equality_converts_nothing() {
    for (state, value, expected) in [
        (json!(5), json!("5"), false),
        (json!(5), json!(5.0), true),
        (json!(true), json!("true"), false),
        (json!("true"), json!("true"), true),
        (json!("null"), json!("null"), true),
        (Value::Null, json!(""), false),
        (Value::Null, Value::Null, true),
        (json!([1]), json!([1]), true),
        (json!("5"), json!("5"), true),
    ] {
        let data = json!({"state_key": "k", "operator": "equals", "value": value, "strict": true});
        assert_eq!(holds(&data, &json!({"k": state})), expected, "{state} === {value}");
        let list = json!({"state_key": "k", "operator": "in", "value": [value], "strict": true});
        assert_eq!(holds(&list, &json!({"k": state})), expected, "{state} in [{value}]");
    }
}

#[test]
fn containing() {
    table(
        "contains",
        Some("not_contains"),
        json!([
            ["hello", "ell", true], ["hello", "Ell", false], ["hello", "", true], ["a null b", "null", true], ["x true", "true", true], ["1234", 23, true], [1234, 23, false], [true, "ru", false], [0, "", false],
            [[1, "b"], "1", true], [["a"], "b", false], [[true], "yes", true], [{"a": 1}, "a", true], [{"a": 1}, "b", false], [{"5": 1}, 5, true], [null, "a", false], [null, "", false]
        ]),
    );
    table(
        "in",
        Some("not_in"),
        json!([
            ["a", ["b", "a"], true],
            [5, ["5"], true],
            [true, ["yes"], true],
            ["c", ["a"], false],
            [null, [""], true],
            ["a", "abc", false],
            ["a", null, false],
            ["a", [], false]
        ]),
    );
}

#[test]
fn text_operators() {
    table(
        "starts_with",
        None,
        json!([
            ["hello", "he", true],
            ["hello", "He", false],
            ["hello", "", true],
            ["512", 5, true],
            [512, "5", false],
            [true, "t", false],
            [null, "", false],
            [["h"], "h", false]
        ]),
    );
    table("ends_with", None, json!([["hello", "lo", true], ["hello", "LO", false], ["5.50", "5.5", false], ["5.5", 5.5, true], [5.5, "5", false], [null, "", false]]));
    table(
        "regex",
        None,
        json!([
            ["mail a@b.co now", r"[^\s@]+@[^\s@]+\.[^\s@]+", true],
            ["none", r"[^\s@]+@[^\s@]+\.[^\s@]+", false],
            ["Question: x", r"(?i)^\W*question\b", true],
            ["x\nRESOLVED: y", r"(?m)^RESOLVED:", true],
            ["x RESOLVED: y", r"(?m)^RESOLVED:", false],
            ["42", r"^\d+$", true],
            [42, r"^\d+$", false],
            [true, "true", false],
            [null, ".*", false],
            [["a"], "a", false],
            ["true", "true", true]
        ]),
    );
}

#[test]
fn booleans_and_nulls() {
    for (state, truth) in [
        (json!(true), Some(true)),
        (json!("YES"), Some(true)),
        (json!("on"), Some(true)),
        (json!(1), Some(true)),
        (json!("1"), Some(true)),
        (json!(1.0), Some(true)),
        (json!(false), Some(false)),
        (json!("Off"), Some(false)),
        (json!(0), Some(false)),
        (json!("no"), Some(false)),
        (json!("0"), Some(false)),
        (json!(2), None),
        (json!("x"), None),
        (json!(""), None),
        (Value::Null, None),
        (json!([]), None),
        (json!({}), None),
    ] {
        assert_eq!(rule("is_true", &state, &Value::Null), truth == Some(true), "{state}");
        assert_eq!(rule("is_false", &state, &Value::Null), truth == Some(false), "{state}");
    }
    table(
        "is_null",
        Some("is_not_null"),
        json!([[null, null, true], ["", null, false], ["null", null, false], [0, null, false]]),
    );
    assert!(holds(&json!({"state_key": "a.b.c", "operator": "is_null"}), &json!({"a": {"b": 1}})));
}

#[test]
fn order() {
    for (operator, less, same, more) in
        [("gt", false, false, true), ("gte", false, true, true), ("lt", true, false, false), ("lte", true, true, false)]
    {
        table(
            operator,
            None,
            json!([
                [1, 2, less],
                ["1.5", "1.50", same],
                [3, "2", more],
                ["-1", 0, less],
                ["abc", 1, false],
                [1, "abc", false],
                [null, 0, false],
                [true, 0, false],
                [[1], 0, false],
                [1, null, false]
            ]),
        );
        let dates = |state: &str, value: &str| {
            holds(&json!({"state_key": "k", "operator": operator, "value": value, "value_type": "date"}), &json!({"k": state}))
        };
        assert_eq!(dates("2026-01-01", "2026-01-02"), less);
        assert_eq!(dates("2026-01-01T00:00:00Z", "2026-01-01"), same);
        assert_eq!(dates("2026-01-01T01:00:00+02:00", "2025-12-31T22:59:59Z"), more);
        assert_eq!(dates("2026-01-01t00:00:00.000000000z", "2026-01-01"), same);
        assert!(!dates("soon", "2026-01-01"));
        for other in [
            "20260101T000000Z", "2026-01-01T00:00Z", "2026-01-01T00:00:00Z[UTC]", "2026-01-01T00:00:00", "2026-01-01T00:00:00+0200",
            "2026-01-01T00:00:00+02", "2026-01-01T00Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.Z", "2026-W01-4", "2026-001Z  ", "+02026-01-1", "2026-1-001",
        ] {
            assert!(!dates(other, "2026-01-01"), "{other}");
        }
        assert!(!rule(operator, &json!("2026-01-01"), &json!("2026-01-01")), "dates are numbers only when they are said to be");
    }
}

#[test]
fn lengths() {
    for (operator, less, same, more) in [
        ("length_eq", false, true, false),
        ("length_gt", false, false, true),
        ("length_gte", false, true, true),
        ("length_lt", true, false, false),
        ("length_lte", true, true, false),
    ] {
        table(
            operator,
            None,
            json!([["é", 2, less], ["éa", "2", same], [[1, 2, 3], 2, more], [{"a": 1, "b": 2}, 2, same], [null, 0, same], ["a", "x", false], ["a", null, false]]),
        );
    }
}

#[test]
fn the_value_is_read_as_its_type() {
    for (value_type, value, state, expected) in [
        ("string", json!("null"), json!(null), false),
        ("string", json!(5), json!("5"), true),
        ("number", json!("5"), json!(5), true),
        ("boolean", json!("on"), json!(true), true),
        ("null", json!("anything"), json!(null), true),
        ("auto", json!("null"), json!(null), true),
    ] {
        let data = json!({"state_key": "k", "operator": "equals", "value": value, "value_type": value_type});
        assert_eq!(holds(&data, &json!({"k": state})), expected, "{value_type} {value} {state}");
    }
}

#[test]
fn rules_are_joined_and_win_over_a_single_test() {
    let rules = |logic: &str, a: bool, b: bool| {
        let data = json!({"state_key": "no", "logic": logic, "rules": [{"state_key": "a", "operator": "is_true"}, {"state_key": "b", "operator": "is_true"}]});
        holds(&data, &json!({"a": a, "b": b}))
    };
    assert_eq!(
        [rules("all", true, true), rules("all", true, false), rules("any", false, true), rules("any", false, false)],
        [true, false, true, false]
    );
    assert!(holds(&json!({"rules": [], "state_key": "a"}), &json!({"a": 1})));
    assert!(holds(&json!({}), &json!({"input": "x"})) && !holds(&json!({}), &json!({"input": ""})));
}

#[test]
fn a_loop_without_keys_has_no_test() {
    let parse = |data: Value| Test::parse(data.as_object().unwrap()).unwrap().is_some();
    assert!(!parse(json!({"value": 5, "strict": true, "rules": [], "expression": " ", "state_key": null})));
    assert!(
        parse(json!({"operator": "empty"}))
            && parse(json!({"state_key": "a"}))
            && parse(json!({"expression": "1"}))
            && parse(json!({"rules": [{}]}))
    );
}

fn expression(text: &str, state: Value) -> Result<bool, FaultCode> {
    let test = Test::parse(json!({"expression": text, "operator": "nope"}).as_object().unwrap()).unwrap().unwrap();
    test.holds(&State::from_json(state.as_object().cloned().unwrap())).map_err(|fault| fault.code)
}

#[test]
fn expressions_see_the_state() {
    let state =
        || json!({"score": 0.9, "intent": ["refund"], "n": 3, "o": {"k": [1, {"d": "x"}]}, "t": "text", "f": false, "z": null});
    for (text, expected) in [
        ("state.score > 0.8 and \"refund\" in state.intent", true),
        ("state.n == 3 and state[\"n\"] is odd", true),
        ("state.o.k[1].d == 'x'", true),
        ("state.missing", false),
        ("state.missing.deeper.still", false),
        ("state.f or state.z", false),
        ("state.t|upper == 'TEXT'", true),
        ("'n' in state", true),
        ("'no' in state", false),
        ("state.o.k|length > 2", false),
        ("state", true),
        ("other", false),
    ] {
        assert_eq!(expression(text, state()), Ok(expected), "{text}");
    }
}

#[test]
fn expressions_that_fail_or_run_away_end() {
    for text in [
        "1 / 0",
        "state.n()",
        "state|nofilter",
        "range(100000)|map('upper')|list|length > range(99999)|list|length and nothing()",
    ] {
        let parsed = Test::parse(json!({"expression": text}).as_object().unwrap());
        if let Ok(Some(test)) = parsed {
            let fault = test.holds(&State::new());
            assert!(fault.is_err() || text.starts_with("range"), "{text}: {fault:?}");
        }
    }
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(Test::parse(json!({"expression": deep}).as_object().unwrap()).is_err());
    let long = "not ".repeat(2400) + "1";
    let _ = Test::parse(json!({"expression": long}).as_object().unwrap());
}

/// A hostile but well formed test.
fn any_test() -> impl Strategy<Value = Value> {
    let operators: Vec<&str> = Operator::ALL.map(Operator::as_str).to_vec();
    let rule = (prop::sample::select(operators), prop::sample::select(VALUE_TYPES.to_vec()), any_json(), any::<bool>());
    rule.prop_map(|(operator, value_type, value, strict)| json!({"state_key": "k", "operator": operator, "value": value, "value_type": value_type, "strict": strict}))
}

proptest! {
    #[test]
    fn any_data_reads_or_is_refused(data in any_json()) {
        if let Some(data) = data.as_object() {
            let _ = Test::parse(data);
        }
    }

    #[test]
    fn any_test_of_any_state_ends(data in any_test(), state in any_json()) {
        if let Ok(test) = Test::parse_or_default(data.as_object().unwrap()) {
            let _ = test.holds(&State::from_json(json!({"k": state}).as_object().cloned().unwrap()));
        }
    }

    #[test]
    fn any_expression_ends(text in "[a-z0-9 .()\\[\\]|+*/<>=\"'~%-]{0,30}", state in any_json()) {
        if let Ok(Some(test)) = Test::parse(json!({"expression": text}).as_object().unwrap()) {
            let _ = test.holds(&State::from_json(json!({"a": state}).as_object().cloned().unwrap()));
        }
    }
}
