//! How prompts are kept at providers: what comes again begins alike, byte for byte, and says so.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use wfstudio::Studio;

use crate::models::Server;
use crate::support::Bench;

/// Turns in which the model calls a tool.
const TURNS: usize = 9;

type Seen = Arc<Mutex<Vec<Value>>>;

/// A server that speaks Anthropic's messages as <https://platform.claude.com/docs/en/api/messages> says: it calls a tool in each turn but the last one.
async fn anthropic() -> (String, Seen) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let seen = Seen::default();
    let router = Router::new().route("/v1/messages", post(answer)).with_state(Arc::clone(&seen));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, seen)
}

async fn answer(State(seen): State<Seen>, Json(body): Json<Value>) -> Json<Value> {
    let mut seen = seen.lock().expect("seen");
    let n = seen.len();
    seen.push(body);
    let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0, "output_tokens": 10});
    let call = json!([{"type": "text", "text": format!("Step {n}.")}, {"type": "tool_use", "id": format!("toolu_{n}"), "name": "calculate", "input": {"expression": format!("{n}+1")}}]);
    let (content, reason) =
        if n % (TURNS + 1) < TURNS { (call, "tool_use") } else { (json!([{"type": "text", "text": "Done."}]), "end_turn") };
    Json(json!({"type": "message", "role": "assistant", "content": content, "stop_reason": reason, "usage": usage}))
}

/// What a provider keeps is compared in this order, without the marks.
fn compared(body: &Value) -> String {
    fn unmarked(value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                members.iter().filter(|(name, _)| *name != "cache_control").map(|(name, value)| (name.clone(), unmarked(value))).collect()
            }
            Value::Array(items) => items.iter().map(unmarked).collect(),
            plain => plain.clone(),
        }
    }
    ["tools", "system", "messages"].map(|name| unmarked(&body[name]).to_string().trim_end_matches(']').to_owned()).join("\n")
}

fn shared(before: &str, after: &str) -> usize {
    before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count()
}

fn bench(url: &str, more: Value) -> Bench {
    let mut provider = json!({"kind": "anthropic", "base_url": url, "credential": "secret:KEY"});
    crate::support::merge(&mut provider, more);
    Bench::new(json!({"secrets": {"KEY": "k"}, "providers": {"work": provider}}))
}

async fn agent(bench: &Bench, parameters: Value) -> String {
    let body = json!({"name": "A", "provider": "work", "model": "claude-opus-5", "instructions": "Be exact. ".repeat(40), "parameters": parameters,
        "tools": [{"ref": "toolkit:calculator"}, {"ref": "toolkit:calendar"}]});
    bench.agent(body).await
}

#[tokio::test]
async fn most_of_an_agents_requests_is_what_the_one_before_began_with() {
    let (url, seen) = anthropic().await;
    let bench = bench(&url, json!({}));
    let agent = agent(&bench, json!({})).await;
    let mut body = json!({"message": "Count."});
    for _ in 0..2 {
        let run = bench.chat(&agent, body.clone()).await;
        let trace = bench.trace(&run).await;
        assert_eq!((&trace["trace"]["status"], &trace["trace"]["cached_tokens"]), (&json!("completed"), &json!(9000)), "{trace:#}");
        body["thread_id"] = trace["trace"]["thread_id"].clone();
    }
    let sent = seen.lock().expect("seen").clone();
    assert_eq!(sent.len(), 2 * (TURNS + 1));
    let texts: Vec<String> = sent.iter().map(compared).collect();
    for (n, pair) in texts.windows(2).enumerate() {
        assert_eq!(shared(&pair[0], &pair[1]), pair[0].len(), "request {} does not begin with all of the one before", n + 1);
    }
    // The tenth turn of a run: all but what the one before did not have.
    let (kept, whole): (usize, usize) = texts[..=TURNS]
        .windows(2)
        .map(|pair| (shared(&pair[0], &pair[1]), pair[1].len()))
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(kept * 100 >= whole * 80, "{kept} of {whole} bytes");
    for body in &sent {
        let marks = body.to_string().matches("cache_control").count();
        assert!((3..=4).contains(&marks) && body["system"][0]["cache_control"] == json!({"type": "ephemeral"}), "{marks} marks");
    }
}

