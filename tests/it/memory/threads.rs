//! What people read on threads of agents and workflows.

use expect_test::expect;
use serde_json::{Value, json};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::ListQuery;
use wfstudio::studio::runs::requests::RunRequest;

use super::{read, whole};
use crate::support::story::Story;

fn line(message: &Value) -> String {
    format!("{} {} {}", message["role"].as_str().unwrap(), message["content"], message["tool_calls"])
}

#[tokio::test]
async fn calls_are_shown_with_the_message_that_follows_them() {
    let story = Story::scripted(json!([
        {"tool_calls": [{"name": "look", "arguments": {"n": 1}, "id": "a"}]},
        {"text": "One more.", "tool_calls": [{"name": "fail", "arguments": {}, "id": "b"}, {"name": "nope", "arguments": {}, "id": "c"}]},
        {"times": 0, "text": "Done."}]));
    let tools = json!([{"ref": "host:look"}, {"ref": "host:fail"}]);
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m", "tools": tools})).await;
    let turn = story.chat(&agent, json!({"message": "hi"})).await;
    let thread = story.trace(&turn.id).await["trace"]["thread_id"].as_str().unwrap().to_owned();
    let shown = read(&story, &agent, &thread, &[("include", "tools")]).await;
    expect![[r#"
        user "hi" []
        assistant "One more." [{"call_id":"a","name":"look","inputs":{"n":1},"result":"{\"did\":\"look\",\"with\":{\"n\":1}}","is_error":false},{"call_id":"b","name":"fail","inputs":{},"result":"it is broken","is_error":true},{"call_id":"c","name":"nope","inputs":{},"result":"There is no tool `nope`; the tools are look, fail.","is_error":true}]
        assistant "Done." []"#]].assert_eq(&shown.iter().map(line).collect::<Vec<_>>().join("\n"));
    let first = read(&story, &agent, &thread, &[("include", "tools"), ("limit", "2")]).await;
    assert_eq!(first, shown[..2], "a page ends behind the results of its calls");
    assert!(read(&story, &agent, &thread, &[]).await.iter().all(|message| message.get("tool_calls").is_none()));
}

#[tokio::test]
async fn a_workflow_thread_shows_messages_questions_answers_and_replies() {
    let story = Story::scripted(json!([{"tool_calls": [{"name": "look", "arguments": {}, "id": "a"}]}, {"times": 0, "text": "Thank you."}]));
    let sketch = "start -> human_1{prompt: \"Your name?\"} -> agent_1{provider: script, model: m, tools: [{ref: \"host:look\"}]} -> stop";
    let workflow = story.workflow(sketch).await;
    let run = story.start(&workflow, json!({"message": "hi"})).await;
    story.resume(&run.id, json!({"message": "Ana"})).await;
    let thread = story.trace(&run.id).await["trace"]["thread_id"].as_str().unwrap().to_owned();
    let query = || ListQuery::parse([("include", "tools")]).expect("a query");
    let page = story.bench.studio.chat_messages(&story.bench.scope, EntityKind::Workflow, &workflow, &thread, query()).await.expect("messages");
    expect![[r#"
        user "hi" []
        assistant "Your name?" []
        user "Ana" []
        assistant "Thank you." [{"call_id":"a","name":"look","inputs":{},"result":"{\"did\":\"look\",\"with\":{}}","is_error":false}]"#]].assert_eq(&page["messages"].as_array().unwrap().iter().map(line).collect::<Vec<_>>().join("\n"));
    let list = story.bench.studio.chat_threads(&story.bench.scope, EntityKind::Workflow, &workflow, ListQuery::default()).await.expect("threads");
    assert_eq!((&list.data[0]["message_count"], &list.data[0]["preview"], &list.data[0]["run_count"], &list.data[0]["open_pause"]), (&json!(4), &json!("hi"), &json!(1), &Value::Null));
    let other = story.workflow(sketch).await;
    let page = story.bench.studio.chat_messages(&story.bench.scope, EntityKind::Workflow, &other, &thread, query()).await.expect("messages");
    assert_eq!(page, json!({"thread_id": thread, "messages": [], "next_cursor": null}));
}

#[tokio::test]
async fn a_thread_tells_of_its_open_pause_and_a_stopped_turn_leaves_nothing() {
    let story = Story::scripted(json!([{"times": 0, "match": {"regex": "^pay"}, "tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}, {"times": 0, "text": "Paid."}]));
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m", "tools": [{"ref": "host:pay"}]})).await;
    let turn = story.chat(&agent, json!({"message": "pay"})).await;
    let thread = story.trace(&turn.id).await["trace"]["thread_id"].as_str().unwrap().to_owned();
    let summary = async || {
        let list = story.bench.studio.chat_threads(&story.bench.scope, EntityKind::Agent, &agent, ListQuery::default()).await.expect("threads");
        let thread = &list.data[0];
        (thread["open_pause"]["reason"].clone(), thread["message_count"].clone(), thread["run_count"].clone(), thread["label"].as_str().unwrap().starts_with("Session "))
    };
    assert_eq!(summary().await, (json!("tool_approval"), json!(0), json!(1), true), "nothing is said before the turn ends");
    story.resume(&turn.id, json!({"approval": "approve"})).await;
    assert_eq!(summary().await, (Value::Null, json!(2), json!(1), false));
    let stopped = super::chat(&story, &agent, &thread, "pay again".into()).await;
    assert_eq!(story.cancel(&stopped.id).await, "cancelled");
    assert_eq!(summary().await, (Value::Null, json!(2), json!(2), false), "a stopped turn adds nothing");
    assert_eq!(read(&story, &agent, &thread, &[]).await.len(), 2);
}

/// The thread of a paused turn is deleted, and somebody else asks for one of the same id: what the turn says when it goes on is its own agent's.
#[tokio::test]
async fn a_turn_that_goes_on_after_its_thread_was_deleted_adds_to_no_other_thread() {
    let story = Story::scripted(json!([{"times": 0, "match": {"regex": "^pay"}, "tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}, {"times": 0, "text": "Paid."}]));
    let body = |name: &str| json!({"name": name, "provider": "script", "model": "m", "tools": [{"ref": "host:pay"}]});
    let (agent, other) = (story.bench.agent(body("H")).await, story.bench.agent(body("O")).await);
    let turn = story.chat(&agent, json!({"message": "pay"})).await;
    let thread = story.trace(&turn.id).await["trace"]["thread_id"].as_str().unwrap().to_owned();
    let (studio, scope) = (&story.bench.studio, &story.bench.scope);
    studio.delete_thread(scope, &thread).await.expect("gone");
    let begin = |scope: wfstudio::studio::Scope, agent: String| {
        let request = RunRequest::parse(&json!({"message": "hi", "thread_id": thread}), EntityKind::Agent).expect("a body");
        async move { studio.start(&scope, EntityKind::Agent, &agent, request, false).await }
    };
    let refused = begin(scope.clone(), other.clone()).await.expect_err("the id is that of the paused turn");
    assert_eq!((refused.kind.status(), &refused.members["errors"]["thread_id"].is_array()), (422, &true), "{refused}");
    let elsewhere = wfstudio::studio::Scope { tenant: "elsewhere".into(), ..scope.clone() };
    let stored = studio.create(&elsewhere, wfstudio::studio::Resource::Agent, &body("E")).await.expect("an agent");
    let foreign = stored["id"].as_str().unwrap().to_owned();
    let begun = begin(elsewhere.clone(), foreign.clone()).await.expect("another tenant's thread of that id is another thread");
    let mut events = studio.events(&elsewhere, &begun.run.to_string(), wfstudio::engine::From::default(), wfstudio::engine::Follow::Tail).await.expect("events");
    while events.as_mut().expect("a stream").next_batch().await.is_some() {}
    story.resume(&turn.id, json!({"approval": "approve"})).await;
    let page = studio.chat_messages(&elsewhere, EntityKind::Agent, &foreign, &thread, ListQuery::default()).await.expect("messages");
    let said: Vec<&Value> = page["messages"].as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(said, [&json!("hi"), &json!("Paid.")]);
    assert_eq!(read(&story, &other, &thread, &[]).await, [] as [Value; 0]);
    let said: Vec<Value> = read(&story, &agent, &thread, &[]).await.iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said, [json!("pay"), json!("Paid.")], "the thread is there again");
}

#[tokio::test]
async fn a_turn_overrides_its_agent_and_only_for_itself() {
    let story = Story::scripted(json!([{"times": 0, "text": "ok"}]));
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m", "instructions": "Be kind."})).await;
    let body = json!({"message": "hi", "instructions": "Be brief.", "context": {"user": "Zoë", "n": 1}, "parameters": {"temperature": 1.5}});
    let turn = story.chat(&agent, body).await;
    let trace = whole(&story, &turn.id).await;
    assert_eq!(trace["spans"][0]["input"][0]["content"], "Be brief.\n\n{\"user\":\"Zoë\",\"n\":1}");
    let thread = trace["trace"]["thread_id"].as_str().unwrap().to_owned();
    let turn = super::chat(&story, &agent, &thread, "again".into()).await;
    assert_eq!(whole(&story, &turn.id).await["spans"][0]["input"][0]["content"], "Be kind.");
    let runs = story.bench.studio.chat_runs(&story.bench.scope, EntityKind::Agent, &agent, &thread, ListQuery::default()).await.expect("runs").into_json();
    let told: Vec<_> = runs["data"].as_array().unwrap().iter().map(|run| (run["id"].clone(), run["status"].clone(), run["input_preview"].clone())).collect();
    assert_eq!(told[0], (json!(turn.id), json!("completed"), json!("again")), "newest first");
    assert_eq!(told.len(), 2);
}

#[tokio::test]
async fn a_turn_may_ask_another_model() {
    let story = Story::scripted(json!([{"times": 0, "text": "ok"}]));
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m"})).await;
    let turn = story.chat(&agent, json!({"message": "hi", "model": "echo", "provider": "script"})).await;
    let trace = whole(&story, &turn.id).await;
    assert_eq!((&trace["spans"][0]["model"], &trace["trace"]["reply"]), (&json!("echo"), &json!("You said: hi")));
    let thread = trace["trace"]["thread_id"].as_str().unwrap().to_owned();
    let turn = super::chat(&story, &agent, &thread, "again".into()).await;
    assert_eq!(whole(&story, &turn.id).await["spans"][0]["model"], "m", "only for itself");
}

#[tokio::test]
async fn a_summary_that_does_not_say_what_it_stands_for_stands_for_all_before_it() {
    let story = super::story(json!({}), "They greeted each other.");
    let agent = super::agent(&story, json!({"summarization_enabled": true})).await;
    let thread = super::talk(&story, &agent, 5).await;
    // As earlier versions stored it.
    let world = story.bench.studio.world();
    let changed = world.store.write(|tx| tx.execute("UPDATE #messages SET meta = '{\"studio_kind\":\"summary\"}' WHERE meta LIKE '%summary%'", &[]));
    assert_eq!(changed.await.expect("written"), 1);
    let branch = story.bench.studio.branch_thread(&story.bench.scope, &thread, &json!({})).await.expect("a branch");
    let mut sent = Vec::new();
    for thread in [&thread, branch["id"].as_str().expect("an id")] {
        let turn = super::chat(&story, &agent, thread, "And now?".into()).await;
        let trace = whole(&story, &turn.id).await;
        sent.push((super::names(&trace), super::sent(&trace, "chat", 0)));
    }
    assert_eq!(sent[0].1.len(), 8, "of five turns two are in the summary: {sent:#?}");
    assert_eq!(sent[0], sent[1], "what is summarised is neither sent nor summarised again");
}

#[tokio::test]
async fn a_branch_begins_as_its_thread_did_and_goes_its_own_way() {
    let story = Story::scripted(json!([{"times": 0, "match": {"regex": "look"}, "tool_calls": [{"name": "look", "arguments": {}}]}, {"times": 0, "text": "ok"}]));
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m", "tools": [{"ref": "host:look"}]})).await;
    let turn = story.chat(&agent, json!({"message": "one"})).await;
    let thread = story.trace(&turn.id).await["trace"]["thread_id"].as_str().unwrap().to_owned();
    super::chat(&story, &agent, &thread, "two".into()).await;
    let said = read(&story, &agent, &thread, &[]).await;
    let second = said[2]["id"].as_str().unwrap();
    let (studio, scope) = (&story.bench.studio, &story.bench.scope);
    let branch = studio.branch_thread(scope, &thread, &json!({"before": second})).await.expect("a branch");
    let id = branch["id"].as_str().unwrap().to_owned();
    assert_eq!((&branch["message_count"], &branch["preview"], &branch["run_count"]), (&json!(2), &json!("one"), &json!(0)));
    let turn = super::chat(&story, &agent, &id, "2b".into()).await;
    let sent: Vec<_> = whole(&story, &turn.id).await["spans"][0]["input"].as_array().unwrap().iter().map(|message| message["content"].clone()).collect();
    assert_eq!(sent[sent.len() - 3..], [json!("one"), json!("ok"), json!("2b")], "the model is sent the branch alone");
    assert_eq!(read(&story, &agent, &thread, &[]).await, said, "the thread stays as it was");
    let whole_copy = studio.branch_thread(scope, &thread, &json!({})).await.expect("a branch");
    assert_eq!(whole_copy["message_count"], 4);
    studio.delete_thread(scope, &thread).await.expect("gone");
    assert_eq!(read(&story, &agent, &id, &[]).await.len(), 4, "a branch does not need its thread");
    for before in [json!(said[3]["id"]), json!("no id"), json!(turn.id)] {
        let refused = studio.branch_thread(scope, &id, &json!({"before": before})).await.unwrap_err();
        assert!(refused.message.starts_with("before must be"), "{}", refused.message);
    }
}
