//! Rerankers: the order that they give, what they cost, what happens when they fail; and how much of a corpus is found with and without one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::node::run;
use super::{bench, three};
use crate::support::Bench;

/// A reranker: it knows which words mean the same. The model `upside-down` likes most what has least of the question, others answer badly.
#[derive(Clone, Default)]
struct Server {
    url: String,
    calls: Arc<AtomicUsize>,
    /// Held while no answer is to come.
    gate: Arc<tokio::sync::Mutex<()>>,
    asked: Arc<std::sync::Mutex<Vec<Value>>>,
}

impl Server {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let server = Self { url, ..Self::default() };
        let router = Router::new().route("/v1/rerank", post(answer)).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    fn bench(&self) -> Bench {
        let jina = json!({"base_url": self.url, "credential": "secret:KEY", "max_retries": 0});
        let row = |model: &str| json!({"provider": "jina", "model": model, "input": "2", "output": "0"});
        let rows = ["upside-down", "right", "hostile", "short", "meaning"].map(row);
        bench(json!({"secrets": {"KEY": "k"}, "providers": {"jina": jina}, "usage": {"prices": {"models": rows}}}))
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

async fn answer(State(server): State<Server>, Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    server.calls.fetch_add(1, Ordering::SeqCst);
    server.asked.lock().expect("unpoisoned").push(body.clone());
    let _open = server.gate.lock().await;
    let texts: Vec<&str> = body["documents"].as_array().expect("texts").iter().filter_map(Value::as_str).collect();
    let query = meanings(body["query"].as_str().expect("a question"));
    let score = |text: &&str| {
        let meant = meanings(text);
        query.iter().filter(|word| meant.contains(*word)).count() as f64 / query.len().max(1) as f64
    };
    let said = |score: f64| match body["model"].as_str() {
        Some("upside-down") => 1.0 - score,
        Some("raw") => -6.0 * score - 3.0,
        _ => score,
    };
    let mut results: Vec<Value> = texts.iter().map(score).enumerate().map(|(index, score)| json!({"index": index, "relevance_score": said(score)})).collect();
    match body["model"].as_str() {
        Some("broken") => return (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({"error": "out of order"}))),
        Some("hostile") => results.push(json!({"index": 9_999, "relevance_score": 1})),
        Some("short") => results.truncate(1),
        _ => {}
    }
    (StatusCode::OK, Json(json!({"results": results, "usage": {"total_tokens": 1_000}})))
}

/// Words that mean the same.
const SAME: [&str; 36] = [
    "start begin begins began using", "bicycle bike bikes", "leave park parking done", "break pause paused pausing", "ride trip trips journey",
    "head helmet helmets protection", "age years old minimum", "weather rain storm", "power charge battery batteries electricity e-bike", "weight carries kilograms transport",
    "dog dogs pets", "finish end ends", "pay costs cost price prices charged", "membership plan monthly subscriptions", "stop ended cancelled cancelling", "reimbursed returned refunds money",
    "blocked security deposits amount", "redeem codes vouchers present gift", "receipts bill bills invoices", "penalty tickets fines", "learners university students discount half",
    "nation country abroad", "air puncture flat tyres wheel", "slow brakes", "lamp lamps lights", "stole theft police", "crash accidents hurt", "liability covered insurance protected damage",
    "forgot lost found", "screen display black dark", "sit seat saddle adjust height", "register signing install", "log password passwords login", "remove erased deleting", "notifications messages alerts news",
    "relocate moving address town city",
];

fn meanings(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '-').map(str::to_lowercase).filter(|word| word.len() > 2);
    words.map(|word| SAME.iter().find(|same| same.split(' ').any(|one| one == word)).map_or(word, |same| (*same).to_owned())).collect()
}

fn names(results: &Value) -> Vec<&str> {
    results.as_array().expect("results").iter().filter_map(|chunk| chunk["source_name"].as_str()).collect()
}

