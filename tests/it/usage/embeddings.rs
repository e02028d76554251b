//! What embeddings cost: on the run that asked, by a node or a tool, and on the document that was read; by the package genai-prices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use wfstudio::model::event::Event;
use wfstudio::model::usage::Picos;
use wfstudio::studio::{ListQuery, Resource};

use super::{oracle::oracle, used};
use crate::support::Bench;

/// A provider of embeddings: how many tokens each call takes, how long its vectors are, how often it was called.
#[derive(Clone, Default)]
struct Server {
    url: String,
    tokens: Arc<AtomicU64>,
    length: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    /// How many vectors are left out of each answer.
    missing: Arc<AtomicUsize>,
    /// Held while no answer is to come.
    gate: Arc<tokio::sync::Mutex<()>>,
}

impl Server {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let server = Self { url, length: Arc::new(AtomicUsize::new(3)), ..Self::default() };
        let router = Router::new().route("/v1/embeddings", post(answer)).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    /// A studio with this provider, and a model that asks the tool `find` once.
    fn bench(&self) -> Bench {
        Bench::new(self.settings())
    }

    fn settings(&self) -> Value {
        let free = json!({"prompt_tokens": 0, "completion_tokens": 0});
        let call = json!({"tool_calls": [{"name": "find", "arguments": {"query": "cats"}}], "usage": free});
        let script = json!({"scripts": {"asks": {"replies": [call, {"text": "ok", "usage": free}]}}});
        let openai = json!({"base_url": self.url, "credential": "secret:KEY"});
        let providers = json!({"openai": openai, "script": script});
        json!({"rag": {"async_ingest": false}, "secrets": {"KEY": "k"}, "providers": providers})
    }

