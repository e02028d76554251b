//! Owns the takeovers at which a run fails: calls in doubt (`in_doubt`), too many dead owners (`worker_lost`), a copied database.

use crate::engine::world::World;
use crate::model::event::{DoubtfulCall, Fault, FaultCode};

/// Why a run does not go on in a copy of its database.
pub(super) fn copied(doubts: &[DoubtfulCall]) -> Fault {
    let text = "this database is a copy or was restored, and the run may have gone on since in the original; retry it if it is to go on here";
    let mut fault = Fault::new(if doubts.is_empty() { FaultCode::WorkerLost } else { FaultCode::InDoubt }, text);
    fault.calls = doubts.to_vec();
    fault
}

/// Why a run that was taken over cannot go on.
pub(super) fn hopeless(world: &World, takeovers: u32, doubts: &[DoubtfulCall]) -> Option<Fault> {
    // What is in doubt comes first: a retry of anything else would not ask what became of those calls.
    if doubts.is_empty() {
        let most = world.config.runs.max_takeovers;
        let text = format!("{takeovers} processes that executed the run died one after another without completing a step (`runs.max_takeovers`)");
        return (takeovers > most).then(|| Fault::new(FaultCode::WorkerLost, text));
    }
    let names: Vec<&str> = doubts.iter().map(|call| call.name.as_str()).collect();
    let text = format!(
        "the process died while these tools ran, and nobody knows whether they did their work: {}; retry the run with a decision for each call (`in_doubt`)",
        names.join(", ")
    );
    let mut fault = Fault::new(FaultCode::InDoubt, text);
    fault.calls = doubts.to_vec();
    Some(fault)
}
