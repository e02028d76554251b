//! Tests of lists: every filter, in order, page by page.

use super::*;
use crate::model::usage::{Picos, Usage};
use crate::store::Param;
use crate::store::db::{Connection, params};
use crate::store::runs::{RunFilter, children, counts, delete, list, page};
use crate::store::threads;

const STATUSES: [&str; 3] = ["completed", "failed", "awaiting_input"];

/// Sixty runs of two workflows and an agent, on five threads, some with a child run.
fn many(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    for number in 1..=60 {
        let at = number as usize;
        runs::insert(
            tx,
            &RunRow {
                entity_type: if at % 4 == 0 { EntityKind::Agent } else { EntityKind::Workflow },
                entity_id: id(if at % 4 == 0 { 902 } else { 900 + number % 2 }),
                thread: id(800 + number % 5),
                status: STATUSES[at % 3].into(),
                created_at: Timestamp(i64::from(u32::try_from(number).unwrap()) / 2),
                revision: (at % 7 != 0).then_some(i64::try_from(at % 3).unwrap()),
                total: Usage { cost: Picos(i64::try_from(at).unwrap() * 1_000), ..Usage::default() },
                input_preview: if at == 33 { "i".repeat(120) } else { format!("input {number}") },
                ..run(number)
            },
        )?;
    }
    let long = Entry { event: created(33, &format!("{}\0 A LONG Text, 100% of it", "i".repeat(200))), ..(*entry(1)).clone() };
    append(tx, &Append { entries: vec![Arc::new(long)], row: RunUpdate { started_at: None, ..update("completed") }, ..growth(33, 0, 0) })?;
    let failed = RunUpdate { error: Some(json!({"message": "Tool\0 EXPLODED \\u0000"})), started_at: None, reply: Some("Bye, Ana".into()), ..update("failed") };
    append(tx, &Append { row: failed, ..growth(34, 0, 0) })?;
    runs::insert(tx, &RunRow { parent: Some(id(60)), ..run(61) })?;
    for (run, root, at, model) in [(8, 8, 4, "large"), (9, 9, 3, "large"), (61, 60, 90, "large"), (10, 10, 5, "small")] {
        tx.execute(
            "INSERT INTO #spans (id, tenant, run, root, kind, provider, model, started_at, traced, prompt, completion, cached, cache_write, reasoning, cost, unpriced) \
             VALUES ('s', 't', $1, $2, 'llm', 'p', $3, $4, 1, 0, 0, 0, 0, 0, 0, 0)",
            params![i64::from(run), i64::from(root), model, i64::from(at)],
        )?;
    }
    runs::insert(tx, &RunRow { tenant: "other".into(), ..run(62) })?;
    Ok(())
}

/// The numbers of a whole list, read in pages of seven.
pub(super) fn numbers(tx: &mut Tx<'_>, filter: &RunFilter) -> Result<Vec<usize>, StoreError> {
    let mut found = Vec::new();
    let mut cursor = None;
    loop {
        let before = found.len();
        let next = list(tx, "t", filter, cursor, 7, &mut |run| {
            found.push(usize::try_from(run.no).unwrap());
            Ok(())
        })?;
        let Some(next) = next else { return Ok(found) };
        // A page ends early only where something was looked for, without an index, in as many runs as one page may take.
        let looked = filter.q.is_some() || filter.revision.is_some() || filter.min_cost.is_some() || filter.model.is_some();
        assert!(found.len() == before + 7 || looked, "a page with more behind it is full");
        cursor = Some(next.to_string().parse().unwrap());
    }
}

fn expected(wanted: impl Fn(usize) -> bool) -> Vec<usize> {
    (1..=60).rev().filter(|number| wanted(*number)).collect()
}

