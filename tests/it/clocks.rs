//! Clocks that jump while runs are at work: what was not worked does not count as work.

use std::sync::{Arc, OnceLock};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use wfstudio::Studio;
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::engine::Boundary;
use wfstudio::model::{Id, Timestamp};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Options, Scope};

use crate::support::story::Story;
use crate::support::{Bench, config};

/// A wall clock that can be set ahead; the time that passes is the real one. It jumps by the third field once that time was asked for.
#[derive(Default)]
struct Jumping(AtomicI64, SystemClock, AtomicI64);

impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        Timestamp(self.1.now().0 + self.0.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Option<i64> {
        let passed = self.1.steady();
        self.0.fetch_add(self.2.swap(0, Ordering::SeqCst), Ordering::SeqCst);
        passed
    }

    fn id(&self) -> Id {
        self.1.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.1.random(into);
    }
}

#[tokio::test]
async fn a_run_that_is_driven_while_the_clock_jumps_has_worked_only_as_long_as_it_did() {
    let clock = Arc::new(Jumping::default());
    let replies = json!({"providers": {"script": {"scripts": {"m": {"replies": [{"text": "Late.", "delay_ms": 500}]}}}}, "timeouts": {"run_seconds": 600}});
    let options = Options { clock: Some(Arc::<Jumping>::clone(&clock)), ..Options::default() };
    let studio = Studio::open_with(config(replies, ":memory:"), options).expect("a studio");
    let story = Story::of(Bench { studio, scope: Scope::default() });
    let workflow = story.workflow("start -> llm_1{provider: script, model: m} -> human_1 -> stop").await;
    let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
    let jump = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        clock.0.fetch_add(7_200_000, Ordering::SeqCst);
    };
    tokio::join!(story.events_text(&started), jump);
    let run = started.run.to_string();
    let told = story.resume(&run, json!({"message": "go on"})).await;
    assert!(told.contains("trace_completed"), "{told}");
    let trace = story.trace(&run).await;
    let step = trace["steps"].as_array().expect("steps").iter().find(|step| step["node_id"] == "llm_1").expect("a step");
    assert!(step["duration_ms"].as_u64().is_some_and(|took| took < 60_000), "{step}");
    let row = story.bench.studio.world().store.read(move |tx| wfstudio::store::runs::get(tx, "", &run.parse().expect("an id"))).await;
    let worked = row.expect("read").expect("a run").working_ms;
    assert!((400..60_000).contains(&worked), "{worked} ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clock_that_jumps_between_a_claim_and_the_work_makes_no_takeover_of_ones_own_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite");
    let replies = || {
        let scripts = json!({"m": {"replies": [{"text": "Late.", "delay_ms": 300}]}});
        json!({"providers": {"script": {"scripts": scripts}}, "runs": {"max_takeovers": 0}})
    };
    let first = Studio::open_with(config(replies(), &file.to_string_lossy()), Options::default()).expect("a studio");
    let story = Story::of(Bench { studio: first, scope: Scope::default() });
    let workflow = story.workflow("start -> llm_1{provider: script, model: m} -> stop").await;
    let run = story.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    story.bench.studio.shutdown(Duration::ZERO).await;
    let clock = Arc::new(Jumping::default());
    let (next, jumped) = (Arc::new(OnceLock::<Studio>::new()), AtomicBool::new(false));
    let (studio, ahead) = (Arc::clone(&next), Arc::clone(&clock));
    // The engine has claimed the run and does not drive it yet.
    let hook = move |boundary, _, _| {
        if boundary == Boundary::After && !jumped.swap(true, Ordering::SeqCst) {
            ahead.0.fetch_add(9_000_000, Ordering::SeqCst);
            let studio = studio.get().expect("a studio").clone();
            let other = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                let mut working = studio.working(None, Some(1)).expect("a queue");
                working.once = true;
                runtime.block_on(studio.work(working, CancellationToken::new(), |_| ())).expect("a look");
            });
            other.join().expect("a thread");
        }
    };
    let options = Options { clock: Some(Arc::<Jumping>::clone(&clock)), on_append: Some(Arc::new(hook)), ..Options::default() };
    next.set(Studio::open_with(config(replies(), &file.to_string_lossy()), options).expect("a studio")).ok().expect("the first");
    let studio = next.get().expect("a studio").clone();
    studio.world().take_over().await.expect("a store");
    let story = Story::of(Bench { studio, scope: Scope::default() });
    story.join(&run).await;
    let trace = story.trace(&run).await;
    assert_eq!(trace["trace"]["status"], "completed", "{}", trace["trace"]["error"]);
}

