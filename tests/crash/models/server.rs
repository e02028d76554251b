//! Owns a server of models in the process of the test: it notes what it is sent, and how many calls it answers at once.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fallbacks::request_text;

/// How a request is answered: in these pieces, after a while.
#[derive(Default)]
pub struct Reply {
    pub pieces: Vec<Value>,
    pub takes: Duration,
    /// Nothing comes after the pieces until the caller is gone.
    pub held: bool,
}

pub fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

/// What an answer ends with.
pub fn end(finish: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": {"prompt_tokens": 7, "completion_tokens": 5}})
}

/// A piece with the call of a tool.
pub fn call(id: &str, name: &str, arguments: &Value) -> Value {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    delta(json!({"role": "assistant", "tool_calls": [{"index": 0, "id": id, "type": "function", "function": function}]}))
}

impl Reply {
    pub fn says(text: &str) -> Self {
        Self { pieces: vec![delta(json!({"role": "assistant", "content": text})), end("stop")], ..Self::default() }
    }

    pub fn calls(id: &str, name: &str, arguments: &Value) -> Self {
        Self { pieces: vec![call(id, name, arguments), end("tool_calls")], ..Self::default() }
    }

    /// Nothing comes.
    pub fn nothing() -> Self {
        Self { held: true, ..Self::default() }
    }
}

type Answers = dyn Fn(&Value, usize) -> Reply + Send + Sync;

/// The server.
#[derive(Clone)]
pub struct Server(Arc<All>);

struct All {
    address: SocketAddr,
    answers: Box<Answers>,
    seen: Mutex<Vec<String>>,
    /// Connections.
    open: AtomicUsize,
    /// Requests that are being answered; how many there were at once.
    at_work: AtomicUsize,
    most: AtomicUsize,
    /// Requests that are held.
    held: AtomicUsize,
}

impl Server {
    /// One that answers in this way; it is given the request and its number since the last `forget`.
    pub fn start(answers: impl Fn(&Value, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let [open, at_work, most, held] = [(); 4].map(|()| AtomicUsize::new(0));
        let server = Self(Arc::new(All { address, answers: Box::new(answers), seen: Mutex::default(), open, at_work, most, held }));
        let serving = server.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let serving = serving.clone();
                serving.0.open.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let _it_may_be_gone = serving.serve(connection);
                    serving.0.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    /// Says whether there was a whole answer.
    fn serve(&self, mut connection: TcpStream) -> Option<()> {
        let text = request_text(&mut connection)?;
        let body: Value = serde_json::from_str(&text).expect("JSON");
        let number = {
            let mut seen = self.0.seen.lock().expect("seen");
            seen.push(text);
            seen.len()
        };
        self.0.most.fetch_max(self.0.at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let Reply { pieces, takes, held } = (self.0.answers)(&body, number);
        std::thread::sleep(takes);
        let pieces: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
        let told = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{pieces}");
        if held {
            let told = connection.write_all(told.as_bytes());
            self.0.held.fetch_add(1, Ordering::SeqCst);
            let _until_it_goes = told.and_then(|()| connection.read(&mut [0]));
            self.0.held.fetch_sub(1, Ordering::SeqCst);
        }
        // Whoever has heard the end may ask again at once.
        self.0.at_work.fetch_sub(1, Ordering::SeqCst);
        if held { None } else { connection.write_all(format!("{told}data: [DONE]\n\n").as_bytes()).ok() }
    }

    /// The provider `cloud` is this server.
    pub fn settings(&self) -> Value {
        let base = format!("http://{}/v1", self.0.address);
        let cloud = json!({"kind": "openrouter", "base_url": base, "credential": "secret:KEY", "max_retries": 0});
        json!({"secrets": {"KEY": "a-key-of-ours"}, "providers": {"cloud": cloud}})
    }

    /// The bodies that it was sent.
    pub fn seen(&self) -> Vec<String> {
        self.0.seen.lock().expect("seen").clone()
    }

    /// The last message of each request.
    pub fn asked(&self) -> Vec<String> {
        let last = |body: &String| {
            let body: Value = serde_json::from_str(body).expect("JSON");
            body["messages"].as_array().and_then(|all| all.last()?["content"].as_str().map(str::to_owned)).expect("a text")
        };
        self.seen().iter().map(last).collect()
    }

    pub fn held(&self) -> usize {
        self.0.held.load(Ordering::SeqCst)
    }

    /// How many requests were answered at once.
    pub fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }

    /// Waits until it has done with all that a dead process sent.
    pub fn settle(&self) {
        let mut last = TcpStream::connect(self.0.address).expect("a connection");
        last.shutdown(Shutdown::Write).expect("an end");
        let _all_before_it_were_accepted = last.read(&mut [0]);
        let until = Instant::now() + Duration::from_secs(60);
        while self.0.open.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < until, "connections of a dead process stay open");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Counts anew.
    pub fn forget(&self) {
        self.0.seen.lock().expect("seen").clear();
        self.0.most.store(0, Ordering::SeqCst);
    }
}
