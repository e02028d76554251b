//! Owns the meaning of a post for a conversation: a new turn, or answers to open pauses. Pure.

use serde_json::{Map, Value, json};

use super::ask::{Ask, Interrupt};
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::event::{Pause, PauseReason};
use crate::model::run::Status;
use crate::studio::runs::must_fit;
use crate::studio::{NamedTurn, Standing, Turns};

/// What a post means.
#[derive(Debug, PartialEq)]
pub(super) enum Meaning {
    /// A new turn or run, which may replace the turn of an earlier run.
    Begin { replaces: Option<Id> },
    /// The message answers the open question of a run.
    Tell { run: String, pause: String },
    /// Answers to pauses of a run, in order.
    Answer { run: String, answers: Vec<Answer> },
}

/// An answer to one pause.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// As the studio's own resume routes read it.
    Resume(Value),
    /// The run is cancelled at this pause.
    Cancel(String),
    /// It was given before; the run went on.
    Given,
}

/// What a post to an agent or a workflow means; `newest` is the newest run of its chat, and `turns` are
/// those that a new answer may take the place of.
pub(super) fn meaning(ask: &Ask, newest: Option<&Standing>, turns: &Turns) -> Result<Meaning> {
    if !ask.interrupts.is_empty() {
        let unknown = || Error::not_found("interrupt", &ask.interrupts[0].pause);
        return interrupted(&ask.interrupts, newest.ok_or_else(unknown)?);
    }
    if ask.regenerates {
        return replaced(ask, newest, turns).map(|replaces| Meaning::Begin { replaces });
    }
    if !ask.verdicts.is_empty() {
        return decided(ask, newest);
    }
    match newest {
        Some(waiting) if waiting.status.paused() => answer_question(ask, waiting),
        Some(run) if ask.is_answered && has_answered(ask, run) => Err(nothing_new()),
        Some(_) | None => Ok(Meaning::Begin { replaces: None }),
    }
}

/// The run answers, or answered, the last message of the user. One that failed or was cancelled may be asked again.
fn has_answered(ask: &Ask, run: &Standing) -> bool {
    !matches!(run.status, Status::Failed | Status::Cancelled) && ask.said.text.as_str() == Some(run.said.as_str())
}

fn nothing_new() -> Error {
    let text = "messages ends with a message of the assistant; nothing was changed; add a message of the user, or set `trigger` to `regenerate-message`";
    Error::field("messages", text)
}

/// The run whose turn a new answer takes the place of: the one that the client names, else the last one that people read, unless what is
/// answered again has no turn.
fn replaced(ask: &Ask, newest: Option<&Standing>, turns: &Turns) -> Result<Option<Id>> {
    match turns.named {
        // The turn that a run was to replace may have been replaced or followed by others since.
        Some(NamedTurn::Shown(run) | NamedTurn::Missing(Some(run))) => {
            let text = "messageId must be that of the last answer of the chat; nothing was changed; branch the thread to answer an earlier message again";
            let is_last = turns.last.as_ref().is_some_and(|(last, _)| *last == run);
            return if is_last { Ok(Some(run)) } else { Err(Error::field("messageId", text)) };
        }
        Some(NamedTurn::Missing(None)) => return Ok(None),
        None => {}
    }
    let Some(newest) = newest else { return Ok(None) };
    if newest.status == Status::Completed {
        return Ok(Some(turns.last.as_ref().map_or(newest.run, |(run, _)| *run)));
    }
    // A run that did not end well has added no turn, and has not replaced what it was to replace.
    let asks_again = |message: &str| ask.said.text.as_str() == Some(message);
    let last = turns.last.as_ref().filter(|(_, message)| !asks_again(&newest.message) && asks_again(message));
    Ok(last.map_or(newest.replaces, |(run, _)| Some(*run)))
}

/// The meaning of a post to a given run, which must be paused.
pub(super) fn meaning_for(ask: &Ask, run: &Standing) -> Result<Meaning> {
    if !ask.interrupts.is_empty() {
        return interrupted(&ask.interrupts, run);
    }
    if !ask.verdicts.is_empty() {
        return decided(ask, Some(run));
    }
    if let Some(native) = &ask.native {
        return Ok(Meaning::Answer { run: run.run.to_string(), answers: vec![Answer::Resume(native.clone())] });
    }
    if run.status.paused() {
        return answer_question(ask, run);
    }
    let text = format!("the run is {}; only a paused run can be resumed", run.status.as_str());
    Err(Error::new(Kind::InvalidState, text).with("run_status", run.status.as_str()))
}

/// The message goes to the earliest question.
fn answer_question(ask: &Ask, run: &Standing) -> Result<Meaning> {
    match run.question() {
        Some(_) if ask.is_answered => Err(nothing_new()),
        Some(pause) => Ok(Meaning::Tell { run: run.run.to_string(), pause: pause.id.to_string() }),
        None => Err(Error::new(Kind::WrongAnswerKind, "the run waits for a decision on its tool calls, not for a message")
            .with("expected", "tool_approval")),
    }
}

