//! What memory keeps: through branches of threads, retries, deletions, and summaries that are made at the same time.

use serde_json::{Value, json};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::ListQuery;

use super::{SUMMARISER, agent, chat, message, names, read, sent, whole};
use crate::support::story::Story;

async fn thread_of(story: &Story, run: &str) -> String {
    story.trace(run).await["trace"]["thread_id"].as_str().expect("a thread").to_owned()
}

async fn step(story: &Story, run: &str, node: &str) -> Value {
    let trace = story.trace(run).await;
    let steps = trace["steps"].as_array().expect("steps");
    steps.iter().rev().find(|step| step["node_id"] == node && step["superseded"] != true).expect("a step")["id"].clone()
}

fn remembering() -> Story {
    Story::scripted(json!([
        {"match": {"system_contains": SUMMARISER, "contains": "Summary so far"}, "text": "SECOND"},
        {"match": {"system_contains": SUMMARISER}, "text": "FIRST"},
        {"match": {"contains": "bad"}, "error": "provider_unavailable", "text": "down"},
        {"times": 0, "text": "r".repeat(40)}]))
}

/// Turns of about 50 tokens that can be told apart; the thread.
async fn facts(story: &Story, agent: &str, turns: usize) -> String {
    let mut thread = None;
    for fact in 1..=turns {
        let turn = story.chat(agent, json!({"message": format!("fact{fact} {}", message(38)), "thread_id": thread})).await;
        thread = Some(thread_of(story, &turn.id).await);
    }
    thread.expect("a thread")
}

#[tokio::test]
async fn a_branch_of_a_thread_that_was_summarised_twice_loses_no_turn() {
    let story = remembering();
    let agent = agent(&story, json!({"summarization_enabled": true})).await;
    let thread = facts(&story, &agent, 4).await;
    let fifth = chat(&story, &agent, &thread, format!("fact5 {}", message(18))).await;
    assert!(names(&whole(&story, &fifth.id).await)[0].starts_with("llm summarize"));
    let sixth = chat(&story, &agent, &thread, message(80)).await;
    assert!(names(&whole(&story, &sixth.id).await)[0].starts_with("llm summarize"));
    let mut from = thread.clone();
    for _ in 0..2 {
        let said = read(&story, &agent, &from, &[]).await;
        let before = said.iter().find(|said| said["content"].as_str().is_some_and(|text| text.starts_with("fact5")));
        let body = before.map_or(json!({}), |said| json!({"before": said["id"]}));
        let branch = story.bench.studio.branch_thread(&story.bench.scope, &from, &body).await.expect("a branch");
        from = branch["id"].as_str().expect("an id").to_owned();
    }
    let turn = chat(&story, &agent, &from, "next".into()).await;
    let told = sent(&whole(&story, &turn.id).await, "chat", 0);
    let begins: Vec<String> = told.iter().map(|line| line.chars().take(11).collect()).collect();
    assert_eq!(begins, ["system: sss", "user: fact3", "assistant: ", "user: fact4", "assistant: ", "user: next"], "{told:?}");
    let trace = whole(&story, &turn.id).await;
    assert!(trace["spans"][0]["input"][0]["content"].as_str().expect("a text").ends_with("FIRST"));
    let metas: Vec<Value> = read(&story, &agent, &from, &[]).await.iter().map(|said| said["meta"].clone()).collect();
    assert!(metas.iter().all(|meta| meta.get("covers").is_none()), "{metas:?}");
}

#[tokio::test]
async fn a_turn_that_is_summarised_already_gets_no_second_summary() {
    let story = remembering();
    let agent = agent(&story, json!({"summarization_enabled": true})).await;
    let thread = facts(&story, &agent, 4).await;
    let bad = chat(&story, &agent, &thread, format!("bad {}", message(18))).await;
    assert!(bad.text.contains("provider_unavailable"), "{}", bad.text);
    chat(&story, &agent, &thread, message(18)).await;
    story.retry(&bad.id, json!({})).await;
    let next = chat(&story, &agent, &thread, "next".into()).await;
    let trace = whole(&story, &next.id).await;
    assert_eq!(story.shown(&trace["spans"][0]["input"]).matches("[Studio memory summary]").count(), 1);
    assert_eq!(sent(&trace, "chat", 0).len(), 1 + 4 * 2 + 1, "each turn once");
}