#[test]
fn every_filter_pages_through_exactly_its_runs() {
    let store = fresh();
    write(&store, |tx| {
        many(tx)?;
        let status = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let any = RunFilter::default;
        assert_eq!(numbers(tx, &any())?, expected(|_| true));
        assert_eq!(numbers(tx, &RunFilter { status: status(&["failed"]), ..any() })?, expected(|n| n % 3 == 1));
        let two = RunFilter { status: status(&["failed", "completed"]), ..any() };
        assert_eq!(numbers(tx, &two)?, expected(|n| n % 3 != 2));
        let agents = RunFilter { entity_type: Some(EntityKind::Agent), ..any() };
        assert_eq!(numbers(tx, &agents)?, expected(|n| n % 4 == 0));
        let odd = RunFilter { entity_id: Some(id(901)), ..any() };
        assert_eq!(numbers(tx, &odd)?, expected(|n| n % 4 != 0 && n % 2 == 1));
        assert_eq!(numbers(tx, &RunFilter { entity_type: Some(EntityKind::Agent), ..odd.clone() })?, [0usize; 0]);
        let odd_failed = RunFilter { status: status(&["failed"]), from: Some(Timestamp(10)), to: Some(Timestamp(20)), ..odd };
        assert_eq!(numbers(tx, &odd_failed)?, expected(|n| n % 4 != 0 && n % 2 == 1 && n % 3 == 1 && (10..=20).contains(&(n / 2))));
        let thread = RunFilter { thread: Some(id(803)), ..any() };
        assert_eq!(numbers(tx, &thread)?, expected(|n| n % 5 == 3));
        assert_eq!(numbers(tx, &RunFilter { status: status(&["failed"]), ..thread })?, expected(|n| n % 5 == 3 && n % 3 == 1));
        assert_eq!(numbers(tx, &RunFilter { q: Some("INPUT 1".into()), ..any() })?, expected(|n| n == 1 || (10..20).contains(&n)));
        assert_eq!(numbers(tx, &RunFilter { q: Some("long text, 100% OF".into()), ..any() })?, [33]);
        assert_eq!(numbers(tx, &RunFilter { q: Some("triage".into()), ..any() })?, [0usize; 0]);
        assert_eq!(numbers(tx, &RunFilter { q: Some("bye, ana".into()), ..any() })?, [34]);
        assert_eq!(numbers(tx, &RunFilter { q: Some("exploded".into()), ..any() })?, [34]);
        assert_eq!(numbers(tx, &RunFilter { q: Some("message".into()), ..any() })?, [0usize; 0]);
        assert_eq!(numbers(tx, &RunFilter { q: Some("100_".into()), ..any() })?, [0usize; 0]);
        assert_eq!(numbers(tx, &RunFilter { revision: Some(2), ..any() })?, expected(|n| n % 3 == 2 && n % 7 != 0));
        assert_eq!(numbers(tx, &RunFilter { min_cost: Some(Picos(50_000)), ..any() })?, expected(|n| n >= 50));
        let large = RunFilter { model: Some("large".into()), ..any() };
        assert_eq!(numbers(tx, &large)?, [60, 9, 8], "a clock that went back hides no call");
        assert_eq!(numbers(tx, &RunFilter { parent: Some(id(60)), ..large.clone() })?, [61]);
        assert_eq!(numbers(tx, &RunFilter { entity_id: Some(id(902)), status: status(&["awaiting_input"]), ..large })?, [8]);
        let both = RunFilter { min_cost: Some(Picos(50_000)), revision: Some(1), thread: Some(id(802)), ..any() };
        assert_eq!(numbers(tx, &both)?, expected(|n| n >= 50 && n % 3 == 1 && n % 7 != 0 && n % 5 == 2));
        assert_eq!(numbers(tx, &RunFilter { parent: Some(id(60)), ..any() })?, [61]);
        assert_eq!(children(tx, "t", &id(60))?.len(), 1);
        let mut shown = Vec::new();
        let total = page(tx, "t", &RunFilter { status: status(&["failed"]), ..any() }, 2, 15, &mut |run| {
            shown.push(run.no);
            Ok(())
        })?;
        assert_eq!((shown, total), (vec![13, 10, 7, 4, 1], 20));
        for wanted in [&["failed"][..], &["failed", "completed"], &[]] {
            let odd = RunFilter { entity_id: Some(id(901)), status: status(wanted), ..any() };
            let all = expected(|n| n % 4 != 0 && n % 2 == 1 && (wanted.is_empty() || wanted.contains(&STATUSES[n % 3])));
            let mut shown = Vec::new();
            let total = page(tx, "t", &odd, 1, 5, &mut |run| {
                shown.push(usize::try_from(run.no).unwrap());
                Ok(())
            })?;
            assert_eq!((shown.as_slice(), total), (&all[..5], all.len() as u64), "{wanted:?}");
        }
        let counts = counts(tx, "t")?;
        assert_eq!((counts.running, counts.awaiting_input), (0, 20));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_text_is_looked_for_in_so_many_runs_at_once() {
    let store = fresh();
    write(&store, |tx| {
        many(tx)?;
        let status = vec!["failed".to_owned(), "completed".into()];
        for (filter, pages) in [
            (RunFilter { q: Some("nowhere".into()), ..RunFilter::default() }, 3),
            (RunFilter { q: Some("nowhere".into()), thread: Some(id(803)), ..RunFilter::default() }, 1),
            (RunFilter { q: Some("nowhere".into()), from: Some(Timestamp(20)), ..RunFilter::default() }, 2),
            (RunFilter { q: Some("nowhere".into()), status, ..RunFilter::default() }, 1),
        ] {
            let (mut cursor, mut asked) = (None, 0);
            loop {
                cursor = list(tx, "t", &filter, cursor, 7, &mut |run| panic!("{}", run.no))?;
                asked += 1;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(asked, pages, "{filter:?}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn lists_walk_an_index_and_sort_nothing() {
    let store = Store::open(StoreSettings::in_memory());
    write(&store, |tx| {
        many(tx)?;
        let any = RunFilter::default;
        for filter in [
            any(),
            RunFilter { status: vec!["failed".into()], ..any() },
            RunFilter { entity_type: Some(EntityKind::Agent), ..any() },
            RunFilter { entity_id: Some(id(901)), ..any() },
            RunFilter { thread: Some(id(803)), ..any() },
        ] {
            list(tx, "t", &filter, None, 5, &mut |_| Ok(()))?;
        }
        let Connection::Sqlite(session) = tx.connection() else { panic!("an SQLite file") };
        let lists: Vec<_> = session.texts().into_iter().filter(|text| text.contains("ORDER BY created_at DESC")).collect();
        assert_eq!(lists.len(), 4);
        for text in lists {
            let mut plan = session.connection.prepare(&format!("EXPLAIN QUERY PLAN {text}"))?;
            let nulls = rusqlite::params_from_iter(vec![Param::Int(None); plan.parameter_count()]);
            let lines: Vec<String> = plan.query_map(nulls, |row| row.get(3))?.collect::<Result<_, _>>()?;
            assert!(lines[0].starts_with("SEARCH") && !lines.iter().any(|line| line.contains("TEMP B-TREE")), "{lines:?} {text}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_text_is_found_where_a_whole_look_finds_it() {
    let store = fresh();
    write(&store, |tx| {
        let words = ["Refund", "\u{e7}a va", "100%", "a_b", "back\\slash", "\"quoted\"", "\u{65e5}\u{672c}", "X", "fu", "line\nbreak"];
        let word = |n: u64, m: u64| words[usize::try_from(n * m % 10).unwrap()];
        let mut texts = std::collections::BTreeMap::new();
        for number in 1..=60 {
            let input = if number % 6 == 0 { format!("{} {}", "i".repeat(130), word(number, 3)) } else { word(number, 7).to_owned() };
            runs::insert(tx, &RunRow { input_preview: input.chars().take(120).collect(), ..run(number) })?;
            let entry = Entry { event: created(number, &input), ..(*entry(1)).clone() };
            let failed = (number % 5 == 0).then(|| json!({"message": word(number, 9)}));
            let reply = |text: &str| (number % 4 != 0).then(|| text.into());
            let first = RunUpdate { error: failed, reply: reply("first answer"), started_at: None, ..update("failed") };
            append(tx, &Append { entries: vec![Arc::new(entry)], row: first, ..growth(number, 0, 0) })?;
            // Tried again: it has another answer, and the error is gone.
            let last = RunUpdate { reply: reply(word(number, 1)), started_at: None, ..update("completed") };
            if number % 10 != 0 {
                append(tx, &Append { row: last.clone(), ..growth(number, 1, 1) })?;
            }
            let error = (number % 10 == 0).then(|| word(number, 9).to_owned());
            let reply = if number % 10 == 0 { reply("first answer") } else { last.reply.clone() };
            texts.insert(number, [Some(input), reply.map(|text| text.to_string()), error]);
        }
        for number in [7, 18, 60] {
            texts.remove(&number);
            delete::delete(tx, "t", &id(number))?;
        }
        for q in ["refund", "FU", "x", "\u{e7}A", "0%", "a_b", "a%b", "k\\s", "\"Q", "\u{672c}", "e\nb", "answer", "i \u{65e5}", "\0", "nowhere", "iiif"] {
            let holds = |text: &String| text.to_ascii_lowercase().contains(&q.to_lowercase());
            let wanted: Vec<_> = texts.iter().filter(|(_, texts)| texts.iter().flatten().any(holds)).map(|(number, _)| *number).rev().collect();
            let found = numbers(tx, &RunFilter { q: Some(q.into()), ..RunFilter::default() })?;
            assert_eq!(found.iter().map(|no| *no as u64).collect::<Vec<_>>(), wanted, "{q:?}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_list_is_prepared_once_whatever_is_looked_for() {
    let store = Store::open(StoreSettings::in_memory());
    write(&store, |tx| {
        many(tx)?;
        for q in [Some("input 1"), None, Some("nowhere")] {
            list(tx, "t", &RunFilter { q: q.map(str::to_owned), ..RunFilter::default() }, None, 5, &mut |_| Ok(()))?;
        }
        let Connection::Sqlite(session) = tx.connection() else { panic!("an SQLite file") };
        let lists: Vec<_> = session.texts().into_iter().filter(|text| text.contains("ORDER BY created_at DESC")).collect();
        assert_eq!(lists.len(), 2);
        for text in lists {
            let statement = session.connection.prepare_cached(&text)?;
            assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0, "{text}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_pause_is_looked_for_where_it_most_likely_is() {
    write(&fresh(), |tx| {
        for number in 1..=30 {
            let waits = (number == 5).then(|| id(405));
            let at = Timestamp(i64::try_from(number).unwrap() * 10);
            runs::insert(tx, &RunRow { status: "awaiting_input".into(), created_at: at, awaiting_pause: waits, ..run(number) })?;
        }
        let found = |tx: &mut Tx<'_>, pause: Id| threads::runs_with_pause(tx, "t", &id(800), &id(900), &pause, 3);
        assert_eq!(found(tx, id(405))?, [id(5), id(30), id(29)], "the one that waits at it first");
        assert_eq!(found(tx, Id::v7(125, 0, 9))?, [id(12), id(11), id(10)], "those that were there then, newest first");
        assert_eq!(found(tx, Id::v7(15, 0, 9))?, [id(1), id(30), id(29)]);
        assert_eq!(threads::runs_with_pause(tx, "t", &id(800), &id(901), &id(405), 3)?, []);
        Ok(())
    })
    .unwrap();
}
