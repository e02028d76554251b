//! What is named for redaction is in nothing that is stored, told, logged or sent; the run that is driven works with it all the same.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::collector::{Collector, Manner};
use super::closed;
use crate::support::render::EventFrame;
use crate::support::story::Story;
use crate::support::{Bench, merge, place};
use wfstudio::engine::{From, Order, Follow};
use wfstudio::studio::TraceQuery;

/// What must not be found anywhere, one for each way in.
const CANARIES: [&str; 6] = [
    "canary-of-the-state", "canary-of-a-nested-key", "canary-of-the-user", "canary-in-an-argument", "canary-of-a-header", "canary-in-an-answer",
];

fn settings(collector: &Collector) -> Value {
    json!({"observability": {"redact": ["password", "api-key", "Authorization"], "otlp": {"endpoint": collector.url(), "content": true}}})
}

/// Every byte of a database and the files beside it.
fn stored(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_file() {
            bytes.extend(std::fs::read(entry.path()).expect("a file"));
        }
    }
    bytes
}

fn clean(what: &str, bytes: &[u8]) {
    for canary in CANARIES {
        let found = bytes.windows(canary.len()).position(|window| window == canary.as_bytes());
        let around = found.map(|at| String::from_utf8_lossy(&bytes[at.saturating_sub(200)..(at + 100).min(bytes.len())]).into_owned());
        assert!(around.is_none(), "{canary} is in {what}: {}", around.unwrap_or_default());
    }
}

/// Everything that can be read of a run.
async fn read(story: &Story, run: &str) -> String {
    let whole = TraceQuery { graph: true, messages: true, children: true, ..TraceQuery::default() };
    let (studio, scope) = (&story.bench.studio, &story.bench.scope);
    let trace = studio.trace(scope, run, whole).await.expect("a trace");
    let mut all = trace.to_string();
    for order in [Order::Ordered, Order::Live] {
        let told = story.read(run, From { order, after: 0 }, Follow::Tail).await;
        // A reader puts pieces together.
        let delta = |told: &EventFrame| serde_json::from_str::<Value>(&told.data).ok()?["delta"].as_str().map(str::to_owned);
        all.extend(told.iter().filter_map(delta));
        all.extend(told.into_iter().map(|told| told.data + "\n"));
    }
    for step in trace["steps"].as_array().expect("steps") {
        let step = studio.step(scope, run, step["id"].as_str().expect("an id"), true).await.expect("a step");
        all.push_str(&step.to_string());
    }
    all
}

