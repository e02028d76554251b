//! Stored tools as people make them, try them and let models call them.

mod builder;
mod calls;
mod choice;
mod guarded;
mod hostile;
mod saving;
mod search;
mod server;
mod trial;
mod webhook;

use serde_json::{Value, json};
use wfstudio::studio::Resource;

use crate::support::Bench;

/// A studio whose webhooks may call this machine by its address.
fn near() -> Bench {
    Bench::new(json!({"webhook": {"allow_private": ["127.0.0.1"]}, "secrets": {"SHOP_TOKEN": "s3cret-token"}}))
}

/// Stores a tool; its id.
async fn stored(bench: &Bench, body: Value) -> String {
    let stored = bench.studio.create(&bench.scope, Resource::Tool, &body).await;
    stored.unwrap_or_else(|error| panic!("{error} {:?}", error.members))["id"].as_str().expect("an id").to_owned()
}

/// A webhook with these settings over a plain GET.
async fn hook(bench: &Bench, config: Value) -> String {
    stored(bench, json!({"name": "hook", "kind": "webhook", "config": config})).await
}

async fn script(bench: &Bench, code: &str) -> String {
    stored(bench, json!({"name": "script", "kind": "builder", "config": {"code": code}})).await
}

/// What a tool answers to an input: its result, or its error.
async fn tried(bench: &Bench, id: &str, input: Value) -> String {
    let answer = bench.studio.try_tool(&bench.scope, id, &json!({"input": input})).await.expect("an answer");
    let result = answer["result"].as_str().map_or_else(|| answer["result"].to_string(), str::to_owned);
    if answer["is_error"] == true { format!("error: {result}") } else { result }
}

/// start -> tool node -> stop.
fn graph(data: Value) -> Value {
    let place = json!({"x": 0, "y": 0});
    json!({"version": 1, "nodes": [
        {"id": "start", "type": "start", "position": place, "data": {}},
        {"id": "tool", "type": "tool", "position": place, "data": data},
        {"id": "stop", "type": "stop", "position": place, "data": {}},
    ], "edges": [{"id": "a", "source": "start", "target": "tool"}, {"id": "b", "source": "tool", "target": "stop"}]})
}

/// start -> rag node -> stop.
pub fn rag_graph(data: Value) -> Value {
    let mut all = graph(json!({}));
    all["nodes"][1] = json!({"id": "tool", "type": "rag", "position": {"x": 0, "y": 0}, "data": data});
    all
}

/// Runs a graph to its end; its trace.
async fn run(bench: &Bench, graph: Value) -> Value {
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    bench.events_text(&started).await;
    bench.trace(&started.run.to_string()).await
}
