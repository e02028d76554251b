//! Owns the check which entry may follow which.

use super::super::Id;
use super::super::event::{Event, LaneId};
use super::lane::{At, BranchState, Lane};
use super::{Refusal, Run, Status};

impl Run {
    /// Whether an entry may follow.
    pub fn accepts(&self, lane: LaneId, event: &Event) -> Result<(), Refusal> {
        let ok = |holds: bool, why: &'static str| if holds { Ok(()) } else { Err(Refusal(why)) };
        let running = self.status == Status::Running;
        match event {
            Event::Created(_) => Err(Refusal("it was created before")),
            Event::Began => ok(matches!(self.status, Status::Queued | Status::Running), "it is at rest"),
            Event::Resumed(resumed) => {
                ok(self.status.paused(), "it is not paused")?;
                ok(self.pauses().iter().any(|(_, pause)| pause.id == resumed.pause), "that pause is not open")
            }
            Event::Retried(_) => ok(self.status == Status::Failed, "it has not failed"),
            Event::Cancelled { .. } => ok(!self.status.terminal(), "it is over"),
            Event::TakenOver { .. }
            | Event::ClockJumped { .. }
            | Event::Requeued { .. }
            | Event::Failed { .. }
            | Event::Completed { .. }
            | Event::Rested { .. } => ok(running, "it is not running"),
            Event::StepRan(_) | Event::StepStarted(_) => {
                ok(running, "it is not running")?;
                ok(matches!(self.lane(lane)?.at, At::Node(_)), "the lane is done")
            }
            Event::BranchStarted { parent, .. } => {
                ok(running && lane == self.next_lane, "the branch has another number")?;
                let open = self.lane(*parent)?.fork().ok_or(Refusal("no fork is open"))?;
                ok(open.branches.iter().any(|state| matches!(state, BranchState::Waiting)), "every branch has begun")
            }
            Event::BranchEnded => ok(running && lane != 0 && self.lane(lane)?.at == At::End, "the branch goes on"),
            Event::StepRetrying { step, .. }
            | Event::StepFailed { step, .. }
            | Event::PromptBuilt { step, .. }
            | Event::ToolsCalled { step, .. }
            | Event::CheckpointHit { step, .. } => self.accepts_in(lane, *step),
            Event::StepCompleted(done) => self.accepts_in(lane, done.step),
            Event::CallStarted(call) => self.accepts_in(lane, call.step),
            Event::CallFinished(call) => self.accepts_in(lane, call.step),
            Event::ModelFallback(turned) => self.accepts_in(lane, turned.step),
            Event::Measured(measured) => self.accepts_in(lane, measured.step),
            Event::Paused(pause) => self.accepts_in(lane, pause.step),
        }
    }

    fn accepts_in(&self, lane: LaneId, step: Id) -> Result<(), Refusal> {
        let open = self.lane(lane)?.step.as_ref().is_some_and(|open| open.id == step && open.pause.is_none());
        if self.status == Status::Running && open { Ok(()) } else { Err(Refusal("that step is not open")) }
    }

    fn lane(&self, lane: LaneId) -> Result<&Lane, Refusal> {
        self.lanes.get(&lane).map(Box::as_ref).ok_or(Refusal("there is no such lane"))
    }
}