const SKETCH: &str = "start -> agent_1{provider: script, model: m, stream: true, instructions: \"Use {{password}}\", message: \"{{input}} {{deep.api_key}}\", tools: [{ref: \"host:look\"}, {ref: \"host:fail\"}]}
    -> tool_1{tool_ref: \"host:look\", parameters: {\"password\": \"$password\", \"plain\": \"{{password}}\", \"headers\": {\"Authorization\": \"{{authorization}}\"}}}
    -> set_1{key: copy, value: \"{{password}}\"} -> stop{reply: \"it was {{password}}\"}";

fn replies() -> Value {
    json!([
        {"text": "I know canary-of-the-state", "tool_calls": [
            {"name": "look", "arguments": {"password": "canary-in-an-argument", "say": "canary-of-the-state"}},
            {"name": "fail", "arguments": {"Api_Key": "canary-in-an-argument"}}]},
        {"chunks": ["It is canary-of", "-the-sta", "te and {\"password\": \"canary-in-an-answer\"}", " is all; canary-of-the-"], "times": 1}])
}

fn body() -> Value {
    json!({"message": "hi, canary-of-the-state", "state": {"password": "canary-of-the-state", "deep": {"api_key": "canary-of-a-nested-key"}, "authorization": "Bearer canary-of-a-header"}})
}

#[tokio::test]
async fn nothing_named_is_stored_told_or_sent_and_tools_get_it_all_the_same() {
    let (collector, folder) = (Collector::start(Manner::Takes).await, tempfile::tempdir().expect("a folder"));
    let mut all = settings(&collector);
    merge(&mut all, json!({"providers": {"script": {"scripts": {"m": {"replies": replies()}}}}}));
    let mut story = Story::of(Bench::on_disk(all, folder.path()));
    story.bench.scope.user = Some(json!({"id": "u", "api-key": "canary-of-the-user"}));
    let run = story.run_with(&SKETCH.replace("\n    ", " "), body()).await;
    assert!(run.text.contains("trace_completed"), "{}", run.text);
    let calls = story.hands.calls().join("\n");
    assert!(calls.contains(r#""password":"canary-of-the-state","plain":"canary-of-the-state""#), "the tool gets the value: {calls}");
    assert!(calls.contains(r#""password":"canary-in-an-argument""#), "{calls}");

    clean("what was told", run.text.as_bytes());
    clean("what is read", read(&story, &run.id).await.as_bytes());
    clean("the database while it is open", &stored(folder.path()));
    closed(&story).await;
    collector.sent().iter().for_each(|sent| clean("what was sent", &sent.body));
    assert!(collector.sent().iter().any(|sent| String::from_utf8_lossy(&sent.body).contains("[redacted]")));
    let bytes = stored(folder.path());
    assert!(bytes.len() > 10_000 || place::on_server("").is_some(), "the files of a server are not here");
    clean("the database", &bytes);
}

#[tokio::test]
async fn without_redaction_all_of_it_is_there() {
    let (collector, folder) = (Collector::start(Manner::Takes).await, tempfile::tempdir().expect("a folder"));
    let mut all = settings(&collector);
    merge(&mut all, json!({"observability": {"redact": []}, "providers": {"script": {"scripts": {"m": {"replies": replies()}}}}}));
    let mut story = Story::of(Bench::on_disk(all, folder.path()));
    story.bench.scope.user = Some(json!({"id": "u", "api-key": "canary-of-the-user"}));
    let run = story.run_with(&SKETCH.replace("\n    ", " "), body()).await;
    let read = read(&story, &run.id).await;
    closed(&story).await;
    let bytes = stored(folder.path());
    for canary in CANARIES.iter().filter(|_| place::on_server("").is_none()) {
        assert!(bytes.windows(canary.len()).any(|window| window == canary.as_bytes()), "{canary} is stored");
    }
    for canary in CANARIES.iter().filter(|canary| !canary.ends_with("user")) {
        assert!(read.contains(canary), "{canary} is read");
    }
}

#[tokio::test]
async fn errors_and_answers_of_people_are_masked_too() {
    let (collector, folder) = (Collector::start(Manner::Takes).await, tempfile::tempdir().expect("a folder"));
    let story = Story::of(Bench::on_disk(settings(&collector), folder.path()));
    let run = story.run("start -> human_1{output_key: password} -> tool_1{tool_ref: \"host:look\", parameters: {\"word\": \"{{password}}\"}} -> tool_2{tool_ref: \"host:pay\", parameters: {\"sum\": \"$password\"}} -> stop").await;
    let told = story.resume(&run.id, json!({"message": "canary-in-an-answer"})).await;
    assert!(story.hands.calls().join("\n").contains("canary-in-an-answer"), "{:?}", story.hands.calls());
    clean("what was told", told.as_bytes());
    clean("what is read", read(&story, &run.id).await.as_bytes());
    closed(&story).await;
    collector.sent().iter().for_each(|sent| clean("what was sent", &sent.body));
    clean("the database", &stored(folder.path()));
}

#[tokio::test]
async fn a_run_that_goes_on_from_the_database_has_masks_and_no_tool_is_called_with_one() {
    let collector = Collector::start(Manner::Takes).await;
    let mut all = settings(&collector);
    merge(&mut all, json!({"async_runs_enabled": false}));
    let story = Story::with(all, json!([]));
    let run = story
        .run_with(
            "start -> human_1 -> tool_1{tool_ref: \"host:look\", parameters: {\"word\": \"$password\"}} -> stop",
            json!({"message": "hi", "state": {"password": "canary-of-the-state"}}),
        )
        .await;
    let told = story.resume(&run.id, json!({"message": "go on"})).await;
    assert!(told.contains("was redacted (`observability.redact`) and is not known any more"), "{told}");
    assert!(story.hands.calls().is_empty(), "{:?}", story.hands.calls());
    closed(&story).await;
}

#[tokio::test]
async fn fixed_arguments_are_masked_for_the_person_who_approves_and_no_tool_is_called_with_a_mask() {
    let (collector, folder) = (Collector::start(Manner::Takes).await, tempfile::tempdir().expect("a folder"));
    let mut all = settings(&collector);
    let replies = json!([{"tool_calls": [{"name": "look", "arguments": {"say": "x", "password": "mine"}}]}, {"text": "Done."}]);
    merge(&mut all, json!({"providers": {"script": {"scripts": {"m": {"replies": replies}}}}}));
    let story = Story::of(Bench::on_disk(all, folder.path()));
    let run = story
        .run_with(
            "start -> agent_1{provider: script, model: m, require_tool_approval: true} -> stop
            tool_1{tool_ref: \"host:look\", parameters: {\"password\": \"$password\", \"note\": \"for {{input}}: {{password}}\"}} => agent_1",
            json!({"message": "hi", "state": {"password": "canary-of-the-state"}}),
        )
        .await;
    let trace = story.trace(&run.id).await;
    let shown = &trace["trace"]["pauses"][0]["pending_tools"][0];
    let fixed = json!({"password": "[redacted]", "note": "for hi: [redacted]"});
    assert_eq!((&shown["arguments"], &shown["fixed_arguments"]), (&json!({"say": "x"}), &fixed), "{shown}");
    assert!(run.text.contains(r#""fixed_arguments":{"#), "{}", run.text);
    let told = story.resume(&run.id, json!({"approval": "approve"})).await;
    assert!(told.contains("was redacted (`observability.redact`) and is not known any more"), "{told}");
    assert!(story.hands.calls().is_empty(), "{:?}", story.hands.calls());
    clean("what was told", [run.text, told].concat().as_bytes());
    clean("what is read", read(&story, &run.id).await.as_bytes());
    closed(&story).await;
    clean("the database", &stored(folder.path()));
}

/// Keeps every line of the log.
#[derive(Clone, Default)]
pub struct Lines(pub Arc<Mutex<String>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, line: &tracing::Metadata<'_>) -> bool {
        line.target().starts_with("wfstudio")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields<'a>(&'a mut String);
        impl tracing::field::Visit for Fields<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!("{field}={value:?} "));
            }
        }
        let mut lines = self.0.lock().expect("a lock");
        event.record(&mut Fields(&mut lines));
        lines.push('\n');
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn log_lines_have_nothing_named() {
    let lines = Lines::default();
    // The studio logs on threads of its own.
    tracing::subscriber::set_global_default(lines.clone()).expect("nobody else listens in these tests");
    let collector = Collector::start(Manner::Says(500)).await;
    let story = Story::with(settings(&collector), replies());
    let run = story.run_with(&SKETCH.replace("\n    ", " "), body()).await;
    clean("what was told", run.text.as_bytes());
    closed(&story).await;
    let lines = lines.0.lock().expect("a lock");
    assert!(lines.contains("spans could not be delivered"), "{lines}");
    clean("the log", lines.as_bytes());
}
