//! What the AI SDK's transport posts, and what it is told.

use serde_json::{Value, json};

use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;

use super::{Answer, agent, asked, chat, get, payer, pays, post, post_with_key, read_until, user, whole};
use crate::support::story::Story;

#[tokio::test]
async fn a_turn_is_told_with_the_headers_of_the_protocol() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let response = asked(&story, "", "POST", &format!("/agents/{agent}/stream/vercel"), None, Some(&chat("c", json!([user("hi")])))).await;
    let header = |name: &str| response.headers().get(name).map_or("", |value| value.to_str().expect("text")).to_owned();
    assert_eq!(
        [header("content-type"), header("cache-control"), header("x-accel-buffering"), header("x-vercel-ai-ui-message-stream")],
        ["text/event-stream", "no-cache", "no", "v1"]
    );
    let answer = whole(response).await;
    assert_eq!(answer.types(), "start text-start text-delta text-end finish");
    assert_eq!(answer.said(), "Hello.");
    assert!(answer.text.ends_with("data: [DONE]\n\n") && !answer.text.contains("__"), "{}", answer.text);
    let about = &answer.find("finish")["messageMetadata"];
    assert!(
        about["trace_id"].is_string()
            && about["thread_id"].is_string()
            && about["total_tokens"].is_number()
            && about["status"] == "completed",
        "{about}"
    );
    let again = post(&story, &format!("/agents/{agent}/stream/vercel"), chat("c", json!([user("hi"), user("you")]))).await;
    assert_eq!(again.find("finish")["messageMetadata"]["thread_id"], about["thread_id"], "a chat is a thread");
}

#[tokio::test]
async fn a_workflow_is_told_with_steps_and_state() {
    let story = Story::scripted(pays());
    let workflow =
        story.workflow("start -> agent_1{provider: script, model: m, stream: true} -> set_1{key: k, value: \"{{a}}!\"} -> stop").await;
    let mut body = chat("c", json!([user("hi")]));
    body["state"] = json!({"a": "x"});
    let answer = post(&story, &format!("/workflows/{workflow}/stream/vercel"), body).await;
    assert_eq!(answer.types(), "start start-step text-start text-delta text-end finish-step finish");
    let data: Vec<Value> = answer.frames().into_iter().filter(|part| part["type"] == "data-studio").collect();
    assert!(data.iter().all(|part| part["transient"] == true) && data.iter().any(|part| part["data"]["changes"]["k"] == "x!"), "{data:?}");
}

/// The assistant's message of an answer, with decisions: `approved` by call, in order.
fn decided(answer: &super::Answer, approved: &[bool]) -> Value {
    let requests = answer.frames().into_iter().filter(|part| part["type"] == "tool-approval-request");
    let parts: Vec<Value> = requests.zip(approved).map(|(request, approved)| {
        json!({"type": "dynamic-tool", "toolName": "pay", "toolCallId": request["toolCallId"], "state": "approval-responded", "input": {},
            "approval": {"id": request["approvalId"], "approved": approved, "reason": "as I said"}})
    }).collect();
    json!({"id": answer.find("start")["messageId"], "role": "assistant", "parts": parts})
}

#[tokio::test]
async fn approvals_go_there_and_back() {
    let story = Story::scripted(pays());
    let agent = payer(&story).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let asked = post(&story, &path, chat("c", json!([user("pay")]))).await;
    let requests = asked.frames().iter().filter(|part| part["type"] == "tool-approval-request").count();
    assert_eq!((requests, asked.find("finish")["finishReason"].as_str()), (2, Some("tool-calls")), "{}", asked.text);
    let partly = post(&story, &path, chat("c", json!([user("pay"), decided(&asked, &[true])]))).await;
    assert!(partly.code() == "422 validation_failed" && partly.text.contains("\"messages\""), "{}", partly.text);
    let plain = post(&story, &path, chat("c", json!([user("pay"), user("well?")]))).await;
    assert_eq!(plain.code(), "422 wrong_answer_kind");
    let mut body = chat("c", json!([user("pay"), decided(&asked, &[true, false])]));
    let id = &mut body["messages"][1]["parts"][0]["approval"]["id"];
    let (pause, call) = id.as_str().and_then(|id| id.split_once('.')).expect("an id");
    *id = format!("{}.{call}", pause.to_uppercase()).into();
    let done = post_with_key(&story, &path, "k", body.clone()).await;
    assert_eq!(done.frames()[0], json!({"type": "start"}), "the client goes on in its message");
    assert!(!done.text.contains("tool-input-available"), "{}", done.text);
    assert_eq!(done.types(), "start tool-output-available tool-output-denied text-start text-delta text-end finish");
    assert_eq!(story.hands.calls(), ["pay {\"sum\":5}"]);
    assert_eq!(post_with_key(&story, &path, "k", body.clone()).await.text, done.text, "a repeat is told the same");
    assert_eq!(post(&story, &path, body).await.code(), "409 pause_not_pending", "and without a key nothing is done twice");
}