#[tokio::test]
async fn a_stored_result_that_is_used_again_stays_in_memory() {
    for driver in ["database", "in_memory"] {
        let story = Story::scripted(json!([{"times": 0, "text": "Yes."}]));
        let sketch = format!("start -> agent_1{{provider: script, model: m, checkpoint: true, driver: {driver}}} -> tool_1{{tool_ref: \"host:flaky\", parameters: {{times: 2}}}} -> agent_2{{provider: script, model: m, memory: shared, driver: {driver}}} -> agent_3{{provider: script, model: m, memory: shared, driver: {driver}, message: more}} -> stop");
        let sketch = sketch.replace("agent_1{", "agent_1{memory: shared, ");
        let workflow = story.workflow(&sketch).await;
        let run = story.start(&workflow, json!({"message": "hi"})).await;
        for _ in 0..2 {
            let from = step(&story, &run.id, "agent_1").await;
            let told = story.retry(&run.id, json!({"from_step_id": from})).await;
            assert!(told.contains("checkpoint_hit"), "{told}");
        }
        let trace = whole(&story, &run.id).await;
        assert_eq!(trace["trace"]["status"], "completed");
        let twice = ["user: hi", "assistant: Yes.", "user: hi", "assistant: Yes.", "user: more"];
        assert_eq!(sent(&trace, "chat", 2), twice, "{driver}");
        if driver == "database" {
            let next = story.start(&workflow, json!({"message": "new", "thread_id": trace["trace"]["thread_id"]})).await;
            let told = sent(&whole(&story, &next.id).await, "chat", 0);
            assert_eq!(told[..5], twice, "{told:?}");
            assert_eq!(told.len(), 7, "{told:?}");
        }
    }
}

#[tokio::test]
async fn stored_results_of_a_fork_that_opens_again_stay_in_memory() {
    let node = |id: &str| format!("agent_{id}{{provider: script, model: m, memory: shared, checkpoint: true, message: \"{id}\"}}");
    let sketch = format!(
        "start -> {} -> fork_1 -> join_1 -> {} -> tool_1{{tool_ref: \"host:flaky\", parameters: {{times: 1}}}} -> stop; fork_1.a -> {} -> join_1; fork_1.b -> {} -> join_1",
        node("zero"), node("three"), node("one"), node("two")
    );
    for from in ["agent_zero", "agent_one", "agent_two", "agent_three"] {
        let story = Story::scripted(json!([{"times": 0, "text": "Yes."}]));
        let workflow = story.workflow(&sketch).await;
        let run = story.start(&workflow, json!({"message": "hi"})).await;
        let again = step(&story, &run.id, from).await;
        story.retry(&run.id, json!({"from_step_id": again})).await;
        let thread = thread_of(&story, &run.id).await;
        let next = story.start(&workflow, json!({"message": "more", "thread_id": thread})).await;
        let told = sent(&whole(&story, &next.id).await, "chat", 0);
        let users: Vec<&String> = told.iter().filter(|line| line.starts_with("user")).collect();
        assert_eq!(users, ["user: zero", "user: one", "user: two", "user: three", "user: zero"], "from {from}");
    }
}

