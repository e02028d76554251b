//! What an engine leaves behind that is closed in the middle of taking a run: somebody else goes on at once, and nobody counts as dead.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::Kind;
use wfstudio::engine::Boundary;
use wfstudio::model::Id;
use wfstudio::model::event::EntityKind;
use wfstudio::store::runs::{self, RunRow};
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Options, Scope, Studio};
use tokio_util::sync::CancellationToken;

use crate::support::Bench;
use crate::support::hands::Hands;

const LONG: Duration = Duration::from_secs(60);

fn settings() -> Value {
    json!({"async_runs_enabled": true, "worker": {"in_process": false}})
}

/// An engine that can be held in the middle of the transaction that takes a run.
struct Held {
    bench: Bench,
    /// The next one is held.
    armed: Arc<AtomicBool>,
    is_held: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

impl Held {
    fn open(folder: &Path) -> Self {
        let (holds, is_held) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let (armed, may_go_on) = (Arc::new(AtomicBool::new(false)), Mutex::new(may_go_on));
        let arms = Arc::clone(&armed);
        let hook = move |boundary, _, _| {
            if boundary == Boundary::Before && arms.swap(false, Ordering::SeqCst) && holds.send(()).is_ok() {
                let _ended = may_go_on.lock().expect("a lock").recv();
            }
        };
        let config = crate::support::config(settings(), folder.join("studio.sqlite").to_str().expect("a path"));
        let studio = Studio::open_with(config, Options { on_append: Some(Arc::new(hook)), ..Options::default() }).expect("a studio");
        Self { bench: Bench { studio, scope: Scope::default() }, armed, is_held, go_on }
    }

    async fn queue(&self, sketch: &str) -> Id {
        let workflow = self.bench.workflow(wfstudio::model::sketch::graph(sketch).expect("a sketch")).await;
        let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Workflow).expect("a body");
        self.bench.studio.start(&self.bench.scope, EntityKind::Workflow, &workflow, request, true).await.expect("a run").run
    }

    /// Takes a step of a worker, whose claim is held; how it ends.
    fn step(&self) -> tokio::task::JoinHandle<wfstudio::Result<()>> {
        self.armed.store(true, Ordering::SeqCst);
        let studio = self.bench.studio.clone();
        let mut working = studio.working(None, Some(1)).expect("a queue");
        working.once = true;
        let step = tokio::spawn(async move { studio.work(working, CancellationToken::new(), |_| ()).await });
        self.is_held.recv_timeout(LONG).expect("a claim");
        step
    }
}

async fn row(bench: &Bench, run: Id) -> RunRow {
    bench.studio.world().store.read(move |tx| runs::get(tx, "", &run)).await.expect("a store").expect("a run")
}

