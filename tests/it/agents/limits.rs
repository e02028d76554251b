//! Limits of providers: who waits for room, how long, what ends a wait, and what is told of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use wfstudio::model::sketch;
use wfstudio::studio::{Scope, Started};

use super::cloud::Cloud;
use crate::support::Bench;

async fn workflow(bench: &Bench, node: &str) -> String {
    bench.workflow(sketch::graph(&format!("start -> {node} -> stop")).expect("a graph")).await
}

async fn go(bench: &Bench, workflow: &str) -> (String, Value) {
    let started = bench.start(workflow, json!({"message": "hi"})).await;
    (bench.events_text(&started).await, bench.trace(&started.run.to_string()).await)
}

fn of_tenant(bench: &Bench, tenant: &str) -> Bench {
    Bench { studio: bench.studio.clone(), scope: Scope { tenant: tenant.into(), ..Scope::default() } }
}

fn waited(trace: &Value) -> u64 {
    trace["spans"][0]["waited_ms"].as_u64().unwrap_or(0)
}

/// Waits until a call of a run is begun that has to wait in the line of its provider.
async fn in_line(bench: &Bench, started: &Started) {
    let mut looks = 0;
    while bench.trace(&started.run.to_string()).await["spans"].as_array().is_none_or(Vec::is_empty) {
        assert!(looks < 6_000, "no call is begun");
        looks += 1;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // It comes to the line as soon as its begin is on record; nothing tells of it.
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// What a refusal says of how long calls are held: an hour, less what has passed since.
fn holds_for_an_hour(told: &str) -> bool {
    let seconds = told.split("asked for no calls for ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    seconds.is_some_and(|seconds| (3_000..=3_600).contains(&seconds))
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what} did not come true within 60 s");
}

#[tokio::test]
async fn tenants_wait_for_one_another_and_the_wait_is_no_part_of_the_call() {
    let cloud = Cloud::start().await;
    // Less than the last one waits, and much more than a call takes: a wait counts for no timeout.
    let bench = cloud.bench(json!({"providers": {"one": {"limits": {"concurrent": 1}, "timeout_ms": 5000}}}));
    let [a, b] = ["a", "b"].map(|tenant| of_tenant(&bench, tenant));
    let mut flows = Vec::new();
    for (bench, model) in [(&a, "gated"), (&a, "slow-a1"), (&a, "slow-a2"), (&b, "slow-b1")] {
        flows.push((bench, model, workflow(bench, &format!("llm_1{{provider: one, model: {model}}}")).await));
    }
    let mut runs = Vec::new();
    for (n, (bench, _, flow)) in flows.iter().enumerate() {
        let started = bench.start(flow, json!({"message": "hi"})).await;
        runs.push((bench, started));
        if n == 0 {
            until("the first call", || !cloud.asked().is_empty()).await;
        } else {
            // Each is in the line before the next comes.
            in_line(runs[n].0, &runs[n].1).await;
        }
    }
    tokio::time::sleep_until((cloud.asked()[0].at + Duration::from_secs(3)).into()).await;
    cloud.gate.0.add_permits(1);
    let mut waits = Vec::new();
    for (bench, started) in &runs {
        assert!(bench.events_text(started).await.contains("trace_completed"));
        let trace = bench.trace(&started.run.to_string()).await;
        waits.push(waited(&trace));
    }
    assert_eq!(cloud.names(), ["one/gated", "one/slow-a1", "one/slow-b1", "one/slow-a2"], "one after another among tenants");
    assert_eq!(cloud.most.load(std::sync::atomic::Ordering::SeqCst), 1);
    // A slow call takes 1.5 s.
    assert!(waits[0] == 0 && waits[1] > 0 && waits[3] >= 1_500 && waits[2] >= 3_000, "{waits:?}");
}

#[tokio::test]
async fn a_cancel_ends_a_wait_and_nothing_was_asked() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({"providers": {"one": {"limits": {"concurrent": 1}}}}));
    let (held, waits) = (workflow(&bench, "llm_1{provider: one, model: silent}").await, workflow(&bench, "llm_1{provider: one, model: ok}").await);
    let held = bench.start(&held, json!({"message": "hi"})).await;
    until("the first call", || !cloud.asked().is_empty()).await;
    let waits = bench.start(&waits, json!({"message": "hi"})).await;
    in_line(&bench, &waits).await;
    let began = Instant::now();
    for run in [&waits, &held] {
        bench.studio.cancel(&bench.scope, &run.run.to_string()).await.expect("a cancel");
        assert!(bench.events_text(run).await.contains("trace_cancelled"));
    }
    // The call under way would be answered after 30 s.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let trace = bench.trace(&waits.run.to_string()).await;
    assert_eq!((&trace["spans"][0]["status"], cloud.names()), (&json!("cancelled"), vec!["one/silent".to_owned()]));
    // What was not asked took nothing; what was asked and told nothing has no known cost.
    let unpriced = async |run: &Started| bench.trace(&run.run.to_string()).await["trace"]["unpriced"].clone();
    assert_eq!((unpriced(&waits).await, unpriced(&held).await), (json!(false), json!(true)));
    // The room of both is free again.
    let next = workflow(&bench, "llm_1{provider: one, model: ok}").await;
    let (told, trace) = go(&bench, &next).await;
    assert!(told.contains("Hi from ok") && waited(&trace) == 0, "{told}");
}

