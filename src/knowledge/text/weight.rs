//! Owns the check of a PDF before parsing: the unpacked size of its parts, and requests for too much memory.
//!
//! A file may lie about its parts, so every part is unpacked in every way that its first bytes allow.

use std::io::Read;

use flate2::read::{DeflateDecoder, ZlibDecoder};

use super::names;

/// The most that one part may become.
const PART: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };
/// Bytes that are looked at in one file, over and over: what begins in many places is read from each of them.
const LOOKED_AT: u64 = if cfg!(test) { 64 << 20 } else if cfg!(debug_assertions) { 256 << 20 } else { 1 << 30 };
/// Ways of packing inside each other.
const DEPTH: usize = 3;

/// Why a file is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It unpacks to too much.
    Heavy,
    /// It is encrypted, or hides what it asks for.
    Hidden,
}

/// Is the file fit to be opened, when all its parts may become so many bytes?
pub(super) fn check(file: &[u8], most: u64) -> Result<(), Unfit> {
    if names::is_encrypted(file) || names::asks_too_much(file) {
        return Err(Unfit::Hidden);
    }
    let (mut whole, mut left) = (0, LOOKED_AT);
    let mut rest = file;
    while let Some(at) = find(rest, b"stream") {
        let end = at + b"stream".len();
        let ends_one = rest[..at].ends_with(b"end");
        rest = &rest[end..];
        if ends_one {
            continue;
        }
        let data = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).or_else(|| rest.strip_prefix(b"\r")).unwrap_or(rest);
        let part = heaviest(data, DEPTH, &mut left)?;
        whole += part;
        if part > PART || whole >= most {
            return Err(Unfit::Heavy);
        }
    }
    Ok(())
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let first = what.first()?;
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| byte == first) {
        if text[from + at..].starts_with(what) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

/// The largest unpacked size of data; above the limit of a part it returns slightly more than the limit.
fn heaviest(data: &[u8], depth: usize, left: &mut u64) -> Result<u64, Unfit> {
    if depth == 0 {
        return Ok(0);
    }
    let zlib = is_zlib(data).then(|| unpacked(ZlibDecoder::new(data)));
    // Without a header it cannot be recognised, and readers try it where the header is missing or wrong.
    let is_open = depth == DEPTH && zlib.as_ref().is_none_or(Vec::is_empty);
    let bare = is_open.then(|| unpacked(DeflateDecoder::new(data)));
    let behind = data.get(2..).filter(|_| is_open).map(|body| unpacked(DeflateDecoder::new(body)));
    let found = [zlib, bare, behind, from_hex(data), from_ascii85(data)];
    let (lzw, lzw_read) = lzw(data);
    let (runs, runs_read) = runs(data);
    let made: usize = found.iter().flatten().map(Vec::len).sum();
    // Digits become at most half as many bytes.
    *left = left.checked_sub((64 + lzw_read + runs_read + 3 * made) as u64).ok_or(Unfit::Heavy)?;
    let mut most = swollen(data.len(), lzw).max(swollen(data.len(), runs));
    for plain in found.into_iter().flatten().filter(|plain| !plain.is_empty()) {
        if plain.len() as u64 > PART {
            return Err(Unfit::Heavy);
        }
        if names::asks_too_much(&plain) || names::unpacks_pictures(&plain) {
            return Err(Unfit::Hidden);
        }
        most = most.max(plain.len() as u64).max(heaviest(&plain, depth - 1, left)?);
    }
    Ok(most)
}

const fn is_zlib(data: &[u8]) -> bool {
    match data {
        [first, second, ..] => *first & 0x0f == 8 && ((*first as u16) << 8 | *second as u16).is_multiple_of(31),
        _ => false,
    }
}

/// What comes out, also of data that breaks off; no more than a little over the limit of a part.
fn unpacked(from: impl Read) -> Vec<u8> {
    let mut plain = Vec::new();
    let _as_far_as_it_goes = from.take(PART + 1).read_to_end(&mut plain);
    plain
}

/// Any data can be read in these ways and grows a little; only what grows beyond all measure was made for it.
const fn swollen(from: usize, to: u64) -> u64 {
    if to > PART && to / 16 > from as u64 { to } else { 0 }
}

/// How long the data is as LZW codes, and how much of it was read.
fn lzw(data: &[u8]) -> (u64, usize) {
    let mut lengths: Vec<u64> = Vec::with_capacity(4096);
    let (mut before, mut total, mut bits, mut held) = (None, 0, 0_u32, 0_u32);
    for (at, byte) in data.iter().enumerate() {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        let width = match lengths.len() {
            0..254 => 9,
            254..766 => 10,
            766..1790 => 11,
            _ => 12,
        };
        if bits < width {
            continue;
        }
        bits -= width;
        let code = (held >> bits & ((1 << width) - 1)) as usize;
        match code {
            256 => {
                lengths.clear();
                before = None;
                continue;
            }
            257 => return (total, at),
            _ => {}
        }
        let length = if code < 256 { 1 } else { lengths.get(code - 258).copied().or(before.map(|before| before + 1)).unwrap_or(1) };
        if let Some(before) = before.filter(|_| lengths.len() < 3838) {
            lengths.push(before + 1);
        }
        before = Some(length);
        total += length;
    }
    (total, data.len())
}

/// How long the data is as runs of bytes, and how much of it was read.
fn runs(data: &[u8]) -> (u64, usize) {
    let (mut at, mut total) = (0, 0);
    while let Some(control) = data.get(at) {
        match control {
            128 => break,
            0..128 => {
                total += u64::from(*control) + 1;
                at += usize::from(*control) + 2;
            }
            129.. => {
                total += 257 - u64::from(*control);
                at += 2;
            }
        }
    }
    (total, at.min(data.len()))
}

/// The bytes of hexadecimal digits, when the data begins with nothing else.
fn from_hex(data: &[u8]) -> Option<Vec<u8>> {
    let digits = data.iter().filter(|byte| !byte.is_ascii_whitespace()).take_while(|byte| byte.is_ascii_hexdigit());
    let digits: Vec<u8> = digits.filter_map(|digit| char::from(*digit).to_digit(16)).filter_map(|digit| u8::try_from(digit).ok()).collect();
    (digits.len() >= 8).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect())
}

