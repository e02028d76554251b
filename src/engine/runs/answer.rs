//! Owns answers and retries of paused or failed runs; of two concurrent ones exactly one succeeds.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::drive::question;
use crate::engine::runs::load::Loaded;
use crate::engine::runs::load;
use crate::engine::runs::reopen::go_on;
use crate::engine::runs::started::Started;
use crate::engine::world::World;
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::chat::{Attachment, ToolCall};
use crate::model::event::{Answer, Decision, DoubtAction, DoubtAnswer, EntityKind, Event, FaultCode, Pause, PauseReason, Resumed, Retried};
use crate::model::run::{Run, Status};
use crate::model::trace_context::TraceContext;
use crate::store::upkeep::request_keys::RequestKey;
use crate::tools::cap;
use crate::tools::schema::argument_problems;

/// What a person says to a pause, its shape checked.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The node, when given.
    pub node_id: Option<String>,
    /// The pause, when given.
    pub pause_id: Option<String>,
    /// For all pending calls.
    pub approval: Option<bool>,
    /// The text.
    pub message: Option<String>,
    /// Files sent along.
    pub attachments: Vec<Attachment>,
    /// For single calls.
    pub decisions: Option<Vec<Decision>>,
    /// The key of a request that may be sent again.
    pub key: Option<RequestKey>,
    /// The span of the host that it is said in.
    pub trace: Option<Arc<TraceContext>>,
}

/// How a failed run is tried again, its shape checked.
#[derive(Clone, Debug, Default)]
pub struct Again {
    /// From this completed step.
    pub from_step: Option<Id>,
    /// Merged into the state.
    pub state: serde_json::Map<String, Value>,
    /// What to do with calls in doubt.
    pub in_doubt: Vec<DoubtAnswer>,
    /// The key of a request that may be sent again.
    pub key: Option<RequestKey>,
    /// The span of the host that it is said in.
    pub trace: Option<Arc<TraceContext>>,
}

/// Answers a pause and goes on, here or through the queue.
///
/// # Errors
/// Every refusal of the contract; a refused answer changes nothing.
pub async fn resume(
    world: &Arc<World>,
    tenant: &Arc<str>,
    run: &str,
    reply: &Reply,
    queued: bool,
) -> Result<Started> {
    let mut reply = reply.clone();
    for _ in 0..3 {
        let loaded = load_top(world, tenant, run).await?;
        let folded = loaded.fold(None)?;
        let pause = find_pause(&folded, &reply)?.clone();
        // The loser of a race must not answer the next pause.
        reply.pause_id = Some(pause.id.to_string());
        if queued && folded.created.entity == EntityKind::Agent {
            return Err(state_error(&folded, "a chat turn cannot be queued; nothing was done; resume it with the route that ends in `/stream`"));
        }
        let answer = answer_of(&pause, &reply)?;
        let event = Event::Resumed(Box::new(Resumed { pause: pause.id, answer, queued, trace: reply.trace.clone() }));
        if let Some(started) = go_on(world, tenant, &loaded, folded, event, reply.key.as_ref()).await? {
            return Ok(started);
        }
    }
    Err(Error::new(Kind::StoreUnavailable, "the run changes too fast; nothing was changed; try again"))
}

async fn load_top(world: &Arc<World>, tenant: &str, run: &str) -> Result<Loaded> {
    let loaded = load::load(world, tenant, run).await?;
    load::must_be_top(&loaded.row)?;
    Ok(loaded)
}

fn state_error(run: &Run, text: impl Into<String>) -> Error {
    Error::new(Kind::InvalidState, text).with("run_status", run.status.as_str())
}

fn find_pause<'a>(run: &'a Run, reply: &Reply) -> Result<&'a Pause> {
    let open: Vec<&Pause> = run.pauses().into_iter().map(|(_, pause)| pause).collect();
    let already = || {
        let text = "that pause was answered already; nothing was changed";
        Error::new(Kind::AlreadyResumed, text).with("run_status", run.status.as_str())
    };
    if run.status == Status::Cancelled {
        return Err(state_error(run, "the run was cancelled; it cannot go on"));
    }
    if let Some(id) = &reply.pause_id {
        let id = id.parse::<Id>().ok();
        let answered = id.and_then(|id| run.answered.get(&id));
        let node_fits = |node: &str| reply.node_id.as_deref().is_none_or(|wanted| wanted == node);
        if answered.is_some_and(|node| node_fits(node)) {
            return Err(already());
        }
        let found = open.iter().find(|pause| Some(pause.id) == id && node_fits(&pause.node)).copied();
        return paused(run, found.ok_or_else(|| not_pending(run, &open))?);
    }
    if let Some(node) = &reply.node_id {
        let at_node: Vec<&Pause> = open.iter().filter(|pause| *pause.node == **node).copied().collect();
        return match at_node.as_slice() {
            [one] => paused(run, one),
            [] if run.answered.values().any(|answered| **answered == **node) => Err(already()),
            [] => Err(not_pending(run, &open)),
            [_, ..] => Err(Error::new(Kind::PauseAmbiguous, format!("several pauses are open at `{node}`; name one with `pause_id`"))
                .with("pauses", pauses_json(run))),
        };
    }
    match open.first() {
        Some(pause) => paused(run, pause),
        None => Err(state_error(run, format!("the run is {}; only a paused run can be resumed", run.status.as_str()))),
    }
}

