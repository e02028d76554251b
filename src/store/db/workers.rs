//! Owns the database threads: writers with group commit, and a few readers.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::model::{Id, Timestamp};
use crate::sync::{Condvar, Mutex};

use crate::store::db::Tx;
use crate::store::db::inspect::Found;
use crate::store::db::notifications::{Listener, Notification};
use crate::store::error::StoreError;

/// Work in a transaction. It may be called again when the transaction was taken back.
pub type Work = Box<dyn FnMut(&mut Tx<'_>) -> Result<(), StoreError> + Send>;
/// Work that is called right away.
pub(in crate::store) type Now<'a> = dyn FnMut(&mut Tx<'_>) -> Result<(), StoreError> + 'a;
/// Tells who waits for a write or a read how it ended.
pub type Then = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// What may wait is done when no write came for so long.
const QUIET: Duration = Duration::from_millis(20);

/// At most so many jobs share one transaction. With more, what a thousand runs do in the same instant would wait for each other; with fewer, a slow
/// disk would have to sync more often than it can.
const GROUP: usize = 128;

/// A database as its threads use it: the seam between SQLite and PostgreSQL.
pub(in crate::store) trait Engine: Send + Sync {
    /// How many threads write at the same time.
    fn lanes(&self) -> usize;
    /// Leases are kept by one more thread: they must not end because something else is in the way of all others.
    fn keeps_apart(&self) -> bool {
        false
    }
    /// Reads have connections of their own.
    fn reads_apart(&self) -> bool;
    /// What a lane works with; nothing is opened before its first job.
    fn writer(self: Arc<Self>) -> Box<dyn Writing>;
    /// What a reader works with; nothing is opened before its first job.
    fn reader(self: Arc<Self>) -> Box<dyn Reading>;
    /// What callers look with on their own threads; only where a look is quick, and the database is in use already.
    fn hand(self: Arc<Self>) -> Option<Box<dyn Reading + Send>> {
        None
    }
    /// Looks at the database through a connection of its own; nothing is changed.
    fn inspect(&self) -> Result<Found, StoreError>;
    /// Notifies other processes.
    fn tell(&self, _: Notification) {}
    /// Receives and sends the notifications of processes until it is closed; blocks its thread. None if there are no other processes.
    fn exchange(self: Arc<Self>, _: Listener) -> Option<Box<dyn FnOnce() + Send>> {
        None
    }
    /// Notifications are received, so frequent polling is not needed.
    fn has_notifications(&self) -> bool {
        false
    }
    /// Whether [`Engine::time`] is known; any use of the database makes it known.
    fn knows_time(&self) -> bool {
        true
    }
    /// The clock that all who share the database agree on; none where that is the host's own.
    fn time(&self) -> Option<Timestamp> {
        None
    }
    /// Stops sending and receiving notifications.
    fn close(&self) {}
}

/// A lane's way to write.
pub(in crate::store) trait Writing {
    /// Runs jobs as one transaction, in order; gives each its own result.
    fn commit(&mut self, works: &mut [Work]) -> Vec<Result<(), StoreError>>;

    /// Looks after the database between two transactions, or when it is `quiet`. Says whether it should be called
    /// again once it is quiet.
    fn tidy(&mut self, _quiet: bool) -> bool {
        false
    }
}

