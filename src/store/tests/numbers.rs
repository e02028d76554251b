//! Tests of numbers of rows that others remember, of who writes by them, and of several studios in one database.

use super::*;
use crate::store::db::sqlite::{Session, apply as bring_to};
use crate::store::db::{migrate, params};
use crate::store::knowledge::editions::Embedder;
use crate::store::knowledge::readings::Wanted;
use crate::store::knowledge::{documents, editions, readings};
use crate::store::log::Known;
use crate::store::runs::queue;
use crate::store::upkeep::outbox;

fn document(number: u64) -> documents::DocumentRow {
    documents::DocumentRow {
        no: 0,
        id: id(number),
        base: id(70),
        name: "a".into(),
        source_type: "manual".into(),
        mime_type: "text/plain".into(),
        size: 1,
        metadata: json!({}),
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
        usage: Usage::default(),
        state: documents::DocumentState::default(),
    }
}

/// Adds a document and an event; the numbers of the edition, the document, its reading and the event, and what the edition's changes are.
fn add(tx: &mut Tx<'_>, number: u64) -> Result<([i64; 4], i64), StoreError> {
    let embedder = Embedder { provider: "p".into(), model: "m".into(), dimensions: None };
    let edition = editions::for_writing(tx, "t", &id(70), &embedder, "en")?.remove(0);
    let no = documents::insert(tx, "t", &document(number), b"x")?;
    let wanted = Wanted { tenant: "t", base: &id(70), document: no, edition: edition.no, max_words: 9, overlap_words: 1, due: Timestamp(1) };
    let reading = readings::ask(tx, &wanted)?;
    tx.execute("INSERT INTO #host_events (tenant, body, created_at, due_at, tries) VALUES ('t', '1', 1, 1, 0)", &[])?;
    let event = tx.query_one("SELECT MAX(no) FROM #host_events", &[], |row| row.int(0))?.unwrap();
    Ok(([edition.no, no, reading, event], edition.changes))
}

fn remove_all(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    documents::delete_all(tx, "t", &id(70))?;
    while readings::sweep(tx, 100)? {}
    tx.execute("DELETE FROM #host_events", &[])?;
    let left = "SELECT (SELECT COUNT(*) FROM #editions) + (SELECT COUNT(*) FROM #documents) + (SELECT COUNT(*) FROM #readings)";
    assert_eq!(tx.query_one(left, &[], |row| row.int(0))?, Some(0));
    Ok(())
}