fn paused<'a>(run: &Run, pause: &'a Pause) -> Result<&'a Pause> {
    if run.status.paused() {
        return Ok(pause);
    }
    let then = if run.status == Status::Failed { "retry it first" } else { "wait until it pauses or ends" };
    Err(state_error(run, format!("the run is {}; {then}", run.status.as_str())))
}

fn not_pending(run: &Run, open: &[&Pause]) -> Error {
    if open.is_empty() && run.answered.is_empty() && !run.status.paused() {
        return state_error(run, format!("the run is {}; only a paused run can be resumed", run.status.as_str()));
    }
    Error::new(Kind::PauseNotPending, "there is no such open pause in this run; nothing was changed")
        .with("run_status", run.status.as_str())
        .with("pauses", pauses_json(run))
}

fn pauses_json(run: &Run) -> Value {
    Value::Array(run.pauses().iter().map(|(_, pause)| json!({"pause_id": pause.id, "node_id": pause.node})).collect())
}

fn wrong_kind(expected: &str, text: String) -> Error {
    Error::new(Kind::WrongAnswerKind, text).with("expected", expected)
}

/// Refuses an answer that this pause would refuse.
///
/// # Errors
/// It is of another kind, says nothing, or decides on other calls.
pub fn must_fit(pause: &Pause, reply: &Reply) -> Result<()> {
    answer_of(pause, reply).map(drop)
}

fn answer_of(pause: &Pause, reply: &Reply) -> Result<Answer> {
    match &pause.reason {
        PauseReason::Human { prompt, question, .. } => {
            if reply.approval.is_some() || reply.decisions.is_some() {
                return Err(wrong_kind("human", format!("the run waits for an answer, as `message`, to: {prompt}")));
            }
            let message = reply.message.clone().unwrap_or_default();
            if message.trim().is_empty() && reply.attachments.is_empty() {
                return Err(Error::field("message", "message is required"));
            }
            if let Some(question) = question {
                return question::answer(question, message, &reply.attachments);
            }
            Ok(Answer::Human { message, attachments: reply.attachments.clone() })
        }
        PauseReason::Approval { calls, schemas, .. } => {
            if (reply.approval.is_none() && reply.decisions.is_none()) || !reply.attachments.is_empty() {
                let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
                let text = format!("the run waits for a decision, `approval` approve or reject, on: {}", names.join(", "));
                return Err(wrong_kind("tool_approval", text));
            }
            decisions(calls, schemas, reply)
        }
    }
}

fn decisions(calls: &[ToolCall], schemas: &BTreeMap<String, Value>, reply: &Reply) -> Result<Answer> {
    let given = reply.decisions.as_deref().unwrap_or_default();
    let mut wrong = Vec::new();
    let mut seen = HashSet::new();
    for (index, decision) in given.iter().enumerate() {
        let at = format!("decisions.{index}");
        let Some(call) = calls.iter().find(|call| call.id == decision.call_id) else {
            wrong.push((format!("{at}.call_id"), format!("`{}` does not wait for approval", decision.call_id)));
            continue;
        };
        if !seen.insert(&decision.call_id) {
            wrong.push((format!("{at}.call_id"), format!("`{}` is listed twice", decision.call_id)));
        }
        if let Some(arguments) = &decision.arguments {
            let problems = schemas.get(&call.name).map(|schema| argument_problems(schema, arguments)).unwrap_or_default();
            wrong.extend(problems.into_iter().map(|text| (format!("{at}.arguments"), text)));
        }
    }
    let covered = calls.iter().all(|call| seen.contains(&call.id));
    if reply.approval.is_none() && !covered && wrong.is_empty() {
        wrong.push(("decisions".to_owned(), "without `approval`, a decision is needed for every waiting call".to_owned()));
    }
    if !wrong.is_empty() {
        return Err(Error::fields(wrong));
    }
    let decide = |call: &ToolCall| {
        let own = given.iter().find(|decision| decision.call_id == call.id);
        Decision {
            call_id: call.id.clone(),
            approved: own.map_or(reply.approval.unwrap_or(false), |own| own.approved),
            arguments: own.and_then(|own| own.arguments.clone()),
            message: own.and_then(|own| own.message.clone()).or_else(|| reply.message.clone()),
        }
    };
    Ok(Answer::Approval { decisions: calls.iter().map(decide).collect() })
}

