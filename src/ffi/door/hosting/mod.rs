//! Owns the calls to the host: who answers them, which wait to be fetched, and the match of answers to calls.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::pending_answers::{Accepted, OnItsWay};
use super::wakeup::Wakeup;
use super::deadline::deadline;
use super::callback::{PATIENCE, awaited, within};
use super::ready_streams::{HOST, Notification};
use super::requests;
use super::super::fault::{Code, Fault};
use crate::host::{Host, HostCall, HostFailure, HostOp, TAKEN};
use crate::json::surrogates::PendingSurrogate;
use crate::sync::{Condvar, Mutex};

/// The host's callback: takes a call as JSON, false when it cannot take it.
pub(in crate::ffi) type Answering = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// The limit of unfetched calls. Beyond it the oldest log line is dropped, then the oldest of the others that have no answer (`tool.cancel`).
const UNFETCHED: usize = 1024;

/// Ids of calls are those of the process, so that no two engines give the same.
static CALLS: AtomicU64 = AtomicU64::new(1);

/// The host of one engine.
#[derive(Default)]
pub(super) struct Hosting {
    state: Mutex<State>,
    /// A callback came back.
    back: Condvar,
    /// The waker for calls that can be fetched.
    notification: Arc<Notification>,
    accepted: Arc<Accepted>,
}

#[derive(Default)]
struct State {
    answering: Option<Answering>,
    pending: HashMap<u64, Pending>,
    /// Not fetched yet, oldest first.
    waiting: VecDeque<Waiting>,
    /// Streams that deliver the calls of their run inline.
    inline: HashMap<u64, Inline>,
    fetchers: Vec<Arc<Wakeup>>,
    /// Callbacks under way.
    underway: usize,
    /// No answer is accepted any more.
    shut: bool,
    closed: bool,
}

struct Pending {
    op: HostOp,
    answer: oneshot::Sender<(Result<Value, HostFailure>, OnItsWay)>,
    chunks: Option<tokio::sync::mpsc::UnboundedSender<Value>>,
    run: Option<String>,
    /// Of a tool: the call's own id.
    tool_call: Option<Value>,
    stage: Stage,
    /// Of its chunks.
    surrogate: PendingSurrogate,
}

/// How far a call that is to be answered has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No receiver has it.
    Waits,
    /// The host has it.
    Taken,
    /// The host has it and has received the cancel.
    Cancelled,
    /// No receiver has it, and none gets it any more.
    Withdrawn,
}

struct Waiting {
    id: u64,
    op: HostOp,
    run: Option<String>,
    text: Arc<[u8]>,
    answered: bool,
}

struct Inline {
    run: Option<String>,
    wakeup: Arc<Wakeup>,
}

/// How a call reaches the host.
enum Delivery {
    Callback(Waiting),
    /// By one of these; with `anybody`, by the first that asks.
    Fetched { wakeups: Vec<Arc<Wakeup>>, anybody: bool },
}

/// A callback under way; counted until it is dropped.
struct Underway(Arc<Hosting>);

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.state.lock().underway -= 1;
        self.0.back.notify_all();
    }
}

impl State {
    /// A call goes to the stream of its run, else to the callback, else to the first caller of `studio_host_next`.
    fn delivery(&mut self, call: Waiting) -> Delivery {
        let owners = self.inline.values().filter(|inline| call.run.is_some() && inline.run == call.run);
        let owners: Vec<_> = owners.map(|inline| Arc::clone(&inline.wakeup)).collect();
        let anybody = owners.is_empty();
        let wakeups = match (anybody, &self.answering) {
            (false, _) => owners,
            (true, Some(_)) => return Delivery::Callback(call),
            (true, None) => {
                let streams = self.inline.values().map(|inline| Arc::clone(&inline.wakeup));
                self.fetchers.iter().cloned().chain(streams).collect()
            }
        };
        self.waiting.push_back(call);
        if self.waiting.len() > UNFETCHED {
            let oldest = |drops: fn(&Waiting) -> bool| self.waiting.iter().position(drops);
            if let Some(oldest) = oldest(|call| call.op == HostOp::Log).or_else(|| oldest(|call| !call.answered)) {
                self.waiting.remove(oldest);
            }
        }
        Delivery::Fetched { wakeups, anybody }
    }

