//! Tests of what happens when the disk, the file or another program is in the way.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::error::{Error, Kind};
use crate::store::db::migrate;
use crate::store::db::sqlite::{Session, apply as bring_to};
use crate::store::{Job, log};

#[test]
fn a_fresh_schema_equals_one_that_grew_step_by_step() {
    let schema = |steps: &[i64]| {
        let session = Session::new(rusqlite::Connection::open_in_memory().unwrap(), "studio_".into());
        for step in steps {
            bring_to(&session, "studio_", *step).unwrap();
        }
        let mut rows = session.connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").unwrap();
        let text = |row: &rusqlite::Row<'_>| Ok(format!("{:?} {:?}", row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?));
        rows.query_map([], text).unwrap().collect::<Result<Vec<_>, _>>().unwrap()
    };
    let grown: Vec<i64> = (1..=migrate::KNOWN).collect();
    assert_eq!(schema(&grown), schema(&[migrate::KNOWN]));
    assert!(!schema(&grown).is_empty());
}

#[test]
fn the_log_of_an_earlier_version_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.sqlite");
    let store = store_in(&folder);
    write(&store, |tx| runs::insert(tx, &run(1))).unwrap();
    for head in 0..4 {
        write(&store, move |tx| append(tx, &growth(1, head, 1))).unwrap();
    }
    block(store.close(Duration::from_secs(20)));
    let earlier = rusqlite::Connection::open(&path).unwrap();
    earlier
        .execute_batch(
            "CREATE TABLE earlier (key INTEGER PRIMARY KEY, at BIGINT NOT NULL, lane BIGINT NOT NULL, body TEXT NOT NULL, hash BLOB NOT NULL);
             INSERT INTO earlier (key, at, lane, body, hash) SELECT key, at, lane, body, hash FROM studio_log;
             DROP TABLE studio_log; ALTER TABLE earlier RENAME TO studio_log;
             DROP TABLE studio_files_to_remove; DROP INDEX studio_threads_age; DROP INDEX studio_runs_busy;
             DROP INDEX studio_messages_shown; DROP INDEX studio_messages_id;
             DROP INDEX studio_messages_memory; DROP INDEX studio_messages_summaries;
             CREATE INDEX studio_messages_thread ON studio_messages (tenant, thread, history); DELETE FROM studio_meta WHERE key = 'schema';
             ALTER TABLE studio_passages DROP COLUMN page; ALTER TABLE studio_passages DROP COLUMN heading; ALTER TABLE studio_passages DROP COLUMN sheet;
             ALTER TABLE studio_editions DROP COLUMN language; DROP TABLE studio_passage_terms;
             CREATE VIEW report AS SELECT at, body FROM studio_log;
             ALTER TABLE studio_workflow_checkpoints DROP COLUMN turn; PRAGMA user_version = 6;",
        )
        .unwrap();
    drop(earlier);
    let store = store_in(&folder);
    write(&store, |tx| append(tx, &growth(1, 4, 2))).unwrap();
    read(&store, |tx| {
        assert_eq!(log::entries(tx, "t", &id(1), 0, 10)?.len(), 6);
        let order = tx.query("SELECT key % 67108864 FROM #log ORDER BY rowid", &[], |row| row.int(0))?;
        assert_eq!(order, [1, 2, 3, 4, 5]);
        assert_eq!(tx.query_one("SELECT COUNT(*) FROM report", &[], |row| row.int(0))?, Some(5));
        log::verify(tx, "t", &id(1))
    })
    .unwrap();
}