/// A reader's way to read.
pub(in crate::store) trait Reading {
    /// Shows one job one unchanging view; what [`Engine::hand`] gave reads with one statement.
    fn look(&mut self, work: &mut Now<'_>) -> Result<(), StoreError>;
}

/// A write or a read.
pub struct Job {
    /// What is done in the transaction.
    pub work: Work,
    /// What follows at once, on the thread that did it: after the commit of a write, and before anything else of its run is written. Short, and without
    /// locks that anybody holds long. On the caller's thread where the store takes nothing more.
    pub then: Then,
}

#[derive(Default)]
struct Lane {
    /// With the run that each is of.
    waiting: VecDeque<(Option<Id>, Job)>,
    started: bool,
    /// Its thread waits for jobs.
    idle: bool,
    /// Its thread has done all that will ever wait.
    ended: bool,
}

#[derive(Default)]
struct Queues {
    lanes: Vec<Lane>,
    /// The last lane keeps leases and does nothing else.
    keeper: bool,
    reads: VecDeque<Job>,
    readers: usize,
    idle_readers: usize,
    closed: bool,
    /// What is written when everything else is.
    last: Option<Work>,
}

/// What the store and its threads share.
pub(in crate::store) struct Shared {
    engine: Arc<dyn Engine>,
    most_readers: usize,
    queues: Mutex<Queues>,
    write_comes: Vec<Condvar>,
    read_comes: Condvar,
    threads: Mutex<usize>,
    thread_ends: Condvar,
    /// What callers look with.
    hand: Mutex<Option<Box<dyn Reading + Send>>>,
}

impl Shared {
    pub(in crate::store) fn new(engine: Arc<dyn Engine>, most_readers: usize) -> Arc<Self> {
        let keeper = engine.keeps_apart();
        let lanes = engine.lanes().max(1) + usize::from(keeper);
        let queues = Queues { lanes: (0..lanes).map(|_| Lane::default()).collect(), keeper, ..Queues::default() };
        Arc::new(Self {
            engine,
            most_readers,
            queues: Mutex::new(queues),
            write_comes: (0..lanes).map(|_| Condvar::new()).collect(),
            read_comes: Condvar::new(),
            threads: Mutex::new(0),
            thread_ends: Condvar::new(),
            hand: Mutex::new(None),
        })
    }

    /// Queues a write; those of one run stay in order. A lane is started with its first job.
    pub(in crate::store) fn write(self: &Arc<Self>, of: Option<Id>, job: Job) {
        self.write_on(|queues| queues.lane_for(of), of, job);
    }

    /// Queues what keeps leases, behind nothing else where that has a lane of its own.
    pub(in crate::store) fn keep(self: &Arc<Self>, job: Job) {
        self.write_on(|queues| if queues.keeper { queues.lanes.len() - 1 } else { queues.lane_for(None) }, None, job);
    }

    fn write_on(self: &Arc<Self>, lane: impl FnOnce(&Queues) -> usize, of: Option<Id>, job: Job) {
        let mut queues = self.queues.lock();
        if queues.closed {
            drop(queues);
            return (job.then)(Err(StoreError::Closed));
        }
        let lane = lane(&queues);
        queues.lanes[lane].waiting.push_back((of, job));
        let start = !std::mem::replace(&mut queues.lanes[lane].started, true);
        let idle = queues.lanes[lane].idle;
        drop(queues);
        if idle {
            self.write_comes[lane].notify_one();
        }
        if start && let Err(error) = self.spawn(format!("studio-writer-{lane}"), move |shared| shared.write_all(lane)) {
            self.queues.lock().lanes[lane].started = false;
            self.refuse_all(&error);
        }
    }

    /// Queues a read; a reader is started when all are busy and there may be more.
    pub(in crate::store) fn read(self: &Arc<Self>, job: Job) {
        if !self.engine.reads_apart() {
            return self.write(None, job);
        }
        let mut queues = self.queues.lock();
        if queues.closed {
            drop(queues);
            return (job.then)(Err(StoreError::Closed));
        }
        queues.reads.push_back(job);
        let start = queues.idle_readers < queues.reads.len() && queues.readers < self.most_readers;
        queues.readers += usize::from(start);
        drop(queues);
        self.read_comes.notify_one();
        if start && let Err(error) = self.spawn("studio-reader".to_owned(), |shared| shared.read_all()) {
            self.queues.lock().readers -= 1;
            self.refuse_all(&error);
        }
    }

    /// Reads on the caller's own thread; none where that takes long, or while another caller does.
    pub(in crate::store) fn look(self: &Arc<Self>, work: &mut Now<'_>) -> Option<Result<(), StoreError>> {
        let mut hand = self.hand.try_lock()?;
        if hand.is_none() && !self.queues.lock().closed {
            *hand = Arc::clone(&self.engine).hand();
        }
        hand.as_mut().map(|reader| reader.look(work))
    }

