//! Langfuse and Inspector: what they are sent, and how.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use expect_test::expect;
use serde_json::{Value, json};

use super::closed;
use super::collector::{Collector, Manner, attribute};
use crate::support::story::Story;

fn replies() -> Value {
    json!([{"text": "Fine.", "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 400}}])
}

#[tokio::test]
async fn langfuse_gets_spans_at_its_own_address_with_its_own_attributes() {
    let collector = Collector::start(Manner::Takes).await;
    let settings = json!({
        "secrets": {"LANGFUSE_SECRET_KEY": "sk-1"},
        "observability": {"otlp": {"content": true}, "langfuse": {"enabled": true, "host": collector.url(), "public_key": "pk-1", "secret_key": "secret:LANGFUSE_SECRET_KEY"}}
    });
    let story = Story::with(settings, replies());
    story.run("start -> llm_1{provider: script, model: m, instructions: Be kind} -> stop").await;
    closed(&story).await;
    let sent = &collector.sent()[0];
    assert_eq!(sent.path, "/api/public/otel/v1/traces");
    assert_eq!(sent.headers["authorization"], format!("Basic {}", STANDARD.encode("pk-1:sk-1")));
    assert_eq!(sent.headers["x-langfuse-ingestion-version"], "4");
    let spans = collector.spans();
    let told = |name: &str| {
        let span = spans.iter().find(|span| span.name.starts_with(name)).expect("a span");
        let own = span.attributes.iter().filter(|attribute| attribute.key.starts_with("langfuse.") && !attribute.key.ends_with("run_id"));
        own.map(|found| format!("{} {}\n", found.key, attribute(span, &found.key))).collect::<String>()
    };
    expect![[r#"
        langfuse.trace.name "Test"
        langfuse.observation.type "generation"
        langfuse.observation.model.name "m"
        langfuse.observation.usage_details "{\"input\":600,\"input_cached_tokens\":400,\"output\":100,\"total\":1100}"
        langfuse.observation.cost_details "{\"total\":0.0}"
        langfuse.observation.input "[{\"role\":\"system\",\"parts\":[{\"type\":\"text\",\"content\":\"Be kind\"}]},{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"hi\"}]}]"
        langfuse.observation.output "{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"Fine.\"}],\"finish_reason\":\"stop\"}"
    "#]].assert_eq(&told("chat"));
    expect![[r#"
        langfuse.trace.name "Test"
        langfuse.observation.type "chain"
        langfuse.observation.input "hi"
        langfuse.observation.output "Fine."
    "#]].assert_eq(&told("invoke_workflow"));
}

#[tokio::test]
async fn inspector_gets_a_transaction_with_segments() {
    let collector = Collector::start(Manner::Takes).await;
    let settings = json!({"observability": {"inspector": {"enabled": true, "url": collector.url(), "ingestion_key": "key-1"}}});
    let story = Story::with(settings, json!([{"error": "provider_auth"}]));
    let run = story.run("start -> set_1{key: k, value: v} -> llm_1{provider: script, model: m} -> stop").await;
    closed(&story).await;
    let sent = &collector.sent()[0];
    assert_eq!((sent.path.as_str(), sent.headers["x-inspector-key"].as_str(), sent.headers["content-type"].as_str()), ("/", "key-1", "application/json"));
    let entries: Value = serde_json::from_slice(&STANDARD.decode(&sent.body).expect("base64")).expect("JSON");
    let line = |entry: &Value| {
        let of = entry["transaction"]["hash"].as_str().or(entry["hash"].as_str()).expect("a hash");
        assert_eq!(of, format!("{}-1", run.id));
        assert!(entry["timestamp"].as_f64().is_some_and(|at| at > 1e9));
        let name = entry.get("label").or(entry.get("name")).or(entry.get("class")).expect("a name");
        format!("{} {} {name} {}\n", entry["model"], entry["type"], entry["result"])
    };
    expect![[r#"
        "segment" "step" "set_1" null
        "segment" "llm" "chat m" null
        "error" null "provider_auth" null
        "segment" "step" "llm_1" null
        "error" null "provider_auth" null
        "transaction" "process" "invoke_workflow Test" "error"
        "error" null "provider_auth" null
    "#]].assert_eq(&entries.as_array().expect("entries").iter().map(line).collect::<String>());
}

#[tokio::test]
async fn inspectors_posts_stay_within_what_it_allows() {
    let collector = Collector::start(Manner::Takes).await;
    let settings = json!({"observability": {"otlp": {"content": true}, "inspector": {"enabled": true, "url": collector.url(), "ingestion_key": "key-1"}}});
    let replies: Vec<Value> = (0..20).map(|_| json!({"text": "x".repeat(9000)})).chain([json!({"text": "x".repeat(90_000)})]).collect();
    let story = Story::with(settings, json!(replies));
    story.run("start -> loop_1{max_steps: 21, on_max: exit}; loop_1.exit -> stop; loop_1.continue -> llm_1{provider: script, model: m} -> loop_1").await;
    closed(&story).await;
    let sent = collector.sent();
    assert!(sent.len() > 4 && sent.iter().all(|sent| sent.body.len() <= 65_536), "{:?}", sent.iter().map(|sent| sent.body.len()).collect::<Vec<_>>());
    assert_eq!(story.bench.studio.observability()[0]["dropped"], json!(0));
}

#[tokio::test]
async fn a_preset_without_its_keys_says_so() {
    let collector = Collector::start(Manner::Takes).await;
    let settings = json!({"observability": {"langfuse": {"enabled": true, "host": collector.url()}, "inspector": {"enabled": true, "url": collector.url()}}});
    let story = Story::with(settings, json!([]));
    story.run("start -> stop").await;
    closed(&story).await;
    let told: Vec<Value> = story.bench.studio.observability().as_array().expect("two").iter().map(|counts| counts["last_error"].clone()).collect();
    assert_eq!(told, [json!("`observability.langfuse.public_key` and `.secret_key` must be set"), json!("`observability.inspector.ingestion_key` is not set")]);
    assert!(collector.sent().is_empty());
}
