//! Owns the database: an async interface to the database threads, and the modules of the tables.
//!
//! Opening stores settings; threads, connections and the file come with the first use.

pub mod files;
pub mod knowledge;
pub mod upkeep;
pub mod db;
pub mod definitions;
mod error;
mod later;
pub mod log;
pub mod runs;
pub mod threads;
pub mod usage;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::sync::Mutex;
use tokio::sync::oneshot;

use crate::config::Config;
pub use crate::config::Synchronous;
pub use crate::store::db::notifications::{Listener, Notification};
pub use db::{Param, Row, Tx};
pub use error::StoreError;

use crate::model::{Id, Timestamp};
use crate::store::db::sqlite::Sqlite;
use crate::store::db::workers::{Engine, Shared};
pub use crate::store::db::workers::{Job, Then, Work};

/// Where the database is and how it is used.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// The file.
    pub path: PathBuf,
    /// No file: everything lives in memory, as long as the store.
    pub memory: bool,
    /// No file: a server, and how to log in.
    #[cfg(feature = "postgres")]
    server: Option<db::postgres::Address>,
    /// How hard a commit is pressed onto the disk.
    pub synchronous: Synchronous,
    /// What table names begin with.
    pub prefix: Arc<str>,
    /// The currency of costs; none if it is not needed.
    pub currency: Option<Arc<str>>,
    /// At most so many threads read.
    pub readers: usize,
    /// How long another process may hold the lock.
    pub busy_timeout: Duration,
}

impl StoreSettings {
    const fn dialect(&self) -> db::dialect::Dialect {
        #[cfg(feature = "postgres")]
        if self.server.is_some() {
            return db::dialect::Dialect::Postgres;
        }
        db::dialect::Dialect::Sqlite
    }

    /// A database file with the settings that are the default.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            memory: false,
            #[cfg(feature = "postgres")]
            server: None,
            synchronous: Synchronous::Full,
            prefix: "studio_".into(),
            currency: None,
            readers: 4,
            busy_timeout: Duration::from_secs(5),
        }
    }

    /// What a configuration asks for; a database that this build cannot use is refused.
    pub fn of(config: &Config) -> Result<Self, StoreError> {
        if !config.queues_in_database() {
            let text = "`queue_connection` names another database than the main one; a run and its job are stored in one transaction, so the \
                        queue can be nowhere else: leave it unset, and keep queues apart by `queue`";
            return Err(StoreError::Place(text.to_owned()));
        }
        let place = match config.database.url.as_deref().filter(|url| !url.starts_with("sqlite:")) {
            Some(url) => Self::server(url, config)?,
            None => config.database_file().map_or_else(Self::in_memory, Self::file),
        };
        let currency = Some(config.usage.currency.as_str().into());
        Ok(Self { synchronous: config.database.synchronous, prefix: config.table_prefix.as_str().into(), currency, ..place })
    }

    /// A database on a server.
    #[cfg(feature = "postgres")]
    fn server(url: &str, config: &Config) -> Result<Self, StoreError> {
        let secret = |name: &str| config.secret(name).map(|secret| secret.0.to_string());
        Ok(Self { server: Some(db::postgres::Address::parse(url, secret)?), ..Self::file("") })
    }

    #[cfg(not(feature = "postgres"))]
    fn server(_: &str, _: &Config) -> Result<Self, StoreError> {
        Err(StoreError::Place("this build has no PostgreSQL; use `database.path` or a `sqlite:` URL".to_owned()))
    }

    /// A database in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { memory: true, ..Self::file("") }
    }
}

/// The database.
#[derive(Clone)]
pub struct Store(Arc<Open>);

struct Open {
    settings: StoreSettings,
    threads: Arc<Shared>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.threads.close();
    }
}

impl Store {
    /// A store with these settings; nothing is opened before the first use.
    #[must_use]
    pub fn open(settings: StoreSettings) -> Self {
        let threads = Shared::new(engine(&settings), settings.readers);
        Self(Arc::new(Open { settings, threads }))
    }

    /// The migrations as this database runs them: the name of a file and its SQL, oldest first.
    pub fn migrations(&self) -> Vec<(&'static str, String)> {
        db::migrate::texts(&self.0.settings.prefix, self.0.settings.dialect())
    }

