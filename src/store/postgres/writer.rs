//! Owns how jobs become one transaction on a server: again when others were in the way, apart when one of them fails, and asking the
//! server what became of it when the connection broke while it committed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::db::{Connection, Tx};
use super::super::error::StoreError;
use super::super::later::Later;
use super::super::workers::{Work, Writing, caught};
use super::fault::Trouble;
use super::session::{Commit, Session};
use super::{PATIENCE, Postgres};

/// How often a transaction is done again.
const TRIES: u32 = 12;

pub(super) struct Writer {
    engine: Arc<Postgres>,
    session: Option<Session>,
}

/// What became of a try.
enum Tried {
    Kept,
    /// Nothing was kept, and doing it again may work.
    Again(StoreError),
    /// A job of several failed: nothing was kept, and the others must not suffer.
    Apart,
    /// Nothing was kept, and that is the answer.
    Refused(StoreError),
    /// The connection to this process of the server broke; the transaction had this number.
    Unknown(i64, i64),
}

impl Writing for Writer {
    fn commit(&mut self, works: &mut [Work]) -> Vec<Result<(), StoreError>> {
        let count = works.len();
        for tries in 1.. {
            let tried = self.attempt(works);
            let tried = if let Tried::Unknown(backend, number) = tried { self.asked(backend, number) } else { tried };
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
    pub(super) const fn new(engine: Arc<Postgres>) -> Self {
        Self { engine, session: None }
    }

    fn attempt(&mut self, works: &mut [Work]) -> Tried {
        let open = match &mut self.session {
            Some(open) => open,
            none => match self.engine.connect() {
                Ok(session) => none.insert(session),
                Err(error) => return Tried::Refused(error),
            },
        };
        if self.engine.clock.is_old() {
            let _the_transaction_tells_what_is_wrong = self.engine.clock.read(open);
        }
        open.begin("BEGIN");
        let mut later = Later::default();
        for work in works.iter_mut() {
            match caught(Connection::Postgres(open), work) {
                Ok(more) if !open.spoiled() => later.join(more),
                Ok(_) => return self.taken_back(StoreError::Fault("a statement failed, and the work went on".to_owned()), works.len()),
                Err(error) => return self.taken_back(error, works.len()),
            }
        }
        if let Err(error) = later.apply(&mut Tx::new(Connection::Postgres(open))) {
            return self.taken_back(error, works.len());
        }
        match open.commit() {
            Commit::Kept => Tried::Kept,
            Commit::TakenBack(error) => self.taken_back(error, works.len()),
            Commit::Unknown(number) => {
                let backend = open.backend();
                self.session = None;
                Tried::Unknown(backend, number)
            }
        }
    }

    fn taken_back(&mut self, error: StoreError, jobs: usize) -> Tried {
        let trouble = self.session.as_ref().and_then(Session::trouble);
        if let Some(open) = self.session.as_ref().filter(|_| trouble != Some(Trouble::Lost)) {
            let _told_by_the_next_try = open.run("ROLLBACK");
        }
        if self.session.as_ref().is_some_and(Session::lost) {
            self.session = None;
        }
        match trouble {
            Some(Trouble::Again | Trouble::Lost) => Tried::Again(error),
            None if jobs > 1 => Tried::Apart,
            None => Tried::Refused(error),
        }
    }

    /// Asks the server what became of a transaction.
    fn asked(&mut self, backend: i64, number: i64) -> Tried {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let Ok(session) = self.engine.connect() else { break };
            let told = session.simple(&format!("SELECT txid_status({number})"));
            let status = told.ok().and_then(|rows| rows.first().and_then(|row| row.get(0)).map(str::to_owned));
            match status.as_deref() {
                Some("committed") => {
                    self.session = Some(session);
                    return Tried::Kept;
                }
                Some("aborted") => {
                    self.session = Some(session);
                    return Tried::Again(StoreError::Busy);
                }
                Some(_) => {
                    // The commit never arrived: the server still waits for it.
                    let _gone_already = session.simple(&format!("SELECT pg_terminate_backend({backend})"));
                    std::thread::sleep(Duration::from_millis(20));
                }
                None => break,
            }
        }
        Tried::Unknown(backend, number)
    }
}
