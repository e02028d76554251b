//! Owns the two ways into the studio that are measured: the crate and the C functions. Both count the events that they are told.

use std::ffi::{c_char, c_void};
use std::ptr;

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::{Follow, From};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::{ResumeRequest, RunRequest};
use wfstudio::studio::{Resource, Scope, Started, Studio};

/// A way in.
pub enum Door {
    Rust(Box<Rust>),
    C(*mut c_void),
}

pub struct Rust {
    studio: Studio,
    scope: Scope,
    runtime: tokio::runtime::Runtime,
}

#[repr(C)]
struct Buffer {
    data: *mut u8,
    len: usize,
    cap: usize,
}

unsafe extern "C" {
    fn studio_engine_open(config: *const u8, len: usize, out: *mut *mut c_void, err: *mut Buffer) -> i32;
    fn studio_engine_close(engine: *mut c_void, timeout_ms: u32) -> i32;
    fn studio_call(engine: *mut c_void, op: *const c_char, request: *const u8, len: usize, out: *mut Buffer) -> i32;
    fn studio_run(engine: *mut c_void, request: *const u8, len: usize, out: *mut *mut c_void, err: *mut Buffer) -> i32;
    fn studio_resume(engine: *mut c_void, request: *const u8, len: usize, out: *mut *mut c_void, err: *mut Buffer) -> i32;
    fn studio_http(
        engine: *mut c_void,
        head: *const u8,
        head_len: usize,
        body: *const u8,
        body_len: usize,
        stream: *mut *mut c_void,
        out: *mut Buffer,
    ) -> i32;
    fn studio_stream_next_batch(stream: *mut c_void, timeout_ms: i32, max_bytes: usize, out: *mut Buffer) -> i32;
    fn studio_stream_close(stream: *mut c_void) -> i32;
    fn studio_buf_free(buffer: *mut Buffer);
}

impl Door {
    pub fn open(through_c: bool, settings: &Value) -> Self {
        if through_c {
            let text = settings.to_string();
            let mut engine = ptr::null_mut();
            // SAFETY: the text lives during the call, and both out-pointers lead to values of ours.
            take(|out| unsafe { studio_engine_open(text.as_ptr(), text.len(), &raw mut engine, out) });
            return Self::C(engine);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self::Rust(Box::new(Rust { studio: opened(settings), scope: Scope::default(), runtime }))
    }

    /// Stores a workflow; its id.
    pub fn workflow(&self, graph: &Value) -> String {
        let body = json!({"name": "Bench", "graph": graph});
        let stored = match self {
            Self::Rust(rust) => rust.runtime.block_on(rust.studio.create(&rust.scope, Resource::Workflow, &body)).expect("a workflow"),
            Self::C(engine) => {
                let text = body.to_string();
                let answer = take(|out| {
                    // SAFETY: the name ends with a NUL and the text lives during the call.
                    unsafe { studio_call(*engine, c"workflow.save".as_ptr(), text.as_ptr(), text.len(), out) }
                });
                serde_json::from_slice(&answer).expect("JSON")
            }
        };
        stored["id"].as_str().expect("an id").to_owned()
    }

    /// Runs to the end; how many events were told.
    pub fn run(&self, workflow: &str, body: &Value) -> usize {
        match self {
            Self::Rust(rust) => rust.runtime.block_on(async {
                let started = rust.start(workflow, body).await;
                count(&rust.studio, &rust.scope, &started).await.0
            }),
            Self::C(_) => self.follow(&with(body, "workflow", workflow), false).0,
        }
    }

    /// Runs to its first pause; the run's id.
    pub fn start(&self, workflow: &str, body: &Value) -> String {
        match self {
            Self::Rust(rust) => rust.runtime.block_on(async {
                let started = rust.start(workflow, body).await;
                count(&rust.studio, &rust.scope, &started).await;
                started.run.to_string()
            }),
            Self::C(_) => self.follow(&with(body, "workflow", workflow), false).1,
        }
    }

    /// Answers a pause and goes on to the end; how many events were told.
    pub fn resume(&self, run: &str, body: &Value) -> usize {
        match self {
            Self::Rust(rust) => rust.runtime.block_on(async {
                let request = ResumeRequest::parse(body).expect("a body");
                let started = rust.studio.resume(&rust.scope, run, request, false).await.expect("a resumed run");
                count(&rust.studio, &rust.scope, &started).await.0
            }),
            Self::C(_) => self.follow(&with(body, "trace_id", run), true).0,
        }
    }

    /// Answers a question to a knowledge base; through C by the management API.
    pub fn search(&self, base: &str, body: &Value) -> Value {
        let engine = match self {
            Self::Rust(rust) => return rust.runtime.block_on(rust.studio.search(&rust.scope, base, body)).expect("an answer"),
            Self::C(engine) => *engine,
        };
        let path = format!("/studio/api/knowledge-bases/{base}/search");
        let headers = [["content-type", "application/json"], ["x-requested-with", "bench"]];
        let (head, body) = (json!({"method": "POST", "path": path, "headers": headers, "gate": true}).to_string(), body.to_string());
        let mut stream = ptr::null_mut();
        let (text, sent) = (head.as_bytes(), body.as_bytes());
        // SAFETY: both texts live during the call, and both out-pointers lead to values of ours.
        let answer = take(|out| unsafe {
            studio_http(engine, text.as_ptr(), text.len(), sent.as_ptr(), sent.len(), &raw mut stream, out)
        });
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(answer["status"], 200, "{answer}");
        serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON")
    }

    /// Follows a stream of the C door: its events, and the run that the first of them names.
    fn follow(&self, request: &Value, answer: bool) -> (usize, String) {
        let Self::C(engine) = self else { return (0, String::new()) };
        let text = request.to_string();
        let mut stream = ptr::null_mut();
        let open = if answer { studio_resume } else { studio_run };
        // SAFETY: the text lives during the call, and both out-pointers lead to values of ours.
        take(|out| unsafe { open(*engine, text.as_ptr(), text.len(), &raw mut stream, out) });
        let (mut events, mut run) = (0, String::new());
        loop {
            let mut batch = Buffer { data: ptr::null_mut(), len: 0, cap: 0 };
            // SAFETY: the stream is open and the out-pointer leads to a value of ours.
            let code = unsafe { studio_stream_next_batch(stream, -1, 0, &raw mut batch) };
            if code != 0 {
                break;
            }
            let bytes = bytes_of(&mut batch);
            events += bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"event:")).count();
            if run.is_empty() {
                run = named(&bytes[..bytes.len().min(1024)]);
            }
        }
        // SAFETY: the stream is open; nothing uses it afterwards.
        unsafe { studio_stream_close(stream) };
        (events, run)
    }

    pub fn close(self) {
        match self {
            Self::Rust(rust) => {
                let wait = std::time::Duration::from_secs(10);
                rust.runtime.block_on(rust.studio.shutdown(wait));
                rust.studio.stop_runtime(wait);
            }
            Self::C(engine) => {
                // SAFETY: the engine is open; nothing uses it afterwards.
                unsafe { studio_engine_close(engine, 10_000) };
            }
        }
    }
}

