//! Owns the played host: its tools and models answer as the deeds say, and every call is written down.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use wfstudio::model::Id;
use tokio::sync::{mpsc, oneshot};

use super::chance::number_of;
use super::graphs::TOOLS;

/// How calls are met that no deed has decided on.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    pub seed: u64,
    /// Shares of a hundred.
    pub waits: u64,
    pub fails: u64,
    /// Models call their tools `call_0`, `call_1`, … in every answer.
    pub counts_ids: bool,
}

/// The life of one engine, as its process has it.
pub struct Life {
    pub no: usize,
    pub dead: AtomicBool,
    /// Writes of logs until its process dies; below 0: it does not.
    pub writes: AtomicI64,
    /// Calls until its process dies in one.
    pub calls: AtomicI64,
    /// Runs that it died in a write of: somebody else may have them before its death is seen.
    pub cut: Mutex<Vec<Id>>,
}

impl Life {
    pub const fn new(no: usize) -> Self {
        Self { no, dead: AtomicBool::new(false), writes: AtomicI64::new(-1), calls: AtomicI64::new(-1), cut: Mutex::new(Vec::new()) }
    }

    pub fn is_over(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// One more of what may be its last.
    pub fn spend(&self, left: &AtomicI64) {
        if left.load(Ordering::SeqCst) >= 0 && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.dead.store(true, Ordering::SeqCst);
        }
    }
}

/// How a call ended, as the engine was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Open,
    Gave(String),
    Failed,
    /// The engine did not want the answer any more.
    Dropped,
}

/// One call to the host.
#[derive(Clone, Debug)]
pub struct Call {
    pub began: u64,
    pub ended: u64,
    pub end: End,
    pub engine: usize,
    /// A tool's name; `chat` or `sum` of a model.
    pub name: String,
    /// What is wanted: the same text when the same is wanted again.
    pub act: String,
    /// The marker of the run, as `r3`.
    pub run: String,
    pub call_id: String,
    /// The id of its run: models give the same ids to calls of several runs.
    pub trace: String,
    pub cancelled: Option<u64>,
    /// Tokens that the engine was told of.
    pub spent: u64,
    /// Markers in what a model was sent, and whether whole turns were sent.
    pub sent: Option<(Vec<String>, bool)>,
}

impl Call {
    pub fn is_tool(&self) -> bool {
        !["chat", "sum"].contains(&self.name.as_str())
    }

    pub fn may_repeat(&self) -> bool {
        !self.is_tool() || self.name == "note"
    }
}

type Sender = oneshot::Sender<Result<Value, HostFailure>>;

#[derive(Default)]
struct Pages {
    calls: Vec<Call>,
    waiting: Vec<(usize, Sender, Option<mpsc::UnboundedSender<Value>>, Value)>,
}

/// All calls of all engines, and those that wait for an answer.
pub struct Book {
    pages: Mutex<Pages>,
    ticks: AtomicU64,
    /// Whatever comes is answered at once from now on.
    pub polite: AtomicBool,
    manners: Manners,
}

impl Book {
    pub fn new(manners: Manners) -> Self {
        Self { pages: Mutex::default(), ticks: AtomicU64::new(1), polite: AtomicBool::new(false), manners }
    }

    /// The next moment.
    pub fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    /// This moment.
    pub fn now(&self) -> u64 {
        self.ticks.load(Ordering::SeqCst)
    }

    pub fn calls(&self) -> Vec<Call> {
        self.pages.lock().expect("a lock").calls.clone()
    }

    /// Calls that wait for an answer, of engines that live.
    pub fn waiting(&self) -> Vec<(usize, Call)> {
        let pages = self.pages.lock().expect("a lock");
        let waiting = pages.waiting.iter().filter(|(_, sender, ..)| !sender.is_closed());
        waiting.map(|(no, ..)| (*no, pages.calls[*no].clone())).collect()
    }

    /// Answers a call well, or fails it.
    pub fn answer(&self, no: usize, well: bool) {
        let mut pages = self.pages.lock().expect("a lock");
        let Some(at) = pages.waiting.iter().position(|(waiting, ..)| *waiting == no) else { return };
        let (_, sender, _, value) = pages.waiting.swap_remove(at);
        let answer = if well { Ok(value) } else { Err(HostFailure::new("it is broken")) };
        let _gone = sender.send(answer);
    }

    /// A model tells its text and what it spent so far, and goes on; text that was told stays its answer.
    pub fn spend(&self, no: usize) {
        let mut pages = self.pages.lock().expect("a lock");
        let Some(chunks) = pages.waiting.iter().find(|(waiting, ..)| *waiting == no).and_then(|(_, _, chunks, _)| chunks.clone()) else { return };
        let told = json!({"delta": format!("t{no};"), "usage": {"prompt_tokens": 7, "completion_tokens": 0}});
        if chunks.send(told).is_ok() {
            pages.calls[no].spent = 7;
        }
    }