#[tokio::test]
async fn a_thread_that_is_deleted_while_its_run_waits_comes_back_with_what_is_said_then() {
    let story = Story::scripted(json!([{"times": 0, "text": "Yes."}]));
    let workflow = story.workflow("start -> human_1{prompt: \"Your name?\"} -> agent_1{provider: script, model: m, message: \"{{input}}\"} -> stop").await;
    let run = story.start(&workflow, json!({"message": "hi"})).await;
    let thread = thread_of(&story, &run.id).await;
    let (studio, scope) = (&story.bench.studio, &story.bench.scope);
    studio.delete_thread(scope, &thread).await.expect("gone");
    story.resume(&run.id, json!({"message": "Ana"})).await;
    let there = studio.thread(scope, &thread, ListQuery::default()).await.expect("a thread");
    let said: Vec<&Value> = there["messages"].as_array().expect("messages").iter().map(|said| &said["content"]).collect();
    assert_eq!(said, ["Ana", "Yes."], "what was deleted stays so");
    assert_eq!((&there["entity_id"], &there["message_count"], &there["preview"]), (&json!(workflow), &json!(2), &json!("Ana")));
    let list = studio.chat_threads(scope, EntityKind::Workflow, &workflow, ListQuery::default()).await.expect("threads");
    assert_eq!(list.data.len(), 1);
    studio.delete_thread(scope, &thread).await.expect("gone again");
    let next = story.start(&workflow, json!({"message": "hi", "thread_id": thread})).await;
    story.resume(&next.id, json!({"message": "Bo"})).await;
    assert_eq!(sent(&whole(&story, &next.id).await, "chat", 0), ["user: Bo"], "nothing of it comes back");
}

#[tokio::test]
async fn people_read_the_turns_of_an_agent_that_remembers_nothing_beyond_its_run() {
    let story = Story::scripted(json!([{"match": {"contains": "look"}, "tool_calls": [{"name": "look", "arguments": {}}]}, {"times": 0, "text": "Yes."}]));
    let body = json!({"name": "H", "provider": "script", "model": "m", "tools": [{"ref": "host:look"}], "memory_config": {"driver": "in_memory"}});
    let agent = story.bench.agent(body).await;
    let turn = story.chat(&agent, json!({"message": "look"})).await;
    let thread = thread_of(&story, &turn.id).await;
    let said = read(&story, &agent, &thread, &[("include", "tools")]).await;
    let told: Vec<String> = said.iter().map(|said| format!("{} {}", said["role"].as_str().unwrap(), said["content"].as_str().unwrap())).collect();
    assert_eq!(told, ["user look", "assistant Yes."]);
    assert_eq!(said[1]["tool_calls"][0]["name"], "look");
    let next = chat(&story, &agent, &thread, "again".into()).await;
    assert_eq!(sent(&whole(&story, &next.id).await, "chat", 0), ["user: again"], "the model is sent nothing of it");
    let list = story.bench.studio.chat_threads(&story.bench.scope, EntityKind::Agent, &agent, ListQuery::default()).await.expect("threads");
    assert_eq!((&list.data[0]["message_count"], &list.data[0]["preview"]), (&json!(4), &json!("look")));
}

#[tokio::test]
async fn no_prompt_holds_a_call_id_twice() {
    let story = Story::scripted(json!([{"tool_calls": [{"name": "look", "arguments": {}, "id": "call_0"}]}, {"times": 0, "text": "Yes."}]));
    let agent = story.bench.agent(json!({"name": "H", "provider": "script", "model": "m", "tools": [{"ref": "host:look"}]})).await;
    let first = story.chat(&agent, json!({"message": "one"})).await;
    let thread = thread_of(&story, &first.id).await;
    for _ in 0..2 {
        let turn = chat(&story, &agent, &thread, "two".into()).await;
        let trace = whole(&story, &turn.id).await;
        let input = trace["spans"].as_array().expect("spans").last().expect("a call")["input"].clone();
        let messages = input.as_array().expect("messages");
        let calls: Vec<&Value> = messages.iter().filter_map(|said| said["tool_calls"].as_array()).flatten().map(|call| &call["id"]).collect();
        let results: Vec<&Value> = messages.iter().filter(|said| said["role"] == "tool").map(|said| &said["tool_call_id"]).collect();
        assert_eq!(calls, results, "{input}");
        let mut once: Vec<String> = calls.iter().map(ToString::to_string).collect();
        once.sort();
        once.dedup();
        assert_eq!((once.len(), calls[0]), (calls.len(), &json!("call_0")), "{input}");
    }
}
