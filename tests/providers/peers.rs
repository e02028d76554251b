//! Owns the providers under test: each family in front of a running program, and conversations with them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value, json};
use wfstudio::clock::SystemClock;
use wfstudio::config::{Config, ConfigSources};
use wfstudio::host::HostDoor;
use wfstudio::model::chat::{Attachment, Message, Role, ToolCall};
use wfstudio::providers::http_client::Outbound;
use wfstudio::providers::registry::Providers;
use wfstudio::providers::{ChatReply, ChatRequest, Delta, EmbedRequest, Embeddings, Media, Provider, ProviderFailure, ToolOffer};

/// A family as it is reached at a program: provider, model, path of the base URL.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub &'static str, pub &'static str, pub &'static str);

/// How long silence in an answer is waited for.
const IDLE_MS: u64 = 60_000;

/// The address of a program.
pub fn address(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: run scripts/test-providers.sh"))
}

impl Peer {
    /// The configuration that leads there.
    pub fn settings(self, address: &str) -> Value {
        // `local` stands for a speaker of OpenAI's without a name of its own.
        let kind = if self.0 == "local" { "openai-compatible" } else { self.0 };
        json!({
            "providers": {self.0: {"kind": kind, "base_url": format!("{address}{}", self.2), "credential": "secret:PEER_KEY", "api_version": (self.0 == "azure-openai").then_some("2024-10-21")}},
            "secrets": {"PEER_KEY": "sk-of-the-providers-suite-0123456789"},
        })
    }

    fn providers(self, address: &str, idle_ms: u64) -> Providers {
        let mut settings = self.settings(address);
        settings["timeouts"] = json!({"model_idle_ms": idle_ms});
        let sources = ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() };
        let config = Config::load(sources).unwrap_or_else(|error| panic!("{error}"));
        let outbound = Arc::new(Outbound::direct(Arc::new(SystemClock::default())));
        Providers::new(&Arc::new(config), outbound, HostDoor::default()).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    /// Embeds texts.
    pub async fn embed(self, address: &str, texts: &[&str]) -> Result<Embeddings, ProviderFailure> {
        let providers = self.providers(address, IDLE_MS);
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        let request = EmbedRequest { model: "embed".into(), texts, query: true, dimensions: None, tenant: String::new(), trace: None };
        providers.get(self.0)?.embed(&request).await
    }
}

/// A conversation with a provider.
pub struct Talk {
    peer: Peer,
    providers: Providers,
    pub request: ChatRequest,
    /// What was told while the last answer came.
    pub text: String,
    pub thoughts: String,
}

impl Talk {
    /// Begins with a question.
    pub fn new(peer: Peer, address: &str, stream: bool, question: &str) -> Self {
        let mut request =
            ChatRequest::new(peer.1, vec![Message::text(Role::System, "You are brief."), Message::text(Role::User, question)]);
        request.stream = stream;
        Self { peer, providers: peer.providers(address, IDLE_MS), request, text: String::new(), thoughts: String::new() }
    }

    /// Silence is not waited for long, until `patient`.
    pub fn impatient(&mut self, address: &str) {
        self.providers = self.peer.providers(address, 1500);
    }

    pub fn patient(&mut self, address: &str) {
        self.providers = self.peer.providers(address, IDLE_MS);
    }

    /// Offers a tool that takes a city.
    pub fn offer(mut self, name: &str) -> Self {
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        self.request.tools.push(ToolOffer { name: name.into(), description: "Looks something up.".into(), input_schema: schema });
        self
    }

    /// The model called these tools: for models that never do.
    pub fn called(mut self, names: &[&str]) -> Self {
        let call = |(at, name): (usize, &&str)| {
            ToolCall { id: format!("call_made_up_{at}"), name: (*name).to_owned(), arguments: json!({"city": "Rome"}), invalid: None }
        };
        let tool_calls = names.iter().enumerate().map(call).collect();
        self.request.messages.push(Message { tool_calls, ..Message::text(Role::Assistant, "") });
        self
    }

    /// Shows a file with the last question.
    pub fn show(mut self, mime: &str, bytes: &'static [u8]) -> Self {
        let (kind, key) = (mime.split('/').next().unwrap_or_default().to_owned(), format!("file-{}", self.request.media.len()));
        let file = Attachment { kind, mime_type: mime.into(), storage_key: key.clone(), name: None, size: None };
        self.request.messages.last_mut().expect("a question").attachments.push(file);
        self.request.media.push(Media { storage_key: key, mime_type: mime.into(), name: None, bytes: Bytes::from_static(bytes), refused: false });
        self
    }

    /// Asks; a failure is left to the caller.
    pub async fn try_ask(&mut self) -> Result<ChatReply, ProviderFailure> {
        let heard = Mutex::new((String::new(), String::new()));
        let hear = |delta: Delta| {
            let mut heard = heard.lock().expect("heard");
            match delta {
                Delta::Text(text) => heard.0.push_str(&text),
                Delta::Reasoning(text) => heard.1.push_str(&text),
                Delta::Spent(_) | Delta::Waited(_) | Delta::Made => {}
            }
        };
        let answer = self.providers.get(self.peer.0)?.chat(&self.request, &hear).await;
        (self.text, self.thoughts) = heard.into_inner().expect("heard");
        answer
    }

    /// Asks, and remembers the answer; calls without an id get one.
    pub async fn ask(&mut self) -> ChatReply {
        let answer = self.try_ask().await;
        let mut reply = answer.unwrap_or_else(|failure| panic!("{}: {:?}", self.peer.0, failure.fault));
        for (at, call) in reply.message.tool_calls.iter_mut().enumerate().filter(|(_, call)| call.id.is_empty()) {
            call.id = format!("call_{}_{at}", self.request.messages.len());
        }
        if self.request.stream {
            assert_eq!(self.text, reply.message.content, "{}: what was told is what was said", self.peer.0);
        }
        self.request.messages.push(reply.message.clone());
        reply
    }

    /// Answers the calls of the last answer.
    pub fn answer(&mut self, make: impl Fn(&ToolCall) -> String) {
        let calls = self.request.messages.last().map(|message| message.tool_calls.clone()).unwrap_or_default();
        for call in &calls {
            let (tool_call_id, name) = (Some(call.id.clone()), Some(call.name.clone()));
            self.request.messages.push(Message { tool_call_id, name, ..Message::text(Role::Tool, make(call)) });
        }
    }

    /// Asks something more.
    pub fn say(&mut self, text: &str) {
        self.request.messages.push(Message::text(Role::User, text));
    }
}

/// One of two cities.
pub fn shape() -> Value {
    json!({"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": false})
}

/// An answer in one line, without ids.
pub fn line(reply: &ChatReply) -> String {
    let calls: String = reply.message.tool_calls.iter().map(|call| format!(" {}{}", call.name, call.arguments)).collect();
    format!("{:?} {:?}{calls}", reply.finish, reply.message.content)
}

/// Controls a program over HTTP.
pub fn control(address: &str, method: &str, path: &str, body: &Value) -> Value {
    let host = address.trim_start_matches("http://");
    let mut connection = TcpStream::connect(host).expect("a connection");
    let body = body.to_string();
    write!(
        connection,
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).unwrap_or_else(|problem| panic!("{path}: {problem}: {answer}"))
}