#[tokio::test]
async fn decisions_are_taken_also_when_their_run_is_not_the_newest_of_the_chat() {
    let story = Story::scripted(pays());
    let agent = payer(&story).await;
    let (path, thread) = (format!("/agents/{agent}/stream/vercel"), "0199a000-0000-7000-8000-00000000000d");
    let asked = post(&story, &path, chat(thread, json!([user("pay")]))).await;
    // A paused run does not block another one of its thread.
    story.chat(&agent, json!({"message": "hello", "thread_id": thread})).await;
    let done = post(&story, &path, chat(thread, json!([user("pay"), decided(&asked, &[true, false])]))).await;
    assert_eq!((done.status, story.hands.calls()), (200, vec!["pay {\"sum\":5}".to_owned()]), "{}", done.text);
    assert!(done.text.contains("It is done."), "{}", done.text);
}

#[tokio::test]
async fn version_five_answers_through_the_resume_route() {
    let story = Story::scripted(pays());
    let agent = payer(&story).await;
    let asked = post(&story, &format!("/agents/{agent}/stream/vercel?ui=5"), chat("c", json!([user("pay")]))).await;
    assert!(!asked.text.contains("tool-approval-request"), "{}", asked.text);
    let waiting = asked.find("data-awaiting_input")["data"].clone();
    assert_eq!((&waiting["status"], waiting["pending_tools"].as_array().map(Vec::len)), (&json!("awaiting_tool_approval"), Some(2)));
    let path = format!("/workflows/traces/{}/resume/vercel?ui=5", waiting["trace_id"].as_str().expect("a run"));
    let calls: Vec<&str> =
        waiting["pending_tools"].as_array().expect("tools").iter().map(|tool| tool["call_id"].as_str().expect("an id")).collect();
    let decisions = json!([{"call_id": calls[0], "approval": "approve", "arguments": {"sum": 6}}, {"call_id": calls[1], "approval": "reject", "message": "no"}]);
    let done = post(&story, &path, json!({"pause_id": waiting["pause_id"], "decisions": decisions})).await;
    assert!(done.text.contains("tool-output-error") && !done.text.contains("denied"), "{}", done.text);
    assert_eq!(story.hands.calls(), ["pay {\"sum\":6}"]);
    assert_eq!(post(&story, &path, json!({"approval": "approve"})).await.code(), "409 invalid_state");
    assert_eq!(post(&story, "/workflows/traces/none/resume/vercel", json!({"approval": "approve"})).await.code(), "404 not_found");
}

#[tokio::test]
async fn a_question_is_answered_by_the_next_message() {
    let story = Story::plain();
    let workflow = story.workflow("start -> human_1{prompt: \"Name?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}").await;
    let path = format!("/workflows/{workflow}/stream/vercel");
    let asked = post(&story, &path, chat("c", json!([user("hi")]))).await;
    assert_eq!(asked.types(), "start data-awaiting_input text-start text-delta text-end finish");
    assert_eq!(asked.said(), "Name?");
    let done = post(&story, &path, chat("c", json!([user("hi"), user("Ada")]))).await;
    assert_eq!((done.said().as_str(), done.types().as_str()), ("Hello Ada", "start text-start text-delta text-end finish"));
    assert_ne!(done.find("start")["messageId"], asked.find("start")["messageId"]);
}

