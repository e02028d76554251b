//! Owns runs as tests tell them: started, followed in both orders, read again, and compared with their trace.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use std::sync::Mutex;
use serde_json::{Value, json};
use wfstudio::engine::{Follow, From, Order};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Started, TraceQuery};

use super::hands::Hands;
use super::render::{EventFrame, Names};
use super::{Bench, merge};

/// A studio with the tools of tests, and what was told of its runs so far.
pub struct Story {
    pub bench: Bench,
    pub hands: Hands,
    names: Mutex<Names>,
    live: Mutex<HashMap<String, u64>>,
}

/// A run and what its first answer told.
pub struct Run {
    pub id: String,
    pub text: String,
}

impl Story {
    /// Without scripted models but `echo`.
    pub fn plain() -> Self {
        Self::with(json!({}), json!([]))
    }

    /// With a model `m` that plays these replies.
    pub fn scripted(replies: Value) -> Self {
        Self::with(json!({}), replies)
    }

    /// With settings, too.
    pub fn with(settings: Value, replies: Value) -> Self {
        let mut all = json!({"providers": {"script": {"scripts": {"m": {"replies": replies}}}}});
        merge(&mut all, settings);
        Self::of(Bench::new(all))
    }

    /// With a model `m`, on the database in a folder.
    pub fn on_disk(folder: &std::path::Path, replies: Value) -> Self {
        Self::of(Bench::on_disk(json!({"providers": {"script": {"scripts": {"m": {"replies": replies}}}}}), folder))
    }

    /// Of a studio that is there.
    pub fn of(bench: Bench) -> Self {
        let hands = Hands::default();
        bench.studio.set_host(Arc::new(hands.clone()), Hands::declaration());
        Self { bench, hands, names: Mutex::default(), live: Mutex::default() }
    }

    /// A workflow from its sketch.
    pub async fn workflow(&self, sketch: &str) -> String {
        self.bench.workflow(wfstudio::model::sketch::graph(sketch).expect("a sketch")).await
    }

    /// Runs a sketch with the message `hi`.
    pub async fn run(&self, sketch: &str) -> Run {
        self.run_with(sketch, json!({"message": "hi"})).await
    }

    pub async fn run_with(&self, sketch: &str, body: Value) -> Run {
        let workflow = self.workflow(sketch).await;
        self.start(&workflow, body).await
    }

    pub async fn start(&self, workflow: &str, body: Value) -> Run {
        let started = self.bench.start(workflow, body).await;
        let text = self.events_text(&started).await;
        Run { id: started.run.to_string(), text }
    }

    /// Leaves a run of a sketch with the message `hi` to a worker; its id.
    pub async fn queue(&self, sketch: &str) -> String {
        let workflow = self.workflow(sketch).await;
        let request = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a run body");
        let bench = &self.bench;
        let started = bench.studio.start(&bench.scope, EntityKind::Workflow, &workflow, request, true).await.expect("a run");
        assert_eq!(started.status.as_str(), "queued");
        started.run.to_string()
    }

    /// A worker takes the run that waits; what its tail tells from a position, until it rests.
    pub async fn work(&self, run: &str, after: u64) -> String {
        let world = self.bench.studio.world();
        let (told, claimed) = tokio::join!(self.read(run, From { after, ..From::default() }, Follow::Tail), world.work());
        assert_eq!(claimed.expect("work").map(|claimed| claimed.to_string()).as_deref(), Some(run));
        self.settle(run).await;
        assert_eq!(told, self.read(run, From { after, ..From::default() }, Follow::Tail).await, "the tail read again");
        self.names.lock().expect("a lock").lines(run, &told)
    }

    /// A turn of a stored agent; no thread = a new one.
    pub async fn chat(&self, agent: &str, body: Value) -> Run {
        let request = RunRequest::parse(&body, EntityKind::Agent).expect("a chat body");
        let started = self.bench.studio.start(&self.bench.scope, EntityKind::Agent, agent, request, false).await;
        let started = started.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
        let text = self.events_text(&started).await;
        Run { id: started.run.to_string(), text }
    }

