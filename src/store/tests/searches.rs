//! Tests of searches for texts: with marks they find what they find without, whatever becomes of the runs.

use super::lists::numbers;
use super::*;
use crate::store::db::params;
use crate::store::run_delete;
use crate::store::runs::{RunFilter, list};
use crate::store::text_marking::{keep, make};
use crate::store::text_search::{FEW, Marked, SOME, find, is_behind};

/// Runs that are over, from a number on, some with a text of their own in the reply, the error or a long message.
fn over(tx: &mut Tx<'_>, from: u64, to: u64) -> Result<(), StoreError> {
    for number in from..=to {
        let preview = if number % 50 == 7 { "i".repeat(120) } else { format!("input {number}") };
        runs::insert(tx, &RunRow { input_preview: preview, ..run(number) })?;
        let mut grown = growth(number, 0, 0);
        if number % 50 == 7 {
            let long = Entry { event: created(number, &format!("{} a Gem \0 in a haystack", "i".repeat(200))), ..(*entry(1)).clone() };
            grown.entries = vec![Arc::new(long), entry(2)];
        }
        grown.row = match number % 100 {
            17 => RunUpdate { reply: Some("the Needle-17 was found".into()), ..update("completed") },
            18 => RunUpdate { error: Some(json!({"message": "Tool \0 EXPLODED"})), ..update("failed") },
            19 => update("awaiting_input"),
            _ => update("completed"),
        };
        append(tx, &grown)?;
    }
    Ok(())
}

fn ends(tx: &mut Tx<'_>, number: u64, head: u64, reply: &str) -> Result<(), StoreError> {
    append(tx, &Append { row: RunUpdate { reply: Some(reply.into()), ..update("completed") }, ..growth(number, head, 0) }).map(drop)
}

fn searched(tx: &mut Tx<'_>, text: &str) -> Result<Vec<usize>, StoreError> {
    numbers(tx, &RunFilter { q: Some(text.into()), ..RunFilter::default() })
}

fn mark_all(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    loop {
        let made = make(tx)?;
        if !keep(tx, made.as_ref())? {
            return Ok(());
        }
    }
}

fn count(tx: &mut Tx<'_>, sql: &'static str) -> Result<u64, StoreError> {
    Ok(tx.query_one(sql, &[], |row| row.count(0))?.unwrap_or(0))
}

const UNMARKED: &str = "SELECT COUNT(*) FROM #text_unmarked";
const ROWS: &str = "SELECT COUNT(*) FROM #text_marks";

fn every(step: usize, from: usize) -> Vec<usize> {
    (1..=600).rev().filter(|number| number % step == from).collect()
}

/// Each kind of text, where it is.
fn check(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    assert_eq!(searched(tx, "needle-17")?, every(100, 17));
    assert_eq!(searched(tx, "exploded")?, every(100, 18));
    assert_eq!(searched(tx, "GEM \0 IN")?, every(50, 7));
    assert_eq!(searched(tx, "input 41")?, every(600, 410).into_iter().chain(every(600, 41)).chain((411..=419).rev()).fold(Vec::new(), |mut all, number| {
        all.push(number);
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    }));
    assert_eq!(searched(tx, "nowhere")?, [0usize; 0]);
    assert_eq!(searched(tx, "put 6")?.len(), 12);
    Ok(())
}

#[test]
fn marks_change_nothing_but_how_many_runs_are_looked_at() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        assert!(find(tx, "nowhere", FEW)?.is_none() && is_behind(tx, "nowhere")? && !is_behind(tx, "no")?);
        check(tx)?;
        mark_all(tx)?;
        assert!(!is_behind(tx, "nowhere")?);
        assert_eq!(count(tx, UNMARKED)?, 6, "those that wait for an answer");
        assert!(count(tx, ROWS)? >= 1920 + 32, "a whole block and young ones");
        let may = |tx: &mut Tx<'_>, text: &str| Ok::<_, StoreError>(find(tx, text, FEW)?.map(|runs| runs.len()));
        assert!(may(tx, "nowhere")?.is_some_and(|runs| (6..=30).contains(&runs)), "what is not marked is looked at");
        assert_eq!((may(tx, "input")?, may(tx, "in")?), (None, None), "too many; too short");
        check(tx)
    })
    .unwrap();
}

