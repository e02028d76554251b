//! Owns a small MCP server: what it answers to each message, whatever carries it, and the program that speaks it over pipes.

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

/// How the server behaves; named by the variable `PEER`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Knows the stateless protocol only.
    Modern,
    /// Knows the handshake only.
    Legacy,
    /// Knows the handshake, and does not answer what it does not know.
    Deaf,
    /// Writes one thing to its error channel and ends.
    Broken,
    /// Starts, and never says anything.
    Silent,
}

impl Manner {
    pub fn named(name: &str) -> Self {
        match name {
            "modern" => Self::Modern,
            "deaf" => Self::Deaf,
            "broken" => Self::Broken,
            "silent" => Self::Silent,
            _ => Self::Legacy,
        }
    }
}

/// The server.
pub struct Peer {
    pub manner: Manner,
    pub grown: bool,
    /// How often it was asked for its tools.
    pub lists: usize,
    /// The only tools that it has; named by the variable `LENDS`.
    lends: Option<String>,
    asked: Vec<Value>,
    /// What the client said that it is able to do.
    able: Value,
    /// Calls that wait for the client's answer, by the numbers of their questions.
    waiting: Vec<(String, Value)>,
}

impl Peer {
    pub const fn new(manner: Manner) -> Self {
        Self { manner, grown: false, lists: 0, lends: None, asked: Vec::new(), able: Value::Null, waiting: Vec::new() }
    }

    /// What it says to a message; the last of it is the answer.
    pub fn answer(&mut self, message: &Value) -> Vec<Value> {
        let (method, params) = (message["method"].as_str().unwrap_or_default(), &message["params"]);
        let Some(id) = message.get("id").filter(|_| !method.is_empty()) else {
            self.asked.push(message.clone());
            return self.answered(message);
        };
        let result = |result: Value| vec![json!({"jsonrpc": "2.0", "id": id, "result": result})];
        let modern = self.manner == Manner::Modern;
        let capabilities = json!({"tools": {"listChanged": true}});
        match method {
            "server/discover" if modern => result(json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                "serverInfo": {"name": "peer", "version": "1"}, "ttlMs": 0, "cacheScope": "private"})),
            "server/discover" if self.manner == Manner::Deaf => Vec::new(),
            "initialize" if !modern => {
                self.able = params["capabilities"].clone();
                result(json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": "peer", "version": "1"}}))
            }
            "ping" if !modern => result(json!({})),
            "tools/list" if self.lends.as_deref() == Some("refused") => {
                vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "é".repeat(2 << 20)}})]
            }
            "tools/list" => {
                self.lists += 1;
                result(json!({"resultType": "complete", "tools": self.tools(), "ttlMs": 0, "cacheScope": "private"}))
            }
            "tools/call" => self.call(id, params),
            _ => vec![json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": format!("no method {method}")}})],
        }
    }

    fn tools(&self) -> Vec<Value> {
        let any = json!({"type": "object"});
        let sum = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]});
        let mut names = vec!["add", "fail", "crash", "hang", "big", "env", "child", "files.read", "ask", "form", "grow", "heard", "garbage", "once", "inquire", "flood", "repeat"];
        names.extend(self.grown.then_some("grown"));
        if let Some(lends) = self.lends.as_deref() {
            names = lends.split(',').collect();
        }
        let schema = |name: &str| if name == "add" { sum.clone() } else { any.clone() };
        names.into_iter().map(|name| json!({"name": name, "description": format!("Does {name}"), "inputSchema": schema(name)})).collect()
    }

    fn call(&mut self, id: &Value, params: &Value) -> Vec<Value> {
        self.asked.push(params.clone());
        if let Some(path) = std::env::var_os("CALLS") {
            let mut calls = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("a file");
            writeln!(calls, "{}", params["name"]).expect("written");
        }
        let arguments = &params["arguments"];
        let text = |text: String| json!({"resultType": "complete", "content": [{"type": "text", "text": text}]});
        let mut before = Vec::new();
        let result = match params["name"].as_str().unwrap_or_default() {
            "add" => {
                let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
                let token = &params["_meta"]["progressToken"];
                before.push(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}));
                json!({"resultType": "complete", "content": [{"type": "text", "text": "as text"}], "structuredContent": {"sum": sum}})
            }
            "fail" => json!({"resultType": "complete", "content": [{"type": "text", "text": "it went wrong"}], "isError": true}),
            "crash" => {
                eprintln!("the peer crashes, holding {}", std::env::var("TOKEN").unwrap_or_default());
                std::process::exit(3)
            }
            "hang" => return Vec::new(),
            "flood" => {
                std::thread::spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(200));
                    let mut out = std::io::stdout().lock();
                    for number in 0.. {
                        let ping = json!({"jsonrpc": "2.0", "id": format!("p{number}"), "method": "ping", "params": {"_meta": {"x": "y".repeat(1000)}}});
                        if writeln!(out, "{ping}").is_err() {
                            return;
                        }
                    }
                });
                text(std::process::id().to_string())
            }
            "repeat" => json!({"resultType": "complete", "content": [], "structuredContent": {"said": std::env::var("TOKEN").unwrap_or_default()}}),
            "once" => {
                let path = arguments["file"].as_str().expect("a path");
                if !std::path::Path::new(path).exists() {
                    std::fs::write(path, params["_meta"]["workflow-studio/idempotencyKey"].as_str().expect("a key")).expect("a file");
                    return Vec::new();
                }
                let same = std::fs::read_to_string(path).expect("a file") == params["_meta"]["workflow-studio/idempotencyKey"];
                text(format!("again, {}", if same { "the same call" } else { "another call" }))
            }
            "big" => text("x".repeat(usize::try_from(arguments["bytes"].as_u64().unwrap_or(0)).unwrap_or(0))),
            "env" => {
                let all: std::collections::BTreeMap<String, String> = std::env::vars().collect();
                text(json!(all).to_string())
            }
            "child" => {
                let child = std::process::Command::new("/bin/sleep").arg("1000").spawn().expect("a child");
                text(json!([std::process::id(), child.id()]).to_string())
            }
            "files.read" => text("contents".into()),
            "ask" if params["inputResponses"].is_null() => json!({"resultType": "input_required", "requestState": match arguments["state"].as_str() {
                    Some("token") => json!({"of": std::env::var("TOKEN").unwrap_or_default()}).to_string(),
                    Some("password") => json!({"password": "hunter2hunter2"}).to_string(),
                    _ => "state".to_owned(),
                },
                "inputRequests": {"name": {"method": "elicitation/create", "params": {"mode": "form", "message": "Your name?", "requestedSchema": {"type": "object", "properties": {}}}}}}),
            "ask" => text(json!({"state": params["requestState"], "answers": params["inputResponses"]}).to_string()),
            "form" => form(params),
            "inquire" => return self.inquire(id, arguments),
            "grow" => {
                self.grown = true;
                before.push(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                text("grown".into())
            }
            "heard" => text(json!(self.asked).to_string()),
            "garbage" => {
                println!("not json\n{{\"jsonrpc\": \"2.0\"}}\n[1, 2]");
                text("after garbage".into())
            }
            other => json!({"resultType": "complete", "content": [{"type": "text", "text": format!("no tool {other}")}], "isError": true}),
        };
        before.push(json!({"jsonrpc": "2.0", "id": id, "result": result}));
        before
    }
}

