//! A process dies while calls wait in the line of a provider and one is under way: whoever goes on makes those that did not end, once and no more of
//! them at once than the limits say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfstudio::model::Id;

use super::server::{Reply, Server};
use super::{Stage, ended, runs_of, until};
use crate::program::Program;
use crate::record::record;
use crate::support::{Bench, single};

const SOON: Duration = Duration::from_secs(60);
/// Who asks; each is a run.
const ALL: [&str; 5] = ["one", "two", "three", "four", "five"];

/// A server that takes its time for every answer, and never answers the requests of these numbers.
fn slow(held: &Arc<[AtomicUsize; 2]>) -> Server {
    slow_for(held, 15)
}

fn slow_for(held: &Arc<[AtomicUsize; 2]>, takes_ms: u64) -> Server {
    let held = Arc::clone(held);
    Server::start(move |_, number| {
        if held.iter().any(|one| one.load(Ordering::SeqCst) == number) {
            return Reply::nothing();
        }
        Reply { takes: Duration::from_millis(takes_ms), ..Reply::says("At last.") }
    })
}

fn echo() -> Value {
    single("llm", json!({"provider": "cloud", "model": "own", "prompt": "{{input}}", "output_key": "said"}))
}

fn one_at_once() -> Value {
    json!({"providers": {"cloud": {"limits": {"concurrent": 1}}}})
}

fn waited(trace: &Value) -> u64 {
    let spans = trace["spans"].as_array().expect("spans").iter();
    spans.filter_map(|span| span["waited_ms"].as_u64()).max().unwrap_or(0)
}

/// A process with so many runs, one of which is asked at its provider while the others wait; the runs by who asks.
async fn waiting(stage: &Stage, server: &Server, who: &[&str]) -> (Program, Vec<Id>) {
    let mut program = stage.program(json!({"messages": who}));
    let runs: Vec<Id> = who.iter().map(|_| runs_of(&[program.next().expect("a run")])[0]).collect();
    until("a request is held", async || server.held() == 1).await;
    for run in &runs {
        until("a call is begun", async || stage.trace(run).await["spans"].as_array().is_some_and(|spans| !spans.is_empty())).await;
    }
    (program, runs)
}

