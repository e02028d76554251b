//! Owns the people: they start runs at both hosts, answer what runs ask, decide what is in doubt, and read streams to their end.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::graphs::{Kind, kinds};
use crate::outside::Outside;
use crate::processes::Zoo;

/// Runs that are started before others are over.
const OPEN: usize = 300;
/// People who start runs at the same time.
const STARTERS: usize = 8;

/// Everybody who uses the studio from outside.
pub struct People {
    zoo: Arc<Zoo>,
    outside: Arc<Outside>,
    web: reqwest::Client,
    runs: usize,
    started: AtomicUsize,
    ended: AtomicUsize,
    deeds: Mutex<BTreeMap<String, usize>>,
    /// The message of each run, by its id.
    markers: Mutex<HashMap<String, String>>,
    /// The storm is over.
    pub over: CancellationToken,
}

impl People {
    pub fn new(zoo: Arc<Zoo>, outside: Arc<Outside>, runs: usize) -> Self {
        let _set_before = rustls::crypto::ring::default_provider().install_default();
        let web = reqwest::Client::builder().timeout(Duration::from_secs(60)).no_proxy().build().expect("a client");
        Self {
            zoo,
            outside,
            web,
            runs,
            started: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            deeds: Mutex::default(),
            markers: Mutex::default(),
            over: CancellationToken::new(),
        }
    }

    fn did(&self, what: &str) {
        *self.deeds.lock().expect("deeds").entry(what.to_owned()).or_default() += 1;
    }