#[test]
fn what_more_than_a_few_runs_hold_is_found_on_one_page() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        for number in (1..=600).filter(|number| number % 12 == 0) {
            ends(tx, number, 0, "a Someplace")?;
        }
        mark_all(tx)?;
        assert!(find(tx, "someplace", FEW)?.is_none() && find(tx, "someplace", SOME)?.is_some());
        let (mut shown, filter) = (Vec::new(), RunFilter { q: Some("someplace".into()), ..RunFilter::default() });
        let next = list(tx, "t", &filter, None, 100, &mut |run| {
            shown.push(usize::try_from(run.no).unwrap());
            Ok(())
        })?;
        assert_eq!((shown, next), (every(12, 0), None));
        assert_eq!(searched(tx, "someplace")?, every(12, 0));
        check(tx)
    })
    .unwrap();
}

#[test]
fn texts_that_come_after_the_marks_are_found() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        mark_all(tx)?;
        for (at, number) in (1..).zip([119, 219, 319, 519, 19]) {
            ends(tx, number, 0, "a Latecomer")?;
            assert_eq!(searched(tx, "latecomer")?.len(), at, "{number}");
        }
        assert_eq!(searched(tx, "latecomer")?, [519, 319, 219, 119, 19]);
        mark_all(tx)?;
        assert_eq!(count(tx, UNMARKED)?, 3, "three were written at once, one is not worth it, one is of a young block, one waits still");
        assert_eq!(searched(tx, "latecomer")?, [519, 319, 219, 119, 19]);
        // One that was over goes on; a child run is nobody's concern here.
        runs::insert(tx, &RunRow { parent: Some(id(101)), ..run(601) })?;
        append(tx, &growth(101, 0, 0))?;
        assert!(find(tx, "nowhere", FEW)?.is_some_and(|runs| runs.contains(&101)));
        ends(tx, 101, 0, "at the Second attempt")?;
        assert_eq!(searched(tx, "second attempt")?, [101]);
        mark_all(tx)?;
        assert_eq!(searched(tx, "second attempt")?, [101]);
        check(tx)
    })
    .unwrap();
}

#[test]
fn numbers_that_are_given_again_are_no_longer_those_of_old_texts() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        mark_all(tx)?;
        for number in (301..=600).rev() {
            run_delete::delete(tx, "t", &id(number))?;
        }
        for number in 601..=700 {
            runs::insert(tx, &RunRow { input_preview: format!("reborn {number}"), status: "completed".into(), ..run(number) })?;
        }
        let reborn = searched(tx, "reborn 65")?;
        assert_eq!(reborn.len(), 10);
        mark_all(tx)?;
        assert_eq!(searched(tx, "reborn 65")?, reborn);
        assert_eq!(searched(tx, "needle-17")?, [217, 117, 17]);
        assert!(find(tx, "reborn 651", FEW)?.is_some());
        Ok(())
    })
    .unwrap();
}