#[test]
fn the_number_of_a_row_that_is_gone_is_not_given_again() {
    let mut earlier = ([0; 4], 0);
    for _ in 0..2 {
        let store = fresh();
        write(&store, move |tx| {
            for number in 1..5 {
                let (numbers, changes) = add(tx, number)?;
                if number > 1 {
                    assert!(numbers.iter().zip(earlier.0).all(|(now, before)| *now > before), "{numbers:?} after {:?}", earlier.0);
                    assert_ne!(changes, earlier.1, "another edition");
                }
                earlier = (numbers, changes);
                remove_all(tx)?;
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn rows_of_an_earlier_version_keep_their_numbers_and_no_later_row_has_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.sqlite");
    let session = Session::new(rusqlite::Connection::open(&path).unwrap(), "studio_".into());
    bring_to(&session, "studio_", 7).unwrap();
    session
        .connection
        .execute_batch(&format!(
            "INSERT INTO studio_documents VALUES (41, '{}', 't', '{}', 'a', 'manual', 'text/plain', 1, '{{}}', 1, 1, 0, 0, 0, 0, 0, 0, 0);
             INSERT INTO studio_editions VALUES (7, 't', '{base}', 'current', 'p', 'm', NULL, 3);
             INSERT INTO studio_readings (no, tenant, base, document, edition, state, max_words, overlap_words, done, fence, tries)
               VALUES (12, 't', '{base}', 41, 7, 'live', 9, 1, 0, 1, 1);
             INSERT INTO studio_host_events VALUES (5, 't', '2', 1, 1, 0);
             DELETE FROM studio_meta WHERE key = 'schema';
             CREATE VIEW report AS SELECT name FROM studio_documents;",
            id(1),
            id(70),
            base = id(70)
        ))
        .unwrap();
    drop(session);
    let store = store_in(&folder);
    write(&store, |tx| {
        let edition = editions::of_base(tx, "t", &id(70))?.remove(0);
        assert_eq!((edition.no, edition.changes), (7, 3));
        let live = readings::live(tx, 7)?;
        assert_eq!(live.iter().map(|reading| (reading.no, reading.document)).collect::<Vec<_>>(), [(12, id(1))]);
        assert_eq!(tx.query_one("SELECT name FROM report", &[], |row| Ok(row.text(0)?.to_owned()))?.as_deref(), Some("a"));
        remove_all(tx)?;
        let ([edition, document, reading, event], _) = add(tx, 2)?;
        assert_eq!([edition, document, reading, event], [8, 42, 13, 6]);
        Ok(())
    })
    .unwrap();
    assert_eq!(block(store.inspect()).unwrap().schema, migrate::KNOWN);
}

#[test]
fn a_late_append_does_not_reach_the_run_that_has_the_number_of_one_that_is_gone() {
    let store = fresh();
    write(&store, |tx| {
        let no = runs::insert(tx, &run(1))?;
        let (_, hash) = append(tx, &growth(1, 0, 3))?;
        runs::delete(tx, "t", &id(1))?;
        let other = runs::insert(tx, &RunRow { tenant: "other".into(), ..run(2) })?;
        append(tx, &Append { tenant: "other".into(), ..growth(2, 0, 3) })?;
        let stands = update("running").standing();
        let known = Known { no: other, entity_type: EntityKind::Workflow, entity_id: id(900), hash, stands };
        assert!(no == other || !tx.is_file());
        for status in ["running", "completed"] {
            let late = Append { known: Some(known.clone()), row: update(status), ..growth(1, 3, 1) };
            assert_eq!(append(tx, &late).unwrap_err(), StoreError::Fenced);
        }
        crate::store::log::verify(tx, "other", &id(2))
    })
    .unwrap();
}

#[test]
fn who_tells_an_event_late_does_not_remove_it_from_whoever_tells_it_now() {
    let store = fresh();
    write(&store, |tx| {
        tx.execute("INSERT INTO #host_events (tenant, body, created_at, due_at, tries) VALUES ('t', '1', 1, 1, 0)", &[])?;
        let late = outbox::take_due(tx, Timestamp(10), 9)?.remove(0);
        let due = outbox::next_due(tx)?.unwrap();
        let again = outbox::take_due(tx, due, 9)?.remove(0);
        outbox::done(tx, &late)?;
        assert!(outbox::failed(tx, &late, Timestamp(1))?);
        assert!(outbox::next_due(tx)?.is_some_and(|next| next > due), "it is still taken by the other one");
        outbox::done(tx, &again)?;
        assert_eq!(outbox::next_due(tx)?, None);
        Ok(())
    })
    .unwrap();
}

#[test]
fn tables_of_several_prefixes_share_a_file_and_leave_its_own_version_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.sqlite");
    let host = rusqlite::Connection::open(&path).unwrap();
    host.execute_batch("PRAGMA user_version = 12; CREATE TABLE accounts (x);").unwrap();
    for prefix in ["a_", "b_", "a_"] {
        let store = Store::open(StoreSettings { prefix: prefix.into(), ..StoreSettings::file(&path) });
        let number = if prefix == "a_" { 1 } else { 2 };
        write(&store, move |tx| {
            if runs::get(tx, "t", &id(number))?.is_none() {
                runs::insert(tx, &run(number))?;
            }
            let rows = tx.query_one("SELECT COUNT(*) FROM #runs", &[], |row| row.int(0))?;
            assert_eq!(rows, Some(1), "tables of its own");
            Ok(())
        })
        .unwrap();
        block(store.close(std::time::Duration::from_secs(20)));
    }
    assert_eq!(host.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap(), 12);
}

#[test]
fn leases_of_many_runs_are_held_and_lost_ones_are_told() {
    let store = fresh();
    write(&store, |tx| (1..=250).try_for_each(|number| runs::insert(tx, &run(number)).map(drop))).unwrap();
    write(&store, |tx| tx.execute("UPDATE #runs SET owner = 'b' WHERE id = $1", params![&id(77).to_string()])).unwrap();
    let all: Vec<Id> = (1..=251).rev().map(id).collect();
    let until: queue::Until = Arc::new(|| Timestamp(7000));
    let held = block(queue::hold(&store, &"a".into(), all, &until)).unwrap();
    assert_eq!(held, queue::Renewed { lost: vec![id(77), id(251)], skipped: Vec::new() });
    let held = "SELECT COUNT(*) FROM #runs WHERE lease_until = 7000";
    assert_eq!(read(&store, move |tx| tx.query_one(held, &[], |row| row.int(0))).unwrap(), Some(249));
}

#[test]
fn the_version_that_a_file_tells_goes_up_with_the_schema() {
    let session = Session::new(rusqlite::Connection::open_in_memory().unwrap(), "studio_".into());
    let told = || session.connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    for version in [1, 7, 7, migrate::KNOWN] {
        bring_to(&session, "studio_", version).unwrap();
        assert_eq!(told(), version);
    }
}

#[test]
fn an_edition_does_not_go_while_it_alone_is_to_have_a_document() {
    write(&fresh(), |tx| {
        let ([first, one, ..], _) = add(tx, 1)?;
        let read = |tx: &mut Tx<'_>, document| {
            let reading = readings::claim(tx, Some(document), "w", Timestamp(2), Timestamp(9))?.expect("a reading");
            readings::complete(tx, &reading, Timestamp(3))
        };
        read(tx, one)?;
        let ([_, two, ..], _) = add(tx, 2)?;
        let embedder = Embedder { provider: "p".into(), model: "m".into(), dimensions: None };
        let next = editions::build(tx, "t", &id(70), &embedder, "en")?.no;
        let wanted = Wanted { tenant: "t", base: &id(70), document: one, edition: next, max_words: 9, overlap_words: 1, due: Timestamp(1) };
        readings::ask(tx, &wanted)?;
        read(tx, one)?;
        let current = |tx: &mut Tx<'_>| Ok::<_, StoreError>(editions::of_base(tx, "t", &id(70))?.into_iter().map(|of| (of.no, of.current)).collect::<Vec<_>>());
        assert_eq!(current(tx)?, [(first, true), (next, false)], "the second document waits there");
        let reading = readings::claim(tx, Some(two), "w", Timestamp(2), Timestamp(9))?.expect("it still waits");
        readings::fail(tx, &reading, "no", Timestamp(3))?;
        assert_eq!(current(tx)?, [(next, true)]);
        Ok(())
    })
    .unwrap();
}
