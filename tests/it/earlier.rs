//! A database that the first release candidate wrote, with runs in every state: it opens, and everything in it goes on.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Resource, Scope, Studio, TraceQuery};

use crate::support::story::Story;
use crate::support::Bench;

const STORED: &str = "tests/it/earlier/first.sqlite.gz";

/// The workflows of the database: name, sketch.
const WORKFLOWS: [(&str, &str); 6] = [
    ("finished", "start -> set_1{key: a, value: 1} -> stop{reply: \"a is {{a}}\"}"),
    ("asks", "start -> set_1{key: a, value: 1} -> human_1{prompt: \"Is {{a}} fine?\", output_key: said} -> stop{reply: \"{{a}}: {{said}}\"}"),
    ("approves", "start -> fork_1 -> join_1 -> stop; fork_1.x -> llm_1{provider: script, model: twice, output_key: x} -> join_1; \
        fork_1.y -> agent_1{provider: script, model: m, tools: [{ref: \"host:pay\"}]} -> join_1; agent_1.rejected -> join_1"),
    ("fails", "start -> llm_1{provider: script, model: echo, output_key: first} -> llm_2{provider: script, model: broken} -> stop{reply: \"{{first}} {{llm_response}}\"}"),
    ("works", "start -> llm_1{provider: script, model: twice, output_key: first} -> llm_2{provider: script, model: slow} -> stop{reply: \"{{first}} {{llm_response}}\"}"),
    ("waits", "start -> llm_1{provider: script, model: echo} -> stop{reply: \"{{llm_response}}\"}"),
];

fn config(path: &Path, slow: u64) -> Config {
    let scripts = json!({
        "m": {"replies": [{"tool_calls": [{"id": "call_1", "name": "pay", "arguments": {"sum": 5}}]}, {"text": "Paid."}]},
        "twice": {"replies": [{"text": "Once."}, {"text": "Twice."}]},
        "broken": {"replies": [{"error": "provider_auth", "text": "no"}, {"text": "Mended."}]},
        "slow": {"replies": [{"text": "Slowly.", "delay_ms": slow}]}});
    let all = json!({"environment": "local", "database": {"path": path}, "default_provider": "script", "async_runs_enabled": true,
        "worker": {"in_process": false}, "rag": {"async_ingest": false}, "providers": {"script": {"scripts": scripts}}});
    Config::load(ConfigSources { file: None, json: Some(all), env: std::collections::BTreeMap::new() }).expect("a configuration")
}

async fn started(bench: &Bench, name: &str, queued: bool) -> String {
    let request = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body");
    let started = bench.studio.start(&bench.scope, EntityKind::Workflow, name, request, queued).await.expect("a run");
    started.run.to_string()
}

/// Writes the database: `STUDIO_EARLIER=path cargo test --test it -- --ignored earlier`.
#[tokio::test]
#[ignore = "writes a file that is committed"]
async fn write() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("studio.sqlite");
    let bench = Bench { studio: Studio::open(config(&path, 3_600_000)).expect("a studio"), scope: Scope::default() };
    let story = Story::of(bench);
    let bench = &story.bench;
    for (name, sketch) in WORKFLOWS {
        let body = json!({"name": name, "slug": name, "graph": wfstudio::model::sketch::graph(sketch).expect("a sketch")});
        bench.studio.create(&bench.scope, Resource::Workflow, &body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    }
    for name in ["finished", "asks", "approves", "fails"] {
        let run = started(bench, name, false).await;
        story.join(&run).await;
    }
    started(bench, "works", false).await;
    started(bench, "waits", true).await;
    let agent = json!({"name": "Clerk", "slug": "clerk", "provider": "script", "model": "echo", "instructions": "Help."});
    bench.agent(agent).await;
    let first = bench.chat("clerk", json!({"message": "one"})).await;
    let thread = bench.trace(&first).await["trace"]["thread_id"].clone();
    bench.chat("clerk", json!({"message": "two", "thread_id": thread})).await;
    let base = bench.studio.create(&bench.scope, Resource::KnowledgeBase, &json!({"name": "Docs", "slug": "docs"})).await.expect("a base");
    let text = json!({"name": "moon.txt", "text": "The moon circles the earth in a month."});
    bench.studio.add_text(&bench.scope, base["id"].as_str().expect("an id"), &text).await.expect("a document");
    tokio::time::sleep(Duration::from_secs(2)).await;
    // What is at work is given back; a database that is closed is one file.
    bench.studio.shutdown(Duration::from_secs(2)).await;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&std::fs::read(&path).expect("bytes")).expect("packed");
    std::fs::write(std::env::var("STUDIO_EARLIER").expect("a path"), packed.finish().expect("packed")).expect("written");
}