#[test]
fn whatever_is_removed_first_numbers_may_be_given_again() {
    let orders: [Vec<u64>; 3] = [(1..=600).collect(), vec![599, 600], (470..=600).rev().collect()];
    for gone in orders {
        write(&Store::open(StoreSettings::in_memory()), move |tx| {
            over(tx, 1, 600)?;
            mark_all(tx)?;
            for number in &gone {
                run_delete::delete(tx, "t", &id(*number))?;
            }
            for number in 601..=610 {
                runs::insert(tx, &RunRow { input_preview: "reborn".into(), status: "completed".into(), ..run(number) })?;
                assert_eq!(searched(tx, "reborn")?.len(), usize::try_from(number - 600).unwrap());
            }
            mark_all(tx)?;
            assert_eq!(searched(tx, "reborn")?.len(), 10);
            assert_eq!(searched(tx, "needle-17")?, every(100, 17).into_iter().filter(|at| !gone.contains(&(*at as u64))).collect::<Vec<_>>());
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn a_block_is_made_again_when_its_numbers_were_given_again() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 62)?;
        mark_all(tx)?;
        let rows = count(tx, ROWS)?;
        over(tx, 63, 63)?;
        let made = make(tx)?;
        run_delete::delete(tx, "t", &id(63))?;
        runs::insert(tx, &RunRow { input_preview: "reborn".into(), status: "completed".into(), ..run(64) })?;
        assert!(keep(tx, made.as_ref())?);
        assert_eq!(count(tx, ROWS)?, rows);
        mark_all(tx)?;
        assert_eq!(searched(tx, "reborn")?.len(), 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_happens_while_a_block_is_made_is_not_lost() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 63)?;
        let (made, other) = (make(tx)?, make(tx)?);
        append(tx, &growth(5, 0, 0))?;
        ends(tx, 5, 0, "at the Second attempt")?;
        runs::insert(tx, &RunRow { status: "completed".into(), ..run(64) })?;
        run_delete::delete(tx, "t", &id(64))?;
        assert!(keep(tx, made.as_ref())? && count(tx, ROWS)? > 0, "the newest run was none of the block's");
        let rows = count(tx, ROWS)?;
        assert!(keep(tx, other.as_ref())?);
        assert_eq!(count(tx, ROWS)?, rows, "another was quicker");
        assert_eq!(searched(tx, "second attempt")?, [5]);
        let waits = make(tx)?;
        run_delete::delete(tx, "t", &id(14))?;
        assert!(keep(tx, waits.as_ref())?);
        mark_all(tx)?;
        assert_eq!(searched(tx, "second attempt")?, [5]);
        ends(tx, 19, 0, "a Latecomer")?;
        run_delete::delete(tx, "t", &id(19))?;
        assert_eq!(count(tx, UNMARKED)?, 1, "the one that went on");
        Ok(())
    })
    .unwrap();
}

#[test]
fn blocks_whose_runs_are_gone_go_too() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        mark_all(tx)?;
        for number in 1..=500 {
            run_delete::delete(tx, "t", &id(number))?;
        }
        over(tx, 601, 660)?;
        mark_all(tx)?;
        assert!(count(tx, ROWS)? < 1920, "{}", count(tx, ROWS)?);
        assert_eq!(searched(tx, "needle-17")?, [617, 517]);
        assert_eq!(count(tx, UNMARKED)?, 2);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_long_text_is_always_looked_at() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 40)?;
        ends(tx, 19, 0, &format!("{} and its End", "word ".repeat(10_000)))?;
        mark_all(tx)?;
        assert!(find(tx, "nowhere", FEW)?.is_some_and(|runs| runs.contains(&19)));
        assert_eq!(searched(tx, "its end")?, [19]);
        Ok(())
    })
    .unwrap();
}

#[test]
fn damaged_marks_are_told() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 40)?;
        mark_all(tx)?;
        tx.execute("UPDATE #text_marks SET bits = $1", params![&[0u8; 3][..]])?;
        assert!(find(tx, "nowhere", FEW).is_err_and(|error| error.to_string().contains("marks")));
        Ok(())
    })
    .unwrap();
}

#[test]
fn young_blocks_that_are_made_one_after_another_become_a_whole_one() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        for from in (1..=600).step_by(4) {
            over(tx, from, from + 3)?;
            mark_all(tx)?;
        }
        let marked = Marked::read(tx)?;
        assert_eq!(marked, Marked { gone: 0, whole: 1, young: 75 });
        assert_eq!(count(tx, ROWS)?, 1920 + 15 * 32, "the marks of the first young blocks are those of the whole one");
        let may = find(tx, "needle-17", FEW)?.map(|runs| runs.len());
        assert!(may.is_some_and(|runs| (6..=30).contains(&runs)), "{may:?}");
        check(tx)
    })
    .unwrap();
}

#[test]
fn marks_are_good_up_to_the_last_run_that_is_left() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 1000)?;
        mark_all(tx)?;
        assert_eq!(Marked::read(tx)?, Marked { gone: 0, whole: 2, young: 125 });
        for (last, whole, young) in [(980, 2, 122), (959, 2, 120), (958, 1, 60), (500, 1, 60), (478, 0, 0)] {
            for number in (last + 1..=1000).rev() {
                run_delete::delete(tx, "t", &id(number))?;
            }
            assert_eq!(Marked::read(tx)?, Marked { gone: 0, whole, young }, "{last}");
        }
        assert_eq!(searched(tx, "needle-17")?, [417, 317, 217, 117, 17]);
        Ok(())
    })
    .unwrap();
}
