//! Owns what must hold when the storm is over: every log against its rows, its graph, and what the world outside saw.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde_json::json;
use wfstudio::Studio;
use wfstudio::config::Config;
use wfstudio::engine::load;
use wfstudio::model::Id;
use wfstudio::model::event::{CallKind, CallOutcome, DoubtAction, Entry, Event, PureOutcome};
use wfstudio::model::run::Run;
use wfstudio::store::{StoreError, log};
use wfstudio::store::runs::list;
use wfstudio::store::runs::list::RunFilter;
use uuid::Uuid;

use crate::graphs::{Kind, kinds};
use crate::outside::Outside;

/// What was found in the logs.
#[derive(Default)]
pub struct Found {
    entries: usize,
    steps: usize,
    takeovers: usize,
    calls: usize,
    repeated: usize,
    reruns: usize,
    twice: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "logs: {} entries, {} steps, {} calls, {} takeovers; {} calls cut and repeated, {} repeated by decision, {} of repeatable ones seen twice outside",
            self.entries, self.steps, self.calls, self.takeovers, self.repeated, self.reruns, self.twice
        )
    }
}

/// What one log says of its calls.
#[derive(Default)]
struct Calls {
    /// Key outside, name, repeatable: how often it was begun.
    begun: BTreeMap<String, (String, bool, usize)>,
    rerun: HashMap<String, usize>,
    answers_begun: usize,
    answers: usize,
}

/// Checks every run; fails with what is wrong.
pub async fn all(database: &str, outside: &Outside, runs: usize) -> Found {
    let config = Config::with(json!({"environment": "local", "database": {"url": database}, "worker": {"in_process": false}}));
    let studio = Studio::open(config.expect("a configuration")).expect("a studio");
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (_, key) in outside.calls() {
        *seen.entry(key).or_default() += 1;
    }
    let asked = outside.asked();
    let (kinds, mut found, mut known) = (kinds(), Found::default(), HashSet::new());
    for id in ids(&studio).await {
        let loaded = load(studio.world(), "", &id.to_string()).await.expect("a run");
        let kind = kinds.iter().find(|kind| kind.slug == loaded.row.entity_name).expect("a kind");
        let marker = loaded.row.input_preview.clone();
        assert!(known.insert(marker.clone()), "{marker} was started twice");
        let folded = Run::fold(id, &loaded.entries, Arc::clone(&loaded.plan)).expect("a log");
        assert_eq!(loaded.row.status, "completed", "{id}");
        assert_eq!((loaded.row.head, loaded.row.owner.as_deref(), folded.status.as_str()), (folded.head, None, "completed"), "{id}");
        studio.world().store.read(move |tx| log::verify(tx, "", &id)).await.expect("an unbroken chain");
        let asked = asked.get(&marker).copied().unwrap_or(0);
        one(kind, id, &loaded.entries, &mut seen, asked, &mut found);
    }
    assert_eq!(known.len(), runs, "runs were lost");
    assert!(seen.is_empty(), "calls outside that no log knows: {seen:?}");
    found
}

async fn ids(studio: &Studio) -> Vec<Id> {
    let found = studio.world().store.read(|tx| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            after = list::list(tx, "", &RunFilter::default(), after, 500, &mut |run| {
                found.push(run.id.parse().map_err(|_| StoreError::Fault("no id".to_owned()))?);
                Ok(())
            })?;
            if after.is_none() {
                return Ok(found);
            }
        }
    });
    found.await.expect("runs")
}

fn one(kind: &Kind, run: Id, entries: &[Arc<Entry>], seen: &mut HashMap<String, usize>, asked: usize, found: &mut Found) {
    for (at, entry) in entries.iter().enumerate() {
        assert_eq!(entry.seq, at as u64 + 1, "{run}: a gap in the log");
    }
    let takeovers = entries.iter().filter(|entry| matches!(entry.event, Event::TakenOver { .. })).count();
    let steps = steps(run, entries);
    assert_eq!(steps, kind.steps, "{run} ({}): completed steps", kind.slug);
    let calls = calls(run, entries);
    let begun = |name: &str| calls.begun.values().filter(|(called, ..)| called == name).count();
    assert_eq!((begun("pay") + begun("refund"), begun("note"), calls.answers), (kind.payments, kind.notes, kind.answers), "{run} ({})", kind.slug);
    for (key, (name, repeatable, times)) in &calls.begun {
        let outside = seen.remove(key).unwrap_or(0);
        let reruns = calls.rerun.get(key).copied().unwrap_or(0);
        let most = if *repeatable { *times } else { 1 + reruns };
        assert!((1..=most).contains(&outside), "{run}: {name} was begun {times} times, decided {reruns} times, seen {outside} times");
        assert!(*repeatable || *times <= 1 + reruns, "{run}: {name} was begun {times} times without being asked");
        found.repeated += times - 1;
        found.reruns += reruns;
        found.twice += usize::from(outside > 1);
    }
    assert!(asked >= calls.answers && asked <= calls.answers_begun, "{run}: {} answers, {} begun, models asked {asked} times", calls.answers, calls.answers_begun);
    found.repeated += calls.answers_begun - calls.answers;
    found.entries += entries.len();
    found.steps += steps;
    found.takeovers += takeovers;
    found.calls += calls.begun.len() + calls.answers;
}

/// Completed steps; each once, each place once.
fn steps(run: Id, entries: &[Arc<Entry>]) -> usize {
    let (mut done, mut places, mut names) = (HashSet::new(), HashSet::new(), HashMap::new());
    for entry in entries {
        let place = match &entry.event {
            Event::StepStarted(step) => {
                names.insert(step.step, format!("{} {:?} {}", step.node, step.iteration, entry.lane));
                continue;
            }
            Event::StepCompleted(step) => {
                assert!(done.insert(step.step), "{run}: a step completed twice");
                names[&step.step].clone()
            }
            Event::StepRan(step) if matches!(step.outcome, PureOutcome::Left { .. }) => {
                assert!(done.insert(step.step), "{run}: a step ran twice");
                format!("{} {:?} {}", step.node, step.iteration, entry.lane)
            }
            _other => continue,
        };
        assert!(places.insert(place.clone()), "{run}: {place} completed twice");
    }
    done.len()
}

fn calls(run: Id, entries: &[Arc<Entry>]) -> Calls {
    let mut calls = Calls::default();
    let mut finished = HashSet::new();
    let mut models = HashSet::new();
    let outside = |call_id: &str| Uuid::new_v5(&run.0, call_id.as_bytes()).to_string();
    for entry in entries {
        match &entry.event {
            Event::CallStarted(call) => {
                assert!(!finished.contains(&(call.step, call.key.clone())), "{run}: a finished call was made again");
                if let Some(id) = &call.call_id {
                    calls.begun.entry(outside(id)).or_insert((call.name.clone(), call.repeatable, 0)).2 += 1;
                }
                if call.kind == CallKind::Model {
                    models.insert((call.step, call.key.clone()));
                    calls.answers_begun += 1;
                }
            }
            Event::CallFinished(call) if !matches!(call.outcome, CallOutcome::Failed(_)) => {
                calls.answers += usize::from(models.contains(&(call.step, call.key.clone())));
                assert!(finished.insert((call.step, call.key.clone())), "{run}: a call finished twice");
            }
            Event::Retried(retried) => {
                for answer in retried.in_doubt.iter().filter(|answer| answer.action == DoubtAction::Rerun) {
                    *calls.rerun.entry(outside(&answer.call_id)).or_default() += 1;
                }
            }
            _other => {}
        }
    }
    calls
}