/// A client that posts what it has when an answer is complete, such as `sendAutomaticallyWhen` makes it do.
#[tokio::test]
async fn messages_that_end_with_an_answer_are_not_run_again() {
    let story = Story::scripted(json!([{"match": {"contains": "fail"}, "error": "provider_auth", "times": 0}, {"text": "Well.", "times": 0}]));
    let answered = |text: &str, answer: &str| chat("c", json!([user(text), {"id": "a", "role": "assistant", "parts": [{"type": "text", "text": answer}]}]));
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let first = post(&story, &path, chat("c", json!([user("hi")]))).await;
    let thread = first.find("finish")["messageMetadata"]["thread_id"].as_str().expect("a thread").to_owned();
    let before = read_on(&story, &thread).await;
    let again = post(&story, &path, answered("hi", "Well.")).await;
    assert!(again.code() == "422 validation_failed" && again.text.contains("\"messages\""), "{}", again.text);
    assert_eq!(read_on(&story, &thread).await, before, "nothing was said");
    post(&story, &path, chat("c", json!([user("fail")]))).await;
    let tried = post(&story, &path, answered("fail", "We")).await;
    assert_eq!(tried.find("finish")["messageMetadata"]["code"], "provider_auth", "what was not answered is asked again");

    let workflow = story.workflow("start -> human_1{prompt: \"Name?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}").await;
    let path = format!("/workflows/{workflow}/stream/vercel");
    post(&story, &path, chat("c", json!([user("hi")]))).await;
    assert_eq!(post(&story, &path, answered("hi", "Name?")).await.code(), "422 validation_failed", "a greeting is no name");
    assert_eq!(post(&story, &path, chat("c", json!([user("hi"), user("Ada")]))).await.said(), "Hello Ada");
    assert_eq!(post(&story, &path, answered("Ada", "Hello Ada")).await.code(), "422 validation_failed", "and a name is no greeting");
}

#[tokio::test]
async fn a_regenerated_answer_takes_the_place_of_the_last_one() {
    let story = Story::scripted(json!([{"text": "First."}, {"text": "Second."}, {"text": "Third."}]));
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let first = post(&story, &path, chat("c", json!([user("hi")]))).await;
    let mut body = chat("c", json!([user("hi")]));
    body["trigger"] = json!("regenerate-message");
    let second = post(&story, &path, body.clone()).await;
    assert_eq!((first.said(), second.said()), ("First.".to_owned(), "First.".to_owned()), "each run counts its replies");
    let thread = second.find("finish")["messageMetadata"]["thread_id"].as_str().expect("a thread").to_owned();
    let shown = story.bench.studio.thread(&story.bench.scope, &thread, wfstudio::studio::ListQuery::default()).await.expect("a thread");
    let messages: Vec<&str> =
        shown["messages"].as_array().expect("messages").iter().map(|message| message["trace_id"].as_str().expect("a run")).collect();
    let run = second.find("finish")["messageMetadata"]["trace_id"].clone();
    assert_eq!(messages, [run.as_str().expect("a run"); 2], "only the new turn is read");
    assert_eq!((&shown["message_count"], &shown["run_count"]), (&json!(2), &json!(2)));
}

#[tokio::test]
async fn a_turn_stays_when_no_other_takes_its_place() {
    let story = Story::scripted(json!([{"match": {"contains": "fail"}, "error": "provider_auth"}, {"text": "First."}, {"text": "Second."}]));
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let first = post(&story, &path, chat("c", json!([user("hi")]))).await;
    let thread = first.find("finish")["messageMetadata"]["thread_id"].as_str().expect("a thread").to_owned();
    let shown = async || {
        let shown = story.bench.studio.thread(&story.bench.scope, &thread, wfstudio::studio::ListQuery::default()).await.expect("a thread");
        let messages = shown["messages"].as_array().expect("messages").clone();
        (messages.iter().map(|message| message["trace_id"].clone()).collect::<Vec<_>>(), shown["message_count"].clone())
    };
    let before = shown().await;
    let mut body = chat("c", json!([user("fail")]));
    body["trigger"] = json!("regenerate-message");
    let failed = post(&story, &path, body).await;
    assert_eq!(failed.find("finish")["messageMetadata"]["code"], "provider_auth");
    assert_eq!(shown().await, before, "question and answer are still there");
    let mut body = chat("c", json!([user("hi")]));
    body["trigger"] = json!("regenerate-message");
    let third = post(&story, &path, body).await;
    let run = third.find("finish")["messageMetadata"]["trace_id"].clone();
    assert_eq!(shown().await, (vec![run.clone(); 2], json!(2)), "a try that failed does not save them from the next");
    let query = wfstudio::studio::TraceQuery { messages: true, ..Default::default() };
    let trace = story.bench.studio.trace(&story.bench.scope, run.as_str().expect("a run"), query).await.expect("a trace");
    let sent = trace["spans"][0]["input"].as_array().expect("messages").iter().filter(|message| message["role"] != "system").count();
    assert_eq!(sent, 1, "the model is not sent what is replaced: {trace}");
}