/// The bytes of base-85 digits, when the data begins with nothing else.
fn from_ascii85(data: &[u8]) -> Option<Vec<u8>> {
    let data = data.strip_prefix(b"<~").unwrap_or(data);
    let mut bytes = Vec::new();
    let (mut group, mut digits) = (0_u32, 0);
    for byte in data.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        match byte {
            b'z' if digits == 0 => bytes.extend([0; 4]),
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                digits += 1;
                if digits == 5 {
                    bytes.extend(group.to_be_bytes());
                    (group, digits) = (0, 0);
                }
            }
            _ => break,
        }
    }
    (bytes.len() >= 4).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).expect("memory");
        encoder.finish().expect("memory")
    }

    fn file(data: &[u8]) -> Vec<u8> {
        [&b"%PDF-1.4\n1 0 obj<</Length 9/Filter /None>>stream\n"[..], data, b"\nendstream\nendobj"].concat()
    }

    fn heavy(file: &[u8]) -> bool {
        check(file, 512 << 20) == Err(Unfit::Heavy)
    }

    fn fit(file: &[u8]) -> bool {
        check(file, 512 << 20).is_ok()
    }

    #[test]
    fn what_is_hidden_is_not_opened() {
        for part in ["<</Encrypt 9 0 R>>", "/Columns 99999999", "/Columns 7 0 R", "/Col#75mns 5", "/Columns%\n5"] {
            assert_eq!(check(&[b"%PDF-1.4 ", part.as_bytes()].concat(), 512 << 20), Err(Unfit::Hidden), "{part}");
        }
        for part in ["[/JPXDecode]", "/Columns 1000000", "/CCF "] {
            assert_eq!(check(&file(&packed(part.as_bytes())), 512 << 20), Err(Unfit::Hidden), "{part}");
        }
        assert!(fit(b"%PDF-1.4 /Columns 5 /Predictor 12 /ColumnsX /Filter/JPXDecode"));
    }

    /// The longest string of a full table, over and over.
    fn lzw_bomb(bytes: usize) -> Vec<u8> {
        let mut codes: Vec<(u32, u32)> = vec![(256, 9), (0, 9)];
        codes.extend((0..3838_u32).map(|n| (258 + n, if n + 1 < 254 { 9 } else if n + 1 < 766 { 10 } else if n + 1 < 1790 { 11 } else { 12 })));
        codes.extend(std::iter::repeat_n((4095, 12), bytes * 8 / 12));
        let (mut out, mut held, mut bits) = (Vec::new(), 0_u64, 0);
        for (code, width) in codes {
            held = held << width | u64::from(code);
            bits += width;
            while bits >= 8 {
                bits -= 8;
                out.push((held >> bits & 255) as u8);
            }
            held &= (1 << bits) - 1;
        }
        out
    }

    #[test]
    fn a_file_full_of_beginnings_is_given_up() {
        let file = [b"%PDF-1.4\n".as_slice(), &b"streamvw~~".repeat(1 << 17)].concat();
        assert!(heavy(&file));
    }

    #[test]
    fn bombs_are_seen_however_they_are_wrapped() {
        let bomb = packed(&vec![0; (PART + 9) as usize]);
        let hex: String = bomb.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(heavy(&file(&bomb)));
        assert!(heavy(&file(&bomb[2..])), "without its header");
        assert!(heavy(&file(&packed(&bomb))), "packed twice");
        assert!(heavy(&file(hex.as_bytes())));
        assert!(heavy(&file(&[129, 0].repeat(1 << 17))), "runs");
        assert!(heavy(&file(&packed(&[129, 0].repeat(1 << 17)))), "packed runs");
        assert!(heavy(&file(&lzw_bomb(1 << 18))), "LZW");
        let noise: Vec<u8> = (0..4_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert!(fit(&file(&noise)), "a picture");
        assert!(fit(&file(&packed(b"BT (hello) Tj ET"))));
        assert!(fit(&file(b"BT (hello) Tj ET")));
        assert!(fit(b"%PDF-1.4 streamstreamendstream"));
    }
}
