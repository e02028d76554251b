//! Owns the cost of a JSON text, computed before it is parsed: its depth and the approximate memory of its values.
//!
//! Parsed values need many times the bytes of their text: `0,` has two, a number in a list more than seventy. So foreign texts are measured
//! before they are parsed. `surrogates` repairs texts that contain half a character (a single surrogate).

pub(crate) mod surrogates;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Bytes that the values of one text may take.
pub(crate) const MOST: usize = 96 << 20;
/// Of a value in its list, which may have room for as many again.
const VALUE: usize = 2 * size_of::<Value>();
/// Of an object or a list beside what is in it.
const CONTAINER: usize = 320;
/// Of a member beside its value: its name, its place in the table.
const MEMBER: usize = 128;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Objects and arrays inside each other.
    pub(crate) depth: usize,
    /// About how many bytes the values take.
    pub(crate) bytes: usize,
}

/// Measures a text; what is no JSON gets some measure too.
pub(crate) fn measure(text: &[u8]) -> Measured {
    let (mut depth, mut found, mut string, mut escaped) = (0_usize, Measured { depth: 0, bytes: VALUE }, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            _ if string => {}
            b'{' | b'[' => {
                depth += 1;
                found.depth = found.depth.max(depth);
                found.bytes += VALUE + if *byte == b'{' { CONTAINER } else { 0 };
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => found.bytes += VALUE,
            b':' => found.bytes += MEMBER,
            _ => {}
        }
    }
    found
}

/// Why a text was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// Its values would take too much memory.
    #[error("it has too many values")]
    Heavy,
    /// It is not what is wanted.
    #[error(transparent)]
    Wrong(#[from] serde_json::Error),
}

/// Whether the values of a text would take too much memory. A short text cannot, and is not measured.
pub(crate) fn is_heavy(text: &[u8]) -> bool {
    text.len() > MOST / (VALUE + CONTAINER + MEMBER) && measure(text).bytes > MOST
}

/// Reads a text of others, unless its values are too many.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Unread> {
    if is_heavy(text) {
        return Err(Unread::Heavy);
    }
    Ok(serde_json::from_slice(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        for (text, wanted) in [("1", 0), ("[]", 1), (r#"{"a":[{}],"b":[]}"#, 3), (r#"["[[[[","\"[[","\\"]"#, 1), ("]]][", 1)] {
            assert_eq!(measure(text.as_bytes()).depth, wanted, "{text}");
        }
    }

    #[test]
    fn what_takes_too_much_is_not_read() {
        let heavy = |piece: &str| {
            let text = format!("[{}0]", piece.repeat((8 << 20) / piece.len()));
            matches!(read::<Value>(text.as_bytes()), Err(Unread::Heavy))
        };
        assert!(heavy("0,") && heavy("[],") && heavy("{\"\":0},") && heavy("\"\","));
        assert!(!heavy("\"a text of some length, as they are in what is sent: no value is near the bound, however many {[,:\",") && !heavy(" "));
    }
}
