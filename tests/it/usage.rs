//! What runs used: exact sums, windows of days, the export over HTTP, and what the host is told.

mod cut;
mod days;
mod embeddings;
mod events;
mod export;
mod left;
mod money;
mod oracle;
mod paths;
mod sums;
mod trees;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::http::{HostMarks, dispatch};
use wfstudio::model::{Id, Timestamp};
use wfstudio::studio::{Options, Scope, Studio, UsageWindow};

use crate::support::{Bench, config};

/// A clock that stands still until it is set.
#[derive(Default)]
struct Hands(AtomicI64, SystemClock);

impl Hands {
    fn at(text: &str) -> Arc<Self> {
        let hands = Self::default();
        hands.set(text);
        Arc::new(hands)
    }

    fn set(&self, text: &str) {
        let at: jiff::Timestamp = text.parse().expect("a time");
        self.0.store(at.as_millisecond(), Ordering::SeqCst);
    }

    fn forward(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    fn id(&self) -> Id {
        self.1.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.1.random(into);
    }
}

/// A studio in memory at a time.
fn at(hands: &Arc<Hands>, settings: Value) -> Bench {
    on(hands, settings, ":memory:")
}

fn on(hands: &Arc<Hands>, settings: Value, path: &str) -> Bench {
    let mut bench = Bench::new(json!({}));
    let clock: Arc<dyn Clock> = hands.clone();
    let options = Options { clock: Some(clock), ..Options::default() };
    bench.studio = Studio::open_with(config(settings, path), options).expect("a studio");
    bench
}

/// start → these nodes, one after another → stop.
fn chain(nodes: &[(String, &str, Value)]) -> Value {
    let place = json!({"x": 0, "y": 0});
    let (first, last) = (("start".to_owned(), "start", json!({})), ("stop".to_owned(), "stop", json!({})));
    let all: Vec<_> = std::iter::once(&first).chain(nodes).chain([&last]).collect();
    let shown = all.iter().map(|(id, kind, data)| json!({"id": id, "type": kind, "position": place, "data": data}));
    let edges = all.windows(2).enumerate().map(|(n, pair)| json!({"id": format!("e{n}"), "source": pair[0].0, "target": pair[1].0}));
    json!({"version": 1, "nodes": shown.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>()})
}

/// An llm node that asks a scripted model.
fn llm(id: &str, model: &str) -> (String, &'static str, Value) {
    (id.to_owned(), "llm", json!({"provider": "script", "model": model, "prompt": "go"}))
}

/// A scripted model whose every answer used so much.
fn using(prompt: u64, completion: u64) -> Value {
    json!({"replies": [{"times": 0, "text": "ok", "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}]})
}

/// Rows of prices of scripted models: name, input, output.
fn prices(rows: &[(&str, &str, &str)]) -> Value {
    let rows = rows.iter().map(|(model, input, output)| json!({"provider": "script", "model": model, "input": input, "output": output}));
    json!({"version": 1, "currency": "USD", "per_tokens": 1_000_000, "models": rows.collect::<Vec<_>>()})
}

/// Runs a workflow to its end; the run.
async fn run(bench: &Bench, workflow: &str) -> String {
    let started = bench.start(workflow, json!({"message": "go"})).await;
    bench.events_text(&started).await;
    // The end is told before it is stored, with the time of then: whoever sets the clock waits for that.
    while bench.studio.world().at_work() > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    started.run.to_string()
}

/// The usage of a window, by a query such as `from=2026-11-01&to=2026-11-30`.
async fn window(bench: &Bench, query: &str) -> Value {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let asked = pairs.map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    json!(bench.studio.usage(&bench.scope, UsageWindow::parse(&asked).expect("a query")).await.expect("a report"))
}

async fn used(bench: &Bench, run: &str) -> Value {
    bench.studio.usage_run(&bench.scope, run).await.expect("the usage of a run")
}

/// Status, content type and body of a GET.
async fn get(studio: &Studio, path: &str, accept: &str, marks: HostMarks) -> (u16, String, String) {
    let request = Request::builder().uri(path).header("accept", accept).body(Bytes::new()).expect("a request");
    let (head, body) = dispatch(studio, request, marks).await.into_parts();
    let kind = head.headers.get("content-type").map_or("", |kind| kind.to_str().expect("text")).to_owned();
    let body = body.collect().await.expect("a body").to_bytes();
    (head.status.as_u16(), kind, String::from_utf8(body.to_vec()).expect("text"))
}

/// Ids told by order of appearance.
fn plain(text: &str) -> String {
    let ids = regex::Regex::new("[0-9a-f]{8}-[0-9a-f-]{27}").expect("a pattern");
    let mut names = BTreeMap::new();
    let named = ids.replace_all(text, |found: &regex::Captures<'_>| {
        let next = names.len() + 1;
        format!("#{}", names.entry(found[0].to_owned()).or_insert(next))
    });
    named.into_owned()
}

fn scope_of(tenant: &str) -> Scope {
    Scope { tenant: tenant.into(), user: None }
}