#[tokio::test]
async fn a_wait_that_is_too_long_fails_and_the_fallback_answers() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({"limits": {"provider_wait_ms": 150}, "providers": {"one": {"limits": {"requests_per_minute": 1}}}}));
    let flow = workflow(&bench, "llm_1{provider: one, model: ok}").await;
    assert!(go(&bench, &flow).await.0.contains("trace_completed"));
    let (told, trace) = go(&bench, &flow).await;
    assert!(told.contains("\"code\":\"provider_rate_limited\"") && told.contains("the limits of `one` allowed no call within 150 ms"), "{told}");
    // A minute would have to pass.
    assert!((150..30_000).contains(&waited(&trace)), "{trace:#}");
    assert_eq!(trace["spans"][0]["total_tokens"], 0, "nothing was asked");
    let flow = workflow(&bench, "llm_1{provider: one, model: ok, fallbacks: [{provider: two, model: ok}]}").await;
    assert!(go(&bench, &flow).await.0.contains("Hi from ok"));
    assert_eq!(cloud.names(), ["one/ok", "two/ok"]);
}

#[tokio::test]
async fn tokens_that_were_reported_are_counted() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({"limits": {"provider_wait_ms": 100}, "providers": {"one": {"limits": {"tokens_per_minute": 29}}}}));
    let flow = workflow(&bench, "llm_1{provider: one, model: ok}").await;
    for (n, ends) in ["trace_completed", "trace_completed", "provider_rate_limited"].iter().enumerate() {
        let (told, _) = go(&bench, &flow).await;
        assert!(told.contains(ends), "{n}: {told}");
    }
}

#[tokio::test]
async fn a_rest_that_the_provider_asks_for_holds_all_calls_to_it() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({"providers": {"one": {"max_retries": 1}}}));
    let other = of_tenant(&bench, "b");
    let (first, next) = (workflow(&bench, "llm_1{provider: one, model: rest}").await, workflow(&other, "llm_1{provider: one, model: ok}").await);
    let first = bench.start(&first, json!({"message": "hi"})).await;
    until("the first call", || !cloud.asked().is_empty()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (told, trace) = go(&other, &next).await;
    assert!(told.contains("Hi from ok") && waited(&trace) > 0, "{trace:#}");
    assert!(bench.events_text(&first).await.contains("Hi from rest"));
    let asked = cloud.asked();
    assert!(asked.len() == 3 && asked[1..].iter().all(|one| one.at - asked[0].at >= Duration::from_millis(3_990)), "{asked:?}");
    let (_, trace) = go(&other, &next).await;
    assert_eq!(trace["spans"][0].get("waited_ms"), None, "where nobody waits nothing is told");
}

