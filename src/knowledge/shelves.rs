//! Owns the small copies of vectors that are kept in memory, within a bound, and what is known of the documents that they belong to.
//!
//! Editions belong to one base of one tenant: what is kept under the number of one is never shown to another.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::editions::Edition;
use crate::store::readings::{self, LiveReading};
use crate::store::{StoreError, Tx, passages};
use crate::sync::Mutex;

/// The most bytes of small copies that are kept. What does not fit is read from the database with each question.
const MOST: usize = 256 << 20;

/// Small copies of passages that follow each other.
pub(super) struct Run {
    /// The place of the first.
    pub(super) first: u64,
    /// The copies.
    pub(super) codes: Box<[u8]>,
}

/// The copies of one reading.
pub(super) type Runs = Arc<[Run]>;

#[derive(Default)]
struct Shelf {
    /// When it was last used.
    used: u64,
    bytes: usize,
    live: Option<(i64, Arc<[LiveReading]>)>,
    runs: HashMap<i64, Runs>,
}

#[derive(Default)]
struct Room {
    shelves: HashMap<i64, Shelf>,
    bytes: usize,
    uses: u64,
}

/// What is kept in memory of all editions.
#[derive(Default)]
pub(super) struct Shelves(Mutex<Room>);

impl Shelves {
    /// What an edition is made of now.
    pub(super) fn live(&self, tx: &mut Tx<'_>, edition: &Edition) -> Result<Arc<[LiveReading]>, StoreError> {
        if let Some((changes, live)) = self.0.lock().shelf(edition.no).live.clone()
            && changes == edition.changes
        {
            return Ok(live);
        }
        let live: Arc<[LiveReading]> = readings::live(tx, edition.no)?.into();
        self.0.lock().renew(edition, Arc::clone(&live));
        Ok(live)
    }

    /// The small copies of a reading.
    pub(super) fn runs(&self, tx: &mut Tx<'_>, edition: i64, reading: i64) -> Result<Runs, StoreError> {
        if let Some(runs) = self.0.lock().shelf(edition).runs.get(&reading) {
            return Ok(Arc::clone(runs));
        }
        let mut found = Vec::new();
        passages::codes(tx, reading, &mut |first, codes| {
            found.push(Run { first, codes: codes.into() });
            Ok(())
        })?;
        let runs: Runs = found.into();
        self.0.lock().keep(edition, reading, &runs);
        Ok(runs)
    }
}

fn size(runs: &Runs) -> usize {
    runs.iter().map(|run| run.codes.len() + size_of::<Run>()).sum()
}

impl Room {
    fn shelf(&mut self, edition: i64) -> &mut Shelf {
        self.uses += 1;
        let shelf = self.shelves.entry(edition).or_default();
        shelf.used = self.uses;
        shelf
    }

    /// Takes note of what an edition is made of; copies of what is gone are dropped.
    fn renew(&mut self, edition: &Edition, live: Arc<[LiveReading]>) {
        let shelf = self.shelf(edition.no);
        shelf.runs.retain(|reading, _| live.binary_search_by_key(reading, |live| live.no).is_ok());
        let (before, now) = (shelf.bytes, shelf.runs.values().map(size).sum());
        shelf.bytes = now;
        shelf.live = Some((edition.changes, live));
        self.bytes = self.bytes - before + now;
    }

    /// Keeps copies if there is room, or can be made by letting those of other editions go.
    fn keep(&mut self, edition: i64, reading: i64, runs: &Runs) {
        let size = size(runs);
        while self.bytes + size > MOST {
            let oldest = self.shelves.iter().filter(|(no, shelf)| **no != edition && shelf.bytes > 0).min_by_key(|(_, shelf)| shelf.used);
            let Some(oldest) = oldest.map(|(no, _)| *no) else { return };
            self.bytes -= self.shelves.remove(&oldest).map_or(0, |shelf| shelf.bytes);
        }
        let shelf = self.shelf(edition);
        if shelf.runs.insert(reading, Arc::clone(runs)).is_none() {
            shelf.bytes += size;
            self.bytes += size;
        }
    }
}