/// What the AI SDK posts to have an answer again.
fn again(text: &str, answer: &Value) -> Value {
    let mut body = chat("c", json!([user(text)]));
    (body["trigger"], body["messageId"]) = (json!("regenerate-message"), answer["messageId"].clone());
    body
}

/// The runs of the messages that people read, and how many messages the thread counts.
async fn read_on(story: &Story, thread: &str) -> (Vec<String>, Value) {
    let shown = story.bench.studio.thread(&story.bench.scope, thread, wfstudio::studio::ListQuery::default()).await.expect("a thread");
    let run = |message: &Value| message["trace_id"].as_str().expect("a run").to_owned();
    (shown["messages"].as_array().expect("messages").iter().map(run).collect(), shown["message_count"].clone())
}

#[tokio::test]
async fn a_regenerated_answer_is_the_one_that_is_named_or_read_last() {
    let story = Story::scripted(json!([{"match": {"contains": "fail"}, "error": "provider_auth", "times": 0}, {"text": "Well.", "times": 0}]));
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let run = |answer: &Answer| answer.find("finish")["messageMetadata"]["trace_id"].as_str().expect("a run").to_owned();
    let first = post(&story, &path, chat("c", json!([user("one")]))).await;
    let second = post(&story, &path, chat("c", json!([user("two")]))).await;
    let thread = second.find("finish")["messageMetadata"]["thread_id"].as_str().expect("a thread").to_owned();
    let before = read_on(&story, &thread).await;
    assert_eq!(before.0, [run(&first), run(&first), run(&second), run(&second)]);
    let earlier = post(&story, &path, again("one", &first.find("start"))).await;
    assert_eq!(earlier.code(), "422 validation_failed");
    assert!(earlier.text.contains(r#""errors":{"messageId":"#), "{}", earlier.text);
    assert_eq!(read_on(&story, &thread).await, before, "a refused request changes nothing");
    // A turn that fails leaves nothing to read: the answer that is read last is still that of the second run.
    post(&story, &path, chat("c", json!([user("fail")]))).await;
    let third = post(&story, &path, again("two", &second.find("start"))).await;
    assert_eq!(read_on(&story, &thread).await.0, [run(&first), run(&first), run(&third), run(&third)], "the one that was named");
    post(&story, &path, chat("c", json!([user("fail")]))).await;
    let fourth = post(&story, &path, again("two", &json!({}))).await;
    assert_eq!(read_on(&story, &thread).await.0, [run(&first), run(&first), run(&fourth), run(&fourth)], "the one that is read last");
    let message = read_on_message(&story, &thread).await;
    let fifth = post(&story, &path, again("two", &json!({"messageId": message}))).await;
    assert_eq!(read_on(&story, &thread).await.0, [run(&first), run(&first), run(&fifth), run(&fifth)], "by the id that the thread tells");
}

/// Two pages show the same chat; what one of them asks for comes too late.
#[tokio::test]
async fn a_turn_is_not_replaced_twice() {
    let story = Story::scripted(json!([{"match": {"contains": "fail"}, "error": "provider_auth", "times": 0}, {"text": "Well.", "times": 0}]));
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let first = post(&story, &path, chat("c", json!([user("one")]))).await;
    let thread = first.find("finish")["messageMetadata"]["thread_id"].as_str().expect("a thread").to_owned();
    let failed = post(&story, &path, again("fail", &first.find("start"))).await;
    assert_eq!(failed.find("finish")["messageMetadata"]["code"], "provider_auth");
    post(&story, &path, again("one", &first.find("start"))).await;
    let before = read_on(&story, &thread).await;
    let late = post(&story, &path, again("one", &failed.find("start"))).await;
    assert_eq!(late.code(), "422 validation_failed", "{}", late.text);
    // One that found it the last of its thread a moment ago.
    let mut request = RunRequest::parse(&json!({"message": "one", "thread_id": thread}), EntityKind::Agent).expect("a body");
    request.replaces = Some(first.find("finish")["messageMetadata"]["trace_id"].as_str().expect("a run").parse().expect("an id"));
    let refused = story.bench.studio.start(&story.bench.scope, EntityKind::Agent, &agent, request, false).await.expect_err("it is replaced");
    assert_eq!(refused.kind.code(), "invalid_state", "{refused}");
    let failed = failed.find("finish")["messageMetadata"]["trace_id"].as_str().expect("a run").to_owned();
    let retried = story.bench.retry(&failed, json!({})).await.expect_err("what it was to replace is replaced");
    assert_eq!(retried.kind.code(), "invalid_state", "{retried}");
    assert_eq!(read_on(&story, &thread).await, before, "a refused request changes nothing");
    assert_eq!(before.1, json!(2));
}

/// The id of the last message that people read.
async fn read_on_message(story: &Story, thread: &str) -> Value {
    let shown = story.bench.studio.thread(&story.bench.scope, thread, wfstudio::studio::ListQuery::default()).await.expect("a thread");
    shown["messages"].as_array().and_then(|messages| messages.last()).expect("a message")["id"].clone()
}

#[tokio::test]
async fn a_regenerated_answer_is_not_that_of_a_run_that_is_newer_and_ended_earlier() {
    let story = Story::scripted(pays());
    let agent = payer(&story).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let thread = "11111111-2222-4333-8444-555555555555";
    let paused = post(&story, &path, chat(thread, json!([user("pay")]))).await;
    let waiting = paused.find("data-awaiting_input")["data"]["trace_id"].as_str().expect("a run").to_owned();
    // The studio's own route begins a turn beside a run that waits.
    let request = RunRequest::parse(&json!({"message": "hi", "thread_id": thread}), EntityKind::Agent).expect("a body");
    let own = story.bench.studio.start(&story.bench.scope, EntityKind::Agent, &agent, request, false).await.expect("a turn");
    story.bench.events_text(&own).await;
    let newer = read_on(&story, thread).await.0[0].clone();
    let resumed = story.bench.resume(&waiting, json!({"approval": "approve"})).await.expect("resumed");
    story.bench.events_text(&resumed).await;
    assert_eq!(read_on(&story, thread).await.0.last(), Some(&waiting));
    let mut body = chat(thread, json!([user("hello")]));
    body["trigger"] = json!("regenerate-message");
    let done = post(&story, &path, body).await;
    let run = done.find("finish")["messageMetadata"]["trace_id"].as_str().expect("a run").to_owned();
    let read = read_on(&story, thread).await.0;
    assert!(read.contains(&newer) && !read.contains(&waiting) && read.last() == Some(&run), "{read:?}: {newer} {waiting} {run}");
}

#[tokio::test]
async fn errors_and_cancels_are_said() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let failed = post(&story, &path, chat("c", json!([user("fail")]))).await;
    assert_eq!(failed.types(), "start error finish");
    assert_eq!(failed.find("finish")["messageMetadata"]["code"], "provider_auth");
    let response = asked(&story, "", "POST", &path, None, Some(&chat("d", json!([user("slow")])))).await;
    let told = story.bench.studio.clone();
    let scope = story.bench.scope.clone();
    let mut body = response.into_body();
    let mut text = String::new();
    while !text.contains("One ") {
        use http_body_util::BodyExt as _;
        text.push_str(std::str::from_utf8(body.frame().await.expect("more").expect("a frame").data_ref().expect("data")).expect("text"));
    }
    let run = text.split("\"messageId\":\"").nth(1).expect("an id")[..36].to_owned();
    told.cancel(&scope, &run).await.expect("a cancel");
    use http_body_util::BodyExt as _;
    let rest = String::from_utf8(body.collect().await.expect("a body").to_bytes().to_vec()).expect("text");
    assert!(rest.contains("{\"type\":\"abort\",\"reason\":\"cancelled\"}") && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}

#[tokio::test]
async fn wrong_posts_are_problems() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    for (path, body, code) in [
        (format!("/agents/{agent}/stream/vercel"), chat("c", json!([user("")])), "422 validation_failed"),
        (format!("/agents/{agent}/stream/vercel"), json!({}), "422 validation_failed"),
        (format!("/agents/{agent}/stream/vercel"), json!({"message": "hi", "on_disconnect": "stay"}), "422 validation_failed"),
        (format!("/agents/{agent}/stream/other"), chat("c", json!([user("hi")])), "404 not_found"),
        ("/agents/none/stream/vercel".to_owned(), json!({"trigger": "wrong"}), "404 not_found"),
        ("/workflows/none/stream/agui".to_owned(), json!({}), "404 not_found"),
    ] {
        assert_eq!(post(&story, &path, body.clone()).await.code(), code, "{path} {body}");
    }
    assert_eq!(get(&story, &format!("/agents/{agent}/stream/vercel/none/stream")).await.status, 204);
    assert_eq!(get(&story, "/agents/none/stream/vercel/none/stream").await.code(), "404 not_found");
}

#[tokio::test]
async fn a_turn_that_lost_its_reader_is_told_again_from_its_beginning() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let response = asked(&story, "", "POST", &path, None, Some(&chat("c", json!([user("slow")])))).await;
    let heard = read_until(response, "One ").await;
    let again = get(&story, &format!("{path}/c/stream")).await;
    assert_eq!((again.status, again.said().as_str()), (200, "One two three four."));
    let id = again.find("start")["messageId"].as_str().expect("an id").to_owned();
    assert!(heard.contains(&id), "it is the same message: {heard}");
    assert_eq!(again.types(), "start text-start text-delta text-end finish");
    assert!(again.find("finish")["messageMetadata"]["total_tokens"].is_number(), "{}", again.text);
    assert_eq!(get(&story, &format!("{path}/c/stream")).await.status, 204);
}

