//! Owns the memory cache of editions: compact copies of vectors, and their documents, within a limit.
//!
//! The number of an edition is never reused, and `changes` differs after each change, so stale entries are never used.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::model::Id;
use crate::store::knowledge::editions::Edition;
use crate::store::knowledge::readings::LiveReading;
use crate::store::knowledge::{passages, readings};
use crate::store::{StoreError, Tx};
use crate::sync::Mutex;

/// The most bytes that are kept. What does not fit is read from the database with each question.
const MOST: usize = if cfg!(test) { 1 << 20 } else { 256 << 20 };

/// Small copies of passages that follow each other.
pub(super) struct Run {
    /// The place of the first.
    pub(super) first: u64,
    /// The copies.
    pub(super) codes: Box<[u8]>,
}

/// The copies of one reading.
pub(super) type Runs = Arc<[Run]>;

/// What is kept of an edition.
#[derive(Default)]
struct CachedEdition {
    /// When it was last used.
    used: u64,
    bytes: usize,
    live: Option<(i64, Arc<[LiveReading]>)>,
    /// The copies of a reading, and the document that they are of.
    runs: HashMap<i64, (Id, Runs)>,
}

#[derive(Default)]
struct Room {
    vector_cache: HashMap<i64, CachedEdition>,
    bytes: usize,
    uses: u64,
}

/// What is kept in memory of all editions.
#[derive(Default)]
pub(super) struct VectorCache(Mutex<Room>);

impl VectorCache {
    /// What an edition is made of now.
    pub(super) fn live(&self, tx: &mut Tx<'_>, edition: &Edition) -> Result<Arc<[LiveReading]>, StoreError> {
        if let Some((changes, live)) = self.0.lock().shelf(edition.no).and_then(|shelf| shelf.live.clone())
            && changes == edition.changes
        {
            return Ok(live);
        }
        let live: Arc<[LiveReading]> = readings::live(tx, edition.no)?.into();
        self.0.lock().renew(edition, &live);
        Ok(live)
    }

    /// The small copies of a reading.
    pub(super) fn runs(&self, tx: &mut Tx<'_>, edition: i64, reading: &LiveReading) -> Result<Runs, StoreError> {
        let kept = self.0.lock().shelf(edition).and_then(|shelf| shelf.runs.get(&reading.no).cloned());
        if let Some((_, runs)) = kept.filter(|(document, _)| *document == reading.document) {
            return Ok(runs);
        }
        let mut found = Vec::new();
        passages::codes(tx, reading.no, &mut |first, codes| {
            found.push(Run { first, codes: codes.into() });
            Ok(())
        })?;
        let runs: Runs = found.into();
        self.0.lock().keep(edition, reading, &runs);
        Ok(runs)
    }
}

fn size_of_runs(runs: &Runs) -> usize {
    size_of::<(i64, Id, Runs)>() + runs.iter().map(|run| run.codes.len() + size_of::<Run>()).sum::<usize>()
}

fn size_of_live(live: &[LiveReading]) -> usize {
    live.iter().map(|one| size_of::<LiveReading>() + one.name.len() + one.source_type.len() + size_of_value(&one.metadata)).sum()
}

/// About what a value takes beside itself.
fn size_of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| size_of::<Value>() + size_of_value(item)).sum(),
        Value::Object(fields) => {
            let entry = size_of::<(String, Value)>() + size_of::<usize>();
            fields.iter().map(|(name, item)| entry + name.len() + size_of_value(item)).sum()
        }
    }
}

impl CachedEdition {
    fn size(&self) -> usize {
        let runs: usize = self.runs.values().map(|(_, runs)| size_of_runs(runs)).sum();
        size_of::<Self>() + runs + self.live.as_ref().map_or(0, |(_, live)| size_of_live(live))
    }
}

impl Room {
    /// What is kept of an edition, which is used now.
    fn shelf(&mut self, edition: i64) -> Option<&CachedEdition> {
        self.uses += 1;
        let shelf = self.vector_cache.get_mut(&edition)?;
        shelf.used = self.uses;
        Some(shelf)
    }