/// Tries a failed run again.
///
/// # Errors
/// Every refusal of the contract; a refused retry changes nothing.
pub async fn retry(world: &Arc<World>, tenant: &Arc<str>, run: &str, again: &Again, queued: bool) -> Result<Started> {
    for _ in 0..3 {
        let loaded = load_top(world, tenant, run).await?;
        let folded = loaded.fold(again.from_step)?;
        if folded.status != Status::Failed {
            return Err(state_error(&folded, format!("the run is {}; only a failed run can be retried", folded.status.as_str())));
        }
        if queued && folded.created.entity == EntityKind::Agent {
            return Err(state_error(&folded, "a chat turn cannot be queued; nothing was done; retry it with the route that ends in `/stream`"));
        }
        let back = match again.from_step {
            Some(step) => Some(folded.way_back(step).ok_or_else(|| {
                Error::field("from_step_id", "this run has no such completed step")
            })?),
            None => None,
        };
        check_doubts(&folded, &again.in_doubt)?;
        if let Some(step) = again.from_step {
            check_left(&folded, step, &again.in_doubt)?;
        }
        // What a person says that a tool answered is cut like what it answers itself.
        let mut in_doubt = again.in_doubt.clone();
        in_doubt.iter_mut().filter_map(|answer| answer.result.as_mut()).for_each(|result| cap(result, world.result_bytes()));
        let event = Event::Retried(Box::new(Retried {
            from_step: again.from_step,
            state: again.state.clone(),
            in_doubt,
            queued,
            back,
            trace: again.trace.clone(),
        }));
        if let Some(started) = go_on(world, tenant, &loaded, folded, event, again.key.as_ref()).await? {
            return Ok(started);
        }
    }
    Err(Error::new(Kind::StoreUnavailable, "the run changes too fast; nothing was changed; try again"))
}

/// A call of a step that is made anew is made again, so nothing else can be decided about it.
fn check_left(run: &Run, from: Id, answers: &[DoubtAnswer]) -> Result<()> {
    if answers.iter().all(|answer| answer.action == DoubtAction::Rerun) {
        return Ok(());
    }
    let left = run.in_doubt_from(from);
    let lost = |(index, answer): (usize, &DoubtAnswer)| {
        let is_lost = answer.action != DoubtAction::Rerun && !left.iter().any(|call| call.call_id == answer.call_id);
        let text = format!(
            "`{}` belongs to a step that runs again because of `from_step_id`, so the studio makes this call again; send `rerun`, or retry without `from_step_id`",
            answer.call_id
        );
        is_lost.then(|| (format!("in_doubt.{index}.action"), text))
    };
    let wrong: Vec<_> = answers.iter().enumerate().filter_map(lost).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::fields(wrong)) }
}

fn check_doubts(run: &Run, answers: &[DoubtAnswer]) -> Result<()> {
    let fault = run.failure.as_ref().map(|(fault, _)| fault);
    let calls = fault.map_or(&[][..], |fault| fault.calls.as_slice());
    // Whatever else it failed of: a call that nobody decided on is asked about when its node is entered again.
    let needed = if fault.is_some_and(|fault| fault.code == FaultCode::InDoubt) { calls } else { &[] };
    let mut wrong = Vec::new();
    for (index, answer) in answers.iter().enumerate() {
        if !calls.iter().any(|call| call.call_id == answer.call_id) {
            wrong.push((format!("in_doubt.{index}.call_id"), format!("the run has no call `{}` in doubt", answer.call_id)));
        }
    }
    for call in needed {
        if answers.iter().filter(|answer| answer.call_id == call.call_id).count() != 1 {
            wrong.push(("in_doubt".to_owned(), format!("one decision is needed for call `{}` of `{}`", call.call_id, call.name)));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::fields(wrong)) }
}
