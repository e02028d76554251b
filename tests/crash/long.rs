//! An agent of many long calls whose process is killed in the middle: the next one sends the same prompt and makes no call again.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::model::Id;
use wfstudio::studio::TraceQuery;

use crate::caller::{Caller, Plan};
use crate::program::Program;
use crate::record::record;
use crate::support::{Bench, folder, marks, merge, single};

const SOON: Duration = Duration::from_secs(240);

/// An agent with these calls.
pub fn agent(plan: &Plan, window: u64) -> Value {
    let tools = json!([{"ref": format!("host:{}", plan.tool)}]);
    json!({"provider": "work", "model": "own", "tools": tools, "tool_max_runs": 100, "context_window": window, "message": "Go on."})
}

/// An agent with these calls whose process dies in the middle of a request, and goes on in another one: what the model was sent.
async fn killed(plan: Plan, window: u64) -> (Vec<String>, Value) {
    killed_with(plan, window, json!({}), 0).await
}

/// The same with more settings, where so many requests are too long for the model.
async fn killed_with(plan: Plan, window: u64, more: Value, over: usize) -> (Vec<String>, Value) {
    let (killed, calls) = (plan.holds.expect("a request"), usize::try_from(plan.calls).expect("a number"));
    let caller = Caller::start(plan.clone()).await;
    let folder = folder();
    let node = json!({"type": "agent", "data": agent(&plan, window)});
    let mut settings = caller.settings();
    merge(&mut settings, more);
    let mut first = Program::run("work", folder.path(), &json!({"settings": settings, "node": node}));
    let run: Id = first.next().expect("a run").parse().expect("an id");
    let requests = || caller.seen.lock().expect("seen").len();
    let until = tokio::time::Instant::now() + SOON;
    while requests() < killed {
        assert!(tokio::time::Instant::now() < until, "{} requests", requests());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.kill();

    let second = Bench::open(folder.path(), settings);
    second.studio.take_over().await.expect("a studio");
    second.until(&run, "completed", SOON).await;
    record(&second, &run).await;
    let made = marks(&second.effects);
    let ids: BTreeSet<&str> = made.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!((made.len(), ids.len()), (calls, calls), "each call was made once");
    let long = caller.over.lock().expect("over").clone();
    assert_eq!(long.len(), over, "so many requests are over the window: {long:?}");
    let bodies = caller.seen.lock().expect("seen").clone();
    assert!(bodies[killed - 1] == bodies[killed], "the request that was cut is made again, byte for byte");
    let trace = second.studio.trace(&second.scope, &run.to_string(), TraceQuery::default()).await.expect("a trace");
    (bodies, trace)
}

/// How often room was made, as the trace tells it.
fn rooms(trace: &Value) -> usize {
    trace["spans"].as_array().expect("spans").iter().filter(|span| span["name"] == "history_compaction").count()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_two_hundred_calls_survives_a_kill_in_its_middle() {
    let (bodies, trace) = killed(Plan { tool: "big", holds: Some(51), ..Plan::default() }, 100_000).await;
    assert_eq!(bodies.len(), 102, "one request was made again");
    let removed = |body: &String| body.matches("removed to save space").count();
    assert!(removed(&bodies[50]) > 0, "results were taken out before");
    // What was taken out stays out, and nothing else changes before the next time that room is made.
    let jumps = bodies.windows(2).filter(|pair| removed(&pair[0]) != removed(&pair[1])).count();
    assert_eq!(rooms(&trace), jumps, "{:#}", trace["trace"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_summarised_stays_summarised() {
    let plan = Plan { tool: "note", calls: 30, at_once: 1, window: 10_000, says: 3000, holds: Some(14), ..Plan::default() };
    let (bodies, trace) = killed(plan, 9000).await;
    assert_eq!(bodies.len(), 32);
    assert!(bodies[13].contains("Go on.\\n\\n[Studio memory summary]\\none two three four"), "{}", &bodies[13][..2000]);
    assert!(rooms(&trace) > 2, "{:#}", trace["trace"]);
}

/// What the model is sent when nobody dies.
async fn undisturbed(plan: &Plan, window: u64, more: &Value) -> Vec<String> {
    let caller = Caller::start(plan.clone()).await;
    let (folder, mut settings) = (folder(), caller.settings());
    merge(&mut settings, more.clone());
    let bench = Bench::open(folder.path(), settings);
    let workflow = bench.workflow("single", single("agent", agent(plan, window))).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    bench.until(&run, "completed", SOON).await;
    caller.seen.lock().expect("seen").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_that_was_under_way_is_asked_for_again_with_the_same_words() {
    let plan = Plan { tool: "note", calls: 14, at_once: 1, window: 10_000, says: 3000, ..Plan::default() };
    let more = json!({"memory": {"summarizer": {"provider": "work", "model": "own"}}});
    let wanted = undisturbed(&plan, 9000, &more).await;
    let summary = wanted.iter().position(|body| body.contains("You keep the memory of a conversation")).expect("a summary");
    for holds in [summary + 1, summary + 2] {
        let (mut bodies, _) = killed_with(Plan { holds: Some(holds), ..plan.clone() }, 9000, more.clone(), 0).await;
        bodies.dedup();
        assert!(bodies == wanted, "request {holds}: the rest is what it would have been");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn room_that_was_made_for_a_request_that_was_too_long_is_not_made_again() {
    for (tool, says, window) in [("note", 3000, 6000), ("big", 10, 40_000)] {
        let plan = Plan { tool, calls: 10, at_once: 1, window, says, ..Plan::default() };
        let wanted = undisturbed(&plan, 200_000, &json!({})).await;
        let long = wanted.iter().position(|body| body.len() / 4 > window).expect("a request that is too long");
        assert!(wanted[long + 1].len() < wanted[long].len() * 3 / 4, "{tool}");
        for holds in [long + 2, long + 3] {
            let (mut bodies, trace) = killed_with(Plan { holds: Some(holds), ..plan.clone() }, 200_000, json!({}), 1).await;
            bodies.dedup();
            assert!(bodies == wanted, "{tool}, request {holds}: the rest is what it would have been");
            assert_eq!(rooms(&trace), 1, "{tool}, request {holds}");
        }
    }
}
