//! Owns the advance of a lane without calls: pure steps, human pauses, opened forks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::log::journal::Journal;
use crate::engine::nodes::pure;
use crate::engine::runs::names::stored;
use crate::engine::world::World;
use crate::model::event::{
    Answer, Change, Event, Fault, FaultCode, LaneId, Pause, PauseReason, PureOutcome, StepCompleted, StepRan, StepStarted,
};
use crate::model::node::{Human, Node};
use crate::model::plan::NodeIndex;
use crate::model::run::{At, Lane, Run};

/// Why a lane stopped going on by itself.
pub(in crate::engine) enum Advance {
    /// It has gone far; others have their turn.
    Break,
    /// Its next step has calls.
    Effect,
    /// It opened a fork.
    Forked,
    /// It is done.
    Ended,
    /// It waits for a person.
    Paused,
    /// Its step failed, or a limit was met between steps.
    Failed(Fault, Option<Arc<str>>),
    /// Nothing more can be written.
    Lost,
}

/// Steps that a lane makes before others have their turn.
const FAR: usize = 64;
/// How long steps are made before calls and cancels have their turn: a test of a large state takes its time.
pub(super) const LONG: Duration = Duration::from_millis(100);

/// Takes a lane as far as it goes.
pub(in crate::engine) fn advance(world: &World, journal: &Arc<Journal>, id: LaneId) -> Advance {
    let far = if world.step_durable() { 1 } else { FAR };
    let begun = Instant::now();
    for _ in 0..far {
        match one(world, journal, id) {
            Ok(None) if journal.is_far_ahead() || begun.elapsed() > LONG => break,
            Ok(None) => {}
            Ok(Some(stop)) => return stop,
            Err(_lost) => return Advance::Lost,
        }
    }
    Advance::Break
}

/// One step; none when the lane goes on.
fn one(world: &World, journal: &Arc<Journal>, id: LaneId) -> Result<Option<Advance>, crate::engine::log::journal::Lost> {
    let mut core = journal.lock();
    let Some(lane) = core.run.lanes.get(&id) else { return Ok(Some(Advance::Ended)) };
    let At::Node(at) = lane.at else { return Ok(Some(Advance::Ended)) };
    if let Some(fault) = over_limit(world, &core.run, lane) {
        return Ok(Some(Advance::Failed(fault, None)));
    }
    let system = || core.run.system(lane, world);
    let work = || pure::run(&core.run, lane, at, &system, &world.config);
    if let Some(pure) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| Some(panicked())) {
        let event = ran(world, &core.run, lane, at, pure);
        let failed = failure(&event);
        journal.emit_in(&mut core, id, event)?;
        return Ok(failed.map(|fault| Advance::Failed(fault, Some(Arc::clone(&core.run.plan.node(at).id)))));
    }
    let plan = Arc::clone(&core.run.plan);
    match &plan.node(at).node {
        Node::Fork(_) => {
            let started = begin(world, &core.run, lane, at);
            journal.emit_in(&mut core, id, started)?;
            Ok(Some(Advance::Forked))
        }
        Node::Human(node) => human(world, journal, &mut core, id, at, node),
        Node::Agent(_) | Node::Llm(_) | Node::Rag(_) | Node::Tool(_) | Node::Mcp(_) => Ok(Some(Advance::Effect)),
        Node::Start | Node::Stop(_) | Node::Join(_) | Node::Loop(_) | Node::SetState(_) | Node::Condition(_) | Node::Note => {
            Ok(Some(Advance::Ended))
        }
    }
}

/// A fault of the library ends the run with the step that has it: a takeover would only meet it again.
fn panicked() -> pure::Pure {
    let fault = Fault::new(FaultCode::Internal, "a fault in the studio stopped this step; the log of the host has the place".to_owned());
    pure::Pure { outcome: PureOutcome::Failed(fault), visit: None, max_steps: None }
}

fn over_limit(world: &World, run: &Run, lane: &Lane) -> Option<Fault> {
    let most = world.config.loops.global_max_steps;
    if run.steps >= most && lane.step.is_none() {
        let text = format!("the run made {most} steps (`loop.global_max_steps`) and was ended before the next");
        return Some(Fault::new(FaultCode::RunStepLimit, text));
    }
    log_too_large(world, run).or_else(|| lane.state.within_limit(world.config.limits.state_kb).err())
}