    pub fn deeds(&self) -> String {
        let deeds = self.deeds.lock().expect("deeds");
        deeds.iter().map(|(what, count)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
    }

    /// How much of the work is over.
    pub fn share(&self) -> f64 {
        self.ended.load(Ordering::Relaxed) as f64 / self.runs as f64
    }

    fn host(&self, turn: usize) -> &str {
        &self.zoo.hosts[turn % self.zoo.hosts.len()]
    }

    /// Asks a host, again while it cannot answer; the key makes that harmless.
    async fn ask(&self, turn: usize, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> (u16, Value) {
        let until = Instant::now() + Duration::from_secs(90);
        loop {
            let method = method.parse().expect("a method");
            let mut request = self.web.request(method, format!("{}{path}", self.host(turn)));
            request = request.header("x-requested-with", "chaos");
            if let Some(body) = body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            if let Some(key) = key {
                request = request.header("idempotency-key", key);
            }
            let outcome = async {
                let answer = request.send().await?;
                let status = answer.status().as_u16();
                Ok::<_, reqwest::Error>((status, answer.text().await?))
            };
            let late = Instant::now() > until;
            match outcome.await {
                Ok((status, text)) if status < 500 && status != 429 && !text.contains("idempotency_in_progress") => {
                    return (status, serde_json::from_str(&text).unwrap_or(Value::Null));
                }
                Ok((status, text)) => assert!(!late, "{path} answers {status} for a long time: {text}"),
                Err(error) => assert!(!late, "{path} cannot be reached: {error}"),
            }
            self.did("requests sent again");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Makes the tools and the workflows.
    pub async fn prepare(&self) {
        for (name, method, approval) in [("pay", "POST", false), ("note", "GET", false), ("refund", "POST", true)] {
            let body = json!({"name": name, "slug": name, "description": name, "kind": "webhook", "require_approval": approval,
                "input_schema": {"type": "object", "properties": {"run": {"type": "string"}, "at": {"type": "string"}}},
                "config": {"method": method, "url": format!("http://127.0.0.1:{}/tool/{name}", self.outside.port)}});
            let (status, answer) = self.ask(0, "POST", "/api/tools", Some(&body), None).await;
            assert_eq!(status, 201, "{answer}");
        }
        for kind in kinds() {
            let body = json!({"name": kind.slug, "slug": kind.slug, "graph": kind.graph});
            let (status, answer) = self.ask(0, "POST", "/api/workflows", Some(&body), None).await;
            assert_eq!(status, 201, "{answer}");
        }
    }

    /// Starts all runs and helps them until every one is completed.
    pub async fn see_through(self: &Arc<Self>) {
        let mut starters = tokio::task::JoinSet::new();
        for _ in 0..STARTERS {
            let people = Arc::clone(self);
            starters.spawn(async move { people.start_all().await });
        }
        while self.ended.load(Ordering::Relaxed) < self.runs {
            let helped = self.answer_pauses().await + self.mend_failures().await;
            self.ended.store(self.completed().await, Ordering::Relaxed);
            if helped == 0 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        while let Some(done) = starters.join_next().await {
            done.expect("a starter");
        }
    }

    async fn completed(&self) -> usize {
        let mut all = 0;
        for kind in kinds() {
            let path = format!("/workflows/{}/traces/list?status=completed&per_page=1", kind.slug);
            let (_, answer) = self.ask(0, "GET", &path, None, None).await;
            all += answer["meta"]["total"].as_u64().expect("a total");
        }
        usize::try_from(all).expect("a count")
    }

    pub async fn counts(&self) -> Value {
        self.ask(0, "GET", "/api/runs/counts", None, None).await.1
    }

    async fn start_all(self: Arc<Self>) {
        let kinds = kinds();
        loop {
            let number = self.started.fetch_add(1, Ordering::Relaxed);
            if number >= self.runs {
                return;
            }
            while number > self.ended.load(Ordering::Relaxed) + OPEN {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            self.start(number, &kinds[number % kinds.len()]).await;
        }
    }

    async fn start(self: &Arc<Self>, number: usize, kind: &Kind) {
        let marker = format!("run-{number}");
        let body = json!({"message": marker});
        let sync = number % 10 < 2 && matches!(kind.slug, "talk" | "order" | "branches");
        if sync {
            self.did("runs streamed");
            return self.read(number, kind.slug, &body).await;
        }
        let (status, answer) = self.ask(number, "POST", &format!("/workflows/{}/run", kind.slug), Some(&body), Some(&marker)).await;
        assert_eq!(status, 202, "{answer}");
        self.know(answer["trace_id"].as_str().expect("an id"), &marker);
        self.did("runs queued");
    }

    fn know(&self, run: &str, marker: &str) {
        self.markers.lock().expect("markers").insert(run.to_owned(), marker.to_owned());
    }

    /// Starts a run and reads its stream to the end, in a task of its own.
    async fn read(self: &Arc<Self>, number: usize, slug: &str, body: &Value) {
        let (people, path, body) = (Arc::clone(self), format!("/workflows/{slug}/run/stream"), body.clone());
        let marker = format!("run-{number}");
        tokio::spawn(async move {
            let until = Instant::now() + Duration::from_secs(90);
            loop {
                let request = people.web.post(format!("{}{path}", people.host(number)));
                let request = request.header("content-type", "application/json").header("idempotency-key", &marker).body(body.to_string());
                match request.send().await {
                    Ok(answer) if answer.status().as_u16() == 200 => {
                        let _read_or_cut = answer.text().await;
                        return;
                    }
                    Ok(answer) => assert!(answer.status().as_u16() >= 409, "{}", answer.status()),
                    Err(_) => {}
                }
                assert!(Instant::now() < until, "a stream cannot be started");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
    }

    async fn waiting(&self, statuses: &str) -> Vec<Value> {
        let (_, answer) = self.ask(1, "GET", &format!("/api/runs?status={statuses}&limit=100"), None, None).await;
        answer["data"].as_array().cloned().unwrap_or_default()
    }

    async fn answer_pauses(&self) -> usize {
        let mut answered = 0;
        for run in self.waiting("awaiting_input,awaiting_tool_approval").await {
            let id = run["id"].as_str().or(run["trace_id"].as_str()).expect("an id").to_owned();
            let marker = self.markers.lock().expect("markers").get(&id).cloned();
            let Some(marker) = marker else { continue };
            let body = if run["status"] == "awaiting_input" { json!({"message": marker}) } else { json!({"approval": "approve"}) };
            let (status, answer) = self.ask(answered, "POST", &format!("/workflows/traces/{id}/resume"), Some(&body), None).await;
            assert!(matches!(status, 202 | 409 | 422), "{status} {answer}");
            if status == 202 {
                answered += 1;
                self.did("pauses answered");
            }
        }
        answered
    }

    /// Tries failed runs again: what is in doubt is looked up where it happened.
    async fn mend_failures(&self) -> usize {
        let failed = self.waiting("failed").await;
        for run in &failed {
            let id = run["id"].as_str().or(run["trace_id"].as_str()).expect("an id");
            let (_, trace) = self.ask(0, "GET", &format!("/api/runs/{id}"), None, None).await;
            let error = if trace["trace"].is_object() { trace["trace"]["error"].clone() } else { trace["error"].clone() };
            let code = error["code"].as_str().unwrap_or("none").to_owned();
            let mut body = json!({});
            if code == "in_doubt" {
                let calls = error["calls"].as_array().cloned().unwrap_or_default();
                body["in_doubt"] = calls.iter().map(|call| self.decide(id, call)).collect();
            } else if !matches!(code.as_str(), "worker_lost" | "store_unavailable" | "none") {
                panic!("a run failed: {error}");
            }
            let (status, answer) = self.ask(0, "POST", &format!("/workflows/traces/{id}/retry"), Some(&body), None).await;
            assert!(matches!(status, 202 | 409), "{status} {answer}");
            self.did(&format!("runs tried again after {code}"));
        }
        failed.len()
    }

    fn decide(&self, run: &str, call: &Value) -> Value {
        let run: Uuid = run.parse().expect("an id");
        let call_id = call["call_id"].as_str().expect("an id");
        let key = Uuid::new_v5(&run, call_id.as_bytes()).to_string();
        if self.outside.took(&key) {
            self.did("calls in doubt that had been made");
            json!({"call_id": call_id, "action": "use", "result": json!({"done": call["name"]}).to_string()})
        } else {
            self.did("calls in doubt that were made again");
            json!({"call_id": call_id, "action": "rerun"})
        }
    }
}
