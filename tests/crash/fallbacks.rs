//! A process dies between a model's failed call and the answer of its fallback: whoever goes on asks nobody twice that has ended.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::studio::{Options, TraceQuery};

use crate::program::{Program, say};
use crate::support::{Bench, folder, graph, workflow_runs};

/// A server of models in the process of the test: `first` is out of order, `second` calls a tool once and answers then.
#[derive(Clone)]
struct Models {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    /// `second` does not answer.
    stuck: Arc<AtomicBool>,
}

impl Models {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let models = Self { url, asked: Arc::default(), stuck: Arc::default() };
        let serving = models.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(connection));
            }
        });
        models
    }

    fn serve(&self, mut connection: TcpStream) -> Option<()> {
        let body = request(&mut connection)?;
        let model = body["model"].as_str()?.to_owned();
        let results = body["messages"].as_array()?.iter().filter(|message| message["role"] == "tool").count();
        self.asked.lock().expect("asked").push(format!("{model} {results}"));
        if model == "second" && self.stuck.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_secs(60));
        }
        let call = json!([{"id": "call_of_the_second_model", "type": "function", "function": {"name": "note", "arguments": "{}"}}]);
        let (message, finish) = match results {
            0 => (json!({"role": "assistant", "content": null, "tool_calls": call}), "tool_calls"),
            _ => (json!({"role": "assistant", "content": "It is noted."}), "stop"),
        };
        let usage = json!({"prompt_tokens": 7, "completion_tokens": 5});
        let (status, answer) = match model.as_str() {
            "first" => ("503 Service Unavailable", json!({"error": {"message": "out of order"}})),
            _ => ("200 OK", json!({"choices": [{"index": 0, "finish_reason": finish, "message": message}], "usage": usage})),
        };
        let answer = answer.to_string();
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
        connection.write_all(format!("{head}{answer}").as_bytes()).ok()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("asked").clone()
    }

    fn settings(&self) -> Value {
        json!({"providers": {"cloud": {"kind": "openai-compatible", "base_url": self.url, "max_retries": 0}}, "runs": {"lease_seconds": 1}})
    }
}

/// The body of a request.
pub fn request(connection: &mut TcpStream) -> Option<Value> {
    serde_json::from_str(&request_text(connection)?).ok()
}

/// The body of a request as it was sent.
pub fn request_text(connection: &mut TcpStream) -> Option<String> {
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
            if body.len() >= length? {
                return Some(body.to_owned());
            }
        }
        let count = connection.read(&mut piece).ok().filter(|count| *count > 0)?;
        read.extend_from_slice(&piece[..count]);
    }
}

fn agent() -> Value {
    let data = json!({
        "config_mode": "inline", "provider": "cloud", "model": "first", "fallbacks": [{"provider": "cloud", "model": "second"}],
        "tools": [{"ref": "host:note"}], "message": "Note it.", "memory": "none",
    });
    graph(&[("start", "start", json!({})), ("work", "agent", data), ("stop", "stop", json!({}))], &[("start", "work"), ("work", "stop")])
}

/// Starts a run and dies at the given border of a write.
pub async fn program(folder: &Path, given: &Value) {
    let at = given["kill_at"].as_u64().unwrap_or(u64::MAX);
    let count = Arc::new(AtomicU64::new(u64::MAX / 2));
    let counted = Arc::clone(&count);
    let hook = move |_, _, _| {
        if counted.fetch_add(1, Ordering::SeqCst) + 1 == at {
            let _this_process_ends_here = std::process::Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
            std::thread::sleep(Duration::from_secs(60));
        }
    };
    let options = Options { on_append: Some(Arc::new(hook)), ..Options::default() };
    let bench = Bench::open_with(folder, given["settings"].clone(), options, Arc::new(|| ()));
    let workflow = bench.workflow("fallback", agent()).await;
    count.store(0, Ordering::SeqCst);
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    bench.until(&run, "completed", Duration::from_secs(60)).await;
    say(&format!("ran {}", count.swap(u64::MAX / 2, Ordering::SeqCst)));
}

/// Another engine goes on with the run; it is as if nobody had died.
async fn go_on(folder: &Path, models: &Models, what: &str) {
    let bench = Bench::open(folder, models.settings());
    bench.studio.take_over().await.expect("a studio");
    let Some(run) = workflow_runs(&bench).await.first().copied() else { return };
    bench.until(&run, "completed", Duration::from_secs(60)).await;
    let trace = bench.studio.trace(&bench.scope, &run.to_string(), TraceQuery::default()).await.expect("a trace");
    let (step, spans) = (&trace["steps"][0], trace["spans"].as_array().expect("spans"));
    assert_eq!((&step["model"], &step["warnings"][0]["code"], &trace["trace"]["reply"]), (&json!("second"), &json!("fallback"), &json!("It is noted.")), "{what}");
    let ended = |model: &str, status: &str| spans.iter().filter(|span| span["model"] == model && span["status"] == status).count();
    assert_eq!((ended("first", "failed"), ended("second", "completed")), (1, 2), "{what}: {spans:#?}");
    // What was asked without an end in the log was cut by the death.
    let asked = models.asked();
    let of = |name: &str| asked.iter().filter(|asked| asked.starts_with(name)).count();
    let cut = ended("first", "cancelled") + ended("second", "cancelled");
    assert!(asked.len() <= 3 + cut && of("first") <= 1 + ended("first", "cancelled"), "{what}: {asked:?} {cut}");
    assert_eq!(trace["trace"]["total_tokens"], json!(24), "{what}: each answer is paid for once");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_goes_on_stays_with_the_fallback_at_every_border() {
    let (whole, models) = (folder(), Models::start());
    let mut program = Program::run("fallback", whole.path(), &json!({"settings": models.settings()}));
    let said = program.next().expect("its end");
    let borders: u64 = said.strip_prefix("ran ").and_then(|count| count.parse().ok()).expect("a number");
    program.kill();
    assert_eq!(models.asked(), ["first 0", "second 0", "second 1"]);
    assert!(borders > 8, "{borders}");
    for at in 1..=borders {
        let (folder, models) = (folder(), Models::start());
        let mut program = Program::run("fallback", folder.path(), &json!({"settings": models.settings(), "kill_at": at}));
        let said = program.next();
        program.kill();
        // The lease of the dead one ends first.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        go_on(folder.path(), &models, &format!("border {at} of {borders} ({said:?})")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_engine_asks_the_fallback_that_the_first_was_waiting_for() {
    let (folder, models) = (folder(), Models::start());
    models.stuck.store(true, Ordering::SeqCst);
    let mut program = Program::run("fallback", folder.path(), &json!({"settings": models.settings()}));
    for _ in 0..4000 {
        if models.asked().len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    program.kill();
    models.stuck.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    go_on(folder.path(), &models, "the fallback was asked").await;
    assert_eq!(models.asked(), ["first 0", "second 0", "second 0", "second 1"]);
}
