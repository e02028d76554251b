//! Hosts that bill are told of each run that ended, until they have taken it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use expect_test::expect;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::clock::Clock as _;
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use wfstudio::studio::Studio;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Hands, at, chain, llm, on, plain, run, using};
use crate::support::Bench;

/// Refuses so many times, then takes; passes on everything that it was told.
struct Biller(AtomicUsize, UnboundedSender<Value>);

impl Host for Biller {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        assert_eq!(call.op, HostOp::UsageRecorded);
        let refuses = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        self.1.send(call.payload).expect("a test that listens");
        async move { if refuses { Err(HostFailure::new("the ledger is closed")) } else { Ok(Value::Null) } }.boxed()
    }
}

pub(super) fn bill(studio: &Studio, refusals: usize) -> UnboundedReceiver<Value> {
    let (sender, told) = unbounded_channel();
    let declaration = HostDeclaration { ops: vec![HostOp::UsageRecorded], ..HostDeclaration::default() };
    studio.set_host(Arc::new(Biller(AtomicUsize::new(refusals), sender)), declaration);
    told
}

pub(super) async fn next(told: &mut UnboundedReceiver<Value>) -> Value {
    tokio::time::timeout(Duration::from_secs(60), told.recv()).await.expect("the host is told").expect("it is there")
}

pub(super) fn settings() -> Value {
    let scripts = json!({"m": using(1000, 500), "bad": {"replies": [{"error": "provider_unavailable", "times": 0}]}});
    json!({"usage": {"events": {"enabled": true}}, "providers": {"script": {"scripts": scripts}}})
}

/// A workflow whose middle node is a stored agent.
async fn nested(bench: &Bench) -> String {
    let agent = bench.agent(json!({"name": "Helper", "provider": "script", "model": "m"})).await;
    let node = ("b".to_owned(), "agent", json!({"config_mode": "existing", "agent_id": agent}));
    bench.workflow(chain(&[llm("a", "m"), node])).await
}

