//! Workers of all kinds beside runs whose owners are gone: a single step, many at once, processes that live only for a moment.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::model::Id;
use wfstudio::studio::Finished;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, folder, marks, single};

const SOON: Duration = Duration::from_secs(60);

fn model(name: &str) -> Value {
    single("llm", json!({"provider": "script", "model": name}))
}

/// One step of a worker; the ends that it told.
async fn step(bench: &Bench) -> Vec<(Id, String)> {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&ends);
    let mut working = bench.studio.working(None, Some(1)).expect("a queue");
    working.once = true;
    let tell = move |done: Finished| told.lock().expect("a lock").push((done.run, done.status.as_str().to_owned()));
    bench.studio.work(working, CancellationToken::new(), tell).await.expect("a step");
    let ends = ends.lock().expect("a lock").clone();
    ends
}

/// A run whose owner gave it back in the middle of a step.
async fn given_back(folder: &std::path::Path, graph: Value) -> Id {
    let owner = Bench::open(folder, json!({}));
    let workflow = owner.workflow("left", graph).await;
    let run = owner.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    owner.studio.shutdown(Duration::from_millis(300)).await;
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_takes_a_job_first_and_an_abandoned_run_when_none_waits() {
    let folder = folder();
    let left = given_back(folder.path(), model("slow")).await;
    let bench = Bench::open(folder.path(), json!({}));
    let talk = bench.workflow("talk", model("talk")).await;
    let job = bench.start(&talk, json!({"message": "hi"}), true).await.expect("a run").run;
    assert_eq!(step(&bench).await, [(job, "completed".to_owned())]);
    assert_eq!(bench.row(&left).await.status, "running", "nobody took it");
    assert_eq!(step(&bench).await, [(left, "completed".to_owned())], "it is waited for");
    assert_eq!(step(&bench).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_at_once_answer_each_its_own_job_beside_a_busy_worker() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({"worker": {"in_process": true, "concurrency": 1}}));
    let slow = bench.workflow("slow", model("slow")).await;
    let start = async || bench.start(&slow, json!({"message": "hi"}), true).await.expect("a run").run;
    let first = start().await;
    bench.until(&first, "running", SOON).await;
    let mut jobs = vec![start().await, start().await];
    let (one, other) = tokio::join!(step(&bench), step(&bench));
    let mut told: Vec<Id> = one.iter().chain(&other).map(|(run, _)| *run).collect();
    assert_eq!((one.len(), other.len()), (1, 1), "{one:?} {other:?}");
    told.sort();
    jobs.sort();
    assert_eq!(told, jobs);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_live_for_a_moment_do_not_count_as_dead_owners() {
    let folder = folder();
    let run = given_back(folder.path(), model("slow")).await;
    for _ in 0..5 {
        let bench = Bench::open(folder.path(), json!({}));
        assert_eq!(bench.studio.take_over().await.expect("a studio"), 1);
        tokio::time::sleep(Duration::from_millis(50)).await;
        bench.studio.shutdown(Duration::from_millis(300)).await;
    }
    let last = Bench::open(folder.path(), json!({}));
    assert_eq!(last.studio.take_over().await.expect("a studio"), 1);
    let row = last.until(&run, "completed", SOON).await;
    assert_eq!(row.takeovers, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn abandoned_runs_are_driven_as_many_at_once_as_a_worker_takes() {
    let folder = folder();
    let owner = Bench::open(folder.path(), json!({}));
    let slow = owner.workflow("slow", model("slow")).await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(owner.start(&slow, json!({"message": "hi"}), false).await.expect("a run").run);
    }
    owner.studio.shutdown(Duration::from_millis(300)).await;
    let next = Bench::open(folder.path(), json!({"worker": {"in_process": true, "concurrency": 1}}));
    next.studio.start_workers().expect("a studio");
    let mut most = 0;
    for _ in 0..3000 {
        most = most.max(next.studio.world().at_work());
        let mut over = true;
        for run in &runs {
            over &= next.row(run).await.status == "completed";
        }
        if over {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(most, 1);
    for run in &runs {
        assert_eq!(next.row(run).await.status, "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_only_opened_takes_nothing_until_it_is_started() {
    let folder = folder();
    let run = given_back(folder.path(), model("talk")).await;
    let web = Bench::open(folder.path(), json!({}));
    let talk = web.workflow("talk", model("talk")).await;
    let job = web.start(&talk, json!({"message": "hi"}), true).await.expect("a run").run;
    let worker = Bench::open(folder.path(), json!({"worker": {"in_process": true}}));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(web.row(&job).await.status, "queued");
    worker.studio.start_workers().expect("a studio");
    web.until(&job, "completed", SOON).await;
    web.until(&run, "completed", SOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_its_owner_is_leaving_hears_a_cancel() {
    let folder = folder();
    // The tool does not heed the cancel: it is given up after this time.
    let settings = json!({"timeouts": {"cancel_grace_ms": 500}});
    let (own, other) = (Bench::open(folder.path(), settings.clone()), Bench::open(folder.path(), settings));
    let workflow = own.workflow("slow", single("tool", json!({"tool_ref": "host:slow_pay"}))).await;
    let run = own.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    while marks(&own.effects).is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let leaving = {
        let studio = own.studio.clone();
        tokio::spawn(async move { studio.let_go(CancellationToken::new()).await })
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    other.studio.cancel(&other.scope, &run.to_string()).await.expect("a cancel");
    other.until(&run, "cancelled", SOON).await;
    leaving.await.expect("its end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_its_owner_is_leaving_keeps_to_its_working_time() {
    let folder = folder();
    let own = Bench::open(folder.path(), json!({"timeouts": {"run_seconds": 1}}));
    let workflow = own.workflow("slow", single("tool", json!({"tool_ref": "host:slow_pay"}))).await;
    let run = own.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    while marks(&own.effects).is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    own.studio.let_go(CancellationToken::new()).await;
    let next = Bench::open(folder.path(), json!({}));
    let row = next.row(&run).await;
    assert_eq!((row.status.as_str(), row.error.expect("an error")["code"].as_str()), ("failed", Some("run_timeout")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_place_of_a_run_that_nobody_reads_is_free_as_soon_as_it_is_over() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({"worker": {"in_process": true, "concurrency": 1}}));
    let talk = bench.workflow("talk", model("talk")).await;
    let mut last = bench.start(&talk, json!({"message": "hi"}), true).await.expect("a run").run;
    bench.until(&last, "completed", SOON).await;
    let began = std::time::Instant::now();
    for _ in 0..40 {
        last = bench.start(&talk, json!({"message": "hi"}), true).await.expect("a run").run;
    }
    bench.until(&last, "completed", SOON).await;
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
