//! Owns the work of database threads on an SQLite file: one writer with group commit and checkpoints, and readers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::StoreSettings;
use crate::store::db::inspect::Found;
use crate::store::db::sqlite::{Session, Watch};
use crate::store::db::workers::{Engine, Now, Reading, Work, Writing, caught};
use crate::store::db::{Connection, Tx, fork};
use crate::store::error::StoreError;
use crate::store::later::Later;
use crate::sync::Mutex;

/// So many pages that wait in the log go into the file when it is quiet; a log that is so long goes there after each transaction, and after
/// one that failed when it is shorter.
const SOME_WAIT: i64 = 1000;
const LONG: i64 = 4000;

/// An SQLite file, or a database in memory, as the database threads use it.
pub(in crate::store) struct Sqlite {
    settings: StoreSettings,
    /// Connections are closed under it too, one after another: of two at once neither is SQLite's last, which puts the log into the file.
    opening: Mutex<Opening>,
    replaced: AtomicU64,
}

#[derive(Default)]
struct Opening {
    ready: bool,
    writer: Option<Session>,
}

impl Sqlite {
    pub(in crate::store) fn new(settings: StoreSettings) -> Self {
        Self { settings, opening: Mutex::default(), replaced: AtomicU64::new(0) }
    }

    fn open_writer(&self) -> Result<Session, StoreError> {
        let mut opening = self.opening.lock();
        opening.be_ready(&self.settings)?;
        match opening.writer.take() {
            Some(session) => Ok(session),
            None => crate::store::db::sqlite::open_writer(&self.settings),
        }
    }
}

impl Opening {
    /// Opens the database once; the writer keeps the connection.
    fn be_ready(&mut self, settings: &StoreSettings) -> Result<(), StoreError> {
        if !self.ready {
            self.writer = Some(crate::store::db::sqlite::open_writer(settings)?);
            self.ready = true;
        }
        Ok(())
    }
}

impl Engine for Sqlite {
    fn lanes(&self) -> usize {
        1
    }

    fn reads_apart(&self) -> bool {
        !self.settings.memory
    }

    fn writer(self: Arc<Self>) -> Box<dyn Writing> {
        let watch = Watch::new(&self.settings.path);
        Box::new(Writer { engine: self, session: None, watch, failed: false })
    }

    fn inspect(&self) -> Result<Found, StoreError> {
        crate::store::db::sqlite::inspect(&self.settings)
    }

    fn reader(self: Arc<Self>) -> Box<dyn Reading> {
        Box::new(Reader::new(self, false))
    }

    fn hand(self: Arc<Self>) -> Option<Box<dyn Reading + Send>> {
        let open = self.reads_apart() && self.opening.try_lock().is_some_and(|opening| opening.ready);
        open.then(|| Box::new(Reader::new(self, true)) as Box<dyn Reading + Send>)
    }
}

struct Writer {
    engine: Arc<Sqlite>,
    session: Option<Session>,
    watch: Watch,
    /// The last transaction was not kept.
    failed: bool,
}

impl Writing for Writer {
    fn commit(&mut self, works: &mut [Work]) -> Vec<Result<(), StoreError>> {
        let _guard = fork::enter();
        let count = works.len();
        let done = self.open().and_then(|open| group(open, works));
        self.failed = done.is_err();
        match done {
            Ok(results) => results,
            Err(error) => {
                let error = crate::store::db::sqlite::seen_closer(error, &self.engine.settings.path);
                if error.spoils_connection() {
                    self.give_up(&error);
                    self.watch = Watch::new(&self.engine.settings.path);
                }
                vec![Err(error); count]
            }
        }
    }

    fn tidy(&mut self, quiet: bool) -> bool {
        let _guard = fork::enter();
        self.put_away(quiet).unwrap_or(false)
    }
}

impl Writer {
    /// Puts the log into the file, so that it begins anew. What cannot be put there now is tried after another transaction, a little of a short
    /// log when it is more. Readers keep a log that is not in the file to its end from beginning anew: of a long one also a little is put there, and
    /// after a failure, when the disk may be full and a log that begins anew takes no more of it.
    fn put_away(&mut self, quiet: bool) -> Result<bool, StoreError> {
        let Some(session) = self.session.as_ref().filter(|_| !self.engine.settings.memory) else { return Ok(false) };
        let log = session.log()?;
        let some = log.waiting >= SOME_WAIT;
        let long = log.length >= if self.failed { SOME_WAIT } else { LONG };
        if (quiet && some) || (long && log.waiting > 0) {
            self.watch.unchanged()?;
            session.put_log_away()?;
            return Ok(false);
        }
        Ok(some)
    }

    fn open(&mut self) -> Result<&Session, StoreError> {
        let open = match &mut self.session {
            Some(open) => open,
            none => none.insert(self.engine.open_writer()?),
        };
        if !self.engine.settings.memory {
            self.watch.unchanged()?;
        }
        Ok(open)
    }

