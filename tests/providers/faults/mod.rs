//! Providers that fail in every way that they are known to fail: each gives the run its code, nothing hangs, nothing is charged twice.

pub mod carriers;
mod certificates;
mod elsewhere;
mod frames;
mod http2;
mod memory;
pub mod server;
mod speech;
pub mod streams;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::{Follow, From};
use wfstudio::model::event::EntityKind;
use wfstudio::model::sketch;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Resource, Scope, Studio, TraceQuery};

use carriers::{AUTHORITY, CARRIERS, Carrier};
use server::{Act, Server, Then};
use speech::{Family, everywhere};

/// Longer than anything here may take, on the slowest machine.
const AGES: Duration = Duration::from_secs(60);

/// How a run ended.
#[derive(Debug, PartialEq)]
struct End {
    /// `completed`, or the code of its failure.
    code: String,
    /// Prompt and completion.
    tokens: (u64, u64),
    /// Requests that the provider saw.
    asked: usize,
}

/// To the first byte and between bytes, in milliseconds: short only where silence is what is tested.
type Patience = (u64, u64);
const PATIENT: Patience = (30_000, 30_000);
const IMPATIENT: Patience = (1500, 700);
/// Where less was heard than was said: on a busy machine what was said may come late.
const LESS_IMPATIENT: Patience = (12_000, 8000);

fn studio(provider: &str, address: &str, stream: bool, (first, idle): Patience) -> Studio {
    let settings = json!({
        "environment": "local", "database": {"path": ":memory:"}, "secrets": {"KEY": "sk-very-secret", "TEAM": "team-very-secret"},
        "tls": {"ca_file": AUTHORITY.file()},
        "timeouts": {"model_ms": first, "model_idle_ms": idle}, "limits": {"answer_kb": 8192},
        "providers": {provider: {"base_url": format!("{address}/v1"), "credential": "secret:KEY", "headers": {"x-team": "secret:TEAM"}, "quirks": {"stream": stream}}},
    });
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() });
    Studio::open(config.unwrap_or_else(|error| panic!("{error}"))).expect("a studio")
}

/// Runs a graph to its end: its trace.
async fn run(family: Family, address: &str, node: &str, patience: Patience) -> Value {
    run_in(&studio(family.provider, address, !node.contains("stream: false"), patience), node).await
}

/// The same in a studio that is open already.
async fn run_in(studio: &Studio, node: &str) -> Value {
    let scope = Scope::default();
    let graph = sketch::graph(&format!("start -> {node} -> stop")).expect("a graph");
    let stored = studio.create(&scope, Resource::Workflow, &json!({"name": "Test", "graph": graph})).await;
    let id = stored.unwrap_or_else(|error| panic!("{error} {:?}", error.members))["id"].as_str().expect("an id").to_owned();
    let request = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body");
    let started = studio.start(&scope, EntityKind::Workflow, &id, request, false).await.expect("a run");
    let run = started.run.to_string();
    let from = From { after: started.after, ..From::default() };
    let mut told = studio.events(&scope, &run, from, Follow::Answer).await.expect("events").expect("a stream");
    while told.next_batch().await.is_some() {}
    studio.trace(&scope, &run, TraceQuery::default()).await.expect("a trace")
}

fn llm(family: Family, stream: bool, more: &str) -> String {
    format!("llm_1{{provider: \"{}\", model: m, stream: {stream}{more}}}", family.provider)
}

/// Lets a provider do these in turn under one llm node.
async fn end(family: Family, stream: bool, acts: Vec<Act>, more: &str) -> End {
    let silent = acts.iter().any(|act| matches!(act, Act::Mute | Act::Say(_, _, _, Then::Silence)));
    end_in(family, stream, acts, more, if silent { IMPATIENT } else { PATIENT }).await
}

