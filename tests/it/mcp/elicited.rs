//! Servers that ask a person where no run waits: the application is asked in the middle of the call, and what it says is held against the form.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};

use super::peer::Manner;
use super::support::{bench, call, program, result, run};
use super::web::{at, site};
use crate::support::Bench;

/// How the application answers.
enum Answers {
    /// With these, the last first; then it fails.
    These(Vec<Value>),
    /// Once so many questions are open at the same time: with the number of the run that asks.
    Together(usize),
    /// Never.
    Never,
}

/// The application: what it was asked, and how many questions are no longer wanted.
struct Person {
    answers: Mutex<Answers>,
    asked: Mutex<Vec<Value>>,
    dropped: Arc<Mutex<usize>>,
}

struct Application(Arc<Person>);

/// Counts that nobody waits for an answer any more.
struct Dropped(Arc<Mutex<usize>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().expect("a count") += 1;
    }
}

impl Host for Application {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        assert_eq!(call.op, HostOp::McpElicit);
        let person = Arc::clone(&self.0);
        person.asked.lock().expect("asked").push(call.payload.clone());
        Box::pin(async move {
            let dropped = Dropped(Arc::clone(&person.dropped));
            let together = match &mut *person.answers.lock().expect("answers") {
                Answers::These(answers) => return answers.pop().ok_or_else(|| HostFailure::new("nobody is there")),
                Answers::Together(count) => Some(*count),
                Answers::Never => None,
            };
            let Some(count) = together else { return std::future::pending().await };
            while person.asked.lock().expect("asked").len() < count {
                tokio::task::yield_now().await;
            }
            drop(dropped);
            Ok(json!({"action": "accept", "content": {"who": call.payload["trace_id"].as_str().unwrap_or("?")}}))
        })
    }
}

fn asking(bench: &Bench, answers: Answers) -> Arc<Person> {
    let person = Arc::new(Person { answers: Mutex::new(answers), asked: Mutex::default(), dropped: Arc::default() });
    let declaration = HostDeclaration { ops: vec![HostOp::McpElicit], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(Application(Arc::clone(&person))), declaration);
    person
}

fn row(row: i64) -> Value {
    json!({"action": "accept", "content": {"row": row}})
}

#[tokio::test(flavor = "multi_thread")]
async fn the_application_answers_in_the_middle_of_a_call_over_every_transport() {
    let (_, address) = site(Manner::Legacy).await;
    let servers = [
        ("pipes", program("legacy", json!({}))),
        ("web", at(format!("{address}/mcp"), json!({}))),
        ("old", at(format!("{address}/sse"), json!({"transport": "sse"}))),
    ];
    let bench = bench(&servers, json!({}));
    for (server, _) in &servers {
        let person = asking(&bench, Answers::These(vec![row(3)]));
        let told = result(&bench, server, "inquire", json!({})).await;
        let said = json!({"action": "accept", "content": {"row": 3, "side": "left"}});
        assert_eq!(told, json!({"able": {"elicitation": {"form": {}}}, "said": said}), "{server}");
        let asked = person.asked.lock().expect("asked").pop().expect("a question");
        let message = if *server == "pipes" { "Which seat, tok-canary?" } else { "Which seat, ***?" };
        assert_eq!((&asked["server"], &asked["tool"], &asked["message"]), (&json!(server), &json!("inquire"), &json!(message)), "{asked}");
        assert_eq!((&asked["tenant"], &asked["node_id"], &asked["problems"]), (&json!(""), &json!("a"), &json!([])), "{asked}");
        assert_eq!((&asked["schema"]["required"], &asked["user"]), (&json!(["row"]), &Value::Null), "{asked}");
        let ids = ["trace_id", "call_id"].iter().all(|name| asked[name].as_str().is_some_and(|id| !id.is_empty()));
        assert!(ids && asked["timeout_ms"].as_u64().is_some_and(|limit| limit > 1000 && limit < 30_000), "{asked}");
    }
}