#[tokio::test]
async fn the_order_and_the_scores_are_those_of_the_reranker_and_it_is_paid_for_once() {
    let server = Server::start().await;
    let bench = server.bench();
    three(&bench).await;
    let rerank = json!({"provider": "jina", "model": "upside-down", "candidates": 3});
    let data = json!({"knowledge_base_id": "docs", "rerank": rerank, "top_k": 2, "mode": "vector", "query": "refund thirty days charged the most"});
    let (told, trace) = run(&bench, data, json!({})).await;
    assert_eq!(told.matches("rag_query").count(), 1, "{told}");
    let output = &trace["trace"]["output"]["rag_context"];
    assert_ne!(names(&output["results"])[0], "refunds.md", "{output}");
    assert_eq!(output["top_score"], output["results"][0]["score"]);
    assert!(output["top_score"].as_f64().expect("a score") > 0.5, "{output}");
    let spans = trace["spans"].as_array().expect("spans");
    let span = spans.iter().find(|span| span["name"] == "rerank").expect("a span");
    assert_eq!((&span["type"], &span["provider"], &span["model"], &span["status"]), (&json!("rag"), &json!("jina"), &json!("upside-down"), &json!("completed")));
    assert_eq!((&span["prompt_tokens"], &span["estimated_cost"]), (&json!(1_000), &json!("0.002000")), "{span}");
    let step = &trace["steps"][0];
    assert_eq!((&step["estimated_cost"], &step["chunk_count"], step.get("warnings")), (&json!("0.002000"), &json!(2), None), "{step}");
    assert_eq!(server.calls(), 1);
    let sent = server.asked.lock().expect("unpoisoned")[0].clone();
    assert_eq!((&sent["query"], &sent["top_n"], sent["documents"].as_array().map(Vec::len)), (&json!("refund thirty days charged the most"), &json!(3), Some(3)));
    // A node may do without the one of its base.
    let base = bench.base(json!({"name": "Ranked", "retrieval_defaults": {"rerank": rerank}})).await;
    bench.add(&base, "refunds.md", super::REFUNDS).await;
    let shown = bench.get_base(&base).await;
    assert_eq!(shown["retrieval_defaults"]["rerank"], rerank);
    run(&bench, json!({"knowledge_base_id": base, "rerank": {}}), json!({})).await;
    assert_eq!(server.calls(), 1);
    run(&bench, json!({"knowledge_base_id": base}), json!({})).await;
    assert_eq!(server.calls(), 2);
    let strict = bench.ask(&base, json!({"query": "refund policy", "threshold": 0.9})).await;
    assert_eq!((&strict["chunk_count"], strict.get("warnings"), server.calls()), (&json!(0), None, 3), "the threshold is for its scores: {strict}");
}

#[tokio::test]
async fn a_reranker_costs_what_the_table_says_and_says_where_that_is_from() {
    let server = Server::start().await;
    let bench = server.bench();
    three(&bench).await;
    for (model, cost, source, unpriced) in [
        ("right", "0.002000", "table", false),
        ("jina-reranker-v2-base-multilingual", "0.000050", "table", false),
        ("of-nobody", "0.000000", "none", true),
    ] {
        let rerank = json!({"provider": "jina", "model": model});
        let (_, trace) = run(&bench, json!({"knowledge_base_id": "docs", "rerank": rerank, "query": "refund"}), json!({})).await;
        let span = trace["spans"].as_array().expect("spans").iter().find(|span| span["name"] == "rerank").expect("a span").clone();
        let wanted = (&json!(cost), &json!(source), &json!(unpriced), &json!(1_000));
        assert_eq!((&span["estimated_cost"], &span["cost_source"], &span["unpriced"], &span["prompt_tokens"]), wanted, "{model}: {span}");
        assert_eq!((&trace["trace"]["estimated_cost"], &trace["trace"]["unpriced"]), (&json!(cost), &json!(unpriced)), "{model}");
    }
}