/// The same for one that says something and then ends in some way. On a busy machine what was said may come late, or together with the end and be lost with
/// it: where it does not come to what it should, there is more time between the two.
async fn end_as(wanted: &End, family: Family, stream: bool, said: &[String], then: &Then) -> End {
    let acts = |then: Then| vec![Act::Say(200, Vec::new(), said.to_vec(), then)];
    let found = end(family, stream, acts(then.clone()), "").await;
    match then {
        _ if found == *wanted => found,
        Then::Silence => end_in(family, stream, acts(Then::Silence), "", LESS_IMPATIENT).await,
        Then::Break => end(family, stream, acts(Then::BreakLate), "").await,
        _ => found,
    }
}

async fn end_in(family: Family, stream: bool, acts: Vec<Act>, more: &str, patience: Patience) -> End {
    let server = Server::start(family.carrier, acts.clone()).await;
    let ran = tokio::time::timeout(AGES, run(family, &server.address, &llm(family, stream, more), patience)).await;
    let trace = ran.unwrap_or_else(|_| panic!("{family} {stream} hangs: {acts:?}"));
    assert!(!trace.to_string().contains("very-secret"), "{family}: a secret is told: {trace:#}");
    end_of(&trace, server.asked())
}

fn end_of(trace: &Value, asked: usize) -> End {
    let head = &trace["trace"];
    let code = if head["status"] == "failed" { &head["error"]["code"] } else { &head["status"] };
    let figure = |key: &str| head[key].as_u64().unwrap_or_else(|| panic!("{key}: {head:#}"));
    let spans = trace["spans"].as_array().expect("spans").iter();
    let spent: u64 = spans.filter_map(|span| span["total_tokens"].as_u64()).sum();
    assert_eq!(spent, figure("total_tokens"), "the parts are the whole");
    End { code: code.as_str().expect("a code").to_owned(), tokens: (figure("prompt_tokens"), figure("completion_tokens")), asked }
}

/// Every family over every carrier, streamed and whole; those of one carrier at the same time.
async fn each(check: impl AsyncFn(Family, bool)) {
    let check = &check;
    for carrier in CARRIERS {
        let families = everywhere().filter(|family| family.carrier == carrier);
        join_all(families.flat_map(|family| [true, false].map(|stream| check(family, stream)))).await;
    }
}

fn ended(code: &str, tokens: (u64, u64), asked: usize) -> End {
    End { code: code.to_owned(), tokens, asked }
}

