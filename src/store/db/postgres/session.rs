//! Owns a connection to a PostgreSQL server with its prepared statements, behind the verbs of the store.
//!
//! Each thread drives its own connection. Statements without an answer are sent together with the next query.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, NoTls, RowStream, SimpleQueryMessage, Statement};

use crate::model::Timestamp;
use crate::store::db::dialect::{Dialect, translated};
use crate::store::db::postgres::address::Address;
use crate::store::db::postgres::fault::FailureKind;
use crate::store::db::postgres::value::{Value, type_of};
use crate::store::db::postgres::{fault, tls};
use crate::store::db::{Cells, Param, Row};
use crate::store::error::StoreError;
use crate::store::{StoreSettings, Synchronous};

/// The server itself stops a statement after [`LONGEST`]; a server that says nothing for so long is gone.
const ANSWER: Duration = Duration::from_secs(75);
/// A statement takes no longer.
const LONGEST: Duration = Duration::from_secs(60);

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Error>>>>;

/// A connection with its statements, kept by one database thread.
pub(in crate::store) struct Session {
    client: Rc<Client>,
    /// The server's process behind this connection, as a condition of `pg_stat_activity`, and its number.
    process: String,
    number: String,
    prefix: Arc<str>,
    statements: RefCell<HashMap<(usize, usize), Statement>>,
    begun: RefCell<Option<Answer<Vec<SimpleQueryMessage>>>>,
    sent: RefCell<Vec<Answer<()>>>,
    failure_kind: Cell<Option<FailureKind>>,
    /// A statement of this transaction failed: the server takes all of it back, whatever follows.
    spoiled: Cell<bool>,
    /// The server did not answer in time.
    silent: Cell<bool>,
    /// How long an answer is waited for; none = as long as there is a connection.
    patience: Cell<Option<Duration>>,
    runtime: tokio::runtime::Runtime,
}

pub(super) enum Commit {
    /// Everything is kept.
    Kept,
    /// Nothing is.
    TakenBack(StoreError),
    /// The connection broke before the server answered.
    Unknown,
}

impl Session {
    pub(super) fn open(address: &Address, settings: &StoreSettings) -> Result<Self, StoreError> {
        let io = |error: std::io::Error| StoreError::Io(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io)?;
        let client = runtime.block_on(connect(address))?;
        let session = Self {
            client: Rc::new(client),
            process: String::new(),
            number: String::new(),
            prefix: Arc::clone(&settings.prefix),
            statements: RefCell::default(),
            begun: RefCell::default(),
            sent: RefCell::default(),
            failure_kind: Cell::new(None),
            spoiled: Cell::new(false),
            silent: Cell::new(false),
            patience: Cell::new(Some(ANSWER)),
            runtime,
        };
        let durable = if settings.synchronous == Synchronous::Full { "on" } else { "off" };
        session.run(&format!(
            "SET synchronous_commit = {durable}; SET default_transaction_isolation = 'read committed'; SET statement_timeout = '60s'; \
             SET lock_timeout = '20s'; SET idle_in_transaction_session_timeout = '60s'"
        ))?;
        let told = session.simple(
            "SELECT current_setting('server_encoding'), 'pid = ' || pid || ' AND backend_start = ' || quote_literal(backend_start), pid \
             FROM pg_stat_activity WHERE pid = pg_backend_pid()",
        )?;
        let column = |at| told.first().and_then(|row| row.get(at)).unwrap_or_default().to_owned();
        let (encoding, process, number) = (column(0), column(1), column(2));
        if encoding != "UTF8" {
            return Err(StoreError::Place(format!("the database stores text as `{encoding}`; make one with `ENCODING 'UTF8'`")));
        }
        let session = Self { process, number, ..session };
        session.simple(&format!("SELECT {}", session.is_its_own()))?;
        Ok(session)
    }

    /// An expression that is 1, and fails where another process of the server than this connection's was asked.
    pub(super) fn is_its_own(&self) -> String {
        format!("1 / (pg_backend_pid() = {})::int", self.number)
    }

    /// How long an answer is waited for from here on; none = as long as there is a connection.
    pub(super) fn wait_for_answers(&self, patience: Option<Duration>) -> Option<Duration> {
        self.patience.replace(patience)
    }

    /// Nothing more can be done with this connection.
    pub(super) fn lost(&self) -> bool {
        self.failure_kind.get() == Some(FailureKind::Lost) || self.client.is_closed()
    }

