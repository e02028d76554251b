//! Owns the chunks in which an answer comes whose length nobody knew.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};

use super::unreadable;

/// A longer line around a chunk, or longer trailers, are not read.
const LINE_LIMIT: usize = 16 << 10;

/// Where in the chunks reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunks {
    /// Before the line with a chunk's length.
    Length,
    /// Inside a chunk, of which so much is left.
    Inside(u64),
    /// Behind a chunk, before its line end.
    Behind,
    /// Behind the last chunk, where so many bytes of trailers came.
    Trailers(usize),
    /// Everything came.
    Over,
}

impl Chunks {
    /// Takes what is in whole or cut chunks out of what came, as one piece.
    pub(super) fn take(&mut self, buffer: &mut BytesMut) -> io::Result<Bytes> {
        // What lies in one chunk is not copied; what lies in several is moved together.
        let (mut kept, mut at) = (0, 0);
        loop {
            match *self {
                Self::Inside(left) => {
                    let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len() - at);
                    if kept == 0 && at > 0 {
                        buffer.advance(at);
                        at = 0;
                    }
                    if at > kept {
                        buffer.copy_within(at..at + length, kept);
                    }
                    (kept, at) = (kept + length, at + length);
                    let left = left - length as u64;
                    *self = if left == 0 { Self::Behind } else { Self::Inside(left) };
                    if left > 0 {
                        break;
                    }
                }
                Self::Over => break,
                Self::Length | Self::Behind | Self::Trailers(_) => {
                    let next = line(&buffer[at..]).and_then(|line| line.map(|line| Ok((self.after(line)?, line.len()))).transpose());
                    match next {
                        Ok(Some((state, length))) => (*self, at) = (state, at + length),
                        Ok(None) => break,
                        // What came before it is taken first; the next call tells.
                        Err(_) if kept > 0 => break,
                        Err(problem) => return Err(problem),
                    }
                }
            }
        }
        let data = buffer.split_to(kept).freeze();
        buffer.advance(at - kept);
        Ok(data)
    }

    /// Where reading is after a line, which ends with its line end.
    fn after(self, line: &[u8]) -> io::Result<Self> {
        let text = line.trim_ascii_end();
        match self {
            Self::Length => Ok(match length(text).ok_or_else(|| unreadable("a chunk has no length"))? {
                0 => Self::Trailers(0),
                length => Self::Inside(length),
            }),
            Self::Behind if text.is_empty() => Ok(Self::Length),
            Self::Behind => Err(unreadable("a chunk is longer than it says")),
            Self::Trailers(_) if text.is_empty() => Ok(Self::Over),
            Self::Trailers(before) if before + line.len() <= LINE_LIMIT => Ok(Self::Trailers(before + line.len())),
            Self::Trailers(_) => Err(unreadable("its trailers are too long")),
            Self::Inside(_) | Self::Over => Ok(self),
        }
    }
}

/// The first line with its end, once it is there.
fn line(bytes: &[u8]) -> io::Result<Option<&[u8]>> {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) if end <= LINE_LIMIT => Ok(Some(&bytes[..=end])),
        None if bytes.len() <= LINE_LIMIT => Ok(None),
        Some(_) | None => Err(unreadable("a line around a chunk is too long")),
    }
}

/// A length in hexadecimal, before what a server may say of its chunk.
fn length(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next()?.trim_ascii();
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u64::from_str_radix(text, 16).ok()
}
