//! What each event is told as, event by event.

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};

use super::request::read;
use super::{Translator, of_thread};
use crate::http::adapters::event::PublishedEvent;

fn lines(out: &[Value]) -> String {
    out.iter().map(|event| format!("{event}\n")).collect()
}

/// An AG-UI run of these events: `(event, data)`, numbered from 1.
fn translated(translator: &mut Translator, events: &[(&'static str, Value)]) -> String {
    let mut out = Vec::new();
    translator.open(&mut out);
    for (number, (event, data)) in (1..).zip(events) {
        translator.tell(PublishedEvent::made(event, number, data.clone()), &mut out);
    }
    translator.close(&[json!({"provider": "script", "model": "m", "inputTokens": 1})], &mut out);
    lines(&out)
}

fn workflow() -> Translator {
    Translator {
        run: "R".into(),
        thread_id: "chat".into(),
        run_id: "run".into(),
        state: Some(Map::from_iter([("input".into(), json!("hi"))])),
        ..Translator::default()
    }
}

fn agent() -> Translator {
    Translator { state: None, messages: Some(vec![json!({"id": "R-user", "role": "user", "content": "hi"})]), ..workflow() }
}

fn check(events: &[(&'static str, Value)], expected: Expect) {
    expected.assert_eq(&translated(&mut workflow(), events));
}

fn step(id: &str, node: &str, title: Option<&str>) -> Value {
    json!({"step_id": id, "node_id": node, "node_type": "agent", "node_title": title})
}

fn approval(pause: &str) -> (&'static str, Value) {
    let tools = json!([{"name": "pay", "arguments": {"sum": 5}, "call_id": "c1"}]);
    ("tool_approval_required", json!({"trace_id": "R", "node_id": "n", "pause_id": pause, "pending_tools": tools, "message": "1 waits."}))
}

#[test]
fn thoughts_are_messages_of_their_own_before_the_text() {
    check(
        &[
            ("step_started", step("s1", "n", None)),
            ("reasoning", json!({"delta": "Hm", "publish_reply": true})),
            ("reasoning", json!({"delta": "m.", "publish_reply": true})),
            ("reasoning", json!({"delta": "hidden", "publish_reply": false})),
            ("tool_call", json!({"call_id": "c", "name": "t", "inputs": {}})),
            ("reasoning", json!({"delta": "So.", "publish_reply": true})),
            ("token", json!({"delta": "Yes", "publish_reply": true})),
            ("step_completed", step("s1", "n", None)),
            ("trace_completed", json!({"reply": "Yes"})),
        ],
        expect![[r#"
            {"type":"RUN_STARTED","threadId":"chat","runId":"run","protocolVersion":"1.0"}
            {"type":"STATE_SNAPSHOT","snapshot":{"input":"hi"}}
            {"type":"STEP_STARTED","stepName":"n"}
            {"type":"REASONING_START","messageId":"R-reasoning-2"}
            {"type":"REASONING_MESSAGE_START","messageId":"R-reasoning-2","role":"reasoning"}
            {"type":"REASONING_MESSAGE_CONTENT","messageId":"R-reasoning-2","delta":"Hm"}
            {"type":"REASONING_MESSAGE_CONTENT","messageId":"R-reasoning-2","delta":"m."}
            {"type":"REASONING_MESSAGE_END","messageId":"R-reasoning-2"}
            {"type":"REASONING_END","messageId":"R-reasoning-2"}
            {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"t"}
            {"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}
            {"type":"TOOL_CALL_END","toolCallId":"c"}
            {"type":"REASONING_START","messageId":"R-reasoning-6"}
            {"type":"REASONING_MESSAGE_START","messageId":"R-reasoning-6","role":"reasoning"}
            {"type":"REASONING_MESSAGE_CONTENT","messageId":"R-reasoning-6","delta":"So."}
            {"type":"REASONING_MESSAGE_END","messageId":"R-reasoning-6"}
            {"type":"REASONING_END","messageId":"R-reasoning-6"}
            {"type":"TEXT_MESSAGE_START","messageId":"R-7","role":"assistant"}
            {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-7","delta":"Yes"}
            {"type":"TEXT_MESSAGE_END","messageId":"R-7"}
            {"type":"STEP_FINISHED","stepName":"n"}
            {"type":"RUN_FINISHED","threadId":"chat","runId":"run","outcome":{"type":"success"},"usage":[{"provider":"script","model":"m","inputTokens":1}],"result":{"trace_id":"R","reply":"Yes","output":null}}
        "#]],
    );
}

#[test]
fn a_run_is_told_with_steps_state_and_text() {
    let mut done = step("s1", "n", Some("Answer"));
    done["changes"] = json!({"a/b~c": 1, "input": "x"});
    check(
        &[
            ("thread", json!({"trace_id": "R", "thread_id": "T", "workflow_id": "W"})),
            ("trace_started", json!({"trace_id": "R", "workflow_id": "W", "thread_id": "T", "status": "running"})),
            ("step_started", step("s1", "n", Some("Answer"))),
            ("token", json!({"delta": "Hel", "publish_reply": true})),
            ("token", json!({"delta": "lo", "publish_reply": true})),
            ("step_completed", done),
            ("rag_query", json!({"query": "q"})),
            ("trace_completed", json!({"reply": "Hello", "output": {"a": 1}})),
        ],
        expect![[r#"
            {"type":"RUN_STARTED","threadId":"chat","runId":"run","protocolVersion":"1.0"}
            {"type":"STATE_SNAPSHOT","snapshot":{"input":"hi"}}
            {"type":"CUSTOM","name":"studio.trace","value":{"trace_id":"R","thread_id":"T","workflow_id":"W"}}
            {"type":"STEP_STARTED","stepName":"Answer"}
            {"type":"TEXT_MESSAGE_START","messageId":"R-4","role":"assistant"}
            {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-4","delta":"Hel"}
            {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-4","delta":"lo"}
            {"type":"TEXT_MESSAGE_END","messageId":"R-4"}
            {"type":"STEP_FINISHED","stepName":"Answer"}
            {"type":"STATE_DELTA","delta":[{"op":"add","path":"/a~1b~0c","value":1},{"op":"replace","path":"/input","value":"x"}]}
            {"type":"CUSTOM","name":"studio.rag_query","value":{"query":"q"}}
            {"type":"RUN_FINISHED","threadId":"chat","runId":"run","outcome":{"type":"success"},"usage":[{"provider":"script","model":"m","inputTokens":1}],"result":{"trace_id":"R","reply":"Hello","output":{"a":1}}}
        "#]],
    );
}

#[test]
fn sources_and_files_are_events_of_the_studios_own() {
    let source = json!({"node_id": "n", "source_id": "1", "kind": "url", "url": "https://a.example", "title": "A"});
    let file = json!({"node_id": "n", "storage_key": "k", "name": "dot.png", "media_type": "image/png", "size": 3});
    let text = translated(&mut workflow(), &[("step_started", step("s1", "n", None)), ("source", source.clone()), ("file", file.clone())]);
    for (name, value) in [("studio.source", source), ("studio.file", file)] {
        assert!(text.contains(&json!({"type": "CUSTOM", "name": name, "value": value}).to_string()), "{text}");
    }
}

#[test]
fn steps_that_are_open_together_have_names_of_their_own_and_branches_change_no_state() {
    let mut inner = step("s2", "n", Some("Same"));
    inner["branch_id"] = json!("b");
    inner["changes"] = json!({"k": 1});
    let text = translated(
        &mut workflow(),
        &[
            ("step_started", step("s1", "n", Some("Same"))),
            ("step_started", inner.clone()),
            ("step_started", step("s3", "n", Some("Same"))),
            ("step_completed", inner),
            ("step_completed", step("unknown", "n", None)),
            ("trace_cancelled", json!({})),
        ],
    );
    let steps: Vec<&str> = text.lines().filter(|line| line.contains("STEP") || line.contains("DELTA")).collect();
    assert_eq!(
        steps,
        [
            r#"{"type":"STEP_STARTED","stepName":"Same"}"#,
            r#"{"type":"STEP_STARTED","stepName":"n"}"#,
            r#"{"type":"STEP_STARTED","stepName":"n (2)"}"#,
            r#"{"type":"STEP_FINISHED","stepName":"n"}"#,
            r#"{"type":"STEP_FINISHED","stepName":"n (2)"}"#,
            r#"{"type":"STEP_FINISHED","stepName":"Same"}"#,
        ]
    );
    assert!(
        text.ends_with("\"outcome\":{\"type\":\"cancelled\"},\"usage\":[{\"provider\":\"script\",\"model\":\"m\",\"inputTokens\":1}]}\n"),
        "{text}"
    );
}

#[test]
fn a_chat_is_told_with_its_messages_and_calls() {
    let text = translated(
        &mut agent(),
        &[
            ("thread", json!({"thread_id": "T", "trace_id": "R", "agent_id": "A"})),
            ("token", json!({"delta": "Let me see."})),
            ("tool_call", json!({"call_id": "c1", "name": "look", "inputs": {"n": 1}})),
            ("tool_result", json!({"call_id": "c1", "name": "look", "inputs": {"n": 1}, "result": "seen"})),
            ("done", json!({"reply": "Done.", "output": "no"})),
        ],
    );
    expect![[r#"
        {"type":"RUN_STARTED","threadId":"chat","runId":"run","protocolVersion":"1.0"}
        {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"R-user","role":"user","content":"hi"}]}
        {"type":"CUSTOM","name":"studio.trace","value":{"thread_id":"T","trace_id":"R","agent_id":"A"}}
        {"type":"TEXT_MESSAGE_START","messageId":"R-2","role":"assistant"}
        {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-2","delta":"Let me see."}
        {"type":"TEXT_MESSAGE_END","messageId":"R-2"}
        {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"look","parentMessageId":"R-2"}
        {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"n\":1}"}
        {"type":"TOOL_CALL_END","toolCallId":"c1"}
        {"type":"TOOL_CALL_RESULT","messageId":"R-c1","toolCallId":"c1","role":"tool","content":"seen"}
        {"type":"TEXT_MESSAGE_START","messageId":"R-5","role":"assistant"}
        {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-5","delta":"Done."}
        {"type":"TEXT_MESSAGE_END","messageId":"R-5"}
        {"type":"RUN_FINISHED","threadId":"chat","runId":"run","outcome":{"type":"success"},"usage":[{"provider":"script","model":"m","inputTokens":1}],"result":{"trace_id":"R","reply":"Done."}}
    "#]].assert_eq(&text);
}

#[test]
fn pauses_are_interrupts() {
    let question = json!({"trace_id": "R", "step_id": "s", "node_id": "ask", "pause_id": "Q", "prompt": "Name?"});
    check(&[("step_started", step("s", "ask", None)), ("human_input_required", question), approval("P")], expect![[r#"
        {"type":"RUN_STARTED","threadId":"chat","runId":"run","protocolVersion":"1.0"}
        {"type":"STATE_SNAPSHOT","snapshot":{"input":"hi"}}
        {"type":"STEP_STARTED","stepName":"ask"}
        {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pay"}
        {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"sum\":5}"}
        {"type":"TOOL_CALL_END","toolCallId":"c1"}
        {"type":"STEP_FINISHED","stepName":"ask"}
        {"type":"CUSTOM","name":"awaiting_input","value":{"status":"awaiting_input","trace_id":"R","node_id":"ask","pause_id":"Q","prompt":"Name?"}}
        {"type":"CUSTOM","name":"awaiting_input","value":{"status":"awaiting_tool_approval","trace_id":"R","node_id":"n","pause_id":"P","message":"1 waits.","pending_tools":[{"name":"pay","arguments":{"sum":5},"call_id":"c1"}]}}
        {"type":"RUN_FINISHED","threadId":"chat","runId":"run","outcome":{"type":"interrupt","interrupts":[{"id":"Q","reason":"input_required","message":"Name?","responseSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}},{"id":"P","reason":"tool_call","message":"1 waits.","responseSchema":{"type":"object","properties":{"approval":{"type":"string","enum":["approve","reject"]},"message":{"type":"string"},"decisions":{"type":"array","items":{"type":"object","required":["call_id","approval"],"properties":{"call_id":{"type":"string"},"approval":{"type":"string","enum":["approve","reject"]},"arguments":{"type":"object"},"message":{"type":"string"}}}}}},"toolCallId":"c1"}]},"usage":[{"provider":"script","model":"m","inputTokens":1}]}
    "#]]);
}

/// One post answers two questions; then the run asks another one.
#[test]
fn questions_that_were_answered_are_no_interrupts_any_more() {
    let ask = |pause: &str| ("human_input_required", json!({"trace_id": "R", "node_id": pause, "pause_id": pause, "prompt": "?"}));
    let interrupt = |branch: &str| ("parallel_interrupt", json!({"branch_id": branch}));
    let done = |id: &str| ("step_completed", step(id, id, None));
    let text = translated(&mut workflow(), &[done("A"), interrupt("b"), ask("B"), done("B"), interrupt("c"), ask("C"), interrupt("d"), ask("D")]);
    let finished: Value = serde_json::from_str(text.lines().last().expect("an end")).expect("JSON");
    let ids: Vec<&str> = finished["outcome"]["interrupts"].as_array().expect("interrupts").iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, ["C", "D"], "{text}");
    let broken = translated(&mut workflow(), &[ask("A"), done("A")]);
    assert!(broken.contains("RUN_ERROR") && !broken.contains("interrupts"), "{broken}");
}

#[test]
fn a_run_that_goes_on_remembers_state_messages_and_calls() {
    let mut translator = agent();
    let past = vec![
        PublishedEvent::made("thread", 1, json!({"thread_id": "T"})),
        PublishedEvent::made("token", 2, json!({"delta": "I will."})),
        PublishedEvent::made("tool_approval_required", 3, approval("P").1),
    ];
    translator.remember(past);
    let text = translated(
        &mut translator,
        &[
            ("tool_approval_resolved", json!({"pause_id": "P", "approved": true, "decisions": []})),
            ("tool_call", json!({"call_id": "c1", "name": "pay", "inputs": {"sum": 5}})),
            ("tool_result", json!({"call_id": "c1", "name": "pay", "inputs": {"sum": 5}, "result": "paid"})),
            ("done", json!({"reply": "Paid."})),
        ],
    );
    expect![[r#"
        {"type":"RUN_STARTED","threadId":"chat","runId":"run","protocolVersion":"1.0"}
        {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"R-user","role":"user","content":"hi"},{"id":"R-2","role":"assistant","content":"I will.","toolCalls":[{"id":"c1","type":"function","function":{"name":"pay","arguments":"{\"sum\":5}"}}]}]}
        {"type":"CUSTOM","name":"studio.tool_approval_resolved","value":{"pause_id":"P","approved":true,"decisions":[]}}
        {"type":"TOOL_CALL_RESULT","messageId":"R-c1","toolCallId":"c1","role":"tool","content":"paid"}
        {"type":"TEXT_MESSAGE_START","messageId":"R-4","role":"assistant"}
        {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-4","delta":"Paid."}
        {"type":"TEXT_MESSAGE_END","messageId":"R-4"}
        {"type":"RUN_FINISHED","threadId":"chat","runId":"run","outcome":{"type":"success"},"usage":[{"provider":"script","model":"m","inputTokens":1}],"result":{"trace_id":"R","reply":"Paid."}}
    "#]].assert_eq(&text);
    let mut workflow = workflow();
    workflow.remember(vec![PublishedEvent::made("step_completed", 1, json!({"step_id": "s", "node_id": "n", "changes": {"name": "Ada"}}))]);
    let text = translated(&mut workflow, &[]);
    assert!(text.contains(r#""snapshot":{"input":"hi","name":"Ada"}"#), "{text}");
}

#[test]
fn every_end_is_said() {
    check(&[("token", json!({"delta": "He"})), ("trace_failed", json!({"code": "provider_auth", "message": "no key"}))], expect![[r#"
        {"type":"RUN_STARTED","threadId":"chat","runId":"run","protocolVersion":"1.0"}
        {"type":"STATE_SNAPSHOT","snapshot":{"input":"hi"}}
        {"type":"TEXT_MESSAGE_START","messageId":"R-1","role":"assistant"}
        {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-1","delta":"He"}
        {"type":"TEXT_MESSAGE_END","messageId":"R-1"}
        {"type":"RUN_ERROR","message":"no key","code":"provider_auth"}
    "#]]);
    check(&[("token", json!({"delta": "He"}))], expect![[r#"
        {"type":"RUN_STARTED","threadId":"chat","runId":"run","protocolVersion":"1.0"}
        {"type":"STATE_SNAPSHOT","snapshot":{"input":"hi"}}
        {"type":"TEXT_MESSAGE_START","messageId":"R-1","role":"assistant"}
        {"type":"TEXT_MESSAGE_CONTENT","messageId":"R-1","delta":"He"}
        {"type":"TEXT_MESSAGE_END","messageId":"R-1"}
        {"type":"RUN_ERROR","message":"the stream broke off before the run ended; the run goes on","code":"interrupted"}
    "#]]);
}

#[test]
fn a_thread_is_shown_with_its_calls() {
    let shown = [
        json!({"id": "1", "role": "user", "content": "hi", "tool_calls": []}),
        json!({"id": "2", "role": "assistant", "content": "Seen.", "tool_calls": [{"call_id": "c", "name": "look", "inputs": {"n": 1}, "result": "ok", "is_error": false}]}),
    ];
    expect![[r#"
        {"id":"1","role":"user","content":"hi"}
        {"id":"2-calls","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}}]}
        {"id":"2-result-0","role":"tool","toolCallId":"c","content":"ok"}
        {"id":"2","role":"assistant","content":"Seen."}
    "#]].assert_eq(&lines(&of_thread(&shown)));
}

#[test]
fn inputs_are_read() {
    let messages = json!([{"id": "1", "role": "user", "content": "old"}, {"id": "2", "role": "assistant", "content": "x"},
        {"id": "3", "role": "user", "content": [{"type": "text", "text": "see"}, {"type": "binary", "mimeType": "text/plain", "data": "aGk=", "filename": "n.txt"},
            {"type": "image", "source": {"type": "url", "value": "/studio/api/attachments/file?storage_key=k"}}]}]);
    let ask = read(&json!({"threadId": "chat", "runId": "run", "messages": messages, "tools": [], "context": [{"description": "d", "value": "v"}], "state": {"k": 1, "input": "old"},
        "forwardedProps": {}, "resume": [{"interruptId": "P", "status": "resolved", "payload": {"approved": true}}, {"interruptId": "Q", "status": "cancelled"}]})).expect("a body");
    assert_eq!((ask.chat.as_deref(), ask.run.as_deref(), ask.state), (Some("chat"), Some("run"), Some(json!({"k": 1}))));
    assert_eq!((&ask.said.text, ask.said.files[0].url.as_str(), ask.said.files.len()), (&json!("see"), "data:text/plain;base64,aGk=", 2));
    assert_eq!((ask.interrupts.len(), &ask.interrupts[1].payload), (2, &None));
    assert_eq!(ask.context, Some(json!([{"description": "d", "value": "v"}])));
    for wrong in [
        json!({"threadId": 1}),
        json!({"threadId": "x".repeat(192)}),
        json!({"state": [1]}),
        json!({"context": {}}),
        json!({"resume": {}}),
        json!({"resume": [{"status": "resolved"}]}),
        json!({"resume": [{"interruptId": "P", "status": "done"}]}),
        json!({"resume": [{"interruptId": "P", "status": "cancelled"}, {"interruptId": "P", "status": "cancelled"}]}),
    ] {
        assert!(read(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_long_message_is_put_together_in_time() {
    let (mut translator, piece) = (agent(), "x".repeat(200));
    let past = (1..=60_000).map(|number| PublishedEvent::made("token", number, json!({"delta": piece, "publish_reply": true}))).collect();
    let began = std::time::Instant::now();
    translator.remember(past);
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    let messages = translator.messages.expect("messages");
    assert_eq!(messages.last().and_then(|message| message["content"].as_str()).map(str::len), Some(12_000_000));
}

/// A chat tells no steps: only the numbers say that its model was asked again.
#[test]
fn an_answer_that_begins_again_after_its_process_died_is_another_message() {
    let (mut translator, mut out) = (agent(), Vec::new());
    let lost = crate::model::telling::LOST_TOKENS;
    for (number, delta) in [(3, "It "), (lost + 4, "It is "), (lost + 5, "4.")] {
        translator.tell(PublishedEvent::made("token", number, json!({"delta": delta})), &mut out);
    }
    translator.tell(PublishedEvent::made("done", lost + 6, json!({"reply": "It is 4."})), &mut out);
    translator.close(&[], &mut out);
    let said = out.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT").map(|event| format!("{} {}", event["messageId"], event["delta"]));
    assert_eq!(said.collect::<Vec<_>>(), [r#""R-3" "It ""#, r#""R-10004" "It is ""#, r#""R-10004" "4.""#]);
}

/// A reader of the process that lost its run has read text that was never stored, and the numbers that were skipped begin before it.
#[test]
fn text_that_was_read_before_it_was_lost_is_not_gone_on_with() {
    let lost = crate::model::telling::LOST_TOKENS;
    for unstored in [1, lost / 2] {
        let (mut translator, mut out) = (agent(), Vec::new());
        for (number, delta) in [(3, "It "), (3 + unstored, "was"), (3 + lost + 1, "It is 4.")] {
            translator.tell(PublishedEvent::made("token", number, json!({"delta": delta})), &mut out);
        }
        let of = out.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT").map(|event| event["messageId"].to_string());
        assert_eq!(of.collect::<Vec<_>>(), [r#""R-3""#, r#""R-3""#, r#""R-10004""#], "{unstored}");
    }
}
