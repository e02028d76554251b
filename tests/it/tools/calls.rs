//! Calls of models: how many at once, which need a person, which are the provider's.

use std::sync::{Arc, OnceLock};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use wfstudio::engine::Boundary;
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use wfstudio::model::Id;
use wfstudio::model::event::Event;
use wfstudio::store::log;
use wfstudio::studio::{Options, Scope, Studio};

use super::{graph, run, script};
use crate::support::Bench;

/// A studio whose model `m` plays this script.
fn scripted(replies: Value) -> Bench {
    Bench::new(json!({"providers": {"script": {"scripts": {"m": {"replies": replies}}}}}))
}

fn agent(data: Value) -> Value {
    let mut all = json!({"config_mode": "inline", "provider": "script", "model": "m"});
    crate::support::merge(&mut all, data);
    let mut graph = graph(json!({}));
    graph["nodes"][1] = json!({"id": "tool", "type": "agent", "position": {"x": 0, "y": 0}, "data": all});
    graph
}

/// A host whose tool waits until as many calls as may be were there at once, but not for ever.
struct Crowd {
    calls: AtomicUsize,
    here: AtomicUsize,
    most: AtomicUsize,
    full: Semaphore,
}

struct Crowded(Arc<Crowd>);

impl Host for Crowded {
    fn call(&self, _: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let crowd = Arc::clone(&self.0);
        Box::pin(async move {
            crowd.calls.fetch_add(1, Ordering::SeqCst);
            let here = crowd.here.fetch_add(1, Ordering::SeqCst) + 1;
            crowd.most.fetch_max(here, Ordering::SeqCst);
            if here == 8 {
                crowd.full.add_permits(64);
            }
            let _alone = tokio::time::timeout(Duration::from_secs(10), crowd.full.acquire()).await.map(|come| come.map(SemaphorePermit::forget));
            crowd.here.fetch_sub(1, Ordering::SeqCst);
            Ok(json!("done"))
        })
    }
}

#[tokio::test]
async fn eight_calls_run_at_once_and_sixty_four_in_a_turn() {
    let calls: Vec<Value> = (0..70).map(|n| json!({"name": "look", "arguments": {"n": n}})).collect();
    let bench = scripted(json!([{"tool_calls": calls}, {"text": "{{tool_result}}"}]));
    let (calls, here, most) = <(AtomicUsize, AtomicUsize, AtomicUsize)>::default();
    let crowd = Arc::new(Crowd { calls, here, most, full: Semaphore::new(0) });
    let look = HostTool {
        name: "look".into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        require_approval: false,
        idempotent: false,
        timeout_ms: None,
    };
    let declaration = HostDeclaration { ops: vec![HostOp::ToolCall], tools: vec![look], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(Crowded(Arc::clone(&crowd))), declaration);
    let trace = run(&bench, agent(json!({"tools": [{"ref": "host:look"}]}))).await;
    assert_eq!((crowd.calls.load(Ordering::SeqCst), crowd.most.load(Ordering::SeqCst)), (64, 8));
    assert_eq!(trace["steps"][0]["output"]["agent_response"], "At most 64 calls of one turn are run; this one was not.");
}

