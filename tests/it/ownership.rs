//! Who works on a run, and when: one that another has taken is left at once, one that is due later waits for its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use wfstudio::model::event::EntityKind;
use wfstudio::model::{Id, Timestamp};
use wfstudio::store::runs::queue;
use wfstudio::store::runs::{self, RunRow};
use wfstudio::studio::runs::requests::RunRequest;

use crate::support::Bench;
use crate::support::hands::Hands;

const FAR: Timestamp = Timestamp(i64::MAX / 2);

async fn row(bench: &Bench, run: Id) -> RunRow {
    bench.studio.world().store.read(move |tx| runs::get(tx, "", &run)).await.expect("a store").expect("a run")
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..6000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not come true within 60 s");
}

#[tokio::test]
async fn a_run_that_another_has_taken_is_left_in_the_middle_of_a_step() {
    let bench = Bench::new(json!({"runs": {"lease_seconds": 1}}));
    let hands = Hands::default();
    bench.studio.set_host(Arc::new(hands.clone()), Hands::declaration());
    let place = json!({"x": 0, "y": 0});
    let node = |id: &str, kind: &str, data| json!({"id": id, "type": kind, "position": place, "data": data});
    let edge = |from: &str, to: &str| json!({"id": from, "source": from, "target": to, "sourceHandle": "default", "targetHandle": "default"});
    let nodes = [node("start", "start", json!({})), node("a", "tool", json!({"tool_ref": "host:stuck"})), node("stop", "stop", json!({}))];
    let workflow = bench.workflow(json!({"version": 1, "nodes": nodes, "edges": [edge("start", "a"), edge("a", "stop")]})).await;
    let run = bench.start(&workflow, json!({"message": "go"})).await.run;
    until("a call", async || hands.calls().len() == 1).await;
    let before = row(&bench, run).await;
    let taken = bench.studio.world().store.write(move |tx| queue::claim(tx, "", &run, before.fence, "another", FAR)).await;
    let taken = taken.expect("a store").expect("it was there to be taken");
    until("the call is given up", async || hands.calls().iter().any(|call| call.starts_with("cancel "))).await;
    let after = row(&bench, run).await;
    let told = |row: &RunRow| (row.status.clone(), row.owner.clone(), row.fence, row.head, row.lease_until);
    assert_eq!(told(&after), told(&taken), "nothing more was written by who lost it");
}

/// A lease is written anew each third of its time and no more often: a run at work that writes nothing leaves the database alone.
#[tokio::test]
async fn a_lease_is_renewed_each_third_of_its_time_only() {
    let providers = json!({"script": {"scripts": {"m": {"replies": [{"text": "late", "delay_ms": 60_000}]}}}});
    let bench = Bench::new(json!({"runs": {"lease_seconds": 1}, "providers": providers}));
    let place = json!({"x": 0, "y": 0});
    let node = |id: &str, kind: &str, data| json!({"id": id, "type": kind, "position": place, "data": data});
    let edge = |from: &str, to: &str| json!({"id": from, "source": from, "target": to, "sourceHandle": "default", "targetHandle": "default"});
    let asks = json!({"provider": "script", "model": "m", "output_key": "said"});
    let nodes = [node("start", "start", json!({})), node("a", "llm", asks), node("stop", "stop", json!({}))];
    let workflow = bench.workflow(json!({"version": 1, "nodes": nodes, "edges": [edge("start", "a"), edge("a", "stop")]})).await;
    let run = bench.start(&workflow, json!({"message": "go"})).await.run;
    let (began, mut ends) = (std::time::Instant::now(), Vec::new());
    for looks in 0..3_000 {
        ends.push(row(&bench, run).await.lease_until);
        ends.dedup();
        if looks >= 150 && ends.len() >= 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(row(&bench, run).await.status, "running");
    // Looks take longer on a busy machine: so many thirds of a second may have passed, and twice as many are no more than a few.
    let most = 5.0 + began.elapsed().as_secs_f64() * 6.0;
    assert!(ends.len() >= 2 && ends.len() as f64 <= most, "it was renewed {} times in {:?}", ends.len(), began.elapsed());
}

#[tokio::test]
async fn a_failure_that_may_pass_waits_for_its_time_in_the_queue() {
    let script = json!({"m": {"replies": [{"error": "provider_unavailable"}, {"text": "well"}]}});
    let settings = json!({"async_runs_enabled": true, "queue_tries": 2, "queue_backoff": 3600, "worker": {"in_process": false}, "providers": {"script": {"scripts": script}}});
    let bench = Bench::new(settings);
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m"})).await;
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Agent).expect("a body");
    let run = bench.studio.start(&bench.scope, EntityKind::Agent, &agent, request, true).await.expect("a run").run;
    let world = bench.studio.world();
    assert_eq!(world.work().await.expect("work"), Some(run));
    until("a second try", async || row(&bench, run).await.status == "queued").await;
    assert_eq!(world.work().await.expect("work"), None, "it is not due yet");
    let due = row(&bench, run).await.available_at.expect("a time").0 - world.clock.now().0;
    assert!((3_000_000..=3_600_000).contains(&due), "it is due in {due} ms");
}