/// It was taken since it had this fence, and nobody holds it any more.
async fn is_given_back(bench: &Bench, run: Id, before: i64) -> bool {
    let row = row(bench, run).await;
    row.fence > before && row.owner.is_none()
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

#[tokio::test(flavor = "multi_thread")]
async fn what_is_being_claimed_goes_back_into_the_queue() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = Held::open(folder.path());
    let run = held.queue("start -> stop").await;
    let step = held.step();
    let studio = held.bench.studio.clone();
    let closing = tokio::spawn(async move { studio.shutdown(LONG).await });
    until("the close", async || held.bench.studio.world().stopping.is_cancelled()).await;
    drop(held.go_on);
    closing.await.expect("a closed engine");
    let told = step.await.expect("an end").expect_err("it took no run");
    assert_eq!(told.kind, Kind::ShuttingDown);
    let next = Bench::on_disk(settings(), folder.path());
    let left = row(&next, run).await;
    assert_eq!((left.status.as_str(), left.owner.as_deref(), left.tries), ("queued", None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_step_begins_once_the_engine_closes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (held, hands) = (Held::open(folder.path()), Hands::default());
    held.bench.studio.set_host(Arc::new(hands.clone()), Hands::declaration());
    let graph = wfstudio::model::sketch::graph("start -> tool_1{tool_ref: \"host:slow\", parameters: {ms: 1}} -> stop").expect("a sketch");
    let workflow = held.bench.workflow(graph).await;
    held.armed.store(true, Ordering::SeqCst);
    let (studio, closes) = (held.bench.studio.clone(), held.bench.studio.clone());
    let starting = tokio::spawn(async move {
        let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Workflow).expect("a body");
        studio.start(&Scope::default(), EntityKind::Workflow, &workflow, request, false).await
    });
    held.is_held.recv_timeout(LONG).expect("a first write");
    let closing = tokio::spawn(async move { closes.shutdown(LONG).await });
    until("the close", async || held.bench.studio.world().stopping.is_cancelled()).await;
    drop(held.go_on);
    closing.await.expect("a closed engine");
    let run = starting.await.expect("an end").expect("a run").run;
    assert_eq!(hands.calls(), Vec::<String>::new(), "its first step had not begun");
    let next = Bench::on_disk(settings(), folder.path());
    next.studio.set_host(Arc::new(hands.clone()), Hands::declaration());
    next.studio.take_over().await.expect("a studio");
    until("the end of the run", async || row(&next, run).await.status == "completed").await;
    assert_eq!(hands.calls().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_claimed_after_the_time_to_close_is_given_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = Held::open(folder.path());
    let run = held.queue("start -> stop").await;
    let before = row(&held.bench, run).await.fence;
    let _step = held.step();
    held.bench.studio.shutdown(Duration::from_millis(30)).await;
    drop(held.go_on);
    let next = Bench::on_disk(settings(), folder.path());
    until("the claim is made and given back", async || is_given_back(&next, run, before).await).await;
    let world = next.studio.world();
    let taken = world.work().await.expect("a look").map_or(0, |_| 1) + world.take_over().await.expect("a look");
    assert_eq!(taken, 1, "{:?}", row(&next, run).await);
    until("its end", async || row(&next, run).await.status == "completed").await;
    assert_eq!(row(&next, run).await.takeovers, 0, "nobody died");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_closes_ends_no_run_that_others_died_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = Held::open(folder.path());
    let run = held.queue("start -> stop").await;
    let store = held.bench.studio.world().store.clone();
    store.write(|tx| tx.execute("UPDATE #runs SET takeovers = 9", &[])).await.expect("a run that nine owners died with");
    let step = held.step();
    let studio = held.bench.studio.clone();
    let closing = tokio::spawn(async move { studio.shutdown(LONG).await });
    until("the close", async || held.bench.studio.world().stopping.is_cancelled()).await;
    drop(held.go_on);
    closing.await.expect("a closed engine");
    assert_eq!(step.await.expect("an end").expect_err("it took no run").kind, Kind::ShuttingDown);
    let next = Bench::on_disk(settings(), folder.path());
    let left = row(&next, run).await;
    assert_eq!((left.status.as_str(), left.owner.as_deref(), left.error), ("queued", None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_comes_after_the_close_began_is_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = Held::open(folder.path());
    let run = held.queue("start -> stop").await;
    let world = Arc::clone(held.bench.studio.world());
    let fence = row(&held.bench, run).await.fence;
    world.stopping.cancel();
    assert_eq!(world.work().await.expect("a look"), None);
    assert_eq!(row(&held.bench, run).await.fence, fence, "it was not touched");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_stored_after_the_time_to_close_is_kept_and_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let held = Held::open(folder.path());
    let run = held.queue("start -> human_1{\"prompt\": \"Well?\", \"output_key\": \"said\"} -> stop").await;
    held.bench.studio.world().work().await.expect("a run");
    until("a pause", async || row(&held.bench, run).await.status == "awaiting_input").await;
    let before = row(&held.bench, run).await.fence;
    held.armed.store(true, Ordering::SeqCst);
    let (studio, scope) = (held.bench.studio.clone(), held.bench.scope.clone());
    let body = wfstudio::studio::runs::requests::ResumeRequest::parse(&json!({"message": "yes"})).expect("a body");
    drop(tokio::spawn(async move { studio.resume(&scope, &run.to_string(), body, false).await }));
    held.is_held.recv_timeout(LONG).expect("an answer");
    held.bench.studio.shutdown(Duration::from_millis(30)).await;
    drop(held.go_on);
    let next = Bench::on_disk(settings(), folder.path());
    until("the answer is stored and the run given back", async || is_given_back(&next, run, before).await).await;
    assert_eq!(row(&next, run).await.status, "running", "the answer is kept");
    assert_eq!(next.studio.take_over().await.expect("a takeover"), 1);
    until("its end", async || row(&next, run).await.status == "completed").await;
    assert_eq!(row(&next, run).await.takeovers, 0, "nobody died");
}
