//! What a run may cost: allocations in proportion to its steps, and no memory once it was told.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::{Boundary, EventStream, Follow, From};
use wfstudio::model::event::EntityKind;
use wfstudio::model::sketch;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Options, Resource, Scope, Studio};

static MADE: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// One test counts at a time.
static TURN: Mutex<()> = Mutex::new(());

struct Counting;

// SAFETY: every call goes on to the system's allocator with what it was given.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MADE.fetch_add(1, Ordering::Relaxed);
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn studio() -> Studio {
    let settings = json!({
        "environment": "local",
        "database": {"path": ":memory:", "durability": "none"},
        "limits": {"loop_max_steps": 1_000_000},
        "loop": {"global_max_steps": 1_000_000},
    });
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() });
    Studio::open(config.expect("a configuration")).expect("a studio")
}

async fn workflow(studio: &Studio, graph: &str) -> String {
    let graph: Value = sketch::graph(graph).expect("a graph");
    let body = json!({"name": "Test", "graph": graph});
    let stored = studio.create(&Scope::default(), Resource::Workflow, &body).await.expect("a workflow");
    stored["id"].as_str().expect("an id").to_owned()
}

/// Runs to the end, reads all that is told; how many events that was.
async fn run(studio: &Studio, workflow: &str) -> usize {
    let (mut events, mut told) = (started(studio, workflow).await, 0);
    while let Some(batch) = events.next_batch().await {
        told += batch.len();
    }
    told
}

async fn started(studio: &Studio, workflow: &str) -> EventStream {
    let scope = Scope::default();
    let request = RunRequest::parse(&json!({"message": "m".repeat(1024)}), EntityKind::Workflow).expect("a body");
    let started = studio.start(&scope, EntityKind::Workflow, workflow, request, false).await.expect("a run");
    let from = From { after: started.after, ..From::default() };
    let events = studio.events(&scope, &started.run.to_string(), from, Follow::Answer).await;
    events.expect("events").expect("a stream")
}

fn looping(passes: u32) -> String {
    format!("start -> loop{{max_steps: {passes}, on_max: exit}}; loop.continue -> set{{key: k, value: 1}} -> loop; loop.exit -> stop")
}

#[test]
fn each_pass_of_a_loop_costs_the_same() {
    let _turn = TURN.lock();
    let (few, many) = (1_000, 8_000);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let studio = studio();
        let mut costs = Vec::new();
        for passes in [few, many] {
            let workflow = workflow(&studio, &looping(passes)).await;
            run(&studio, &workflow).await;
            let before = MADE.load(Ordering::Relaxed);
            let told = run(&studio, &workflow).await;
            assert!(told > passes as usize * 5, "{told} events");
            costs.push((MADE.load(Ordering::Relaxed) - before) as f64 / f64::from(passes));
        }
        let [few, many] = costs[..] else { panic!("two costs") };
        assert!(many < few * 1.1, "a pass makes {few} allocations in a short loop and {many} in a long one");
        assert!(many < 40.0, "a pass makes {many} allocations");
    });
}

#[test]
fn a_run_that_was_told_is_let_go_of() {
    let _turn = TURN.lock();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let studio = studio();
        let workflow = workflow(&studio, &looping(100)).await;
        for _ in 0..10 {
            run(&studio, &workflow).await;
        }
        let before = LIVE.load(Ordering::Relaxed);
        for _ in 0..100 {
            run(&studio, &workflow).await;
        }
        let kept = LIVE.load(Ordering::Relaxed).saturating_sub(before);
        assert!(kept < 1 << 20, "{kept} bytes are kept of 100 runs");
    });
}

#[test]
fn a_run_goes_ahead_of_its_reader_however_much_was_read_before() {
    let _turn = TURN.lock();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let studio = studio();
        let workflow = workflow(&studio, &looping(100_000)).await;
        let (mut events, mut read, mut ahead) = (started(&studio, &workflow).await, 0, 0);
        while read < 20_000 {
            read += events.next_batch().await.expect("more").len();
        }
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            ahead = ahead.max(events.next_batch().await.expect("more").len());
        }
        assert!(ahead > 500, "at most {ahead} events were there when the reader came back");
    });
}

#[test]
fn a_model_is_not_heard_faster_than_what_it_says_is_stored() {
    const PIECES: usize = 40_000;
    let _turn = TURN.lock();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let grown = Arc::new(AtomicUsize::new(usize::MAX));
    let (told, stuck) = (Arc::clone(&grown), AtomicBool::new(false));
    // The first write of what was said takes a second.
    let slow = move |boundary, _, head| {
        if boundary == Boundary::Before && head > 0 && !stuck.swap(true, Ordering::Relaxed) {
            let before = LIVE.load(Ordering::Relaxed);
            std::thread::sleep(Duration::from_secs(1));
            told.store(LIVE.load(Ordering::Relaxed).saturating_sub(before), Ordering::Relaxed);
        }
    };
    runtime.block_on(async {
        let settings = json!({
            "environment": "local",
            "database": {"path": ":memory:"},
            "providers": {"script": {"scripts": {"m": {"replies": [{"chunks": vec!["word "; PIECES]}]}}}},
        });
        let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() });
        let options = Options { on_append: Some(Arc::new(slow)), ..Options::default() };
        let studio = Studio::open_with(config.expect("a configuration"), options).expect("a studio");
        let workflow = workflow(&studio, "start -> llm{provider: script, model: m, stream: true} -> stop").await;
        let (mut events, mut words) = (started(&studio, &workflow).await, 0);
        while let Some(batch) = events.next_batch().await {
            for frame in batch.iter().filter(|frame| frame.event() == "token") {
                let mut data = Vec::new();
                frame.write_data(&mut data);
                words += String::from_utf8_lossy(&data).matches("word ").count();
            }
        }
        // Pieces are drawn together while the reader is behind; none of them is left out.
        assert_eq!(words, PIECES);
    });
    let grown = grown.load(Ordering::Relaxed);
    assert!(grown < 4 << 20, "{grown} bytes wait for a slow disk");
}

#[test]
fn a_run_in_utc_does_not_look_through_the_time_zones() {
    let _turn = TURN.lock();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let studio = studio();
        let workflow = workflow(&studio, "start -> stop{reply: \"{{__studio_now}}\"}").await;
        run(&studio, &workflow).await;
    });
    let look = |name: &str| {
        let before = MADE.load(Ordering::Relaxed);
        drop(jiff::tz::TimeZone::get(name));
        MADE.load(Ordering::Relaxed) - before
    };
    // Who asks for another zone first makes a list of all that the system knows.
    let (first, second) = (look("Europe/Lisbon"), look("Europe/Berlin"));
    assert!(first > second * 5 || !std::path::Path::new("/usr/share/zoneinfo").exists(), "{first} {second}");
}
