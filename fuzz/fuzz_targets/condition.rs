//! Conditions: rules and expressions are compiled and asked without a panic, in bounded time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use wfstudio::model::condition::{Operator, Test};
use wfstudio::model::state::State;

fn state() -> State {
    let fields = json!({"input": "refund please", "score": 0.5, "n": -3, "list": [1, "two", null, {"a": [true]}], "text": "é😀", "none": null, "o": {"k": {"k": "v"}}});
    State::from_json(fields.as_object().cloned().unwrap_or_default())
}

fn ask(data: &Map<String, Value>) {
    if let Ok(test) = Test::parse_or_default(data) {
        let state = state();
        assert_eq!(test.holds(&state).ok(), test.holds(&state).ok(), "the same question has the same answer");
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    ask(&Map::from_iter([("expression".to_owned(), Value::from(text))]));
    if let Ok(Value::Object(data)) = serde_json::from_str(text) {
        ask(&data);
    }
    let (value, path) = text.split_once('\n').unwrap_or((text, "text"));
    let operator = Operator::ALL[data.len() % Operator::ALL.len()].as_str();
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    let rule = json!({"state_key": path, "operator": operator, "value": value, "strict": data.len() % 3 == 0});
    ask(rule.as_object().unwrap_or(&Map::new()));
});