    /// The oldest waiting call that no other stream will bring.
    fn fetch(&mut self, mine: Option<&str>, by_stream: bool) -> Option<Arc<[u8]>> {
        let owned = |state: &Self, run: &str| state.inline.values().any(|inline| inline.run.as_deref() == Some(run));
        let found = self.waiting.iter().position(|call| match call.run.as_deref() {
            Some(run) if mine == Some(run) => true,
            Some(run) if owned(self, run) => false,
            Some(_) | None => !by_stream || self.answering.is_none(),
        })?;
        let call = self.waiting.remove(found)?;
        self.take(call.id);
        Some(call.text)
    }

    fn take(&mut self, id: u64) {
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.stage = Stage::Taken;
        }
    }
}

impl Hosting {
    /// Sets the callback; without one, calls are fetched.
    pub(super) fn answer_by(&self, answering: Option<Answering>) {
        let before = std::mem::replace(&mut self.state.lock().answering, answering);
        // Outside the lock: dropping it may run the host's destroy function.
        drop(before);
    }

    /// A call for `studio_host_next`.
    pub(super) fn next(&self, timeout_ms: i32) -> Result<Option<Arc<[u8]>>, Fault> {
        let until = deadline(timeout_ms);
        let (wakeup, _) = Wakeup::new();
        if timeout_ms == 0 {
            self.notification.look(HOST);
        }
        self.state.lock().fetchers.push(Arc::clone(&wakeup));
        let found = loop {
            wakeup.hush();
            {
                let mut state = self.state.lock();
                if state.closed {
                    break Err(Fault::closed());
                }
                if let Some(text) = state.fetch(None, false) {
                    break Ok(Some(text));
                }
            }
            if !wakeup.listen(until) {
                break Ok(None);
            }
        };
        self.state.lock().fetchers.retain(|other| !Arc::ptr_eq(other, &wakeup));
        if timeout_ms == 0 && matches!(found, Ok(None)) {
            self.notification.empty(HOST);
        }
        found
    }

    /// A stream begins to bring calls, those of its run first.
    pub(super) fn bring(&self, stream: u64, run: Option<String>, wakeup: Arc<Wakeup>) {
        self.state.lock().inline.insert(stream, Inline { run, wakeup });
    }

    /// The run of a stream that brings calls is known: those of its run come to it alone from now on.
    pub(super) fn follow(&self, stream: u64, run: &str) {
        if let Some(inline) = self.state.lock().inline.get_mut(&stream) {
            inline.run = Some(run.to_owned());
        }
    }

    pub(super) const fn notification(&self) -> &Arc<Notification> {
        &self.notification
    }

    /// A call for a stream that brings calls.
    pub(super) fn next_for(&self, stream: u64) -> Option<Arc<[u8]>> {
        let mut state = self.state.lock();
        let run = state.inline.get(&stream)?.run.clone();
        state.fetch(run.as_deref(), true)
    }

    /// A stream brings no more; what it has not brought goes another way.
    pub(super) fn bring_no_more(self: &Arc<Self>, stream: u64) {
        let deliveries: Vec<_> = {
            let mut state = self.state.lock();
            let Some(gone) = state.inline.remove(&stream) else { return };
            let (back, rest): (VecDeque<_>, VecDeque<_>) =
                std::mem::take(&mut state.waiting).into_iter().partition(|call| call.run.is_some() && call.run == gone.run);
            state.waiting = rest;
            back.into_iter().map(|call| state.delivery(call)).collect()
        };
        deliveries.into_iter().for_each(|delivery| self.go(delivery));
    }

    /// The JSON of an answer. Strings of some languages can end in half a character (`\ud83d`): the next chunk of the call completes it,
    /// or it is left out.
    pub(super) fn read(&self, id: u64, data: &[u8]) -> Result<Value, Fault> {
        let read = requests::value(data);
        let mut state = self.state.lock();
        let Some(Pending { surrogate, .. }) = state.pending.get_mut(&id) else { return read };
        match (read, std::str::from_utf8(data)) {
            (Err(refused), Ok(text)) => surrogate.mend(text).map_or(Err(refused), |text| requests::value(text.as_bytes())),
            (read, _) => {
                *surrogate = PendingSurrogate::default();
                read
            }
        }
    }

