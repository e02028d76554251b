//! Collectors that hang, refuse, talk nonsense or are gone: runs end as they would without them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::collector::{Collector, Manner};
use super::redaction::Lines;
use super::{closed, watched};
use crate::support::story::Story;

const SKETCH: &str = "start -> set_1{key: k, value: v} -> llm_1{provider: script, model: echo} -> stop";

/// What a run tells and what its trace says; the same with and without a collector.
async fn lived(story: &Story) -> String {
    let run = story.run(SKETCH).await;
    run.text + &story.steps(&run.id).await
}

async fn unwatched() -> String {
    lived(&Story::plain()).await
}

fn counts(story: &Story) -> Value {
    story.bench.studio.observability()[0].clone()
}

#[tokio::test]
async fn a_collector_that_hangs_holds_nobody_up() {
    let collector = Collector::start(Manner::Hangs).await;
    let story = watched(&collector, json!({}), json!([])).await;
    assert_eq!(lived(&story).await, unwatched().await);
    collector.until(|collector| !collector.sent().is_empty()).await;
    assert!(story.run(SKETCH).await.text.contains("trace_completed"));
    let began = Instant::now();
    story.bench.studio.shutdown(Duration::from_secs(4)).await;
    // One request would wait 10 s for its answer.
    assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
    // The batch under way is counted by the one who was sending it.
    while counts(&story)["dropped"] != 10 && began.elapsed() < Duration::from_secs(60) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let counts = counts(&story);
    assert_eq!((&counts["sent"], &counts["waiting"]), (&json!(0), &json!(0)), "{counts}");
    assert_eq!(counts["dropped"], json!(10), "{counts}");
}

#[tokio::test]
async fn what_a_close_cuts_on_its_way_is_in_the_log() {
    let collector = Collector::start(Manner::Hangs).await;
    let story = watched(&collector, json!({}), json!([])).await;
    lived(&story).await;
    collector.until(|collector| !collector.sent().is_empty()).await;
    let lines = Lines::default();
    let _until_the_end = tracing::subscriber::set_default(lines.clone());
    story.bench.studio.world().observer.close(Duration::from_millis(50)).await;
    let lines = lines.0.lock().expect("a lock").clone();
    let lost: Vec<&str> = lines.lines().filter(|line| line.contains("spans were not delivered and are lost")).collect();
    assert!(lost.len() == 1 && lost[0].contains("dropped=5 "), "{lines}");
}

#[tokio::test]
async fn a_collector_that_refuses_is_not_asked_again() {
    for manner in [Manner::Says(400), Manner::Says(401), Manner::Says(302)] {
        let collector = Collector::start(manner).await;
        let story = watched(&collector, json!({}), json!([])).await;
        assert_eq!(lived(&story).await, unwatched().await);
        closed(&story).await;
        let counts = counts(&story);
        // What comes a second later goes in a batch of its own.
        let sent = collector.sent().len();
        assert_eq!((collector.spans().len(), &counts["dropped"], &counts["failures"]), (5, &json!(5), &json!(sent)), "{manner:?}: {counts}");
    }
}

#[tokio::test]
async fn a_busy_collector_is_asked_again_until_it_takes() {
    let collector = Collector::start(Manner::Busy(2)).await;
    let story = watched(&collector, json!({}), json!([])).await;
    assert_eq!(lived(&story).await, unwatched().await);
    collector.until(|collector| collector.sent().len() == 3).await;
    closed(&story).await;
    let counts = counts(&story);
    assert_eq!((&counts["sent"], &counts["dropped"], &counts["failures"]), (&json!(5), &json!(0), &json!(2)), "{counts}");
}

#[tokio::test]
async fn nonsense_with_a_good_status_counts_as_taken_and_rejected_spans_as_dropped() {
    for (manner, sent, dropped) in [(Manner::Garbage, 5, 0), (Manner::Rejects, 4, 1)] {
        let collector = Collector::start(manner).await;
        let story = watched(&collector, json!({}), json!([])).await;
        assert_eq!(lived(&story).await, unwatched().await);
        closed(&story).await;
        let counts = counts(&story);
        assert_eq!((&counts["sent"], &counts["dropped"]), (&json!(sent), &json!(dropped)), "{manner:?}: {counts}");
    }
}

#[tokio::test]
async fn a_collector_that_is_gone_changes_nothing() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([])).await;
    drop(collector);
    assert_eq!(lived(&story).await, unwatched().await);
    closed(&story).await;
    let counts = counts(&story);
    assert_eq!((&counts["sent"], &counts["dropped"]), (&json!(0), &json!(5)), "{counts}");
    assert!(counts["last_error"].as_str().is_some_and(|why| why.starts_with("it could not be reached")), "{counts}");
}

#[tokio::test]
async fn what_waits_is_bounded_and_what_finds_no_room_is_counted() {
    let collector = Collector::start(Manner::Hangs).await;
    let story = watched(&collector, json!({}), json!([])).await;
    let sketch = "start -> loop_1{max_steps: 6000, on_max: exit}; loop_1.exit -> stop; loop_1.continue -> set_1{key: k, value: v} -> loop_1";
    let workflow = story.workflow(sketch).await;
    let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
    let told = story.bench.events_text(&started).await;
    assert!(told.contains("trace_completed"), "it went on to its end");
    let counts = counts(&story);
    assert!(counts["waiting"].as_u64().is_some_and(|waiting| waiting <= 8192), "{counts}");
    assert!(counts["dropped"].as_u64().is_some_and(|dropped| dropped > 2000), "{counts}");
    story.bench.studio.shutdown(Duration::from_secs(4)).await;
}
