//! Tests of how a database file is written: when its log goes into it, texts that are empty, when who waits is told,
//! and what is looked at in between.

use std::time::{Duration, Instant};

use super::*;
use crate::store::Job;
use crate::store::db::{Param, params};

/// How long the file and its log are.
fn lengths(folder: &tempfile::TempDir) -> [u64; 2] {
    ["studio.sqlite", "studio.sqlite-wal"].map(|name| std::fs::metadata(folder.path().join(name)).unwrap().len())
}

/// A store that does not wait for the disk.
fn store_of(folder: &tempfile::TempDir) -> Store {
    let settings = StoreSettings::file(folder.path().join("studio.sqlite"));
    Store::open(StoreSettings { synchronous: crate::config::Synchronous::Normal, ..settings })
}

/// Writes a thousand pages in one transaction.
fn fill(store: &Store, part: i64) {
    let fill = move |tx: &mut Tx<'_>| {
        let set = "INSERT INTO #passages (key, content) VALUES ($1, $2)";
        (0..1000).try_for_each(|page| tx.send(set, params![part * 1000 + page, &"x".repeat(3500)]))
    };
    write(store, fill).unwrap();
}

#[test]
fn the_log_goes_into_the_file_when_it_is_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_of(&folder);
    fill(&store, 0);
    let until = Instant::now() + Duration::from_secs(20);
    while lengths(&folder)[0] < 1000 * 4096 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let [file, _] = lengths(&folder);
    assert!(file > 1000 * 4096, "the file has {file} bytes when it is quiet");
}

#[test]
fn a_log_that_grows_long_goes_into_the_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_of(&folder);
    (0..12).for_each(|part| fill(&store, part));
    let [file, log] = lengths(&folder);
    assert!(file > 4000 * 4096, "the file has {file} bytes");
    assert!(log < 7000 * 4096, "the log has {log} bytes");
}

#[test]
fn a_long_log_begins_anew_when_readers_let_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_of(&folder);
    (0..3).for_each(|part| fill(&store, part));
    let [reader, other] = [(); 2].map(|()| rusqlite::Connection::open(folder.path().join("studio.sqlite")).unwrap());
    let length = || -> i64 { other.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1)).unwrap() };
    reader.execute_batch("BEGIN; SELECT COUNT(*) FROM studio_meta;").unwrap();
    let parts = (3..).take_while(|_| length() < 4000);
    parts.for_each(|part| fill(&store, part));
    reader.execute_batch("COMMIT").unwrap();
    let small = |key: i64| write(&store, move |tx| tx.send("INSERT INTO #passages (key, content) VALUES ($1, '')", params![key])).unwrap();
    (90_000..90_003).for_each(small);
    assert!(length() < 1000, "the log is {} pages long", length());
}

#[test]
fn empty_texts_are_parameters_like_others() {
    let store = fresh();
    write(&store, |tx| {
        for (number, tenant, body) in [(1, "", "first"), (2, "second", ""), (3, "third", "x")] {
            let hash = [number; 32];
            tx.send("INSERT INTO #parts (tenant, body, uses, hash) VALUES ($1, $2, 0, $3)", params![tenant, body, &hash[..]])?;
        }
        let get = |tx: &mut Tx<'_>, tenant: &str, body: &str| {
            let values = params![tenant, body];
            tx.query_one("SELECT tenant, body FROM #parts WHERE tenant = $1 AND body = $2", values, |row| Ok(format!("{}/{}", row.text(0)?, row.text(1)?)))
        };
        assert_eq!(get(tx, "", "first")?.as_deref(), Some("/first"));
        assert_eq!(get(tx, "second", "")?.as_deref(), Some("second/"));
        assert_eq!(get(tx, "third", "x")?.as_deref(), Some("third/x"));
        assert_eq!(get(tx, "third", "")?, None);
        assert_eq!(tx.execute("UPDATE #parts SET body = $2 WHERE tenant = $1 OR $1 = ''", params!["", ""])?, 3);
        let nothing = tx.query_one("SELECT tenant FROM #parts WHERE body = $1 OR tenant = $2", &[Param::Text(None), Param::Text(None)], |_| Ok(()))?;
        assert_eq!(nothing, None);
        Ok(())
    })
    .unwrap();
}

/// Who waits for a write hears of it when it is in the file, and before anything else is written.
#[test]
fn everybody_is_told_between_their_write_and_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    let file = folder.path().join("studio.sqlite");
    let (tells, told) = std::sync::mpsc::channel();
    let (goes, go) = std::sync::mpsc::channel::<()>();
    let set = |tx: &mut Tx<'_>, key: &str| tx.send("INSERT INTO #meta (key, value) VALUES ($1, '')", params![key]);
    let then = |what: &'static str| {
        let (tells, file) = (tells.clone(), file.clone());
        Box::new(move |result: Result<(), StoreError>| {
            let stored = "SELECT COUNT(*) FROM studio_meta WHERE key = ?1";
            let rows: i64 = rusqlite::Connection::open(file).unwrap().query_row(stored, [what], |row| row.get(0)).unwrap();
            tells.send((what, rows, result.is_ok())).unwrap();
            panic!("a panic of one keeps nothing from the others");
        })
    };
    let (starts, started) = std::sync::mpsc::channel();
    let first = move |tx: &mut Tx<'_>| {
        starts.send(()).unwrap();
        go.recv().map_err(|_| StoreError::Closed)?;
        set(tx, "first")
    };
    let begins = tells.clone();
    let second = move |tx: &mut Tx<'_>| {
        begins.send(("begins", 0, true)).unwrap();
        set(tx, "second")
    };
    store.write_then(id(1), Job { work: Box::new(first), then: then("first") });
    let wait = Duration::from_secs(20);
    started.recv_timeout(wait).expect("the writer is at work, and others wait");
    store.write_then(id(1), Job { work: Box::new(second), then: then("second") });
    store.write_then(id(2), Job { work: Box::new(move |tx| set(tx, "third")), then: then("third") });
    goes.send(()).unwrap();
    let told = [(); 4].map(|()| told.recv_timeout(wait).unwrap());
    assert_eq!(told, [("first", 1, true), ("begins", 0, true), ("second", 1, true), ("third", 1, true)]);
    block(store.close(wait));
}

/// A question that nobody need wait for is answered at once, without a change of threads.
#[test]
fn a_look_into_a_file_is_made_on_the_thread_that_asks() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    with_run(&store);
    let look = |store: &Store, number| {
        store.look(move |tx| Ok((std::thread::current().id(), runs::get(tx, "t", &id(number))?.map(|run| run.head))))
    };
    let here = std::thread::current().id();
    assert_eq!((look(&store, 1), look(&store, 2)), (Some((here, Some(3))), Some((here, None))));
    write(&store, |tx| append(tx, &growth(1, 3, 2))).unwrap();
    assert_eq!(look(&store, 1), Some((here, Some(5))), "it sees what was written meanwhile");
}

#[test]
fn a_store_that_is_closed_opens_no_file_for_a_look() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    with_run(&store);
    let look = || store.look(|tx| runs::get(tx, "t", &id(1)));
    assert!(look().is_some());
    block(store.close(Duration::from_secs(20)));
    assert!(look().is_none());
}
