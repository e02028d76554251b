//! Owns what is checked of every run after a crash: its log, its rows, what its tools did.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};
use wfstudio::engine::load;
use wfstudio::model::Id;
use wfstudio::model::event::{CallOutcome, DoubtAction, Entry, Event, PureOutcome};
use wfstudio::model::run::Run;
use wfstudio::model::usage::Usage;
use wfstudio::store::{log, threads, usage};

use crate::support::{Bench, marks};

/// What a run comes to, ids and times aside: equal for every run of a graph, however often it was cut.
pub async fn record(bench: &Bench, run: &Id) -> Value {
    let loaded = load(bench.studio.world(), "", &run.to_string()).await.expect("a run");
    let entries = &loaded.entries;
    let folded = Run::fold(*run, entries, Arc::clone(&loaded.plan)).expect("a log");
    numbered(entries);
    if folded.status.terminal() {
        let told = bench.studio.trace(&bench.scope, &run.to_string(), wfstudio::studio::TraceQuery::default()).await.expect("a trace");
        assert_eq!(json!(loaded.row.last_event_id), told["trace"]["last_event_id"], "the row tells the number of the last event");
    }
    let steps = steps(entries);
    effects(bench, run, entries);
    rows(bench, run, &folded, &loaded.row).await;
    chain(bench, run).await;
    let trace = bench.studio.trace(&bench.scope, &run.to_string(), wfstudio::studio::TraceQuery::default()).await.expect("a trace");
    let traced = trace["steps"].as_array().expect("steps").iter();
    let mut traced: Vec<String> = traced
        .map(|step| format!("{} {} {} {}", step["node_id"].as_str().unwrap_or_default(), step["iteration"], step["branch_path"], step["status"]))
        .collect();
    // What was told with a failure stays told: the steps that a retry adds come after it.
    let retried = entries.iter().any(|entry| matches!(entry.event, Event::Retried(_)));
    let order = if retried { Value::Null } else { json!(traced) };
    traced.sort();
    json!({
        "status": folded.status.as_str(),
        "output": folded.output,
        "reply": folded.reply,
        "usage": folded.total(),
        "steps": steps,
        "trace": traced,
        "order": order,
        "messages": messages(bench, &folded).await,
        "measured": measured(&trace),
        "memory": memory(bench, &folded).await,
    })
}

fn numbered(entries: &[Arc<Entry>]) {
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(entry.seq, at as u64 + 1, "the log has a gap");
    }
}

/// Completed steps as `node iteration lane`, sorted; each once.
fn steps(entries: &[Arc<Entry>]) -> Vec<String> {
    let mut names = HashMap::new();
    let mut done = HashSet::new();
    let mut found = Vec::new();
    for entry in entries {
        match &entry.event {
            Event::StepStarted(step) => {
                names.insert(step.step, format!("{} {:?} {}", step.node, step.iteration, entry.lane > 0));
            }
            Event::StepCompleted(step) => {
                assert!(done.insert(step.step), "a step completed twice");
                found.push(names[&step.step].clone());
            }
            Event::StepRan(step) if matches!(step.outcome, PureOutcome::Left { .. }) => {
                assert!(done.insert(step.step), "a step ran twice");
                found.push(format!("{} {:?} {}", step.node, step.iteration, entry.lane > 0));
            }
            _other => {}
        }
    }
    found.sort();
    found
}