/// A host whose `boom` panics as soon as its `pay` has answered, while the run is still being driven with that answer.
#[derive(Clone, Default)]
struct Boom {
    paid: Arc<AtomicBool>,
    payments: Arc<AtomicU32>,
    booms: Arc<AtomicU32>,
}

impl Host for Boom {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let (host, pays) = (self.clone(), call.payload["name"] == "pay");
        [&host.booms, &host.payments][usize::from(pays)].fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::poll_fn(move |context| {
            if pays && host.booms.load(Ordering::SeqCst) > 0 {
                host.paid.store(true, Ordering::SeqCst);
                return Poll::Ready(Ok(json!("paid")));
            }
            assert!(pays || !host.paid.load(Ordering::SeqCst), "boom");
            context.waker().wake_by_ref();
            Poll::Pending
        }))
    }
}

#[tokio::test]
async fn what_a_call_gave_is_stored_although_another_panics_at_once() {
    let bench = Bench::new(json!({"runs": {"lease_seconds": 1}}));
    let host = Boom::default();
    let tool = |name: &str| HostTool {
        name: name.into(),
        description: "A tool".into(),
        input_schema: json!({"type": "object"}),
        require_approval: false,
        idempotent: false,
        timeout_ms: None,
    };
    let declaration = HostDeclaration { ops: vec![HostOp::ToolCall], tools: vec![tool("pay"), tool("boom")], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(host.clone()), declaration);
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> tool_1{tool_ref: \"host:pay\"} -> join_1; fork_1.b -> tool_2{tool_ref: \"host:boom\"} -> join_1";
    let workflow = bench.workflow(wfstudio::model::sketch::graph(sketch).expect("a sketch")).await;
    let run = bench.start(&workflow, json!({"message": "go"})).await.run.to_string();
    let paid = async || {
        let trace = bench.trace(&run).await;
        let steps = trace["steps"].as_array().expect("steps").clone();
        steps.iter().any(|step| step["node_id"] == "tool_1" && step["status"] == "completed")
    };
    until("the payment is in the log", paid).await;
    assert_eq!(host.payments.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_cancel_is_told_to_the_owner_while_its_lease_lasts_and_made_here_when_it_is_over() {
    let idle = json!({"worker": {"in_process": false}});
    let folder = tempfile::tempdir().expect("a folder");
    let (owner, other) = (Bench::on_disk(idle.clone(), folder.path()), Bench::on_disk(idle, folder.path()));
    let hands = Hands::default();
    owner.studio.set_host(Arc::new(hands.clone()), Hands::declaration());
    let sketch = "start -> tool_1{tool_ref: \"host:stuck\"} -> stop";
    let workflow = owner.workflow(wfstudio::model::sketch::graph(sketch).expect("a sketch")).await;
    for over in [false, true] {
        let before = hands.calls().len();
        let run = owner.start(&workflow, json!({"message": "go"})).await.run;
        until("a call", async || hands.calls().len() > before).await;
        let mut held = row(&other, run).await;
        if over {
            let taken = other.studio.world().store.write(move |tx| queue::claim(tx, "", &run, held.fence, "gone", Timestamp(1))).await;
            held = taken.expect("a store").expect("it was there to be taken");
        }
        let (_, told) = other.studio.cancel(&other.scope, &run.to_string()).await.expect("a cancel");
        assert!(!over || told.as_str() == "cancelled", "nobody else is to end it: {}", told.as_str());
        until("the end", async || row(&other, run).await.status == "cancelled").await;
        let ended = row(&other, run).await;
        assert_eq!(ended.fence, held.fence + i64::from(over), "whoever holds it ends it, and nobody takes it from them");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lease_is_kept_while_the_log_of_a_claimed_run_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite").to_string_lossy().into_owned();
    let scripts = json!({"m": {"replies": [{"text": "Well.", "delay_ms": 300}]}});
    let providers = json!({"script": {"scripts": scripts}});
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}, "runs": {"lease_seconds": 6}, "providers": providers});
    let open = |options| wfstudio::Studio::open_with(crate::support::config(settings.clone(), &file), options).expect("a studio");
    let bench = |studio| Bench { studio, scope: wfstudio::studio::Scope::default() };
    let (claimed, slow) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (seen, once) = (Arc::clone(&claimed), Arc::clone(&slow));
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let may_go_on = std::sync::Mutex::new(may_go_on);
    // Nothing is read of the run until its lease was renewed.
    let hook = move |boundary, _, _| {
        if boundary == wfstudio::engine::Boundary::After && once.swap(false, Ordering::SeqCst) {
            seen.store(true, Ordering::SeqCst);
            let _ended = may_go_on.lock().expect("a lock").recv();
        }
    };
    let options = wfstudio::studio::Options { on_append: Some(Arc::new(hook)), ..Default::default() };
    let (own, other) = (bench(open(options)), bench(open(wfstudio::studio::Options::default())));
    own.studio.runtime().expect("a runtime");
    let agent = own.agent(json!({"name": "A", "provider": "script", "model": "m"})).await;
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Agent).expect("a body");
    let run = own.studio.start(&own.scope, EntityKind::Agent, &agent, request, true).await.expect("a run").run;
    slow.store(true, Ordering::SeqCst);
    let world = Arc::clone(own.studio.world());
    let worker = tokio::spawn(async move { world.work().await });
    until("the claim", async || claimed.load(Ordering::SeqCst)).await;
    // Twice: the first time may have been under way when it was claimed.
    let mut ends = vec![row(&other, run).await.lease_until];
    until("its lease is renewed", async || {
        assert_eq!(other.studio.take_over().await.expect("a studio"), 0, "a live run was taken");
        ends.push(row(&other, run).await.lease_until);
        ends.dedup();
        ends.len() > 2
    })
    .await;
    drop(go_on);
    let mut taken = 0;
    while !worker.is_finished() {
        taken += other.studio.take_over().await.expect("a studio");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!((taken, worker.await.expect("a task").expect("work")), (0, Some(run)), "a live run was taken");
    until("its end", async || row(&own, run).await.status == "completed").await;
    let row = row(&own, run).await;
    assert_eq!((row.fence, row.takeovers), (2, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_that_cannot_be_read_is_not_ended_by_who_lost_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite").to_string_lossy().into_owned();
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}});
    let open = |options| wfstudio::Studio::open_with(crate::support::config(settings.clone(), &file), options).expect("a studio");
    let first = Bench { studio: open(wfstudio::studio::Options::default()), scope: wfstudio::studio::Scope::default() };
    let agent = first.agent(json!({"name": "A", "provider": "script", "model": "echo"})).await;
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Agent).expect("a body");
    let run = first.studio.start(&first.scope, EntityKind::Agent, &agent, request, true).await.expect("a run").run;
    let lost = first.studio.world().store.write(|tx| tx.execute("DELETE FROM #parts", &[]).map(drop));
    lost.await.expect("a store");
    // Another takes the run as soon as it is claimed here.
    let other = first.studio.clone();
    let hook = move |boundary, id: Id, _| {
        if boundary == wfstudio::engine::Boundary::After && id == run {
            let other = other.clone();
            let taking = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                let take = other.world().store.write(move |tx| queue::claim(tx, "", &run, 2, "another", FAR));
                assert!(runtime.block_on(take).expect("a store").is_some(), "it was there to be taken");
            });
            taking.join().expect("a thread");
        }
    };
    let options = wfstudio::studio::Options { on_append: Some(Arc::new(hook)), ..Default::default() };
    let next = Bench { studio: open(options), scope: wfstudio::studio::Scope::default() };
    assert_eq!(next.studio.world().work().await.expect("work"), Some(run));
    let row = row(&next, run).await;
    assert_eq!((row.status.as_str(), row.owner.as_deref(), row.fence, row.error), ("running", Some("another"), 3, None));
}