    /// What became of the transaction, when something failed in it.
    pub(super) fn failure_kind(&self) -> Option<FailureKind> {
        if self.lost() { Some(FailureKind::Lost) } else { self.failure_kind.get() }
    }

    pub(super) fn spoiled(&self) -> bool {
        self.spoiled.get()
    }

    pub(super) fn process(&self) -> &str {
        &self.process
    }

    /// The server's process, when it may not have noticed that this connection is of no use any more.
    pub(super) fn left_behind(&self) -> Option<String> {
        (self.silent.get() || self.client.is_closed()).then(|| self.process.clone())
    }

    fn failed(&self, error: &Error, took: Duration) -> StoreError {
        let (mut failure_kind, mut told) = fault::of(error);
        if error.code() == Some(&SqlState::QUERY_CANCELED) && took >= LONGEST.mul_f32(0.9) {
            (failure_kind, told) = (None, fault::slow());
        }
        self.spoiled.set(true);
        if failure_kind.is_some() {
            self.failure_kind.set(failure_kind);
        }
        told
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        self.runtime.block_on(self.patiently(answer))
    }

    async fn patiently<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        let asked = Instant::now();
        let answer = match self.patience.get() {
            Some(patience) => tokio::time::timeout(patience, answer).await.ok(),
            None => Some(answer.await),
        };
        match answer {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(self.failed(&error, asked.elapsed())),
            None => {
                self.silent.set(true);
                self.failure_kind.set(Some(FailureKind::Lost));
                Err(StoreError::Io("the database server does not answer".to_owned()))
            }
        }
    }

    /// Hands a question to the connection without waiting; it goes out with the next one that is waited for.
    fn start<T: 'static>(&self, mut answer: Answer<T>) -> Option<Answer<T>> {
        let _entered = self.runtime.enter();
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Some(answer),
            Poll::Ready(Ok(_)) => None,
            Poll::Ready(Err(error)) => {
                self.failed(&error, Duration::ZERO);
                None
            }
        }
    }

    /// Looks at the answers to what was only sent.
    fn settle_sent(&self) -> Result<(), StoreError> {
        let sent = self.sent.take();
        if sent.is_empty() {
            return Ok(());
        }
        self.wait(all(sent))
    }

    /// Begins a transaction; what it is begun with goes out with the first question.
    pub(super) fn begin(&self, how: String) {
        self.failure_kind.set(None);
        self.spoiled.set(false);
        self.sent.take();
        let client = Rc::clone(&self.client);
        let begun = Box::pin(async move { client.simple_query(&how).await });
        let begun = self.start::<Vec<SimpleQueryMessage>>(begun);
        self.begun.replace(begun);
    }

    /// Whether the transaction was begun; if the beginning failed, later failures mean nothing.
    pub(super) fn begun(&self) -> Result<(), StoreError> {
        self.begun.take().map_or(Ok(()), |begun| self.wait(begun).map(drop))
    }

    /// Ends a transaction that wrote.
    pub(super) fn commit(&self) -> Commit {
        if let Err(error) = self.begun() {
            return Commit::TakenBack(error);
        }
        if self.spoiled() || self.lost() {
            return Commit::TakenBack(StoreError::Io("the transaction could not be begun".to_owned()));
        }
        let sent = all(self.sent.take());
        let client = Rc::clone(&self.client);
        let both = async move {
            let (sent, committed) = futures_util::future::join(sent, client.batch_execute("COMMIT")).await;
            sent.and(committed)
        };
        match self.wait(both) {
            Ok(()) => Commit::Kept,
            Err(_) if self.lost() => Commit::Unknown,
            Err(error) => Commit::TakenBack(error),
        }
    }

    /// Runs statements without parameters.
    pub(in crate::store) fn run(&self, sql: &str) -> Result<(), StoreError> {
        let earlier = self.settle_sent();
        let done = self.wait(self.client.batch_execute(sql));
        earlier.and(done)
    }

    /// The rows of a statement without parameters.
    pub(super) fn simple(&self, sql: &str) -> Result<Vec<tokio_postgres::SimpleQueryRow>, StoreError> {
        let told = self.wait(self.client.simple_query(sql))?;
        let rows = told.into_iter().filter_map(|message| if let SimpleQueryMessage::Row(row) = message { Some(row) } else { None });
        Ok(rows.collect())
    }

    /// What time it is at the server.
    pub(super) fn time(&self) -> Result<Timestamp, StoreError> {
        let told = self.simple("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")?;
        let millis = told.first().and_then(|row| row.get(0)?.parse().ok());
        millis.map(Timestamp).ok_or_else(|| StoreError::Fault("the server told no time".to_owned()))
    }

    fn statement(&self, sql: &'static str, params: &[Param<'_>]) -> Result<Statement, StoreError> {
        let key = (sql.as_ptr() as usize, sql.len());
        if let Some(known) = self.statements.borrow().get(&key) {
            return Ok(known.clone());
        }
        let text = self.text(sql);
        let types: Vec<_> = params.iter().map(type_of).collect();
        let prepared = match self.wait(self.client.prepare_typed(&text, &types)) {
            Ok(prepared) => prepared,
            // An earlier statement has the reason why nothing can be prepared.
            Err(error) => return self.settle_sent().and(Err(error)),
        };
        self.statements.borrow_mut().insert(key, prepared.clone());
        Ok(prepared)
    }

    pub(in crate::store) fn execute(&self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let statement = self.statement(sql, params)?;
        let values = values(params);
        let changed = self.wait(self.client.execute_raw(&statement, values.iter()));
        self.settle_sent().and(changed)
    }

    /// Runs a statement without waiting for the answer; a later statement, at the latest the commit, reports its failure.
    pub(in crate::store) fn send(&self, sql: &'static str, params: &[Param<'_>]) -> Result<(), StoreError> {
        let statement = self.statement(sql, params)?;
        let (client, values) = (Rc::clone(&self.client), values(params));
        let answer = Box::pin(async move { client.execute_raw(&statement, values.iter()).await.map(drop) });
        if let Some(answer) = self.start::<()>(answer) {
            self.sent.borrow_mut().push(answer);
        }
        Ok(())
    }

    /// Takes an exclusive lock on this place and key until the transaction ends.
    pub(in crate::store) fn lock(&self, place: &str, key: &str) -> Result<(), StoreError> {
        let name = format!("{}{place}:{key}", self.prefix);
        self.send("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[Param::from(&name)])
    }

    /// Hands rows to `take` as they come, until it says that it has enough: they are not all held at once.
    pub(in crate::store) fn query(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let statement = self.statement(sql, params)?;
        let values = values(params);
        self.hand_each(self.client.query_raw(&statement, values.iter()), take)
    }

    /// The same for a statement that is made for this one time.
    pub(in crate::store) fn query_made(&self, sql: &str, take: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>) -> Result<(), StoreError> {
        self.hand_each(self.client.query_typed_raw(sql, std::iter::empty::<(Value, Type)>()), take)
    }

    fn hand_each(
        &self,
        asked: impl Future<Output = Result<RowStream, Error>>,
        take: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let told = self.runtime.block_on(async {
            let mut rows = std::pin::pin!(self.patiently(asked).await?);
            while let Some(row) = self.patiently(rows.try_next()).await? {
                if !take(&Row(Cells::Postgres(&row)))? {
                    break;
                }
            }
            Ok(())
        });
        // An earlier statement has the reason for the failure.
        self.settle_sent().and(told)
    }

    /// The text of a statement for this server.
    pub(in crate::store) fn text(&self, sql: &str) -> Arc<str> {
        translated(sql, &self.prefix, Dialect::Postgres)
    }
}

fn values(params: &[Param<'_>]) -> Vec<Value> {
    params.iter().map(Value::from).collect()
}

async fn all(answers: Vec<Answer<()>>) -> Result<(), Error> {
    for answer in answers {
        answer.await?;
    }
    Ok(())
}

async fn connect(address: &Address) -> Result<Client, StoreError> {
    let failed = |error: Error| fault::of(&error).1;
    let most = ANSWER.min(Duration::from_secs(10));
    let connected = async {
        if address.may_encrypt() {
            let (client, connection) = address.config.connect(tls::connector(&address.trust)?).await.map_err(failed)?;
            tokio::spawn(async move { drop(connection.await) });
            Ok(client)
        } else {
            let (client, connection) = address.config.connect(NoTls).await.map_err(failed)?;
            tokio::spawn(async move { drop(connection.await) });
            Ok(client)
        }
    };
    let late = |_| StoreError::Io("the database server does not answer".to_owned());
    tokio::time::timeout(most, connected).await.map_err(late)?
}
