//! Owns W9: the nearest of many vectors. Vectors come from `.npy` files or are made here; a program of ours serves them as embeddings.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use wfstudio::studio::{ListQuery, Resource, Scope, Studio};

use crate::door::{Door, opened};
use crate::measure::{self, Sample};

/// How many of the nearest are wanted.
const TOP: usize = 10;
/// Passages of one document.
const PAGE: usize = 10_000;

/// Vectors of one length.
struct Vectors {
    length: usize,
    numbers: Vec<f32>,
}

impl Vectors {
    fn count(&self) -> usize {
        self.numbers.len() / self.length
    }

    fn get(&self, n: usize) -> &[f32] {
        &self.numbers[n * self.length..(n + 1) * self.length]
    }

    /// A file of NumPy: little-endian floats of four bytes, row by row.
    fn read(path: &str) -> Self {
        let bytes = std::fs::read(path).expect("the file can be read");
        assert!(bytes.starts_with(b"\x93NUMPY"), "{path} is no .npy file");
        let size = if bytes[6] == 1 { 2 } else { 4 };
        let head = bytes[8..8 + size].iter().rev().fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
        let text = String::from_utf8_lossy(&bytes[8 + size..8 + size + head]).into_owned();
        assert!(text.contains("'<f4'") && text.contains("'fortran_order': False"), "{path}: {text}");
        let shape = text.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).expect("a shape").0;
        let length = shape.split(',').nth(1).and_then(|length| length.trim().parse().ok()).expect("two dimensions");
        let numbers = bytes[8 + size + head..].chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        Self { length, numbers: numbers.collect() }.of_unit_length()
    }

    /// Clusters of alike vectors, the same with each run.
    fn made(count: usize, length: usize, seed: u64) -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let centres: Vec<f32> = (0..1000 * length).map(|_| number(&mut state)).collect();
        state ^= seed.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let mut numbers = Vec::with_capacity(count * length);
        for _ in 0..count {
            let centre = (number(&mut state).abs() * 1000.0) as usize % 1000;
            numbers.extend(centres[centre * length..(centre + 1) * length].iter().map(|centre| centre + number(&mut state) * 0.7));
        }
        Self { length, numbers }.of_unit_length()
    }

    fn of_unit_length(mut self) -> Self {
        for vector in self.numbers.chunks_exact_mut(self.length) {
            let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            vector.iter_mut().for_each(|number| *number /= length);
        }
        self
    }

    /// The nearest of these to a vector, by looking at all.
    fn nearest(&self, to: &[f32]) -> Vec<usize> {
        let likeness = |n: usize| self.get(n).iter().zip(to).map(|(one, other)| one * other).sum::<f32>();
        let mut all: Vec<(f32, usize)> = (0..self.count()).map(|n| (likeness(n), n)).collect();
        all.sort_by(|one, other| other.0.total_cmp(&one.0));
        all.into_iter().take(TOP).map(|(_, n)| n).collect()
    }
}

/// Between -1 and 1.
fn number(state: &mut u64) -> f32 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 40) as f32 / (1 << 23) as f32 - 1.0
}

/// Gives `p<n>` the n-th passage's vector and `q<n>` the n-th query's.
async fn embed(State(all): State<Arc<(Vectors, Vectors)>>, Json(body): Json<Value>) -> Json<Value> {
    let texts = body["input"].as_array().expect("texts").iter().filter_map(Value::as_str);
    let vector = |text: &str| {
        let n: usize = text[1..].trim_end_matches('.').parse().expect("a number");
        if text.starts_with('q') { all.1.get(n) } else { all.0.get(n) }
    };
    let data: Vec<Value> = texts.enumerate().map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
    Json(json!({"data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}))
}

fn serve(all: Arc<(Vectors, Vectors)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a port");
            axum::serve(listener, Router::new().route("/v1/embeddings", post(embed)).with_state(all)).await
        })
    });
    url
}

