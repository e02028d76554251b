//! Owns the questions to the host: who answers them, which of them wait to be fetched, and which answer belongs to which.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::super::fault::{Code, Fault};
use super::bell::{Bell, deadline};
use super::callback::{PATIENCE, awaited, within};
use crate::host::{Host, HostCall, HostFailure, HostOp};
use crate::sync::Mutex;

/// The host's callback: takes a call as JSON, false when it cannot take it.
pub(in crate::ffi) type Answering = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Calls without an answer that nobody fetched (`log`, `tool.cancel`): the oldest of more than these are dropped.
const UNFETCHED: usize = 1024;

/// Ids of calls are those of the process, so that no two engines give the same.
static CALLS: AtomicU64 = AtomicU64::new(1);

/// The host of one engine.
#[derive(Default)]
pub(super) struct Hosting {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    answering: Option<Answering>,
    pending: HashMap<u64, Pending>,
    /// Not fetched yet, oldest first.
    waiting: VecDeque<Waiting>,
    /// Streams that bring the calls of their run to whoever pulls them.
    inline: HashMap<u64, Inline>,
    fetchers: Vec<Arc<Bell>>,
    closed: bool,
}

struct Pending {
    answer: oneshot::Sender<Result<Value, HostFailure>>,
    chunks: Option<tokio::sync::mpsc::UnboundedSender<Value>>,
}

struct Waiting {
    id: u64,
    run: Option<String>,
    text: Arc<[u8]>,
    answered: bool,
}

struct Inline {
    run: Option<String>,
    bell: Arc<Bell>,
}

/// How a call reaches the host.
enum Way {
    Callback(Answering),
    Fetched(Vec<Arc<Bell>>),
}

impl State {
    /// A call goes to the stream of its run, else to the callback, else to whoever fetches first.
    fn way(&mut self, call: Waiting) -> Way {
        let owner = call.run.as_deref().and_then(|run| self.inline.values().find(|inline| inline.run.as_deref() == Some(run)));
        let bells = match (owner, &self.answering) {
            (Some(owner), _) => vec![Arc::clone(&owner.bell)],
            (None, Some(answering)) => return Way::Callback(Arc::clone(answering)),
            (None, None) => {
                let streams = self.inline.values().map(|inline| Arc::clone(&inline.bell));
                self.fetchers.iter().cloned().chain(streams).collect()
            }
        };
        self.waiting.push_back(call);
        if self.waiting.len() > UNFETCHED && let Some(oldest) = self.waiting.iter().position(|call| !call.answered) {
            self.waiting.remove(oldest);
        }
        Way::Fetched(bells)
    }

    /// The oldest waiting call that no other stream will bring.
    fn fetch(&mut self, mine: Option<&str>, by_stream: bool) -> Option<Arc<[u8]>> {
        let owned = |state: &Self, run: &str| state.inline.values().any(|inline| inline.run.as_deref() == Some(run));
        let found = self.waiting.iter().position(|call| match call.run.as_deref() {
            Some(run) if mine == Some(run) => true,
            Some(run) if owned(self, run) => false,
            Some(_) | None => !by_stream || self.answering.is_none(),
        })?;
        self.waiting.remove(found).map(|call| call.text)
    }
}

impl Hosting {
    /// Declares who is called; nobody means that calls are fetched.
    pub(super) fn answer_by(&self, answering: Option<Answering>) {
        let before = std::mem::replace(&mut self.state.lock().answering, answering);
        // Outside the lock: dropping it may run the host's destroy function.
        drop(before);
    }

    /// A call for whoever fetches calls of this engine.
    pub(super) fn next(&self, timeout_ms: i32) -> Result<Option<Arc<[u8]>>, Fault> {
        let until = deadline(timeout_ms);
        let (bell, _) = Bell::new();
        self.state.lock().fetchers.push(Arc::clone(&bell));
        let found = loop {
            bell.hush();
            {
                let mut state = self.state.lock();
                if state.closed {
                    break Err(Fault::closed());
                }
                if let Some(text) = state.fetch(None, false) {
                    break Ok(Some(text));
                }
            }
            if !bell.listen(until) {
                break Ok(None);
            }
        };
        self.state.lock().fetchers.retain(|other| !Arc::ptr_eq(other, &bell));
        found
    }