#[tokio::test]
async fn marks_live_as_long_as_wanted_or_are_off() {
    let (url, seen) = anthropic().await;
    for (more, parameters, wanted) in [
        (json!({}), json!({"cache_ttl": "1h"}), json!({"type": "ephemeral", "ttl": "1h"})),
        (json!({"cache": "off"}), json!({"cache_ttl": "1h"}), Value::Null),
        (json!({"models": [{"id": "claude-opus-5", "cache": "none"}]}), json!({}), Value::Null),
    ] {
        let bench = bench(&url, more);
        let agent = agent(&bench, parameters).await;
        bench.chat(&agent, json!({"message": "Count."})).await;
        let first = seen.lock().expect("seen").drain(..).next().expect("asked");
        assert_eq!(first["system"].pointer("/0/cache_control").cloned().unwrap_or_default(), wanted, "{first:#}");
        assert_eq!(first.to_string().contains("cache_control"), !wanted.is_null());
    }
    let studio: &Studio = &bench(&url, json!({})).studio;
    let refused = studio
        .create(
            &wfstudio::studio::Scope::default(),
            wfstudio::studio::Resource::Agent,
            &json!({"name": "B", "parameters": {"cache_ttl": "2h"}}),
        )
        .await;
    assert!(refused.is_err(), "an unknown life is refused");
}

#[tokio::test]
async fn models_of_anthropic_behind_openrouter_are_marked_too() {
    let server = Server::start(json!({"prompt_tokens": 1, "completion_tokens": 1})).await;
    for (more, parameters, mark) in [
        (json!({}), json!({}), Some(json!({"type": "ephemeral"}))),
        (json!({}), json!({"cache_ttl": "1h"}), Some(json!({"type": "ephemeral", "ttl": "1h"}))),
        (json!({"cache": "off"}), json!({"cache_ttl": "1h"}), None),
    ] {
        let bench = server.bench("openrouter", more);
        let body = json!({"name": "A", "provider": "work", "model": "anthropic/claude-sonnet-5.5", "instructions": "Be exact.", "parameters": parameters,
            "tools": [{"ref": "toolkit:calculator"}]});
        let agent = bench.agent(body).await;
        let mut body = json!({"message": "Hi"});
        for _ in 0..3 {
            let run = bench.chat(&agent, body.clone()).await;
            body["thread_id"] = bench.trace(&run).await["trace"]["thread_id"].clone();
        }
        let sent: Vec<Value> = server.seen.lock().expect("seen").drain(..).collect();
        for pair in sent.windows(2) {
            let (before, after) = (compared(&pair[0]), compared(&pair[1]));
            assert_eq!(shared(&before, &after), before.len(), "the next request does not begin with all of the one before");
        }
        for (n, body) in sent.iter().enumerate() {
            let wanted = if mark.is_some() { [3, 4, 4][n] } else { 0 };
            assert_eq!((body.to_string().matches("cache_control").count(), body.get("cache_control")), (wanted, None), "{body:#}");
            let last = body["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
            assert_eq!(last.pointer("/content/0/cache_control").cloned(), mark, "{body:#}");
        }
    }
}

#[tokio::test]
async fn openai_is_told_which_requests_begin_alike() {
    let server = Server::start(json!({"prompt_tokens": 1, "completion_tokens": 1})).await;
    let mut keys = Vec::new();
    for (kind, more) in
        [("openai", json!({})), ("openai", json!({"cache": "off"})), ("openai-compatible", json!({})), ("azure-openai", json!({}))]
    {
        let bench = server.bench(kind, more);
        let agent = bench.agent(json!({"name": "A", "provider": "work", "model": "gpt-5.2"})).await;
        let mut body = json!({"message": "Hi"});
        for _ in 0..2 {
            let run = bench.chat(&agent, body.clone()).await;
            body["thread_id"] = bench.trace(&run).await["trace"]["thread_id"].clone();
        }
        let found: Vec<Option<String>> =
            server.seen.lock().expect("seen").drain(..).map(|body| Some(body.get("prompt_cache_key")?.as_str()?.to_owned())).collect();
        assert_eq!((found.len(), &found[0]), (2, &found[1]), "one key for a thread");
        keys.push(found[0].clone());
    }
    assert!(keys[0].as_ref().is_some_and(|key| key.len() == 32) && keys[3].is_some() && keys[0] != keys[3], "{keys:?}");
    assert_eq!((&keys[1], &keys[2]), (&None, &None));
}
