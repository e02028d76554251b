//! Owns the log of the library: discarded until a host wants it, then delivered by one separate thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Once};
use std::time::Instant;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::super::fork::PerProcess;
use super::callback::{PATIENCE, within};
use super::hosting::Hosting;
use crate::host::HostOp;
use crate::sync::{Condvar, Mutex};

/// Takes a line as JSON: `{level, target, message, fields}`.
pub(in crate::ffi) type LogSink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// The limit of waiting log lines; more are dropped.
const WAITING: usize = 1024;

#[derive(Default)]
struct Sinks {
    callback: Option<LogSink>,
    hosts: Vec<Arc<Hosting>>,
}

/// The listener in this process, and the channel to the thread that calls it.
struct Telling {
    wanted: AtomicBool,
    sinks: Mutex<Sinks>,
    lines: Mutex<Option<SyncSender<Value>>>,
    counts: Mutex<DeliveryCounts>,
    heard: Condvar,
}

/// The numbers of started and finished deliveries.
#[derive(Default)]
struct DeliveryCounts {
    begun: u64,
    ended: u64,
}

/// A log line during its delivery.
struct Underway<'a>(&'a Telling);

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        self.0.counts.lock().ended += 1;
        self.0.heard.notify_all();
    }
}

impl Telling {
    fn new() -> Self {
        Self { wanted: AtomicBool::new(false), sinks: Mutex::default(), lines: Mutex::new(None), counts: Mutex::default(), heard: Condvar::new() }
    }

    /// Waits until the current delivery of a log line has ended, or until then.
    fn wait(&self, until: Instant) {
        let mut counts = self.counts.lock();
        let begun = counts.begun;
        while counts.ended < begun {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            counts = self.heard.wait_timeout(counts, left);
        }
    }
}

static TELLING: PerProcess<Telling> = PerProcess::new(Telling::new);
static SUBSCRIBED: Once = Once::new();

/// Lines of this process go to a callback; none stops it. When this returns, the callback before is not running any more, unless it
/// blocks for longer than a callback may.
pub(in crate::ffi) fn set_log(sink: Option<LogSink>) {
    set_log_by(Instant::now() + PATIENCE, sink);
}

/// The same, with a time of its own for the callback before.
pub(super) fn set_log_by(until: Instant, sink: Option<LogSink>) {
    change(until, |sinks| std::mem::replace(&mut sinks.callback, sink));
}

/// Lines of this process go to a host that answers `log`, or no longer.
pub(super) fn tell_host(hosting: &Arc<Hosting>, until: Instant, told: Option<Arc<Hosting>>) {
    change(until, |sinks| {
        sinks.hosts.retain(|known| !Arc::ptr_eq(known, hosting));
        sinks.hosts.extend(told);
    });
}

/// In the child of a fork: sends nothing until it is used again.
pub(super) fn forget() {
    TELLING.renew(Telling::new());
}

fn change<T>(until: Instant, work: impl FnOnce(&mut Sinks) -> T) {
    let telling = TELLING.get();
    let before = {
        let mut sinks = telling.sinks.lock();
        let before = work(&mut sinks);
        telling.wanted.store(sinks.callback.is_some() || !sinks.hosts.is_empty(), Ordering::Release);
        before
    };
    if telling.wanted.load(Ordering::Acquire) {
        start(telling);
    }
    if super::callback::may_wait().is_ok() {
        telling.wait(until);
    }
    drop(before);
}

fn start(telling: &'static Telling) {
    let mut lines = telling.lines.lock();
    if lines.is_some() {
        return;
    }
    let (sender, receiver) = sync_channel::<Value>(WAITING);
    let thread = std::thread::Builder::new().name("studio-log".into());
    let running = thread.spawn(move || receiver.into_iter().for_each(|line| tell(telling, &line)));
    if running.is_ok() {
        *lines = Some(sender);
        // The library's own copy of `tracing`: a Rust host that has a subscriber keeps it.
        SUBSCRIBED.call_once(|| drop(tracing::subscriber::set_global_default(Lines)));
    }
}

fn tell(telling: &Telling, line: &Value) {
    telling.counts.lock().begun += 1;
    let _underway = Underway(telling);
    let (callback, hosts) = {
        let sinks = telling.sinks.lock();
        (sinks.callback.clone(), sinks.hosts.clone())
    };
    for host in hosts {
        host.notify(HostOp::Log, line);
    }
    if let Some(callback) = callback {
        within(|| callback(line.to_string().as_bytes()));
        within(|| drop(callback));
    }
}

/// Turns events into lines.
struct Lines;

impl Subscriber for Lines {
    /// All of ours from `info` on, of others only what needs attention.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let ours = metadata.target().split("::").next() == Some(env!("CARGO_PKG_NAME"));
        metadata.is_event() && *metadata.level() <= if ours { Level::INFO } else { Level::WARN }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let telling = TELLING.get();
        if !telling.wanted.load(Ordering::Acquire) {
            return;
        }
        let mut line = Line::default();
        event.record(&mut line);
        let level = event.metadata().level().as_str().to_ascii_lowercase();
        let line = json!({"level": level, "target": event.metadata().target(), "message": line.message, "fields": line.fields});
        if let Some(lines) = telling.lines.lock().as_ref() {
            drop(lines.try_send(line));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The parts of an event.
#[derive(Default)]
struct Line {
    message: String,
    fields: Map<String, Value>,
}

impl Line {
    fn put(&mut self, field: &Field, value: Value) {
        if field.name() == "message" {
            self.message = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        } else {
            self.fields.insert(field.name().to_owned(), value);
        }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}
