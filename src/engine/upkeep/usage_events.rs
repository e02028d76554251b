//! Owns the delivery of usage events to the host, repeated until it accepts each.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::engine::world::World;
use crate::host::{HostFailure, HostOp};
use crate::store::StoreError;
use crate::store::upkeep::outbox::HostEvent;
use crate::store::upkeep::outbox;

/// How many events are sent at once.
const AT_ONCE: usize = 16;
/// How long the host may think about one.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked for what has become due.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is looked for what nobody takes, and how much of it goes at once.
const GIVES_UP: Duration = Duration::from_secs(600);
const GIVEN_UP: usize = 1000;

impl World {
    /// Tells the host what becomes due, until the engine stops.
    pub(in crate::engine) async fn keep_telling_usage(self: Arc<Self>) {
        let mut looked = tokio::time::Instant::now();
        loop {
            if looked.elapsed() >= GIVES_UP {
                looked = tokio::time::Instant::now();
                if let Err(error) = self.give_up_usage().await {
                    tracing::warn!(%error, "the check for usage events that no host accepts failed; another attempt follows");
                }
            }
            match self.tell_usage().await {
                Ok(0) => {}
                Ok(_told) => continue,
                Err(error) => tracing::warn!(%error, "the check for usage events to send failed; another attempt follows"),
            }
            tokio::select! {
                () = self.ended.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Sends the due events to the host, if it takes them. Returns how many it sent.
    ///
    /// # Errors
    /// When the store cannot be used; what was taken becomes due again.
    pub async fn tell_usage(&self) -> Result<usize, StoreError> {
        if !self.host.answers(HostOp::UsageRecorded) || self.stopping.is_cancelled() {
            return Ok(0);
        }
        let now = self.clock.now();
        let Some((first, last)) = self.store.read(outbox::due_between).await? else { return Ok(0) };
        let far = outbox::far(now);
        if last > far {
            self.store.write(move |tx| outbox::call_back(tx, far, now)).await?;
        } else if first > now {
            return Ok(0);
        }
        let taken = self.store.write(move |tx| outbox::take_due(tx, now, AT_ONCE)).await?;
        let count = taken.len();
        // Where the host panics the event stays taken, and becomes due again.
        let telling = taken.into_iter().map(|event| AssertUnwindSafe(self.tell_host(event)).catch_unwind());
        for kept in join_all(telling).await.into_iter().flatten() {
            kept?;
        }
        Ok(count)
    }

    /// Gives up what no host took for a week, where none ever took anything: it would be kept for ever. How much.
    pub async fn give_up_usage(&self) -> Result<u64, StoreError> {
        let mut all = 0;
        while !self.host.answers(HostOp::UsageRecorded) && !self.stopping.is_cancelled() {
            if self.store.read(outbox::next_due).await?.is_none() {
                break;
            }
            let now = self.common_time();
            let count = self.store.write(move |tx| outbox::give_up(tx, now, GIVEN_UP)).await?;
            all += count;
            if count < GIVEN_UP as u64 {
                break;
            }
        }
        if all > 0 {
            let text = "no host ever took the usage of runs, and none did for a week; it is not told any more; let a process answer \
                        `usage.recorded`, or switch `usage.events` off";
            tracing::error!(runs = all, text);
        }
        Ok(all)
    }

    async fn tell_host(&self, event: HostEvent) -> Result<(), StoreError> {
        let answer = tokio::select! {
            answer = self.host.call(HostOp::UsageRecorded, event.body.clone(), PATIENCE) => answer,
            () = self.stopping.cancelled() => Err(HostFailure::new("the engine stops")),
        };
        let Err(HostFailure { message: why, .. }) = answer else {
            return self.store.write(move |tx| outbox::done(tx, &event)).await;
        };
        let (now, run, tries) = (self.clock.now(), event.body["run"].to_string(), event.tries);
        let again = self.store.write(move |tx| outbox::failed(tx, &event, now)).await?;
        if again {
            tracing::warn!(run, tries, why, "the host did not accept the usage event of a run; it is sent again");
        } else {
            tracing::error!(run, tries, why, "the host did not accept the usage event of a run within a day; it is not sent again");
        }
        Ok(())
    }
}
