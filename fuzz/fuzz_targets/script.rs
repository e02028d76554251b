//! Scripts of builder tools: any code ends in its time and gives JSON or a reason. The first line is the input.
#![no_main]

use std::ffi::c_long;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use wfstudio::fuzzing::script;

unsafe extern "C" {
    /// The processor time of this process, in microseconds: a busy machine is no finding.
    safe fn clock() -> c_long;
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (input, code) = text.split_once('\n').unwrap_or(("{}", text));
    let before = clock();
    let (given, problem) = script(code, input, Duration::from_millis(50));
    let took = clock() - before;
    assert!(took < 5_000_000, "{took} µs");
    assert!(given.len() <= 8 << 20 && problem.is_none_or(|problem| problem.len() <= 16_000));
});
