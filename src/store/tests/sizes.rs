//! Tests of how much of the disk a step and a paused run take.

use indexmap::IndexMap;
use serde_json::json;

use super::*;
use crate::model::event::{Pause, PauseReason, PureOutcome, StepRan, StepStarted};
use crate::store::threads::{self, MessageRow};

fn sized(store: &Store, path: &std::path::Path) -> u64 {
    block(store.close(std::time::Duration::from_secs(20)));
    std::fs::metadata(path).unwrap().len()
}

fn event(seq: u64, event: Event) -> Arc<Entry> {
    Arc::new(Entry { seq, at: Timestamp(1_795_000_000_000), lane: 0, event })
}

fn step(seq: u64) -> Arc<Entry> {
    let change = IndexMap::from([(Arc::from(format!("k{}", seq % 10)), Arc::new(json!(seq)))]);
    let outcome = PureOutcome::Left { handle: "default".into(), change };
    let ran = StepRan { step: id(seq), node: format!("set_{seq}").into(), iteration: None, attempt: 1, resumed: false, max_steps: None, outcome };
    event(seq, Event::StepRan(Box::new(ran)))
}

#[test]
fn a_pure_step_takes_less_than_half_a_kilobyte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = Store::open(StoreSettings::file(&path));
    write(&store, |tx| {
        for number in 1..=20 {
            runs::insert(tx, &run(number))?;
            let entries = (1..=100).map(step).collect();
            append(tx, &Append { entries, ..growth(number, 0, 0) })?;
        }
        Ok(())
    })
    .unwrap();
    let fresh = Store::open(StoreSettings::file(folder.path().join("fresh")));
    write(&fresh, |_| Ok(())).unwrap();
    let bytes = (sized(&store, &path) - sized(&fresh, &folder.path().join("fresh"))) / 2000;
    assert!(bytes < 512, "{bytes} bytes a step");
}

fn paused_log(number: u64) -> Vec<Arc<Entry>> {
    let started = StepStarted { step: id(number), node: "human_1".into(), iteration: None, attempt: 1, resumed: false, child_run: None };
    let reason = PauseReason::Human { prompt: "Your input is needed.".into(), output_key: "human_response".into(), question: None };
    let pause = Pause { id: id(number), step: id(number), node: "human_1".into(), reason };
    vec![
        event(1, created(number, &"m".repeat(1024))),
        event(2, Event::Began),
        step(3),
        event(4, Event::StepStarted(Box::new(started))),
        event(5, Event::Paused(Box::new(pause))),
        event(6, Event::Rested { status: crate::model::run::Status::AwaitingInput }),
    ]
}

#[test]
fn a_paused_run_takes_less_than_six_kilobytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = Store::open(StoreSettings::file(&path));
    write(&store, |tx| {
        for number in 1..=500 {
            let thread = id(number + 50_000);
            threads::begin(tx, "t", &thread, &of((EntityKind::Workflow, &id(900)), None), Timestamp(1))?;
            runs::insert(tx, &RunRow { thread, input_preview: "m".repeat(120), ..run(number) })?;
            let message = MessageRow {
                id: id(number),
                thread,
                history: String::new(),
                shown: true,
                summarized: false,
                role: "user".into(),
                run: Some(id(number)),
                created_at: Timestamp(1),
                body: json!({"role": "user", "content": "m".repeat(1024)}).to_string().into(),
                meta: None,
                covers: Vec::new(),
                files: vec![],
                no: 0,
            };
            let row = RunUpdate { awaiting_node: Some("human_1".into()), awaiting_pause: Some(id(number)), rested_at: Some(Timestamp(1)), ..update("awaiting_input") };
            append(tx, &Append { entries: paused_log(number), messages: vec![message], row, ..growth(number, 0, 0) })?;
        }
        Ok(())
    })
    .unwrap();
    let bytes = sized(&store, &path) / 500;
    assert!(bytes < 6 * 1024, "{bytes} bytes a paused run");
}