    /// Answers a pause; what is told then.
    pub async fn resume(&self, run: &str, body: Value) -> String {
        let started = self.bench.resume(run, body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
        self.events_text(&started).await
    }

    pub async fn retry(&self, run: &str, body: Value) -> String {
        let started = self.bench.retry(run, body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
        self.events_text(&started).await
    }

    /// The refusal of an answer, which must have changed nothing.
    pub async fn refused(&self, run: &str, what: &str, body: Value) -> String {
        let before = self.everything(run).await;
        let error = match what {
            "resume" => self.bench.resume(run, body).await.map(|_| ()),
            "retry" => self.bench.retry(run, body).await.map(|_| ()),
            "queue resume" => self.bench.queue_resume(run, body).await.map(|_| ()),
            "queue retry" => self.bench.queue_retry(run, body).await.map(|_| ()),
            "cancel" => self.bench.studio.cancel(&self.bench.scope, run).await.map(|_| ()),
            "delete" => self.bench.studio.delete_run(&self.bench.scope, run).await,
            other => panic!("{other}"),
        };
        let error = error.expect_err("a refusal");
        assert_eq!(before, self.everything(run).await, "a refusal changes nothing");
        let members = self.names.lock().expect("a lock").value("", Value::Object(error.members.clone()));
        let members = if error.members.is_empty() { String::new() } else { format!(" {members}") };
        format!("{} {}: {}{members}", error.kind.status(), error.kind.code(), error.message)
    }

    async fn everything(&self, run: &str) -> String {
        let trace = match self.bench.studio.trace(&self.bench.scope, run, TraceQuery::default()).await {
            Ok(mut trace) => {
                trace["trace"]["duration_ms"] = Value::Null;
                trace.to_string()
            }
            Err(error) => error.to_string(),
        };
        format!("{trace} {:?}", self.hands.calls())
    }

    /// Cancels; the status afterwards and what was told since the position.
    pub async fn cancel(&self, run: &str) -> String {
        let (_, status) = self.bench.studio.cancel(&self.bench.scope, run).await.expect("a cancel");
        status.as_str().to_owned()
    }

    /// Ids in a text of this story by name, the other way round: the id that `name` stands for.
    pub fn id(&self, name: &str) -> String {
        self.names.lock().expect("a lock").id(name)
    }

    pub async fn trace(&self, run: &str) -> Value {
        self.bench.trace(run).await
    }

    /// A part of a trace, with ids named.
    pub fn shown(&self, value: &Value) -> String {
        let value = self.names.lock().expect("a lock").value("", value.clone());
        serde_json::to_string_pretty(&value).expect("JSON")
    }

    /// Steps in short: `seq node status handle …`.
    pub async fn steps(&self, run: &str) -> String {
        let trace = self.trace(run).await;
        let steps = trace["steps"].as_array().expect("steps");
        let line = |step: &Value| {
            let name = self.names.lock().expect("a lock").value("step_id", step["id"].clone());
            let mut text = format!("{} {} {}", name.as_str().unwrap_or_default(), step["node_id"].as_str().unwrap_or_default(), step["status"].as_str().unwrap_or_default());
            if let Some(handle) = step["handle"].as_str() {
                text.push_str(&format!(" .{handle}"));
            }
            for (key, usual) in [("iteration", json!(null)), ("iteration_path", json!("")), ("branch_path", json!([])), ("attempt", json!(1)), ("checkpoint_hit", json!(false)), ("superseded", json!(false)), ("output", json!(null)), ("error", json!(null))] {
                if step[key] != usual {
                    text.push_str(&format!(" {key}={}", step[key]));
                }
            }
            text + "\n"
        };
        steps.iter().map(line).collect()
    }

    /// Follows an answer in both orders as it comes, reads it again, and compares everything that must agree.
    pub async fn events_text(&self, started: &Started) -> String {
        let run = started.run.to_string();
        let live_from = self.live.lock().expect("a lock").get(&run).copied().unwrap_or(0);
        let ordered = From { after: started.after, order: Order::Ordered };
        let live = From { after: live_from, order: Order::Live };
        let (told, happened, tail) = tokio::join!(
            self.read(&run, ordered, Follow::Answer),
            self.read(&run, live, Follow::Answer),
            self.read(&run, From::default(), Follow::Tail)
        );
        self.settle(&run).await;
        assert_eq!(tail, self.read(&run, From::default(), Follow::Tail).await, "the tail read again");
        assert_eq!(told, self.read(&run, ordered, Follow::Answer).await, "read again");
        assert_eq!(happened, self.read(&run, live, Follow::Answer).await, "read again as it happened");
        same_contents(&told, &happened);
        let tail = self.read(&run, live, Follow::Tail).await;
        self.live.lock().expect("a lock").insert(run.clone(), tail.last().expect("a frame").number());
        self.check(&run).await;
        self.names.lock().expect("a lock").lines(&run, &told)
    }

    /// The whole tail of a run.
    pub async fn tail(&self, run: &str, order: Order, after: u64) -> String {
        let told = self.read(run, From { order, after }, Follow::Tail).await;
        self.names.lock().expect("a lock").lines(run, &told)
    }

    pub async fn read(&self, run: &str, from: From, follow: Follow) -> Vec<EventFrame> {
        let stream = self.bench.studio.events(&self.bench.scope, run, from, follow).await.expect("events");
        let Some(mut stream) = stream else { return Vec::new() };
        let mut told = Vec::new();
        while let Some(batch) = stream.next_batch().await {
            for frame in batch {
                let (mut id, mut data) = (Vec::new(), Vec::new());
                frame.write_id(&mut id);
                frame.write_data(&mut data);
                let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
                super::described::check(frame.event(), &data);
                told.push(EventFrame { id: text(id), event: frame.event(), data: text(data) });
            }
        }
        told
    }

    /// Goes on with a run that another studio began.
    pub async fn join(&self, run: &str) {
        self.settle(run).await;
        let told = self.read(run, From { order: Order::Live, after: 0 }, Follow::Tail).await;
        self.live.lock().expect("a lock").insert(run.to_owned(), told.last().expect("a frame").number());
    }

    /// Waits until that many tool calls were made.
    pub async fn calls(&self, count: usize) {
        while self.hands.calls().len() < count {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    /// Waits until nobody works on the run any more.
    pub async fn settle(&self, run: &str) {
        let id = run.parse().expect("an id");
        while self.bench.studio.world().hub.get(id).is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    /// What must hold of every run at rest.
    pub async fn check(&self, run: &str) {
        let tail = self.read(run, From::default(), Follow::Tail).await;
        let live = self.read(run, From { order: Order::Live, after: 0 }, Follow::Tail).await;
        let trace = self.trace(run).await;
        same_contents(&tail, &live);
        for told in [&tail, &live] {
            assert!(told.windows(2).all(|pair| pair[0].number() < pair[1].number()), "ids increase");
            assert_eq!(told.iter().filter(|frame| frame.event == "run_terminal").count(), 1);
            assert_eq!(told.last().expect("a frame").event, "run_terminal");
        }
        let last = tail.last().expect("a frame").number();
        assert_eq!(trace["trace"]["last_event_id"], last);
        let middle = &tail[tail.len() / 2];
        let rest = self.read(run, From { after: middle.number(), order: Order::Ordered }, Follow::Tail).await;
        assert_eq!(rest, tail[tail.len() / 2 + 1..], "from the middle");
        assert!(self.bench.studio.events(&self.bench.scope, run, From { after: last, order: Order::Ordered }, Follow::Tail).await.expect("events").is_none());
        if trace["trace"]["entity_type"] == "workflow" {
            super::rules::steps_agree(&tail, &trace);
        }
    }
}

type Contents = BTreeMap<(&'static str, String), usize>;

fn same_contents(told: &[EventFrame], happened: &[EventFrame]) {
    let (told, happened) = (contents(told), contents(happened));
    let only = |one: &Contents, other: &Contents| {
        one.iter().filter(|(key, count)| other.get(*key) != Some(*count)).map(|(key, _)| format!("{key:?}")).collect::<Vec<_>>()
    };
    assert!(told == happened, "both orders tell the same: only ordered {:?}, only live {:?}", only(&told, &happened), only(&happened, &told));
}

/// What frames tell, without order and numbers.
fn contents(told: &[EventFrame]) -> Contents {
    let mut found = BTreeMap::new();
    for frame in told {
        *found.entry((frame.event, frame.data.clone())).or_default() += 1;
    }
    found
}