/// Calls that ended well are never made again; tools did what the log says, once unless that was allowed.
fn effects(bench: &Bench, run: &Id, entries: &[Arc<Entry>]) {
    let mut finished = HashSet::new();
    let mut made: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    let mut rerun: BTreeMap<String, usize> = BTreeMap::new();
    for entry in entries {
        if let Event::CallStarted(call) = &entry.event {
            assert!(!finished.contains(&(call.step, call.key.clone())), "a finished call was made again");
            // A search among tools leaves no mark.
            if let Some(id) = call.call_id.as_ref().filter(|_| call.name != "find_tools") {
                let count = made.entry(id.clone()).or_insert((0, call.repeatable));
                count.0 += 1;
            }
        }
        if let Event::CallFinished(call) = &entry.event
            && !matches!(call.outcome, CallOutcome::Failed(_))
        {
            finished.insert((call.step, call.key.clone()));
        }
        if let Event::Retried(retried) = &entry.event {
            for answer in retried.in_doubt.iter().filter(|answer| answer.action == DoubtAction::Rerun) {
                *rerun.entry(answer.call_id.clone()).or_default() += 1;
            }
        }
    }
    let cancelled = entries.iter().any(|entry| matches!(entry.event, Event::Cancelled { .. }));
    let lines = marks(&bench.effects);
    for (call, (started, repeatable)) in made {
        let own = |line: &&String| line.contains(&format!(" {call} ")) && line.ends_with(&run.to_string());
        let did = lines.iter().filter(own).count();
        if repeatable {
            assert!(did >= 1 && did <= started, "{call} was made {started} times and did its work {did} times");
        } else {
            // A cancel may come between the record of a call and the call.
            assert!(did == 1 || did == 0 && cancelled, "{call} was made {started} times and did its work {did} times, {rerun:?}");
            assert!(started <= 1 + rerun.get(&call).copied().unwrap_or(0), "{call} was repeated without being asked");
        }
    }
}

/// The run's row, its calls and its children say what the log says.
async fn rows(bench: &Bench, run: &Id, folded: &Run, row: &wfstudio::store::runs::RunRow) {
    assert_eq!(row.status, folded.status.as_str());
    assert_eq!((row.head, row.attempt, row.takeovers), (folded.head, folded.attempt, folded.takeovers));
    assert_eq!((row.started_at, row.finished_at, row.rested_at), (folded.started_at, folded.finished_at, folded.rested_at));
    assert_eq!((row.working_ms, row.waiting_ms), (folded.worked(folded.rested_at.unwrap_or_default()), folded.waiting_ms));
    assert_eq!((row.own, row.total), (folded.own, folded.total()));
    assert_eq!((row.owner.as_deref(), row.lease_until, row.available_at), (None, None, None));
    assert_eq!(row.error.is_some(), folded.failure.is_some());
    assert_eq!(row.awaiting_pause, folded.pauses().first().filter(|_| folded.status.paused()).map(|(_, pause)| pause.id));
    let run = *run;
    let spans = bench.studio.world().store.read(move |tx| usage::spans_of(tx, "", &run)).await.expect("spans");
    let mut sum = Usage::default();
    spans.iter().for_each(|span| sum.add(&span.usage));
    assert_eq!(sum, folded.total(), "the calls do not sum up to the run");
}

async fn chain(bench: &Bench, run: &Id) {
    let run = *run;
    bench.studio.world().store.read(move |tx| log::verify(tx, "", &run)).await.expect("an unbroken chain");
}

/// What was summarised and cut, each once.
fn measured(trace: &Value) -> Vec<String> {
    let spans = trace["spans"].as_array().expect("spans").iter();
    spans.filter(|span| span["type"] == "memory" || span["type"] == "context").map(|span| format!("{} {}", span["name"], span["output"])).collect()
}

/// What models remember of the workflow, and how much of it a summary stands for.
async fn memory(bench: &Bench, run: &Run) -> Vec<String> {
    let (thread, name) = (run.created.thread, format!("workflow:{}", run.created.entity_id));
    let found = bench.studio.world().store.read(move |tx| threads::history(tx, "", &thread, &name)).await.expect("messages");
    found.iter().map(|row| format!("{} {} {:?}", row.role, serde_json::from_str::<Value>(&row.body).expect("JSON")["content"], row.meta)).collect()
}

async fn messages(bench: &Bench, run: &Run) -> Vec<String> {
    let thread = run.created.thread;
    let found = bench.studio.world().store.read(move |tx| threads::shown(tx, "", &thread, 0, 100)).await.expect("messages");
    found
        .iter()
        .map(|row| {
            let body: Value = serde_json::from_str(&row.body).expect("JSON");
            format!("{} {}", row.role, body["content"])
        })
        .collect()
}
