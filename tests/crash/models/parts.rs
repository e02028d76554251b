//! A process dies in the middle of an answer with thoughts, sources, a picture and text: readers here and there are told the same under the same
//! numbers, what ended before is told once, and what is told again comes whole behind the step that is entered again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::{From, Order};

use super::server::{Reply, Server, call, delta, end};
use super::{Stage, until};
use crate::files::PICTURE;
use crate::record::record;
use crate::resume::frames_of;
use crate::support::{marks, single};
use crate::sweep::finish;

/// What is told of a run.
type Frames = Vec<(u64, String, Value)>;

const NOBODY: usize = usize::MAX;

fn cited(urls: &[&str]) -> Value {
    let one = |url: &&str| json!({"type": "url_citation", "url_citation": {"url": url, "title": "A page"}});
    delta(json!({"annotations": urls.iter().map(one).collect::<Vec<_>>()}))
}

/// The pieces of an answer before and after the result of its call.
fn pieces(results: usize) -> Vec<Value> {
    let picture = json!([{"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PICTURE}")}}]);
    if results == 0 {
        return vec![
            delta(json!({"role": "assistant", "reasoning": "One "})), delta(json!({"reasoning": "and one."})), cited(&["https://a.example/one"]),
            delta(json!({"images": picture})), call("call_of_the_payment_000000001", "pay", &json!({})), end("tool_calls"),
        ];
    }
    vec![
        delta(json!({"role": "assistant", "reasoning": "Two "})), delta(json!({"reasoning": "it is."})), delta(json!({"content": "It "})),
        cited(&["https://a.example/one", "https://b.example/two"]), delta(json!({"content": "is "})), delta(json!({"content": "2."})), end("stop"),
    ]
}

/// A server that holds one of its answers after so many pieces of it.
fn speaker(answer: &Arc<AtomicUsize>, after: &Arc<AtomicUsize>) -> Server {
    let (answer, after) = (Arc::clone(answer), Arc::clone(after));
    Server::start(move |body, _| {
        let results = body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool").count();
        let held = results == answer.load(Ordering::SeqCst);
        let most = if held { after.load(Ordering::SeqCst) } else { NOBODY };
        Reply { pieces: pieces(results).into_iter().take(most).collect(), held, ..Reply::default() }
    })
}

fn all_of(told: &[(u64, String, Value)], event: &str) -> String {
    told.iter().filter(|(_, name, _)| name == event).map(|(.., data)| data["delta"].as_str().unwrap_or_default()).collect()
}

fn count(told: &[(u64, String, Value)], event: &str) -> usize {
    told.iter().filter(|(_, name, _)| name == event).count()
}

/// What a reader is told of a run whose process died in its first or second answer.
fn check(told: &[(u64, String, Value)], answer: usize, what: &str) {
    assert!(told.iter().map(|(number, ..)| number).is_sorted_by(|one, other| one < other), "{what}: {told:#?}");
    let events = ["file", "tool_call", "tool_result", "step_completed", "trace_completed", "run_terminal"];
    assert_eq!(events.map(|event| count(told, event)), [1, 1, 1, 2, 1, 1], "{what}");
    let sources: Vec<&Value> = told.iter().filter(|(_, event, _)| event == "source").map(|(.., data)| &data["url"]).collect();
    assert_eq!(sources, ["https://a.example/one", "https://b.example/two"], "{what}");
    let again = told.iter().rposition(|(_, event, data)| event == "step_started" && data["resumed"] == true);
    let (before, after) = told.split_at(again.unwrap_or_else(|| panic!("{what}: the step is entered again: {told:#?}")));
    let (thoughts, wanted) = (all_of(before, "reasoning"), ["One and one.Two it is.", "Two it is."][answer]);
    assert!("One and one.Two it is.".starts_with(&thoughts) && thoughts.starts_with(["", "One and one."][answer]), "{what}: {thoughts}");
    assert!("It is 2.".starts_with(&all_of(before, "token")), "{what}");
    assert_eq!((all_of(after, "reasoning").as_str(), all_of(after, "token").as_str()), (wanted, "It is 2."), "{what}");
    let place = |event: &str, last: bool| {
        let found = |(_, name, _): &(u64, String, Value)| name == event;
        if last { after.iter().rposition(found) } else { after.iter().position(found) }
    };
    assert!(place("reasoning", true) < place("token", false), "{what}: thoughts come before the tokens of their turn");
}