/// Nothing is due any more, and nothing waits for later.
pub(super) async fn nothing_is_left(bench: &Bench) {
    let left = || bench.studio.world().store.read(wfstudio::store::upkeep::outbox::next_due);
    for _ in 0..6000 {
        if left().await.expect("a store").is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("something is left to be told");
}

#[tokio::test]
async fn a_run_and_its_children_are_told_once() {
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), settings());
    let mut told = bill(&bench.studio, 0);
    let workflow = nested(&bench).await;
    let run = run(&bench, &workflow).await;
    let (mut one, mut other) = (next(&mut told).await, next(&mut told).await);
    if one["parentRunId"].is_null() {
        std::mem::swap(&mut one, &mut other);
    }
    assert_eq!((&one["parentRunId"], &other["run"]), (&json!(run), &json!(run)));
    expect![[r##"
        {"event":"RunUsageRecorded","eventId":"#1","run":"#2","status":"completed","attempt":1,"promptTokens":1000,"completionTokens":500,"totalTokens":1500,"cachedTokens":0,"cacheWriteTokens":0,"reasoningTokens":0,"estimatedCost":"0.000000","currency":"USD","unpriced":false,"entityType":"agent","entityId":"#3","threadId":"#4","parentRunId":"#5","tenant":"","recordedAt":"2026-11-20T10:00:00.000+00:00","timeout_ms":20000}
        {"event":"RunUsageRecorded","eventId":"#6","run":"#5","status":"completed","attempt":1,"promptTokens":2000,"completionTokens":1000,"totalTokens":3000,"cachedTokens":0,"cacheWriteTokens":0,"reasoningTokens":0,"estimatedCost":"0.000000","currency":"USD","unpriced":false,"entityType":"workflow","entityId":"#7","threadId":"#4","parentRunId":null,"tenant":"","recordedAt":"2026-11-20T10:00:00.000+00:00","timeout_ms":20000}
    "##]].assert_eq(&plain(&format!("{one}\n{other}\n")));
    nothing_is_left(&bench).await;
    assert!(told.try_recv().is_err(), "each was told once");
}

#[tokio::test]
async fn a_host_that_refuses_is_told_again_later() {
    let hands = Hands::at("2026-11-20T10:00:00Z");
    let bench = at(&hands, settings());
    let mut told = bill(&bench.studio, 2);
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    run(&bench, &workflow).await;
    let first = next(&mut told).await;
    for wait in [1_000, 10_000] {
        let world = Arc::clone(bench.studio.world());
        wait_until_due(&bench, hands.as_ref(), wait).await;
        assert!(told.try_recv().is_err(), "it is not told before its time");
        hands.forward(1);
        world.tell_usage().await.expect("a store");
        assert_eq!(next(&mut told).await, first, "the same event");
    }
    nothing_is_left(&bench).await;
}

#[tokio::test]
async fn what_ended_while_the_clock_was_ahead_is_told_when_it_is_right_again() {
    let hands = Hands::at("2029-11-20T10:00:00Z");
    let bench = at(&hands, settings());
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    let run = run(&bench, &workflow).await;
    hands.set("2026-11-20T10:00:00Z");
    let mut told = bill(&bench.studio, 0);
    assert_eq!(next(&mut told).await["run"], json!(run));
    nothing_is_left(&bench).await;
}

/// Goes to the last millisecond before the next try, once the failure of the last one is stored.
async fn wait_until_due(bench: &Bench, hands: &Hands, wait: i64) {
    use wfstudio::clock::Clock as _;
    for _ in 0..6000 {
        let due = bench.studio.world().store.read(wfstudio::store::upkeep::outbox::next_due).await.expect("a store");
        if due.is_some_and(|due| due.0 == hands.now().0 + wait) {
            hands.forward(wait - 1);
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it is not due {wait} ms after its failure");
}

#[tokio::test]
async fn what_a_host_did_not_take_is_told_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("studio.sqlite");
    let path = path.to_str().expect("a path");
    let hands = Hands::at("2026-11-20T10:00:00Z");
    let bench = on(&hands, settings(), path);
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    let quiet = run(&bench, &workflow).await;
    bench.studio.shutdown(Duration::from_secs(5)).await;
    drop(bench);

    let bench = on(&hands, settings(), path);
    let mut told = bill(&bench.studio, usize::MAX);
    bench.studio.runtime().expect("a runtime");
    let refused = next(&mut told).await;
    assert_eq!(refused["run"], quiet);
    bench.studio.shutdown(Duration::from_secs(5)).await;
    drop(bench);

    hands.forward(60_000);
    let bench = on(&hands, settings(), path);
    let mut told = bill(&bench.studio, 0);
    bench.studio.runtime().expect("a runtime");
    assert_eq!(next(&mut told).await, refused);
    nothing_is_left(&bench).await;
}

#[tokio::test]
async fn pauses_are_not_told_retries_are_and_cancels_end_children_too() {
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), settings());
    let mut told = bill(&bench.studio, 0);
    let failing = bench.workflow(chain(&[llm("a", "m"), llm("b", "bad")])).await;
    let failed = run(&bench, &failing).await;
    for attempt in 1..=2 {
        let event = next(&mut told).await;
        let facts = [&event["run"], &event["status"], &event["attempt"], &event["promptTokens"]];
        assert_eq!(facts, [&json!(failed), &json!("failed"), &json!(attempt), &json!(1000)], "{event}");
        if attempt == 1 {
            let again = bench.retry(&failed, json!({})).await.expect("a retry");
            bench.events_text(&again).await;
        }
    }
    let arguments = json!({"order_id": "1", "amount": "2", "reason": "r"});
    let scripted = json!({"replies": [{"tool_calls": [{"name": "issue_refund", "arguments": arguments}], "usage": {"prompt_tokens": 5}}]});
    let mut all = settings();
    all["providers"]["script"]["scripts"]["asks"] = scripted;
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), all);
    let mut told = bill(&bench.studio, 0);
    let tools = json!([{"ref": "toolkit:demo", "require_approval": true}]);
    let agent = bench.agent(json!({"name": "Helper", "provider": "script", "model": "asks", "tools": tools})).await;
    let graph = chain(&[("b".to_owned(), "agent", json!({"config_mode": "existing", "agent_id": agent}))]);
    let paused = run(&bench, &bench.workflow(graph).await).await;
    assert_eq!(bench.trace(&paused).await["trace"]["status"], "awaiting_tool_approval");
    bench.studio.world().tell_usage().await.expect("a store");
    assert!(told.try_recv().is_err(), "a pause is no end");
    bench.studio.cancel(&bench.scope, &paused).await.expect("a cancel");
    let (one, other) = (next(&mut told).await, next(&mut told).await);
    let child = if one["parentRunId"].is_null() { &other } else { &one };
    assert_eq!((&child["entityId"], &child["status"], &child["parentRunId"]), (&json!(agent), &json!("cancelled"), &json!(paused)));
    assert_eq!((&one["promptTokens"], &other["promptTokens"]), (&json!(5), &json!(5)));
    nothing_is_left(&bench).await;
}