#[tokio::test]
async fn a_use_of_a_tool_may_ask_for_approval() {
    let bench = scripted(json!([{"tool_calls": [{"name": "script", "arguments": {"a": 1}}]}, {"text": "{{tool_result}}"}]));
    script(&bench, "return input").await;
    let workflow = bench.workflow(agent(json!({"tools": [{"ref": "tool:script", "require_approval": true}]}))).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    assert!(bench.events_text(&started).await.contains("tool_approval_required"));
    let body = json!({"decisions": [{"call_id": pending(&bench, &started.run.to_string()).await, "approval": "approve", "arguments": {"a": 2}}]});
    let resumed = bench.resume(&started.run.to_string(), body).await.expect("a resumed run");
    assert!(bench.events_text(&resumed).await.contains(r#""agent_response":"{\"a\":2}""#));
}

#[tokio::test]
async fn a_use_never_lifts_the_approval_that_the_tool_asks_for() {
    let free = json!({"ref": "tool:careful", "require_approval": false});
    for data in [json!({"tools": [free], "stream": true}), json!({"tools": [free], "stream": true, "require_tool_approval": false})] {
        let bench = scripted(json!([{"tool_calls": [{"name": "careful", "arguments": {}}]}, {"text": "{{tool_result}}"}]));
        let tool = json!({"name": "careful", "kind": "builder", "require_approval": true, "config": {"code": "return 'did it'"}});
        super::stored(&bench, tool).await;
        let workflow = bench.workflow(agent(data.clone())).await;
        let warned = bench.studio.get(&bench.scope, wfstudio::studio::Resource::Workflow, &workflow).await.expect("a workflow");
        let started = bench.start(&workflow, json!({"message": "go"})).await;
        let told = bench.events_text(&started).await;
        assert!(told.contains("tool_approval_required") && !told.contains("did it"), "{data}: {told}");
        assert_eq!(warned["warnings"][0]["code"], "stream_ignored", "{data}: {}", warned["warnings"]);
    }
}

async fn pending(bench: &Bench, run: &str) -> Value {
    bench.trace(run).await["trace"]["pauses"][0]["pending_tools"][0]["call_id"].clone()
}

#[tokio::test]
async fn a_tool_is_found_by_its_id_though_another_one_has_that_for_a_slug() {
    let bench = scripted(json!([{"tool_calls": [{"name": "first", "arguments": {}}, {"name": "second", "arguments": {}}]}, {"text": "done"}]));
    let returns = |name: &str| json!({"name": name, "kind": "builder", "config": {"code": format!("return 'the {name}'")}});
    let first = super::stored(&bench, returns("first")).await;
    let mut other = returns("second");
    other["slug"] = json!(first);
    let second = super::stored(&bench, other).await;
    let mut tools = [json!({"ref": format!("tool:{first}")}), json!({"ref": format!("tool:{second}")})];
    for _ in 0..2 {
        let workflow = bench.workflow(agent(json!({ "tools": tools }))).await;
        let started = bench.start(&workflow, json!({"message": "go"})).await;
        let told = bench.events_text(&started).await;
        let gave = |name: &str| told.lines().any(|line| line.contains(" tool_result ") && line.contains(&format!("\"{name}\"")) && line.contains(&format!("the {name}")));
        assert!(gave("first") && gave("second"), "{told}");
        tools.reverse();
    }
}

#[tokio::test]
async fn tools_of_the_provider_are_refused_by_those_that_have_none() {
    let bench = scripted(json!([{"text": "never"}]));
    let trace = run(&bench, agent(json!({"tools": [{"ref": "provider:web_search"}]}))).await;
    let error = &trace["trace"]["error"];
    assert_eq!((error["code"].as_str(), error["node_id"].as_str()), (Some("provider_bad_request"), Some("tool")));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("has no tool `web_search` of its own")), "{error}");
}

/// Hears what it is asked and never answers tools.
struct Silent(Arc<std::sync::Mutex<Vec<String>>>);

impl Host for Silent {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        self.0.lock().expect("a lock").push(format!("{} {}", call.op.as_str(), call.payload["call_id"].is_string()));
        Box::pin(async move { if call.op == HostOp::ToolCancel { Ok(Value::Null) } else { std::future::pending().await } })
    }
}

#[tokio::test]
async fn a_host_that_is_too_late_hears_that_it_is() {
    let bench = Bench::new(json!({}));
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tool = json!({"name": "slow", "timeout_ms": 40});
    let tools = vec![serde_json::from_value(tool).expect("a tool")];
    let declaration = HostDeclaration { ops: vec![HostOp::ToolCall, HostOp::ToolCancel], tools, ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(Silent(Arc::clone(&heard))), declaration);
    let trace = run(&bench, graph(json!({"tool_ref": "host:slow"}))).await;
    let message = trace["trace"]["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("did not answer within 40 ms"), "{message}");
    let told = async {
        while heard.lock().expect("a lock").len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), told).await.expect("a cancel");
    assert_eq!(*heard.lock().expect("a lock"), ["tool.call true", "tool.cancel true"]);
}

/// Looks, when its tool is called, whether the call is on record.
#[derive(Clone, Default)]
struct Witness(Arc<OnceLock<Studio>>);

impl Host for Witness {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let studio = self.0.get().expect("a studio").clone();
        let run: Id = call.payload["trace_id"].as_str().expect("a run").parse().expect("an id");
        Box::pin(async move {
            let entries = studio.world().store.read(move |tx| log::entries(tx, "", &run, 0, 1000)).await.expect("a log");
            Ok(json!(entries.iter().any(|entry| matches!(entry.event, Event::CallStarted(_)))))
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_on_record_before_it_is_made_however_slow_the_disk_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = crate::support::config(json!({}), folder.path().join("studio.sqlite").to_str().expect("a path"));
    let slow = |boundary, _, _| if boundary == Boundary::Before { std::thread::sleep(Duration::from_millis(50)) };
    let options = Options { on_append: Some(Arc::new(slow)), ..Options::default() };
    let bench = Bench { studio: Studio::open_with(config, options).expect("a studio"), scope: Scope::default() };
    let witness = Witness::default();
    assert!(witness.0.set(bench.studio.clone()).is_ok());
    let tools = vec![serde_json::from_value(json!({"name": "pay"})).expect("a tool")];
    bench.studio.set_host(Arc::new(witness), HostDeclaration { ops: vec![HostOp::ToolCall], tools, ..HostDeclaration::default() });
    let trace = run(&bench, graph(json!({"tool_ref": "host:pay", "output_key": "paid"}))).await;
    assert_eq!(trace["trace"]["output"]["paid"]["result"], json!(true), "{trace}");
}
