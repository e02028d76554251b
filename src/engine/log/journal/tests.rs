//! Owns proof of what is stored when the writer is held up, or the disk is full for a while.

use std::sync::mpsc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use crate::model::event::EntityKind;
use crate::store::log::tokens;
use crate::store::runs;
use crate::studio::runs::requests::RunRequest;
use crate::studio::{Resource, Scope, Studio};

/// Answers its calls with a text, once there is one.
struct Answers(watch::Receiver<Option<String>>);

impl Host for Answers {
    fn call(&self, _: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let mut answer = self.0.clone();
        Box::pin(async move {
            let text = answer.wait_for(Option::is_some).await.map_err(|_| HostFailure::new("nobody answers"))?.clone();
            Ok(json!(text))
        })
    }
}

fn open(path: &str) -> Studio {
    Studio::open(crate::config::Config::with(json!({"database": crate::place::database(path)})).unwrap()).unwrap()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..12_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{what} did not come true within 60 s");
}

/// A run whose steps of tools wait for an answer of the host; what gives it.
async fn working(studio: &Studio, sketch: &str, tools: usize) -> (Arc<Journal>, watch::Sender<Option<String>>) {
    let (sender, answer) = watch::channel(None);
    let pay: HostTool = serde_json::from_value(json!({"name": "pay"})).unwrap();
    let declaration = HostDeclaration { ops: vec![HostOp::ToolCall], tools: vec![pay], ..HostDeclaration::default() };
    studio.set_host(Arc::new(Answers(answer)), declaration);
    let body = json!({"name": "W", "graph": crate::model::sketch::graph(sketch).unwrap()});
    let workflow = studio.create(&Scope::default(), Resource::Workflow, &body).await.unwrap();
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Workflow).unwrap();
    let run = studio.start(&Scope::default(), EntityKind::Workflow, workflow["id"].as_str().unwrap(), request, false).await.unwrap().run;
    // One receiver is the host's own; each call waits with another.
    until("the calls", async || sender.receiver_count() == tools + 1).await;
    let journal = Arc::clone(&studio.world().active.lock().get(&run).unwrap().journal);
    journal.durable().await.unwrap();
    (journal, sender)
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_several_steps_that_are_stored_together_stay_apart() {
    let studio = open(":memory:");
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> tool_1{tool_ref: \"host:pay\"} -> join_1; fork_1.b -> tool_2{tool_ref: \"host:pay\"} -> join_1";
    let (journal, _answer) = working(&studio, sketch, 2).await;
    let steps: Vec<(LaneId, Id)> =
        journal.with(|run| run.lanes.values().filter(|lane| lane.branch.is_some()).map(|lane| (lane.id, lane.step.as_ref().unwrap().id)).collect());
    let (go_on, holding) = held_up(&studio, journal.run).await;
    let said = [(0, false, "a1"), (0, false, "a2"), (1, false, "b1"), (0, true, "hm"), (0, false, "a3")];
    for (step, thought, text) in said {
        journal.token(steps[step].0, steps[step].1, (true, thought), text);
    }
    drop(go_on);
    holding.await.unwrap();
    let (store, tenant, run) = (&studio.world().store, Arc::clone(&journal.tenant), journal.run);
    let mut rows = Vec::new();
    until("all of it is stored", async || {
        let tenant = Arc::clone(&tenant);
        rows = store.read(move |tx| tokens(tx, &tenant, &run, 0, 10)).await.unwrap();
        rows.iter().map(|row| row.count).sum::<u64>() == said.len() as u64
    })
    .await;
    let told: Vec<_> = rows.iter().map(|row| (row.lane, row.step, row.thought, row.deltas.concat())).collect();
    let wanted = [(0, false, "a1a2"), (1, false, "b1"), (0, true, "hm"), (0, false, "a3")];
    assert_eq!(told, wanted.map(|(step, thought, text)| (steps[step].0, steps[step].1, thought, text.to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_full_disk_refused_is_stored_when_there_is_room_again() {
    if crate::place::on_server(":memory:").is_some() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let studio = open(folder.path().join("studio.sqlite").to_str().unwrap());
    let (journal, answer) = working(&studio, "start -> tool_1{tool_ref: \"host:pay\"} -> stop", 1).await;
    let store = &studio.world().store;
    // The database is never made smaller than it is.
    let pages = async |pragma: &'static str| store.write(move |tx| tx.query_one(pragma, &[], |row| row.int(0))).await.unwrap();
    pages("PRAGMA max_page_count = 1").await;
    let (tenant, run) = (Arc::clone(&journal.tenant), journal.run);
    let row = async || {
        let tenant = Arc::clone(&tenant);
        store.read(move |tx| runs::get(tx, &tenant, &run)).await.unwrap().unwrap()
    };
    let before = row().await.head;
    answer.send(Some("x".repeat(400_000))).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(row().await.head, before, "there is no room for the answer");
    pages("PRAGMA max_page_count = 1000000").await;
    until("the end", async || row().await.status == "completed").await;
}

/// A run that nobody stores is told as it goes, and has no lease that it could lose.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_not_stored_goes_on_without_a_lease() {
    let mut database = crate::place::database(":memory:");
    database["durability"] = "none".into();
    let settings = json!({"database": database, "runs": {"lease_seconds": 1}});
    let studio = Studio::open(crate::config::Config::with(settings).unwrap()).unwrap();
    let (journal, answer) = working(&studio, "start -> tool_1{tool_ref: \"host:pay\"} -> stop", 1).await;
    let all = crate::engine::From::default();
    let mut reader = studio.events(&Scope::default(), &journal.run.to_string(), all, crate::engine::Follow::Tail).await.unwrap().unwrap();
    let told = async {
        while let Some(batch) = reader.next_batch().await {
            if batch.iter().any(|frame| frame.event() == "step_started") {
                return true;
            }
        }
        false
    };
    let told = tokio::time::timeout(Duration::from_secs(60), told).await;
    assert_eq!(told, Ok(true), "what was done so far is told while the call is waited for");
    // Leases are renewed each third of a second.
    tokio::time::sleep(Duration::from_millis(900)).await;
    answer.send(Some("paid".to_owned())).unwrap();
    until("the end", async || journal.status() == Status::Completed).await;
}

/// Holds up the writer of a run until the sender is dropped.
async fn held_up(studio: &Studio, run: Id) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
    let ((holds, is_held), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel::<()>());
    let store = studio.world().store.clone();
    let holding = tokio::spawn(async move {
        let hold = move |_: &mut crate::store::Tx<'_>| {
            let _nobody_listens = (holds.send(()), may_go_on.recv());
            Ok(())
        };
        store.write_of(run, hold).await.unwrap();
    });
    is_held.recv_timeout(Duration::from_secs(60)).expect("the writer is held up");
    (go_on, holding)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_leaves_a_run_that_just_paused_cancels_nothing() {
    let studio = open(":memory:");
    let (journal, answer) = working(&studio, "start -> tool_1{tool_ref: \"host:pay\"} -> human_1 -> stop", 1).await;
    let (go_on, holding) = held_up(&studio, journal.run).await;
    answer.send(Some("paid".to_owned())).unwrap();
    until("the pause", async || journal.with(|run| !run.pauses().is_empty() && !run.has_work())).await;
    let (world, tenant, run, fence) = (Arc::clone(studio.world()), Arc::clone(&journal.tenant), journal.run, journal.ownership().fence);
    let leaves = tokio::spawn(async move { crate::engine::cancel_left(&world, &tenant, &run.to_string(), fence).await });
    // On a server, another connection writes what the reader wants while the pause waits.
    tokio::time::sleep(Duration::from_millis(200)).await;
    drop(go_on);
    holding.await.unwrap();
    let _refused_or_not = leaves.await.unwrap();
    until("the run rests", async || studio.world().active.lock().is_empty()).await;
    studio.take_over().await.unwrap();
    let tenant = Arc::clone(&journal.tenant);
    let row = studio.world().store.read(move |tx| runs::get(tx, &tenant, &run)).await.unwrap().unwrap();
    assert_eq!((row.status.as_str(), row.cancel_requested), ("awaiting_input", false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_answer_is_heard_to_its_end_while_nothing_is_stored() {
    let studio = open(":memory:");
    let (journal, _answer) = working(&studio, "start -> tool_1{tool_ref: \"host:pay\"} -> stop", 1).await;
    let (lane, step) = journal.with(|run| run.lanes.values().find_map(|lane| Some((lane.id, lane.step.as_ref()?.id))).unwrap());
    let (go_on, holding) = held_up(&studio, journal.run).await;
    let said = pace::PendingText::default();
    let call = async {
        for _ in 0..100 {
            said.push(false, "word ".to_owned());
            tokio::task::yield_now().await;
        }
    };
    let heard = journal.at_pace(call, &said, |thought, text| journal.token(lane, step, (true, thought), text));
    let heard = tokio::time::timeout(Duration::from_secs(30), heard).await;
    drop(go_on);
    holding.await.unwrap();
    assert!(heard.is_ok(), "a provider is not kept waiting for a short stop of the disk");
}