#[test]
fn a_failing_job_takes_back_only_its_own_work() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    let set = |tx: &mut Tx<'_>, key: &str| tx.execute("INSERT INTO #meta (key, value) VALUES ($1, '')", &[key.into()]).map(drop);
    // The first job keeps the writer busy until the others wait; they are one group.
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let (results, seen) = std::sync::mpsc::channel();
    let then = |name: &'static str| {
        let results = results.clone();
        Box::new(move |result: Result<(), StoreError>| results.send((name, result)).unwrap())
    };
    let mut waited = false;
    let first = move |tx: &mut Tx<'_>| {
        // It may be called again, if it came to be in the group.
        if !std::mem::replace(&mut waited, true) {
            wait.recv().unwrap();
        }
        set(tx, "first")
    };
    store.write_then(id(1), Job { work: Box::new(first), then: then("first") });
    store.write_then(id(1), Job { work: Box::new(move |tx| set(tx, "kept")), then: then("kept") });
    store.write_then(id(1), Job { work: Box::new(move |tx| { set(tx, "lost")?; set(tx, "kept") }), then: then("lost") });
    store.write_then(id(1), Job { work: Box::new(move |tx| { set(tx, "panicked")?; panic!("on purpose") }), then: then("panicked") });
    store.write_then(id(1), Job { work: Box::new(move |tx| set(tx, "last")), then: then("last") });
    release.send(()).unwrap();
    let told: Vec<_> = (0..5).map(|_| seen.recv_timeout(Duration::from_secs(20)).unwrap()).collect();
    assert_eq!(told.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["first", "kept", "lost", "panicked", "last"]);
    assert_eq!(told.iter().map(|(_, result)| result.is_ok()).collect::<Vec<_>>(), [true, true, false, false, true]);
    let keys = read(&store, |tx| tx.query("SELECT key FROM #meta WHERE key <> 'schema' ORDER BY key", &[], |row| Ok(row.text(0)?.to_owned())));
    assert_eq!(keys.unwrap(), ["first", "kept", "last"]);
}

#[test]
fn nothing_is_opened_before_the_first_use() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    read(&store, |_| Ok(())).unwrap();
    assert_eq!(fs::metadata(folder.path().join("studio.sqlite")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_closed_store_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    with_run(&store);
    block(store.close(Duration::from_secs(20)));
    assert_eq!(write(&store, |_| Ok(())), Err(StoreError::Closed));
    assert_eq!(read(&store, |_| Ok(())), Err(StoreError::Closed));
}

#[test]
fn a_store_that_was_closed_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..100 {
        let store = store_in(&folder);
        write(&store, |tx| tx.execute("INSERT INTO #meta (key, value) VALUES (lower(hex(randomblob(8))), '')", &[])).unwrap();
        read(&store, |tx| runs::get(tx, "t", &id(1))).unwrap();
        block(store.close(Duration::from_secs(20)));
        assert!(!folder.path().join("studio.sqlite-wal").exists(), "the last one out checkpoints");
    }
}

/// The error of a first use, as hosts see it.
fn refusal(path: &Path) -> (StoreError, Error) {
    let settings = StoreSettings { busy_timeout: Duration::from_millis(50), ..StoreSettings::file(path) };
    let error = write(&Store::open(settings), |_| Ok(())).unwrap_err();
    (error.clone(), error.into())
}

#[test]
fn a_newer_schema_is_refused_and_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let other = rusqlite::Connection::open(&path).unwrap();
    let newer = "CREATE TABLE studio_meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL); INSERT INTO studio_meta VALUES ('schema', '99');";
    other.execute_batch(newer).unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    let (error, shown) = refusal(&path);
    assert_eq!(error, StoreError::Newer { found: 99, known: migrate::KNOWN });
    assert_eq!(shown.kind, Kind::StoreUnavailable);
    assert!(shown.message.contains("use the newer version"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_database_that_a_newer_version_took_is_used_again_when_it_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.sqlite");
    let store = store_in(&folder);
    with_run(&store);
    block(store.close(Duration::from_secs(20)));
    let version = |number: i64| {
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute("UPDATE studio_meta SET value = ?1 WHERE key = 'schema'", [number.to_string()]).unwrap();
    };
    version(migrate::KNOWN + 1);
    let again = store_in(&folder);
    let newer = StoreError::Newer { found: migrate::KNOWN + 1, known: migrate::KNOWN };
    assert_eq!(read(&again, |_| Ok(())), Err(newer.clone()));
    assert_eq!(write(&again, |_| Ok(())), Err(newer));
    version(migrate::KNOWN);
    write(&again, |tx| append(tx, &growth(1, 3, 1))).unwrap();
    assert_eq!(read(&again, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 4);
}

#[test]
fn a_page_of_garbage_stops_what_needs_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.sqlite");
    let store = store_in(&folder);
    with_run(&store);
    let page = read(&store, |tx| {
        let sql = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'studio_log'";
        tx.query_one(sql, &[], |row| Ok((row.count(0)?, row.count(1)?)))
    });
    let (number, size) = page.unwrap().unwrap();
    block(store.close(Duration::from_secs(20)));
    let whole = fs::read(&path).unwrap();
    let mut hurt = whole.clone();
    let at = usize::try_from((number - 1) * size).unwrap();
    hurt[at..at + usize::try_from(size).unwrap()].fill(0xA5);
    fs::write(&path, &hurt).unwrap();
    let again = store_in(&folder);
    for refused in [
        read(&again, |tx| log::entries(tx, "t", &id(1), 0, 10)).map(drop),
        write(&again, |tx| append(tx, &growth(1, 3, 1))).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt(_)) && error.to_string().contains("restore a backup"), "{error:?}");
    }
    assert_eq!(read(&again, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3, "what is whole can be read");
    write(&again, |tx| tx.execute("INSERT INTO #meta (key, value) VALUES ('written', 'beside')", &[])).unwrap();
    block(again.close(Duration::from_secs(20)));
    let mut mended = fs::read(&path).unwrap();
    let end = at + usize::try_from(size).unwrap();
    assert_eq!(mended[at..end], hurt[at..end], "nobody wrote over it");
    mended[at..end].copy_from_slice(&whole[at..end]);
    fs::write(&path, mended).unwrap();
    let mended = store_in(&folder);
    write(&mended, |tx| append(tx, &growth(1, 3, 1))).unwrap();
    read(&mended, |tx| log::verify(tx, "t", &id(1))).unwrap();
}

