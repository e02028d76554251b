//! JSON Schemas: the first line is one, the second a value that is held against it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use wfstudio::tools::schema::{self, Schema};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (written, value) = text.split_once('\n').unwrap_or((text, "{}"));
    let (Ok(written), value) = (serde_json::from_str::<Value>(written), serde_json::from_str::<Value>(value).unwrap_or_default()) else { return };
    if let Ok(compiled) = Schema::compile(&written) {
        assert!(compiled.problems(&value).len() <= 10);
        assert_eq!(compiled.problems(&value), compiled.problems(&value), "the same value has the same problems");
    }
    let _filled = schema::filled(&written, value.as_object().cloned().unwrap_or_default());
});
