//! Scripts of builder tools: any code ends in its time and gives JSON or a reason. The first line is the input.
#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use wfstudio::fuzzing::script;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (input, code) = text.split_once('\n').unwrap_or(("{}", text));
    let begun = Instant::now();
    let (given, problem) = script(code, input, Duration::from_millis(50));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(given.len() <= 8 << 20 && problem.is_none_or(|problem| problem.len() <= 16_000));
});