/// An application whose tenants have keys of their own under one name.
struct Keys;

impl Host for Keys {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let key = format!("key of {}", call.payload["tenant"].as_str().unwrap_or_default());
        Box::pin(async move { Ok(json!({ "value": key })) })
    }
}

#[tokio::test]
async fn a_rest_that_one_tenants_key_earned_holds_no_call_with_the_key_of_another() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({}));
    bench.studio.set_host(Arc::new(Keys), HostDeclaration { ops: vec![HostOp::SecretGet], ..HostDeclaration::default() });
    let [a, b] = ["a", "b"].map(|tenant| of_tenant(&bench, tenant));
    let (used_up, next) = (workflow(&a, "llm_1{provider: one, model: quota}").await, workflow(&a, "llm_1{provider: one, model: ok}").await);
    let other = workflow(&b, "llm_1{provider: one, model: ok}").await;
    assert!(go(&a, &used_up).await.0.contains("the quota of today is used up"));
    let (told, _) = go(&a, &next).await;
    assert!(holds_for_an_hour(&told), "its own calls are held: {told}");
    let (told, trace) = go(&b, &other).await;
    assert!(told.contains("Hi from ok") && trace["spans"][0].get("waited_ms").is_none(), "{told}");
    let keys: Vec<String> = cloud.asked().iter().map(|asked| asked.key.clone()).collect();
    assert_eq!(keys, ["Bearer key of a", "Bearer key of b"]);
}

#[tokio::test]
async fn a_rest_that_an_agents_own_key_earned_holds_its_calls_and_no_others() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({"providers": {"one": {"max_retries": 0}}}));
    let own = |model: &str| format!("llm_1{{provider: one, model: {model}, credential: \"secret:OWN\"}}");
    let (rests, next) = (workflow(&bench, &own("rest")).await, workflow(&bench, &own("ok")).await);
    let shared = workflow(&bench, "llm_1{provider: one, model: ok}").await;
    assert!(go(&bench, &rests).await.0.contains("slow down"));
    let (told, trace) = go(&bench, &shared).await;
    assert!(told.contains("Hi from ok") && trace["spans"][0].get("waited_ms").is_none(), "{trace:#}");
    let (told, trace) = go(&bench, &next).await;
    assert!(told.contains("Hi from ok") && waited(&trace) > 0, "{trace:#}");
    let asked = cloud.asked();
    assert!(asked.len() == 3 && asked[2].at - asked[0].at >= Duration::from_millis(3_990), "{asked:?}");
}

#[tokio::test]
async fn calls_that_wait_for_a_rest_hold_no_call_with_another_key() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({"providers": {"one": {"limits": {"concurrent": 3}, "max_retries": 0}}}));
    let rests = workflow(&bench, "llm_1{provider: one, model: rest}").await;
    let [held, own] = ["", ", credential: \"secret:OWN\""].map(|more| format!("llm_1{{provider: one, model: ok{more}}}"));
    let (held, own) = (workflow(&bench, &held).await, workflow(&bench, &own).await);
    assert!(go(&bench, &rests).await.0.contains("slow down"));
    let held = bench.start(&held, json!({"message": "hi"})).await;
    in_line(&bench, &held).await;
    let (told, trace) = go(&bench, &own).await;
    assert!(told.contains("Hi from ok") && trace["spans"][0].get("waited_ms").is_none(), "{trace:#}");
    assert!(bench.events_text(&held).await.contains("Hi from ok"));
    let trace = bench.trace(&held.run.to_string()).await;
    assert!(waited(&trace) > 0, "{trace:#}");
}