    fn begin(&self, call: Call) -> (usize, u64) {
        let mut pages = self.pages.lock().expect("a lock");
        let before = pages.calls.iter().filter(|known| known.act == call.act && known.name == call.name).count() as u64;
        pages.calls.push(call);
        (pages.calls.len() - 1, before)
    }

    fn end(&self, no: usize, end: End, spent: u64) {
        let at = self.tick();
        let mut pages = self.pages.lock().expect("a lock");
        let call = &mut pages.calls[no];
        (call.ended, call.spent) = (at, call.spent.max(spent));
        call.end = end;
        pages.waiting.retain(|(waiting, ..)| *waiting != no);
    }

    /// A tool is told that its result is not wanted; `heed` stops then, and says so.
    fn cancel(&self, call_id: &str, trace: &str) {
        let at = self.tick();
        let mut pages = self.pages.lock().expect("a lock");
        let Some(no) = pages.calls.iter().rposition(|call| call.call_id == call_id && call.trace == trace) else { return };
        pages.calls[no].cancelled = Some(at);
        if pages.calls[no].name == "heed"
            && let Some(place) = pages.waiting.iter().position(|(waiting, ..)| *waiting == no)
        {
            let (_, sender, ..) = pages.waiting.swap_remove(place);
            let _gone = sender.send(Ok(json!({"undone": format!("s{no};")})));
        }
    }

    fn fate(&self, call: &Call, before: u64) -> Fate {
        let Manners { seed, waits, fails, .. } = self.manners;
        let number = number_of(&call.act, seed) % 100;
        let polite = self.polite.load(Ordering::SeqCst);
        match () {
            () if call.name == "sum" => Fate::Gives,
            () if call.name == "flaky" && number < 70 && before <= number % 3 && !polite => Fate::Fails,
            () if before > 0 || polite => Fate::Gives,
            () if number < waits => Fate::Waits,
            () if number < waits + fails => Fate::Fails,
            () => Fate::Gives,
        }
    }
}

#[derive(PartialEq, Eq)]
enum Fate {
    Gives,
    Fails,
    Waits,
}

/// The host of one engine.
pub struct Played {
    pub book: Arc<Book>,
    pub life: Arc<Life>,
}

/// What it declares.
pub fn declaration() -> HostDeclaration {
    let tool = |name: &str| HostTool {
        name: name.into(),
        description: format!("The tool {name}."),
        input_schema: json!({"type": "object"}),
        require_approval: name == "refund",
        idempotent: name == "note",
        timeout_ms: None,
    };
    let tools = TOOLS.iter().map(|(_, name)| *name).chain(["flaky"]).map(tool).collect();
    HostDeclaration { ops: vec![HostOp::ToolCall, HostOp::ToolCancel, HostOp::ProviderChat], tools, ..HostDeclaration::default() }
}

/// Writes down that an answer was not wanted, unless there was one.
struct Wanted {
    book: Arc<Book>,
    no: Option<usize>,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        if let Some(no) = self.no.take() {
            self.book.end(no, End::Dropped, 0);
        }
    }
}

impl Host for Played {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let began = self.book.tick();
        if self.life.is_over() {
            return Box::pin(std::future::pending());
        }
        let text = |key: &str| call.payload[key].as_str().unwrap_or_default().to_owned();
        if call.op == HostOp::ToolCancel {
            self.book.cancel(&text("call_id"), &text("trace_id"));
            return Box::pin(async { Ok(Value::Null) });
        }
        let mut made = Call {
            began, ended: 0, end: End::Open, engine: self.life.no, name: text("name"), act: String::new(), run: String::new(),
            call_id: text("call_id"), trace: text("trace_id"), cancelled: None, spent: 0, sent: None,
        };
        let asked = (call.op == HostOp::ProviderChat).then(|| Asked::of(&call.payload));
        match &asked {
            Some(asked) => asked.note(&mut made),
            None => made.act = call.payload["arguments"]["act"].as_str().unwrap_or_default().to_owned(),
        }
        if made.run.is_empty() {
            made.run = made.act.split('/').next().unwrap_or_default().to_owned();
        }
        let (no, before) = self.book.begin(made.clone());
        let wanted = Wanted { book: Arc::clone(&self.book), no: Some(no) };
        self.life.spend(&self.life.calls);
        if self.life.is_over() {
            return Box::pin(async move {
                let _the_process_is_dead = wanted;
                std::future::pending().await
            });
        }
        let value = match &asked {
            Some(asked) => asked.answer(no, self.book.manners),
            None => json!({"serial": format!("s{no};")}),
        };
        let (sender, answer) = oneshot::channel();
        let fate = self.book.fate(&made, before);
        if fate == Fate::Waits {
            self.book.pages.lock().expect("a lock").waiting.push((no, sender, call.chunks, value));
        } else {
            let told = if fate == Fate::Gives { Ok(value) } else { Err(HostFailure::new("it is broken")) };
            let _first = sender.send(told);
        }
        let (book, life) = (Arc::clone(&self.book), Arc::clone(&self.life));
        Box::pin(async move {
            let mut wanted = wanted;
            let answer = match answer.await {
                Ok(answer) if !life.is_over() => answer,
                Ok(_) | Err(_) => std::future::pending().await,
            };
            wanted.no = None;
            let spent = answer.as_ref().ok().and_then(|value| value["usage"]["prompt_tokens"].as_u64()).unwrap_or(0);
            book.end(no, answer.as_ref().map_or(End::Failed, |value| End::Gave(value.to_string())), spent);
            answer
        })
    }
}

