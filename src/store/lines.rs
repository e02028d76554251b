//! Owns entries as they are stored: their texts, and the hashes that chain them.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::error::StoreError;
use crate::model::Id;
use crate::model::event::{Entry, LaneId, Seq};

/// The hash of an entry: of its text, its place and the hash before it.
pub type Hash = [u8; 32];

/// The texts of entries that follow each other, and their hashes.
#[derive(Clone, Debug)]
pub struct Lines {
    texts: String,
    /// Where the text of each ends.
    ends: Vec<(usize, Hash)>,
}

impl Lines {
    /// Of entries that come after the one at `head`, whose hash is `hash`.
    pub fn of(entries: &[Arc<Entry>], head: Seq, mut hash: Hash) -> Result<Self, StoreError> {
        let (mut texts, mut ends) = (Vec::with_capacity(512), Vec::with_capacity(entries.len()));
        for (seq, entry) in (head + 1..).zip(entries) {
            if entry.seq != seq {
                return Err(StoreError::Fault(format!("entry {} was appended at place {seq}", entry.seq)));
            }
            let start = texts.len();
            serde_json::to_writer(&mut texts, &entry.event).map_err(|error| StoreError::Fault(format!("an entry has no JSON form: {error}")))?;
            hash = chained(&hash, seq, entry.at.0, entry.lane, &texts[start..]);
            ends.push((texts.len(), hash));
        }
        Ok(Self { texts: String::from_utf8(texts).map_err(|error| StoreError::Fault(error.to_string()))?, ends })
    }

    /// The hash of the last.
    pub(super) fn last(&self) -> Option<Hash> {
        self.ends.last().map(|(_, hash)| *hash)
    }

    /// The text and the hash of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Hash)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, hash)| (&self.texts[std::mem::replace(&mut start, *end)..*end], hash))
    }
}

/// What the first entry of a run is chained to.
#[must_use]
pub fn first_hash(run: &Id) -> Hash {
    Sha256::digest(run.0.as_bytes()).into()
}

/// The hash of an entry.
pub(super) fn chained(before: &Hash, seq: Seq, at: i64, lane: LaneId, text: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(seq.to_le_bytes());
    hash.update(at.to_le_bytes());
    hash.update(lane.to_le_bytes());
    hash.update(text);
    hash.finalize().into()
}