    /// Takes the host's answer: 1 the result, 0 a failure, 2 a chunk with more to follow.
    pub(super) fn complete(&self, id: u64, ok: i32, data: Value) -> Result<(), Fault> {
        if !(0..=2).contains(&ok) {
            return Err(Fault::invalid("`ok` is 0 for a failure, 1 for the result, 2 for a chunk"));
        }
        let unknown = || Fault::new(Code::NotFound, "there is no such call, or it was answered or given up");
        let mut state = self.state.lock();
        if state.shut {
            return Err(Fault::closed());
        }
        let is_partial = || data.as_object().is_some_and(|members| members.len() == 1 && members.contains_key("partial"));
        let takes_chunks = || state.pending.get(&id).is_some_and(|pending| pending.chunks.is_some());
        // A part of a model's answer is no result, whatever it is sent as.
        if ok == 2 || (ok == 1 && is_partial() && takes_chunks()) {
            let chunks = state.pending.get(&id).ok_or_else(unknown)?.chunks.clone();
            // This call has no receiver of chunks: only the result counts.
            return chunks.map_or(Ok(()), |chunks| chunks.send(data).map_err(|_| unknown()));
        }
        let pending = state.pending.remove(&id).ok_or_else(unknown)?;
        let on_its_way = OnItsWay::new(&self.accepted);
        drop(state);
        let answer = if ok == 1 { Ok(data) } else { Err(failure(&data)) };
        pending.answer.send((answer, on_its_way)).map_err(|_| unknown())
    }

    /// Sends the host a call without an answer.
    pub(super) fn notify(self: &Arc<Self>, op: HostOp, payload: &Value) {
        match self.register(op, payload, None) {
            (_, Some(Delivery::Callback(call))) => self.call_back(call),
            (_, Some(delivery @ Delivery::Fetched { .. })) => self.go(delivery),
            (_, None) => {}
        }
    }

