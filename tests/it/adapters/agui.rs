//! What AG-UI clients post, and what they are told.

use serde_json::{Value, json};
use wfstudio::studio::{Resource, RunsQuery};

use super::{agent, asked, input, payer, pays, post, read_until};
use crate::support::story::Story;

#[tokio::test]
async fn a_run_is_told_with_state_and_an_outcome() {
    let story = Story::scripted(pays());
    let workflow =
        story.workflow("start -> agent_1{provider: script, model: m, stream: true} -> set_1{key: k, value: \"{{a}}!\"} -> stop").await;
    let mut body = input("chat", "r1", "hi");
    body["state"] = json!({"a": "x", "input": "of an earlier run"});
    body["context"] = json!([{"description": "shop", "value": "open"}]);
    let answer = post(&story, &format!("/workflows/{workflow}/stream/agui"), body).await;
    assert_eq!(
        answer.types(),
        "RUN_STARTED STATE_SNAPSHOT STEP_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END STEP_FINISHED STATE_DELTA STEP_STARTED STEP_FINISHED STATE_DELTA STEP_STARTED STEP_FINISHED RUN_FINISHED"
    );
    assert_eq!(answer.find("RUN_STARTED"), json!({"type": "RUN_STARTED", "threadId": "chat", "runId": "r1", "protocolVersion": "1.0"}));
    assert_eq!(
        answer.find("STATE_SNAPSHOT")["snapshot"],
        json!({"a": "x", "context": [{"description": "shop", "value": "open"}], "input": "hi"})
    );
    let finished = answer.find("RUN_FINISHED");
    assert_eq!((&finished["outcome"], &finished["result"]["reply"]), (&json!({"type": "success"}), &json!("Hello.")));
    assert_eq!((&finished["usage"][0]["model"], finished["usage"][0]["inputTokens"].is_number()), (&json!("m"), true));
    assert!(!answer.text.contains("__"), "{}", answer.text);
}

#[tokio::test]
async fn a_chat_is_told_with_all_of_its_messages() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/agui");
    post(&story, &path, input("chat", "r1", "hi")).await;
    let second = post(&story, &path, input("chat", "r2", "you")).await;
    let messages = second.find("MESSAGES_SNAPSHOT")["messages"].clone();
    let said: Vec<&str> = messages.as_array().expect("messages").iter().map(|message| message["content"].as_str().expect("text")).collect();
    assert_eq!(said, ["hi", "Hello.", "you"]);
}

#[tokio::test]
async fn an_interrupt_is_resolved_with_edited_arguments_and_a_reason() {
    let story = Story::scripted(pays());
    let agent = payer(&story).await;
    let path = format!("/agents/{agent}/stream/agui");
    let asked = post(&story, &path, input("chat", "r1", "pay")).await;
    let outcome = asked.find("RUN_FINISHED")["outcome"].clone();
    let interrupt = &outcome["interrupts"][0];
    assert_eq!(
        (&outcome["type"], &interrupt["reason"], &interrupt["toolCallId"]),
        (&json!("interrupt"), &json!("tool_call"), &Value::Null)
    );
    let calls: Vec<Value> =
        asked.frames().iter().filter(|event| event["type"] == "TOOL_CALL_START").map(|event| event["toolCallId"].clone()).collect();
    let plain = post(&story, &path, input("chat", "r2", "well?")).await;
    assert_eq!(plain.code(), "422 wrong_answer_kind");
    let decisions = json!([{"call_id": calls[0], "approval": "approve", "arguments": {"sum": 6}}, {"call_id": calls[1], "approval": "reject", "message": "too much"}]);
    let mut body = input("chat", "r3", "pay");
    let id = interrupt["id"].as_str().expect("an id").to_uppercase();
    body["resume"] = json!([{"interruptId": id, "status": "resolved", "payload": {"decisions": decisions}}, {"interruptId": interrupt["id"], "status": "cancelled"}]);
    assert_eq!(post(&story, &path, body.clone()).await.code(), "422 validation_failed", "it is listed twice");
    body["resume"] = json!([{"interruptId": id, "status": "resolved", "payload": {"decisions": decisions}}]);
    let done = post(&story, &path, body.clone()).await;
    assert_eq!(
        done.types(),
        "RUN_STARTED MESSAGES_SNAPSHOT TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED"
    );
    assert_eq!(story.hands.calls(), ["pay {\"sum\":6}"]);
    let messages = done.find("MESSAGES_SNAPSHOT")["messages"].to_string();
    assert!(messages.contains("\"pay\"") && messages.contains(calls[1].as_str().expect("an id")), "{messages}");
    assert_eq!(post(&story, &path, body.clone()).await.text, done.text, "the same run is told the same");
    body["runId"] = json!("r4");
    assert_eq!(post(&story, &path, body.clone()).await.code(), "409 pause_not_pending");
    body["resume"][0]["interruptId"] = json!("0199a000-0000-7000-8000-000000000000");
    assert_eq!(post(&story, &path, body).await.code(), "404 not_found");
}

