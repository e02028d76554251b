//! The readers of providers' answers: the first byte chooses the family, the second how the rest is cut into pieces, whole or streamed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::fuzzing::{FAMILIES, read};

fuzz_target!(|data: &[u8]| {
    let [family, piece, bytes @ ..] = data else { return };
    read(FAMILIES[usize::from(*family) % FAMILIES.len()], piece % 8 != 0, bytes, usize::from(piece / 8) + 1);
});
