//! Owns the workloads that ask a model: one stream of text to a reader over HTTP, and many runs at once. They need an
//! OpenAI-compatible model server at `MODEL_URL` whose models are named after what they do (`mock-t1000-y`, `mock-t16-l200`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Resource, Scope, Studio};

use super::door::{count, opened};
use super::measure::{self, Sample, emit};
use super::{folder, graphs, settings};

fn model_settings(variant: &str, database: &std::path::Path) -> Value {
    let base = std::env::var("MODEL_URL").expect("MODEL_URL names a model server, as http://127.0.0.1:18080/v1");
    let mut settings = settings(variant, database);
    settings["providers"] = json!({"bench": {"kind": "openai-compatible", "base_url": base, "max_retries": 0}});
    settings["limits"]["runs"] = json!(10_000);
    settings
}

fn database(workload: &str, variant: &str, size: u64) -> PathBuf {
    let path = folder().join(format!("bench-{workload}-{variant}-{size}-{}.sqlite", std::process::id()));
    measure::remove(&path);
    path
}

async fn workflow(studio: &Studio, graph: Value) -> String {
    let body = json!({"name": "Bench", "graph": graph});
    let stored = studio.create(&Scope::default(), Resource::Workflow, &body).await.expect("a workflow");
    stored["id"].as_str().expect("an id").to_owned()
}

/// One answer of `tokens` pieces, each told for itself to a reader over HTTP. The processor time is that of everything but the reader.
pub fn stream(variant: &str, tokens: u64, reps: u64) {
    let database = database("W4", variant, tokens);
    let studio = opened(&model_settings(variant, &database));
    let runtime = studio.runtime().expect("a runtime");
    let (address, workflow) = runtime.block_on(serve(studio.clone(), graphs::streaming(&format!("mock-t{tokens}-y"))));
    let mut samples = Vec::new();
    for rep in 0..=reps {
        let (address, workflow) = (address.clone(), workflow.clone());
        let sample = Sample::start();
        let reader = std::thread::spawn(move || read_stream(&address, &workflow));
        let (told, own) = reader.join().expect("a reader");
        let (wall, cpu) = sample.stop();
        assert_eq!(told, tokens, "every piece is told for itself");
        if rep > 0 {
            samples.push((wall, cpu - own));
        }
    }
    let mut walls: Vec<f64> = samples.iter().map(|sample| sample.0).collect();
    walls.sort_by(f64::total_cmp);
    let speed = tokens as f64 / walls[walls.len() / 2] * 1e3;
    emit("W4", variant, tokens, tokens, &samples, json!({"tokens_per_s": speed, "cpu_is": "all but the reader"}));
    close(&studio);
    measure::remove(&database);
}

async fn serve(studio: Studio, graph: Value) -> (String, String) {
    let workflow = workflow(&studio, graph).await;
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { axum::serve(listener, wfstudio::http::router(studio)).await });
    (address, workflow)
}

/// Reads to the end: how many pieces of text were told, and the processor time of this thread.
fn read_stream(address: &str, workflow: &str) -> (u64, f64) {
    let began = measure::thread_cpu_ms();
    let mut connection = TcpStream::connect(address).expect("a connection");
    let body = json!({"message": "go"}).to_string();
    let head = format!(
        "POST /studio/workflows/{workflow}/run/stream HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(head.as_bytes()).expect("a request is sent");
    let (mut bytes, mut told, mut piece) = (Vec::new(), 0, vec![0; 64 << 10]);
    while let Some(length) = connection.read(&mut piece).ok().filter(|length| *length > 0) {
        bytes.extend_from_slice(&piece[..length]);
    }
    let mut rest = bytes.as_slice();
    const MARK: &[u8] = b"\nevent: token\n";
    while let Some(at) = memchr_of(rest, MARK) {
        told += 1;
        rest = &rest[at + MARK.len()..];
    }
    assert!(told > 0, "{}", String::from_utf8_lossy(&bytes));
    (told, measure::thread_cpu_ms() - began)
}

fn memchr_of(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

/// `n` runs at once, each with one call that takes the model 200 ms. The first time makes the connections and is told apart.
pub fn at_once(variant: &str, n: u64, reps: u64) {
    measure::raise_open_files();
    let database = database("W5", variant, n);
    let studio = opened(&model_settings(variant, &database));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let workflow = runtime.block_on(workflow(&studio, graphs::one_call("mock-t16-l200")));
    runtime.block_on(one(&studio, &workflow));
    let before = measure::status("VmRSS:");
    let (mut samples, mut added) = (Vec::new(), Vec::new());
    for _ in 0..=reps.max(1) {
        let sample = Sample::start();
        let mut waits = runtime.block_on(join_all((0..n).map(|_| one(&studio, &workflow))));
        samples.push(sample.stop());
        waits.sort();
        added.push([50, 99].map(|part| (waits[(waits.len() - 1) * part / 100].as_secs_f64() - 0.2) * 1e3));
    }
    let grown = measure::status("VmHWM:").saturating_sub(before);
    let (first, first_added) = (samples.remove(0), added.remove(0));
    let [middle, most] = [0, 1].map(|part| measure::median(added.iter().map(|added| added[part]).collect()));
    let extra = json!({
        "added_p50_ms": middle, "added_p99_ms": most, "kb_per_run": grown as f64 / n as f64,
        "first_added_p50_ms": first_added[0], "first_added_p99_ms": first_added[1], "first_cpu_us_per_unit": first.1 * 1e3 / n as f64,
    });
    emit("W5", variant, n, n, &samples, extra);
    close(&studio);
    measure::remove(&database);
}

/// How long a run took to its end, which must be a good one.
async fn one(studio: &Studio, workflow: &str) -> Duration {
    let began = Instant::now();
    let (scope, body) = (Scope::default(), json!({"message": "hi"}));
    let request = RunRequest::parse(&body, EntityKind::Workflow).expect("a body");
    let started = studio.start(&scope, EntityKind::Workflow, workflow, request, false).await.expect("a run");
    let last = count(studio, &scope, &started).await.1;
    assert_eq!(last, "trace_completed");
    began.elapsed()
}

fn close(studio: &Studio) {
    let wait = Duration::from_secs(10);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(studio.shutdown(wait));
    studio.stop_runtime(wait);
}
