//! Arguments as models write them, and JSON of others within its bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::fuzzing::{arguments, json};

fuzz_target!(|data: &[u8]| {
    let read = json(data);
    assert_eq!(read.is_ok(), serde_json::from_slice::<serde_json::Value>(data).is_ok(), "short texts are never too many values");
    if let Ok(text) = std::str::from_utf8(data) {
        arguments(text);
    }
});
