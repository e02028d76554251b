//! A process that bills is killed at every border of every write, and around every bill: each run that ended was told, and what was told
//! twice is known by its id. The sums stay those of what is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use wfstudio::model::{Id, Timestamp};
use wfstudio::store::upkeep::outbox;
use wfstudio::store::runs::list;
use wfstudio::studio::{Options, Resource, Scope, Studio, UsageWindow};

use crate::program::{Program, say};
use crate::support::{Bench, Tick, config, folder, graph, mark, marks, workflow_runs};

/// A host that writes down what it is told.
struct Biller {
    ledger: PathBuf,
    tick: Tick,
}

impl Host for Biller {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let (ledger, tick) = (self.ledger.clone(), Arc::clone(&self.tick));
        Box::pin(async move {
            assert_eq!(call.op, HostOp::UsageRecorded);
            tick();
            mark(&ledger, &call.payload.to_string());
            tick();
            Ok(Value::Null)
        })
    }
}

/// Hours later: what waits for another try is due.
#[derive(Default)]
struct Later(SystemClock);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now().0 + 7_200_000)
    }

    fn id(&self) -> Id {
        self.0.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.0.random(into);
    }
}

fn open(folder: &Path, options: Options, tick: Tick) -> Bench {
    let rows = json!([{"provider": "script", "model": "talk", "input": "1.234567", "output": "7.654321"}]);
    let settings = json!({"usage": {"events": {"enabled": true}, "prices": {"models": rows}}});
    let studio = Studio::open_with(config(folder, settings), options).expect("a studio");
    let declaration = HostDeclaration { ops: vec![HostOp::UsageRecorded], ..HostDeclaration::default() };
    studio.set_host(Arc::new(Biller { ledger: folder.join("ledger"), tick }), declaration);
    Bench { studio, scope: Scope::default(), effects: folder.join("effects") }
}

/// Two workflows with a stored agent in each: one fails once and is retried, one waits for a person and is cancelled.
async fn workflows(bench: &Bench) -> [String; 2] {
    if bench.studio.get(&bench.scope, Resource::Agent, "helper").await.is_err() {
        let body = json!({"name": "Helper", "slug": "helper", "provider": "script", "model": "talk"});
        bench.studio.create(&bench.scope, Resource::Agent, &body).await.expect("an agent");
    }
    let helper = json!({"config_mode": "existing", "agent_id": "helper", "message": "hi"});
    let ends = ["start", "stop"].map(|end| (end, end, json!({})));
    let chained = |middle: [(&'static str, &'static str, Value); 2]| {
        let [first, second] = middle;
        let edges = [("start", first.0), (first.0, second.0), (second.0, "stop")];
        graph(&[ends[0].clone(), first, second, ends[1].clone()], &edges)
    };
    let flaky = json!({"provider": "script", "model": "flaky", "prompt": "go"});
    let failing = chained([("helper", "agent", helper.clone()), ("flaky", "llm", flaky)]);
    let waiting = chained([("helper", "agent", helper), ("ask", "human", json!({"prompt": "Well?"}))]);
    [bench.workflow("failing", failing).await, bench.workflow("waiting", waiting).await]
}

/// Retries and cancels until the run is over for good.
async fn finish(bench: &Bench, run: &Id) {
    for _ in 0..30_000 {
        match bench.row(run).await.status.as_str() {
            "completed" | "cancelled" => return,
            "failed" => drop(bench.retry(run, json!({})).await.expect("a retry")),
            "awaiting_input" => drop(bench.studio.cancel(&bench.scope, &run.to_string()).await.expect("a cancel")),
            "running" => tokio::time::sleep(Duration::from_millis(1)).await,
            other => panic!("the run is {other}"),
        }
    }
    panic!("the run does not end: {:?}", bench.row(run).await);
}

/// Finishes what others left and bills it, then runs both workflows; dies at the given border.
pub async fn program(folder: &Path, given: &Value) {
    let at = given["kill_at"].as_u64().unwrap_or(0);
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let tick: Tick = Arc::new(move || {
        if counted.fetch_add(1, Ordering::SeqCst) + 1 == at {
            let _this_process_ends_here = std::process::Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
            std::thread::sleep(Duration::from_secs(60));
        }
    });
    let hook = Arc::clone(&tick);
    let bench = open(folder, Options { on_append: Some(Arc::new(move |_, _, _| hook())), ..Options::default() }, tick);
    bench.studio.take_over().await.expect("a studio");
    for run in workflow_runs(&bench).await {
        finish(&bench, &run).await;
    }
    for workflow in workflows(&bench).await {
        let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
        finish(&bench, &run).await;
    }
    while bench.studio.world().tell_usage().await.expect("a store") > 0 {}
    let borders = count.load(Ordering::SeqCst);
    if (1..=borders).contains(&at) {
        // Another thread is at that border: the end comes any moment.
        std::thread::sleep(Duration::from_secs(60));
    }
    say(&format!("ran {borders}"));
}