#[tokio::test]
async fn scores_without_bounds_keep_their_order() {
    let server = Server::start().await;
    let bench = server.bench();
    let base = three(&bench).await;
    let ask = async |rerank: Value| {
        let question = json!({"query": "refund thirty days charged the most", "rerank": rerank, "threshold": 0, "top_k": 3});
        bench.ask(&base, question).await["results"].clone()
    };
    let usual = ask(json!({})).await;
    let (wanted, raw) = (ask(json!({"provider": "jina", "model": "upside-down"})).await, ask(json!({"provider": "jina", "model": "raw"})).await);
    assert_eq!(names(&raw), names(&wanted), "{raw}");
    assert_ne!(names(&raw), names(&usual), "the question tells them apart");
    let scores: Vec<f64> = raw.as_array().expect("results").iter().filter_map(|chunk| chunk["score"].as_f64()).collect();
    assert!(scores.len() > 1 && scores.iter().all(|score| (0.0..0.1).contains(score)) && scores[0] > scores[scores.len() - 1], "{scores:?}");
}

#[tokio::test]
async fn a_reranker_that_fails_leaves_the_order_and_a_warning() {
    let server = Server::start().await;
    let bench = server.bench();
    let base = three(&bench).await;
    let usual = bench.ask(&base, json!({"query": "When is a refund given?"})).await["results"].clone();
    for (model, cost) in [("broken", "0.000000"), ("hostile", "0.002000")] {
        let rerank = json!({"provider": "jina", "model": model});
        let (_, trace) = run(&bench, json!({"knowledge_base_id": "docs", "rerank": rerank}), json!({})).await;
        let step = &trace["steps"][0];
        assert_eq!((&step["status"], &step["warnings"][0]["code"]), (&json!("completed"), &json!("rerank_failed")), "{step}");
        assert_eq!((&trace["trace"]["output"]["rag_context"]["results"], &step["estimated_cost"]), (&usual, &json!(cost)), "{model}");
        let found = bench.ask(&base, json!({"query": "When is a refund given?", "rerank": rerank})).await;
        assert_eq!((&found["results"], &found["warnings"][0]["code"]), (&usual, &json!("rerank_failed")));
    }
    let (_, trace) = run(&bench, json!({"knowledge_base_id": "docs", "rerank": {"provider": "hash", "model": "x"}}), json!({})).await;
    assert!(trace["steps"][0]["warnings"][0]["message"].as_str().expect("a text").contains("no rerankers"), "{trace}");
    // What it does not judge comes behind.
    let found = bench.ask(&base, json!({"query": "When is a refund given?", "rerank": {"provider": "jina", "model": "short"}, "threshold": 0})).await;
    assert_eq!((names(&found["results"]).len(), &found["results"][1]["score"]), (names(&usual).len(), &json!(0.0)), "{found}");
    for (key, body) in [("model", json!({"provider": "jina"})), ("candidates", json!({"provider": "jina", "model": "m", "candidates": 201}))] {
        let refused = bench.studio.search(&bench.scope, &base, &json!({"query": "x", "rerank": body})).await.expect_err("refused");
        assert!(refused.members["errors"].get(format!("rerank.{key}")).is_some(), "{:?}", refused.members);
    }
}

#[tokio::test]
async fn what_is_deleted_while_it_is_judged_is_not_found_and_two_at_once_are_two() {
    let server = Server::start().await;
    let bench = Arc::new(server.bench());
    let base = three(&bench).await;
    let documents = bench.studio.documents(&bench.scope, &base, wfstudio::studio::ListQuery::default()).await.expect("documents").into_json();
    let of = |name: &str| documents["data"].as_array().expect("a list").iter().find(|one| one["name"] == name).expect("it is there")["id"].clone();
    let refunds = of("refunds.md");
    let held = Arc::clone(&server.gate).lock_owned().await;
    let ask = |model: &str| {
        let (bench, base) = (Arc::clone(&bench), base.clone());
        let body = json!({"query": "refund in thirty days", "rerank": {"provider": "jina", "model": model}});
        tokio::spawn(async move { bench.ask(&base, body).await })
    };
    let (one, other) = (ask("right"), ask("upside-down"));
    let mut patience = super::patience();
    while server.calls() < 2 {
        patience.wait().await;
    }
    bench.studio.delete_document(&bench.scope, &base, refunds.as_str().expect("an id")).await.expect("deleted");
    drop(held);
    for found in [one.await.expect("an answer"), other.await.expect("an answer")] {
        assert!(!names(&found["results"]).contains(&"refunds.md") && found.get("warnings").is_none(), "{found}");
    }
}