#[tokio::test]
async fn files_are_stored_or_named() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let with = |url: &str| {
        let parts =
            json!([{"type": "text", "text": "see"}, {"type": "file", "mediaType": "text/plain", "filename": "note.txt", "url": url}]);
        chat("c", json!([{"id": "u", "role": "user", "parts": parts}]))
    };
    let sent = post(&story, &path, with("data:text/plain;base64,aGVsbG8=")).await;
    let run = sent.find("finish")["messageMetadata"]["trace_id"].as_str().expect("a run").to_owned();
    let file = story.trace(&run).await["trace"]["input"]["attachments"][0].clone();
    assert_eq!((&file["name"], &file["mime_type"]), (&json!("note.txt"), &json!("text/plain")));
    let key = file["storage_key"].as_str().expect("a key");
    let named = post(&story, &path, with(&format!("/studio/api/attachments/file?storage_key={key}"))).await;
    assert_eq!(named.status, 200, "{}", named.text);
    for url in [
        "https://evil.example/a.png",
        "http://127.0.0.1/",
        "data:text/plain;base64,%%%",
        "/studio/api/attachments/file?storage_key=unknown",
    ] {
        assert_eq!(post(&story, &path, with(url)).await.status, 422, "{url}");
    }
}

#[tokio::test]
async fn a_refused_post_leaves_no_file() {
    let story = Story::scripted(pays());
    let agent = agent(&story, json!({})).await;
    let path = format!("/agents/{agent}/stream/vercel");
    let with = |urls: &[&str]| {
        let files = urls.iter().map(|url| json!({"type": "file", "mediaType": "text/plain", "url": url}));
        let parts: Vec<Value> = std::iter::once(json!({"type": "text", "text": "see"})).chain(files).collect();
        chat("c", json!([{"id": "u", "role": "user", "parts": parts}]))
    };
    let (good, bad) = ("data:text/plain;base64,aGVsbG8=", "data:application/x-unknown;base64,AAEC");
    let mut wrong = with(&[good]);
    wrong["on_disconnect"] = json!("perhaps");
    for body in [wrong, with(&[good, good, bad]), with(&[good, "/studio/api/attachments/file?storage_key=unknown"])] {
        let refused = post(&story, &path, body).await;
        assert!((400..500).contains(&refused.status), "{}", refused.text);
    }
    let much_later = wfstudio::model::Timestamp(4_000_000_000_000);
    assert_eq!(story.bench.studio.purgeable_at(much_later).await.expect("a count").attachments, 0, "a purge finds no file that nothing uses");
}
