//! MCP servers: what programs write and streams send, and definitions with their arguments and environment.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::fuzzing::{definition, events, lines};

fuzz_target!(|data: &[u8]| {
    let [piece, bytes @ ..] = data else { return };
    lines(bytes, usize::from(*piece) + 1);
    events(bytes);
    if let Ok(body) = serde_json::from_slice(bytes) {
        definition(&body);
    }
});
