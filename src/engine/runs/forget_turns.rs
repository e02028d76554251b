//! Owns the removal of turns from memory at a retry, so that no turn is stored twice.

use std::sync::Arc;

use crate::model::Id;
use crate::model::event::{Entry, Event, Retried};
use crate::store::threads::remembered::Forgotten;

/// What a retry from a step takes back. A fork that closed since opens again, and gives all its turns when it closes once more.
pub(in crate::engine) fn by(thread: Id, log: &[Arc<Entry>], retried: &Retried) -> Forgotten {
    let mut forgotten = Forgotten { thread, ..Forgotten::none() };
    let Some(step) = retried.from_step else { return forgotten };
    let outermost = retried.back.as_ref().and_then(|back| back.chain.first()).map_or(step, |link| link.fork);
    let begins = |entry: &&Arc<Entry>| {
        let started = matches!(&entry.event, Event::StepStarted(started) if started.step == outermost);
        started || matches!(&entry.event, Event::StepRan(ran) if ran.step == outermost)
    };
    let first = log.iter().find(begins).map_or(u64::MAX, |entry| entry.seq);
    for entry in log.iter().filter(|entry| entry.seq >= first) {
        let Event::StepCompleted(done) = &entry.event else { continue };
        let Some(turn) = done.turn.as_ref().filter(|turn| !turn.in_memory) else { continue };
        forgotten.gone.extend(&turn.ids);
        if let Some(summary) = &turn.summary {
            forgotten.summaries.push((summary.id, summary.covers.clone()));
        }
    }
    forgotten
}
