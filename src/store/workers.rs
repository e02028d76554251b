//! Owns the database threads: one that writes, with group commit, and a few that read.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

use super::db::{Session, Tx};
use super::error::StoreError;
use super::sqlite::{self, Watch};
use super::{StoreSettings, fork};

/// Work in a transaction.
pub type Work = Box<dyn FnOnce(&mut Tx<'_>) -> Result<(), StoreError> + Send>;
/// What follows it, on the database thread.
pub type Then = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// At most so many jobs share one transaction.
const GROUP: usize = 512;

pub(super) struct Job {
    pub(super) work: Work,
    pub(super) then: Then,
}

#[derive(Default)]
struct Queues {
    writes: VecDeque<Job>,
    reads: VecDeque<Job>,
    readers: usize,
    idle_readers: usize,
    writer: bool,
    closed: bool,
}

/// What the store and its threads share.
pub(super) struct Shared {
    settings: StoreSettings,
    queues: Mutex<Queues>,
    write_comes: Condvar,
    read_comes: Condvar,
    opening: Mutex<Opening>,
    threads: Mutex<usize>,
    thread_ends: Condvar,
    replaced: AtomicU64,
}

#[derive(Default)]
struct Opening {
    ready: bool,
    writer: Option<Session>,
}

impl Shared {
    pub(super) fn new(settings: StoreSettings) -> Arc<Self> {
        Arc::new(Self {
            settings,
            queues: Mutex::default(),
            write_comes: Condvar::new(),
            read_comes: Condvar::new(),
            opening: Mutex::default(),
            threads: Mutex::new(0),
            thread_ends: Condvar::new(),
            replaced: AtomicU64::new(0),
        })
    }

    pub(super) fn settings(&self) -> &StoreSettings {
        &self.settings
    }

    /// Queues a write; starts the writer with the first one.
    pub(super) fn write(self: &Arc<Self>, job: Job) {
        let mut queues = self.queues.lock();
        if queues.closed {
            drop(queues);
            return (job.then)(Err(StoreError::Closed));
        }
        queues.writes.push_back(job);
        let start = !std::mem::replace(&mut queues.writer, true);
        drop(queues);
        self.write_comes.notify_one();
        if start && let Err(error) = self.spawn("studio-writer", Self::write_all) {
            self.queues.lock().writer = false;
            self.refuse_all(&error);
        }
    }

    /// Queues a read; a reader is started when all are busy and there may be more.
    pub(super) fn read(self: &Arc<Self>, job: Job) {
        if self.settings.memory {
            return self.write(job);
        }
        let mut queues = self.queues.lock();
        if queues.closed {
            drop(queues);
            return (job.then)(Err(StoreError::Closed));
        }
        queues.reads.push_back(job);
        let start = queues.idle_readers < queues.reads.len() && queues.readers < self.settings.readers;
        queues.readers += usize::from(start);
        drop(queues);
        self.read_comes.notify_one();
        if start && let Err(error) = self.spawn("studio-reader", Self::read_all) {
            self.queues.lock().readers -= 1;
            self.refuse_all(&error);
        }
    }

    /// No thread can be had: what waits is told so.
    fn refuse_all(&self, error: &std::io::Error) {
        let error = StoreError::Io(format!("no thread can be started: {error}"));
        let mut queues = self.queues.lock();
        let mut waiting = Vec::new();
        if !queues.writer {
            waiting.extend(queues.writes.drain(..));
        }
        if queues.readers == 0 {
            waiting.extend(queues.reads.drain(..));
        }
        drop(queues);
        for job in waiting {
            (job.then)(Err(error.clone()));
        }
    }

    fn spawn(self: &Arc<Self>, name: &str, run: fn(&Self)) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(1 << 20);
        *self.threads.lock() += 1;
        let started = thread.spawn(move || {
            run(&shared);
            shared.thread_ended();
        });
        if started.is_err() {
            self.thread_ended();
        }
        started.map(drop)
    }

    fn thread_ended(&self) {
        *self.threads.lock() -= 1;
        self.thread_ends.notify_all();
    }

    /// Nothing more is taken; the threads end when what waits is done.
    pub(super) fn close(&self) {
        self.queues.lock().closed = true;
        self.write_comes.notify_all();
        self.read_comes.notify_all();
    }

    /// Blocks until the threads have ended, but no longer than this.
    pub(super) fn wait_for_end(&self, timeout: Duration) {
        let until = Instant::now() + timeout;
        let mut threads = self.threads.lock();
        while *threads > 0 && Instant::now() < until {
            threads = self.thread_ends.wait_timeout(threads, until.saturating_duration_since(Instant::now()));
        }
    }

    /// Opens the database once, whoever comes first; the connection is kept for the writer.
    fn ready(&self) -> Result<(), StoreError> {
        let mut opening = self.opening.lock();
        if !opening.ready {
            opening.writer = Some(sqlite::open_writer(&self.settings)?);
            opening.ready = true;
        }
        Ok(())
    }

    fn writer(&self) -> Result<Session, StoreError> {
        self.ready()?;
        match self.opening.lock().writer.take() {
            Some(session) => Ok(session),
            None => sqlite::open_writer(&self.settings),
        }
    }

    fn reader(&self) -> Result<Session, StoreError> {
        match self.ready() {
            Ok(()) => sqlite::open_reader(&self.settings),
            Err(refused @ StoreError::ReadOnly) => sqlite::open_read_only(&self.settings, &refused),
            Err(error) => Err(error),
        }
    }

    fn next_writes(&self) -> Vec<Job> {
        let mut queues = self.queues.lock();
        while queues.writes.is_empty() {
            if queues.closed {
                return Vec::new();
            }
            queues = self.write_comes.wait(queues);
        }
        let count = queues.writes.len().min(GROUP);
        queues.writes.drain(..count).collect()
    }

    fn next_read(&self) -> Option<Job> {
        let mut queues = self.queues.lock();
        loop {
            if let Some(job) = queues.reads.pop_front() {
                return Some(job);
            }
            if queues.closed {
                return None;
            }
            queues.idle_readers += 1;
            queues = self.read_comes.wait(queues);
            queues.idle_readers -= 1;
        }
    }

    fn write_all(&self) {
        let mut session = None;
        let mut watch = Watch::new(&self.settings.path);
        loop {
            let jobs = self.next_writes();
            if jobs.is_empty() {
                break;
            }
            let guard = fork::enter();
            let (results, thens) = self.commit(&mut session, &mut watch, jobs);
            drop(guard);
            for (then, result) in thens.into_iter().zip(results) {
                let _ = catch_unwind(AssertUnwindSafe(|| then(result)));
            }
        }
        let _guard = fork::enter();
        drop(session);
    }

    /// Runs jobs as one transaction; gives each its own result.
    fn commit(
        &self,
        session: &mut Option<Session>,
        watch: &mut Watch,
        jobs: Vec<Job>,
    ) -> (Vec<Result<(), StoreError>>, Vec<Then>) {
        let (works, thens): (Vec<Work>, Vec<Then>) = jobs.into_iter().map(|job| (job.work, job.then)).unzip();
        let count = works.len();
        let tried = self.open_for_write(session, watch).and_then(|open| group(open, works));
        let results = match tried {
            Ok(results) => results,
            Err(error) => {
                let error = sqlite::seen_closer(error, &self.settings.path);
                if error.spoils_connection() {
                    self.give_up(session, &error);
                    *watch = Watch::new(&self.settings.path);
                }
                vec![Err(error); count]
            }
        };
        (results, thens)
    }

    fn open_for_write<'s>(
        &self,
        session: &'s mut Option<Session>,
        watch: &mut Watch,
    ) -> Result<&'s Session, StoreError> {
        let open = match session {
            Some(open) => open,
            none => none.insert(self.writer()?),
        };
        if !self.settings.memory {
            watch.unchanged()?;
        }
        Ok(open)
    }

    /// Lets a connection go. Of a replaced file it is left open: closing it would delete what stands in its place.
    fn give_up(&self, session: &mut Option<Session>, error: &StoreError) {
        let gone = session.take();
        if *error == StoreError::Replaced {
            std::mem::forget(gone);
            self.opening.lock().ready = false;
            self.replaced.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read_all(&self) {
        let mut session: Option<Session> = None;
        let mut replaced = self.replaced.load(Ordering::Relaxed);
        while let Some(job) = self.next_read() {
            let guard = fork::enter();
            let latest = self.replaced.load(Ordering::Relaxed);
            if std::mem::replace(&mut replaced, latest) != latest {
                std::mem::forget(session.take());
            }
            let result = self.look(&mut session, job.work);
            drop(guard);
            // A view of a file that nobody can write now would never show what is written later.
            if result.as_ref().is_err_and(StoreError::spoils_connection) || !self.opening.lock().ready {
                session = None;
            }
            let _ = catch_unwind(AssertUnwindSafe(|| (job.then)(result)));
        }
        let _guard = fork::enter();
        drop(session);
    }

    fn look(&self, session: &mut Option<Session>, work: Work) -> Result<(), StoreError> {
        let open = match session {
            Some(open) => open,
            none => none.insert(self.reader()?),
        };
        run(open, "BEGIN")?;
        let result = caught(open, work);
        let ended = run(open, if result.is_ok() { "COMMIT" } else { "ROLLBACK" });
        result.and(ended)
    }
}

/// All jobs in one transaction; a job that fails takes back only its own work.
fn group(session: &Session, works: Vec<Work>) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    run(session, "BEGIN IMMEDIATE")?;
    let alone = works.len() == 1;
    let mut results = Vec::with_capacity(works.len());
    for work in works {
        let result = if alone { caught(session, work) } else { apart(session, work) };
        if session.connection.is_autocommit() {
            // SQLite gave up the whole transaction: nothing of this group was kept.
            return Err(result.err().unwrap_or(StoreError::Full));
        }
        results.push(result);
    }
    if results.iter().all(Result::is_err) {
        run(session, "ROLLBACK")?;
        return Ok(results);
    }
    if let Err(error) = run(session, "COMMIT") {
        if !session.connection.is_autocommit() {
            run(session, "ROLLBACK")?;
        }
        return Err(error);
    }
    Ok(results)
}

fn apart(session: &Session, work: Work) -> Result<(), StoreError> {
    run(session, "SAVEPOINT job")?;
    let result = caught(session, work);
    if result.is_err() && !session.connection.is_autocommit() {
        run(session, "ROLLBACK TO job")?;
    }
    if !session.connection.is_autocommit() {
        run(session, "RELEASE job")?;
    }
    result
}

fn caught(session: &Session, work: Work) -> Result<(), StoreError> {
    catch_unwind(AssertUnwindSafe(|| work(&mut Tx(session))))
        .unwrap_or_else(|_| Err(StoreError::Fault("work on the database panicked; it was taken back".to_owned())))
}

fn run(session: &Session, sql: &str) -> Result<(), StoreError> {
    session.connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
