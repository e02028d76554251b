//! Owns the names in a PDF that request memory: pictures, row widths, encryption.
//!
//! Text extraction needs no pictures: their filters are renamed, so that the parser does not unpack them.

/// Filters of pictures.
const PICTURES: [&[u8]; 6] = [b"JPXDecode", b"JBIG2Decode", b"CCITTFaxDecode", b"DCTDecode", b"CCF", b"DCT"];
/// Those of them whose sizes are what the file says they are.
const UNBOUND: [&[u8]; 4] = [b"JPXDecode", b"JBIG2Decode", b"CCITTFaxDecode", b"CCF"];
/// The digits that a width may have.
const DIGITS: usize = 6;

/// Renames the filters of pictures.
pub(super) fn hide_pictures(file: &mut [u8]) {
    let mut from = 0;
    while let Some(name) = next(file, from) {
        from = name.end;
        if PICTURES.contains(&&file[name.start..name.end]) {
            file[name.start] = b'X';
        }
    }
}

/// Is a key of encryption there?
pub(super) fn is_encrypted(file: &[u8]) -> bool {
    all(file).any(|name| unescaped(&file[name]) == b"Encrypt")
}

/// Is a row wider than anything that holds text, or are names spelled so that they are not seen?
pub(super) fn asks_too_much(data: &[u8]) -> bool {
    all(data).any(|name| {
        let (text, after) = (&data[name.clone()], &data[name.end..]);
        if text.contains(&b'#') {
            let meant = unescaped(text);
            return meant == b"Columns" || PICTURES.contains(&meant.as_slice());
        }
        text == b"Columns" && !is_small(after)
    })
}

/// Does unpacked data name filters of pictures? What is not packed was renamed.
pub(super) fn unpacks_pictures(plain: &[u8]) -> bool {
    all(plain).any(|name| UNBOUND.contains(&&plain[name]))
}

/// A number of few digits, and no reference to one.
fn is_small(after: &[u8]) -> bool {
    let after = after.trim_ascii_start();
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = after[digits..].trim_ascii_start();
    let generation = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_reference = generation > 0 && rest[generation..].trim_ascii_start().starts_with(b"R");
    (1..=DIGITS).contains(&digits) && !is_reference
}

fn all(data: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let name = next(data, from)?;
        from = name.end;
        Some(name)
    })
}

/// The next name from a place on, without its slash.
fn next(data: &[u8], from: usize) -> Option<std::ops::Range<usize>> {
    let start = from + data.get(from..)?.iter().position(|byte| *byte == b'/')? + 1;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0 || b"/<>[](){}%".contains(byte);
    let length = data[start..].iter().take(128).position(ends).unwrap_or_else(|| data[start..].len().min(128));
    Some(start..start + length)
}

/// The name with `#41` as `A`.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let digit = |at: usize| name.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(name.len()), 0);
    while let Some(byte) = name.get(at) {
        let pair = if *byte == b'#' { digit(at + 1).zip(digit(at + 2)) } else { None };
        let (byte, step) = pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()).map_or((*byte, 1), |byte| (byte, 3));
        out.push(byte);
        at += step;
    }
    out
}
