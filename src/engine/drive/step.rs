//! Owns one step with calls: begin or re-entry, attempts, time limit, error handling, end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::engine::drive::context::{NewTurn, StepContext, StepEnd};
use crate::engine::drive::{StepOver, advance};
use crate::engine::log::journal::{Journal, Lost};
use crate::engine::nodes;
use crate::engine::world::World;
use crate::model::agent::Definitions;
use crate::model::event::{Change, Event, Fault, FaultCode, LaneId, Pause, StepCompleted, Turn};
use crate::model::node::{Common, Node, OnError};
use crate::model::run::At;

/// What calls need at most to record that they ended.
pub(in crate::engine) const MARGIN: Duration = Duration::from_millis(100);

/// Runs the effect node that a lane is at.
pub(in crate::engine) async fn run(
    world: &Arc<World>,
    journal: &Arc<Journal>,
    definitions: &Arc<Definitions>,
    lane: LaneId,
    cut: &CancellationToken,
) -> StepOver {
    match begin(world, journal, lane) {
        Ok(true) => {}
        Ok(false) => return StepOver::Goes,
        Err(Lost) => return StepOver::Lost,
    }
    let Some(context) = StepContext::new(world, journal, definitions, lane, cut) else { return StepOver::Lost };
    if crate::engine::drive::checkpoints::is_wanted(&context) {
        match Box::pin(crate::engine::drive::checkpoints::hit(&context)).await {
            Ok(true) => return StepOver::Goes,
            Ok(false) => {}
            Err(Lost) => return StepOver::Lost,
        }
    }
    let over = attempts(&context).await;
    if journal.lost() { StepOver::Lost } else { over }
}

/// Records the begin of the step. False if the lane has nothing to run.
fn begin(world: &World, journal: &Arc<Journal>, id: LaneId) -> Result<bool, Lost> {
    let mut core = journal.lock();
    let Some(lane) = core.run.lanes.get(&id) else { return Ok(false) };
    let At::Node(at) = lane.at else { return Ok(false) };
    let started = advance::begin(world, &core.run, lane, at);
    journal.emit_in(&mut core, id, started).map(|_| true)
}

async fn attempts(context: &StepContext) -> StepOver {
    let common = common(&context.node().node);
    loop {
        // Attempts that were made before a pause, or by another owner, count.
        let tried = context.open(|step| step.retries).unwrap_or(0);
        let fault = match once(context, common).await {
            Ok(end) => return ended(context, common, end),
            Err(fault) => fault,
        };
        if fault.code == FaultCode::Cancelled || context.cancelled().is_cancelled() {
            return StepOver::Cut;
        }
        if context.journal().lost() {
            return StepOver::Lost;
        }
        if tried >= common.retries.max || !again(context, &fault) {
            return failed(context, common, fault);
        }
        let delay_ms = common.retries.backoff_ms.saturating_mul(1 << tried.min(20));
        let attempt = context.attempt() + 1;
        let event = Event::StepRetrying { step: context.step(), attempt, delay_ms, fault };
        if context.emit(event).is_err() {
            return StepOver::Lost;
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay_ms)) => {}
            () = context.cancelled().cancelled() => return StepOver::Cut,
        }
    }
}

async fn once(context: &StepContext, common: &Common) -> Result<StepEnd, Fault> {
    let Some(limit) = common.timeout_ms else { return nodes::run(context).await };
    Box::pin(once_within(context, limit)).await
}

/// One attempt with a time limit. When it is over, calls end as they do at a cancel, so that what they took and gave is recorded.
async fn once_within(context: &StepContext, limit: u64) -> Result<StepEnd, Fault> {
    let attempt = context.attempting();
    let mut work = std::pin::pin!(nodes::run(&attempt));
    tokio::select! {
        biased;
        result = &mut work => return result,
        () = tokio::time::sleep(Duration::from_millis(limit)) => attempt.cancelled().cancel(),
    }
    let _too_late = tokio::time::timeout(context.grace() + MARGIN, work).await;
    let text = format!("the node took longer than its time limit of {limit} ms and was ended");
    Err(Fault::new(FaultCode::NodeTimeout, text))
}