    /// A stream begins to bring calls, those of its run first.
    pub(super) fn bring(&self, stream: u64, run: Option<String>, bell: Arc<Bell>) {
        self.state.lock().inline.insert(stream, Inline { run, bell });
    }

    /// A call for a stream that brings calls.
    pub(super) fn next_for(&self, stream: u64) -> Option<Arc<[u8]>> {
        let mut state = self.state.lock();
        let run = state.inline.get(&stream)?.run.clone();
        state.fetch(run.as_deref(), true)
    }

    /// A stream brings no more; what it has not brought goes another way.
    pub(super) fn bring_no_more(self: &Arc<Self>, stream: u64) {
        let (calls, ways) = {
            let mut state = self.state.lock();
            let Some(gone) = state.inline.remove(&stream) else { return };
            let (back, rest): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut state.waiting).into_iter().partition(|call| call.run.is_some() && call.run == gone.run);
            state.waiting = rest;
            let texts: Vec<_> = back.iter().map(|call| (call.id, Arc::clone(&call.text))).collect();
            (texts, back.into_iter().map(|call| state.way(call)).collect::<Vec<_>>())
        };
        for ((id, text), way) in calls.into_iter().zip(ways) {
            self.go(id, text, way);
        }
    }

    /// Takes the host's answer: 1 the result, 0 a failure, 2 a chunk with more to follow.
    pub(super) fn complete(&self, id: u64, ok: i32, data: Value) -> Result<(), Fault> {
        if !(0..=2).contains(&ok) {
            return Err(Fault::invalid("`ok` is 0 for a failure, 1 for the result, 2 for a chunk"));
        }
        let unknown = || Fault::new(Code::NotFound, "there is no such call, or it was answered or given up");
        let mut state = self.state.lock();
        if ok == 2 {
            let chunks = state.pending.get(&id).ok_or_else(unknown)?.chunks.clone();
            // Nobody listens for chunks of this call: the result alone will do.
            return chunks.map_or(Ok(()), |chunks| chunks.send(data).map_err(|_| unknown()));
        }
        let pending = state.pending.remove(&id).ok_or_else(unknown)?;
        drop(state);
        let answer = if ok == 1 { Ok(data) } else { Err(HostFailure(failure(&data))) };
        pending.answer.send(answer).map_err(|_| unknown())
    }

    /// Tells the host something that expects no answer.
    pub(super) fn notify(self: &Arc<Self>, op: HostOp, payload: &Value) {
        match self.register(op, payload, None) {
            (_, text, Some(Way::Callback(answering))) => drop(within(|| answering(&text))),
            (id, text, Some(way)) => self.go(id, text, way),
            (_, _, None) => {}
        }
    }

    /// Ends all calls and everybody who fetches; the callback is let go.
    pub(super) fn close(&self) {
        let (answering, pending) = {
            let mut state = self.state.lock();
            state.closed = true;
            state.waiting.clear();
            state.fetchers.iter().for_each(|bell| bell.ring());
            (state.answering.take(), std::mem::take(&mut state.pending))
        };
        drop((answering, pending));
    }

    /// Sends a call on its way; `pending` is none for calls that expect no answer.
    fn send(self: &Arc<Self>, op: HostOp, payload: &Value, pending: Option<Pending>) -> u64 {
        let (id, text, way) = self.register(op, payload, pending);
        if let Some(way) = way {
            self.go(id, text, way);
        }
        id
    }

    /// Gives a call its id and finds its way; none when nobody is called any more.
    fn register(&self, op: HostOp, payload: &Value, pending: Option<Pending>) -> (u64, Arc<[u8]>, Option<Way>) {
        let id = CALLS.fetch_add(1, Ordering::Relaxed);
        let run = payload.get("trace_id").and_then(Value::as_str).map(str::to_owned);
        let text: Arc<[u8]> = json!({"op": op.as_str(), "call_id": id, "payload": payload}).to_string().into_bytes().into();
        let mut state = self.state.lock();
        if state.closed {
            return (id, text, None);
        }
        let answered = pending.is_some();
        if let Some(pending) = pending {
            state.pending.insert(id, pending);
        }
        let way = state.way(Waiting { id, run, text: Arc::clone(&text), answered });
        (id, text, Some(way))
    }

    fn go(self: &Arc<Self>, id: u64, text: Arc<[u8]>, way: Way) {
        match way {
            Way::Fetched(bells) => bells.iter().for_each(|bell| bell.ring()),
            Way::Callback(answering) => {
                let hosting = Arc::clone(self);
                let ask = move || {
                    // A callback of a Rust host may panic; the call then failed.
                    let taken = catch_unwind(AssertUnwindSafe(|| within(|| answering(&text)))).unwrap_or(false);
                    if !taken {
                        drop(hosting.complete(id, 0, json!({"message": "the host refused the call"})));
                    }
                };
                match tokio::runtime::Handle::try_current() {
                    Ok(runtime) => {
                        let asked = runtime.spawn_blocking(ask);
                        drop(runtime.spawn(async move { awaited("it keeps a thread of the library", PATIENCE, asked).await.is_some() }));
                    }
                    Err(_) => drop(std::thread::Builder::new().name("studio-host".into()).spawn(ask)),
                }
            }
        }
    }

    /// No answer is wanted any more.
    fn give_up(self: &Arc<Self>, id: u64, op: HostOp, tool_call: Option<&Value>) {
        let unfetched = {
            let mut state = self.state.lock();
            if state.pending.remove(&id).is_none() {
                return;
            }
            let found = state.waiting.iter().position(|call| call.id == id);
            found.and_then(|at| state.waiting.remove(at)).is_some()
        };
        if matches!(op, HostOp::ToolCall | HostOp::McpElicit) && !unfetched {
            self.send(HostOp::ToolCancel, &json!({"call_id": tool_call, "cancels": id}), None);
        }
    }
}

