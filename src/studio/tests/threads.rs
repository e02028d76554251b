//! Owns the tests of threads and their messages.

use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::model::event::EntityKind;
use crate::store::StoreError;
use crate::store::threads::{self as table, MessageRow};
use crate::studio::ListQuery;
use crate::studio::runs::requests::RunRequest;

fn id(n: u64) -> Id {
    Id::v7(1_795_207_200_000, 7, n)
}

fn message(n: u64, thread: Id, role: &str, body: &Value, shown: bool) -> MessageRow {
    MessageRow {
        id: id(n),
        thread,
        history: "h".into(),
        shown,
        summarized: false,
        role: role.into(),
        run: Some(id(900)),
        created_at: Timestamp(1_795_207_200_000 + i64::try_from(n).unwrap_or(0)),
        body: Arc::from(body.to_string()),
        meta: None,
        covers: Vec::new(),
        files: Vec::new(),
        no: 0,
    }
}

/// A thread of the agent with a tool call in it.
async fn talk(studio: &Studio, agent: Id, thread: Id) {
    let call = json!({"role": "assistant", "content": "One moment", "tool_calls": [{"id": "c1", "name": "calculate", "arguments": {"expression": "1+1"}}]});
    let rows = vec![
        message(10, thread, "user", &json!({"role": "user", "content": "How much is 1+1?"}), true),
        message(11, thread, "assistant", &call, true),
        message(12, thread, "tool", &json!({"role": "tool", "content": "2", "tool_call_id": "c1"}), false),
        message(13, thread, "assistant", &json!({"role": "assistant", "content": "It is 2."}), true),
    ];
    let work = studio.world().store.write(move |tx| {
        let begun = table::Begun { entity: (EntityKind::Agent, &agent), user_id: None, message: None };
        table::begin(tx, "", &thread, &begun, Timestamp(1_795_207_200_000))?;
        table::append_messages(tx, "", &rows)
    });
    work.await.expect("stored");
}

