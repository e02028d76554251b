//! Owns where a text may be found among runs: their marks are asked before texts are read. `text_marking` makes them.
//!
//! What has no mark need not be looked at, but runs that are noted as not marked, and those whose block is not full. A server has no marks:
//! there runs are looked at from the newest on.

use std::collections::BTreeSet;

use super::db::{Param, Tx, params};
use super::error::StoreError;
use super::marks::{self, FOLD, MARKS, SHARED, YOUNG};
use super::text_marking;

/// So many runs are looked at one by one at once; where more may hold a text, a list that is read from its beginning may be full soon.
pub(super) const FEW: usize = if cfg!(test) { 40 } else { 2_000 };
/// So many are looked at one by one when it was not.
pub(super) const SOME: usize = if cfg!(test) { 80 } else { 10_000 };
/// So many marks of a text are asked of a block, as long as more than so many of its runs have all of them.
const ASKED: usize = 12;
const ENOUGH: usize = 2;
pub(super) const NUMBER: i64 = YOUNG as i64;
pub(super) const WHOLE: i64 = (YOUNG * FOLD) as i64;

/// How far runs are marked: whole blocks that are gone again, all whole blocks, all young blocks, those of whole ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) gone: i64,
    pub(super) whole: i64,
    pub(super) young: i64,
}

impl Marked {
    pub(super) fn read(tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        let text = tx.query_one("SELECT value FROM #meta WHERE key = 'text_marks'", &[], |row| Ok(row.text(0)?.to_owned()))?;
        let mut numbers = text.iter().flat_map(|text| text.split(' ')).map_while(|number| number.parse().ok());
        let mut next = || numbers.next().unwrap_or(0);
        Ok(Self { gone: next(), whole: next(), young: next() })
    }

    pub(super) fn write(self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let text = format!("{} {} {}", self.gone, self.whole, self.young);
        tx.send(
            "INSERT INTO #meta (key, value) VALUES ('text_marks', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            params![&text],
        )
    }

    /// The first run that is not marked.
    pub(super) const fn end(self) -> i64 {
        self.young * NUMBER
    }

    /// A young block can be made, when the newest run is this one.
    const fn is_behind(self, newest: i64) -> bool {
        self.leaves(newest, NUMBER)
    }

    /// So many runs, or more, can be marked.
    pub(super) const fn leaves(self, newest: i64, runs: i64) -> bool {
        self.end() + runs <= newest + 1
    }
}

/// The number of the newest run.
pub(super) fn newest(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    Ok(tx.query_one("SELECT MAX(no) FROM #runs", &[], |row| row.opt_int(0))?.flatten().unwrap_or(0))
}

/// The marks of a text that is looked for, each once.
fn marks_of(text: &str) -> BTreeSet<usize> {
    let mut wanted = BTreeSet::new();
    marks::of(&text.to_lowercase(), &mut |mark| {
        wanted.insert(mark);
    });
    wanted
}

/// Whether runs could be marked with which this text would be found sooner.
pub fn is_behind(tx: &mut Tx<'_>, text: &str) -> Result<bool, StoreError> {
    if !tx.is_file() || marks_of(text).is_empty() {
        return Ok(false);
    }
    let marked = Marked::read(tx)?;
    Ok(marked.is_behind(newest(tx)?) || (marked != Marked::default() && text_marking::has_many_notes(tx)?))
}

/// Every run that may hold a text, if its marks say so and there are no more than `most`.
pub(super) fn find(tx: &mut Tx<'_>, text: &str, most: usize) -> Result<Option<Vec<i64>>, StoreError> {
    let wanted = marks_of(text);
    if wanted.is_empty() || !tx.is_file() {
        return Ok(None);
    }
    let (marked, newest) = (Marked::read(tx)?, newest(tx)?);
    // Nothing was marked: a file of an older version that may only be read has no tables for it.
    if marked == Marked::default() {
        return Ok(None);
    }
    let mut runs: Vec<i64> = (marked.end()..=newest).take(most + 1).collect();
    runs.extend(tx.query("SELECT run FROM #text_unmarked LIMIT $1", params![most as u64 + 1], |row| row.int(0))?);
    let wanted: Vec<usize> = wanted.into_iter().take(ASKED).collect();
    let all = runs.len() <= most
        && few(tx, &wanted, marked.whole * FOLD as i64..marked.young, &YOUNG_ROWS, most, &mut runs)?
        && few(tx, &wanted, marked.gone..marked.whole, &WHOLE_ROWS, most, &mut runs)?;
    // A run that is not marked may have had some of its texts when its block was made.
    runs.sort_unstable();
    runs.dedup();
    Ok(all.then_some(runs))
}

/// How the rows of blocks are laid out: how many runs, and how many marks share a row. Those of a block lie together.
pub(super) struct Rows {
    pub(super) runs: usize,
    pub(super) shared: usize,
    first: i64,
}

pub(super) const WHOLE_ROWS: Rows = Rows { runs: YOUNG * FOLD, shared: 1, first: 0 };
pub(super) const YOUNG_ROWS: Rows = Rows { runs: YOUNG, shared: SHARED, first: 1 << 60 };
/// There are fewer rows in a block.
const ROWS: i64 = 1 << 12;

impl Rows {
    /// The key of the row in which a mark of a block lies.
    pub(super) const fn key(&self, block: i64, mark: usize) -> i64 {
        self.first + block * ROWS + (mark / self.shared) as i64
    }

    /// The keys of blocks.
    pub(super) const fn keys(&self, from: i64, to: i64) -> [Param<'static>; 2] {
        [Param::Int(Some(self.key(from, 0))), Param::Int(Some(self.key(to, 0)))]
    }

    /// The block of a row, and its first mark.
    pub(super) fn place(&self, key: i64) -> Result<(i64, usize), StoreError> {
        let key = key - self.first;
        let first = usize::try_from(key % ROWS).unwrap_or(0) * self.shared;
        if first + self.shared > MARKS { Err(unreadable()) } else { Ok((key / ROWS, first)) }
    }

    /// The bits of a mark in its row.
    pub(super) fn bits<'r>(&self, row: &'r [u8], mark: usize) -> Result<&'r [u8], StoreError> {
        let width = self.runs / 8;
        let bits = row.get(mark % self.shared * width..).and_then(|bits| bits.get(..width));
        bits.ok_or_else(unreadable)
    }
}

fn unreadable() -> StoreError {
    StoreError::damaged("the marks of runs cannot be read")
}

/// Adds the runs of blocks that have all these marks, newest first; false when there are too many to look at.
fn few(
    tx: &mut Tx<'_>,
    wanted: &[usize],
    blocks: std::ops::Range<i64>,
    rows: &Rows,
    most: usize,
    found: &mut Vec<i64>,
) -> Result<bool, StoreError> {
    let mut bits = vec![u8::MAX; rows.runs / 8];
    for block in blocks.rev() {
        bits.fill(u8::MAX);
        for mark in wanted {
            tx.query_one("SELECT bits FROM #text_marks WHERE key = $1", params![rows.key(block, *mark)], |row| {
                let more = rows.bits(row.blob(0)?, *mark)?;
                bits.iter_mut().zip(more).for_each(|(here, more)| *here &= more);
                Ok(())
            })?;
            if marks::count(&bits) <= ENOUGH {
                break;
            }
        }
        let first = block * rows.runs as i64;
        found.extend(marks::set(&bits).map(|run| first + run as i64));
        if found.len() > most {
            return Ok(false);
        }
    }
    Ok(true)
}