fn settings(database: &Path, url: &str) -> Value {
    json!({
        "environment": "local", "database": {"path": database, "synchronous": "normal"},
        "providers": {"vectors": {"kind": "openai-compatible", "base_url": url}},
    })
}

async fn fill(studio: &Studio, count: usize) {
    let scope = Scope::default();
    let base = json!({
        "name": "W9", "slug": "w9", "embeddings_provider": "vectors", "embeddings_model": "m", "chunking": {"max_words": 1, "overlap_words": 0}
    });
    studio.create(&scope, Resource::KnowledgeBase, &base).await.expect("a base");
    for page in 0..count.div_ceil(PAGE) {
        let text: Vec<String> = (page * PAGE..((page + 1) * PAGE).min(count)).map(|n| format!("p{n}.")).collect();
        studio.add_text(&scope, "w9", &json!({"name": format!("page {page}"), "text": text.join("\n\n")})).await.expect("taken");
    }
    loop {
        let documents = studio.documents(&scope, "w9", ListQuery { limit: 100, ..ListQuery::default() }).await.expect("a list").data;
        assert!(documents.iter().all(|document| document["status"] != "failed"), "{documents:?}");
        if documents.iter().all(|document| document["status"] == "completed") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The ten that the studio finds for a query.
fn ask(door: &Door, n: usize) -> Vec<usize> {
    let found = door.search("w9", &json!({"query": format!("q{n}"), "mode": "vector", "top_k": TOP}));
    let number = |chunk: &Value| chunk["content"].as_str().and_then(|text| text[1..].trim_end_matches('.').parse().ok());
    found["results"].as_array().expect("results").iter().filter_map(number).collect()
}

/// Fills a base and ends; how many seconds it took.
fn filled(settings: &Value, count: usize) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (began, wait) = (Instant::now(), Duration::from_secs(30));
    let studio = opened(settings);
    runtime.block_on(async {
        fill(&studio, count).await;
        studio.shutdown(wait).await;
    });
    studio.stop_runtime(wait);
    began.elapsed().as_secs_f64()
}

/// `W9 [vectors.npy queries.npy]`: fills a base, opens it in a fresh studio, asks every query.
pub fn nearest(vectors: &str, queries: &str, folder: &Path, through_c: bool) {
    let made = vectors.is_empty();
    let vectors = if made { Vectors::made(100_000, 384, 1) } else { Vectors::read(vectors) };
    let queries = if made { Vectors::made(100, 384, 2) } else { Vectors::read(queries) };
    let (count, asked) = (vectors.count(), queries.count().min(200));
    let wanted: Vec<Vec<usize>> = (0..asked).map(|n| vectors.nearest(queries.get(n))).collect();
    let url = serve(Arc::new((vectors, queries)));
    let database = folder.join(format!("bench-W9-{}.sqlite", std::process::id()));
    measure::remove(&database);
    let settings = settings(&database, &url);
    let fill_s = filled(&settings, count);
    let door = Door::open(through_c, &settings);
    let began = Instant::now();
    let first = ask(&door, 0);
    let cold = began.elapsed().as_secs_f64() * 1e3;
    assert_eq!(first.len(), TOP);
    let (mut samples, mut hits) = (Vec::new(), 0);
    for (n, wanted) in wanted.iter().enumerate() {
        let sample = Sample::start();
        let found = ask(&door, n);
        samples.push(sample.stop());
        hits += found.iter().filter(|found| wanted.contains(found)).count();
    }
    let recall = hits as f64 / (asked * TOP) as f64;
    assert!(recall >= 0.95, "recall {recall}");
    let bytes = measure::size(&database);
    let extra = json!({
        "door": if through_c { "c" } else { "rust" }, "recall": recall, "first_query_ms": cold, "fill_s": fill_s,
        "db_bytes_per_unit": bytes / count as u64,
    });
    measure::emit("W9", if made { "made" } else { "given" }, count as u64, 1, &samples, extra);
    door.close();
    measure::remove(&database);
}