#[tokio::test]
async fn a_clock_that_jumps_before_a_run_is_driven_ends_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite");
    let clock = Arc::new(Jumping::default());
    let open = || {
        let scripts = json!({"m": {"replies": [{"text": "Late.", "delay_ms": 100}]}, "slow": {"replies": [{"text": "Late.", "delay_ms": 500}]}});
        let settings = json!({"providers": {"script": {"scripts": scripts}}, "timeouts": {"run_seconds": 600}});
        let options = Options { clock: Some(Arc::<Jumping>::clone(&clock)), ..Options::default() };
        Studio::open_with(config(settings, &file.to_string_lossy()), options).expect("a studio")
    };
    let jump = || clock.2.store(7_200_000, Ordering::SeqCst);
    let story = Story::of(Bench { studio: open(), scope: Scope::default() });
    let workflow = story.workflow("start -> human_1 -> llm_1{provider: script, model: m} -> stop").await;
    let slow = story.workflow("start -> llm_1{provider: script, model: slow} -> stop").await;
    jump();
    let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
    let told = story.events_text(&started).await;
    assert!(told.contains("human_input_required"), "{told}");
    jump();
    let told = story.resume(&started.run.to_string(), json!({"message": "go on"})).await;
    assert!(told.contains("trace_completed"), "{told}");
    // Its engine leaves at once, nobody drives it for hours, and the clock jumps once more while another engine takes it over.
    let left = story.bench.start(&slow, json!({"message": "hi"})).await.run.to_string();
    story.bench.studio.shutdown(Duration::ZERO).await;
    clock.0.fetch_add(9_000_000, Ordering::SeqCst);
    let story = Story::of(Bench { studio: open(), scope: Scope::default() });
    jump();
    story.bench.studio.world().take_over().await.expect("a store");
    story.join(&left).await;
    let trace = story.trace(&left).await;
    assert_eq!(trace["trace"]["status"], "completed", "{}", trace["trace"]["error"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clock_that_goes_back_and_forth_takes_no_run_from_its_own_engine() {
    let clock = Arc::new(Jumping::default());
    let scripts = json!({"m": {"replies": [{"text": "Late.", "delay_ms": 1500}]}});
    let settings = json!({"providers": {"script": {"scripts": scripts}}, "runs": {"max_takeovers": 0}, "worker": {"in_process": false}});
    let options = Options { clock: Some(Arc::<Jumping>::clone(&clock)), ..Options::default() };
    let story = Story::of(Bench { studio: Studio::open_with(config(settings, ":memory:"), options).expect("a studio"), scope: Scope::default() });
    let workflow = story.workflow("start -> llm_1{provider: script, model: m} -> stop").await;
    let run = story.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    let over = Arc::new(AtomicBool::new(false));
    let (ends, moved) = (Arc::clone(&over), Arc::clone(&clock));
    let hand = std::thread::spawn(move || {
        while !ends.load(Ordering::SeqCst) {
            for ahead in [-7_200_000, 0] {
                moved.0.store(ahead, Ordering::SeqCst);
                std::thread::sleep(Duration::from_micros(150));
            }
        }
    });
    for _ in 0..400 {
        story.bench.studio.world().take_over().await.expect("a store");
    }
    over.store(true, Ordering::SeqCst);
    hand.join().expect("a thread");
    story.join(&run).await;
    let trace = story.trace(&run).await;
    assert_eq!(trace["trace"]["status"], "completed", "{}", trace["trace"]["error"]);
}

#[tokio::test]
async fn what_was_queued_while_the_clock_was_ahead_is_taken_when_it_is_right_again() {
    // Where a server says what time it is, no host's clock counts.
    if crate::support::place::on_server("").is_some() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite");
    let clock = Arc::new(Jumping::default());
    let open = |queue: &str| {
        let options = Options { clock: Some(Arc::<Jumping>::clone(&clock)), ..Options::default() };
        let settings = json!({"async_runs_enabled": true, "queue": queue, "worker": {"in_process": false}});
        Studio::open_with(config(settings, &file.to_string_lossy()), options).expect("a studio")
    };
    let studios = ["default", "high", "low"].map(open);
    let story = Story::of(Bench { studio: studios[0].clone(), scope: Scope::default() });
    let workflow = story.workflow("start -> stop").await;
    clock.0.store(31_536_000_000, Ordering::SeqCst);
    let mut queued = Vec::new();
    for studio in &studios {
        let request = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a run body");
        queued.push(studio.start(&story.bench.scope, EntityKind::Workflow, &workflow, request, true).await.expect("a run").run);
    }
    clock.0.store(0, Ordering::SeqCst);
    for studio in &studios {
        assert_eq!(studio.world().work().await.expect("a store"), None, "it is due in a year");
    }
    // Who looks after one queue calls back the runs of all: an engine that only works for another does not look.
    studios[0].world().take_over().await.expect("a store");
    for (studio, run) in studios.iter().zip(queued) {
        assert_eq!(studio.world().work().await.expect("a store"), Some(run));
    }
}

#[tokio::test]
async fn a_document_is_due_by_the_clock_of_the_server() {
    if crate::support::place::on_server("").is_none() {
        return;
    }
    let clock = Arc::new(Jumping::default());
    clock.0.store(1_800_000, Ordering::SeqCst);
    let options = Options { clock: Some(Arc::<Jumping>::clone(&clock)), ..Options::default() };
    let settings = json!({"rag": {"async_ingest": true}, "worker": {"in_process": false}});
    let studio = Studio::open_with(config(settings, ":memory:"), options).expect("a studio");
    let scope = Scope::default();
    let base = studio.create(&scope, wfstudio::studio::Resource::KnowledgeBase, &json!({"name": "Docs"})).await;
    let base = base.expect("a base")["id"].as_str().expect("an id").to_owned();
    studio.add_text(&scope, &base, &json!({"name": "a.txt", "text": "Refunds take thirty days."})).await.expect("a document");
    let due = studio.world().store.read(wfstudio::store::knowledge::readings::last_due_at).await.expect("a store").expect("it waits");
    let ahead = due.0 - SystemClock::default().now().0;
    assert!(ahead.abs() < 60_000, "it is due in {ahead} ms");
}
