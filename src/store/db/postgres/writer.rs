//! Owns how jobs become one transaction on a server: repeated after a conflict, split if one job fails, and checked afterwards if the connection
//! broke during the commit.
//!
//! Each writer thread has a row with the number of its last transaction, written first in each. (The server's own transaction ids are not enough:
//! after a crash it reuses those of lost transactions.)

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::store::db::postgres::fault::FailureKind;
use crate::store::db::postgres::session::{Commit, Session};
use crate::store::db::postgres::{PATIENCE, Postgres};
use crate::store::db::workers::{Work, Writing, caught};
use crate::store::db::{Connection, Tx};
use crate::store::error::StoreError;

/// How often a transaction is done again.
const TRIES: u32 = 12;

pub(super) struct Writer {
    engine: Arc<Postgres>,
    session: Option<Session>,
    /// The key of its row.
    lane: String,
    /// The number of its last transaction.
    number: u64,
    /// The process of the server behind a connection that broke: it may hold what the next transaction needs.
    left: Option<String>,
}

/// Rows of lanes that wrote nothing for so long are removed, in milliseconds.
const FORGOTTEN: i64 = 7 * 86_400_000;

/// What became of a try.
enum Tried {
    Kept,
    /// Nothing was kept, and doing it again may work.
    Again(StoreError),
    /// A job of several failed: nothing was kept, and the others must not suffer.
    Apart,
    /// Nothing was kept, and that is the answer.
    Refused(StoreError),
    /// The connection to this process of the server broke.
    Unknown(String),
}

impl Writing for Writer {
    fn commit(&mut self, works: &mut [Work]) -> Vec<Result<(), StoreError>> {
        let count = works.len();
        for tries in 1.. {
            let tried = self.attempt(works);
            let tried = if let Tried::Unknown(process) = tried { self.read_back(process) } else { tried };
            match tried {
                Tried::Kept => return vec![Ok(()); count],
                Tried::Again(error) if tries >= TRIES => return vec![Err(error); count],
                Tried::Again(_) => std::thread::sleep(Duration::from_millis(u64::from(tries * tries)).min(Duration::from_millis(100))),
                Tried::Apart => break,
                Tried::Refused(error) => return vec![Err(error); count],
                Tried::Unknown(..) => return vec![Err(StoreError::Unknown); count],
            }
        }
        works.chunks_mut(1).flat_map(|one| self.commit(one)).collect()
    }
}

impl Writer {
    pub(super) fn new(engine: Arc<Postgres>) -> Self {
        Self { engine, session: None, lane: format!("commit:{}", uuid::Uuid::new_v4()), number: 0, left: None }
    }

    fn connect(&mut self) -> Result<Session, StoreError> {
        let session = self.engine.connect()?;
        if let Some(process) = self.left.take() {
            end(&session, &process);
        }
        let prefix = &self.engine.settings.prefix;
        let _tried_with_the_next_connection = session.simple(&format!(
            "DELETE FROM {prefix}meta WHERE key LIKE 'commit:%' \
             AND split_part(value, ':', 2)::bigint < (extract(epoch FROM now()) * 1000)::bigint - {FORGOTTEN}"
        ));
        Ok(session)
    }

    /// How the next transaction begins.
    fn beginning(&self, open: &Session) -> String {
        let (prefix, lane, number, own) = (&self.engine.settings.prefix, &self.lane, self.number, open.is_its_own());
        format!(
            "BEGIN; INSERT INTO {prefix}meta AS m (key, value) \
             VALUES ('{lane}', '{number}:' || (extract(epoch FROM now()) * 1000)::bigint * ({own})) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        )
    }

    fn attempt(&mut self, works: &mut [Work]) -> Tried {
        self.number += 1;
        if self.session.is_none() {
            match self.connect() {
                Ok(session) => self.session = Some(session),
                Err(error) => return Tried::Refused(error),
            }
        }
        let Some(open) = &self.session else { return Tried::Again(StoreError::Busy) };
        if self.engine.clock.is_old() {
            let _the_transaction_tells_what_is_wrong = self.engine.clock.read(open);
        }
        open.begin(self.beginning(open));
        if let Err(error) = done(open, works) {
            return self.taken_back(error, works.len());
        }
        match open.commit() {
            Commit::Kept => Tried::Kept,
            Commit::TakenBack(error) => self.taken_back(error, works.len()),
            Commit::Unknown => {
                let process = open.process().to_owned();
                self.session = None;
                Tried::Unknown(process)
            }
        }
    }

    fn taken_back(&mut self, error: StoreError, jobs: usize) -> Tried {
        let failure_kind = self.session.as_ref().and_then(Session::failure_kind);
        if let Some(open) = self.session.as_ref().filter(|_| failure_kind != Some(FailureKind::Lost)) {
            let _told_by_the_next_try = open.run("ROLLBACK");
        }
        if let Some(lost) = self.session.take_if(|open| open.lost()) {
            self.left = lost.left_behind();
        }
        match failure_kind {
            Some(FailureKind::Again | FailureKind::Lost) => Tried::Again(error),
            None if jobs > 1 => Tried::Apart,
            None => Tried::Refused(error),
        }
    }

    /// Reads back whether the last transaction was kept.
    fn read_back(&mut self, process: String) -> Tried {
        let (prefix, lane) = (&self.engine.settings.prefix, &self.lane);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Ok(session) = self.engine.connect() else { break };
            // A process that has not noticed must not go on with what nobody waits for; if it does, its row is locked until it has.
            end(&session, &process);
            let told = session.simple(&format!(
                "INSERT INTO {prefix}meta AS m (key, value) VALUES ('{lane}', '0:' || (extract(epoch FROM now()) * 1000)::bigint) \
                 ON CONFLICT (key) DO UPDATE SET value = m.value RETURNING value"
            ));
            if let Ok(rows) = told {
                let last = rows.first().and_then(|row| row.get(0)?.split_once(':')?.0.parse().ok());
                self.session = Some(session);
                return if last == Some(self.number) { Tried::Kept } else { Tried::Again(StoreError::Busy) };
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Tried::Unknown(process)
    }
}

/// Ends a process of the server, if it is still there.
fn end(session: &Session, process: &str) {
    let _gone_already = session.simple(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {process}"));
}

/// All jobs, as far as the end of their transaction.
fn done(open: &Session, works: &mut [Work]) -> Result<(), StoreError> {
    let mut tx = Tx::new(Connection::Postgres(open));
    for work in works {
        caught(&mut tx, work).map_err(|error| open.begun().err().unwrap_or(error))?;
        if open.spoiled() {
            return Err(StoreError::Fault("a statement failed, and the work went on".to_owned()));
        }
    }
    tx.into_later().apply(&mut Tx::new(Connection::Postgres(open)))
}
