//! Owns the checks of the doctor in the database: access, schema, clock, waiting work.

use super::{Diagnosis, Studio};
use crate::model::Timestamp;
use crate::store::db::inspect;
use crate::store::log;
use crate::store::upkeep::health;

/// Time that a takeover may take once a lease ended: it is looked for every five seconds.
const TAKEOVER: i64 = 15_000;
/// A job that could begin should, before this.
const WAITING: i64 = 30_000;
/// The time after which waiting work is reported.
const STALE: i64 = 600_000;
/// A tolerable difference of clocks.
const CLOSE: i64 = 1_000;
/// Other hosts may be configured with longer leases than this one, but not with much longer ones.
const LONGEST_LEASE: i64 = 3_600_000;
/// Logs that are listed at once.
const LOGS: usize = 500;

/// The database answers, has this program's schema, and takes writes. Returns the time that leases use; none when its tables cannot be
/// looked at.
pub(super) async fn database(studio: &Studio, found: &mut Diagnosis) -> Option<Timestamp> {
    let world = studio.world();
    let seen = match world.store.inspect().await {
        Ok(seen) => seen,
        Err(error) => {
            found.fail("database", error.to_string());
            return None;
        }
    };
    if let Err(error) = inspect::must_be_known(seen.schema) {
        found.fail("migrations", error.to_string());
        return None;
    }
    let here = studio.world().clock.now();
    if let Some(theirs) = seen.now {
        clock(here, theirs, found);
    }
    let missing = inspect::missing(seen.schema).count();
    if missing > 0 {
        let text = format!("{missing} migrations are missing (schema {} of {}); `studio migrate` or the first use applies them", seen.schema, inspect::SCHEMA);
        found.fine("database", format!("{} answers", seen.engine));
        found.warn("migrations", text);
        return None;
    }
    found.fine("migrations", format!("schema {}", seen.schema));
    match world.store.write(health::touch).await {
        Ok(()) => found.fine("database", format!("{} answers and takes writes", seen.engine)),
        Err(error) => found.fail("database", error.to_string()),
    }
    Some(seen.now.unwrap_or(here))
}

fn clock(here: Timestamp, theirs: Timestamp, found: &mut Diagnosis) {
    let apart = (here.0 - theirs.0).abs();
    let text = format!("this clock and the database's are {apart} ms apart");
    if apart > CLOSE {
        found.warn("clock", format!("{text}; leases keep to the database's, times that people see differ: let a time service set the clocks"));
    } else {
        found.fine("clock", text);
    }
}

/// What waits: runs without an owner, jobs without a worker, documents, events.
pub(super) async fn work(studio: &Studio, now: Timestamp, found: &mut Diagnosis) {
    let lease = i64::try_from(studio.config().runs.lease_seconds).unwrap_or(0).saturating_mul(1000);
    let at = move |millis: i64| Timestamp(now.0.saturating_add(millis));
    let far = at((3 * lease).max(LONGEST_LEASE));
    let looked = studio.world().store.read(move |tx| health::look(tx, now, at(-TAKEOVER), far, at(-STALE))).await;
    let health = match looked {
        Ok(health) => health,
        Err(error) => return found.fail("runs", error.to_string()),
    };
    runs(&health, found);
    queues(studio, now, &health, found);
    if health.documents > 0 {
        found.warn("documents", format!("{} documents have waited for more than ten minutes to be read; check whether a worker runs", health.documents));
    }
    if health.events > 0 {
        let text = "events have waited for the host for more than ten minutes; let the host answer `usage.recorded`";
        found.warn("events", format!("{} {text}", health.events));
    }
}

fn runs(health: &health::Health, found: &mut Diagnosis) {
    if health.abandoned > 0 {
        let text = "active runs have no process: their leases expired and no worker takes them over; start a worker with `studio work`";
        found.fail("runs", format!("{} {text}", health.abandoned));
    }
    if health.given_back > 0 {
        found.warn("runs", format!("{} active runs were returned by a process that ended; a worker takes them within seconds", health.given_back));
    }
    if health.from_the_future > 0 {
        let text = "runs have leases that end in more than an hour: the clock of another host is ahead, or this one is behind";
        found.warn("runs", format!("{} {text}", health.from_the_future));
    }
    if health.taken_over > 0 {
        found.warn("runs", format!("{} active runs lost their process and have not completed a step since", health.taken_over));
    }
    if health.abandoned + health.given_back + health.from_the_future + health.taken_over == 0 {
        found.fine("runs", "every active run has a process");
    }
}

fn queues(studio: &Studio, now: Timestamp, health: &health::Health, found: &mut Diagnosis) {
    if health.queues.is_empty() {
        return found.fine("queue", "nothing waits");
    }
    for queue in &health.queues {
        let waited = now.0 - queue.since.0;
        let text = format!("{} jobs wait in `{}`, the first for {} s", queue.jobs, queue.queue, waited / 1000);
        if waited < WAITING {
            found.fine("queue", text);
        } else if queue.queue == studio.config().queue {
            found.warn("queue", format!("{text}: workers are too few, or none runs; start one with `studio work`"));
        } else {
            found.warn("queue", format!("{text}: no worker takes from it; start one with `studio work --queue {}`", queue.queue));
        }
    }
}

/// Walks the chains of all logs.
pub(super) async fn logs(studio: &Studio, found: &mut Diagnosis) {
    let (mut after, mut count) = (String::new(), 0);
    loop {
        let from = after.clone();
        let listed = studio.world().store.read(move |tx| health::logs(tx, &from, LOGS)).await;
        let runs = match listed {
            Ok(runs) => runs,
            Err(error) => return found.fail("logs", error.to_string()),
        };
        let Some((_, last)) = runs.last() else { break };
        after = last.to_string();
        for (tenant, run) in runs {
            let walked = studio.world().store.read(move |tx| log::verify(tx, &tenant, &run)).await;
            match walked {
                Ok(()) => count += 1,
                Err(error) => found.fail("logs", format!("run {run}: {error}")),
            }
        }
    }
    found.fine("logs", format!("{count} logs are whole"));
}
