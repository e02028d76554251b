//! Owns `NOTIFY` and `LISTEN` between processes: sent after the commit; a lost one does no harm.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::sync::{Notify, mpsc};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Notification as PgNotification, Socket};
use tokio_util::sync::CancellationToken;

use crate::model::Id;
use crate::store::db::notifications::{Listener, Notification};
use crate::store::db::postgres::address::Address;
use crate::store::db::postgres::tls;
use crate::sync::Mutex;

/// Notification of so short a time go out together.
const GATHERED: Duration = Duration::from_millis(10);
/// Before the next try when the server is away.
const AWAY: Duration = Duration::from_secs(1);
/// Runs that one message names: a message has at most 8,000 bytes.
const RUNS: usize = 200;

/// The notifications to send.
#[derive(Default)]
pub(super) struct Exchange {
    pending: Mutex<PendingNotifications>,
    comes: Notify,
    closed: CancellationToken,
}

#[derive(Default)]
struct PendingNotifications {
    jobs: bool,
    runs: BTreeSet<Id>,
}

impl Exchange {
    pub(super) fn tell(&self, notification: Notification) {
        let mut pending = self.pending.lock();
        match notification {
            Notification::Jobs => pending.jobs = true,
            Notification::Run(run) => drop(pending.runs.insert(run)),
            Notification::Anything => return,
        }
        drop(pending);
        self.comes.notify_one();
    }

    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// The messages for what waits.
    fn messages(&self) -> Vec<String> {
        let pending = std::mem::take(&mut *self.pending.lock());
        let runs: Vec<String> = pending.runs.iter().map(Id::to_string).collect();
        let mut messages: Vec<String> = runs.chunks(RUNS).map(|some| some.join(",")).collect();
        if pending.jobs {
            messages.push("jobs".to_owned());
        }
        messages
    }

    /// Sends and receives notifications until it is closed; blocks its thread.
    pub(super) fn serve(&self, address: &Address, prefix: &str, hear: &Listener) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            while !self.closed.is_cancelled() {
                let served = async {
                    if address.may_encrypt() {
                        let Ok(tls) = tls::connector(&address.trust) else { return };
                        self.log(self.serve_once(&address.config, tls, prefix, hear).await);
                    } else {
                        self.log(self.serve_once(&address.config, NoTls, prefix, hear).await);
                    }
                };
                tokio::select! {
                    () = served => {}
                    () = self.closed.cancelled() => return,
                }
                tokio::select! {
                    () = tokio::time::sleep(AWAY) => {}
                    () = self.closed.cancelled() => return,
                }
            }
        });
    }

    fn log(&self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            tracing::debug!(%error, "notifications of other processes cannot be received; the studio polls instead");
        }
    }

    async fn serve_once<T>(&self, config: &Config, tls: T, prefix: &str, hear: &Listener) -> Result<(), Error>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        let (client, connection) = config.connect(tls).await?;
        let (sender, mut receiver) = mpsc::unbounded_channel();
        tokio::spawn(attend(connection, sender));
        let (own, channel) = subscribe(&client, prefix).await?;
        hear(Notification::Anything);
        loop {
            tokio::select! {
                heard = receiver.recv() => match heard {
                    Some(note) if note.process_id() == own => {}
                    Some(note) => deliver(note.payload(), hear),
                    None => return Ok(()),
                },
                () = self.comes.notified() => {
                    tokio::time::sleep(GATHERED).await;
                    for message in self.messages() {
                        client.execute("SELECT pg_notify($1, $2)", &[&channel, &message]).await?;
                    }
                }
            }
        }
    }
}

/// Drives a connection and forwards its notifications.
async fn attend<S, T>(mut connection: Connection<S, T>, sender: mpsc::UnboundedSender<PgNotification>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(note) = message
            && sender.send(note).is_err()
        {
            return;
        }
    }
}

/// Listens to the channel of this schema and prefix; gives the server's process behind the connection, and the channel.
async fn subscribe(client: &Client, prefix: &str) -> Result<(i32, String), Error> {
    let row = client.query_one("SELECT pg_backend_pid(), current_schema()::text", &[]).await?;
    let (own, schema): (i32, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
    let hash = Sha256::digest(format!("{}/{prefix}", schema.unwrap_or_default()).as_bytes());
    let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let channel = format!("studio_{digits}");
    client.batch_execute(&format!("SET synchronous_commit = off; LISTEN {channel}")).await?;
    Ok((own, channel))
}

fn deliver(payload: &str, hear: &Listener) {
    if payload == "jobs" {
        return hear(Notification::Jobs);
    }
    for run in payload.split(',').filter_map(|text| text.parse().ok()) {
        hear(Notification::Run(run));
    }
}