    /// No thread can be started: waiting jobs fail.
    fn refuse_all(&self, error: &std::io::Error) {
        let error = StoreError::Io(format!("no thread can be started: {error}"));
        let mut queues = self.queues.lock();
        let mut waiting = Vec::new();
        for lane in queues.lanes.iter_mut().filter(|lane| !lane.started) {
            waiting.extend(lane.waiting.drain(..).map(|(_, job)| job));
        }
        if queues.readers == 0 {
            waiting.extend(queues.reads.drain(..));
        }
        drop(queues);
        for job in waiting {
            (job.then)(Err(error.clone()));
        }
    }

    fn spawn(self: &Arc<Self>, name: String, run: impl FnOnce(&Arc<Self>) + Send + 'static) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        let thread = std::thread::Builder::new().name(name).stack_size(1 << 20);
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
    pub(in crate::store) fn close(&self) {
        self.queues.lock().closed = true;
        *self.hand.lock() = None;
        self.engine.close();
        self.write_comes.iter().for_each(Condvar::notify_all);
        self.read_comes.notify_all();
    }

    /// Writes this when the store was closed and nothing else waits to be written; nothing where nothing was ever written, or where it is closed already.
    pub(in crate::store) fn at_end(&self, last: Work) {
        let mut queues = self.queues.lock();
        if !queues.closed {
            queues.last = Some(last);
        }
    }

    /// A lane has ended; what is written last, when it is the last one.
    fn lane_ended(&self, lane: usize) -> Option<Work> {
        let mut queues = self.queues.lock();
        queues.lanes[lane].ended = true;
        let all_ended = queues.lanes.iter().all(|lane| lane.ended || !lane.started);
        queues.last.take_if(|_| all_ended)
    }

    /// Blocks until the threads have ended, but no longer than this.
    pub(in crate::store) fn wait_for_end(&self, timeout: Duration) {
        let until = Instant::now() + timeout;
        let mut threads = self.threads.lock();
        while *threads > 0 && Instant::now() < until {
            threads = self.thread_ends.wait_timeout(threads, until.saturating_duration_since(Instant::now()));
        }
    }

    pub(in crate::store) fn tell(&self, notification: Notification) {
        self.engine.tell(notification);
    }

    pub(in crate::store) fn has_notifications(&self) -> bool {
        self.engine.has_notifications()
    }

    pub(in crate::store) fn knows_time(&self) -> bool {
        self.engine.knows_time()
    }

    pub(in crate::store) fn time(&self) -> Option<Timestamp> {
        self.engine.time()
    }

    /// Receives notifications on a separate thread.
    pub(in crate::store) fn listen(self: &Arc<Self>, hear: Listener) {
        if let Some(serve) = Arc::clone(&self.engine).exchange(hear)
            && let Err(error) = self.spawn("studio-listener".to_owned(), move |_| serve())
        {
            tracing::warn!(%error, "notifications of other processes cannot be received; the studio polls instead");
        }
    }

    /// What shares the next transaction; nothing when none came within the time, none when none will.
    fn next_writes(&self, lane: usize, within: Option<Duration>) -> Option<Vec<Job>> {
        let until = within.map(|time| Instant::now() + time);
        let mut queues = self.queues.lock();
        while queues.lanes[lane].waiting.is_empty() {
            if queues.closed {
                return None;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Some(Vec::new());
            }
            queues.lanes[lane].idle = true;
            queues = match left {
                Some(left) => self.write_comes[lane].wait_timeout(queues, left),
                None => self.write_comes[lane].wait(queues),
            };
            queues.lanes[lane].idle = false;
        }
        let waiting = &mut queues.lanes[lane].waiting;
        let count = waiting.len().min(GROUP);
        let mut jobs: Vec<(Option<Id>, Job)> = waiting.drain(..count).collect();
        let several = queues.lanes.len() > 1;
        drop(queues);
        if several {
            // Who writes several runs at a time locks them in this order, and nobody waits for one that waits for him.
            jobs.sort_by_key(|(of, _)| *of);
        }
        Some(jobs.into_iter().map(|(_, job)| job).collect())
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

    fn write_all(self: &Arc<Self>, lane: usize) {
        let mut writer = Arc::clone(&self.engine).writer();
        let mut untidy = false;
        while let Some(jobs) = self.next_writes(lane, untidy.then_some(QUIET)) {
            if jobs.is_empty() {
                untidy = writer.tidy(true);
                continue;
            }
            let (mut works, thens): (Vec<_>, Vec<_>) = jobs.into_iter().map(|Job { work, then }| (work, then)).unzip();
            let results = writer.commit(&mut works);
            for (then, result) in thens.into_iter().zip(results) {
                let _ = catch_unwind(AssertUnwindSafe(|| then(result)));
            }
            let _ = catch_unwind(AssertUnwindSafe(|| drop(works)));
            untidy = writer.tidy(false);
        }
        if let Some(last) = self.lane_ended(lane)
            && let Some(Err(error)) = writer.commit(&mut [last]).pop()
        {
            tracing::warn!(%error, "a closing engine could not return its runs and documents to the queue; other processes take them over when the leases expire");
        }
    }

    fn read_all(&self) {
        let mut reader = Arc::clone(&self.engine).reader();
        while let Some(mut job) = self.next_read() {
            let result = reader.look(&mut *job.work);
            let _ = catch_unwind(AssertUnwindSafe(|| (job.then)(result)));
        }
    }
}

impl Queues {
    /// The lane of a run; anything else goes where least waits.
    fn lane_for(&self, of: Option<Id>) -> usize {
        let lanes = &self.lanes[..self.lanes.len() - usize::from(self.keeper)];
        if let Some(run) = of {
            let (_, low) = run.0.as_u64_pair();
            return usize::try_from(low % lanes.len() as u64).unwrap_or(0);
        }
        let load = |lane: &Lane| (lane.waiting.len() + usize::from(lane.started && !lane.idle), !lane.started);
        lanes.iter().enumerate().min_by_key(|(_, lane)| load(lane)).map_or(0, |(at, _)| at)
    }
}

/// Runs work; what it adds to counters is written by the caller, at the end of the transaction.
pub(in crate::store) fn caught(tx: &mut Tx<'_>, work: &mut Now<'_>) -> Result<(), StoreError> {
    catch_unwind(AssertUnwindSafe(|| work(tx)))
        .unwrap_or_else(|_| Err(StoreError::Fault("work on the database panicked; it was taken back".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_its_lane_and_other_work_goes_where_least_waits() {
        let mut queues = Queues { lanes: (0..4).map(|_| Lane::default()).collect(), ..Queues::default() };
        let run = |low: u64| Some(Id::v7(1, 0, low));
        let lanes: Vec<usize> = (0..8).map(|low| queues.lane_for(run(low))).collect();
        assert_eq!(lanes[..4], lanes[4..]);
        assert_eq!(lanes[..4].iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "runs are spread over all lanes");
        let job = || Job { work: Box::new(|_| Ok(())), then: Box::new(|_| {}) };
        for lane in &mut queues.lanes {
            lane.started = true;
            lane.waiting.extend([(None, job()), (None, job())]);
        }
        queues.lanes[2].waiting.pop_front();
        queues.lanes[3].waiting.clear();
        assert_eq!(queues.lane_for(None), 3, "its thread is at work, and nothing waits");
        queues.lanes[2].waiting.clear();
        queues.lanes[2].idle = true;
        assert_eq!(queues.lane_for(None), 2, "its thread waits for work");
        queues.lanes[1].waiting.clear();
        queues.lanes[1].started = false;
        assert_eq!(queues.lane_for(None), 2, "a thread that waits is better than a new one");
        queues.lanes[2].idle = false;
        queues.lanes[2].waiting.push_back((None, job()));
        queues.lanes[1].waiting.push_back((None, job()));
        queues.lanes[0].idle = true;
        assert_eq!(queues.lane_for(None), 3, "one at work is as much as one that waits");
    }
}
