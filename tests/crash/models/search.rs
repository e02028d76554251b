//! A process dies while its agent searches among its tools, calls what it found, or is about to: whoever goes on offers the model what the log says
//! that was found, asks nothing again that was answered, and makes no call twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use wfstudio::model::Id;

use super::server::{Reply, Server};
use super::{Stage, ended, until};
use crate::record::record;
use crate::support::{marks, single};
use crate::sweep::finish;

/// A server whose model searches, pays, searches again and refunds with a person's word, by the results that it is sent; the request of this number
/// is never answered.
fn searcher(held: &Arc<AtomicUsize>) -> Server {
    let held = Arc::clone(held);
    Server::start(move |body, number| {
        let results = body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool").count();
        if number == held.load(Ordering::SeqCst) {
            return Reply::nothing();
        }
        match results {
            0 => Reply::calls("call_of_the_first_search_0001", "find_tools", &json!({"query": "pay"})),
            1 => Reply::calls("call_of_the_payment_000000001", "pay", &json!({"sum": 7})),
            2 => Reply::calls("call_of_the_second_search_001", "find_tools", &json!({"query": "refund"})),
            3 => Reply::calls("call_of_the_refund_0000000001", "refund", &json!({"sum": 7})),
            _ => Reply::says("It is paid and refunded."),
        }
    })
}

/// More tools than are offered at once; `note` is offered in any case.
fn agent() -> Value {
    let names = ["big", "note", "slow_pay", "panic", "refund", "pay", "broken"];
    let tools: Vec<Value> = names.iter().map(|name| json!({"ref": format!("host:{name}"), "always": *name == "note"})).collect();
    single("agent", json!({"config_mode": "inline", "provider": "cloud", "model": "own", "tools": tools, "message": "Pay.", "memory": "none"}))
}

fn offered(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).expect("JSON");
    body["tools"].as_array().expect("tools").iter().map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned()).collect()
}

/// The requests are those of a run that nothing disturbed, byte for byte and in their order, with what the log says that was found.
async fn check(stage: &Stage, server: &Server, run: &Id, wanted: &[String], what: &str) {
    assert_eq!(record(&stage.bench, run).await["status"], "completed", "{what}");
    let (trace, bodies) = (stage.trace(run).await, server.seen());
    let mut order = bodies.clone();
    order.dedup();
    assert!(order == wanted, "{what}: {order:#?}");
    let answered = ended(&trace, "completed");
    assert!(answered == wanted.len() && bodies.len() <= answered + ended(&trace, "cancelled"), "{what}: {} requests, {trace:#}", bodies.len());
    assert_eq!(trace["trace"]["reply"], "It is paid and refunded.", "{what}");
    for tool in ["pay", "refund"] {
        let made = marks(&stage.bench.effects).iter().filter(|line| line.starts_with(&format!("{tool} ")) && line.ends_with(&run.to_string())).count();
        assert_eq!(made, 1, "{what}: {tool}");
    }
    let mut known = vec!["note".to_owned(), "find_tools".to_owned()];
    let mut requests = wanted.iter();
    for span in trace["spans"].as_array().expect("spans").iter().filter(|span| span["status"] == "completed") {
        if span["type"] == "llm" {
            assert_eq!(offered(requests.next().expect("a request")), known, "{what}");
        } else if span["name"] == "find_tools" {
            let found: Value = serde_json::from_str(span["output"]["result"].as_str().expect("a result")).expect("JSON");
            known.extend(found["tools"].as_array().expect("tools").iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
        }
    }
    assert_eq!(known, ["note", "find_tools", "slow_pay", "pay", "refund"], "{what}");
}

async fn stage(server: &Server) -> (Stage, Vec<String>, u64) {
    let mut stage = Stage::set(server.settings(), json!({"tools": {"offered_max": 3}}), agent()).await;
    let borders = stage.borders(json!({}));
    let wanted = server.seen();
    assert_eq!(wanted.len(), 5);
    let run = stage.new_runs().await[0];
    check(&stage, server, &run, &wanted, "undisturbed").await;
    (stage, wanted, borders)
}

/// Kills at every second border.
async fn killed_from(first: u64) {
    let server = searcher(&Arc::default());
    let (mut stage, wanted, borders) = stage(&server).await;
    assert!(borders > 30, "{borders}");
    for at in (first..=borders).step_by(2) {
        server.forget();
        stage.whole(json!({"kill_at": at}));
        server.settle();
        stage.bench.studio.take_over().await.expect("a studio");
        for run in stage.new_runs().await {
            finish(&stage.bench, &run).await;
            check(&stage, &server, &run, &wanted, &format!("border {at} of {borders}")).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_were_found_stay_found_at_every_odd_border() {
    killed_from(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_were_found_stay_found_at_every_even_border() {
    killed_from(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_under_way_is_made_again_with_the_same_tools() {
    let held = Arc::new(AtomicUsize::new(0));
    let server = searcher(&held);
    let (mut stage, wanted, _) = stage(&server).await;
    for number in 1..=wanted.len() {
        server.forget();
        held.store(number, Ordering::SeqCst);
        let mut program = stage.program(json!({}));
        until("the request", async || server.held() == 1).await;
        program.kill();
        server.settle();
        held.store(0, Ordering::SeqCst);
        assert_eq!(stage.bench.studio.take_over().await.expect("a studio"), 1);
        let run = stage.new_runs().await[0];
        finish(&stage.bench, &run).await;
        check(&stage, &server, &run, &wanted, &format!("request {number}")).await;
        assert_eq!(server.seen().len(), wanted.len() + 1, "request {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_stay_found_where_their_names_are_masked_in_the_log() {
    let held = Arc::new(AtomicUsize::new(3));
    let server = searcher(&held);
    let settings = json!({"tools": {"offered_max": 3}, "observability": {"redact": ["name"]}});
    let mut stage = Stage::set(server.settings(), settings, agent()).await;
    let mut program = stage.program(json!({}));
    until("the request", async || server.held() == 1).await;
    program.kill();
    server.settle();
    assert_eq!(stage.bench.studio.take_over().await.expect("a studio"), 1);
    let run = stage.new_runs().await[0];
    finish(&stage.bench, &run).await;
    assert_eq!(record(&stage.bench, &run).await["status"], "completed");
    let offers: Vec<Vec<String>> = server.seen().iter().map(|body| offered(body)).collect();
    let found = ["note", "find_tools", "slow_pay", "pay", "refund"];
    assert_eq!(offers, [&found[..2], &found[..4], &found[..4], &found[..4], &found[..], &found[..]], "the third request is made twice");
}