/// What a model is asked: everything that its answer depends on.
struct Asked {
    model: String,
    run: String,
    pass: String,
    turn: usize,
    markers: Vec<String>,
    whole: bool,
    tools: Vec<String>,
}

impl Asked {
    fn of(payload: &Value) -> Self {
        let none = Vec::new();
        let messages = payload["messages"].as_array().unwrap_or(&none);
        let content = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
        let last = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
        let said = messages.get(last).map(content).unwrap_or_default();
        let marker = said.split('@').nth(1).unwrap_or_default();
        let (run, pass) = marker.split_once(' ').unwrap_or_default();
        let asks = |message: &&Value| message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
        let names = payload["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
        Self {
            model: payload["model"].as_str().unwrap_or_default().to_owned(),
            run: run.to_owned(),
            pass: pass.to_owned(),
            turn: messages[last..].iter().filter(asks).count(),
            markers: messages.iter().filter(|message| message["role"] != "assistant" && message["role"] != "tool").flat_map(|message| markers(&content(message))).collect(),
            whole: whole(messages),
            tools: names.map(str::to_owned).collect(),
        }
    }

    fn note(&self, call: &mut Call) {
        let summarises = self.model == "sum";
        call.name = if summarises { "sum" } else { "chat" }.to_owned();
        call.act = format!("{}/{}/{}/{}", self.run, self.model, self.pass, self.turn);
        call.run.clone_from(&self.run);
        call.sent = Some((self.markers.clone(), self.whole));
    }

    fn answer(&self, no: usize, manners: Manners) -> Value {
        let usage = json!({"prompt_tokens": 10 + no % 50, "completion_tokens": 3});
        if self.model == "sum" {
            return json!({"message": {"content": format!("sum[{}]", self.markers.join(","))}, "usage": usage});
        }
        let (node, plan) = self.model.split_once('/').unwrap_or_default();
        let Some(wanted) = plan.split('.').nth(self.turn).filter(|wanted| !wanted.is_empty()) else {
            return json!({"message": {"content": format!("t{no};")}, "usage": usage});
        };
        let calls = wanted.chars().enumerate().map(|(at, letter)| {
            let act = format!("{}/{node}/{}/{}.{at}", self.run, self.pass, self.turn);
            let tool = TOOLS.iter().find(|(known, _)| *known == letter).map(|(_, name)| (*name).to_owned());
            let name = tool.or_else(|| self.tools.iter().find(|name| name.starts_with("ask_")).cloned()).unwrap_or_default();
            let id = if manners.counts_ids { format!("call_{at}") } else { format!("id_{:020}", number_of(&act, 1)) };
            let arguments = if letter == 's' {
                json!({"input": format!("@{} {}+{}.{at}@ tell me", self.run, self.pass, self.turn)})
            } else {
                json!({"act": act})
            };
            json!({"id": id, "name": name, "arguments": arguments})
        });
        json!({"message": {"content": ""}, "tool_calls": calls.collect::<Vec<_>>(), "usage": usage, "finish_reason": "tool_calls"})
    }
}

/// The runs that a text speaks of: in turns as `@r3 …@`, in summaries as `sum[r1,r2]`.
pub fn markers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['@', '[']) {
        let (open, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        let close = if open == b'@' { '@' } else { ']' };
        let Some(end) = after.find(close) else { break };
        let inside = &after[..end];
        if open == b'@' {
            found.extend(inside.split(' ').next().filter(|name| is_marker(name)).map(str::to_owned));
        } else {
            found.extend(inside.split(',').filter(|name| is_marker(name)).map(str::to_owned));
        }
        rest = &after[end + 1..];
    }
    found
}

fn is_marker(text: &str) -> bool {
    text.strip_prefix('r').is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Each turn is there with its answer, each call with its result.
fn whole(messages: &[Value]) -> bool {
    let mut open: Vec<&Value> = Vec::new();
    let mut answered = true;
    for message in messages {
        match message["role"].as_str() {
            Some("user") => {
                if !answered || !open.is_empty() {
                    return false;
                }
                answered = false;
            }
            Some("assistant") => {
                if !open.is_empty() {
                    return false;
                }
                open = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect();
                answered = open.is_empty();
            }
            Some("tool") => {
                let Some(at) = open.iter().position(|id| **id == message["tool_call_id"]) else { return false };
                open.remove(at);
            }
            _ => {}
        }
    }
    open.is_empty()
}
