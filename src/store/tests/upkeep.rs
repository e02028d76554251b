//! Tests of retention and of backups.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use super::rest::file;
use super::*;
use crate::store::files::attachments;
use crate::store::threads;
use crate::store::upkeep::retention::{self, Place, Retention};

fn memory() -> Store {
    fresh()
}

/// All that a purge removes.
fn batch(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp) -> Result<retention::Purged, StoreError> {
    let items = retention::find(tx, keep, now, &mut Place::default(), 9)?;
    let (mut purged, done) = retention::remove(tx, &items, keep, now, Instant::now() + Duration::from_secs(60))?;
    assert_eq!(done, items.len());
    purged.add(retention::expire(tx, keep, now, 9)?);
    Ok(purged)
}

#[test]
fn retention_removes_what_is_too_old_and_nothing_else() {
    const DAY: i64 = 86_400_000;
    write(&memory(), |tx| {
        attachments::insert(tx, "t", &file("said"), None)?;
        for (number, status) in [(1, "completed"), (2, "completed"), (3, "awaiting_input"), (4, "running")] {
            runs::insert(tx, &RunRow { thread: id(800 + number), ..run(number) })?;
            threads::begin(tx, "t", &id(800 + number), &of((EntityKind::Workflow, &id(900)), None), Timestamp(5))?;
            let rested_at = Some(Timestamp(if number == 2 { 9 * DAY } else { DAY }));
            let files = if number == 1 { vec!["said".into()] } else { Vec::new() };
            append(tx, &Append { row: RunUpdate { rested_at, ..update(status) }, files, ..growth(number, 0, 1) })?;
        }
        attachments::insert(tx, "t", &file("unused"), None)?;
        let keep = Retention { runs_days: 5, paused_days: 8, threads_days: 5, attachments_days: 0, tokens_seconds: 1 };
        let (late, mut place) = (Timestamp(10 * DAY), Place::default());
        assert!(batch(tx, &keep, Timestamp(DAY))?.is_empty());
        let would = retention::count(tx, &keep, late)?;
        assert_eq!((would.runs, would.threads, would.attachments), (2, 2, 1), "a paused one, too");
        let purged = batch(tx, &keep, late)?;
        assert_eq!((purged.runs, purged.threads, purged.attachments), (1, 2, 2));
        assert_eq!(purged.files, [("t".to_owned(), "said".to_owned()), ("t".to_owned(), "unused".to_owned())]);
        assert!(batch(tx, &keep, late)?.is_empty());
        assert_eq!(runs::get(tx, "t", &id(1))?, None);
        assert!(runs::get(tx, "t", &id(2))?.is_some() && threads::get(tx, "t", &id(803))?.is_some());
        let fence = runs::get(tx, "t", &id(3))?.map_or(0, |row| row.fence);
        assert_eq!(retention::paused_before(tx, &keep, late, &mut place, 9)?, [("t".to_owned(), id(3), fence)]);
        assert_eq!(retention::paused_before(tx, &keep, late, &mut place, 9)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_purge_holds_others_up_no_longer_than_one_run_or_the_time_that_it_has() {
    const DAY: i64 = 86_400_000;
    write(&memory(), |tx| {
        for number in 1..=5 {
            runs::insert(tx, &run(number))?;
            append(tx, &Append { row: RunUpdate { rested_at: Some(Timestamp(DAY)), ..update("completed") }, ..growth(number, 0, 1) })?;
        }
        let (keep, late) = (Retention { runs_days: 5, ..Retention::default() }, Timestamp(10 * DAY));
        let (mut place, now) = (Place::default(), Instant::now());
        let items = retention::find(tx, &keep, late, &mut place, 3)?;
        assert_eq!(items.len(), 3);
        let (purged, done) = retention::remove(tx, &items, &keep, late, now)?;
        assert_eq!((purged.runs, done), (1, 1), "its time is over: one is removed all the same");
        let (purged, done) = retention::remove(tx, &items[1..], &keep, late, now + Duration::from_secs(60))?;
        assert_eq!((purged.runs, done), (2, 2));
        assert_eq!(retention::find(tx, &keep, late, &mut place, 3)?.len(), 2, "the others");
        assert_eq!(retention::find(tx, &keep, late, &mut place, 3)?, [], "it is through");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_run_that_went_on_and_ended_since_it_was_found_is_not_old_any_more() {
    const DAY: i64 = 86_400_000;
    write(&memory(), |tx| {
        for number in [1, 2] {
            runs::insert(tx, &run(number))?;
            append(tx, &Append { row: RunUpdate { rested_at: Some(Timestamp(DAY)), ..update("failed") }, ..growth(number, 0, 1) })?;
        }
        let (keep, late) = (Retention { runs_days: 5, ..Retention::default() }, Timestamp(10 * DAY));
        let items = retention::find(tx, &keep, late, &mut Place::default(), 9)?;
        // Somebody retries the first run, and it completes before the purge comes to it.
        append(tx, &Append { row: RunUpdate { rested_at: Some(late), ..update("completed") }, ..growth(1, 1, 1) })?;
        let (purged, done) = retention::remove(tx, &items, &keep, late, Instant::now() + Duration::from_secs(60))?;
        assert_eq!((purged.runs, done), (1, 2));
        assert!(runs::get(tx, "t", &id(1))?.is_some_and(|row| row.fence == 1) && runs::get(tx, "t", &id(2))?.is_none());
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_was_made_while_a_clock_was_ahead_goes_when_it_is_old_enough() {
    const DAY: i64 = 86_400_000;
    write(&memory(), |tx| {
        // The id is from another year, and the clock was right again when the run ended.
        let number = u64::try_from(300 * DAY).unwrap();
        for (at, status) in [(0, "completed"), (1, "awaiting_input")] {
            runs::insert(tx, &run(number + at))?;
            append(tx, &Append { row: RunUpdate { rested_at: Some(Timestamp(DAY)), ..update(status) }, ..growth(number + at, 0, 1) })?;
        }
        let keep = Retention { runs_days: 5, paused_days: 5, ..Retention::default() };
        assert_eq!(batch(tx, &keep, Timestamp(5 * DAY))?.runs, 0);
        assert_eq!(batch(tx, &keep, Timestamp(7 * DAY))?.runs, 1);
        let mut place = Place::default();
        assert_eq!(retention::paused_before(tx, &keep, Timestamp(7 * DAY), &mut place, 9)?.len(), 1);
        assert_eq!(retention::paused_before(tx, &keep, Timestamp(7 * DAY), &mut place, 9)?, []);
        Ok(())
    })
    .unwrap();
}

#[test]
fn time_is_known_as_far_as_runs_follow_each_other() {
    const DAY: i64 = 86_400_000;
    write(&memory(), |tx| {
        if !tx.is_file() {
            return Ok(());
        }
        assert_eq!(retention::known_time(tx)?, None, "nothing is known");
        for day in [10, 12, 19, 26, 300, 301] {
            runs::insert(tx, &run(u64::try_from(day * DAY).unwrap()))?;
        }
        assert_eq!(retention::known_time(tx)?, Some(Timestamp(26 * DAY)), "then comes a leap");
        retention::note_time(tx, Timestamp(298 * DAY))?;
        assert_eq!(retention::known_time(tx)?, Some(Timestamp(301 * DAY)), "a purge was made before it");
        retention::note_time(tx, Timestamp(1))?;
        assert_eq!(retention::known_time(tx)?, Some(Timestamp(301 * DAY)), "a clock that is behind changes nothing");
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_paused_run_that_a_purge_cancelled_before_it_died_is_removed_by_the_next() {
    write(&memory(), |tx| {
        for (number, status, fence) in [(1, "cancelled", 2), (2, "awaiting_input", 1), (3, "completed", 2), (5, "cancelled", 4), (6, "awaiting_input", 3)] {
            runs::insert(tx, &run(number))?;
            append(tx, &Append { row: RunUpdate { fence, ..update(status) }, ..growth(number, 0, 1) })?;
        }
        let noted = [1, 2, 3, 4, 5, 6].map(|number| ("t".to_owned(), id(number), 1));
        retention::note_leaving(tx, &noted)?;
        retention::note_leaving(tx, &noted)?;
        assert_eq!(retention::left(tx)?, [("t".to_owned(), id(1))], "one that was answered and cancelled by a person stays");
        let notes = |tx: &mut Tx<'_>| tx.query_one("SELECT COUNT(*) FROM #meta WHERE key LIKE 'leaving:%'", &[], |row| row.count(0));
        assert_eq!(notes(tx)?, Some(2), "what was answered, and what is gone, is forgotten");
        retention::forget_leaving(tx, &noted)?;
        assert_eq!(notes(tx)?, Some(0));
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_backup_is_a_whole_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    with_run(&store);
    let copy = folder.path().join("copy.sqlite");
    block(store.backup(&copy, None)).unwrap();
    assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
    assert!(matches!(block(store.backup(&copy, None)), Err(StoreError::Place(_))));
    let second = Store::open(StoreSettings::file(copy));
    assert_eq!(read(&second, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3);
}

#[test]
fn a_backup_that_comes_second_leaves_the_first_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    with_run(&store);
    let settings = StoreSettings::file(folder.path().join("studio.sqlite"));
    let copy = folder.path().join("copy.sqlite");
    let made = || crate::store::db::sqlite::copy(&settings, copy.to_str().unwrap(), |_| Ok(()));
    assert_eq!(made(), Ok(()));
    assert!(matches!(made(), Err(StoreError::Place(_))), "both looked before the file was there");
    let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names().all(|name| !name.ends_with(".tmp")), "{:?}", names().collect::<Vec<_>>());
    let second = Store::open(StoreSettings::file(copy.clone()));
    assert_eq!(read(&second, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3);
}

/// Other tests would wait for this one, and it for those that hold a transaction open.
#[test]
fn a_fork_does_not_wait_for_the_end_of_a_backup() {
    alone("store::tests::upkeep::a_fork_in_a_process_of_its_own");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn a_fork_in_a_process_of_its_own() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    with_run(&store);
    write(&store, |tx| {
        tx.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) \
             INSERT INTO #meta (key, value) SELECT 'filler:' || i, hex(randomblob(60)) FROM n",
            &[],
        )
    })
    .unwrap();
    let settings = StoreSettings::file(folder.path().join("studio.sqlite"));
    let copied_during_a_fork = |copy: &std::path::Path| {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let made = scope.spawn(|| {
                let made = crate::store::db::sqlite::copy(&settings, copy.to_str().unwrap(), |_| Ok(()));
                done.store(true, Ordering::SeqCst);
                made
            });
            let growing = || fs::read_dir(folder.path()).unwrap().any(|entry| entry.unwrap().file_name().to_str().unwrap().ends_with(".tmp"));
            while !growing() && !done.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(5));
            crate::store::db::fork::prepare(Duration::from_secs(20));
            let before_its_end = !done.load(Ordering::SeqCst);
            crate::store::db::fork::parent();
            assert_eq!(made.join().unwrap(), Ok(()));
            before_its_end
        })
    };
    // On a busy machine a backup may be over before the fork begins, but not each of ten.
    let mut copies = (0..10).map(|number| folder.path().join(format!("copy{number}.sqlite")));
    let copy = copies.find(|copy| copied_during_a_fork(copy)).expect("the fork waited for the whole backup");
    let second = Store::open(StoreSettings::file(copy));
    assert_eq!(read(&second, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3);
}

#[test]
fn many_files_that_come_and_go_take_no_locks_but_those_of_their_rows() {
    write(&fresh(), |tx| {
        let keys: Vec<Arc<str>> = (0..50).map(|number| format!("file {number}").into()).collect();
        for key in &keys {
            attachments::insert(tx, "t", &file(key), Some(b"abc"))?;
        }
        runs::insert(tx, &run(1))?;
        append(tx, &Append { files: keys.clone(), row: update("completed"), ..growth(1, 0, 1) })?;
        for key in &keys {
            attachments::must_be_kept(tx, "t", key)?;
        }
        assert_eq!(runs::delete::delete(tx, "t", &id(1))?.len(), 50);
        if !tx.is_file() {
            let text = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
            let locks = tx.query_one(text, &[], |row| row.count(0))?.unwrap_or(0);
            assert!(locks < 10, "a server has room for a few thousand: {locks}");
        }
        Ok(())
    })
    .unwrap();
}