#[tokio::test]
async fn a_form_shows_none_of_the_secrets_that_its_server_was_given() {
    let (_, address) = site(Manner::Legacy).await;
    let bench = bench(&[("web", at(format!("{address}/mcp"), json!({})))], json!({}));
    let person = asking(&bench, Answers::These(vec![row(3)]));
    let schema = json!({"type": "object", "properties": {"row": {"type": "integer", "description": "A row of tok-canary"}}});
    result(&bench, "web", "inquire", json!({ "schema": schema })).await;
    let asked = person.asked.lock().expect("asked").pop().expect("a question");
    assert_eq!(asked["schema"]["properties"]["row"]["description"], "A row of ***", "{asked}");
}

#[tokio::test]
async fn what_does_not_fit_is_asked_again_with_what_is_wrong() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    let person = asking(&bench, Answers::These(vec![row(7), json!("yes"), row(0)]));
    let told = result(&bench, "peer", "inquire", json!({})).await;
    assert_eq!(told["said"]["content"], json!({"row": 7, "side": "left"}));
    let problems: Vec<Value> = person.asked.lock().expect("asked").iter().map(|asked| asked["problems"].clone()).collect();
    assert_eq!(problems, [json!([]), json!(["/row: 0 is less than the minimum of 1"]), json!(["`action` is one of: accept, decline, cancel"])]);
    let person = asking(&bench, Answers::These(vec![row(7), row(0), row(0), row(0)]));
    assert_eq!(result(&bench, "peer", "inquire", json!({})).await["said"], json!({"action": "decline"}));
    assert_eq!(person.asked.lock().expect("asked").len(), 3);
    asking(&bench, Answers::These(vec![json!({"action": "cancel"})]));
    assert_eq!(result(&bench, "peer", "inquire", json!({})).await["said"], json!({"action": "cancel"}));
}

#[tokio::test]
async fn without_an_answer_in_time_the_server_hears_a_refusal() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    let declined = |able: Value| json!({"able": able, "said": {"action": "decline"}});
    assert_eq!(result(&bench, "peer", "inquire", json!({})).await, declined(json!({})), "nobody can be asked, and the server knows it");
    asking(&bench, Answers::These(Vec::new()));
    let told = result(&bench, "peer", "inquire", json!({})).await;
    assert_eq!(told, declined(json!({"elicitation": {"form": {}}})), "the application failed; the server was told that it may ask");
}

#[tokio::test]
async fn nobody_is_asked_longer_than_the_call_lasts() {
    let mut short = program("legacy", json!({}));
    short["timeout_ms"] = json!(2000);
    let mut told = Vec::new();
    // A tenth of the time is left for the way back: a machine that stands still then is late, but not each of five times.
    for _ in 0..5 {
        let bench = bench(&[("peer", short.clone())], json!({}));
        let person = asking(&bench, Answers::Never);
        let answer = run(&bench, call("peer", "inquire", json!({}))).await;
        if answer.as_ref().is_ok_and(|state| state["mcp_result"]["result"]["said"] == json!({"action": "decline"})) {
            assert_eq!((person.asked.lock().expect("asked").len(), *person.dropped.lock().expect("a count")), (1, 1));
            return;
        }
        told.push(answer);
    }
    panic!("before the call is given up: {told:?}");
}

