//! Multipart forms: what is read does not depend on how the bytes came. The first line is the boundary.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::fuzzing::form;

fuzz_target!(|data: &[u8]| {
    let [piece, rest @ ..] = data else { return };
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (boundary, body) = rest.split_at(end);
    form(&String::from_utf8_lossy(boundary), body.get(1..).unwrap_or_default(), usize::from(*piece) + 1);
});