#[test]
fn garbage_is_told_as_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    fs::write(&path, [b'x'; 9000]).unwrap();
    let (error, shown) = refusal(&path);
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    assert!(shown.message.contains("restore a backup"));
}

#[test]
fn places_that_cannot_hold_a_database_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    fs::write(&real, "").unwrap();
    symlink(&real, folder.path().join("link")).unwrap();
    for (name, says) in [("link", "symbolic link"), (".", "not a file"), ("missing/db", "folder that does not exist")] {
        let (error, shown) = refusal(&folder.path().join(name));
        assert!(matches!(error, StoreError::Place(_)) && shown.message.contains(says), "{name}: {error:?}");
    }
}

#[test]
fn a_lock_of_another_program_is_told_as_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = Store::open(StoreSettings { busy_timeout: Duration::from_millis(50), ..StoreSettings::file(&path) });
    with_run(&store);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(write(&store, |tx| append(tx, &growth(1, 3, 1))), Err(StoreError::Busy));
    assert_eq!(read(&store, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3);
    other.execute_batch("ROLLBACK").unwrap();
    write(&store, |tx| append(tx, &growth(1, 3, 1))).unwrap();
}

#[test]
fn a_replaced_file_is_noticed_before_a_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = Store::open(StoreSettings::file(&path));
    with_run(&store);
    for name in ["db", "db-wal", "db-shm"] {
        fs::rename(folder.path().join(name), folder.path().join(format!("moved-{name}"))).unwrap();
    }
    assert_eq!(write(&store, |tx| append(tx, &growth(1, 3, 1))), Err(StoreError::Replaced));
    let found = write(&store, |tx| runs::get(tx, "t", &id(1))).unwrap();
    assert_eq!(found, None, "what stands there is opened, here a new database");
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// A file system of its own for a test; gone with it. None when this process may not mount.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let done = is_root()
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", options, "none"])
                .arg(folder.path())
                .output()
                .is_ok_and(|output| output.status.success());
        done.then_some(Self(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_told_and_overcome() {
    let Some(disk) = Mounted::new("size=800k") else { return };
    let store = store_in(&disk.0);
    with_run(&store);
    fs::write(disk.0.path().join("ballast"), vec![0; 200_000]).unwrap();
    let mut head = 3;
    let refused = loop {
        match write(&store, move |tx| append(tx, &growth(1, head, 200))) {
            Ok(_) => head += 200,
            Err(error) => break error,
        }
    };
    assert_eq!(refused, StoreError::Full);
    assert_eq!(read(&store, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, head);
    fs::remove_file(disk.0.path().join("ballast")).unwrap();
    write(&store, move |tx| append(tx, &growth(1, head, 1))).unwrap();
    read(&store, |tx| log::verify(tx, "t", &id(1))).unwrap();
}

#[test]
fn a_read_only_place_is_told_and_can_be_read() {
    let Some(disk) = Mounted::new("size=4m") else { return };
    let store = store_in(&disk.0);
    with_run(&store);
    block(store.close(Duration::from_secs(20)));
    let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(disk.0.path()).status().unwrap();
    assert!(remounted.success());
    let again = store_in(&disk.0);
    assert_eq!(write(&again, |_| Ok(())), Err(StoreError::ReadOnly));
    assert_eq!(read(&again, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3);
    // Readers are never without a view; writers get in all the same as soon as the place can be written.
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(read(&again, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head >= 3);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(50));
        let remounted = Command::new("mount").args(["-o", "remount,rw"]).arg(disk.0.path()).status().unwrap();
        assert!(remounted.success());
        let written = write(&again, |tx| append(tx, &growth(1, 3, 1))).map(drop);
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(written, Ok(()));
    });
    assert_eq!(read(&again, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 4);
}

/// Lays a read-only copy of a file over itself; gone with it.
struct Covered<'a>(&'a Path);

impl<'a> Covered<'a> {
    fn new(file: &'a Path) -> Option<Self> {
        let mount = |how: &[&str]| Command::new("mount").args(how).arg(file).output().is_ok_and(|output| output.status.success());
        let done = is_root() && mount(&["--bind", file.to_str().unwrap()]);
        done.then_some(Self(file)).filter(|_| mount(&["-o", "remount,bind,ro"]))
    }
}

impl Drop for Covered<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_read_only_file_is_told_and_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.sqlite");
    let store = store_in(&folder);
    with_run(&store);
    block(store.close(Duration::from_secs(20)));
    let Some(cover) = Covered::new(&path) else { return };
    let again = store_in(&folder);
    assert_eq!(write(&again, |tx| append(tx, &growth(1, 3, 1))).map(drop), Err(StoreError::ReadOnly));
    assert_eq!(read(&again, |tx| runs::get(tx, "t", &id(1))).unwrap().unwrap().head, 3);
    drop(cover);
    write(&again, |tx| append(tx, &growth(1, 3, 1))).unwrap();
    read(&again, |tx| log::verify(tx, "t", &id(1))).unwrap();
}

#[test]
fn a_file_that_may_not_be_written_is_told() {
    if is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert_eq!(refusal(&path).0, StoreError::ReadOnly);
}

/// Run by the test below in a process of its own: claims what it can and appends to it.
#[test]
#[ignore = "the second process of `two_processes_share_one_file`"]
fn second_process() {
    let Ok(path) = std::env::var("STUDIO_TEST_DATABASE") else { return };
    let store = Store::open(StoreSettings::file(path));
    let done = work_off(&store, "second");
    writeln!(std::io::stdout(), "claimed {done}").unwrap();
}

/// Claims queued runs until there are none; each gets one entry.
fn work_off(store: &Store, owner: &'static str) -> usize {
    let mut count = 0;
    while let Some(run) =
        write(store, move |tx| runs::claim_queued(tx, "default", owner, Timestamp(50), Timestamp(80), 1)).unwrap().pop()
    {
        let mut append_one = growth(1, 0, 1);
        append_one.run = run.id;
        append_one.expect_fence = run.fence;
        append_one.row = RunUpdate { fence: run.fence, owner: None, ..update("completed") };
        write(store, move |tx| append(tx, &append_one)).unwrap();
        count += 1;
    }
    count
}

#[test]
fn two_processes_share_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder);
    write(&store, |tx| {
        for number in 1..=120 {
            let queued = RunRow { status: "queued".into(), queue: Some("default".into()), available_at: Some(Timestamp(1)), ..run(number) };
            runs::insert(tx, &queued)?;
        }
        Ok(())
    })
    .unwrap();
    let other = Command::new(std::env::current_exe().unwrap())
        .args(["store::tests::faults::second_process", "--exact", "--ignored", "--nocapture"])
        .env("STUDIO_TEST_DATABASE", folder.path().join("studio.sqlite"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mine = work_off(&store, "first");
    let output = other.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: usize = text.lines().find_map(|line| line.rsplit(' ').next()?.parse().ok()).unwrap();
    assert_eq!(mine + theirs, 120, "{text}");
    let done = read(&store, |tx| tx.query_one("SELECT COUNT(*) FROM #runs WHERE status = 'completed' AND head = 1", &[], |row| row.int(0)));
    assert_eq!(done.unwrap(), Some(120));
}
