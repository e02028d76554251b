//! What a post means, for each state that a conversation can be in.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Answer, Meaning, meaning, meaning_for, rest};
use crate::error::Kind;
use crate::http::adapters::ask::{Ask, Interrupt, NewMessage, Verdict};
use crate::model::Id;
use crate::model::event::{EntityKind, Pause};
use crate::model::run::Status;
use crate::studio::{NamedTurn, Standing, Turns};

fn id(number: u64) -> Id {
    Id::v7(1, 1, number)
}

fn pause(number: u64, reason: Value) -> Pause {
    let reason = serde_json::from_value(reason).expect("a reason");
    Pause { id: id(number), step: id(99), node: Arc::from("n"), reason }
}

fn question(number: u64) -> Pause {
    pause(number, json!({"human": {"prompt": "Name?", "output_key": "name"}}))
}

fn approval(number: u64, calls: &[&str]) -> Pause {
    let calls: Vec<Value> = calls.iter().map(|call| json!({"id": call, "name": "pay", "arguments": {}})).collect();
    pause(number, json!({"approval": {"calls": calls, "message": "wait", "schemas": {}}}))
}

fn standing(status: Status, pauses: Vec<Pause>) -> Standing {
    Standing {
        run: id(1),
        thread: id(2),
        entity: EntityKind::Workflow,
        entity_id: id(3),
        status,
        fence: 1,
        pauses,
        answered: vec![id(50)],
        replaces: None,
        message: "hi".into(),
        said: "hi".into(),
        state: Map::new(),
        last: 9,
        newest_part: 0,
    }
}

fn verdict(pause: u64, call: &str, approved: bool) -> Verdict {
    Verdict { pause: id(pause).to_string(), call: call.into(), approved, reason: Some("because".into()) }
}

fn resume(pause: u64, payload: Option<Value>) -> Interrupt {
    Interrupt { pause: id(pause).to_string(), payload }
}

fn answers(ask: &Ask, run: &Standing) -> Vec<Answer> {
    match meaning(ask, Some(run), &Turns::default()).expect("a meaning") {
        Meaning::Answer { answers, .. } => answers,
        other => panic!("{other:?}"),
    }
}

fn refused(ask: &Ask, run: Option<&Standing>) -> Kind {
    meaning(ask, run, &Turns::default()).expect_err("a refusal").kind
}

#[test]
fn a_message_begins_a_turn_or_answers_the_earliest_question() {
    let plain = Ask::default();
    let begins = Meaning::Begin { replaces: None };
    assert_eq!(meaning(&plain, None, &Turns::default()).expect("a meaning"), begins);
    for status in [Status::Queued, Status::Running, Status::Completed, Status::Failed, Status::Cancelled] {
        assert_eq!(meaning(&plain, Some(&standing(status, Vec::new())), &Turns::default()).expect("a meaning"), begins);
    }
    let asked = standing(Status::AwaitingToolApproval, vec![approval(10, &["c"]), question(11), question(12)]);
    assert_eq!(meaning(&plain, Some(&asked), &Turns::default()).expect("a meaning"), Meaning::Tell { run: id(1).to_string(), pause: id(11).to_string() });
    assert_eq!(refused(&plain, Some(&standing(Status::AwaitingToolApproval, vec![approval(10, &["c"])]))), Kind::WrongAnswerKind);
}

