//! What is known of models: requests are changed to what a model takes, memory keeps to its window, prices go by the kind of a provider.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use wfstudio::model::sketch;
use wfstudio::studio::ModelQuery;

use crate::support::Bench;

/// A server that speaks OpenAI's chat completions as <https://developers.openai.com/api/reference/resources/chat> says, without a stream;
/// its usage has the `cost` of <https://openrouter.ai/docs/use-cases/usage-accounting>.
#[derive(Clone)]
pub(crate) struct Server {
    url: String,
    usage: Value,
    pub(crate) seen: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    pub(crate) async fn start(usage: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let server = Self { url, usage, seen: Arc::default() };
        let router = Router::new().route("/v1/chat/completions", post(answer)).route("/openai/v1/chat/completions", post(answer)).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    /// A studio whose provider `work` is this server, behind which models of a kind are.
    pub(crate) fn bench(&self, kind: &str, more: Value) -> Bench {
        let mut work = json!({"kind": kind, "base_url": self.url, "credential": "secret:KEY"});
        crate::support::merge(&mut work, more);
        Bench::new(json!({"secrets": {"KEY": "k"}, "providers": {"work": work}}))
    }
}

async fn answer(State(server): State<Server>, Json(body): Json<Value>) -> Response {
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    server.seen.lock().expect("seen").push(body);
    if model == "breaks" {
        let usage = json!({"choices": [{"index": 0, "delta": {"content": "H"}}], "usage": server.usage});
        let error = json!({"error": {"code": 503, "message": "over capacity"}});
        return ([("content-type", "text/event-stream")], format!("data: {usage}\n\ndata: {error}\n\n")).into_response();
    }
    let said = if model == "refuses" { json!({"role": "assistant", "content": null, "refusal": "I will not."}) } else { json!({"role": "assistant", "content": "Hi"}) };
    let choice = json!({"index": 0, "finish_reason": "stop", "message": said});
    Json(json!({"id": "c", "object": "chat.completion", "choices": [choice], "usage": server.usage})).into_response()
}

/// Runs one llm node: what it told, and its trace.
async fn run(bench: &Bench, node: &str) -> (String, Value) {
    let graph = sketch::graph(&format!("start -> {node} -> stop")).expect("a graph");
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "hi"})).await;
    (bench.events_text(&started).await, bench.trace(&started.run.to_string()).await)
}

fn codes(warnings: &Value) -> Vec<String> {
    let told = |warning: &Value| format!("{} {}", warning["code"].as_str().expect("a code"), warning["parameter"].as_str().unwrap_or("-"));
    warnings.as_array().map(|list| list.iter().map(told).collect()).unwrap_or_default()
}

#[tokio::test]
async fn nothing_is_sent_that_the_model_refuses_and_each_change_is_told() {
    let server = Server::start(json!({"prompt_tokens": 1_000_000, "completion_tokens": 0})).await;
    let bench = server.bench("openai", json!({}));
    let node = "llm_1{provider: work, model: gpt-5.2, parameters: {temperature: 0.2, top_p: 0.9, max_tokens: 500000, reasoning_effort: max, stop: [END]}}";
    let (told, trace) = run(&bench, node).await;
    let sent = server.seen.lock().expect("seen").remove(0);
    for gone in ["temperature", "top_p", "stop"] {
        assert_eq!(sent.get(gone), None, "{sent}");
    }
    assert_eq!((&sent["reasoning_effort"], &sent["max_completion_tokens"]), (&json!("xhigh"), &json!(128_000)));
    let wanted = [
        "parameter_dropped temperature",
        "parameter_dropped top_p",
        "parameter_dropped stop",
        "parameter_changed reasoning_effort",
        "parameter_changed max_tokens",
    ];
    let span = trace["spans"].as_array().expect("spans").iter().find(|span| span["type"] == "llm").expect("a model call");
    assert_eq!(
        (codes(&span["warnings"]), codes(&trace["steps"][0]["warnings"])),
        (wanted.map(str::to_owned).to_vec(), wanted.map(str::to_owned).to_vec())
    );
    let completed = told.lines().find(|line| line.contains("step_completed")).expect("an end");
    assert!(completed.contains("\"warnings\":[{\"code\":\"parameter_dropped\""), "{completed}");
    // A provider with a name of its own has the prices of its kind.
    assert_eq!(
        (&span["estimated_cost"], &span["cost_source"], &span["unpriced"]),
        (&json!("1.750000"), &json!("table"), &json!(false)),
        "{span:#}"
    );
}