/// A run that has recorded too much goes no further: its log could not be read back.
pub(in crate::engine) fn log_too_large(world: &World, run: &Run) -> Option<Fault> {
    let most = world.config.limits.run_log_kb;
    (run.weight > most.saturating_mul(1024) && !world.keeps_nothing()).then(|| {
        let text = format!(
            "the run has recorded more than {most} KiB (`limits.run_log_kb`) and was ended; split its work into several runs or raise the limit"
        );
        Fault::new(FaultCode::RunTooLarge, text)
    })
}

fn ran(world: &World, run: &Run, lane: &Lane, at: NodeIndex, pure: pure::Pure) -> Event {
    let open = lane.step.as_deref();
    let outcome = match pure.outcome {
        PureOutcome::Left { handle, change } => match lane.state.has_room_for(&change, world.config.limits.state_kb) {
            Ok(()) => PureOutcome::Left { handle, change },
            Err(fault) => PureOutcome::Failed(fault),
        },
        failed @ PureOutcome::Failed(_) => failed,
    };
    Event::StepRan(Box::new(StepRan {
        step: open.map_or_else(|| world.clock.id(), |step| step.id),
        node: Arc::clone(&run.plan.node(at).id),
        iteration: lane.iteration(pure.visit),
        attempt: open.map_or(1, |step| step.attempt),
        resumed: open.is_some(),
        max_steps: pure.max_steps,
        outcome,
    }))
}

fn failure(event: &Event) -> Option<Fault> {
    let Event::StepRan(ran) = event else { return None };
    match &ran.outcome {
        PureOutcome::Failed(fault) => Some(fault.clone()),
        PureOutcome::Left { .. } => None,
    }
}

/// The entry that begins a step, or enters it again.
pub(in crate::engine) fn begin(world: &World, run: &Run, lane: &Lane, at: NodeIndex) -> Event {
    let open = lane.step.as_deref();
    let of_stored = matches!(&run.plan.node(at).node, Node::Agent(agent) if stored(agent).is_some());
    let child = (of_stored && run.created.entity == crate::model::event::EntityKind::Workflow)
        .then(|| open.and_then(|step| step.child_run).unwrap_or_else(|| world.clock.id()));
    Event::StepStarted(Box::new(StepStarted {
        step: open.map_or_else(|| world.clock.id(), |step| step.id),
        node: Arc::clone(&run.plan.node(at).id),
        iteration: lane.iteration(None),
        attempt: open.map_or(1, |step| step.attempt),
        resumed: open.is_some(),
        child_run: child,
    }))
}

/// A human node asks on every visit, and writes the answer when it is there.
fn human(
    world: &World,
    journal: &Arc<Journal>,
    core: &mut crate::engine::log::journal::Core,
    id: LaneId,
    at: NodeIndex,
    node: &Human,
) -> Result<Option<Advance>, crate::engine::log::journal::Lost> {
    let Some(lane) = core.run.lanes.get(&id) else { return Ok(Some(Advance::Ended)) };
    let started = begin(world, &core.run, lane, at);
    let answer = lane.step.as_deref().and_then(|step| step.answer.clone());
    let system = core.run.system(lane, world);
    let prompt = node.prompt.render(&lane.state, &system);
    journal.emit_in(core, id, started)?;
    let step = core.run.lanes.get(&id).and_then(|lane| lane.step.as_deref()).map(|step| step.id);
    let Some(step) = step else { return Ok(Some(Advance::Ended)) };
    let Some(Answer::Human { message, .. }) = answer else {
        let prompt = if prompt.trim().is_empty() { world.text("human.prompt") } else { prompt };
        let reason = PauseReason::Human { prompt, output_key: node.output_key.to_string(), question: None };
        let node = Arc::clone(&core.run.plan.node(at).id);
        journal.emit_in(core, id, Event::Paused(Box::new(Pause { id: world.clock.id(), step, node, reason })))?;
        return Ok(Some(Advance::Paused));
    };
    let text = Arc::new(serde_json::Value::String(message));
    let mut change = Change::with_capacity(2);
    change.insert("input".into(), Arc::clone(&text));
    change.insert(Arc::clone(&node.output_key), text);
    let room = core.run.lanes.get(&id).map_or(Ok(()), |lane| lane.state.has_room_for(&change, world.config.limits.state_kb));
    if let Err(fault) = room {
        journal.emit_in(core, id, Event::StepFailed { step, fault: fault.clone() })?;
        return Ok(Some(Advance::Failed(fault, Some(Arc::clone(&core.run.plan.node(at).id)))));
    }
    let done = StepCompleted {
        step,
        handle: "default".into(),
        change,
        error: None,
        checkpoint_hit: false,
        turn: None,
        attachment_count: 0,
    };
    journal.emit_in(core, id, Event::StepCompleted(Box::new(done)))?;
    Ok(None)
}
