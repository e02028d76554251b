//! Runs of models whose process is killed: while it searches tools, while it waits in the line of a provider, while its answer comes in parts.

mod chat;
mod limits;
mod parts;
mod rooms;
mod search;
mod server;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wfstudio::engine::{Follow, From};
use wfstudio::model::Id;
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Options, Resource, TraceQuery};

use crate::program::{Program, say};
use crate::support::{Bench, folder, merge, runs_of_kind};
use crate::sweep::finish;

/// Starts a run with each of the messages and ends them all; dies at the given border of a write, or of what a tool does.
pub async fn program(folder: &Path, given: &Value) {
    let at = given["kill_at"].as_u64().unwrap_or(u64::MAX);
    let count = Arc::new(AtomicU64::new(u64::MAX / 2));
    let counted = Arc::clone(&count);
    let tick = Arc::new(move || {
        if counted.fetch_add(1, Ordering::SeqCst) + 1 == at {
            let _this_process_ends_here = std::process::Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
            std::thread::sleep(Duration::from_secs(60));
        }
    });
    let hook = Arc::clone(&tick);
    let options = Options { on_append: Some(Arc::new(move |_, _, _| hook())), ..Options::default() };
    let bench = Bench::open_with(folder, given["settings"].clone(), options, tick);
    let (kind, entity) = entity(&bench, given).await;
    count.store(0, Ordering::SeqCst);
    let mut runs = Vec::new();
    for message in given["messages"].as_array().expect("messages") {
        let request = RunRequest::parse(&json!({"message": message}), kind).expect("a body");
        let run = bench.studio.start(&bench.scope, kind, &entity, request, false).await.expect("a run").run;
        say(&format!("run {run}"));
        runs.push(run);
    }
    if given["follows"] == true {
        follow(&bench, &runs[0]).await;
    }
    for run in &runs {
        finish(&bench, run).await;
    }
    say(&format!("ran {}", count.swap(u64::MAX / 2, Ordering::SeqCst)));
}

/// The agent or the workflow that is given, stored if it is not there.
async fn entity(bench: &Bench, given: &Value) -> (EntityKind, String) {
    let Some(agent) = given.get("agent") else { return (EntityKind::Workflow, bench.workflow("models", given["graph"].clone()).await) };
    let stored = match bench.studio.get(&bench.scope, Resource::Agent, "models").await {
        Ok(found) => found,
        Err(_) => bench.studio.create(&bench.scope, Resource::Agent, agent).await.expect("an agent"),
    };
    (EntityKind::Agent, stored["id"].as_str().expect("an id").to_owned())
}

/// Says what is told of a run, in the process that drives it.
async fn follow(bench: &Bench, run: &Id) {
    let stream = bench.studio.events(&bench.scope, &run.to_string(), From::default(), Follow::Tail).await.expect("events");
    let mut stream = stream.expect("frames");
    while let Some(batch) = stream.next_batch().await {
        for frame in batch {
            let mut data = Vec::new();
            frame.write_data(&mut data);
            say(&format!("told {} {} {}", frame.number(), frame.event(), String::from_utf8(data).expect("text")));
        }
    }
}

/// A graph or an agent, programs that run it, and a studio that goes on where they died.
struct Stage {
    folder: TempDir,
    bench: Bench,
    settings: Value,
    given: Value,
    kind: EntityKind,
    known: Vec<Id>,
}

impl Stage {
    async fn set(settings: Value, more: Value, graph: Value) -> Self {
        Self::with(settings, more, json!({"graph": graph})).await
    }

    async fn with(mut settings: Value, more: Value, given: Value) -> Self {
        merge(&mut settings, more);
        let folder = folder();
        let bench = Bench::open(folder.path(), settings.clone());
        let (kind, _) = entity(&bench, &given).await;
        Self { folder, bench, settings, given, kind, known: Vec::new() }
    }

    fn program(&self, more: Value) -> Program {
        let mut given = json!({"settings": self.settings, "messages": ["Go."]});
        merge(&mut given, self.given.clone());
        merge(&mut given, more);
        Program::run("models", self.folder.path(), &given)
    }

    /// What a program says until it ends by itself, or at its border.
    fn whole(&self, more: Value) -> Vec<String> {
        let mut program = self.program(more);
        let said = std::iter::from_fn(|| program.next()).collect();
        program.child.wait().expect("its end");
        said
    }

    /// How many borders a program passes that nothing disturbs.
    fn borders(&self, more: Value) -> u64 {
        let said = self.whole(more);
        let ran = said.last().and_then(|line| line.strip_prefix("ran "));
        ran.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("it did not end: {said:?}"))
    }

    /// The runs since the last time, the first of them first.
    async fn new_runs(&mut self) -> Vec<Id> {
        let mut runs = runs_of_kind(&self.bench, self.kind).await;
        runs.retain(|run| !self.known.contains(run));
        runs.reverse();
        self.known.extend(&runs);
        runs
    }

    async fn trace(&self, run: &Id) -> Value {
        self.bench.studio.trace(&self.bench.scope, &run.to_string(), TraceQuery::default()).await.expect("a trace")
    }
}

/// The runs that a program said it started.
fn runs_of(said: &[String]) -> Vec<Id> {
    said.iter().filter_map(|line| line.strip_prefix("run ")).map(|run| run.parse().expect("an id")).collect()
}

/// The calls of models in a trace that ended so.
fn ended(trace: &Value, status: &str) -> usize {
    trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "llm" && span["status"] == status).count()
}

/// Waits until something is so; fails loudly otherwise.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(tokio::time::Instant::now() < until, "{what} did not come true");
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}