#[tokio::test]
async fn a_cost_that_the_provider_tells_wins() {
    let server = Server::start(json!({"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.000_123})).await;
    for (kind, model, usage, source, cost) in [
        ("openai", "gpt-5.2", true, "provider", "0.000123"),
        ("openai-compatible", "own", true, "provider", "0.000123"),
        ("openai-compatible", "own", false, "none", "0.000000"),
    ] {
        let server = if usage { server.clone() } else { Server::start(json!({"prompt_tokens": 10, "completion_tokens": 5})).await };
        let (_, trace) = run(&server.bench(kind, json!({})), &format!("llm_1{{provider: work, model: {model}}}")).await;
        let span = &trace["spans"][0];
        assert_eq!(
            (&span["cost_source"], &span["estimated_cost"], &span["unpriced"]),
            (&json!(source), &json!(cost), &json!(source == "none")),
            "{kind}"
        );
    }
    let euros = Bench::new(
        json!({"secrets": {"KEY": "k"}, "usage": {"currency": "EUR"}, "providers": {"work": {"kind": "openai", "base_url": server.url, "credential": "secret:KEY"}}}),
    );
    let (_, trace) = run(&euros, "llm_1{provider: work, model: gpt-5.2}").await;
    assert_eq!(trace["spans"][0]["cost_source"], "none", "what providers tell is in dollars");
}

#[tokio::test]
async fn a_cost_that_the_provider_tells_counts_whatever_became_of_the_answer() {
    let server = Server::start(json!({"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.000_123})).await;
    for (model, status, code) in [("own", "completed", None), ("refuses", "failed", Some("provider_content_filtered")), ("breaks", "failed", Some("provider_unavailable"))] {
        let bench = server.bench("openai-compatible", json!({}));
        let (_, trace) = run(&bench, &format!("llm_1{{provider: work, model: {model}}}")).await;
        let (span, total) = (&trace["spans"][0], &trace["trace"]);
        assert_eq!((span["status"].as_str(), span["error"]["code"].as_str()), (Some(status), code), "{span:#}");
        for told in [span, total] {
            assert_eq!((&told["total_tokens"], &told["estimated_cost"], &told["unpriced"]), (&json!(15), &json!("0.000123"), &json!(false)), "{model}: {told:#}");
        }
        assert_eq!(span["cost_source"], "provider", "{model}");
    }
}

/// <https://docs.perplexity.ai/api-reference/chat-completions-post>: the fee of a request is no part of what its tokens cost.
#[tokio::test]
async fn a_cost_that_is_told_in_parts_is_their_sum() {
    let cost = json!({"input_tokens_cost": 0.00005, "output_tokens_cost": 0.00255, "request_cost": 0.006, "total_cost": 0.0086});
    let server = Server::start(json!({"prompt_tokens": 18, "completion_tokens": 170, "total_tokens": 188, "cost": cost})).await;
    let (_, trace) = run(&server.bench("perplexity", json!({})), "llm_1{provider: work, model: sonar-pro}").await;
    let span = &trace["spans"][0];
    assert_eq!((&span["cost_source"], &span["estimated_cost"]), (&json!("provider"), &json!("0.008600")), "{span:#}");
}

/// What nobody can have taken is not believed, also beside a cost.
#[tokio::test]
async fn tokens_that_no_model_can_have_taken_do_not_count_beside_a_cost() {
    let server = Server::start(json!({"prompt_tokens": 1_000_000_000_000_u64, "completion_tokens": 5, "cost": 0.000_123})).await;
    let (_, trace) = run(&server.bench("openai-compatible", json!({})), "llm_1{provider: work, model: own}").await;
    let span = &trace["spans"][0];
    assert_eq!((&span["total_tokens"], &span["estimated_cost"], &span["cost_source"]), (&json!(0), &json!("0.000123"), &json!("provider")), "{span:#}");
}

#[tokio::test]
async fn facts_of_the_configuration_win_over_the_table() {
    let server = Server::start(json!({"prompt_tokens": 1, "completion_tokens": 1})).await;
    let models = json!([{"id": "gpt-5.2", "sampling": true, "max_output": 100}, {"id": "mine", "sampling": false, "context_window": 9000, "tools": false}]);
    let quirks = json!({"system_role": "developer", "max_tokens_name": "max_len", "stream": false});
    let bench = server.bench("openai", json!({"models": models, "quirks": quirks}));
    let (_, trace) =
        run(&bench, "llm_1{provider: work, model: gpt-5.2, instructions: S, parameters: {temperature: 0.5, max_tokens: 900}}").await;
    let sent = server.seen.lock().expect("seen").remove(0);
    assert_eq!(
        (&sent["temperature"], &sent["max_len"], &sent["messages"][0]["role"]),
        (&json!(0.5), &json!(100), &json!("developer")),
        "{sent}"
    );
    assert_eq!(codes(&trace["steps"][0]["warnings"]), ["parameter_changed max_tokens"]);
    let (_, trace) =
        run(&bench, "agent_1{provider: work, model: mine, tools: [{ref: \"toolkit:calculator\"}], parameters: {temperature: 0.5}}").await;
    let sent = server.seen.lock().expect("seen").remove(0);
    assert_eq!((sent.get("tools"), sent.get("temperature")), (None, None));
    assert_eq!(codes(&trace["steps"][0]["warnings"]), ["parameter_dropped temperature", "parameter_dropped tools"]);

    let listed = bench.studio.models(&ModelQuery { provider: Some("work"), text: Some("MINE"), ..ModelQuery::default() }).expect("a list");
    let mine = &listed["data"][0];
    assert_eq!(
        (&mine["id"], &mine["source"], &mine["context_window"], &mine["tools"]),
        (&json!("mine"), &json!("configured"), &json!(9000), &json!(false))
    );
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn models_are_listed_by_what_they_can_do() {
    let bench = Bench::new(json!({}));
    let ids = |query: ModelQuery<'_>| -> Vec<String> {
        let listed = bench.studio.models(&query).expect("a list");
        listed["data"].as_array().expect("data").iter().map(|one| one["id"].as_str().expect("an id").to_owned()).collect()
    };
    let of = ModelQuery { provider: Some("anthropic"), ..ModelQuery::default() };
    assert!(ids(of.clone()).contains(&"claude-opus-4-1".to_owned()), "those that ended, too");
    assert!(ids(ModelQuery { input: Some("audio"), ..of.clone() }).is_empty());
    assert!(
        ids(ModelQuery {
            provider: Some("gemini"),
            input: Some("audio"),
            tools: Some("true"),
            text: Some("flash"),
            ..ModelQuery::default()
        })
        .contains(&"gemini-3.5-flash".to_owned())
    );
    let router = ModelQuery { provider: Some("openrouter"), ..ModelQuery::default() };
    let (all, hearing) = (ids(router.clone()), ids(ModelQuery { input: Some("audio"), ..router.clone() }));
    assert!(hearing.contains(&"google/gemini-2.5-flash".to_owned()) && !hearing.contains(&"anthropic/claude-opus-5".to_owned()), "{hearing:?}");
    assert!(!hearing.contains(&"meta-llama/llama-3-8b-instruct".to_owned()), "what nobody knows of a model is not found");
    assert_eq!(ids(ModelQuery { input: Some("text"), ..router.clone() }), all);
    let painting = ids(ModelQuery { output: Some("image"), ..router });
    assert!(painting.contains(&"google/gemini-2.5-flash-image".to_owned()) && painting.len() < 20, "{painting:?}");
    assert!(ids(ModelQuery { provider: Some("gemini"), output: Some("image"), ..ModelQuery::default() }).contains(&"gemini-2.5-flash-image".to_owned()));
    for wrong in [
        ModelQuery { input: Some("smell"), ..of.clone() },
        ModelQuery { tools: Some("maybe"), ..of.clone() },
        ModelQuery { output: Some("pdf"), ..of },
    ] {
        assert_eq!(bench.studio.models(&wrong).expect_err("refused").kind.code(), "validation_failed");
    }
    let providers = bench.studio.providers(&wfstudio::studio::Scope::default()).await.expect("a list");
    let anthropic = providers["data"].as_array().expect("data").iter().find(|one| one["id"] == "anthropic").expect("listed");
    let names: Vec<&Value> = anthropic["models"].as_array().expect("models").iter().map(|one| &one["id"]).collect();
    assert!(
        names.contains(&&json!("claude-opus-5")) && !names.contains(&&json!("claude-opus-4-1")),
        "pickers do not offer what has ended: {names:?}"
    );
}

#[tokio::test]
async fn memory_keeps_to_the_window_of_the_model() {
    let server = Server::start(json!({"prompt_tokens": 1, "completion_tokens": 1})).await;
    for (more, cut) in [(json!({}), true), (json!({"context_window": 200_000}), false)] {
        let mut model = json!({"id": "small", "context_window": 5000});
        crate::support::merge(&mut model, more);
        let bench = server.bench("openai", json!({"models": [model]}));
        let agent = bench.agent(json!({"name": "A", "provider": "work", "model": "small"})).await;
        let long = "word ".repeat(1500);
        let mut body = json!({"message": long});
        for _ in 0..3 {
            let run = bench.chat(&agent, body.clone()).await;
            body["thread_id"] = bench.trace(&run).await["trace"]["thread_id"].clone();
        }
        let sent = server.seen.lock().expect("seen").drain(..).next_back().expect("asked");
        let texts = sent["messages"].as_array().expect("messages").iter().filter(|one| one["role"] == "user").count();
        assert_eq!(texts < 3, cut, "{texts} messages of 1,900 tokens each");
    }
}

#[tokio::test]
async fn a_schema_that_no_strict_mode_takes_is_told_as_weakened() {
    let server = Server::start(json!({"prompt_tokens": 1, "completion_tokens": 1})).await;
    for (schema, strict, warned) in [
        ("{type: object, required: [a], properties: {a: {type: string}, b: {type: integer}}}", true, false),
        ("{type: object, properties: {a: {type: string}}, additionalProperties: true}", false, true),
    ] {
        let bench = server.bench("openai", json!({}));
        let (_, trace) = run(&bench, &format!("llm_1{{provider: work, model: gpt-5.2, structured: true, schema: {schema}}}")).await;
        let sent = server.seen.lock().expect("seen").drain(..).next().expect("asked");
        assert_eq!(sent["response_format"]["json_schema"]["strict"], json!(strict), "{sent}");
        assert_eq!(codes(&trace["spans"][0]["warnings"]).contains(&"schema_weakened schema".to_owned()), warned, "{trace:#}");
    }
}
