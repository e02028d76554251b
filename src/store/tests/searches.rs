//! Tests of searches for texts in the input, the reply and the error of runs.

use super::*;
use super::lists::numbers;
use crate::store::runs::{RunFilter, delete, list};

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
fn each_text_of_a_run_is_found_page_by_page() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        check(tx)
    })
    .unwrap();
}

#[test]
fn a_search_that_finds_nothing_says_where_to_go_on() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        let (mut shown, filter) = (0, RunFilter { q: Some("nowhere".into()), ..RunFilter::default() });
        let next = list(tx, "t", &filter, None, 100, &mut |_| {
            shown += 1;
            Ok(())
        })?;
        assert!(shown == 0 && next.is_some(), "a page looks at a bounded number of runs");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_text_that_a_run_gets_later_is_found() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        for (at, number) in (1..).zip([119, 219, 319, 519, 19]) {
            ends(tx, number, 0, "a Latecomer")?;
            assert_eq!(searched(tx, "latecomer")?.len(), at, "{number}");
        }
        assert_eq!(searched(tx, "latecomer")?, [519, 319, 219, 119, 19]);
        append(tx, &growth(101, 0, 0))?;
        ends(tx, 101, 0, "at the Second attempt")?;
        assert_eq!(searched(tx, "second attempt")?, [101]);
        check(tx)
    })
    .unwrap();
}

#[test]
fn a_run_that_was_removed_is_not_found() {
    write(&Store::open(StoreSettings::in_memory()), |tx| {
        over(tx, 1, 600)?;
        for number in (301..=600).rev() {
            delete::delete(tx, "t", &id(number))?;
        }
        for number in 601..=700 {
            runs::insert(tx, &RunRow { input_preview: format!("reborn {number}"), status: "completed".into(), ..run(number) })?;
        }
        assert_eq!(searched(tx, "reborn 65")?.len(), 10);
        assert_eq!(searched(tx, "needle-17")?, [217, 117, 17]);
        Ok(())
    })
    .unwrap();
}