/// Frames as the process that died told them to a reader of its own.
fn heard(said: &[String]) -> Frames {
    let frame = |line: &String| {
        let mut fields = line.strip_prefix("told ")?.splitn(3, ' ');
        Some((fields.next()?.parse().ok()?, fields.next()?.to_owned(), serde_json::from_str(fields.next()?).ok()?))
    };
    said.iter().filter_map(frame).collect()
}

/// Kills in this answer, after each of its pieces.
async fn killed_in(answer: usize) {
    let (at, after) = (Arc::new(AtomicUsize::new(NOBODY)), Arc::default());
    let server = speaker(&at, &after);
    let data = json!({
        "config_mode": "inline", "provider": "cloud", "model": "own", "stream": true, "tools": [{"ref": "host:pay"}], "message": "Add.", "memory": "none",
        "files_key": "drawn",
    });
    let stage = Stage::set(server.settings(), json!({"async_progress": {"poll_ms": 50}}), single("agent", data)).await;
    let mut told_early = 0;
    for pieces in 0..pieces(answer).len() {
        let what = format!("killed in answer {answer} after {pieces} pieces");
        server.forget();
        at.store(answer, Ordering::SeqCst);
        after.store(pieces, Ordering::SeqCst);
        let mut program = stage.program(json!({"follows": true}));
        let run = super::runs_of(&[program.next().expect("a run")])[0];
        let early = [Order::Ordered, Order::Live].map(|order| {
            let bench = stage.bench.clone();
            tokio::spawn(async move { frames_of(&bench, &run, From { order, after: 0 }, usize::MAX).await })
        });
        until("an answer is held", async || server.held() == 1).await;
        tokio::time::sleep(Duration::from_millis(120)).await;
        program.signal("KILL");
        let said: Vec<String> = std::iter::from_fn(|| program.next()).collect();
        program.kill();
        at.store(NOBODY, Ordering::SeqCst);
        server.settle();
        assert_eq!(stage.bench.studio.take_over().await.expect("a studio"), 1, "{what}");
        finish(&stage.bench, &run).await;
        record(&stage.bench, &run).await;
        for (order, early) in [Order::Ordered, Order::Live].into_iter().zip(early) {
            let early = early.await.expect("a reader");
            let late = frames_of(&stage.bench, &run, From { order, after: 0 }, usize::MAX).await;
            assert_eq!(early, late, "{what}: one who was there and one who comes late");
            check(&late, answer, &format!("{what}, {order:?}"));
            let middle = late[late.len() / 2].0;
            let rest = frames_of(&stage.bench, &run, From { order, after: middle }, usize::MAX).await;
            assert_eq!(rest, late[late.len() / 2 + 1..], "{what}: one who comes back");
            if order == Order::Ordered {
                let known: BTreeMap<u64, (&String, &Value)> = late.iter().map(|(number, event, data)| (*number, (event, data))).collect();
                let dead = heard(&said);
                told_early += count(&dead, "reasoning");
                for (number, event, data) in &dead {
                    let found = known.get(number);
                    assert!(found.is_none_or(|found| *found == (event, data)), "{what}: {number} was {event} {data} and is {found:?}");
                }
            }
        }
        let bodies = server.seen();
        assert_eq!(bodies.len(), 3, "{what}");
        assert!(bodies[answer] == bodies[answer + 1], "{what}: the request that was cut is made again, byte for byte");
        let trace = stage.trace(&run).await;
        let drawn = trace["trace"]["output"]["drawn"].as_array().expect("files");
        let picture = stage.bench.studio.attachment(&stage.bench.scope, drawn[0]["storage_key"].as_str().expect("a key")).await.expect("the picture");
        assert_eq!((drawn.len(), picture.bytes.len()), (1, 70), "{what}");
        let paid = marks(&stage.bench.effects).iter().filter(|line| line.ends_with(&run.to_string())).count();
        assert_eq!(paid, 1, "{what}");
    }
    assert!(told_early > 0, "something was told before a death");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_thinks_before_its_call_is_told_under_one_number_each() {
    killed_in(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_before_a_death_is_not_told_again() {
    killed_in(1).await;
}
