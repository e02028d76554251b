//! A run that went on in another process is the run that it would have been in one; what was told keeps its numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::{Follow, From, Order, load};
use wfstudio::model::Id;

use crate::program::{Program, ask_and_pay};
use crate::support::{Bench, folder};

const SOON: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_run_resumed_elsewhere_has_the_log_of_one_that_stayed() {
    let stayed = {
        let folder = folder();
        let bench = Bench::open(folder.path(), json!({}));
        let run = paused(&bench).await;
        answered(&bench, &run).await
    };
    let folder = folder();
    let first = Bench::open(folder.path(), json!({}));
    let run = paused(&first).await;
    drop(first);
    let second = Bench::open(folder.path(), json!({}));
    assert_eq!(answered(&second, &run).await, stayed);
}

async fn paused(bench: &Bench) -> Id {
    let workflow = bench.workflow("ask", ask_and_pay()).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    bench.until(&run, "awaiting_input", SOON).await;
    let _checked = crate::record::record(bench, &run).await;
    run
}

async fn answered(bench: &Bench, run: &Id) -> Vec<Value> {
    bench.resume(run, json!({"message": "go on"})).await.expect("an answer");
    bench.until(run, "completed", SOON).await;
    let loaded = load(bench.studio.world(), "", &run.to_string()).await.expect("a run");
    let mut names = BTreeMap::new();
    let entries = loaded.entries.iter();
    entries.map(|entry| plain(json!({"seq": entry.seq, "lane": entry.lane, "event": entry.event}), &mut names)).collect()
}

/// Ids by order of appearance; no durations.
fn plain(value: Value, names: &mut BTreeMap<String, usize>) -> Value {
    match value {
        Value::String(text) => {
            let id = text.strip_prefix("tool:").unwrap_or(&text);
            let id = id.strip_prefix("call_").unwrap_or(id);
            if uuid::Uuid::try_parse(id).is_err() {
                return Value::String(text);
            }
            let next = names.len();
            Value::from(*names.entry(id.to_owned()).or_insert(next))
        }
        Value::Array(items) => items.into_iter().map(|item| plain(item, names)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, value)| if key.ends_with("_ms") { (key, Value::Null) } else { (key, plain(value, names)) })
            .collect(),
        other => other,
    }
}

/// Reads frames until the stream ends or, with `most`, so many were told.
pub async fn frames_of(bench: &Bench, run: &Id, from: From, most: usize) -> Vec<(u64, String, Value)> {
    let stream = bench.studio.events(&bench.scope, &run.to_string(), from, Follow::Tail).await.expect("a stream");
    let Some(mut stream) = stream else { return Vec::new() };
    let mut all = Vec::new();
    while all.len() < most
        && let Some(batch) = stream.next_batch().await
    {
        for frame in batch {
            let mut data = Vec::new();
            frame.write_data(&mut data);
            all.push((frame.number(), frame.event().to_owned(), serde_json::from_slice(&data).expect("JSON")));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_told_before_a_crash_in_mid_stream_are_never_told_again() {
    let folder = folder();
    let node = json!({"type": "llm", "data": {"provider": "script", "model": "drip", "stream": true}});
    for order in [Order::Ordered, Order::Live] {
        let mut owner = Program::run("follow", folder.path(), &json!({"node": node, "live": order == Order::Live}));
        let run: Id = owner.next().expect("a run").parse().expect("an id");
        let mut last = 0;
        let mut tokens = 0;
        while tokens < 20 {
            let line = owner.next().expect("a frame");
            let (number, event) = line.split_once(' ').expect("a number");
            last = number.parse().expect("a number");
            tokens += usize::from(event == "token");
        }
        owner.signal("KILL");
        while let Some(line) = owner.next() {
            last = line.split_once(' ').and_then(|(number, _)| number.parse().ok()).unwrap_or(last);
        }
        owner.kill();
        let next = Bench::open(folder.path(), json!({}));
        assert_eq!(next.studio.take_over().await.expect("a studio"), 1);
        next.until(&run, "completed", SOON).await;
        let after = frames_of(&next, &run, From { order, after: last }, usize::MAX).await;
        let whole = frames_of(&next, &run, From { order, after: 0 }, usize::MAX).await;
        assert!(after.iter().all(|(number, ..)| *number > last));
        let again = after.iter().position(|(_, event, data)| event == "step_started" && data["resumed"] == true);
        let again = again.expect("the step is told again, after the numbers that may be lost");
        let told_again: Vec<_> = after[again..].iter().filter(|(_, event, _)| event == "token").collect();
        assert_eq!(told_again.len(), 200, "the repeated call is told whole");
        assert!(after[again].0 > last, "{} was told before", after[again].0);
        let numbers: Vec<u64> = whole.iter().map(|(number, ..)| *number).collect();
        assert!(numbers.is_sorted_by(|left, right| left < right));
        assert!(whole.ends_with(&after), "a reader that comes back is told what a late one is told");
    }
}