    /// A studio on disk whose worker reads documents.
    fn on_disk(&self, folder: &std::path::Path) -> Bench {
        let mut settings = self.settings();
        settings["rag"]["async_ingest"] = true.into();
        Bench::on_disk(settings, folder)
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn answer(State(server): State<Server>, Json(body): Json<Value>) -> Json<Value> {
    server.calls.fetch_add(1, Ordering::SeqCst);
    let vector = vec![0.5; server.length.load(Ordering::SeqCst)];
    let texts = body["input"].as_array().expect("texts");
    let _open = server.gate.lock().await;
    let data: Vec<Value> = (server.missing.load(Ordering::SeqCst)..texts.len()).map(|index| json!({"index": index, "embedding": vector})).collect();
    let tokens = server.tokens.load(Ordering::SeqCst);
    Json(json!({"data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}))
}

/// Calls of embeddings and what the package says of them: model, tokens, cost.
fn cases() -> Vec<(String, u64, String)> {
    let oracle = oracle();
    let amounts = oracle["amounts"].as_array().expect("amounts");
    let mut cases = Vec::new();
    for answer in oracle["answers"].as_array().expect("answers") {
        let model = answer[1].as_str().expect("a name");
        if answer[0] != "openai" || !model.starts_with("text-embedding") {
            continue;
        }
        for (amount, cost) in amounts.iter().zip(answer[3].as_array().expect("costs")) {
            if amount[1] == 0 && amount[2] == 0 {
                let cost = Picos(cost.as_i64().expect("a cost")).shown();
                cases.push((model.to_owned(), amount[0].as_u64().expect("a count"), cost));
            }
        }
    }
    cases
}

async fn base(bench: &Bench, model: &str) -> String {
    let body = json!({"name": "Docs", "embeddings_provider": "openai", "embeddings_model": model});
    let made = bench.studio.create(&bench.scope, Resource::KnowledgeBase, &body).await.expect("a base");
    made["id"].as_str().expect("an id").to_owned()
}

async fn add(bench: &Bench, base: &str) -> Value {
    let document = bench.studio.add_text(&bench.scope, base, &json!({"name": "a", "text": "Cats purr."})).await.expect("a document");
    assert_eq!(document["status"], "completed", "{document}");
    document
}

/// The ways in which a run asks a base, as graphs.
async fn ways(bench: &Bench, base: &str) -> Vec<(&'static str, Value)> {
    let config = json!({"knowledge_base_id": base, "mode": "vector"});
    let tool = bench.studio.create(&bench.scope, Resource::Tool, &json!({"name": "find", "kind": "rag", "config": config})).await;
    tool.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "asks", "tools": [{"ref": "tool:find"}]})).await;
    let graph = |node: String| wfstudio::model::sketch::graph(&format!("start -> {node} -> stop")).expect("a graph");
    vec![
        ("a rag node", graph(format!("rag_1{{knowledge_base_id: \"{base}\", query: cats, mode: vector}}"))),
        ("a tool node", graph("tool_1{tool_ref: \"tool:find\", parameters: {query: cats}}".to_owned())),
        ("an agent's tool", graph(format!("agent_1{{agent_id: \"{agent}\"}}"))),
    ]
}

fn cost_of(usage: &Value) -> (u64, &str, bool) {
    let text = usage["estimated_cost"].as_str().expect("a cost");
    (usage["total_tokens"].as_u64().expect("a count"), text, usage["unpriced"].as_bool().expect("a mark"))
}

#[tokio::test]
async fn every_question_costs_its_run_what_the_package_says() {
    let cases = cases();
    assert!(cases.len() >= 10, "{cases:?}");
    let server = Server::start().await;
    for (model, tokens, cost) in cases {
        let bench = server.bench();
        server.tokens.store(tokens, Ordering::SeqCst);
        let base = base(&bench, &model).await;
        let document = add(&bench, &base).await;
        assert_eq!((&document["total_tokens"], &document["estimated_cost"]), (&json!(tokens), &json!(cost)), "{model}: {document}");
        for (what, graph) in ways(&bench, &base).await {
            let before = server.calls.load(Ordering::SeqCst);
            let workflow = bench.workflow(graph).await;
            let run = super::run(&bench, &workflow).await;
            let usage = used(&bench, &run).await;
            assert_eq!(usage["status"], "completed", "{what}: {usage}");
            assert_eq!(cost_of(&usage), (tokens, cost.as_str(), false), "{what} {model}: {usage}");
            let trace = bench.trace(&run).await;
            assert_eq!(cost_of(&trace["steps"][0]), (tokens, cost.as_str(), false), "{what} {model}: {trace}");
            assert_eq!(server.calls.load(Ordering::SeqCst), before + 1, "{what}: asked once");
        }
    }
}

#[tokio::test]
async fn a_question_that_finds_nothing_was_paid_for() {
    let server = Server::start().await;
    server.tokens.store(1000, Ordering::SeqCst);
    let bench = server.bench();
    let base = base(&bench, "text-embedding-3-small").await;
    add(&bench, &base).await;
    // Such a vector fits none that the base has.
    server.length.store(5, Ordering::SeqCst);
    for (what, graph) in ways(&bench, &base).await {
        let workflow = bench.workflow(graph).await;
        let run = super::run(&bench, &workflow).await;
        let usage = used(&bench, &run).await;
        let status = if what == "an agent's tool" { "completed" } else { "failed" };
        assert_eq!((&usage["status"], cost_of(&usage)), (&json!(status), (1000, "0.000020", false)), "{what}: {usage}");
    }
}

#[tokio::test]
async fn vectors_without_a_price_are_counted() {
    let server = Server::start().await;
    let bench = server.bench();
    let base = base(&bench, "text-embedding-of-tomorrow").await;
    server.tokens.store(7, Ordering::SeqCst);
    assert_eq!(cost_of(&add(&bench, &base).await), (7, "0.000000", true));
    for (what, graph) in ways(&bench, &base).await {
        let workflow = bench.workflow(graph).await;
        let run = super::run(&bench, &workflow).await;
        assert_eq!(cost_of(&used(&bench, &run).await), (7, "0.000000", true), "{what}");
    }
}

#[tokio::test]
async fn vectors_that_cannot_be_kept_were_paid_for() {
    let server = Server::start().await;
    let bench = server.bench();
    let base = base(&bench, "text-embedding-3-small").await;
    add(&bench, &base).await;
    server.tokens.store(1000, Ordering::SeqCst);
    for (length, missing, what) in [(5, 0, "of another length"), (0, 0, "of no length"), (3, 1, "too few")] {
        server.length.store(length, Ordering::SeqCst);
        server.missing.store(missing, Ordering::SeqCst);
        let document = bench.studio.add_text(&bench.scope, &base, &json!({"name": what, "text": "Dogs bark."})).await.expect("a document");
        assert_eq!((&document["status"], cost_of(&document)), (&json!("failed"), (1000, "0.000020", false)), "{what}: {document}");
    }
}

#[tokio::test]
async fn a_document_that_is_read_anew_meanwhile_pays_for_both_calls() {
    let server = Server::start().await;
    let bench = server.bench();
    let base = base(&bench, "text-embedding-3-small").await;
    add(&bench, &base).await;
    server.tokens.store(1000, Ordering::SeqCst);
    let before = server.calls.load(Ordering::SeqCst);
    let held = server.gate.lock().await;
    let text = json!({"name": "b", "text": "Dogs bark."});
    let adds = bench.studio.add_text(&bench.scope, &base, &text);
    let again = async {
        while server.calls.load(Ordering::SeqCst) == before {
            tokio::task::yield_now().await;
        }
        let page = bench.studio.documents(&bench.scope, &base, ListQuery::default()).await.expect("documents");
        let id = page.data.iter().find(|one| one["name"] == "b").expect("the document")["id"].clone();
        let id = id.as_str().expect("an id").to_owned();
        let reindex = bench.studio.reindex_document(&bench.scope, &base, &id);
        let open = async {
            while server.calls.load(Ordering::SeqCst) == before + 1 {
                tokio::task::yield_now().await;
            }
            drop(held);
        };
        tokio::join!(reindex, open).0.expect("a document");
        id
    };
    let (_, id) = tokio::join!(adds, again);
    let document = bench.studio.document(&bench.scope, &base, &id).await.expect("a document");
    assert_eq!(cost_of(&document), (2000, "0.000040", false), "{document}");
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..6000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not come true within 60 s");
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_under_way_when_an_engine_ends_are_waited_for_or_counted() {
    for (waits, calls, took) in [(true, 1, (1000, "0.000020", false)), (false, 2, (1000, "0.000020", true))] {
        let (server, folder) = (Server::start().await, tempfile::tempdir().expect("a folder"));
        server.tokens.store(1000, Ordering::SeqCst);
        let bench = server.on_disk(folder.path());
        let base = base(&bench, "text-embedding-3-small").await;
        let held = server.gate.lock().await;
        let added = bench.studio.add_text(&bench.scope, &base, &json!({"name": "a", "text": "Cats purr."})).await.expect("a document");
        until("a call", async || server.calls() == 1).await;
        let closing = bench.studio.shutdown(Duration::from_millis(if waits { 8_000 } else { 2_400 }));
        let open = async {
            if waits {
                tokio::time::sleep(Duration::from_millis(300)).await;
                drop(held);
                return None;
            }
            Some(held)
        };
        let (_closed, held) = tokio::join!(closing, open);
        drop((bench, held));
        let next = server.on_disk(folder.path());
        next.studio.start_workers().expect("workers");
        let id = added["id"].as_str().expect("an id");
        let document = async || next.studio.document(&next.scope, &base, id).await.expect("a document");
        until("its end", async || document().await["status"] == "completed").await;
        assert_eq!((cost_of(&document().await), server.calls()), (took, calls), "{waits}");
    }
}

/// A reranker that never answers, or refuses.
struct Ranker {
    hangs: bool,
    calls: Arc<AtomicUsize>,
}

impl Host for Ranker {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        assert_eq!(call.op, HostOp::ProviderRerank);
        self.calls.fetch_add(1, Ordering::SeqCst);
        let hangs = self.hangs;
        async move { if hangs { std::future::pending().await } else { Err(HostFailure::new("no order today")) } }.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_question_of_a_tool_that_is_called_again_by_another_engine_is_paid_for() {
    let (server, folder, calls) = (Server::start().await, tempfile::tempdir().expect("a folder"), Arc::new(AtomicUsize::new(0)));
    let open = |hangs| {
        let mut settings = server.settings();
        settings["providers"]["mine"] = json!({"kind": "host"});
        let bench = Bench::on_disk(settings, folder.path());
        let declaration = HostDeclaration { ops: vec![HostOp::ProviderRerank], ..HostDeclaration::default() };
        bench.studio.set_host(Arc::new(Ranker { hangs, calls: Arc::clone(&calls) }), declaration);
        bench
    };
    let bench = open(true);
    let body = json!({
        "name": "Docs", "embeddings_provider": "openai", "embeddings_model": "text-embedding-3-small",
        "retrieval_defaults": {"rerank": {"provider": "mine", "model": "r"}},
    });
    let base = bench.studio.create(&bench.scope, Resource::KnowledgeBase, &body).await.expect("a base");
    let base = base["id"].as_str().expect("an id");
    add(&bench, base).await;
    server.tokens.store(1000, Ordering::SeqCst);
    let (_, graph) = ways(&bench, base).await.remove(1);
    let workflow = bench.workflow(graph).await;
    let run = bench.start(&workflow, json!({"message": "go"})).await.run.to_string();
    until("a call of the reranker", async || calls.load(Ordering::SeqCst) == 1).await;
    bench.studio.shutdown(Duration::from_millis(2_000)).await;
    drop(bench);
    let next = open(false);
    next.studio.take_over().await.expect("a takeover");
    until("its end", async || used(&next, &run).await["status"] == "completed").await;
    let usage = used(&next, &run).await;
    // The reranker that was cut reported nothing.
    assert_eq!((server.calls(), cost_of(&usage)), (3, (2000, "0.000040", true)), "{usage}");
    let trace = next.trace(&run).await;
    let spans: Vec<String> = trace["spans"].as_array().expect("spans").iter().map(|span| format!("{} {}", span["name"], span["status"])).collect();
    let of = |name: &str| spans.iter().filter(|span| span.starts_with(name)).count();
    assert_eq!((of("\"embed\""), of("\"rerank\"")), (2, 2), "{spans:?}");
}

#[tokio::test]
async fn a_question_that_is_cut_ends_and_counts_without_a_price() {
    let server = Server::start().await;
    server.tokens.store(1000, Ordering::SeqCst);
    let bench = server.bench();
    let base = base(&bench, "text-embedding-3-small").await;
    add(&bench, &base).await;
    let _held = server.gate.lock().await;
    let node = format!("rag_1{{knowledge_base_id: \"{base}\", query: cats, mode: vector, timeout_ms: 1500, retries: {{max: 1, backoff_ms: 1}}}}");
    let graph = wfstudio::model::sketch::graph(&format!("start -> {node} -> stop")).expect("a graph");
    let workflow = bench.workflow(graph).await;
    let run = super::run(&bench, &workflow).await;
    let usage = used(&bench, &run).await;
    assert_eq!((&usage["status"], cost_of(&usage)), (&json!("failed"), (0, "0.000000", true)), "{usage}");
    let id = run.parse().expect("an id");
    let entries = bench.studio.world().store.read(move |tx| wfstudio::store::log::entries(tx, "", &id, 0, 1000)).await.expect("a log");
    let begun = entries.iter().filter(|entry| matches!(entry.event, Event::CallStarted(_))).count();
    let ended = entries.iter().filter(|entry| matches!(entry.event, Event::CallFinished(_))).count();
    assert!(begun == 2 && ended == 2, "{begun} calls, {ended} ends");
}

#[tokio::test]
async fn a_question_that_is_cut_while_it_waits_for_room_costs_nothing() {
    let server = Server::start().await;
    server.tokens.store(1000, Ordering::SeqCst);
    let mut settings = server.settings();
    settings["providers"]["openai"]["limits"] = json!({"concurrent": 1});
    let bench = Bench::new(settings);
    let base = base(&bench, "text-embedding-3-small").await;
    add(&bench, &base).await;
    let (_held, before) = (server.gate.lock().await, server.calls());
    let mut ways = ways(&bench, &base).await;
    let first = bench.workflow(ways.remove(0).1).await;
    bench.start(&first, json!({"message": "go"})).await;
    until("the call that there is room for", async || server.calls() == before + 1).await;
    let rag = format!("rag_1{{knowledge_base_id: \"{base}\", query: cats, mode: vector, timeout_ms: 100}}");
    for node in [rag.as_str(), "tool_1{tool_ref: \"tool:find\", parameters: {query: cats}, timeout_ms: 100}"] {
        let graph = wfstudio::model::sketch::graph(&format!("start -> {node} -> stop")).expect("a graph");
        let workflow = bench.workflow(graph).await;
        let started = bench.start(&workflow, json!({"message": "go"})).await;
        bench.events_text(&started).await;
        until("the end of all runs but the first", async || bench.studio.world().at_work() == 1).await;
        let usage = used(&bench, &started.run.to_string()).await;
        assert_eq!((&usage["status"], cost_of(&usage)), (&json!("failed"), (0, "0.000000", false)), "{node}: {usage}");
    }
    assert_eq!(server.calls(), before + 1, "nothing else was asked");
}
