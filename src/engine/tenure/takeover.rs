//! Owns going on where others left: runs whose lease is over or whose owner is gone, and runs that were just claimed.

use std::sync::Arc;

use super::super::journal::{Boundary, Stored, Tenure};
use super::super::world::World;
use super::super::load::{self, Loaded};
use super::super::{answer, owner};
use super::{Start, drive_here, lease};
use crate::error::Result;
use crate::model::{Id, Timestamp};
use crate::model::event::{DoubtfulCall, Event, Fault, FaultCode};
use crate::model::run::Status;
use crate::store::queue;
use crate::store::runs::RunRow;

/// Other engines may hold longer leases than this one, but not much longer than this, in milliseconds.
const LONGEST_LEASE: i64 = 3_600_000;
/// Runs that are taken over at once.
const TAKEN: usize = 64;

impl World {
    /// Takes runs whose lease is over, or whose owner's process is gone, and goes on with them here. How many there were.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn take_over(self: &Arc<Self>) -> Result<usize> {
        for (tenant, run) in self.store.read(queue::cancel_overdue).await? {
            let _over_already = answer::cancel(self, &tenant.into(), &run.to_string()).await;
        }
        let mut count = 0;
        loop {
            let found = self.claim_abandoned().await?;
            let full = found.len() == TAKEN;
            count += found.len();
            self.go_on_with(found, true).await?;
            if !full {
                return Ok(count);
            }
        }
    }

    async fn claim_abandoned(self: &Arc<Self>) -> Result<Vec<RunRow>> {
        let now = self.common_time();
        let until = lease(self).unwrap_or_default();
        let holders = self.store.read(queue::holders).await?;
        let gone: Vec<String> =
            holders.iter().filter_map(|(owner, ..)| owner.clone()).filter(|owner| owner::is_gone(owner)).collect();
        let far = Timestamp(now.0 + (2 * (until.0 - now.0)).max(LONGEST_LEASE));
        if gone.is_empty() && !holders.iter().any(|(_, first, last)| *first < now || *last > far) {
            return Ok(Vec::new());
        }
        // A clock that jumped, or a process that stood still: what is driven here is not abandoned.
        self.renew_leases().await?;
        let (world, owner) = (Arc::clone(self), Arc::clone(&self.owner));
        let claimed = self.store.write(move |tx| {
            gone.iter().try_for_each(|owner| queue::expire(tx, owner))?;
            let rows = queue::claim_expired(tx, &owner, now, until, far, TAKEN)?;
            for row in &rows {
                world.boundary(Boundary::Before, row.id, row.head);
            }
            Ok(rows)
        });
        let rows = claimed.await?;
        for row in &rows {
            self.boundary(Boundary::After, row.id, row.head);
        }
        Ok(rows)
    }

    /// Goes on with runs that this engine has just claimed.
    pub(super) async fn go_on_with(self: &Arc<Self>, claimed: Vec<RunRow>, taken_over: bool) -> Result<()> {
        let held: Vec<(Id, i64)> = claimed.iter().map(|row| (row.id, row.fence)).collect();
        let loaded = load::load_all(self, claimed).await?;
        for ((run, fence), loaded) in held.into_iter().zip(loaded) {
            let Err(error) = loaded.and_then(|loaded| self.go_on(&loaded, taken_over)) else { continue };
            tracing::error!(%run, %error, "a claimed run cannot go on; it is tried again when its lease ends");
            if taken_over {
                let _counted_then = self.store.write(move |tx| queue::uncount(tx, &run, fence)).await;
            }
        }
        Ok(())
    }

    fn go_on(self: &Arc<Self>, loaded: &Loaded, taken_over: bool) -> Result<()> {
        let (row, tenant) = (&loaded.row, Arc::clone(&loaded.row.tenant));
        let run = loaded.fold(None)?;
        let tenure = Tenure {
            owner: Arc::clone(&self.owner),
            fence: row.fence,
            mode: if row.mode == "async" { "async" } else { "sync" },
            queue: row.queue.as_deref().map(Arc::from),
            tries: row.tries,
        };
        let rows = loaded.tokens.last().map_or(0, |tokens| tokens.n);
        let start = Start { telling: loaded.telling(self, false), told: Vec::new(), failed: loaded.failed(), stored: Stored::Whole(loaded.known()) };
        let began = run.status == Status::Queued || !taken_over;
        let (takeovers, doubts) = (row.takeovers, run.in_doubt());
        let first = if began { Event::Began } else { Event::TakenOver { count: takeovers } };
        let mut prelude = vec![first];
        if taken_over && let Some(fault) = hopeless(self, takeovers, &doubts) {
            prelude.push(Event::Failed { fault, node: None });
        }
        drive_here(self, run, start, rows, tenant, tenure, Arc::clone(&loaded.definitions), prelude);
        Ok(())
    }
}

/// Why a run that was taken over cannot go on.
fn hopeless(world: &World, takeovers: u32, doubts: &[DoubtfulCall]) -> Option<Fault> {
    // What is in doubt comes first: a retry of anything else would not ask what became of those calls.
    if doubts.is_empty() {
        let most = world.config.runs.max_takeovers;
        let text = format!("{takeovers} owners died one after another without completing a step (`runs.max_takeovers`)");
        return (takeovers > most).then(|| Fault::new(FaultCode::WorkerLost, text));
    }
    let names: Vec<&str> = doubts.iter().map(|call| call.name.as_str()).collect();
    let text = format!(
        "the process died while these tools ran, and nobody knows whether they did their work: {}; retry with a decision for each",
        names.join(", ")
    );
    let mut fault = Fault::new(FaultCode::InDoubt, text);
    fault.calls = doubts.to_vec();
    Some(fault)
}