/// Documents in a fixed order, since chunks of one score come in the order of their ids; sections with their questions.
fn corpus() -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let (mut documents, mut questions) = (BTreeMap::<String, String>::new(), Vec::new());
    let (mut name, mut heading) = (String::new(), String::new());
    for line in include_str!("corpus.md").lines() {
        if let Some(question) = line.strip_prefix("? ") {
            questions.push((question.to_owned(), heading.clone()));
            continue;
        }
        if let Some(title) = line.strip_prefix("# ") {
            name = title.to_owned();
        } else if let Some(section) = line.strip_prefix("## ") {
            heading = format!("{name} > {section}");
        }
        documents.entry(name.clone()).or_default().push_str(&format!("{line}\n\n"));
    }
    (documents, questions)
}

/// The share of questions whose section is among the first ten chunks.
async fn recall(bench: &Bench, base: &str, questions: &[(String, String)], asked: Value) -> f64 {
    let mut found = 0;
    for (question, heading) in questions {
        let mut body = json!({"query": question, "top_k": 10, "threshold": 0});
        crate::support::merge(&mut body, asked.clone());
        let answer = bench.ask(base, body).await;
        found += usize::from(answer["results"].as_array().expect("results").iter().any(|chunk| chunk["heading"] == json!(heading)));
    }
    found as f64 / questions.len() as f64
}

/// Shares of the corpus that were found before there were rerankers.
const TEXT: f64 = 0.14;
const VECTOR: f64 = 0.22;
const HYBRID: f64 = 0.30;

#[tokio::test]
async fn as_much_of_the_corpus_is_found_as_before_and_more_with_a_reranker() {
    let server = Server::start().await;
    let bench = server.bench();
    let base = bench.base(json!({"chunking": {"max_words": 40, "overlap_words": 0}})).await;
    let (documents, questions) = corpus();
    for (name, text) in &documents {
        bench.add(&base, &format!("{name}.md"), text).await;
    }
    let mut shares = Vec::new();
    for (mode, least) in [("text", TEXT), ("vector", VECTOR), ("hybrid", HYBRID)] {
        let share = recall(&bench, &base, &questions, json!({"mode": mode})).await;
        println!("recall@10 of {} questions, {mode}: {share:.3}", questions.len());
        assert!(share >= least - 1e-9, "{mode}: {share} is less than {least}");
        shares.push(share);
    }
    let rerank = json!({"provider": "jina", "model": "meaning", "candidates": 50});
    let share = recall(&bench, &base, &questions, json!({"mode": "hybrid", "rerank": rerank})).await;
    println!("recall@10, hybrid with a reranker: {share:.3}");
    assert!(share >= shares[2] * 1.1, "{share} is not a tenth more than {}", shares[2]);
}

#[tokio::test]
async fn another_question_of_a_retry_has_a_vector_and_an_order_of_its_own() {
    let server = Server::start().await;
    let bench = server.bench();
    three(&bench).await;
    let held = server.gate.lock().await;
    let rerank = json!({"provider": "jina", "model": "right", "candidates": 1});
    let data = json!({"knowledge_base_id": "docs", "rerank": rerank, "top_k": 1, "mode": "vector", "timeout_ms": 3000});
    let (told, trace) = run(&bench, data, json!({})).await;
    assert!(told.contains("node_timeout"), "{told}");
    drop(held);
    let run = trace["trace"]["id"].as_str().expect("an id");
    let retried = bench.retry(run, json!({"state": {"input": "How long does a cat sleep?"}})).await.expect("a retry");
    let told = bench.events_text(&retried).await;
    let trace = bench.trace(run).await;
    let found = &trace["trace"]["output"]["rag_context"];
    assert_eq!(found["query"], "How long does a cat sleep?", "{told}");
    assert_eq!(names(&found["results"]), ["cats.txt"], "{told}");
}