/// Whether another attempt is allowed after this fault.
fn again(context: &StepContext, fault: &Fault) -> bool {
    let never = matches!(
        fault.code,
        FaultCode::StructuredInvalid
            | FaultCode::InDoubt
            | FaultCode::CredentialMissing
            | FaultCode::ProviderAuth
            | FaultCode::ToolLimit
            | FaultCode::OutputTruncated
            | FaultCode::RunTooLarge
            | FaultCode::Cancelled
    );
    let node = &context.node().node;
    let harmful = matches!(node, Node::Tool(node) if !node.idempotent) || matches!(node, Node::Mcp(node) if !node.idempotent);
    let harm = harmful && fault.code == FaultCode::NodeTimeout;
    !(never || harm || context.is_in_doubt())
}

fn ended(context: &StepContext, common: &Common, end: StepEnd) -> StepOver {
    match end {
        StepEnd::Pause(reason) => {
            let node = Arc::clone(&context.node().id);
            let pause = Pause { id: context.world().clock.id(), step: context.step(), node, reason };
            match context.emit(Event::Paused(Box::new(pause))) {
                Ok(_) => StepOver::Paused,
                Err(Lost) => StepOver::Lost,
            }
        }
        StepEnd::Left { handle, change, turn, attachment_count } => {
            if let Err(fault) = context.state().has_room_for(&change, context.world().config.limits.state_kb) {
                return failed(context, common, fault);
            }
            let turn = turn.map(|turn| numbered(context, turn));
            crate::engine::drive::checkpoints::keep(context, handle, &change, turn.as_ref());
            let done = StepCompleted {
                step: context.step(),
                handle: handle.into(),
                change,
                error: None,
                checkpoint_hit: false,
                turn,
                attachment_count,
            };
            completed(context, done)
        }
    }
}

fn numbered(context: &StepContext, turn: NewTurn) -> Turn {
    let ids: Vec<_> = turn.messages.iter().map(|_| context.world().clock.id()).collect();
    let mut said = turn.messages.iter().zip(&ids).rev();
    let reply_id = said.find(|(message, _)| message.role == crate::model::chat::Role::Assistant).map(|(_, id)| *id);
    Turn { history: turn.history, messages: turn.messages, ids, reply_id, in_memory: turn.in_memory, summary: turn.summary }
}

pub(in crate::engine) fn completed(context: &StepContext, done: StepCompleted) -> StepOver {
    match context.emit(Event::StepCompleted(Box::new(done))) {
        Ok(_) => StepOver::Goes,
        Err(Lost) => StepOver::Lost,
    }
}

fn failed(context: &StepContext, common: &Common, fault: Fault) -> StepOver {
    if common.on_error == OnError::Continue {
        let mut change = Change::with_capacity(1);
        if let Some(key) = context.node().node.output_key() {
            change.insert(Arc::clone(key), Arc::new(json!({"error": fault.message})));
        }
        let wired = context.plan().next(context.at(), "error").is_some();
        let done = StepCompleted {
            step: context.step(),
            handle: if wired { "error".into() } else { "default".into() },
            change,
            error: Some(fault),
            checkpoint_hit: false,
            turn: None,
            attachment_count: 0,
        };
        return completed(context, done);
    }
    match context.emit(Event::StepFailed { step: context.step(), fault: fault.clone() }) {
        Ok(_) => StepOver::Failed(fault, Arc::clone(&context.node().id)),
        Err(Lost) => StepOver::Lost,
    }
}

fn common(node: &Node) -> &Common {
    static PLAIN: std::sync::LazyLock<Common> = std::sync::LazyLock::new(Common::default);
    node.common().unwrap_or(&PLAIN)
}
