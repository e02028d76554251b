//! Owns the table of bodies that are accepted and refused.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn refused<T: std::fmt::Debug>(parsed: &Result<T>) -> String {
    match parsed {
        Ok(request) => format!("accepted {request:?}"),
        Err(error) => serde_json::to_string(&error.members["errors"]).expect("JSON"),
    }
}

fn check(bodies: &[(EntityKind, Value)], want: &Expect) {
    let told: Vec<String> = bodies.iter().map(|(entity, body)| refused(&RunRequest::parse(body, *entity))).collect();
    want.assert_eq(&told.join("\n"));
}

#[test]
fn wrong_run_bodies_name_their_fields() {
    use EntityKind::{Agent, Workflow};
    check(
        &[
            (Workflow, json!([])),
            (Workflow, json!({"message": "  "})),
            (Workflow, json!({"message": "a".repeat(200_001)})),
            (Workflow, json!({"message": "a", "state": {"__x": 1, "__studio_locale": 3}})),
            (Workflow, json!({"message": "a", "state": {"": 1}})),
            (Workflow, json!({"message": "a", "state": {"x": "a".repeat(256 * 1024)}})),
            (Workflow, json!({"message": "a", "thread_id": "7", "on_disconnect": "stop", "draft": 1})),
            (Workflow, json!({"message": "a", "attachments": [{"type": "film"}, 3]})),
            (Workflow, json!({"message": "a", "attachments": vec![json!({}); 21]})),
            (Agent, json!({"message": "a", "context": [], "parameters": {"temperature": 3, "top_p": "x", "max_tokens": 0}})),
            (Agent, json!({"message": "a", "provider": "script"})),
            (Agent, json!({"message": "a", "instructions": "a".repeat(100_001)})),
        ],
        &expect![[r#"
            {"body":["the body must be a JSON object"]}
            {"message":["message is required"]}
            {"message":["message must have at most 200000 characters"]}
            {"state.__x":["state.__x must not begin with `__`"],"state.__studio_locale":["state.__studio_locale must be a string"]}
            {"state":["state must have keys of 1 to 128 characters"]}
            {"state":["state must have at most 256 KiB"]}
            {"thread_id":["thread_id must be a UUID"],"on_disconnect":["on_disconnect must be one of continue, cancel"],"draft":["draft must be true or false"]}
            {"attachments.0.type":["attachments.0.type must be one of image, audio, video, document"],"attachments.0.storage_key":["attachments.0.storage_key is required"],"attachments.1":["attachments.1 must be an object"]}
            {"attachments":["attachments must have at most 20 items"]}
            {"context":["context must be an object"],"parameters.temperature":["parameters.temperature must be a number from 0 to 2"],"parameters.top_p":["parameters.top_p must be a number from 0 to 1"],"parameters.max_tokens":["parameters.max_tokens must be an integer of at least 1"]}
            {"model":["model is required when provider is given"]}
            {"instructions":["instructions must have at most 100000 characters"]}"#]],
    );
}

#[test]
fn a_body_says_only_what_its_entity_knows() {
    let body = json!({"message": "hi", "state": {"a": 1, "__studio_locale": "en"}, "draft": true, "instructions": "be brief",
        "context": {"x": 1}, "parameters": {"temperature": 0.5}, "thread_id": "0190A000-0000-7000-8000-000000000001", "later": 1});
    let run = RunRequest::parse(&body, EntityKind::Workflow).expect("accepted");
    assert_eq!((run.draft, run.state.len(), run.instructions, run.parameters), (true, 2, None, None));
    assert_eq!(run.thread_id.map(|id| id.to_string()).as_deref(), Some("0190a000-0000-7000-8000-000000000001"));
    let chat = RunRequest::parse(&body, EntityKind::Agent).expect("accepted");
    assert_eq!((chat.draft, chat.state.len(), chat.instructions.as_deref()), (false, 0, Some("be brief")));
    assert_eq!(chat.parameters.and_then(|parameters| parameters.temperature), Some(0.5));
}

#[test]
fn files_alone_are_a_message() {
    let body = json!({"attachments": [{"type": "image", "storage_key": "k"}], "state": null});
    let run = RunRequest::parse(&body, EntityKind::Workflow).expect("accepted");
    assert_eq!((run.message.as_str(), run.attachments.len()), ("", 1));
}

#[test]
fn resume_bodies_are_checked_for_shape() {
    let told = |body: Value| refused(&ResumeRequest::parse(&body));
    let twice = json!([{"call_id": "a", "approval": "approve"}, {"call_id": "a", "approval": "no", "arguments": 1}]);
    expect![[r#"{"approval":["approval must be one of approve, reject"],"decisions.1.call_id":["decisions.1.call_id is listed twice"],"decisions.1.approval":["decisions.1.approval must be one of approve, reject"],"decisions.1.arguments":["decisions.1.arguments must be an object"]}"#]]
        .assert_eq(&told(json!({"approval": "maybe", "decisions": twice})));
    let empty = ResumeRequest::parse(&Value::Null).expect("accepted");
    assert_eq!(empty, ResumeRequest::default());
    let reject = ResumeRequest::parse(&json!({"approval": "reject", "message": "no", "decisions": []})).expect("accepted");
    assert_eq!((reject.approval, reject.message.as_deref(), reject.decisions), (Some(false), Some("no"), None));
}

#[test]
fn retry_bodies_are_checked_for_shape() {
    let told = |body: Value| refused(&RetryRequest::parse(&body));
    let doubts = json!([{"call_id": "a", "action": "use"}, {"call_id": "a", "action": "skip"}, {"action": "x"}]);
    expect![[r#"{"from_step_id":["from_step_id must be a UUID"],"state.__studio_locale":["state.__studio_locale must not begin with `__`"],"in_doubt.0.result":["in_doubt.0.result is required"],"in_doubt.1.call_id":["in_doubt.1.call_id is listed twice"],"in_doubt.2.call_id":["in_doubt.2.call_id is required"],"in_doubt.2.action":["in_doubt.2.action must be one of rerun, skip, use"]}"#]]
        .assert_eq(&told(json!({"from_step_id": "x", "state": {"__studio_locale": "en"}, "in_doubt": doubts})));
    let retry = RetryRequest::parse(&json!({"in_doubt": [{"call_id": "a", "action": "use", "result": "7"}]})).expect("accepted");
    assert_eq!((retry.in_doubt[0].action, retry.in_doubt[0].result.as_deref()), (DoubtAction::Use, Some("7")));
}
