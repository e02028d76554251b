//! What requests bring beside their routes: bodies of both chat protocols, positions, cursors, filters, ranges; and cells of tables.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::fuzzing::{adapter, query};

fuzz_target!(|data: &[u8]| {
    adapter(data);
    if let Ok(text) = std::str::from_utf8(data) {
        query(text);
    }
});
