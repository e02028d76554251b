//! Owns a PostgreSQL server as the database: connections for writers and readers, opened on first use and again when lost.

mod notifications;
mod address;
mod clock;
mod fault;
mod schema;
mod session;
mod tls;
pub(in crate::store) mod value;
mod writer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::model::Timestamp;
use crate::store::StoreSettings;
use crate::store::db::currency;
use crate::store::db::inspect::Found;
use crate::store::db::notifications::{Listener, Notification};
use crate::store::db::workers::{Engine, Now, Reading, Writing, caught};
use crate::store::error::StoreError;
use crate::sync::Mutex;

use crate::store::db::postgres::clock::ServerClock;
use crate::store::db::postgres::notifications::Exchange;

pub(in crate::store) use crate::store::db::postgres::address::Address;
pub(in crate::store) use crate::store::db::postgres::session::Session;

/// Threads that write at the same time, each with a connection.
const LANES: usize = 4;
/// A server that restarts is waited for, but not longer than this.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a read is begun when its connection breaks.
const LOOKS: u32 = 6;
/// One that never answered is waited for no longer than this.
const FIRST_PATIENCE: Duration = Duration::from_secs(2);

/// A database on a server, as the database threads use it.
pub(in crate::store) struct Postgres {
    settings: StoreSettings,
    address: Address,
    /// The schema was brought up to date.
    ready: Mutex<bool>,
    clock: ServerClock,
    exchange: Exchange,
}

impl Postgres {
    pub(in crate::store) fn new(settings: StoreSettings, address: Address) -> Self {
        Self { settings, address, ready: Mutex::new(false), clock: ServerClock::default(), exchange: Exchange::default() }
    }

    /// A connection whose schema is known; waits a while for a server that is away.
    fn connect(&self) -> Result<Session, StoreError> {
        let known = *self.ready.lock();
        let until = Instant::now() + if known { PATIENCE } else { FIRST_PATIENCE };
        let mut pause = Duration::from_millis(20);
        loop {
            match self.try_to_connect() {
                Err(StoreError::Io(_) | StoreError::Busy | StoreError::Crowded(_)) if Instant::now() < until => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
                outcome => return outcome,
            }
        }
    }

    fn try_to_connect(&self) -> Result<Session, StoreError> {
        let session = Session::open(&self.address, &self.settings)?;
        self.clock.read(&session)?;
        // Looked at with each connection: a later version of the studio may have brought the schema further.
        let mut ready = self.ready.lock();
        crate::store::db::postgres::schema::up_to_date(&session, &self.settings.prefix)?;
        if !*ready && let Some(currency) = &self.settings.currency {
            currency::settle(&session, &self.settings.prefix, currency)?;
        }
        *ready = true;
        drop(ready);
        Ok(session)
    }
}

impl Engine for Postgres {
    fn lanes(&self) -> usize {
        LANES
    }

    fn keeps_apart(&self) -> bool {
        true
    }

    fn reads_apart(&self) -> bool {
        true
    }

    fn writer(self: Arc<Self>) -> Box<dyn Writing> {
        Box::new(crate::store::db::postgres::writer::Writer::new(self))
    }

    fn reader(self: Arc<Self>) -> Box<dyn Reading> {
        Box::new(Reader { engine: self, session: None })
    }

    fn has_notifications(&self) -> bool {
        true
    }

    fn knows_time(&self) -> bool {
        self.clock.is_known()
    }

    fn time(&self) -> Option<Timestamp> {
        self.clock.now()
    }

    fn inspect(&self) -> Result<Found, StoreError> {
        let session = Session::open(&self.address, &self.settings)?;
        crate::store::db::postgres::schema::inspect(&session, &self.settings.prefix)
    }

    fn tell(&self, notification: Notification) {
        self.exchange.tell(notification);
    }

    fn exchange(self: Arc<Self>, hear: Listener) -> Option<Box<dyn FnOnce() + Send>> {
        Some(Box::new(move || self.exchange.serve(&self.address, &self.settings.prefix, &hear)))
    }

    fn close(&self) {
        self.exchange.close();
    }
}

struct Reader {
    engine: Arc<Postgres>,
    session: Option<Session>,
}

impl Reading for Reader {
    fn look(&mut self, work: &mut Now<'_>) -> Result<(), StoreError> {
        let mut result = self.read(work);
        // A connection that breaks or a statement that is cancelled says nothing of the server, and looking twice does no harm.
        for _ in 1..LOOKS {
            if result.is_ok() || self.session.as_ref().is_none_or(|open| open.failure_kind().is_none()) {
                break;
            }
            self.session.take_if(|open| open.lost());
            result = self.read(work);
        }
        self.session.take_if(|open| open.lost());
        result
    }
}

impl Reader {
    fn read(&mut self, work: &mut Now<'_>) -> Result<(), StoreError> {
        let open = match &mut self.session {
            Some(open) => open,
            none => none.insert(self.engine.connect()?),
        };
        if !self.engine.clock.is_known() {
            let _the_transaction_tells_what_is_wrong = self.engine.clock.read(open);
        }
        open.begin(format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT {}", open.is_its_own()));
        let result = caught(&mut crate::store::db::Tx::new(crate::store::db::Connection::Postgres(open)), work);
        let result = result.map_err(|error| open.begun().err().unwrap_or(error)).and_then(|()| open.begun());
        let ended = open.run(if result.is_ok() { "COMMIT" } else { "ROLLBACK" });
        result.and(ended)
    }
}