/// The text of a failure `{message}`, or whatever was given instead.
fn failure(data: &Value) -> String {
    match data.get("message").or(Some(data)).and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => format!("the host failed: {data}"),
    }
}

/// The host as the engine sees it.
pub(super) struct Asked(pub(super) Arc<Hosting>);

/// Gives a call up when its future is dropped.
struct GiveUp {
    hosting: Arc<Hosting>,
    id: u64,
    op: HostOp,
    tool_call: Option<Value>,
}

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.hosting.give_up(self.id, self.op, self.tool_call.as_ref());
    }
}

impl Host for Asked {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let hosting = Arc::clone(&self.0);
        Box::pin(async move {
            let HostCall { op, payload, chunks } = call;
            if op == HostOp::Log {
                hosting.send(op, &payload, None);
            }
            // A call that is given up tells the host so itself, once, with its own number; one that was never fetched tells nothing.
            if matches!(op, HostOp::Log | HostOp::ToolCancel) {
                return Ok(Value::Null);
            }
            let (answer, answered) = oneshot::channel();
            let tool_call = payload.get("call_id").cloned();
            let id = hosting.send(op, &payload, Some(Pending { answer, chunks }));
            let _give_up = GiveUp { hosting, id, op, tool_call };
            answered.await.unwrap_or_else(|_| Err(HostFailure("the engine closed before the host answered".into())))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn whoever_was_asked_hears_that_no_answer_is_wanted_any_more() {
        for (op, told) in [(HostOp::ToolCall, true), (HostOp::McpElicit, true), (HostOp::SecretGet, false)] {
            let hosting = Arc::new(Hosting::default());
            let call = |payload| Asked(Arc::clone(&hosting)).call(HostCall { op, payload, chunks: None });
            let fetched = || hosting.next(0).expect("open").map(|text| serde_json::from_slice::<Value>(&text).expect("JSON"));
            assert!(timeout(Duration::ZERO, call(json!({"call_id": "unfetched"}))).await.is_err());
            assert_eq!(fetched(), None, "nobody fetched it, so nobody need hear");
            let mut asked = call(json!({"call_id": "c1"}));
            assert!(timeout(Duration::ZERO, &mut asked).await.is_err());
            let number = fetched().expect("a call")["call_id"].clone();
            drop(asked);
            let heard = fetched().map(|heard| (heard["op"].clone(), heard["payload"].clone()));
            assert_eq!(heard, told.then(|| (json!("tool.cancel"), json!({"call_id": "c1", "cancels": number}))), "{op:?}");
        }
    }
}
