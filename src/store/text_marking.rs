//! Owns making the marks of runs, block by block, when somebody searched: what is never searched costs nothing.
//!
//! The marks of a run are those of the texts that it had. One that was not over then, or that goes on again, is noted as not marked, until
//! it is over and its whole block is written again. Child runs have none: they are found among the runs of their parent.

use super::db::{Row, Tx, params};
use super::error::StoreError;
use super::marks::{self, Block, FOLD, LONG, YOUNG};
use super::text_search::{Marked, NUMBER, Rows, WHOLE, WHOLE_ROWS, YOUNG_ROWS, newest};

/// So many notes of runs that are over by now make it worth to write their block again; fewer where there are many notes.
const WORTH: i64 = if cfg!(test) { 2 } else { 64 };
const MANY: i64 = 500;
/// So many notes are looked at; where there are more, marks are of no use until runs end.
const LOOKED_AT: i64 = 4096;
/// The texts of so many noted runs are read in one transaction.
const AT_ONCE: i64 = if cfg!(test) { 3 } else { 256 };

/// What can be searched of a run `r` that is no child: whether it is over, whether a text is long, and the texts.
macro_rules! texts {
    () => {
        "SELECT r.no, r.status IN ('completed', 'failed', 'cancelled'), \
         octet_length(r.error) > $3 OR octet_length(t.reply) > $3 OR octet_length(l.body) > $3, r.input_preview, \
         CASE WHEN octet_length(r.error) > $3 THEN NULL \
         ELSE CAST(json_extract(replace(r.error, '\\u0000', '\\ufffd'), '$.message') AS TEXT) END, \
         CASE WHEN octet_length(t.reply) > $3 THEN NULL ELSE t.reply END, CASE WHEN octet_length(l.body) > $3 THEN NULL \
         ELSE CAST(json_extract(replace(substr(l.body, 1, instr(concat(l.body, char(10)), char(10)) - 1), '\\u0000', '\\ufffd'), '$.created.message') AS TEXT) END \
         FROM #runs r LEFT JOIN #run_replies t ON t.run = r.no \
         LEFT JOIN #log l ON l.key = r.no * 67108864 + 1 AND length(r.input_preview) >= 120 "
    };
}

/// Marks a run of a block with its texts.
fn mark(block: &mut Block, first: i64, row: &Row<'_>) -> Result<(), StoreError> {
    let run = usize::try_from(row.int(0)? - first).unwrap_or(0);
    if row.opt_int(2)? == Some(1) {
        block.mark_all(run);
    }
    for column in 3..7 {
        marks::of(row.opt_text(column)?.unwrap_or_default(), &mut |mark| block.mark(run, mark));
    }
    Ok(())
}

/// A block of marks before it is stored: a young one, or a whole one where many runs are not marked.
#[derive(Debug)]
pub struct Made {
    marked: Marked,
    /// How far runs are marked with it.
    now: Marked,
    bits: Block,
    /// Runs that are not over.
    unsettled: Vec<i64>,
    /// The first run behind it, or its last one: while that is there, no number before was given again.
    anchor: (i64, String),
}

/// Makes the next block, if there are runs for it. It is stored in another transaction, so that those who write need not wait for
/// texts to be read.
pub fn make(tx: &mut Tx<'_>) -> Result<Option<Made>, StoreError> {
    let (marked, newest) = (Marked::read(tx)?, newest(tx)?);
    let whole = marked.young == marked.whole * FOLD as i64 && marked.leaves(newest, WHOLE);
    if !whole && !marked.leaves(newest, NUMBER) {
        return Ok(None);
    }
    let blocks = if whole { FOLD } else { 1 };
    let now = Marked { whole: marked.whole + i64::from(whole), young: marked.young + blocks as i64, ..marked };
    let (mut bits, mut unsettled) = (Block::of(YOUNG * blocks), Vec::new());
    tx.query_each(
        concat!(texts!(), "WHERE r.no >= $1 AND r.no < $2 AND r.parent IS NULL"),
        params![marked.end(), now.end(), LONG as u64],
        &mut |row| {
            if !row.truth(1)? {
                unsettled.push(row.int(0)?);
            }
            mark(&mut bits, marked.end(), row)
        },
    )?;
    let anchor = tx.query_one(
        "SELECT no, id FROM #runs WHERE no >= $1 ORDER BY no LIMIT 1",
        params![now.end() - 1],
        |row| Ok((row.int(0)?, row.text(1)?.to_owned())),
    )?;
    Ok(anchor.map(|anchor| Made { marked, now, bits, unsettled, anchor }))
}

/// Stores a block that was made, or what is left to do without one; says whether more can be done at once.
pub fn keep(tx: &mut Tx<'_>, made: Option<&Made>) -> Result<bool, StoreError> {
    let mut marked = Marked::read(tx)?;
    let Some(made) = made else { return mark_again(tx, marked) };
    // Another was quicker, or numbers may have been given again: it is made again. Runs that went on meanwhile are noted.
    let (no, id) = &made.anchor;
    let there = tx.query_one("SELECT 1 FROM #runs WHERE no = $1 AND id = $2", params![*no, id], |_| Ok(()))?;
    if marked != made.marked || there.is_none() {
        return Ok(true);
    }
    if made.now.whole > marked.whole {
        // Young blocks of before a cut may lie there.
        tx.send("DELETE FROM #text_marks WHERE key >= $1 AND key < $2", &YOUNG_ROWS.keys(marked.young, made.now.young))?;
        write(tx, &made.bits, marked.whole, &WHOLE_ROWS)?;
    } else {
        write(tx, &made.bits, marked.young, &YOUNG_ROWS)?;
    }
    for run in &made.unsettled {
        tx.send("INSERT INTO #text_unmarked (run) SELECT no FROM #runs WHERE no = $1 ON CONFLICT DO NOTHING", params![*run])?;
    }
    marked = made.now;
    if marked.young >= (marked.whole + 1) * FOLD as i64 {
        let young = marked.whole * FOLD as i64;
        let whole = read(tx, young, young + FOLD as i64, &YOUNG_ROWS)?;
        write(tx, &whole, marked.whole, &WHOLE_ROWS)?;
        tx.send("DELETE FROM #text_marks WHERE key >= $1 AND key < $2", &YOUNG_ROWS.keys(young, young + FOLD as i64))?;
        marked.whole += 1;
    }
    if marked.gone < marked.whole && is_gone(tx, marked.gone)? {
        tx.send("DELETE FROM #text_marks WHERE key >= $1 AND key < $2", &WHOLE_ROWS.keys(marked.gone, marked.gone + 1))?;
        marked.gone += 1;
        tx.send("DELETE FROM #text_unmarked WHERE run < $1", params![marked.gone * WHOLE])?;
    }
    marked.write(tx)?;
    Ok(true)
}