/// Decisions on calls, pause by pause; each pause needs all of its own.
fn decided(ask: &Ask, newest: Option<&Standing>) -> Result<Meaning> {
    let of_pause = |pause: &Pause| ask.verdicts.iter().any(|verdict| verdict.pause == pause.id.to_string());
    let open: Vec<&Pause> = newest.into_iter().flat_map(|run| &run.pauses).filter(|pause| of_pause(pause)).collect();
    let (Some(run), false) = (newest, open.is_empty()) else {
        return Err(not_open(newest, "the tool calls of this message do not wait for approval any more; nothing was changed"));
    };
    let answers = open.into_iter().map(|pause| decisions(ask, pause).map(Answer::Resume)).collect::<Result<_>>()?;
    Ok(Meaning::Answer { run: run.run.to_string(), answers })
}

fn decisions(ask: &Ask, pause: &Pause) -> Result<Value> {
    let id = pause.id.to_string();
    let PauseReason::Approval { calls, .. } = &pause.reason else {
        return Err(Error::field("messages", "messages has decisions on tool calls, but the run waits for an answer to a question"));
    };
    let mut decisions = Vec::with_capacity(calls.len());
    for call in calls {
        let Some(verdict) = ask.verdicts.iter().find(|verdict| verdict.pause == id && verdict.call == call.id) else {
            return Err(Error::field(
                "messages",
                format!("messages has no decision on the tool call `{}`, which waits for approval too", call.id),
            ));
        };
        let mut decision = json!({"call_id": call.id, "approval": if verdict.approved { "approve" } else { "reject" }});
        if let Some(reason) = &verdict.reason {
            decision["message"] = reason.as_str().into();
        }
        decisions.push(decision);
    }
    Ok(json!({"pause_id": id, "decisions": decisions}))
}

/// Why an answer to a pause was refused.
pub(super) const NOT_OPEN: &str = "that pause is not open any more; nothing was changed";

pub(super) fn not_open(run: Option<&Standing>, text: &str) -> Error {
    let error = Error::new(Kind::PauseNotPending, text);
    let Some(run) = run else { return error };
    let pauses: Vec<Value> = run.pauses.iter().map(|pause| json!({"pause_id": pause.id, "node_id": pause.node})).collect();
    error.with("run_status", run.status.as_str()).with("pauses", pauses)
}

/// Answers by the ids of pauses, which must all be open pauses of this run.
fn interrupted(interrupts: &[Interrupt], run: &Standing) -> Result<Meaning> {
    let mut answers = Vec::with_capacity(interrupts.len());
    for interrupt in interrupts {
        let same = |pause: &&Pause| pause.id.to_string() == interrupt.pause;
        match run.pauses.iter().find(same).filter(|_| run.status.paused()) {
            Some(pause) => {
                let answer = answer(interrupt, pause);
                // Later ones are given when the earlier ones are done: by then it would be too late to refuse them.
                if let Answer::Resume(body) = &answer {
                    must_fit(pause, body)?;
                }
                answers.push(answer);
            }
            None if run.pauses.iter().any(|pause| same(&pause)) || run.answered.iter().any(|id| id.to_string() == interrupt.pause) => {
                return Err(not_open(Some(run), NOT_OPEN));
            }
            None => return Err(Error::not_found("interrupt", &interrupt.pause)),
        }
    }
    Ok(Meaning::Answer { run: run.run.to_string(), answers })
}

/// Answers of a post that is sent again, but the `first`, which was given: those of pauses that are open still, after those that were
/// given.
pub(super) fn rest(ask: &Ask, run: &Standing, first: &str) -> Vec<Answer> {
    let open = |id: &str| run.pauses.iter().find(|pause| pause.id.to_string() == id).filter(|pause| !run.answered.contains(&pause.id));
    if !ask.interrupts.is_empty() {
        let others = ask.interrupts.iter().filter(|one| one.pause != first);
        return others.map(|one| open(&one.pause).map_or(Answer::Given, |pause| answer(one, pause))).collect();
    }
    let mut pauses: Vec<&str> = ask.verdicts.iter().map(|verdict| verdict.pause.as_str()).filter(|id| *id != first).collect();
    pauses.sort_unstable();
    pauses.dedup();
    pauses.sort_by_key(|id| open(id).is_some());
    pauses.into_iter().map(|id| open(id).and_then(|pause| decisions(ask, pause).ok()).map_or(Answer::Given, Answer::Resume)).collect()
}

fn answer(interrupt: &Interrupt, pause: &Pause) -> Answer {
    let mut body = Map::new();
    body.insert("pause_id".into(), interrupt.pause.as_str().into());
    match (&interrupt.payload, &pause.reason) {
        (None, PauseReason::Human { .. }) => return Answer::Cancel(interrupt.pause.clone()),
        (None, PauseReason::Approval { .. }) => {
            body.insert("approval".into(), "reject".into());
        }
        (Some(Value::Object(payload)), _) => {
            let said = ["message", "input", "text", "reason"].iter().find_map(|name| payload.get(*name).filter(|value| !value.is_null()));
            body.extend(said.map(|said| ("message".to_owned(), said.clone())));
            let approved = payload.get("approved").and_then(Value::as_bool).map(|yes| if yes { "approve" } else { "reject" });
            body.extend(approved.map(|word| ("approval".to_owned(), word.into())));
            let own =
                ["approval", "decisions", "attachments"].iter().filter_map(|name| Some(((*name).to_owned(), payload.get(*name)?.clone())));
            body.extend(own);
        }
        (Some(said), _) => {
            body.insert("message".into(), said.clone());
        }
    }
    Answer::Resume(body.into())
}

#[cfg(test)]
mod tests;
