//! Masking: names of keys in the first line, known values in the second; the rest comes whole, in pieces, and as JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use wfstudio::fuzzing::masked;
use wfstudio::model::redaction::{Masks, Redaction};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut words = || lines.next().unwrap_or_default().split(',').map(str::to_owned).collect::<Vec<_>>();
    let (names, values) = (words(), words());
    let rest = lines.next().unwrap_or_default();
    let Some(names) = Redaction::new(&names) else { return };
    let fresh = || {
        let mut masks = Masks::new(names.clone());
        values.iter().for_each(|value| masks.learn(&json!(value)));
        masks
    };
    let mut whole = rest.to_owned();
    fresh().text(&mut whole);
    let (mut masks, mut held, mut told) = (fresh(), String::new(), String::new());
    for letter in rest.chars() {
        held.push(letter);
        told.push_str(&masks.settled(&mut held));
    }
    masks.text(&mut held);
    told.push_str(&held);
    if let Ok(mut value) = serde_json::from_str::<Value>(rest) {
        fresh().value(&mut value);
    }
    let secrets: Vec<&str> = values.iter().map(String::as_str).collect();
    let _masked = masked(rest, &secrets);
});
