//! Readers of source files: the first byte chooses the language. What is found is what is read, and what was read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::codegen::{Target, list, read};

fuzz_target!(|data: &[u8]| {
    let [target, bytes @ ..] = data else { return };
    let target = Target::ALL[usize::from(*target) % Target::ALL.len()];
    let Ok(text) = read::decode(bytes) else { return };
    let found = list(target, text);
    if let Ok(one) = read(target, text, None) {
        assert!(found.iter().any(|(class, ..)| *class == one.class), "{found:?} {one:?}");
        assert!(serde_json::to_string(&one.definition).is_ok_and(|json| serde_json::from_str::<serde_json::Value>(&json).is_ok()));
    }
    for (class, ..) in found.iter().take(3) {
        let _read = read(target, text, Some(class));
    }
});
