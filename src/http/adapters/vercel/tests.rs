//! What each event is told as, part by part.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::Translator;
use super::request::read;
use crate::http::adapters::event::PublishedEvent;

/// A message of these events: `(event, data)`, numbered from 1; each part a line.
fn translated(translator: &mut Translator, events: &[(&'static str, Value)]) -> String {
    let mut out = Vec::new();
    translator.open(&mut out);
    for (number, (event, data)) in (1..).zip(events) {
        translator.tell(PublishedEvent::made(event, number, data.clone()), &mut out);
    }
    translator.close(&mut out);
    out.iter().map(|part| format!("{part}\n")).collect()
}

fn new() -> Translator {
    Translator { run: "R".into(), thread: "T".into(), message_id: Some("R-0".into()), ..Translator::default() }
}

fn check(events: &[(&'static str, Value)], expected: Expect) {
    expected.assert_eq(&translated(&mut new(), events));
}

fn step(node_type: &str) -> Value {
    json!({"step_id": "s", "node_id": "n", "node_type": node_type})
}

fn approval(pause: &str, call: &str) -> (&'static str, Value) {
    let tools = json!([{"name": "pay", "arguments": {"sum": 5}, "call_id": call}]);
    ("tool_approval_required", json!({"trace_id": "R", "node_id": "n", "pause_id": pause, "pending_tools": tools, "message": "1 waits."}))
}

#[test]
fn thoughts_are_blocks_of_their_own_before_the_text() {
    check(
        &[
            ("step_started", step("agent")),
            ("reasoning", json!({"delta": "Hm", "publish_reply": true})),
            ("reasoning", json!({"delta": "m.", "publish_reply": true})),
            ("reasoning", json!({"delta": "hidden", "publish_reply": false})),
            ("tool_call", json!({"call_id": "c", "name": "t", "inputs": {}})),
            ("reasoning", json!({"delta": "So.", "publish_reply": true})),
            ("token", json!({"delta": "Yes", "publish_reply": true})),
            ("source", json!({"source_id": "s1", "kind": "url", "url": "https://a.example", "title": "A"})),
            ("source", json!({"source_id": "s2", "kind": "document", "document_id": "file-1"})),
            ("file", json!({"storage_key": "k", "name": "image-1.png", "media_type": "image/png", "size": 70})),
            ("step_completed", step("agent")),
            ("trace_completed", json!({"reply": "Yes"})),
        ],
        expect![[r#"
            {"type":"start","messageId":"R-0"}
            {"type":"start-step"}
            {"type":"reasoning-start","id":"reasoning-2"}
            {"type":"reasoning-delta","id":"reasoning-2","delta":"Hm"}
            {"type":"reasoning-delta","id":"reasoning-2","delta":"m."}
            {"type":"reasoning-end","id":"reasoning-2"}
            {"type":"tool-input-available","toolCallId":"c","toolName":"t","input":{},"dynamic":true}
            {"type":"reasoning-start","id":"reasoning-6"}
            {"type":"reasoning-delta","id":"reasoning-6","delta":"So."}
            {"type":"reasoning-end","id":"reasoning-6"}
            {"type":"text-start","id":"text-7"}
            {"type":"text-delta","id":"text-7","delta":"Yes"}
            {"type":"text-end","id":"text-7"}
            {"type":"source-url","sourceId":"s1","url":"https://a.example","title":"A"}
            {"type":"source-document","sourceId":"s2","mediaType":"application/octet-stream","title":"file-1"}
            {"type":"file","url":"/api/attachments/file?storage_key=k","mediaType":"image/png"}
            {"type":"finish-step"}
            {"type":"finish","finishReason":"stop","messageMetadata":{"trace_id":"R","thread_id":"T","status":"completed"}}
        "#]],
    );
}

#[test]
fn a_reply_with_a_thought_in_its_middle_is_not_told_twice() {
    let (say, think) = (|text: &str| ("token", json!({"delta": text, "publish_reply": true})), json!({"delta": "Hm", "publish_reply": true}));
    let told = translated(&mut new(), &[
        ("step_started", step("agent")),
        say("Let me look. "),
        ("reasoning", think),
        say("It is 4."),
        ("step_completed", step("agent")),
        ("trace_completed", json!({"reply": "Let me look. It is 4."})),
    ]);
    assert_eq!((told.matches("text-start").count(), told.matches("Let me look.").count()), (2, 1), "{told}");
}

/// A chat tells no steps: only the numbers say that its model was asked again.
#[test]
fn an_answer_that_begins_again_after_its_process_died_is_told_as_another_text() {
    let mut translator = new();
    let mut out = Vec::new();
    let lost = crate::model::telling::LOST_TOKENS;
    let events = [(2, "reasoning", "Hm"), (3, "token", "It "), (lost + 4, "reasoning", "Hm"), (lost + 5, "token", "It is "), (lost + 6, "token", "4.")];
    for (number, event, delta) in events {
        translator.tell(PublishedEvent::made(event, number, json!({"delta": delta})), &mut out);
    }
    translator.tell(PublishedEvent::made("done", lost + 7, json!({"reply": "It is 4."})), &mut out);
    translator.close(&mut out);
    let texts = |kind: &str| out.iter().filter(|part| part["type"] == kind).map(|part| format!("{} {}", part["id"], part["delta"])).collect::<Vec<_>>();
    assert_eq!(texts("text-delta"), [r#""text-3" "It ""#, r#""text-10005" "It is ""#, r#""text-10005" "4.""#]);
    assert_eq!(texts("reasoning-delta"), [r#""reasoning-2" "Hm""#, r#""reasoning-10004" "Hm""#]);
}

#[test]
fn a_linear_run_is_one_message_of_text_steps_and_transient_data() {
    check(
        &[
            ("thread", json!({"trace_id": "R", "thread_id": "T"})),
            ("step_started", step("agent")),
            ("token", json!({"delta": "Hel", "publish_reply": true})),
            ("token", json!({"delta": "lo", "publish_reply": true})),
            ("token", json!({"delta": "hidden", "publish_reply": false})),
            ("step_completed", step("agent")),
            ("step_started", step("stop")),
            ("trace_completed", json!({"reply": "Hello", "output": {"a": 1}, "total_tokens": 3, "estimated_cost": "0.000001"})),
        ],
        expect![[r#"
            {"type":"start","messageId":"R-0"}
            {"type":"data-studio","data":{"event":"thread","trace_id":"R","thread_id":"T"},"transient":true}
            {"type":"start-step"}
            {"type":"text-start","id":"text-3"}
            {"type":"text-delta","id":"text-3","delta":"Hel"}
            {"type":"text-delta","id":"text-3","delta":"lo"}
            {"type":"text-end","id":"text-3"}
            {"type":"finish-step"}
            {"type":"data-studio","data":{"event":"step_started","step_id":"s","node_id":"n","node_type":"stop"},"transient":true}
            {"type":"finish","finishReason":"stop","messageMetadata":{"trace_id":"R","thread_id":"T","status":"completed","total_tokens":3,"estimated_cost":"0.000001"}}
        "#]],
    );
}

#[test]
fn a_reply_that_was_not_streamed_is_one_more_block() {
    check(
        &[("token", json!({"delta": "Thinking"})), ("done", json!({"trace_id": "R", "reply": "Done.", "message_id": "m"}))],
        expect![[r#"
            {"type":"start","messageId":"R-0"}
            {"type":"text-start","id":"text-1"}
            {"type":"text-delta","id":"text-1","delta":"Thinking"}
            {"type":"text-end","id":"text-1"}
            {"type":"text-start","id":"text-2"}
            {"type":"text-delta","id":"text-2","delta":"Done."}
            {"type":"text-end","id":"text-2"}
            {"type":"finish","finishReason":"stop","messageMetadata":{"trace_id":"R","thread_id":"T","status":"completed"}}
        "#]],
    );
}

#[test]
fn calls_and_results_are_told_outside_of_text() {
    check(
        &[
            ("token", json!({"delta": "Let me see."})),
            ("tool_call", json!({"call_id": "c1", "name": "look", "inputs": {"n": 1}})),
            ("tool_call", json!({"call_id": "c2", "name": "look", "inputs": {}})),
            (
                "tool_result",
                json!({"call_id": "c1", "name": "look", "inputs": {"n": 1}, "result": "{\"a\":1}", "is_error": false, "skipped": false}),
            ),
            ("tool_result", json!({"call_id": "c2", "name": "look", "result": "it broke", "is_error": true, "skipped": false})),
            (
                "tool_result",
                json!({"call_id": "c3", "name": "pay", "inputs": {"sum": 1}, "result": "rejected", "is_error": false, "skipped": true}),
            ),
            ("done", json!({"reply": ""})),
        ],
        expect![[r#"
            {"type":"start","messageId":"R-0"}
            {"type":"text-start","id":"text-1"}
            {"type":"text-delta","id":"text-1","delta":"Let me see."}
            {"type":"text-end","id":"text-1"}
            {"type":"tool-input-available","toolCallId":"c1","toolName":"look","input":{"n":1},"dynamic":true}
            {"type":"tool-input-available","toolCallId":"c2","toolName":"look","input":{},"dynamic":true}
            {"type":"tool-output-available","toolCallId":"c1","output":"{\"a\":1}","dynamic":true}
            {"type":"tool-output-error","toolCallId":"c2","errorText":"it broke","dynamic":true}
            {"type":"tool-input-available","toolCallId":"c3","toolName":"pay","input":{"sum":1},"dynamic":true}
            {"type":"tool-output-denied","toolCallId":"c3"}
            {"type":"finish","finishReason":"stop","messageMetadata":{"trace_id":"R","thread_id":"T","status":"completed"}}
        "#]],
    );
}

#[test]
fn sources_of_a_search_are_told_up_to_twenty() {
    let mut translator = new();
    let mut told = PublishedEvent::made("rag_query", 1, json!({"query": "q", "chunk_count": 21}));
    told.sources = (0..21).map(|n| json!({"n": n, "chunk_id": format!("k{n}"), "document_id": "d", "source_name": "faq.md"})).collect();
    let mut out = Vec::new();
    translator.tell(told, &mut out);
    assert_eq!(out.len(), 20);
    assert_eq!(out[0], json!({"type": "source-document", "sourceId": "k0", "mediaType": "text/plain", "title": "faq.md"}));
}

#[test]
fn a_question_ends_the_message_with_its_prompt() {
    let question = json!({"trace_id": "R", "step_id": "s", "node_id": "ask", "pause_id": "P", "prompt": "Name?", "output_key": "name"});
    check(&[("step_started", step("human")), ("human_input_required", question)], expect![[r#"
        {"type":"start","messageId":"R-0"}
        {"type":"data-studio","data":{"event":"step_started","step_id":"s","node_id":"n","node_type":"human"},"transient":true}
        {"type":"data-awaiting_input","id":"P","data":{"status":"awaiting_input","trace_id":"R","node_id":"ask","pause_id":"P","prompt":"Name?"}}
        {"type":"text-start","id":"text-2"}
        {"type":"text-delta","id":"text-2","delta":"Name?"}
        {"type":"text-end","id":"text-2"}
        {"type":"finish","finishReason":"stop","messageMetadata":{"trace_id":"R","thread_id":"T","status":"awaiting_input"}}
    "#]]);
}

#[test]
fn an_approval_ends_the_message_with_requests_for_each_call() {
    let events = [("step_started", step("agent")), ("token", json!({"delta": "I will."})), approval("P", "c1")];
    check(&events, expect![[r#"
        {"type":"start","messageId":"R-0"}
        {"type":"start-step"}
        {"type":"text-start","id":"text-2"}
        {"type":"text-delta","id":"text-2","delta":"I will."}
        {"type":"text-end","id":"text-2"}
        {"type":"tool-input-available","toolCallId":"c1","toolName":"pay","input":{"sum":5},"dynamic":true}
        {"type":"tool-approval-request","approvalId":"P.c1","toolCallId":"c1"}
        {"type":"data-awaiting_input","id":"P","data":{"status":"awaiting_tool_approval","trace_id":"R","node_id":"n","pause_id":"P","message":"1 waits.","pending_tools":[{"name":"pay","arguments":{"sum":5},"call_id":"c1"}]}}
        {"type":"finish-step"}
        {"type":"finish","finishReason":"tool-calls","messageMetadata":{"trace_id":"R","thread_id":"T","status":"awaiting_tool_approval"}}
    "#]]);
    let mut old = Translator { no_approvals: true, ..new() };
    let text = translated(&mut old, &events);
    assert!(!text.contains("tool-approval-request") && text.contains("data-awaiting_input"), "{text}");
}

#[test]
fn several_open_pauses_are_told_in_order_with_one_end() {
    let question = json!({"trace_id": "R", "node_id": "ask", "pause_id": "Q", "prompt": "Name?"});
    let again = approval("P", "c1");
    let text = translated(&mut new(), &[approval("P", "c1"), ("human_input_required", question), again]);
    assert_eq!(text.matches("\"finish\"").count(), 1);
    assert_eq!(text.matches("tool-approval-request").count(), 1, "a pause that is told again is one: {text}");
    assert!(text.contains("\"Q\"") && text.contains("\"tool-calls\""), "{text}");
}

/// A reader of the whole run sees its rests, too.
#[test]
fn a_question_that_was_answered_is_not_asked_at_the_end() {
    let ask = |pause: &str| ("human_input_required", json!({"node_id": pause, "pause_id": pause, "prompt": format!("{pause}?")}));
    let text = translated(&mut new(), &[ask("A"), ("step_completed", step("human")), ask("B")]);
    assert!(text.contains("B?") && !text.contains("A?"), "{text}");
}

/// The end of a rest has a number and is not told: a question behind it is one of the next rest.
#[test]
fn a_question_of_the_next_rest_takes_the_place_of_the_last_one() {
    let (mut translator, mut out) = (new(), Vec::new());
    for (number, pause) in [(1, "A"), (3, "B")] {
        let question = json!({"node_id": pause, "pause_id": pause, "prompt": format!("{pause}?")});
        translator.tell(PublishedEvent::made("human_input_required", number, question), &mut out);
    }
    translator.close(&mut out);
    let text: String = out.iter().map(|part| format!("{part}\n")).collect();
    assert!(text.contains("B?") && !text.contains("A?"), "{text}");
}

#[test]
fn a_message_that_goes_on_is_not_told_its_calls_again_unless_they_were_edited() {
    let mut translator = Translator { message_id: None, ..new() };
    let decisions = json!([{"call_id": "c1", "approval": "approve", "edited": false}, {"call_id": "c2", "approval": "approve", "edited": true},
        {"call_id": "c3", "approval": "reject", "edited": false}]);
    let call = |id: &str| ("tool_call", json!({"call_id": id, "name": "pay", "inputs": {"sum": 9}}));
    let result = |id: &str, skipped: bool| {
        ("tool_result", json!({"call_id": id, "name": "pay", "result": "ok", "is_error": false, "skipped": skipped}))
    };
    let events = [
        ("tool_approval_resolved", json!({"pause_id": "P", "approved": true, "decisions": decisions})),
        ("step_started", step("agent")),
        call("c1"),
        call("c2"),
        call("c3"),
        result("c1", false),
        result("c2", false),
        result("c3", true),
        ("trace_completed", json!({"reply": null})),
    ];
    expect![[r#"
        {"type":"start"}
        {"type":"start-step"}
        {"type":"tool-input-available","toolCallId":"c2","toolName":"pay","input":{"sum":9},"dynamic":true}
        {"type":"tool-output-available","toolCallId":"c1","output":"ok","dynamic":true}
        {"type":"tool-output-available","toolCallId":"c2","output":"ok","dynamic":true}
        {"type":"tool-output-denied","toolCallId":"c3"}
        {"type":"finish-step"}
        {"type":"finish","finishReason":"stop","messageMetadata":{"trace_id":"R","thread_id":"T","status":"completed"}}
    "#]].assert_eq(&translated(&mut translator, &events));
}

#[test]
fn every_end_is_said() {
    check(
        &[
            ("step_started", step("llm")),
            ("token", json!({"delta": "He"})),
            ("step_failed", step("llm")),
            ("trace_failed", json!({"code": "provider_auth", "message": "no key"})),
        ],
        expect![[r#"
            {"type":"start","messageId":"R-0"}
            {"type":"start-step"}
            {"type":"text-start","id":"text-2"}
            {"type":"text-delta","id":"text-2","delta":"He"}
            {"type":"text-end","id":"text-2"}
            {"type":"finish-step"}
            {"type":"error","errorText":"no key"}
            {"type":"finish","finishReason":"error","messageMetadata":{"trace_id":"R","code":"provider_auth","status":"failed"}}
        "#]],
    );
    check(&[("token", json!({"delta": "He"})), ("trace_cancelled", json!({"trace_id": "R"}))], expect![[r#"
        {"type":"start","messageId":"R-0"}
        {"type":"text-start","id":"text-1"}
        {"type":"text-delta","id":"text-1","delta":"He"}
        {"type":"text-end","id":"text-1"}
        {"type":"abort","reason":"cancelled"}
    "#]]);
    check(&[("error", json!({"trace_id": "R", "code": "cancelled", "message": "the turn was cancelled"}))], expect![[r#"
        {"type":"start","messageId":"R-0"}
        {"type":"abort","reason":"cancelled"}
    "#]]);
    check(&[("run_terminal", json!({"status": "failed", "error": {"code": "tool_error", "message": "broken"}}))], expect![[r#"
        {"type":"start","messageId":"R-0"}
        {"type":"error","errorText":"broken"}
        {"type":"finish","finishReason":"error","messageMetadata":{"trace_id":"R","code":"tool_error","status":"failed"}}
    "#]]);
    check(&[("token", json!({"delta": "He"}))], expect![[r#"
        {"type":"start","messageId":"R-0"}
        {"type":"text-start","id":"text-1"}
        {"type":"text-delta","id":"text-1","delta":"He"}
        {"type":"text-end","id":"text-1"}
        {"type":"error","errorText":"the stream broke off before the run ended; the run goes on"}
        {"type":"finish","finishReason":"error","messageMetadata":{"trace_id":"R","code":"interrupted","status":"failed"}}
    "#]]);
}

#[test]
fn version_five_is_told_of_refused_calls_as_errors() {
    let mut old = Translator { no_approvals: true, ..new() };
    let text = translated(
        &mut old,
        &[("tool_result", json!({"call_id": "c", "name": "pay", "result": "no", "is_error": false, "skipped": true})), ("done", json!({}))],
    );
    assert!(text.contains("tool-output-error") && !text.contains("denied"), "{text}");
}

#[test]
fn messages_and_the_plain_form_are_read() {
    let user = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"},
        {"type": "file", "mediaType": "text/plain", "filename": "n.txt", "url": "data:text/plain,hi"}]});
    let tool = |state: &str, id: &str, approved: bool| json!({"type": "dynamic-tool", "toolName": "pay", "toolCallId": "c", "state": state, "approval": {"id": id, "approved": approved, "reason": "why"}});
    let assistant = json!({"id": "x", "role": "assistant", "parts": [tool("approval-responded", "P.c.1", false), tool("output-available", "O.c", true)]});
    let ask = read(&json!({"id": "chat", "messages": [user, assistant], "trigger": "submit-message", "state": {"k": 1}})).expect("a body");
    assert_eq!((ask.chat.as_deref(), &ask.said.text, ask.said.files.len()), (Some("chat"), &json!("a\nb"), 1));
    let verdict = &ask.verdicts[0];
    assert_eq!(
        (verdict.pause.as_str(), verdict.call.as_str(), verdict.approved, verdict.reason.as_deref()),
        ("P", "c.1", false, Some("why"))
    );
    assert_eq!(ask.verdicts.len(), 1, "only what was just decided");
    let plain = read(&json!({"message": "hi", "thread_id": "t", "context": {"k": 1}})).expect("a body");
    assert_eq!((&plain.said.text, plain.chat.as_deref(), plain.state), (&json!("hi"), Some("t"), Some(json!({"k": 1}))));
    for wrong in [
        json!([]),
        json!({"trigger": "other"}),
        json!({"messages": 1}),
        json!({"messages": [1]}),
        json!({"id": "x".repeat(192), "message": "hi"}),
        json!({"state": []}),
    ] {
        assert!(read(&wrong).is_err(), "{wrong}");
    }
}
