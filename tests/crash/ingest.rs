//! A document of ten thousand passages is read to its end however often the process dies, and nothing that was stored is embedded twice.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use wfstudio::studio::{ListQuery, Resource};
use tokio::sync::mpsc;

use crate::program::{Program, say};
use crate::support::{Bench, folder};

const PASSAGES: usize = 10_000;

/// Makes embeddings in the test's own process, and watches who asks for them.
#[derive(Default)]
struct Watched {
    /// Passages before this one are stored.
    stored: usize,
    /// Those of them that were asked for again.
    again: Vec<usize>,
    asked: usize,
    requests: usize,
    /// At which request the process dies, and whether it gets its answer.
    dies: Option<(usize, bool)>,
}

#[derive(Clone)]
struct Embedder {
    watched: Arc<Mutex<Watched>>,
    kill: mpsc::UnboundedSender<()>,
}

async fn embed(State(embedder): State<Embedder>, Json(body): Json<Value>) -> Json<Value> {
    let texts: Vec<&str> = body["input"].as_array().expect("texts").iter().filter_map(Value::as_str).collect();
    let number = |text: &&str| text.split(' ').next().and_then(|word| word.strip_prefix('P')?.parse().ok()).expect("a number");
    let numbers: Vec<usize> = texts.iter().map(number).collect();
    let answered = {
        let mut watched = embedder.watched.lock().expect("a lock");
        watched.requests += 1;
        watched.asked += numbers.len();
        let stored = watched.stored;
        watched.again.extend(numbers.iter().filter(|number| **number < stored));
        match watched.dies {
            Some((at, answered)) if watched.requests == at => {
                embedder.kill.send(()).expect("the test");
                answered
            }
            Some(_) | None => true,
        }
    };
    if !answered {
        std::future::pending::<()>().await;
    }
    let vectors = numbers.iter().enumerate().map(|(index, number)| {
        let turn = *number as f64;
        json!({"index": index, "embedding": [turn.sin(), turn.cos(), (turn * 0.7).sin(), 0.1]})
    });
    Json(json!({"data": vectors.collect::<Vec<_>>(), "usage": {"prompt_tokens": texts.len(), "total_tokens": texts.len()}}))
}

fn settings(url: &str, works: bool) -> Value {
    json!({"worker": {"in_process": works}, "providers": {"watched": {"kind": "openai-compatible", "base_url": url, "max_retries": 0}}})
}

/// Adds the document if it is not there, and works until it is killed.
pub async fn program(folder: &Path, given: &Value) {
    let bench = Bench::open(folder, settings(given["url"].as_str().expect("a URL"), true));
    let (studio, scope) = (&bench.studio, &bench.scope);
    let base = json!({"name": "Docs", "slug": "docs", "embeddings_provider": "watched", "embeddings_model": "m", "chunking": {"max_words": 3, "overlap_words": 0}});
    let _there_already = studio.create(scope, Resource::KnowledgeBase, &base).await;
    if studio.documents(scope, "docs", ListQuery::default()).await.expect("a list").data.is_empty() {
        let text: Vec<String> = (0..PASSAGES).map(|n| format!("P{n} tells something.")).collect();
        studio.add_text(scope, "docs", &json!({"name": "long", "text": text.join("\n\n")})).await.expect("taken");
    }
    say("open");
    loop {
        let document = studio.documents(scope, "docs", ListQuery::default()).await.expect("a list").data.remove(0);
        match document["status"].as_str() {
            Some("completed") => break say("completed"),
            Some("failed") => break say(&format!("failed: {}", document["error"])),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    std::future::pending::<()>().await;
}

async fn document(folder: &Path) -> Value {
    let bench = Bench::open(folder, settings("http://127.0.0.1:1", false));
    let found = bench.studio.documents(&bench.scope, "docs", ListQuery::default()).await;
    let document = found.ok().and_then(|mut page| page.data.pop()).unwrap_or(Value::Null);
    bench.studio.shutdown(Duration::from_secs(5)).await;
    document
}

#[test]
fn a_long_document_survives_every_death() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let watched = Arc::new(Mutex::new(Watched::default()));
        let (kill, mut killed) = mpsc::unbounded_channel();
        let app = Router::new().route("/v1/embeddings", post(embed)).with_state(Embedder { watched: Arc::clone(&watched), kill });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let (folder, given) = (folder(), json!({"url": url}));
        let run = || Program::run("ingest", folder.path(), &given);
        // Before anything is embedded: while the document is added, and while it is cut.
        for opened in [false, true] {
            let mut program = run();
            if opened {
                assert_eq!(tokio::task::block_in_place(|| program.next()).as_deref(), Some("open"));
            }
            program.kill();
        }
        for round in 0..20 {
            let at = watched.lock().expect("a lock").requests + 1 + round % 6;
            watched.lock().expect("a lock").dies = Some((at, round % 3 != 0));
            let mut program = run();
            killed.recv().await.expect("a request");
            program.kill();
            let stored = document(folder.path()).await["chunk_count"].as_u64().expect("a count");
            watched.lock().expect("a lock").stored = usize::try_from(stored).expect("small");
        }
        watched.lock().expect("a lock").dies = None;
        let mut program = run();
        assert_eq!(tokio::task::block_in_place(|| program.next()).as_deref(), Some("open"));
        assert_eq!(tokio::task::block_in_place(|| program.next()).as_deref(), Some("completed"));
        program.kill();
        let read = document(folder.path()).await;
        // Every passage was paid for once; what an unstored answer took is told by nobody.
        assert_eq!((&read["chunk_count"], &read["prompt_tokens"], &read["error"]), (&json!(PASSAGES), &json!(PASSAGES), &Value::Null));
        let watched = watched.lock().expect("a lock");
        assert!(watched.again.is_empty(), "stored passages were embedded again: {:?}", watched.again);
        assert!(watched.asked <= PASSAGES + 20 * 64, "{} texts were embedded", watched.asked);
    });
}