#[tokio::test]
async fn a_key_does_not_stand_for_another_answer() {
    let story = Story::scripted(pays());
    let agent = payer(&story).await;
    let path = format!("/agents/{agent}/stream/agui");
    let asked = post(&story, &path, input("chat", "r1", "pay")).await;
    let mut body = input("chat", "r2", "pay");
    body["resume"] = json!([{"interruptId": asked.find("RUN_FINISHED")["outcome"]["interrupts"][0]["id"], "status": "cancelled"}]);
    let done = post(&story, &path, body.clone()).await;
    assert_eq!(post(&story, &path, body.clone()).await.text, done.text);
    for payload in [Value::Null, json!({"approval": "approve"})] {
        (body["resume"][0]["status"], body["resume"][0]["payload"]) = (json!("resolved"), payload);
        assert_eq!(post(&story, &path, body.clone()).await.code(), "422 idempotency_key_reused");
    }
    assert!(story.hands.calls().is_empty(), "nothing was approved");
}

#[tokio::test]
async fn several_pauses_are_answered_in_one_post() {
    let story = Story::scripted(pays());
    let workflow = story
        .workflow(
            "start -> fork_1{branches: [a, b]} -> join_1{output_key: got} -> stop
            fork_1.a -> human_1{prompt: \"Name?\", output_key: name} -> join_1
            fork_1.b -> agent_1{provider: script, model: m, tools: [{ref: \"host:pay\"}]} -> join_1",
        )
        .await;
    let path = format!("/workflows/{workflow}/stream/agui");
    let asked = post(&story, &path, input("chat", "r1", "pay")).await;
    let interrupts = asked.find("RUN_FINISHED")["outcome"]["interrupts"].clone();
    assert_eq!(
        (interrupts[0]["reason"].as_str(), interrupts[1]["reason"].as_str()),
        (Some("input_required"), Some("tool_call")),
        "{}",
        asked.text
    );
    let mut body = input("chat", "r2", "pay");
    body["resume"] = json!([{"interruptId": interrupts[1]["id"], "status": "cancelled"}, {"interruptId": interrupts[0]["id"], "status": "resolved", "payload": "Ada"}]);
    let done = post(&story, &path, body.clone()).await;
    assert_eq!(done.find("RUN_FINISHED")["outcome"], json!({"type": "success"}), "{}", done.text);
    assert_eq!(done.text.matches("RUN_FINISHED").count(), 1);
    assert!(story.hands.calls().is_empty(), "what was cancelled is not done");
    assert!(done.text.contains("Ada"), "{}", done.text);
    let again = post(&story, &path, body.clone()).await;
    let types = done.types().replacen("STATE_SNAPSHOT", "STATE_SNAPSHOT MESSAGES_SNAPSHOT", 1);
    assert_eq!(again.types(), types, "a repeat goes through both answers again");
    let messages = &again.find("MESSAGES_SNAPSHOT")["messages"];
    assert_eq!((&messages[0]["content"], &messages[1]["toolCalls"][0]["function"]["name"]), (&json!("pay"), &json!("pay")), "{messages}");
}

/// Two questions that are open together, and one that is asked when both are answered.
const ASKS: &str = "start -> fork_1{branches: [a, b]} -> join_1{output_key: got} -> human_3{prompt: \"When?\", output_key: when} -> stop
    fork_1.a -> human_1{prompt: \"Name?\", output_key: name} -> join_1
    fork_1.b -> human_2{prompt: \"Why?\", output_key: why} -> join_1";

fn resolved(interrupt: &Value, payload: Value) -> Value {
    json!({"interruptId": interrupt["id"], "status": "resolved", "payload": payload})
}

#[tokio::test]
async fn answered_questions_are_not_asked_again_with_the_next_one() {
    let story = Story::plain();
    let path = format!("/workflows/{}/stream/agui", story.workflow(ASKS).await);
    let interrupts = post(&story, &path, input("chat", "r1", "hi")).await.find("RUN_FINISHED")["outcome"]["interrupts"].clone();
    assert_eq!(interrupts.as_array().map(Vec::len), Some(2));
    let mut body = input("chat", "r2", "hi");
    body["resume"] = json!([resolved(&interrupts[0], json!("Ada")), resolved(&interrupts[1], json!("So"))]);
    let done = post(&story, &path, body).await;
    let left = done.find("RUN_FINISHED")["outcome"]["interrupts"].clone();
    assert_eq!((left.as_array().map(Vec::len), &left[0]["message"]), (Some(1), &json!("When?")), "{}", done.text);
}

#[tokio::test]
async fn of_several_answers_none_is_given_when_one_does_not_fit() {
    let story = Story::plain();
    let path = format!("/workflows/{}/stream/agui", story.workflow(ASKS).await);
    let interrupts = post(&story, &path, input("chat", "r1", "hi")).await.find("RUN_FINISHED")["outcome"]["interrupts"].clone();
    let mut body = input("chat", "r2", "hi");
    for (payload, wanted) in [(json!({}), "422 validation_failed"), (json!({"approved": true}), "422 wrong_answer_kind"), (json!({"message": 7}), "422 validation_failed")] {
        body["resume"] = json!([resolved(&interrupts[0], json!("Ada")), resolved(&interrupts[1], payload.clone())]);
        let refused = post(&story, &path, body.clone()).await;
        assert_eq!(refused.status, 422, "{payload}: {}", refused.text);
        assert_eq!(refused.code(), wanted, "{payload}");
    }
    body["resume"] = json!([resolved(&interrupts[0], json!("Eve")), resolved(&interrupts[1], json!("So"))]);
    let done = post(&story, &path, body).await;
    assert!(done.text.contains("Eve") && !done.text.contains("Ada"), "{}", done.text);
}

#[tokio::test]
async fn a_pause_is_answered_also_when_its_run_is_not_the_newest_of_the_chat() {
    let story = Story::plain();
    let workflow = story.workflow("start -> human_1{prompt: \"Name?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}").await;
    let path = format!("/workflows/{workflow}/stream/agui");
    let thread = "0199a000-0000-7000-8000-00000000000c";
    let asked = post(&story, &path, input(thread, "r1", "hi")).await;
    let interrupt = asked.find("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    // A paused run does not block another one of its thread.
    story.start(&workflow, json!({"message": "later", "thread_id": thread})).await;
    let mut body = input(thread, "r2", "hi");
    body["resume"] = json!([resolved(&interrupt, json!("Ada"))]);
    let done = post(&story, &path, body.clone()).await;
    assert_eq!((done.status, done.said().as_str()), (200, "Hello Ada"), "{}", done.text);
    body["runId"] = json!("r3");
    assert_eq!(post(&story, &path, body.clone()).await.code(), "409 pause_not_pending");
    body["resume"][0]["interruptId"] = json!("0199a000-0000-7000-8000-000000000000");
    assert_eq!(post(&story, &path, body).await.code(), "404 not_found");
}

#[tokio::test]
async fn an_agent_is_not_shown_the_state_of_the_client() {
    let story = Story::scripted(json!([{"match": {"system_contains": "hidden"}, "text": "I see it.", "times": 0}, {"text": "Nothing.", "times": 0}]));
    let path = format!("/agents/{}/stream/agui", agent(&story, json!({})).await);
    for run in [json!("r1"), Value::Null] {
        let mut body = input("chat", "", "hi");
        (body["runId"], body["state"]) = (run, json!({"hidden": 1}));
        assert_eq!(post(&story, &path, body).await.said(), "Nothing.");
    }
}

#[tokio::test]
async fn a_post_whose_last_answer_cancels_is_told_the_same_when_it_is_repeated() {
    let story = Story::scripted(pays());
    let workflow = story
        .workflow(
            "start -> fork_1{branches: [a, b]} -> join_1{output_key: got} -> stop
            fork_1.a -> human_1{prompt: \"Name?\", output_key: name} -> join_1
            fork_1.b -> human_2{prompt: \"Why?\", output_key: why} -> join_1",
        )
        .await;
    let path = format!("/workflows/{workflow}/stream/agui");
    let paused = post(&story, &path, input("chat", "r1", "hi")).await;
    let interrupts = paused.find("RUN_FINISHED")["outcome"]["interrupts"].clone();
    let mut body = input("chat", "r2", "hi");
    body["resume"] = json!([{"interruptId": interrupts[0]["id"], "status": "resolved", "payload": "Ada"}, {"interruptId": interrupts[1]["id"], "status": "cancelled"}]);
    for _ in 0..2 {
        let done = post(&story, &path, body.clone()).await;
        assert_eq!(done.find("RUN_FINISHED")["outcome"], json!({"type": "cancelled"}), "{}", done.text);
    }
}

#[tokio::test]
async fn who_leaves_behind_the_second_answer_of_his_post_cancels_too() {
    let story = Story::scripted(pays());
    let workflow = story
        .workflow(
            "start -> fork_1{branches: [a, b]} -> join_1{output_key: got} -> stop
            fork_1.a -> human_1{prompt: \"Name?\", output_key: name} -> join_1
            fork_1.b -> human_2{prompt: \"Why?\", output_key: why} -> agent_1{provider: script, model: m, stream: true} -> join_1",
        )
        .await;
    let path = format!("/workflows/{workflow}/stream/agui");
    for (word, wanted) in [("cancel", "cancelled"), ("continue", "completed")] {
        let asked_first = post(&story, &path, input(word, &format!("{word}-1"), "slow")).await;
        let interrupts = asked_first.find("RUN_FINISHED")["outcome"]["interrupts"].clone();
        let answer = |at: usize| json!({"interruptId": interrupts[at]["id"], "status": "resolved", "payload": "slow"});
        let mut body = input(word, &format!("{word}-2"), "slow");
        body["resume"] = json!([answer(0), answer(1)]);
        body["on_disconnect"] = json!(word);
        read_until(asked(&story, "", "POST", &path, None, Some(&body)).await, "One ").await;
        let mut status = json!(null);
        for _ in 0..6000 {
            let listed = story.bench.studio.runs(&story.bench.scope, RunsQuery::default()).await.expect("runs");
            status = listed.into_json()["data"][0]["status"].clone();
            if status == wanted {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(status, wanted, "{word}");
    }
}

#[tokio::test]
async fn a_cancelled_question_cancels_the_run() {
    let story = Story::plain();
    let workflow = story.workflow("start -> human_1{prompt: \"Name?\", output_key: name} -> stop").await;
    let path = format!("/workflows/{workflow}/stream/agui");
    let asked = post(&story, &path, input("chat", "r1", "hi")).await;
    let mut body = input("chat", "r2", "hi");
    body["resume"] = json!([{"interruptId": asked.find("RUN_FINISHED")["outcome"]["interrupts"][0]["id"], "status": "cancelled"}]);
    let done = post(&story, &path, body.clone()).await;
    assert_eq!(done.find("RUN_FINISHED")["outcome"], json!({"type": "cancelled"}), "{}", done.text);
    let again = post(&story, &path, body.clone()).await;
    assert_eq!(again.find("RUN_FINISHED")["outcome"], json!({"type": "cancelled"}), "{}", again.text);
    body["runId"] = json!("r3");
    assert_eq!(post(&story, &path, body).await.code(), "409 pause_not_pending");
}

#[tokio::test]
async fn a_run_that_lost_its_reader_is_posted_again() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/agui");
    let response = asked(&story, "", "POST", &path, None, Some(&input("chat", "r1", "slow"))).await;
    read_until(response, "One ").await;
    let mut again = input("chat", "r1", "slow");
    again["messages"].as_array_mut().expect("messages").push(json!({"id": "x", "role": "assistant", "content": "One "}));
    again["state"] = json!({"heard": true});
    let rest = post(&story, &path, again).await;
    assert_eq!((rest.said().as_str(), rest.find("RUN_FINISHED")["outcome"]["type"].as_str()), ("One two three four.", Some("success")));
    let other = post(&story, &path, input("chat", "r1", "something else")).await;
    assert_eq!(other.code(), "422 idempotency_key_reused");
}

#[tokio::test]
async fn failures_end_with_an_error() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let failed = post(&story, &format!("/agents/{agent}/stream/agui"), input("chat", "r1", "fail")).await;
    assert_eq!(failed.types(), "RUN_STARTED MESSAGES_SNAPSHOT RUN_ERROR");
    assert_eq!(failed.find("RUN_ERROR")["code"], "provider_auth");
}

#[tokio::test]
async fn what_waits_for_a_person_goes_on_after_its_agent_was_deleted() {
    let story = Story::scripted(pays());
    let agent = payer(&story).await;
    let path = format!("/agents/{agent}/stream/agui");
    post(&story, &path, input("chat", "r1", "hi")).await;
    let asked = post(&story, &path, input("chat", "r2", "pay")).await;
    let run = asked.frames().iter().find_map(|frame| frame["value"]["trace_id"].as_str().map(str::to_owned)).expect("a run");
    let (bench, scope) = (&story.bench, &story.bench.scope);
    bench.studio.delete(scope, Resource::Agent, &agent, &json!({}), None, false).await.expect("deleted");
    let mut body = input("chat", "r3", "pay");
    let interrupt = asked.find("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    body["resume"] = json!([{"interruptId": interrupt, "status": "resolved", "payload": {"approval": "approve"}}]);
    let done = post(&story, &format!("/workflows/traces/{run}/resume/agui"), body).await;
    assert_eq!(story.hands.calls(), ["pay {\"sum\":5}", "pay {\"sum\":7}"]);
    assert_eq!(done.status, 200, "who did it is told so: {}", done.text);
    assert_eq!(done.find("RUN_FINISHED")["outcome"], json!({"type": "success"}));
    let said: Vec<Value> = done.find("MESSAGES_SNAPSHOT")["messages"].as_array().expect("messages").iter().map(|one| one["content"].clone()).collect();
    assert_eq!(said[..3], [json!("hi"), json!("Hello."), json!("pay")], "its thread is there");
}