    /// Takes note of what an edition is made of, if there is room; copies of what is gone are dropped.
    fn renew(&mut self, edition: &Edition, live: &Arc<[LiveReading]>) {
        let mut shelf = self.take(edition.no);
        shelf.live = Some((edition.changes, Arc::clone(live)));
        shelf.runs.retain(|reading, (document, _)| {
            live.binary_search_by_key(reading, |live| live.no).is_ok_and(|at| live[at].document == *document)
        });
        self.put(edition.no, shelf);
    }

    /// Keeps copies if there is room.
    fn keep(&mut self, edition: i64, reading: &LiveReading, runs: &Runs) {
        let mut shelf = self.take(edition);
        if shelf.size() + size_of_runs(runs) <= MOST {
            shelf.runs.insert(reading.no, (reading.document, Arc::clone(runs)));
        }
        self.put(edition, shelf);
    }

    fn take(&mut self, edition: i64) -> CachedEdition {
        let shelf = self.vector_cache.remove(&edition).unwrap_or_default();
        self.bytes -= shelf.bytes;
        shelf
    }

    /// Puts back what is kept of an edition; what was not used for longest makes room for it. What is larger than all room is not kept.
    fn put(&mut self, edition: i64, mut shelf: CachedEdition) {
        self.uses += 1;
        (shelf.used, shelf.bytes) = (self.uses, shelf.size());
        if shelf.bytes > MOST {
            return;
        }
        while self.bytes + shelf.bytes > MOST {
            let Some(oldest) = self.vector_cache.iter().min_by_key(|(_, shelf)| shelf.used).map(|(no, _)| *no) else { break };
            self.take(oldest);
        }
        self.bytes += shelf.bytes;
        self.vector_cache.insert(edition, shelf);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::knowledge::editions::Embedder;

    fn edition(no: i64, changes: i64) -> Edition {
        Edition { no, embedder: Embedder { provider: "p".into(), model: "m".into(), dimensions: None }, language: None, current: true, changes }
    }

    fn reading(no: i64, document: u64) -> LiveReading {
        let metadata = json!({"section": "x".repeat(500)});
        LiveReading { no, passages: 1, document: Id::v7(document, 0, document), name: "a.md".into(), source_type: "manual".into(), metadata }
    }

    fn copies() -> Runs {
        Arc::new([Run { first: 0, codes: vec![0; 4096].into() }])
    }

    #[test]
    fn documents_of_many_editions_take_no_more_room_than_there_is() {
        let mut room = Room::default();
        for no in 0..1_000 {
            room.renew(&edition(no, 1), &(0..20).map(|document| reading(no * 20 + document, 1)).collect());
            assert!(room.bytes <= MOST, "{} bytes after {no} editions", room.bytes);
        }
        assert!(room.vector_cache.len() < 100 && room.shelf(999).is_some() && room.shelf(0).is_none());
        let sizes: usize = room.vector_cache.values().map(CachedEdition::size).sum();
        assert_eq!(sizes, room.bytes);
        room.renew(&edition(5_000, 1), &(0..10_000).map(|document| reading(document, 1)).collect());
        assert!(room.shelf(5_000).is_none(), "what is larger than the room is not kept");
    }

    #[test]
    fn copies_of_what_is_gone_are_dropped() {
        let mut room = Room::default();
        let (one, two) = (reading(1, 1), reading(2, 2));
        room.renew(&edition(7, 1), &[one.clone(), two.clone()].into());
        room.keep(7, &one, &copies());
        room.keep(7, &two, &copies());
        room.renew(&edition(7, 2), &[reading(1, 3), two].into());
        let kept: Vec<i64> = room.vector_cache[&7].runs.keys().copied().collect();
        assert_eq!(kept, [2], "a reading of another document has other copies");
        assert_eq!(room.vector_cache[&7].size(), room.bytes);
    }

    #[test]
    fn copies_make_room_by_letting_those_of_other_editions_go() {
        let mut room = Room::default();
        for no in 0..1_000 {
            room.keep(no, &reading(no, 1), &copies());
            assert!(room.bytes <= MOST);
        }
        assert!(room.shelf(999).is_some_and(|shelf| shelf.runs.len() == 1) && room.shelf(0).is_none());
    }
}