    /// Ends all calls and everybody who fetches, and lets the callback go. With a time, callbacks under way are waited for until then.
    pub(super) fn close(&self, until: Option<Instant>) {
        let mut state = self.state.lock();
        state.closed = true;
        state.waiting.clear();
        state.fetchers.iter().for_each(|wakeup| wakeup.ring());
        let ended = (state.answering.take(), std::mem::take(&mut state.pending));
        while state.underway > 0 {
            let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                break;
            }
            state = self.back.wait_timeout(state, left);
        }
        drop(state);
        // Outside the lock: dropping it may run the host's destroy function.
        drop(ended);
    }

    /// Sends a call on its way; `pending` is none for calls that expect no answer.
    fn send(self: &Arc<Self>, op: HostOp, payload: &Value, pending: Option<Pending>) -> u64 {
        let (id, delivery) = self.register(op, payload, pending);
        if let Some(delivery) = delivery {
            self.go(delivery);
        }
        id
    }

    /// Gives a call its id and its receiver; none if the host has closed.
    fn register(&self, op: HostOp, payload: &Value, pending: Option<Pending>) -> (u64, Option<Delivery>) {
        let id = CALLS.fetch_add(1, Ordering::Relaxed);
        let text: Arc<[u8]> = json!({"op": op.as_str(), "call_id": id, "payload": payload}).to_string().into_bytes().into();
        let mut state = self.state.lock();
        if state.closed {
            return (id, None);
        }
        let answered = pending.is_some();
        if let Some(pending) = pending {
            state.pending.insert(id, pending);
        }
        (id, Some(state.delivery(Waiting { id, op, run: run_of(payload), text, answered })))
    }

    fn go(self: &Arc<Self>, delivery: Delivery) {
        match delivery {
            Delivery::Fetched { wakeups, anybody } => {
                wakeups.iter().for_each(|wakeup| wakeup.ring());
                if anybody {
                    self.notification.ring(HOST);
                }
            }
            Delivery::Callback(call) => {
                let hosting = Arc::clone(self);
                let ask = move || hosting.call_back(call);
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

    /// Calls the callback on this thread, unless the engine is closed or the call is given up.
    fn call_back(self: &Arc<Self>, call: Waiting) {
        let (id, answered, text) = (call.id, call.answered, Arc::clone(&call.text));
        let Some((underway, answering)) = self.begin(call) else { return };
        // A callback of a Rust host may panic; the call then failed.
        let taken = catch_unwind(AssertUnwindSafe(|| within(|| answering(&text)))).unwrap_or(false);
        if !taken && answered {
            drop(self.complete(id, 0, json!({"message": "the host refused the call"})));
        }
        // Letting the callback go may run the host's destroy function, which is waited for too.
        drop(answering);
        drop(underway);
    }

    fn begin(self: &Arc<Self>, call: Waiting) -> Option<(Underway, Answering)> {
        let mut state = self.state.lock();
        let wanted = !call.answered || state.pending.get(&call.id).is_some_and(|pending| pending.stage == Stage::Waits);
        if state.closed || !wanted {
            return None;
        }
        let Some(answering) = state.answering.clone() else {
            // The host fetches its calls by now.
            let delivery = state.delivery(call);
            drop(state);
            self.go(delivery);
            return None;
        };
        state.take(call.id);
        state.underway += 1;
        Some((Underway(Arc::clone(self)), answering))
    }

    /// Ends a tool call: its host receives that once. False if no host has it; then none gets it any more.
    fn cancel(self: &Arc<Self>, payload: &Value) -> bool {
        let (run, tool_call) = (run_of(payload), payload.get("call_id"));
        let wanted = |pending: &Pending| pending.op == HostOp::ToolCall && pending.run == run && pending.tool_call.as_ref() == tool_call;
        let mut state = self.state.lock();
        let Some((&id, pending)) = state.pending.iter_mut().find(|(_, pending)| wanted(pending)) else { return true };
        let before = pending.stage;
        pending.stage = if matches!(before, Stage::Taken | Stage::Cancelled) { Stage::Cancelled } else { Stage::Withdrawn };
        match before {
            Stage::Waits | Stage::Withdrawn => state.waiting.retain(|call| call.id != id),
            Stage::Cancelled => {}
            Stage::Taken => {
                drop(state);
                self.tell_cancel(id, tool_call);
            }
        }
        matches!(before, Stage::Taken | Stage::Cancelled)
    }

    fn tell_cancel(self: &Arc<Self>, id: u64, tool_call: Option<&Value>) {
        self.send(HostOp::ToolCancel, &json!({"call_id": tool_call, "cancels": id}), None);
    }

    /// No answer is wanted any more.
    fn give_up(self: &Arc<Self>, id: u64) {
        let given_up = {
            let mut state = self.state.lock();
            state.waiting.retain(|call| call.id != id);
            state.pending.remove(&id)
        };
        let Some(Pending { op, tool_call, stage, .. }) = given_up else { return };
        if matches!(op, HostOp::ToolCall | HostOp::McpElicit) && stage == Stage::Taken {
            self.tell_cancel(id, tool_call.as_ref());
        }
    }
}

fn run_of(payload: &Value) -> Option<String> {
    payload.get("trace_id").and_then(Value::as_str).map(str::to_owned)
}

/// A failure `{message, ran, unanswered}`, or the text of whatever was given instead.
fn failure(data: &Value) -> HostFailure {
    let text = data.get("message").or(Some(data)).and_then(Value::as_str);
    let message = text.map_or_else(|| format!("the host failed: {data}"), str::to_owned);
    HostFailure { message, may_have_run: data["ran"] == true || data["unanswered"] == true }
}

/// The host as the engine sees it.
pub(super) struct Asked(pub(super) Arc<Hosting>);

/// Gives a call up when its future is dropped.
struct GiveUp(Arc<Hosting>, u64);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.give_up(self.1);
    }
}

impl Host for Asked {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let hosting = Arc::clone(&self.0);
        Box::pin(async move {
            let HostCall { op, payload, chunks } = call;
            if op == HostOp::Log {
                hosting.send(op, &payload, None);
                return Ok(Value::Null);
            }
            if op == HostOp::ToolCancel {
                return Ok(json!({ TAKEN: hosting.cancel(&payload) }));
            }
            let (answer, answered) = oneshot::channel();
            let (run, tool_call) = (run_of(&payload), payload.get("call_id").cloned());
            let id = hosting.send(
                op,
                &payload,
                Some(Pending { op, answer, chunks, run, tool_call, stage: Stage::Waits, surrogate: PendingSurrogate::default() }),
            );
            let _give_up = GiveUp(hosting, id);
            match answered.await {
                Ok((answer, _has_reached_its_call)) => answer,
                Err(_) => Err(HostFailure::new("the engine closed before the host answered")),
            }
        })
    }

    fn shut(&self) -> BoxFuture<'static, ()> {
        self.0.state.lock().shut = true;
        Box::pin(Arc::clone(&self.0.accepted).reach_their_calls())
    }

    fn hears_cancels(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