impl Peer {
    /// Asks the client in the middle of a call, as servers with a handshake do: another `schema`, other `params`, several `times` at once.
    fn inquire(&mut self, call: &Value, arguments: &Value) -> Vec<Value> {
        let schema = json!({"type": "object", "required": ["row"], "properties": {"row": {"type": "integer", "minimum": 1}, "side": {"type": "string",
            "enum": ["left", "right"], "default": "left"}}});
        let schema = arguments.get("schema").cloned().unwrap_or(schema);
        let mut params = json!({"message": "Which seat, tok-canary?", "requestedSchema": schema});
        crate::support::merge(&mut params, arguments.get("params").cloned().unwrap_or_else(|| json!({})));
        let questions = (0..arguments["times"].as_u64().unwrap_or(1)).map(|_| {
            let id = format!("q{}", self.asked.len() + self.waiting.len());
            self.waiting.push((id.clone(), call.clone()));
            json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params})
        });
        questions.collect()
    }

    /// An answer of the client: the call is over once all its questions have one.
    fn answered(&mut self, message: &Value) -> Vec<Value> {
        let Some(at) = self.waiting.iter().position(|(id, _)| message["id"] == **id) else { return Vec::new() };
        let (_, call) = self.waiting.remove(at);
        if self.waiting.iter().any(|(_, other)| *other == call) {
            return Vec::new();
        }
        let said = if message["error"].is_null() { &message["result"] } else { &message["error"] };
        let result = json!({"content": [], "structuredContent": {"able": self.able, "said": said}});
        vec![json!({"jsonrpc": "2.0", "id": call, "result": result})]
    }
}

/// A booking: a form with two questions, then a word that it is fine, then the result. What it is told comes back.
fn form(params: &Value) -> Value {
    let asks = |state: String, requests: Value| json!({"resultType": "input_required", "requestState": state, "inputRequests": requests});
    let form = |message: &str, properties: Value, required: Value| {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
    };
    let state: Value = params["requestState"].as_str().map_or(Value::Null, |state| serde_json::from_str(state).expect("a state"));
    match state["round"].as_u64() {
        None => {
            let seat = json!({"row": {"type": "integer", "minimum": 1}, "side": {"type": "string", "enum": ["left", "right"], "default": "left"}});
            let requests = json!({"seat": form("Which seat?", seat, json!(["row"])), "name": form("Whose name?", json!({"name": {"type": "string"}}), json!(["name"]))});
            asks(json!({"round": 1, "able": params["_meta"]["io.modelcontextprotocol/clientCapabilities"]}).to_string(), requests)
        }
        Some(1) => {
            let told = json!({"round": 2, "able": state["able"], "first": params["inputResponses"]});
            asks(told.to_string(), json!({"fine": form("Book it?", json!({}), json!([]))}))
        }
        Some(_) => {
            let told = json!({"able": state["able"], "first": state["first"], "second": params["inputResponses"], "key": params["_meta"]["workflow-studio/idempotencyKey"]});
            json!({"resultType": "complete", "content": [], "structuredContent": told})
        }
    }
}

/// The program: a message a line in, a message a line out.
pub fn speak_over_pipes() {
    let mut peer = Peer::new(Manner::named(&std::env::var("PEER").unwrap_or_default()));
    peer.lends = std::env::var("LENDS").ok();
    if peer.manner == Manner::Broken {
        eprintln!("the peer has no configuration");
        std::process::exit(2);
    }
    println!(); // ends the line that the test harness began
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.expect("a line")) else { continue };
        if peer.manner == Manner::Silent {
            continue;
        }
        let mut out = std::io::stdout().lock();
        for answer in peer.answer(&message) {
            writeln!(out, "{answer}").expect("a reader");
        }
        out.flush().expect("a reader");
    }
}