/// The place of the run that the server is asked by.
fn under_way(server: &Server, who: &[&str]) -> usize {
    let asked = server.asked().last().cloned().expect("a request");
    who.iter().position(|name| *name == asked).expect("who asks")
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_waited_are_made_once_and_one_after_another() {
    let held = Arc::new([AtomicUsize::new(2), AtomicUsize::new(0)]);
    // Longer than a busy machine needs to begin the next call, so that calls do wait.
    let server = slow_for(&held, 600);
    let stage = Stage::set(server.settings(), one_at_once(), echo()).await;
    let (mut program, runs) = waiting(&stage, &server, &ALL).await;
    let cut = server.asked()[1].clone();
    let first = ALL.iter().position(|name| *name == server.asked()[0]).expect("who asked");
    stage.bench.until(&runs[first], "completed", SOON).await;
    program.kill();
    server.settle();
    assert_eq!((server.asked().len(), server.most()), (2, 1));
    assert_eq!(stage.bench.studio.take_over().await.expect("a studio"), 4);
    for (run, name) in runs.iter().zip(ALL) {
        stage.bench.until(run, "completed", SOON).await;
        record(&stage.bench, run).await;
        let (trace, asked) = (stage.trace(run).await, server.asked());
        let times = asked.iter().filter(|asked| *asked == name).count();
        assert_eq!(times, 1 + usize::from(name == cut), "{name}: {asked:?}");
        assert_eq!((ended(&trace, "completed"), &trace["trace"]["total_tokens"]), (1, &json!(12)), "{name}: {trace:#}");
    }
    assert_eq!((server.asked().len(), server.most()), (6, 1), "one at once");
    let mut waits = Vec::new();
    for run in &runs {
        waits.push(waited(&stage.trace(run).await));
    }
    assert!(waits.iter().filter(|waited| **waited > 0).count() >= 3, "the log says who waited: {waits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_border_of_three_runs_in_a_line() {
    let server = slow(&Arc::default());
    let mut stage = Stage::set(server.settings(), one_at_once(), echo()).await;
    let messages = json!({"messages": ALL[..3]});
    let borders = stage.borders(messages.clone());
    stage.new_runs().await;
    assert_eq!((server.asked().len(), server.most()), (3, 1));
    // Writes of several runs may be one, so the count differs a little.
    assert!(borders > 8, "{borders}");
    for at in 1..=borders {
        server.forget();
        let mut given = messages.clone();
        given["kill_at"] = at.into();
        stage.whole(given);
        server.settle();
        stage.bench.studio.take_over().await.expect("a studio");
        let mut cut = 0;
        let runs = stage.new_runs().await;
        for run in &runs {
            stage.bench.until(run, "completed", SOON).await;
            record(&stage.bench, run).await;
            let trace = stage.trace(run).await;
            assert_eq!((ended(&trace, "completed"), &trace["trace"]["total_tokens"]), (1, &json!(12)), "border {at}: {trace:#}");
            let (name, own) = (trace["trace"]["input"].to_string(), ended(&trace, "cancelled"));
            let times = server.asked().iter().filter(|asked| name.contains(&format!("\"{asked}\""))).count();
            // Made again are only calls whose answer was not stored: the one under way, and those that were answered in the same instant.
            assert!((1..=1 + own).contains(&times), "border {at}: {name} was asked {times} times, {own} calls were cut: {:?}", server.asked());
            cut += times - 1;
        }
        assert_eq!(server.asked().len(), runs.len() + cut, "border {at}: {:?}", server.asked());
        assert!(server.most() <= 1, "border {at}: one at once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_a_wait_here_and_elsewhere_and_the_line_goes_on() {
    let held = Arc::new([AtomicUsize::new(1), AtomicUsize::new(2)]);
    let server = slow(&held);
    let stage = Stage::set(server.settings(), one_at_once(), echo()).await;
    let who = &ALL[..4];
    let (mut program, runs) = waiting(&stage, &server, who).await;
    let others = |but: &[usize]| (0..who.len()).filter(|at| !but.contains(at)).collect::<Vec<_>>();
    let cancel = async |at: usize| {
        let began = Instant::now();
        stage.bench.studio.cancel(&stage.bench.scope, &runs[at].to_string()).await.expect("a cancel");
        stage.bench.until(&runs[at], "cancelled", SOON).await;
        // Nobody answers the request that is held: without a cancel none of them ends.
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        record(&stage.bench, &runs[at]).await;
    };
    // Of a run that waits in the other process.
    let first = others(&[under_way(&server, who)])[0];
    cancel(first).await;
    program.kill();
    server.settle();
    assert_eq!(stage.bench.studio.take_over().await.expect("a studio"), 3);
    until("a request is held", async || server.held() == 1).await;
    let asked = under_way(&server, who);
    let second = others(&[first, asked]).into_iter().find(|at| !server.asked().iter().any(|name| name == who[*at])).expect("one that was never asked");
    cancel(second).await;
    let last = others(&[first, second, asked])[0];
    assert_eq!((server.asked().len(), server.most()), (2, 1), "nobody else was asked");
    // The room of one that is cancelled while it is asked is free again.
    cancel(asked).await;
    stage.bench.until(&runs[last], "completed", SOON).await;
    record(&stage.bench, &runs[last]).await;
    let names = server.asked();
    assert!(names.len() == 3 && names[2] == who[last] && !names.contains(&who[first].to_owned()) && !names.contains(&who[second].to_owned()), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_begins_anew_where_it_is_gone_on_with_and_ends_in_its_time() {
    let held = Arc::new([AtomicUsize::new(1), AtomicUsize::new(2)]);
    let server = slow(&held);
    let stage = Stage::set(server.settings(), one_at_once(), echo()).await;
    let who = &ALL[..2];
    let (mut program, runs) = waiting(&stage, &server, who).await;
    program.kill();
    server.settle();
    let mut settings = stage.settings.clone();
    settings["limits"] = json!({"provider_wait_ms": 300});
    let bench = Bench::open(stage.folder.path(), settings);
    assert_eq!(bench.studio.take_over().await.expect("a studio"), 2);
    until("a request is held", async || server.held() == 1).await;
    let asked = under_way(&server, who);
    let waits = 1 - asked;
    let row = bench.until(&runs[waits], "failed", SOON).await;
    assert_eq!(row.error.expect("an error")["code"], "provider_rate_limited");
    record(&bench, &runs[waits]).await;
    let trace = stage.trace(&runs[waits]).await;
    assert!((300..30_000).contains(&waited(&trace)) && trace["trace"]["total_tokens"] == 0, "{trace:#}");
    assert_eq!(server.asked().len(), 2, "the one that waited was not asked");
    bench.studio.cancel(&bench.scope, &runs[asked].to_string()).await.expect("a cancel");
    bench.until(&runs[asked], "cancelled", SOON).await;
    bench.retry(&runs[waits], json!({})).await.expect("a retry");
    bench.until(&runs[waits], "completed", SOON).await;
    assert_eq!(server.asked()[2..], [who[waits]], "and it is asked once there is room");
    record(&bench, &runs[waits]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_goes_on_counts_requests_of_its_own_minute() {
    let held = Arc::new([AtomicUsize::new(1), AtomicUsize::new(0)]);
    let server = slow(&held);
    let mut settings = json!({"providers": {"cloud": {"limits": {"requests_per_minute": 2}}}});
    let stage = Stage::set(server.settings(), settings.clone(), echo()).await;
    let who = &ALL[..4];
    let (mut program, runs) = waiting(&stage, &server, who).await;
    until("one has its answer", async || server.asked().len() == 2 && server.held() == 1).await;
    let done = who.iter().position(|name| *name == server.asked()[1]).expect("who asked");
    stage.bench.until(&runs[done], "completed", SOON).await;
    program.kill();
    server.settle();
    settings["limits"] = json!({"provider_wait_ms": 300});
    let mut all = stage.settings.clone();
    crate::support::merge(&mut all, settings);
    let bench = Bench::open(stage.folder.path(), all);
    assert_eq!(bench.studio.take_over().await.expect("a studio"), 3);
    until("all are over", async || {
        let mut over = 0;
        for run in &runs {
            over += usize::from(["completed", "failed"].contains(&bench.row(run).await.status.as_str()));
        }
        over == runs.len()
    })
    .await;
    let mut refused = 0;
    for (run, name) in runs.iter().zip(who) {
        let row = bench.row(run).await;
        record(&bench, run).await;
        let asked = server.asked().iter().skip(2).filter(|asked| asked == name).count();
        if let Some(error) = row.error {
            assert_eq!((&error["code"], asked), (&json!("provider_rate_limited"), 0), "{name}");
            refused += 1;
        } else {
            assert_eq!(asked, usize::from(*name != who[done]), "{name}: {:?}", server.asked());
        }
    }
    assert_eq!((refused, server.asked().len()), (1, 4), "two in the minute of each");
}
