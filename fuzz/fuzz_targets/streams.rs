//! The readers of server-sent events and of lines: what they give does not depend on how the bytes came, and stays within its bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wfstudio::providers::sse::{Events, Lines, TooLong};

const LIMIT: usize = 64;

fn events(pieces: impl Iterator<Item = impl AsRef<[u8]>>) -> (Vec<(String, String)>, bool) {
    let mut reader = Events::new(LIMIT);
    let mut found = Vec::new();
    for piece in pieces {
        // One byte at a time, so that what comes before a line that is too long is told in any case.
        for byte in piece.as_ref() {
            match reader.feed(&[*byte]) {
                Ok(events) => found.extend(events.into_iter().map(|event| (event.name.into_owned(), event.data))),
                Err(TooLong(_)) => return (found, true),
            }
        }
    }
    let too_long = match reader.rest() {
        Ok(event) => {
            found.extend(event.map(|event| (event.name.into_owned(), event.data)));
            false
        }
        Err(TooLong(_)) => true,
    };
    (found, too_long)
}

fuzz_target!(|data: &[u8]| {
    let (found, too_long) = events(std::iter::once(data));
    // A byte that is no UTF-8 becomes three.
    assert!(found.iter().all(|(name, data)| name.len() <= 3 * LIMIT && data.len() <= 4 * LIMIT && !data.is_empty()));
    let mut whole = Events::new(LIMIT);
    if let Ok(mut told) = whole.feed(data) {
        assert!(!too_long || whole.rest().is_err());
        told.truncate(found.len());
        assert!(told.iter().zip(&found).all(|(one, other)| one.data == other.1 && one.name == other.0));
    }
    let mut lines = Lines::new(LIMIT);
    if let Ok(mut told) = lines.feed(data) {
        told.extend(lines.rest());
        let mut slow = Lines::new(LIMIT);
        let mut again: Vec<String> = data.iter().flat_map(|byte| slow.feed(&[*byte]).unwrap_or_default()).collect();
        again.extend(slow.rest());
        assert_eq!(told, again);
    }
});
