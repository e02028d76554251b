//! Metrics of OpenTelemetry, and which system hears what was said.

use expect_test::expect;
use serde_json::json;

use super::closed;
use super::collector::{Collector, Manner, attribute};
use super::watched;
use crate::support::story::Story;

#[tokio::test]
async fn tokens_and_times_are_measured_over_all_runs_without_ids() {
    let collector = Collector::start(Manner::Takes).await;
    let replies = json!([
        {"match": {"contains": "bad"}, "error": "provider_auth", "times": 0},
        {"text": "Fine.", "usage": {"prompt_tokens": 20, "completion_tokens": 5}, "times": 0}]);
    let story = watched(&collector, json!({}), replies).await;
    for message in ["hi", "bad", "hi"] {
        story.run_with("start -> llm_1{provider: script, model: m} -> stop", json!({ "message": message })).await;
    }
    closed(&story).await;
    expect![[r#"
        gen_ai.client.operation.duration s count=1 error.type="provider_auth" gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m"
        gen_ai.client.operation.duration s count=2 gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m"
        gen_ai.client.token.usage {token} count=2 sum=10 gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.token.type="output"
        gen_ai.client.token.usage {token} count=2 sum=40 gen_ai.operation.name="chat" gen_ai.provider.name="script" gen_ai.request.model="m" gen_ai.token.type="input"
        studio.run.duration s count=1 studio.entity.type="workflow" studio.run.status="failed"
        studio.run.duration s count=2 studio.entity.type="workflow" studio.run.status="completed"
    "#]]
    .assert_eq(&collector.metrics());
    let measured = collector.measured();
    assert_eq!((measured.len(), measured[0].path.as_str(), measured[0].headers["content-type"].as_str()), (1, "/v1/metrics", "application/x-protobuf"));
    let counts = story.bench.studio.observability();
    assert_eq!((&counts[1]["target"], &counts[1]["sent"]), (&json!("otlp_metrics"), &json!(1)), "{counts}");
}

#[tokio::test]
async fn sums_of_two_engines_are_told_apart() {
    let collector = Collector::start(Manner::Takes).await;
    for _ in 0..2 {
        let story = watched(&collector, json!({}), json!([{"text": "Fine."}])).await;
        story.run("start -> llm_1{provider: script, model: m} -> stop").await;
        closed(&story).await;
    }
    let instances = collector.instances();
    assert!(instances.len() == 2 && instances[0] != instances[1], "{instances:?}");
}

#[tokio::test]
async fn a_dead_collector_keeps_neither_runs_nor_the_close() {
    let collector = Collector::start(Manner::Hangs).await;
    let story = watched(&collector, json!({}), json!([{"times": 0, "text": "Fine."}])).await;
    story.run("start -> llm_1{provider: script, model: m} -> stop").await;
    let began = std::time::Instant::now();
    story.bench.studio.shutdown(std::time::Duration::from_secs(8)).await;
    // One request would wait 10 s for its answer.
    assert!(began.elapsed() < std::time::Duration::from_millis(9_500), "{:?}", began.elapsed());
    let counts = story.bench.studio.observability();
    assert_eq!((&counts[1]["target"], &counts[1]["sent"], &counts[1]["failures"]), (&json!("otlp_metrics"), &json!(0), &json!(1)), "{counts}");
}

#[tokio::test]
async fn metrics_can_be_switched_off() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({"observability": {"otlp": {"metrics": false}}}), json!([{"text": "Fine."}])).await;
    story.run("start -> llm_1{provider: script, model: m} -> stop").await;
    closed(&story).await;
    assert_eq!((collector.measured().len(), collector.spans().len()), (0, 4));
}

#[tokio::test]
async fn each_system_has_its_own_switch_for_what_was_said() {
    for (otlp, langfuse, wanted) in [(false, Some(true), [false, true]), (true, Some(false), [true, false]), (true, None, [true, true])] {
        let (one, other) = (Collector::start(Manner::Takes).await, Collector::start(Manner::Takes).await);
        let settings = json!({"observability": {
            "otlp": {"endpoint": one.url(), "content": otlp},
            "langfuse": {"enabled": true, "host": other.url(), "public_key": "p", "secret_key": "s", "content": langfuse},
        }});
        let replies = json!([{"tool_calls": [{"name": "fail", "arguments": {"a": "canary-arguments"}}]}, {"text": "canary-answer"}]);
        let story = Story::with(settings, replies);
        let sketch = "start -> agent_1{provider: script, model: m, tools: [{ref: \"host:fail\"}]} -> stop";
        story.run_with(sketch, json!({"message": "canary-message"})).await;
        closed(&story).await;
        let said = |collector: &Collector| collector.sent().iter().any(|sent| String::from_utf8_lossy(&sent.body).contains("canary"));
        assert_eq!([said(&one), said(&other)], wanted, "{otlp} {langfuse:?}");
        for (collector, content) in [&one, &other].into_iter().zip(wanted) {
            let spans = collector.spans();
            let tool = spans.iter().find(|span| span.name == "execute_tool fail").expect("a tool");
            let words = if content { "it is broken" } else { "the tool told an error" };
            assert_eq!(tool.status.as_ref().map(|status| status.message.as_str()), Some(words));
            assert_eq!(attribute(tool, "gen_ai.tool.call.arguments").is_null(), !content);
        }
    }
}