#[tokio::test]
async fn a_question_ends_with_its_call() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    let person = asking(&bench, Answers::Never);
    let workflow = bench.workflow(call("peer", "inquire", json!({}))).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    super::support::until("a question", || person.asked.lock().expect("asked").len() == 1).await;
    bench.studio.cancel(&bench.scope, &started.run.to_string()).await.expect("cancelled");
    super::support::until("its end", || *person.dropped.lock().expect("a count") == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_of_two_calls_over_one_connection_is_told_apart_where_it_can_be() {
    let (_, address) = site(Manner::Legacy).await;
    let servers = [("web", at(format!("{address}/mcp"), json!({}))), ("pipes", program("legacy", json!({})))];
    let bench = bench(&servers, json!({}));
    for (server, told_apart) in [("web", true), ("pipes", false)] {
        asking(&bench, Answers::Together(2));
        let who = json!({"schema": {"type": "object", "required": ["who"], "properties": {"who": {"type": "string"}}}});
        let workflow = bench.workflow(call(server, "inquire", json!({ "parameters": who }))).await;
        let runs = [bench.start(&workflow, json!({"message": "go"})).await, bench.start(&workflow, json!({"message": "go"})).await];
        for started in &runs {
            bench.events_text(started).await;
            let id = started.run.to_string();
            let output = bench.trace(&id).await["trace"]["output"].clone();
            let said = &output["mcp_result"]["result"]["said"]["content"]["who"];
            let wanted: &[&str] = if told_apart { &[&id] } else { &["?", &id] };
            assert!(wanted.iter().any(|wanted| said == *wanted), "{server}: {output}");
        }
    }
}

#[tokio::test]
async fn hostile_questions_reach_nobody_or_are_cut() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    let person = asking(&bench, Answers::These(vec![row(1); 20]));
    let asked = || std::mem::take(&mut *person.asked.lock().expect("asked"));
    let inquire = async |arguments: Value| result(&bench, "peer", "inquire", arguments).await["said"].clone();
    let declined = json!({"action": "decline"});
    let link = json!({"params": {"mode": "url", "url": "https://evil.example", "elicitationId": "e"}});
    assert_eq!(inquire(link).await, declined);
    let large = json!({"schema": {"type": "object", "properties": {"x": {"type": "string", "description": "y".repeat(40 << 10)}}}});
    assert_eq!(inquire(large).await, declined);
    let nested = json!({"schema": {"type": "object", "properties": {"x": {"type": "object", "properties": {}}}}});
    assert!(inquire(nested).await["code"].is_i64(), "it is no question of the protocol");
    assert_eq!(asked(), Vec::<Value>::new());
    inquire(json!({"params": {"message": "z".repeat(100_000)}})).await;
    assert_eq!(asked()[0]["message"].as_str().map(str::len), Some(4000));
    inquire(json!({"times": 12})).await;
    assert_eq!(asked().len(), 8, "one call asks so many times");
}

#[tokio::test]
async fn where_a_run_can_wait_it_waits_and_else_the_application_is_asked() {
    let script = json!({"replies": [{"match": {"call": 1}, "tool_calls": [{"name": "form", "arguments": {}}]}, {"text": "{{tool_result}}"}]});
    let bench = bench(&[("peer", program("modern", json!({})))], script);
    let answers = vec![json!({"action": "accept"}), row(3), json!({"action": "accept", "content": {"name": "Ada"}})];
    let person = asking(&bench, Answers::These(answers));
    let workflow = bench.workflow(call("peer", "form", json!({}))).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    assert!(bench.events_text(&started).await.contains("human_input_required"));
    assert!(person.asked.lock().expect("asked").is_empty());
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m", "tools": [{"ref": "mcp:peer"}]})).await;
    let chat = bench.chat(&agent, json!({"message": "go"})).await;
    let trace = bench.trace(&chat).await["trace"].clone();
    let reply: Value = serde_json::from_str(trace["reply"].as_str().expect("a reply")).expect("JSON");
    let first = json!({"name": {"action": "accept", "content": {"name": "Ada"}}, "seat": {"action": "accept", "content": {"row": 3, "side": "left"}}});
    assert_eq!((&reply["first"], &reply["second"]), (&first, &json!({"fine": {"action": "accept", "content": {}}})), "{trace}");
    assert_eq!(reply["able"]["elicitation"], json!({"form": {}}));
    let asked: Vec<Value> = person.asked.lock().expect("asked").iter().map(|asked| asked["message"].clone()).collect();
    assert_eq!(asked, ["Whose name?", "Which seat?", "Book it?"]);
    assert!(run(&bench, call("peer", "add", json!({"parameters": {"a": 1, "b": 2}}))).await.is_ok());
}