    /// Reads from one unchanging view of the database. The work may be called again when the connection was lost.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = job(work);
        self.0.threads.read(job);
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Reads with one statement at once, on the caller's own thread. None where that would take long, or did not work: then [`Store::read`] is asked.
    pub fn look<T>(&self, mut work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError>) -> Option<T> {
        let mut found = None;
        let mut look = |tx: &mut Tx<'_>| {
            found = Some(work(tx)?);
            Ok(())
        };
        let looked = self.0.threads.look(&mut look)?;
        looked.ok().and(found)
    }

    /// Writes, all or nothing; answers when it is committed. The work may be called again when the transaction was taken back.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = job(work);
        self.0.threads.write(None, job);
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// The same, in order with other writes of a run.
    pub async fn write_of<T: Send + 'static>(
        &self,
        of: Id,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = job(work);
        self.0.threads.write(Some(of), job);
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Writes what keeps leases: other writes that are held up do not hold it up, where that can be.
    pub(crate) async fn keep<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = job(work);
        self.0.threads.keep(job);
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Queues a write, in order with others of the same run. What follows it must not block.
    pub fn write_then(&self, of: Id, job: Job) {
        self.0.threads.write(Some(of), job);
    }

    /// Notifies other processes on this database; does nothing if there can be none.
    pub fn tell(&self, notification: Notification) {
        self.0.threads.tell(notification);
    }

    /// Subscribes to notifications of other processes.
    pub fn listen(&self, hear: Listener) {
        self.0.threads.listen(hear);
    }

    /// Whether notifications of other processes are received.
    pub fn has_notifications(&self) -> bool {
        self.0.threads.has_notifications()
    }

    /// From here on [`Store::time`] is that of all who share the database, also when nothing was asked of it before.
    pub async fn know_time(&self) -> Result<(), StoreError> {
        if self.0.threads.knows_time() { Ok(()) } else { self.read(|_| Ok(())).await }
    }

    /// The clock of leases: the server's if there is one, else the host's.
    pub fn time(&self, host: Timestamp) -> Timestamp {
        self.0.threads.time().unwrap_or(host)
    }

    /// Writes this when the store is closed, behind everything that was queued before, also when nobody waits for it any more. Nothing happens when
    /// the store is closed already, or was never written to.
    pub fn at_end(&self, work: impl FnMut(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static) {
        self.0.threads.at_end(Box::new(work));
    }

    /// Takes nothing more, finishes what waits, and waits for it no longer than `timeout`.
    pub async fn close(&self, timeout: Duration) {
        self.0.threads.close();
        let (sender, ended) = oneshot::channel();
        let shared = Arc::clone(&self.0.threads);
        let wait = move || {
            shared.wait_for_end(timeout);
            let _ = sender.send(());
        };
        if std::thread::Builder::new().name("studio-closing".to_owned()).spawn(wait).is_ok() {
            let _ = ended.await;
        }
    }

    /// Looks at the database without bringing it up to date.
    pub async fn inspect(&self) -> Result<db::inspect::Found, StoreError> {
        let (sender, answer) = oneshot::channel();
        let engine = engine(&self.0.settings);
        let look = move || {
            let _ = sender.send(engine.inspect());
        };
        let thread = std::thread::Builder::new().name("studio-inspect".to_owned()).spawn(look);
        thread.map_err(|error| StoreError::Io(format!("no thread can be started: {error}")))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Store({})", self.0.settings.path.display())
    }
}

fn engine(settings: &StoreSettings) -> Arc<dyn Engine> {
    #[cfg(feature = "postgres")]
    if let Some(address) = &settings.server {
        return Arc::new(db::postgres::Postgres::new(settings.clone(), address.clone()));
    }
    Arc::new(Sqlite::new(settings.clone()))
}

/// A job whose value comes back through a channel.
fn job<T: Send + 'static>(
    mut work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, StoreError>>) {
    let (sender, answer) = oneshot::channel();
    let slot = Arc::new(Mutex::new(None));
    let filled = Arc::clone(&slot);
    let work = Box::new(move |tx: &mut Tx<'_>| {
        *filled.lock() = Some(work(tx)?);
        Ok(())
    });
    let then = Box::new(move |result: Result<(), StoreError>| {
        let value = slot.lock().take();
        let _ = sender.send(result.and_then(|()| value.ok_or(StoreError::Closed)));
    });
    (Job { work, then }, answer)
}

#[cfg(test)]
mod tests;