/// Nothing is left of a block's runs.
fn is_gone(tx: &mut Tx<'_>, block: i64) -> Result<bool, StoreError> {
    let first = tx.query_one("SELECT MIN(no) FROM #runs", &[], |row| row.opt_int(0))?.flatten();
    Ok(first.is_none_or(|first| first >= (block + 1) * WHOLE))
}

/// Writes the marks of some noted runs that are over by now into their whole block: of that with the most.
fn mark_again(tx: &mut Tx<'_>, marked: Marked) -> Result<bool, StoreError> {
    let many = has_many_notes(tx)?;
    let block = tx.query_one(
        "SELECT u.run / $1 FROM (SELECT run FROM #text_unmarked WHERE run < $2 ORDER BY run DESC LIMIT $4) u \
         CROSS JOIN #runs r ON r.no = u.run WHERE r.status IN ('completed', 'failed', 'cancelled') \
         GROUP BY u.run / $1 HAVING COUNT(*) >= $3 ORDER BY COUNT(*) DESC LIMIT 1",
        params![WHOLE, marked.whole * WHOLE, if many { 1 } else { WORTH }, LOOKED_AT],
        |row| row.int(0),
    )?;
    let Some(block) = block else { return Ok(false) };
    let (mut made, mut runs) = (read(tx, block, block + 1, &WHOLE_ROWS)?, Vec::new());
    tx.query_each(
        concat!(
            texts!(), "JOIN #text_unmarked u ON u.run = r.no WHERE u.run >= $1 AND u.run < $2 \
             AND r.status IN ('completed', 'failed', 'cancelled') LIMIT $4"
        ),
        params![block * WHOLE, (block + 1) * WHOLE, LONG as u64, AT_ONCE],
        &mut |row| {
            runs.push(row.int(0)?);
            mark(&mut made, block * WHOLE, row)
        },
    )?;
    for run in runs {
        tx.send("DELETE FROM #text_unmarked WHERE run = $1", params![run])?;
    }
    write(tx, &made, block, &WHOLE_ROWS)?;
    Ok(true)
}

/// Whether so many runs are noted that each search feels it.
pub(super) fn has_many_notes(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let noted = tx.query_one("SELECT COUNT(*) FROM (SELECT 1 FROM #text_unmarked LIMIT $1) n", params![MANY + 1], |row| row.int(0))?;
    Ok(noted.is_some_and(|noted| noted > MANY))
}

/// What is stored of blocks, as one whole block.
fn read(tx: &mut Tx<'_>, from: i64, to: i64, rows: &Rows) -> Result<Block, StoreError> {
    let mut made = Block::of(YOUNG * FOLD);
    tx.query_each("SELECT key, bits FROM #text_marks WHERE key >= $1 AND key < $2", &rows.keys(from, to), &mut |row| {
        let (block, first) = rows.place(row.int(0)?)?;
        let run = usize::try_from(block - from).unwrap_or(0) * rows.runs;
        (first..first + rows.shared).try_for_each(|mark| {
            made.join(mark, run, rows.bits(row.blob(1)?, mark)?);
            Ok(())
        })
    })?;
    Ok(made)
}

fn write(tx: &mut Tx<'_>, made: &Block, block: i64, rows: &Rows) -> Result<(), StoreError> {
    for (place, bits) in made.rows(rows.shared).enumerate() {
        tx.send(
            "INSERT INTO #text_marks (key, bits) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET bits = excluded.bits",
            params![rows.key(block, place * rows.shared), bits],
        )?;
    }
    Ok(())
}

/// A run that was over goes on: its texts may change.
pub(super) fn goes_on(tx: &mut Tx<'_>, run: i64) -> Result<(), StoreError> {
    if tx.is_file() {
        tx.send("INSERT INTO #text_unmarked (run) VALUES ($1) ON CONFLICT DO NOTHING", params![run])?;
    }
    Ok(())
}

/// A run was removed. When it was among the newest, its number will be given again: marks are good only for the runs before.
pub(super) fn removed(tx: &mut Tx<'_>, run: i64) -> Result<(), StoreError> {
    if !tx.is_file() {
        return Ok(());
    }
    tx.send("DELETE FROM #text_unmarked WHERE run = $1", params![run])?;
    let next = newest(tx)? + 1;
    let marked = Marked::read(tx)?;
    if next >= marked.end() {
        return Ok(());
    }
    let whole = marked.whole.min(next / WHOLE);
    let young = if whole < marked.whole { whole * FOLD as i64 } else { next / NUMBER };
    Marked { gone: marked.gone.min(whole), whole, young }.write(tx)
}
