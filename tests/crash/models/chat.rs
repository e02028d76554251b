//! A process dies in a turn of a chat. A text that is told as a whole is heard once; one that is streamed is heard again, behind the numbers that were
//! lost. The thread has the turn once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::{From, Order};

use super::server::{Reply, Server, delta, end};
use super::{Stage, until};
use crate::record::record;
use crate::resume::frames_of;
use crate::sweep::finish;

/// A model that searches, makes a call that a person has to allow, and says something.
fn clerk() -> Server {
    Server::start(|body, _| {
        let results = body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool").count();
        match results {
            0 => Reply::calls("call_of_the_search_0000000001", "find_tools", &json!({"query": "note"})),
            1 => Reply::calls("call_of_the_note_000000000001", "note", &json!({})),
            _ => Reply::says("It is noted."),
        }
    })
}

fn agent() -> Value {
    let tools = ["big", "panic", "note", "broken"].map(|name| json!({"ref": format!("host:{name}"), "require_approval": true}));
    json!({"name": "Models", "slug": "models", "provider": "cloud", "model": "own", "tools": tools})
}

/// Kills at every second border.
async fn killed_from(first: u64) {
    let server = clerk();
    let mut stage = Stage::with(server.settings(), json!({"tools": {"offered_max": 3}}), json!({"agent": agent()})).await;
    let borders = stage.borders(json!({}));
    let wanted = server.seen();
    let run = stage.new_runs().await[0];
    let undisturbed = record(&stage.bench, &run).await;
    assert!(wanted.len() == 3 && borders > 15, "{} requests, {borders} borders", wanted.len());
    for at in (first..=borders).step_by(2) {
        let what = format!("border {at} of {borders}");
        server.forget();
        stage.whole(json!({"kill_at": at}));
        server.settle();
        stage.bench.studio.take_over().await.expect("a studio");
        for run in stage.new_runs().await {
            finish(&stage.bench, &run).await;
            let record = record(&stage.bench, &run).await;
            for part in ["status", "reply", "usage", "messages"] {
                assert_eq!(record[part], undisturbed[part], "{what}: {part}");
            }
            let mut bodies = server.seen();
            bodies.dedup();
            assert!(bodies == wanted, "{what}: {bodies:#?}");
            for order in [Order::Ordered, Order::Live] {
                let told = frames_of(&stage.bench, &run, From { order, after: 0 }, usize::MAX).await;
                let count = |event: &str| told.iter().filter(|(_, name, _)| name == event).count();
                let events = ["thread", "tool_call", "tool_approval_required", "tool_approval_resolved", "tool_result", "token", "done", "run_terminal"];
                assert_eq!(events.map(count), [1, 2, 1, 1, 2, 1, 1, 1], "{what}, {order:?}: {told:#?}");
                assert!(told.iter().map(|(number, ..)| number).is_sorted_by(|one, other| one < other), "{what}, {order:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_told_as_a_whole_is_told_once_at_every_odd_border() {
    killed_from(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_told_as_a_whole_is_told_once_at_every_even_border() {
    killed_from(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_streamed_again_is_told_behind_the_numbers_that_were_lost() {
    let held = Arc::new(AtomicBool::new(true));
    let holds = Arc::clone(&held);
    let server = Server::start(move |_, _| {
        let texts = ["It ", "is ", "4."].map(|text| delta(json!({"content": text})));
        let pieces = std::iter::once(delta(json!({"role": "assistant", "reasoning": "Hm."}))).chain(texts).chain([end("stop")]);
        let held = holds.load(Ordering::SeqCst);
        Reply { pieces: pieces.take(if held { 3 } else { 5 }).collect(), held, ..Reply::default() }
    });
    let agent = json!({"name": "Models", "slug": "models", "provider": "cloud", "model": "own"});
    let mut stage = Stage::with(server.settings(), json!({}), json!({"agent": agent})).await;
    let mut program = stage.program(json!({}));
    until("an answer is held", async || server.held() == 1).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    program.kill();
    held.store(false, Ordering::SeqCst);
    server.settle();
    assert_eq!(stage.bench.studio.take_over().await.expect("a studio"), 1);
    let run = stage.new_runs().await[0];
    finish(&stage.bench, &run).await;
    record(&stage.bench, &run).await;
    let told = frames_of(&stage.bench, &run, From { order: Order::Ordered, after: 0 }, usize::MAX).await;
    let texts: Vec<_> = told.iter().filter(|(_, event, _)| event == "token" || event == "reasoning").collect();
    let again = texts.windows(2).position(|pair| pair[1].0 > pair[0].0 + 10_000).expect("numbers that were lost") + 1;
    let said = |(_, event, data): &&(u64, String, Value)| format!("{event} {};", data["delta"].as_str().expect("a text"));
    assert_eq!(texts[..again].iter().map(said).collect::<String>(), "reasoning Hm.;token It ;token is ;");
    assert_eq!(texts[again..].iter().map(said).collect::<String>(), "reasoning Hm.;token It ;token is ;token 4.;");
    assert_eq!(told.iter().filter(|(_, event, _)| event == "done").map(|(.., data)| &data["reply"]).collect::<Vec<_>>(), ["It is 4."]);
}