#[test]
fn messages_that_end_with_an_answer_say_nothing_new() {
    let said = |text: &str| NewMessage { text: text.into(), ..NewMessage::default() };
    let ask = |text: &str| Ask { is_answered: true, said: said(text), ..Ask::default() };
    let asked = standing(Status::AwaitingInput, vec![question(11)]);
    assert_eq!(refused(&ask("hi"), Some(&asked)), Kind::ValidationFailed, "the user did not see the question when he said that");
    assert_eq!(meaning_for(&ask("hi"), &asked).expect_err("a refusal").kind, Kind::ValidationFailed);
    assert_eq!(refused(&ask("hi"), Some(&standing(Status::AwaitingToolApproval, vec![approval(10, &["c"])]))), Kind::WrongAnswerKind);
    for status in [Status::Queued, Status::Running, Status::Completed] {
        assert_eq!(refused(&ask("hi"), Some(&standing(status, Vec::new()))), Kind::ValidationFailed, "{status:?}");
    }
    let begins = |ask: &Ask, newest: Option<&Standing>| meaning(ask, newest, &Turns::default()).expect("a meaning") == Meaning::Begin { replaces: None };
    for status in [Status::Failed, Status::Cancelled] {
        assert!(begins(&ask("hi"), Some(&standing(status, Vec::new()))), "{status:?}");
    }
    let told = Standing { said: "Ada".into(), ..standing(Status::Completed, Vec::new()) };
    assert_eq!(refused(&ask("Ada"), Some(&told)), Kind::ValidationFailed, "what was said to a question was answered, too");
    assert!(begins(&ask("hi"), None) && begins(&ask("ho"), Some(&standing(Status::Completed, Vec::new()))));
    assert!(matches!(meaning(&Ask { regenerates: true, ..ask("hi") }, Some(&asked), &Turns::default()), Ok(Meaning::Begin { .. })));
}

#[test]
fn a_regenerated_answer_replaces_a_turn_that_was_completed() {
    let again = Ask { regenerates: true, ..Ask::default() };
    let replaces = |status| match meaning(&again, Some(&standing(status, Vec::new())), &Turns::default()) {
        Ok(Meaning::Begin { replaces }) => replaces,
        other => panic!("{other:?}"),
    };
    assert_eq!(replaces(Status::Completed), Some(id(1)));
    assert_eq!((replaces(Status::Failed), replaces(Status::Running)), (None, None), "those added nothing to the thread");
    let failed = Standing { replaces: Some(id(4)), ..standing(Status::Failed, Vec::new()) };
    assert_eq!(meaning(&again, Some(&failed), &Turns::default()).unwrap(), Meaning::Begin { replaces: Some(id(4)) }, "what it left is replaced");
}

#[test]
fn a_regenerated_answer_replaces_the_turn_that_is_named_or_read_last() {
    let again = |text: &str| Ask { regenerates: true, said: NewMessage { text: text.into(), ..NewMessage::default() }, ..Ask::default() };
    let turns = |named| Turns { last: Some((id(7), "seven".into())), named };
    let replaces = |ask: &Ask, newest: &Standing, turns: &Turns| match meaning(ask, Some(newest), turns) {
        Ok(Meaning::Begin { replaces }) => replaces,
        other => panic!("{other:?}"),
    };
    let completed = standing(Status::Completed, Vec::new());
    assert_eq!(replaces(&again("hi"), &completed, &turns(None)), Some(id(7)), "an older run went on and ended later");
    assert_eq!(replaces(&again("hi"), &completed, &turns(Some(NamedTurn::Shown(id(7))))), Some(id(7)));
    assert_eq!(replaces(&again("hi"), &completed, &turns(Some(NamedTurn::Missing(Some(id(7)))))), Some(id(7)));
    assert_eq!(replaces(&again("hi"), &completed, &turns(Some(NamedTurn::Missing(None)))), None);
    let earlier = meaning(&again("hi"), Some(&completed), &turns(Some(NamedTurn::Shown(id(5))))).expect_err("a refusal");
    assert_eq!(earlier.kind, Kind::ValidationFailed);
    // What failed was to replace a turn that is not the last one any more: the chat went on, or the turn was replaced by another run.
    for newest in [&completed, &standing(Status::Failed, Vec::new())] {
        let stale = meaning(&again("hi"), Some(newest), &turns(Some(NamedTurn::Missing(Some(id(5)))))).expect_err("a refusal");
        assert_eq!(stale.kind, Kind::ValidationFailed);
    }
    let failed = Standing { replaces: Some(id(4)), ..standing(Status::Failed, Vec::new()) };
    assert_eq!(replaces(&again("hi"), &failed, &turns(None)), Some(id(4)), "what failed is tried again");
    assert_eq!(replaces(&again("seven"), &failed, &turns(None)), Some(id(7)), "the message of the turn that is read last");
    assert_eq!(replaces(&again("other"), &failed, &turns(None)), Some(id(4)), "a message that nobody knows");
}