impl Rust {
    async fn start(&self, workflow: &str, body: &Value) -> Started {
        let request = RunRequest::parse(body, EntityKind::Workflow).expect("a body");
        self.studio.start(&self.scope, EntityKind::Workflow, workflow, request, false).await.expect("a run")
    }
}

/// A studio with these settings.
pub fn opened(settings: &Value) -> Studio {
    let sources = ConfigSources { file: None, json: Some(settings.clone()), env: std::collections::BTreeMap::new() };
    Studio::open(Config::load(sources).unwrap_or_else(|error| panic!("{error}"))).expect("a studio")
}

/// Follows a run to the end of its answer: how many events were told, and the name of the last.
pub async fn count(studio: &Studio, scope: &Scope, started: &Started) -> (usize, &'static str) {
    let from = From { after: started.after, ..From::default() };
    let stream = studio.events(scope, &started.run.to_string(), from, Follow::Answer).await;
    let Some(mut stream) = stream.expect("events") else { return (0, "") };
    let (mut events, mut last) = (0, "");
    while let Some(batch) = stream.next_batch().await {
        events += batch.len();
        last = batch.last().map_or(last, wfstudio::model::telling::Frame::event);
    }
    (events, last)
}

fn with(body: &Value, name: &str, value: &str) -> Value {
    let mut body = body.clone();
    body[name] = value.into();
    body
}

/// The first `trace_id` in frames.
fn named(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let found = text.split_once("\"trace_id\":\"").and_then(|(_, rest)| rest.split_once('"'));
    found.map(|(id, _)| id.to_owned()).unwrap_or_default()
}

/// What a call put into its buffer; a failure ends the program.
fn take(call: impl FnOnce(*mut Buffer) -> i32) -> Vec<u8> {
    let mut buffer = Buffer { data: ptr::null_mut(), len: 0, cap: 0 };
    let code = call(&raw mut buffer);
    let bytes = bytes_of(&mut buffer);
    assert!(code == 0, "result {code}: {}", String::from_utf8_lossy(&bytes));
    bytes
}

fn bytes_of(buffer: &mut Buffer) -> Vec<u8> {
    if buffer.data.is_null() {
        return Vec::new();
    }
    // SAFETY: the library filled the buffer with `len` bytes, which live until it is freed below.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.data, buffer.len) }.to_vec();
    // SAFETY: the buffer is the library's and was not freed before.
    unsafe { studio_buf_free(buffer) };
    bytes
}