/// A studio on a folder whose jobs wait until somebody takes a step.
fn stepping(folder: &std::path::Path) -> Bench {
    let scripts = json!({"echo": {"replies": [{"text": "Well.", "times": 0}]}});
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}, "providers": {"script": {"scripts": scripts}}});
    Bench::on_disk(settings, folder)
}

/// The runs that a worker tells which ends by itself.
async fn worked(bench: &Bench, once: bool) -> Vec<Id> {
    let mut working = bench.studio.working(None, Some(1)).expect("a queue");
    (working.once, working.until_empty) = (once, !once);
    let ended = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&ended);
    bench.studio.work(working, Default::default(), move |finished| told.lock().expect("a lock").push(finished.run)).await.expect("a store");
    let ended = ended.lock().expect("a lock").clone();
    ended
}

/// On a server, a claim passes by a row that another connection holds. That connection may end without having taken the job.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_that_ends_by_itself_does_not_end_while_a_job_is_only_held() {
    if crate::support::place::on_server("").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (bench, other) = (stepping(folder.path()), stepping(folder.path()));
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "echo"})).await;
    for (once, takes, millis) in [(true, false, 300), (false, false, 300), (true, true, 300), (true, false, 4_000)] {
        let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Agent).expect("a body");
        let run = bench.studio.start(&bench.scope, EntityKind::Agent, &agent, request, true).await.expect("a run").run;
        let (holds, held) = std::sync::mpsc::channel();
        let (store, now) = (other.studio.world().store.clone(), other.studio.world().clock.now());
        let holding = tokio::spawn(async move {
            let hold = move |tx: &mut wfstudio::store::Tx<'_>| {
                let taken = queue::claim_queued(tx, "default", "another", now, Timestamp(now.0 + 600_000), 1)?;
                let _nobody_listens = holds.send(taken.len());
                std::thread::sleep(Duration::from_millis(millis));
                // The process dies, or it keeps what it took.
                if takes { Ok(()) } else { Err(wfstudio::store::StoreError::Busy) }
            };
            store.write(hold).await
        });
        assert_eq!(tokio::task::spawn_blocking(move || held.recv_timeout(Duration::from_secs(10))).await.expect("a task"), Ok(1));
        let began = std::time::Instant::now();
        let told = worked(&bench, once).await;
        let wanted = if takes || millis > 3_000 { Vec::new() } else { vec![run] };
        assert_eq!(told, wanted, "once: {once}, takes: {takes}, held for {millis} ms");
        assert!(began.elapsed() < Duration::from_millis(3_500), "{:?}", began.elapsed());
        assert_eq!(holding.await.expect("a task").is_ok(), takes);
        if wanted.is_empty() && !takes {
            assert_eq!(worked(&bench, true).await, [run], "it waits still");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_is_told_where_a_log_ends_before_and_after_an_answer() {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let hook = move |boundary, _, head| seen.lock().expect("a lock").push((boundary, head));
    let options = wfstudio::studio::Options { on_append: Some(Arc::new(hook)), ..Default::default() };
    let studio = wfstudio::Studio::open_with(crate::support::config(json!({}), ":memory:"), options).expect("a studio");
    let bench = Bench { studio, scope: wfstudio::studio::Scope::default() };
    let workflow = bench.workflow(wfstudio::model::sketch::graph("start -> human_1 -> stop").expect("a sketch")).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    bench.events_text(&started).await;
    let run = started.run;
    // What is written is told of after it can be read.
    let mut head = 0;
    until("the pause is written and told of", async || {
        let row = row(&bench, run).await;
        head = row.head;
        let last = told.lock().expect("a lock").last().copied();
        row.status == "awaiting_input" && last == Some((wfstudio::engine::Boundary::After, head))
    })
    .await;
    told.lock().expect("a lock").clear();
    bench.resume(&run.to_string(), json!({"message": "yes"})).await.expect("an answer");
    let first = told.lock().expect("a lock")[..2].to_vec();
    assert_eq!(first, [(wfstudio::engine::Boundary::Before, head), (wfstudio::engine::Boundary::After, head + 1)]);
}