#[tokio::test]
async fn threads_are_listed_with_their_beginning_and_read_in_pages() {
    let (studio, scope) = (studio(), scope());
    let agent = text(&make(&studio, Resource::Agent, json!({"name": "A"})).await, "id").parse::<Id>().expect("an id");
    make(&studio, Resource::Agent, json!({"name": "B"})).await;
    talk(&studio, agent, id(1)).await;
    let list = studio.chat_threads(&scope, EntityKind::Agent, "a", ListQuery::default()).await.expect("a list");
    let told = list.data[0].to_string().replace(&agent.to_string(), "AGENT").replace(&id(1).to_string(), "THREAD");
    expect![[r#"{"id":"THREAD","entity_type":"agent","entity_id":"AGENT","label":"How much is 1+1?","preview":"How much is 1+1?","message_count":3,"run_count":1,"open_pause":null,"created_at":"2026-11-20T20:40:00.000+00:00","updated_at":"2026-11-20T20:40:00.013+00:00"}"#]].assert_eq(&told);
    assert!(studio.chat_threads(&scope, EntityKind::Agent, "b", ListQuery::default()).await.expect("a list").data.is_empty());
    assert_eq!(studio.threads(&scope, None, Some("a"), ListQuery::default()).await.expect("a list").data.len(), 1);
    assert!(studio.threads(&scope, Some(EntityKind::Workflow), None, ListQuery::default()).await.expect("a list").data.is_empty());

    let thread = id(1).to_string();
    let with_tools = ListQuery::parse([("include", "tools"), ("limit", "2")]).expect("a query");
    let page = studio.chat_messages(&scope, EntityKind::Agent, "a", &thread, with_tools).await.expect("a page");
    let told: Vec<String> = page["messages"].as_array().expect("messages").iter().map(Value::to_string).collect();
    expect![[r#"
        {"id":"01a1faaf-fd00-7007-8000-00000000000a","role":"user","content":"How much is 1+1?","attachments":[],"trace_id":"01a1faaf-fd00-7007-8000-000000000384","meta":{},"created_at":"2026-11-20T20:40:00.010+00:00","tool_calls":[]}
        {"id":"01a1faaf-fd00-7007-8000-00000000000b","role":"assistant","content":"One moment","attachments":[],"trace_id":"01a1faaf-fd00-7007-8000-000000000384","meta":{},"created_at":"2026-11-20T20:40:00.011+00:00","tool_calls":[{"call_id":"c1","name":"calculate","inputs":{"expression":"1+1"},"result":"2","is_error":false}]}"#]].assert_eq(&told.join("\n"));
    let next = ListQuery::parse([("cursor", text(&page, "next_cursor"))]).expect("a query");
    let page = studio.chat_messages(&scope, EntityKind::Agent, "a", &thread, next).await.expect("a page");
    assert_eq!((page["messages"].as_array().map(Vec::len), &page["messages"][0]["content"]), (Some(1), &json!("It is 2.")));
    let foreign = studio.chat_messages(&scope, EntityKind::Agent, "b", &thread, ListQuery::default()).await.expect("an answer");
    assert_eq!(foreign, json!({"thread_id": thread, "messages": [], "next_cursor": null}));
    let whole = studio.thread(&scope, &thread, ListQuery::default()).await.expect("there");
    assert_eq!((whole["messages"].as_array().map(Vec::len), &whole["message_count"]), (Some(3), &json!(3)));
}

#[tokio::test]
async fn calls_of_one_id_are_shown_with_their_own_results() {
    let (studio, scope) = (studio(), scope());
    let agent = text(&make(&studio, Resource::Agent, json!({"name": "A"})).await, "id").parse::<Id>().expect("an id");
    talk(&studio, agent, id(1)).await;
    let call = json!({"role": "assistant", "content": "And", "tool_calls": [{"id": "c1", "name": "calculate", "arguments": {"expression": "2+2"}}]});
    let mut rows = vec![
        message(20, id(1), "assistant", &call, true),
        message(21, id(1), "tool", &json!({"role": "tool", "content": "4", "tool_call_id": "c1"}), false),
    ];
    rows.iter_mut().for_each(|row| row.run = Some(id(901)));
    studio.world().store.write(move |tx| table::append_messages(tx, "", &rows)).await.expect("stored");
    let query = ListQuery::parse([("include", "tools")]).expect("a query");
    let page = studio.chat_messages(&scope, EntityKind::Agent, "a", &id(1).to_string(), query).await.expect("a page");
    let told: Vec<String> = page["messages"].as_array().expect("messages").iter().flat_map(|said| said["tool_calls"].as_array().expect("calls")).map(|call| format!("{} {}", call["inputs"]["expression"], call["result"])).collect();
    assert_eq!(told, [r#""1+1" "2""#, r#""2+2" "4""#]);
}

#[tokio::test]
async fn a_thread_goes_with_its_messages() {
    let (studio, scope) = (studio(), scope());
    talk(&studio, id(2), id(1)).await;
    let thread = id(1).to_string();
    studio.delete_thread(&scope, &thread).await.expect("deleted");
    assert_eq!(refusal(studio.thread(&scope, &thread, ListQuery::default()).await), "not_found");
    assert_eq!(refusal(studio.delete_thread(&scope, "no-id").await), "not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_store_tells_the_state_of_the_run() {
    let (studio, scope) = (studio(), scope());
    make(&studio, Resource::Workflow, json!({"name": "W"})).await;
    let body = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body");
    let run = studio.start(&scope, EntityKind::Workflow, "w", body, false).await.expect("a run").run.to_string();
    let quicker = || Err::<(), _>(Error::from(StoreError::Fenced));
    let told = studio.with_status(&scope, &run, quicker()).await.expect_err("refused");
    let status = told.members.get("run_status").and_then(Value::as_str).unwrap_or_default();
    assert!(["running", "completed"].contains(&status), "{status}");
    let known = studio.with_status(&scope, &run, quicker().map_err(|error: Error| error.with("run_status", "failed"))).await;
    assert_eq!(known.expect_err("refused").members.get("run_status"), Some(&json!("failed")), "what is known stays");
    let nowhere = studio.with_status(&scope, "none", quicker()).await.expect_err("refused");
    assert!(is(&nowhere, Kind::InvalidState) && !nowhere.members.contains_key("run_status"));
}
