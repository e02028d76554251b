//! Who holds a run: heartbeats, owners that die or stand still, takeovers by start, by clock, too many of them, and shutdown.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::model::{Id, Timestamp};
use wfstudio::studio::Options;

use crate::program::Program;
use crate::record::record;
use crate::support::{Bench, folder, marks, single};

const SOON: Duration = Duration::from_secs(60);

fn slow_model() -> Value {
    json!({"type": "llm", "data": {"provider": "script", "model": "slow", "output_key": "said"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_keeps_the_lease_of_a_step_that_outlasts_it() {
    let folder = folder();
    // It is renewed each third of that, so that a machine that stands still for a moment does not lose it.
    let script = json!({"scripts": {"long": {"replies": [{"text": "at last", "delay_ms": 8_000}]}}});
    let short = json!({"runs": {"lease_seconds": 5}, "providers": {"script": script}});
    let (own, other) = (Bench::open(folder.path(), short.clone()), Bench::open(folder.path(), short));
    let workflow = own.workflow("long", single("llm", json!({"provider": "script", "model": "long", "output_key": "said"}))).await;
    let run = own.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    while own.row(&run).await.status == "running" {
        assert_eq!(other.studio.take_over().await.expect("a studio"), 0, "a live run was taken");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let row = own.row(&run).await;
    assert_eq!((row.status.as_str(), row.fence, row.takeovers), ("completed", 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_stood_still_is_fenced() {
    let folder = folder();
    let short = json!({"runs": {"lease_seconds": 1}});
    let mut owner = Program::run("work", folder.path(), &json!({"settings": short, "node": slow_model()}));
    let run: Id = owner.next().expect("a run").parse().expect("an id");
    let other = Bench::open(folder.path(), short);
    // A process that stands still in the middle of a write keeps the file, or the row, locked: then it is let go on and stopped again.
    for tries in 1.. {
        owner.signal("STOP");
        tokio::time::sleep(Duration::from_millis(1300)).await;
        let taken = other.studio.take_over().await;
        if taken.as_ref().is_ok_and(|taken| *taken == 1) {
            break;
        }
        assert!(tries < 20, "{taken:?}");
        owner.signal("CONT");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    owner.signal("CONT");
    let row = other.until(&run, "completed", SOON).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(other.row(&run).await, row, "the former owner wrote something");
    assert_eq!(row.fence, 2);
    let _checked = record(&other, &run).await;
    owner.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_a_dead_process_is_taken_over_at_once_at_start() {
    let folder = folder();
    let mut owner = Program::run("work", folder.path(), &json!({"settings": {}, "node": slow_model()}));
    let run: Id = owner.next().expect("a run").parse().expect("an id");
    owner.kill();
    let next = Bench::open(folder.path(), json!({"worker": {"in_process": true}}));
    next.studio.runtime().expect("a runtime");
    let row = next.until(&run, "completed", SOON).await;
    assert_eq!((row.fence, row.takeovers), (2, 0), "a completed step forgets takeovers");
    let _checked = record(&next, &run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_an_unknown_owner_is_taken_over_when_the_lease_ends() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({"worker": {"in_process": true}, "runs": {"lease_seconds": 1}}));
    let first = Bench::open(folder.path(), json!({}));
    let workflow = first.workflow("slow", single("llm", slow_model()["data"].clone())).await;
    let run = first.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    bench.studio.runtime().expect("a runtime");
    let store = &first.studio.world().store;
    let (id, until) = (run, Timestamp(first.studio.world().clock.now().0 + 500));
    let taken = store.write(move |tx| wfstudio::store::runs::queue::claim(tx, "", &id, 1, "elsewhere", until)).await;
    assert!(taken.expect("a store").is_some());
    let row = bench.until(&run, "completed", SOON).await;
    assert_eq!(row.fence, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_kills_its_owners_is_given_up_and_can_be_retried() {
    let folder = folder();
    let mut owner = Program::run("work", folder.path(), &json!({"settings": {}, "node": slow_model()}));
    let run: Id = owner.next().expect("a run").parse().expect("an id");
    owner.kill();
    for _ in 0..3 {
        let mut next = Program::run("work", folder.path(), &json!({"settings": {}}));
        assert_eq!(next.next().as_deref(), Some("1"));
        next.kill();
    }
    let last = Bench::open(folder.path(), json!({}));
    assert_eq!(last.studio.take_over().await.expect("a studio"), 1);
    let row = last.until(&run, "failed", SOON).await;
    let error = row.error.expect("an error");
    assert_eq!((&error["code"], row.takeovers), (&json!("worker_lost"), 4), "{error}");
    last.retry(&run, json!({})).await.expect("a retry");
    last.until(&run, "completed", SOON).await;
    let _checked = record(&last, &run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shutting_down_leaves_runs_to_be_taken_over_at_once() {
    let folder = folder();
    let node = json!({"type": "tool", "data": {"tool_ref": "host:slow_pay", "output_key": "paid"}});
    let mut owner = Program::run("work", folder.path(), &json!({"settings": {}, "node": node}));
    let run: Id = owner.next().expect("a run").parse().expect("an id");
    let next = Bench::open(folder.path(), json!({}));
    while marks(&next.effects).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    owner.tell("shut down");
    owner.child.wait().expect("its end");
    assert_eq!(marks(&folder.path().join("ended")), ["shut down"]);
    let row = next.row(&run).await;
    assert_eq!((row.status.as_str(), row.lease_until.map(|at| at.0)), ("running", Some(0)), "it stopped after its step");
    assert_eq!(next.studio.take_over().await.expect("a studio"), 1);
    next.until(&run, "completed", SOON).await;
    assert_eq!(marks(&next.effects).len(), 1, "the step under way was finished, not made again");
    let _checked = record(&next, &run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_without_time_drops_the_step_and_its_call_is_in_doubt() {
    let folder = folder();
    let first = Bench::open(folder.path(), json!({}));
    let workflow = first.workflow("slow", single("tool", json!({"tool_ref": "host:slow_pay"}))).await;
    let run = first.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    while marks(&first.effects).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    first.studio.shutdown(Duration::from_millis(400)).await;
    let next = Bench::open(folder.path(), json!({}));
    assert_eq!(next.studio.take_over().await.expect("a studio"), 1);
    let row = next.until(&run, "failed", SOON).await;
    let error = row.error.expect("an error");
    assert_eq!((&error["code"], &error["calls"][0]["name"]), (&json!("in_doubt"), &json!("slow_pay")), "{error}");
    let call = &error["calls"][0]["call_id"];
    assert!(next.retry(&run, json!({})).await.is_err(), "a decision is needed");
    next.retry(&run, json!({"in_doubt": [{"call_id": call, "action": "skip"}]})).await.expect("a retry");
    next.until(&run, "completed", SOON).await;
    assert_eq!(marks(&next.effects).len(), 1);
}

/// A host whose clock is an hour ahead.
#[derive(Default)]
struct Ahead(SystemClock);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now().0 + 3_600_000)
    }

    fn id(&self) -> Id {
        self.0.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.0.random(into);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_in_which_nobody_drove_a_run_is_no_working_time() {
    let folder = folder();
    let mut owner = Program::run("work", folder.path(), &json!({"settings": {}, "node": slow_model()}));
    let run: Id = owner.next().expect("a run").parse().expect("an id");
    owner.kill();
    let later = Options { clock: Some(Arc::new(Ahead::default())), ..Options::default() };
    let next = Bench::open_with(folder.path(), json!({"timeouts": {"run_seconds": 60}}), later, Arc::new(|| ()));
    assert_eq!(next.studio.take_over().await.expect("a studio"), 1);
    let row = next.until(&run, "completed", SOON).await;
    assert!((2_000..60_000).contains(&row.working_ms), "{} ms", row.working_ms);
    let trace = next.studio.trace(&next.scope, &run.to_string(), wfstudio::studio::TraceQuery::default()).await.expect("a trace");
    let longest = trace["steps"].as_array().expect("steps").iter().filter_map(|step| step["duration_ms"].as_u64()).max();
    assert!(longest.is_some_and(|longest| longest < 60_000), "{trace}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_whose_clocks_differ_tell_leases_by_the_clock_of_the_server() {
    if crate::place::on_server("").is_none() {
        return;
    }
    let folder = folder();
    let ahead = || Options { clock: Some(Arc::new(Ahead::default())), ..Options::default() };
    let queue = json!({"worker": {"in_process": true}});
    let (own, other) = (Bench::open(folder.path(), json!({})), Bench::open_with(folder.path(), queue, ahead(), Arc::new(|| ())));
    let workflow = own.workflow("slow", single("llm", slow_model()["data"].clone())).await;
    let run = own.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    assert_eq!(other.studio.take_over().await.expect("a studio"), 0, "a live run was taken");
    let theirs = other.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    let until = other.row(&theirs).await.lease_until.expect("a lease");
    let left = until.0 - SystemClock::default().now().0;
    assert!((10_000..60_000).contains(&left), "the lease ends in {left} ms");
    assert_eq!(own.studio.take_over().await.expect("a studio"), 0, "a live run was taken");
    let queued = own.start(&workflow, json!({"message": "hi"}), true).await.expect("a run").run;
    for run in [run, theirs, queued] {
        let row = other.until(&run, "completed", SOON).await;
        assert_eq!(row.takeovers, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ends_in_a_year_binds_nobody() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({"worker": {"in_process": true}, "runs": {"lease_seconds": 1}}));
    let first = Bench::open(folder.path(), json!({}));
    let workflow = first.workflow("slow", single("llm", slow_model()["data"].clone())).await;
    let run = first.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    let store = &first.studio.world().store;
    // As a process with a clock that was far ahead left it.
    let (id, until) = (run, Timestamp(first.studio.world().clock.now().0 + 365 * 86_400_000));
    let taken = store.write(move |tx| wfstudio::store::runs::queue::claim(tx, "", &id, 1, "elsewhere", until)).await;
    assert!(taken.expect("a store").is_some());
    bench.studio.runtime().expect("a runtime");
    let row = bench.until(&run, "completed", SOON).await;
    assert_eq!(row.fence, 3);
}