/// The stored database in a folder, opened.
fn opened(folder: &Path) -> Story {
    let path = folder.join("studio.sqlite");
    let mut bytes = Vec::new();
    let packed = std::fs::read(STORED).expect("the stored database");
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).expect("a database");
    std::fs::write(&path, bytes).expect("written");
    Story::of(Bench { studio: Studio::open(config(&path, 0)).expect("a studio"), scope: Scope::default() })
}

/// The only run of a workflow.
async fn run_of(story: &Story, name: &str) -> String {
    let bench = &story.bench;
    let workflow = bench.studio.get(&bench.scope, Resource::Workflow, name).await.expect("a workflow");
    let page = bench.studio.runs_page(&bench.scope, workflow["id"].as_str().expect("an id"), 1, 10, &[]).await.expect("runs");
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1), "{page}");
    page["data"][0]["trace_id"].as_str().expect("an id").to_owned()
}

async fn trace_of(story: &Story, run: &str) -> Value {
    story.bench.studio.trace(&story.bench.scope, run, TraceQuery::default()).await.expect("a trace")["trace"].clone()
}

/// Waits until a run rests; its status and reply.
async fn rested(story: &Story, run: &str) -> (Value, Value) {
    let begun = std::time::Instant::now();
    loop {
        let trace = trace_of(story, run).await;
        if !["queued", "running"].contains(&trace["status"].as_str().expect("a status")) {
            assert!(trace["error"].is_null(), "{}", trace["error"]);
            return (trace["status"].clone(), trace["reply"].clone());
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not come to rest: {trace}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn completed(reply: &str) -> (Value, Value) {
    (json!("completed"), json!(reply))
}

#[tokio::test]
async fn runs_of_an_earlier_version_rest_go_on_and_are_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = opened(folder.path());
    let bench = &story.bench;
    assert_eq!(bench.studio.world().take_over().await.expect("taken over"), 1);
    assert!(bench.studio.world().work().await.expect("a job").is_some());
    let run = run_of(&story, "finished").await;
    assert_eq!(rested(&story, &run).await, completed("a is 1"));
    // Interrupted long ago: neither the time since then nor the step that was completed is counted again.
    let run = run_of(&story, "works").await;
    assert_eq!(rested(&story, &run).await, completed("Once. Slowly."));
    let run = run_of(&story, "waits").await;
    assert_eq!(rested(&story, &run).await, completed("You said: hi"));
    let run = run_of(&story, "asks").await;
    assert_eq!(trace_of(&story, &run).await["status"], "awaiting_input");
    bench.resume(&run, json!({"message": "yes"})).await.expect("resumed");
    assert_eq!(rested(&story, &run).await, completed("1: yes"));
    let run = run_of(&story, "approves").await;
    assert_eq!(trace_of(&story, &run).await["status"], "awaiting_tool_approval");
    bench.resume(&run, json!({"approval": "approve"})).await.expect("resumed");
    assert_eq!(rested(&story, &run).await.0, "completed");
    assert_eq!(story.hands.calls().len(), 1, "{:?}", story.hands.calls());
    let output = trace_of(&story, &run).await["output"].clone();
    assert!(output.to_string().contains("Once.") && !output.to_string().contains("Twice."), "{output}");
    let run = run_of(&story, "fails").await;
    assert_eq!(trace_of(&story, &run).await["error"]["code"], "provider_auth");
    bench.retry(&run, json!({})).await.expect("a retry");
    assert_eq!(rested(&story, &run).await, completed("You said: hi Mended."));
}

#[tokio::test]
async fn threads_and_documents_of_an_earlier_version_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = opened(folder.path());
    let bench = &story.bench;
    let agent = bench.studio.get(&bench.scope, Resource::Agent, "clerk").await.expect("an agent");
    assert_eq!(agent["name"], "Clerk");
    let base = bench.studio.get(&bench.scope, Resource::KnowledgeBase, "docs").await.expect("a base");
    let found = bench.studio.search(&bench.scope, base["id"].as_str().expect("an id"), &json!({"query": "moon month"})).await.expect("hits");
    assert_eq!(found["results"][0]["source_name"], "moon.txt", "{found}");
    assert_eq!((&base["language"], &base["needs_reindex"]), (&json!("en"), &json!(false)));
    let words = json!({"query": "circling", "mode": "text"});
    for _ in 0..2 {
        let found = bench.studio.search(&bench.scope, "docs", &words).await.expect("hits");
        assert_eq!(found["results"][0]["source_name"], "moon.txt", "{found}");
        bench.studio.reindex_base(&bench.scope, "docs").await.expect("reindexed");
    }
    let third = bench.chat("clerk", json!({"message": "three"})).await;
    assert_eq!(rested(&story, &third).await, completed("You said: three"));
}
