//! Owns archives: their parts, and streaming decompression of one. Nothing is written to a file system.
//!
//! Declared sizes are not trusted: all unpacked bytes count toward the limit of the document.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Error, Read, Result as IoResult};

use flate2::bufread::DeflateDecoder;

use super::bounded::Bounds;

/// The most parts of an archive.
const PARTS: usize = 20_000;
/// The end of an archive is looked for in so many of its last bytes.
const TAIL: usize = 22 + 65_535;
/// Bytes of one stretch of markup or text inside of a part, and of a part that is read as a whole.
pub(super) const STRETCH: u64 = 16 << 20;

/// Where a part lies.
#[derive(Clone, Copy)]
struct Entry {
    at: usize,
    packed: usize,
    method: usize,
    protected: bool,
}

/// An archive, and what may still be unpacked of it.
pub(super) struct Archive<'a> {
    file: &'a [u8],
    entries: HashMap<String, Entry>,
    left: Cell<u64>,
    bounds: Bounds,
    /// Why the reading ends.
    why: RefCell<Option<String>>,
}

fn number(file: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let found = file.get(at..at.checked_add(bytes)?)?;
    Some(found.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

/// The names of the parts of an archive; none when it is not whole.
pub(super) fn names(file: &[u8]) -> Option<Vec<String>> {
    entries(file).map(|entries| entries.into_keys().collect())
}

fn entries(file: &[u8]) -> Option<HashMap<String, Entry>> {
    let tail = file.len().saturating_sub(TAIL);
    let end = tail + file[tail..].windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let (count, mut at) = (number(file, end + 10, 2)?, number(file, end + 16, 4)?);
    if count > PARTS {
        return None;
    }
    let mut entries = HashMap::with_capacity(count);
    for _ in 0..count {
        if file.get(at..at.checked_add(4)?)? != b"PK\x01\x02" {
            return None;
        }
        let small = |place: usize| number(file, at + place, 2);
        let (name, extra, comment) = (small(28)?, small(30)?, small(32)?);
        let entry =
            Entry { at: number(file, at + 42, 4)?, packed: number(file, at + 20, 4)?, method: small(10)?, protected: small(8)? & 1 == 1 };
        let begin = at + 46;
        entries.insert(key(&String::from_utf8_lossy(file.get(begin..begin + name)?)), entry);
        at = begin + name + extra + comment;
    }
    Some(entries)
}

/// Names are compared without case, and from the root.
fn key(name: &str) -> String {
    name.trim_start_matches('/').replace('\\', "/").to_lowercase()
}

/// The name of a part that another part (`word/document.xml`) calls `target`.
pub(super) fn beside(part: &str, target: &str) -> String {
    let target = percent_encoding::percent_decode_str(target.split(['#', '?']).next().unwrap_or_default()).decode_utf8_lossy();
    let folder = part.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut path: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(path.pop()),
            step => path.push(step),
        }
    }
    path.retain(|step| !step.is_empty());
    path.join("/")
}

impl<'a> Archive<'a> {
    pub(super) fn open(file: &'a [u8], bounds: &Bounds) -> Result<Self, String> {
        let entries = entries(file).ok_or_else(|| bounds.damaged())?;
        Ok(Self { file, entries, left: Cell::new(bounds.limits.bytes), bounds: *bounds, why: RefCell::default() })
    }

    pub(super) const fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// A part as it is unpacked; none when there is none of this name.
    pub(super) fn part(&self, name: &str) -> Result<Option<Part<'_>>, String> {
        let Some(entry) = self.entries.get(&key(name)) else { return Ok(None) };
        if entry.protected {
            return Err(self.bounds.protected());
        }
        let packed = self.packed(entry).ok_or_else(|| self.bounds.damaged())?;
        let data: Box<dyn BufRead + '_> = match entry.method {
            0 => Box::new(packed),
            8 => Box::new(BufReader::with_capacity(16 << 10, DeflateDecoder::new(packed))),
            _ => return Err(self.bounds.protected()),
        };
        Ok(Some(Part { data, archive: self, stretch: Cell::new(STRETCH) }))
    }

    fn packed(&self, entry: &Entry) -> Option<&'a [u8]> {
        let head = self.file.get(entry.at..)?;
        if !head.starts_with(b"PK\x03\x04") {
            return None;
        }
        let begin = 30 + number(head, 26, 2)? + number(head, 28, 2)?;
        head.get(begin..begin.checked_add(entry.packed)?)
    }

    /// All of a small part.
    pub(super) fn whole(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(mut part) = self.part(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        match part.read_to_end(&mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(_) => Err(self.failed()),
        }
    }

    /// Why reading a part failed.
    pub(super) fn failed(&self) -> String {
        self.why.borrow_mut().take().unwrap_or_else(|| self.bounds.damaged())
    }
}

/// A part while it is unpacked.
pub(super) struct Part<'a> {
    data: Box<dyn BufRead + 'a>,
    archive: &'a Archive<'a>,
    /// Bytes that may come before the reader says that it has got on.
    stretch: Cell<u64>,
}

impl<'a> Part<'a> {
    pub(super) const fn archive(&self) -> &'a Archive<'a> {
        self.archive
    }

    /// The reader keeps nothing of what came before.
    pub(super) fn got_on(&self) {
        self.stretch.set(STRETCH);
    }

    fn refuse(&self, why: String) -> Error {
        *self.archive.why.borrow_mut() = Some(why);
        Error::other("refused")
    }
}

impl BufRead for Part<'_> {
    fn fill_buf(&mut self) -> IoResult<&[u8]> {
        if let Err(why) = self.archive.bounds.check() {
            return Err(self.refuse(why));
        }
        if self.archive.left.get() == 0 || self.stretch.get() == 0 {
            return Err(self.refuse(self.archive.bounds.too_much()));
        }
        self.data.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        let count = amount as u64;
        self.archive.left.set(self.archive.left.get().saturating_sub(count));
        self.stretch.set(self.stretch.get().saturating_sub(count));
        self.data.consume(amount);
    }
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let found = self.fill_buf()?;
        let count = found.len().min(buffer.len());
        buffer[..count].copy_from_slice(&found[..count]);
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_of_the_archive() {
        assert_eq!(beside("word/document.xml", "styles.xml"), "word/styles.xml");
        assert_eq!(beside("ppt/slides/slide1.xml", "../notesSlides/n.xml"), "ppt/notesSlides/n.xml");
        assert_eq!(beside("ppt/a.xml", "/xl/b.xml"), "xl/b.xml");
        assert_eq!(beside("a/b.xml", "../../../etc/passwd"), "etc/passwd");
        assert_eq!(beside("OEBPS/b.opf", "a%20b.xhtml#part"), "OEBPS/a b.xhtml");
    }
}