    /// Lets a connection go. Of a replaced file it is left open: closing it would delete what stands in its place.
    fn give_up(&mut self, error: &StoreError) {
        let gone = self.session.take();
        if *error == StoreError::Replaced {
            std::mem::forget(gone);
            self.engine.opening.lock().ready = false;
            self.engine.replaced.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _guard = fork::enter();
        let _one = self.engine.opening.lock();
        self.session = None;
    }
}

struct Reader {
    engine: Arc<Sqlite>,
    session: Option<Session>,
    /// It is asked for what one statement reads, which sees one state by itself.
    single: bool,
    replaced: u64,
    /// The process that opened it. A copy in the child of a fork is dropped without being closed.
    process: u32,
}

impl Reading for Reader {
    fn look(&mut self, work: &mut Now<'_>) -> Result<(), StoreError> {
        let _guard = fork::enter();
        let latest = self.engine.replaced.load(Ordering::Relaxed);
        if std::mem::replace(&mut self.replaced, latest) != latest {
            std::mem::forget(self.session.take());
        }
        let result = self.read(work);
        if result.as_ref().is_err_and(StoreError::spoils_connection) {
            self.session = None;
        }
        result
    }
}

impl Reader {
    fn new(engine: Arc<Sqlite>, single: bool) -> Self {
        let replaced = engine.replaced.load(Ordering::Relaxed);
        Self { engine, session: None, single, replaced, process: std::process::id() }
    }

    fn read(&mut self, work: &mut Now<'_>) -> Result<(), StoreError> {
        if let Some(open) = &self.session {
            return seen(open, work, self.single);
        }
        let settings = &self.engine.settings;
        let mut opening = self.engine.opening.lock();
        let ready = opening.be_ready(settings);
        if ready == Err(StoreError::ReadOnly)
            && let Ok(view) = crate::store::db::sqlite::open_read_only(settings, &StoreError::ReadOnly)
        {
            // Closed before anybody tries to write again: an open view of a file that could not be written would keep them from it,
            // and would never show what is written later.
            return seen(&view, work, self.single);
        }
        // It may have become writable meanwhile.
        ready.or_else(|_| opening.be_ready(settings))?;
        drop(opening);
        seen(self.session.insert(crate::store::db::sqlite::open_reader(settings)?), work, self.single)
    }
}

/// Shows work one unchanging view, which one statement needs no transaction for.
fn seen(open: &Session, work: &mut Now<'_>, single: bool) -> Result<(), StoreError> {
    let mut tx = Tx::new(Connection::Sqlite(open));
    if single {
        return caught(&mut tx, work);
    }
    open.run("BEGIN")?;
    let result = caught(&mut tx, work);
    let ended = open.run(if result.is_ok() { "COMMIT" } else { "ROLLBACK" });
    result.and(ended)
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _guard = fork::enter();
        let session = self.session.take();
        if std::process::id() != self.process {
            return std::mem::forget(session);
        }
        let _one = self.engine.opening.lock();
        drop(session);
    }
}

/// All jobs in one transaction; a job that fails takes back only its own work.
fn group(session: &Session, works: &mut [Work]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    // To be able to go back, SQLite keeps a copy of every page that a job changes: the price is paid when a job failed.
    if works.len() > 1 && together(session, works)? {
        return Ok(vec![Ok(()); works.len()]);
    }
    session.run("BEGIN IMMEDIATE")?;
    let alone = works.len() == 1;
    let mut results = Vec::with_capacity(works.len());
    let mut later = Later::default();
    for work in works {
        let mut tx = Tx::new(Connection::Sqlite(session));
        let result = if alone { caught(&mut tx, work) } else { apart(session, &mut tx, work) };
        if session.ended() {
            // SQLite gave up the whole transaction: nothing of this group was kept.
            return Err(result.err().unwrap_or(StoreError::Full));
        }
        results.push(result.map(|()| later.join(tx.into_later())));
    }
    if results.iter().all(Result::is_err) {
        session.run("ROLLBACK")?;
        return Ok(results);
    }
    commit(session, &later).map(|()| results)
}

/// All jobs, or nothing: false when one of them failed.
fn together(session: &Session, works: &mut [Work]) -> Result<bool, StoreError> {
    session.run("BEGIN IMMEDIATE")?;
    let mut tx = Tx::new(Connection::Sqlite(session));
    if works.iter_mut().all(|work| caught(&mut tx, work).is_ok()) {
        return commit(session, &tx.into_later()).map(|()| true);
    }
    if !session.ended() {
        session.run("ROLLBACK")?;
    }
    Ok(false)
}

fn commit(session: &Session, later: &Later) -> Result<(), StoreError> {
    let ended = later.apply(&mut Tx::new(Connection::Sqlite(session))).and_then(|()| session.run("COMMIT"));
    if ended.is_err() && !session.ended() {
        session.run("ROLLBACK")?;
    }
    ended
}

fn apart(session: &Session, tx: &mut Tx<'_>, work: &mut Work) -> Result<(), StoreError> {
    session.run("SAVEPOINT job")?;
    let result = caught(tx, work);
    if result.is_err() && !session.ended() {
        session.run("ROLLBACK TO job")?;
    }
    if !session.ended() {
        session.run("RELEASE job")?;
    }
    result
}
