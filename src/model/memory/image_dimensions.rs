//! Owns the size of an image, read from the beginning of its file.

/// Width and height in pixels of a PNG, JPEG, GIF or WebP file, if its beginning contains them.
pub fn image_dimensions(head: &[u8]) -> Option<(u32, u32)> {
    match head {
        [0x89, b'P', b'N', b'G', ..] => png(head),
        [b'G', b'I', b'F', b'8', ..] => Some((little16(head, 6)?, little16(head, 8)?)),
        [b'R', b'I', b'F', b'F', ..] => webp(head),
        [0xff, 0xd8, ..] => jpeg(head),
        _ => None,
    }
}

fn png(head: &[u8]) -> Option<(u32, u32)> {
    (head.get(12..16)? == b"IHDR").then_some(())?;
    let big32 = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    Some((big32(16)?, big32(20)?))
}

/// The three forms of WebP: lossy, lossless, extended.
fn webp(head: &[u8]) -> Option<(u32, u32)> {
    match head.get(12..16)? {
        b"VP8 " => (head.get(23..26)? == [0x9d, 0x01, 0x2a]).then_some((little16(head, 26)? & 0x3fff, little16(head, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(head.get(21..25)?.try_into().ok()?);
            (head.get(20)? == &0x2f).then_some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => Some((little24(head, 24)? + 1, little24(head, 27)? + 1)),
        _ => None,
    }
}

/// The frame header is behind segments of other data, each with its length.
fn jpeg(head: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if head.get(at)? != &0xff {
            return None;
        }
        match head.get(at + 1)? {
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => return Some((big16(head, at + 7)?, big16(head, at + 5)?)),
            0xd9 | 0xda => return None,
            _ => at += 2 + (big16(head, at + 2)? as usize).max(2),
        }
    }
}

fn big16(head: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(head.get(at..at + 2)?.try_into().ok()?)))
}

fn little16(head: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?)))
}

fn little24(head: &[u8], at: usize) -> Option<u32> {
    let bytes = head.get(at..at + 3)?;
    Some(u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    #[test]
    fn sizes_are_read_from_real_headers() {
        let mut jpeg = b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec();
        jpeg.extend(b"\xff\xe1\x00\x04ab\xff\xff\xc2\x00\x11\x08\x01\x2c\x02\x80\x03");
        let mut lossless = b"RIFF....WEBPVP8L....\x2f".to_vec();
        lossless.extend((799_u32 | (599 << 14)).to_le_bytes());
        for (bytes, size) in [
            (png_of(640, 480), Some((640, 480))),
            (b"GIF89a\x80\x02\xe0\x01".to_vec(), Some((640, 480))),
            (jpeg, Some((640, 300))),
            (b"RIFF....WEBPVP8 ....\0\0\0\x9d\x01\x2a\x80\x02\xe0\x41".to_vec(), Some((640, 480))),
            (lossless, Some((800, 600))),
            (b"RIFF....WEBPVP8X....\0\0\0\0\x7f\x02\0\xdf\x01\0".to_vec(), Some((640, 480))),
            (b"\xff\xd8\xff\xda\0\x04ab".to_vec(), None),
            (b"%PDF-1.7".to_vec(), None),
        ] {
            assert_eq!(image_dimensions(&bytes), size, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(start in 0_usize..5, bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let begin: [&[u8]; 5] = [b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", b"RIFF....WEBPVP8X", b"GIF89a"];
            let mut all = begin[start].to_vec();
            all.extend(bytes);
            let _ = image_dimensions(&all);
        }
    }
}