#[tokio::test]
async fn nobody_is_told_unless_it_is_switched_on() {
    let mut off = settings();
    off["usage"]["events"]["enabled"] = false.into();
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), off);
    let told = bill(&bench.studio, 0);
    let workflow = nested(&bench).await;
    run(&bench, &workflow).await;
    assert_eq!(bench.studio.world().store.read(wfstudio::store::upkeep::outbox::next_due).await.expect("a store"), None);
    assert!(told.is_empty());
}

#[tokio::test]
async fn a_run_that_never_began_is_told_when_it_is_cancelled() {
    let mut all = settings();
    all["async_runs_enabled"] = true.into();
    all["worker"] = json!({"in_process": false});
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), all);
    let mut told = bill(&bench.studio, 0);
    let workflow = nested(&bench).await;
    let kind = wfstudio::model::event::EntityKind::Workflow;
    let request = wfstudio::studio::runs::requests::RunRequest::parse(&json!({"message": "go"}), kind).expect("a body");
    let queued = bench.studio.start(&bench.scope, kind, &workflow, request, true).await.expect("a run");
    bench.studio.cancel(&bench.scope, &queued.run.to_string()).await.expect("a cancel");
    let event = next(&mut told).await;
    let facts = [&event["run"], &event["status"], &event["attempt"], &event["totalTokens"], &event["estimatedCost"], &event["unpriced"]];
    assert_eq!(facts, [&json!(queued.run), &json!("cancelled"), &json!(1), &json!(0), &json!("0.000000"), &json!(false)], "{event}");
    nothing_is_left(&bench).await;
}

/// Looks once for what nobody takes; how much was given up. A server tells its own time, so that the engine's look is played there.
async fn look(bench: &Bench, hands: &Hands) -> u64 {
    let (world, now) = (bench.studio.world(), hands.now());
    if std::env::var_os("STUDIO_TEST_DATABASE_URL").is_none() {
        return world.give_up_usage().await.expect("a store");
    }
    world.store.write(move |tx| wfstudio::store::upkeep::outbox::give_up(tx, now, 1000)).await.expect("a store")
}

/// Looks for what nobody takes for eight days; how much was given up.
async fn looked_for_a_week(bench: &Bench, hands: &Hands) -> u64 {
    let mut all = 0;
    for _ in 0..8 * 144 {
        hands.forward(600_000);
        all += look(bench, hands).await;
    }
    all
}

async fn due(bench: &Bench) -> bool {
    bench.studio.world().store.read(wfstudio::store::upkeep::outbox::next_due).await.expect("a store").is_some()
}

#[tokio::test]
async fn what_no_host_ever_took_is_given_up_after_a_week() {
    let hands = Hands::at("2026-11-20T10:00:00Z");
    let bench = at(&hands, settings());
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    for _ in 0..3 {
        run(&bench, &workflow).await;
    }
    assert_eq!(look(&bench, &hands).await, 0);
    hands.forward(30 * 86_400_000);
    assert_eq!(look(&bench, &hands).await, 0, "a clock that jumps ahead is no week");
    for _ in 0..2_000 {
        assert_eq!(look(&bench, &hands).await, 0, "nor are many looks at once");
    }
    assert_eq!(looked_for_a_week(&bench, &hands).await, 3);
    assert!(!due(&bench).await);
    run(&bench, &workflow).await;
    hands.forward(600_000);
    assert_eq!(look(&bench, &hands).await, 0, "what came later waits as long");
    assert!(due(&bench).await);
}

#[tokio::test]
async fn what_a_host_takes_is_kept_for_it_by_processes_that_take_nothing() {
    let (hands, folder) = (Hands::at("2026-11-20T10:00:00Z"), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("studio.sqlite");
    let path = path.to_str().expect("a path");
    let other = on(&hands, settings(), path);
    let workflow = other.workflow(chain(&[llm("a", "m")])).await;
    let biller = on(&hands, settings(), path);
    let mut told = bill(&biller.studio, 0);
    biller.studio.start_workers().expect("workers");
    let first = run(&other, &workflow).await;
    assert_eq!(next(&mut told).await["run"], json!(first));
    nothing_is_left(&biller).await;
    biller.studio.shutdown(Duration::from_secs(5)).await;
    drop(biller);
    let second = run(&other, &workflow).await;
    hands.forward(3 * 86_400_000);
    assert_eq!(looked_for_a_week(&other, &hands).await, 0);
    let biller = on(&hands, settings(), path);
    let mut told = bill(&biller.studio, 0);
    biller.studio.start_workers().expect("workers");
    assert_eq!(next(&mut told).await["run"], json!(second));
}
