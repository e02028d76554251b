//! Memory through the facade: windows, summaries, budgets, files, and what threads show of them.

mod again;
mod budgets;
mod compaction;
mod files;
mod inside;
mod kept;
mod long;
mod reach;
mod threads;
mod windows;

use serde_json::{Value, json};
use wfstudio::studio::TraceQuery;

use crate::support::story::{Run, Story};

/// What a summariser call can be known by.
const SUMMARISER: &str = "You keep the memory of a conversation";

/// A studio whose model answers with 40 characters and summarises with these words.
fn story(settings: Value, summary: &str) -> Story {
    let replies = json!([
        {"times": 0, "match": {"system_contains": SUMMARISER}, "text": summary, "usage": {"prompt_tokens": 100, "completion_tokens": 20}},
        {"times": 0, "text": "r".repeat(40), "usage": {"prompt_tokens": 10, "completion_tokens": 5}}]);
    Story::with(settings, replies)
}

/// An agent with a window of 256 tokens and a system prompt of 10.
async fn agent(story: &Story, memory: Value) -> String {
    let mut config = json!({"context_window": 256});
    crate::support::merge(&mut config, memory);
    story.bench.agent(json!({"name": "Helper", "provider": "script", "model": "m", "instructions": "s".repeat(40), "memory_config": config})).await
}

/// A message of so many tokens.
fn message(tokens: usize) -> String {
    "u".repeat(tokens * 4)
}

/// Turns of 50 tokens: 40 of the user, 10 of the answer; the thread.
async fn talk(story: &Story, agent: &str, turns: usize) -> String {
    let mut body = json!({"message": message(40)});
    for _ in 0..turns {
        let turn = story.chat(agent, body.clone()).await;
        let trace = story.trace(&turn.id).await;
        body["thread_id"] = trace["trace"]["thread_id"].clone();
    }
    body["thread_id"].as_str().expect("a thread").to_owned()
}

async fn whole(story: &Story, run: &str) -> Value {
    let query = TraceQuery { messages: true, ..TraceQuery::default() };
    story.bench.studio.trace(&story.bench.scope, run, query).await.expect("a trace")
}

fn spans(trace: &Value) -> &Vec<Value> {
    trace["spans"].as_array().expect("spans")
}

/// The outputs of spans of a type, one per line.
fn outputs(trace: &Value, kind: &str) -> String {
    let found = spans(trace).iter().filter(|span| span["type"] == kind);
    found.map(|span| format!("{} {}\n", span["name"].as_str().expect("a name"), span["output"])).collect()
}

/// Spans in short: type, name, status.
fn names(trace: &Value) -> Vec<String> {
    spans(trace).iter().map(|span| format!("{} {} {}", span["type"], span["name"], span["status"]).replace('"', "")).collect()
}

/// What the model of the n-th call of a name was sent: roles and texts, long ones in short.
fn sent(trace: &Value, name: &str, call: usize) -> Vec<String> {
    let found = spans(trace).iter().filter(|span| span["name"] == name).nth(call).expect("a call");
    let told = |message: &Value| {
        let content = message["content"].as_str().expect("a text");
        let short = if content.chars().count() > 80 { format!("{}… {}", content.chars().take(30).collect::<String>(), content.chars().count()) } else { content.to_owned() };
        format!("{}: {short}", message["role"].as_str().expect("a role"))
    };
    found["input"].as_array().expect("messages").iter().map(told).collect()
}

/// What people read on an agent's thread.
async fn read(story: &Story, agent: &str, thread: &str, query: &[(&str, &str)]) -> Vec<Value> {
    let query = wfstudio::studio::ListQuery::parse_with(query.iter().copied(), 100).expect("a query");
    let page = story.bench.studio.chat_messages(&story.bench.scope, wfstudio::model::event::EntityKind::Agent, agent, thread, query).await;
    page.expect("messages")["messages"].as_array().expect("messages").clone()
}

async fn chat(story: &Story, agent: &str, thread: &str, message: String) -> Run {
    story.chat(agent, json!({"message": message, "thread_id": thread})).await
}