#[tokio::test]
async fn a_good_answer_is_charged_once() {
    each(async |family, stream| {
        let found = end(family, stream, vec![Act::good(family.good(stream))], "").await;
        assert_eq!(found, ended("completed", (5, 2), 1), "{family} {stream}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_fails_with_what_was_reported() {
    each(async |family, stream| {
        let good = family.good(stream);
        for count in [1, good.len() / 2, good.len() - 1] {
            let said: Vec<String> = good[..count].to_vec();
            let reported = family.reported(stream, count);
            for (then, code) in [
                (Then::End, "provider_protocol"),
                (Then::Break, "provider_protocol"),
                (Then::Silence, "provider_timeout"),
            ] {
                let code = if family.is_complete(stream, count) { "completed" } else { code };
                let wanted = ended(code, reported, 1);
                let found = end_as(&wanted, family, stream, &said, &then).await;
                assert_eq!(found, wanted, "{family} {stream} {then:?} after {count}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_malformed_answer_fails() {
    each(async |family, stream| {
        let good = family.good(stream);
        for count in [0, 1] {
            for odd in ["data: {\"choices\":[{\"delta\":{\"content\":\"\u{fffd}\n\n{oops\n", "data: [1,2]\n\n[1,2]\n", "data: nonsense\n\nnonsense\n"] {
                let mut said = good[..count].to_vec();
                said.push(odd.to_owned());
                let act = Act::Say(200, Vec::new(), said, Then::End);
                let found = end(family, stream, vec![act], "").await;
                assert_eq!(found, ended("provider_protocol", family.reported(stream, count), 1), "{family} {stream} {odd:?}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn nobody_who_answers_is_waited_for_only_so_long() {
    each(async |family, stream| {
        let mute = end(family, stream, vec![Act::Mute], "").await;
        assert_eq!(mute, ended("provider_timeout", (0, 0), 1), "{family} {stream}");
        let headers_only = end(family, stream, vec![Act::Say(200, Vec::new(), Vec::new(), Then::Silence)], "").await;
        assert_eq!(headers_only, ended("provider_timeout", (0, 0), 1), "{family} {stream}");
        let nothing = end(family, stream, vec![Act::good(Vec::new())], "").await;
        assert_eq!(nothing, ended("provider_protocol", (0, 0), 1), "{family} {stream}");
    })
    .await;
}

#[tokio::test]
async fn what_may_pass_is_tried_again_before_anything_was_said() {
    let busy = |status| Act::refuse(status, Some(("retry-after-ms", "5")), r#"{"error": {"message": "busy"}}"#);
    each(async |family, stream| {
        let name = family;
        let good = || Act::good(family.good(stream));
        for status in [408, 409, 429, 500, 503, 529] {
            let found = end(family, stream, vec![busy(status), busy(status), good()], "").await;
            assert_eq!(found, ended("completed", (5, 2), 3), "{name} {stream} {status}");
        }
        for (status, code) in [(429, "provider_rate_limited"), (500, "provider_unavailable")] {
            let found = end(family, stream, vec![busy(status)], "").await;
            assert_eq!(found, ended(code, (0, 0), 3), "{name} {stream} {status}");
        }
        let dropped = end(family, stream, vec![Act::Drop, good()], "").await;
        assert_eq!(dropped, ended("completed", (5, 2), 2), "{name} {stream}");
        let gone = end(family, stream, vec![Act::Drop], "").await;
        assert_eq!(gone, ended("provider_unavailable", (0, 0), 3), "{name} {stream}");
    })
    .await;
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    let table = [
        (401, r#"{"error": {"message": "bad key sk-very-secret of team-very-secret"}}"#, "provider_auth"),
        (403, "<h1>no</h1>", "provider_auth"),
        (400, r#"{"error": {"message": "wrong"}}"#, "provider_bad_request"),
        (404, r#"{"error": "no model"}"#, "provider_bad_request"),
        (429, r#"{"error": {"message": "pay", "code": "insufficient_quota"}}"#, "provider_rate_limited"),
        (400, r#"{"error": {"message": "x", "code": "context_length_exceeded"}}"#, "context_overflow"),
        (500, r#"{"error": {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}"#, "context_overflow"),
        (400, r#"{"error": {"message": "x", "code": "content_filter"}}"#, "provider_content_filtered"),
    ];
    each(async |family, stream| {
        for (status, body, code) in table {
            let found = end(family, stream, vec![Act::refuse(status, None, body)], "").await;
            assert_eq!(found, ended(code, (0, 0), 1), "{family} {stream} {body}");
        }
        let far = Act::refuse(429, Some(("retry-after", "3600")), "{}");
        assert_eq!(end(family, stream, vec![far], "").await, ended("provider_rate_limited", (0, 0), 1), "{family} {stream}");
    })
    .await;
}

#[tokio::test]
async fn the_wait_that_was_asked_for_is_kept() {
    for family in everywhere().filter(|family| family.provider == "openai") {
        for (header, wait) in [(("retry-after", "1"), 1000), (("retry-after-ms", "300"), 300)] {
            let server = Server::start(family.carrier, vec![Act::refuse(429, Some(header), "{}"), Act::good(family.good(true))]).await;
            let trace = run(family, &server.address, &llm(family, true, ""), PATIENT).await;
            assert_eq!(end_of(&trace, server.asked()), ended("completed", (5, 2), 2));
            let seen = server.seen.lock().expect("seen");
            let waited = seen[1].at.duration_since(seen[0].at);
            assert!(waited >= Duration::from_millis(wait), "{header:?}: {waited:?}");
            assert!(seen[0].body == seen[1].body, "the same request again");
        }
    }
}

#[tokio::test]
async fn nobody_is_followed_elsewhere() {
    each(async |family, stream| {
        let elsewhere = Server::start(family.carrier, vec![Act::good(family.good(stream))]).await;
        for status in [301, 302, 307, 308] {
            let location = format!("{}/v1", elsewhere.address);
            let found = end(family, stream, vec![Act::refuse(status, Some(("location", &location)), "")], "").await;
            assert_eq!(found, ended("provider_bad_request", (0, 0), 1), "{family} {stream} {status}");
        }
        assert_eq!(elsewhere.asked(), 0, "{family} {stream}: the credential stays where it belongs");
    })
    .await;
}

#[tokio::test]
async fn a_filtered_answer_is_told_as_one() {
    each(async |family, stream| {
        let Some(said) = family.filtered(stream) else { return };
        let found = end(family, stream, vec![Act::good(said)], "").await;
        assert_eq!(found, ended("provider_content_filtered", (5, 1), 1), "{family} {stream}");
    })
    .await;
}

/// A node may try again on its own; then both calls are charged, each with what it reported.
#[tokio::test]
async fn a_node_that_tries_again_pays_for_both_calls_once() {
    each(async |family, stream| {
        let good = family.good(stream);
        let count = good.len() / 2;
        let (prompt, completion) = family.reported(stream, count);
        let (wanted, mut found) = (ended("completed", (prompt + 5, completion + 2), 2), None);
        for then in [Then::Break, Then::BreakLate] {
            if found.as_ref() != Some(&wanted) {
                let cut = Act::Say(200, Vec::new(), good[..count].to_vec(), then);
                found = Some(end(family, stream, vec![cut, Act::good(good.clone())], ", retries: {max: 1, backoff_ms: 1}").await);
            }
        }
        assert_eq!(found, Some(wanted), "{family} {stream}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_nobody_can_read_is_told_to_the_model() {
    for family in everywhere() {
        let Some(broken) = family.broken_call() else { continue };
        let server = Server::start(family.carrier, vec![Act::good(broken), Act::good(family.good(false))]).await;
        let node = format!("agent_1{{provider: \"{}\", model: m, tools: [{{ref: \"toolkit:calculator\"}}]}}", family.provider);
        let trace = run(family, &server.address, &node, PATIENT).await;
        assert_eq!(end_of(&trace, server.asked()), ended("completed", (10, 4), 2), "{family}: {trace:#}");
        let seen = server.seen.lock().expect("seen");
        assert!(seen[1].body.to_string().contains("not valid JSON"), "{}: {}", family, seen[1].body);
        assert!(seen.iter().all(|one| one.head.starts_with("post /")), "{family}");
    }
}

/// Blocking nodes too: a model that thinks for minutes is not a silent one then.
#[tokio::test]
async fn every_request_asks_for_a_stream_unless_its_provider_may_not() {
    for family in everywhere() {
        for stream in [true, false] {
            let server = Server::start(family.carrier, vec![Act::good(family.good(stream))]).await;
            // Only the node that says `stream: false` is asked of a provider that may not stream.
            let more = if stream { "" } else { ", stream: false" };
            let node = format!("llm_1{{provider: \"{}\", model: m{more}}}", family.provider);
            let trace = run(family, &server.address, &node, PATIENT).await;
            assert_eq!(end_of(&trace, server.asked()), ended("completed", (5, 2), 1), "{family} {stream}");
            let seen = server.seen.lock().expect("seen");
            let asked = seen[0].body["stream"] == true || seen[0].head.contains(":streamgeneratecontent");
            assert_eq!(asked, stream, "{family}: {} {}", seen[0].head, seen[0].body);
            let version = if family.carrier == Carrier::Tls2 { " http/2.0" } else { " http/1.1" };
            assert!(seen[0].head.contains(version), "{family}: {}", seen[0].head);
        }
    }
}
