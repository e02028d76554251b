//! What other systems are told of runs, and that runs do not care how these behave.

mod collector;
mod context;
mod cost;
mod faults;
mod jobs;
mod metrics;
mod peer;
mod presets;
mod redaction;
mod spans;

use serde_json::{Value, json};

use crate::support::merge;
use crate::support::story::Story;
use collector::Collector;

/// A studio that tells a collector, with a model `m` that plays these replies.
async fn watched(collector: &Collector, settings: Value, replies: Value) -> Story {
    let mut all = json!({"observability": {"otlp": {"endpoint": collector.url()}}});
    merge(&mut all, settings);
    Story::with(all, replies)
}

/// Closes the studio: what waited was sent. An eighth of the time is for that, which nobody waits for who is ready sooner.
async fn closed(story: &Story) {
    story.bench.studio.shutdown(std::time::Duration::from_secs(240)).await;
}