/// Rows of runs and their children as a bill shows them. A child run that ended stays as it was told when its run is tried again.
async fn owed(bench: &Bench) -> BTreeMap<String, Value> {
    let mut owed = BTreeMap::new();
    for run in workflow_runs(bench).await {
        let children = bench.studio.world().store.read(move |tx| list::children(tx, "", &run)).await.expect("children");
        for row in children.into_iter().chain([bench.row(&run).await]) {
            let attempt = row.parent.is_none().then_some(row.attempt);
            let told = json!([row.status, attempt, row.total.tokens.prompt, row.total.cost.shown(), row.parent.map(|id| id.to_string())]);
            owed.insert(row.id.to_string(), told);
        }
    }
    owed
}

/// What the ledger says of each run that was told last, whatever was told twice.
fn billed(folder: &Path) -> BTreeMap<String, Value> {
    let mut by_id: BTreeMap<String, Value> = BTreeMap::new();
    for line in marks(&folder.join("ledger")) {
        let event: Value = serde_json::from_str(&line).expect("JSON");
        let id = event["eventId"].as_str().expect("an id").to_owned();
        assert_eq!(by_id.entry(id).or_insert_with(|| event.clone()), &event, "the same id tells the same");
    }
    let mut attempts = BTreeSet::new();
    let mut last: BTreeMap<String, Value> = BTreeMap::new();
    for event in by_id.into_values() {
        let run = event["run"].as_str().expect("a run").to_owned();
        assert!(attempts.insert((run.clone(), event["attempt"].as_u64())), "two ids for one end of a run: {event}");
        let known = last.get(&run).and_then(|known| known["attempt"].as_u64());
        if known < event["attempt"].as_u64() {
            last.insert(run, event);
        }
    }
    let attempt = |event: &Value| event["parentRunId"].is_null().then(|| event["attempt"].clone());
    let told = |event: &Value| json!([event["status"], attempt(event), event["promptTokens"], event["estimatedCost"], event["parentRunId"]]);
    last.iter().map(|(run, event)| (run.clone(), told(event))).collect()
}

/// Everything that the export says of a wide window.
async fn exported(bench: &Bench) -> Vec<Value> {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |days: i64| today.checked_add(jiff::Span::new().days(days)).expect("a day").to_string();
    let mut told = Vec::new();
    for more in [json!({}), json!({"group_by": "model"}), json!({"group_by": "entity"}), json!({"group_by": "day"}), json!({"model": "talk"})] {
        let mut asked = json!({"from": day(-2), "to": day(2)});
        asked.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let window = UsageWindow::parse(asked.as_object().expect("an object")).expect("a query");
        told.push(json!(bench.studio.usage(&bench.scope, window).await.expect("a report")));
    }
    told
}

async fn settle(folder: &Path, kills: u64) {
    let bench = open(folder, Options { clock: Some(Arc::new(Later::default())), ..Options::default() }, Arc::new(|| ()));
    while bench.studio.world().store.read(outbox::next_due).await.expect("a store").is_some() {
        bench.studio.world().tell_usage().await.expect("a store");
    }
    let owed = owed(&bench).await;
    let billed = billed(folder);
    let differ = |run: &&String| billed.get(*run) != owed.get(*run);
    let wrong: Vec<_> = owed.keys().chain(billed.keys()).filter(differ).map(|run| (owed.get(run), billed.get(run))).collect();
    assert!(wrong.is_empty(), "owed and billed: {wrong:?}");
    assert!(owed.len() as u64 >= kills / 10, "{} runs", owed.len());
    let told = exported(&bench).await;
    assert!(told[0]["totals"]["run_count"].as_u64().expect("a count") > 4, "{}", told[0]);
    bench.studio.rebuild_usage().await.expect("a store");
    assert_eq!(exported(&bench).await, told, "the sums are those of what is stored");
    bench.studio.shutdown(Duration::from_secs(5)).await;
}

#[test]
fn every_run_that_ended_is_billed_whenever_the_process_dies() {
    let folder = folder();
    let mut kills = 0;
    for kill_at in 1.. {
        let mut program = Program::run("bill", folder.path(), &json!({"kill_at": kill_at}));
        while program.next().is_some() {}
        let status = program.child.wait().expect("its end");
        if std::os::unix::process::ExitStatusExt::signal(&status) != Some(9) {
            assert!(status.success(), "the process failed at border {kill_at}: {status}");
            break;
        }
        kills += 1;
    }
    assert!(kills >= 30, "{kills} kills");
    tokio::runtime::Runtime::new().expect("a runtime").block_on(settle(folder.path(), kills));
}