#[test]
fn decisions_need_all_calls_of_a_pause_and_an_open_pause() {
    let run = standing(Status::AwaitingToolApproval, vec![approval(10, &["a", "b"]), approval(11, &["c"])]);
    let ask = |verdicts| Ask { verdicts, ..Ask::default() };
    assert_eq!(refused(&ask(vec![verdict(10, "a", true)]), Some(&run)), Kind::ValidationFailed);
    assert_eq!(refused(&ask(vec![verdict(77, "a", true)]), Some(&run)), Kind::PauseNotPending);
    assert_eq!(refused(&ask(vec![verdict(10, "a", true)]), None), Kind::PauseNotPending);
    let both = ask(vec![verdict(11, "c", true), verdict(10, "a", true), verdict(10, "b", false)]);
    let given = answers(&both, &run);
    let decisions = json!([{"call_id": "a", "approval": "approve", "message": "because"}, {"call_id": "b", "approval": "reject", "message": "because"}]);
    assert_eq!(given[0], Answer::Resume(json!({"pause_id": id(10).to_string(), "decisions": decisions})));
    assert_eq!(given.len(), 2);
    let later = standing(Status::AwaitingToolApproval, vec![approval(11, &["c"])]);
    assert!(matches!(rest(&both, &later, &id(10).to_string())[..], [Answer::Resume(_)]));
    assert_eq!(rest(&both, &standing(Status::Completed, Vec::new()), &id(10).to_string()), [Answer::Given]);
}

#[test]
fn interrupts_are_answered_by_their_ids() {
    let run = standing(Status::AwaitingInput, vec![question(10), approval(11, &["c"])]);
    let ask = |interrupts| Ask { interrupts, ..Ask::default() };
    for (interrupt, wanted) in [
        (resume(10, Some(json!("Ada"))), json!({"pause_id": id(10).to_string(), "message": "Ada"})),
        (resume(10, Some(json!({"text": "Ada"}))), json!({"pause_id": id(10).to_string(), "message": "Ada"})),
        (
            resume(11, Some(json!({"approved": false, "reason": "no"}))),
            json!({"pause_id": id(11).to_string(), "message": "no", "approval": "reject"}),
        ),
        (resume(11, None), json!({"pause_id": id(11).to_string(), "approval": "reject"})),
        (
            resume(11, Some(json!({"decisions": [{"call_id": "c", "approval": "approve", "arguments": {"sum": 1}}]}))),
            json!({"pause_id": id(11).to_string(), "decisions": [{"call_id": "c", "approval": "approve", "arguments": {"sum": 1}}]}),
        ),
    ] {
        assert_eq!(answers(&ask(vec![interrupt]), &run), [Answer::Resume(wanted)]);
    }
    assert_eq!(answers(&ask(vec![resume(10, None)]), &run), [Answer::Cancel(id(10).to_string())]);
    assert_eq!(answers(&ask(vec![resume(11, None), resume(10, None)]), &run).len(), 2);
    assert_eq!(refused(&ask(vec![resume(50, None)]), Some(&run)), Kind::PauseNotPending);
    assert_eq!(refused(&ask(vec![resume(10, None), resume(51, None)]), Some(&run)), Kind::NotFound);
    assert_eq!(refused(&ask(vec![resume(10, None)]), None), Kind::NotFound);
    assert_eq!(refused(&ask(vec![resume(10, None)]), Some(&standing(Status::Cancelled, vec![question(10)]))), Kind::PauseNotPending);
}

#[test]
fn a_given_run_must_wait() {
    let plain = Ask::default();
    assert_eq!(meaning_for(&plain, &standing(Status::Completed, Vec::new())).expect_err("a refusal").kind, Kind::InvalidState);
    let native = Ask { native: Some(json!({"approval": "approve"})), ..Ask::default() };
    let run = standing(Status::AwaitingToolApproval, vec![approval(10, &["c"])]);
    assert_eq!(
        meaning_for(&native, &run).expect("a meaning"),
        Meaning::Answer { run: id(1).to_string(), answers: vec![Answer::Resume(json!({"approval": "approve"}))] }
    );
}
