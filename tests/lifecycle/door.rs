//! Owns the game of the door: a native host opens, answers and closes engines as its own process lives; what it answered in time is kept.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfstudio::ffi::uniffi::{EventStream, HostCalls, HostRefused, StudioEngine};

use super::chance::Chance;
use super::fair::Moment;
use super::model::{Fault, Ignored};
use super::shrink::Played;

/// What the host does.
#[derive(Clone, Debug)]
pub enum Deed {
    Start { may_repeat: bool },
    /// The oldest call that waits is answered.
    Answer,
    /// The engine is closed; calls that wait are answered after some milliseconds.
    Close { within: u64, answers_after: Option<u64> },
    /// A line is logged; its callback takes so long.
    Log { millis: u64 },
    Wait(u64),
}

pub fn deeds(seed: u64, count: usize) -> Vec<Deed> {
    let mut chance = Chance::new(seed ^ 0xd00);
    let deed = |chance: &mut Chance| match chance.below(10) {
        0..=3 => Deed::Start { may_repeat: chance.percent(40) },
        4 | 5 => Deed::Answer,
        6 | 7 => {
            let within = *chance.pick(&[50, 400, 1500]);
            Deed::Close { within, answers_after: chance.percent(60).then(|| 10 + within / 5) }
        }
        8 => Deed::Log { millis: *chance.pick(&[0, 30, 2500]) },
        _ => Deed::Wait(chance.below(30)),
    };
    (0..count.min(12)).map(|_| deed(&mut chance)).collect()
}

/// A call as the host fetched it.
#[derive(Clone, Debug)]
struct Fetched {
    engine: usize,
    door: u64,
    run: String,
    may_repeat: bool,
    /// What it was answered, and whether that was accepted.
    answer: Option<(String, bool)>,
}

/// Takes calls from the library, and lines of log, for which it takes its time.
struct Taker {
    engine: usize,
    calls: Arc<Mutex<Vec<Fetched>>>,
    slow: Arc<Mutex<Duration>>,
}

impl HostCalls for Taker {
    fn take_call(&self, call: String) -> Result<(), HostRefused> {
        let call: Value = serde_json::from_str(&call).unwrap_or_default();
        if call["op"] == "log" {
            let time = *self.slow.lock().expect("a lock");
            std::thread::sleep(time);
        } else if call["op"] == "tool.call" {
            let text = |key: &str| call["payload"][key].as_str().unwrap_or_default().to_owned();
            let fetched = Fetched {
                engine: self.engine, door: call["call_id"].as_u64().unwrap_or(0), run: text("trace_id"), may_repeat: text("name") == "note", answer: None,
            };
            self.calls.lock().expect("a lock").push(fetched);
        }
        Ok(())
    }
}

struct Host {
    config: Value,
    engine: Option<(usize, Arc<StudioEngine>)>,
    opened: usize,
    streams: Vec<Arc<EventStream>>,
    calls: Arc<Mutex<Vec<Fetched>>>,
    slow: Arc<Mutex<Duration>>,
    story: Vec<String>,
    _folder: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let fast = std::path::Path::new("/dev/shm");
        let folder = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() }.expect("a folder");
        let path = folder.path().join("studio.sqlite");
        let config = json!({
            "environment": "local", "database": super::place::database(path.to_str().expect("a path")), "worker": {"in_process": true},
            "timeouts": {"cancel_grace_ms": 100},
        });
        let (calls, slow) = (Arc::default(), Arc::default());
        Self { config, engine: None, opened: 0, streams: Vec::new(), calls, slow, story: Vec::new(), _folder: folder }
    }

    fn engine(&mut self) -> (usize, Arc<StudioEngine>) {
        if let Some(open) = &self.engine {
            return open.clone();
        }
        let engine = StudioEngine::open(self.config.to_string()).expect("an engine");
        let tool = |name: &str| json!({"name": name, "description": name, "idempotent": name == "note"});
        let declared = json!({"ops": ["tool.call", "log"], "tools": [tool("note"), tool("pay")]});
        let taker = Taker { engine: self.opened, calls: Arc::clone(&self.calls), slow: Arc::clone(&self.slow) };
        engine.set_host(declared.to_string(), Some(Arc::new(taker))).expect("a host");
        self.opened += 1;
        self.engine.insert((self.opened - 1, engine)).clone()
    }

    fn act(&mut self, deed: &Deed) -> Result<(), Fault> {
        match *deed {
            Deed::Start { may_repeat } => {
                let (_, engine) = self.engine();
                let name = if may_repeat { "note" } else { "pay" };
                let node = format!("tool_1{{tool_ref: \"host:{name}\", idempotent: {may_repeat}}}");
                let graph = wfstudio::model::sketch::graph(&format!("start -> {node} -> stop")).expect("a sketch");
                let saved = engine.call("workflow.save".into(), json!({"name": name, "slug": name, "graph": graph}).to_string()).map_err(refused)?;
                let saved: Value = serde_json::from_str(&saved).unwrap_or_default();
                let stream = engine.run(json!({"workflow": saved["id"], "message": "hi"}).to_string()).map_err(refused)?;
                self.streams.push(stream);
                std::thread::sleep(Duration::from_millis(8));
            }
            Deed::Answer => self.answer_one(),
            Deed::Close { within, answers_after } => self.close(within, answers_after)?,
            Deed::Log { millis } => {
                let _engine = self.engine();
                *self.slow.lock().expect("a lock") = Duration::from_millis(millis);
                tracing::warn!("a line");
            }
            Deed::Wait(millis) => std::thread::sleep(Duration::from_millis(millis)),
        }
        Ok(())
    }

    fn answer_one(&mut self) {
        let Some((no, engine)) = self.engine.clone() else { return };
        let open = self.calls.lock().expect("a lock").iter().position(|call| call.engine == no && call.answer.is_none());
        if let Some(at) = open {
            answer(&engine, &self.calls, at);
        }
    }

    fn close(&mut self, within: u64, answers_after: Option<u64>) -> Result<(), Fault> {
        let Some((no, engine)) = self.engine.take() else { return Ok(()) };
        let (calls, answering, closed) = (Arc::clone(&self.calls), Arc::clone(&engine), Arc::new(AtomicBool::new(false)));
        let (over, asked) = (Arc::clone(&closed), Instant::now());
        let answers = std::thread::spawn(move || {
            let Some(after) = answers_after else { return false };
            std::thread::sleep(Duration::from_millis(after));
            let count = calls.lock().expect("a lock").len();
            let open: Vec<usize> = (0..count).filter(|at| is_open(&calls, *at, no)).collect();
            let in_time = !over.load(Ordering::SeqCst);
            let refused = open.into_iter().filter(|at| !answer(&answering, &calls, *at)).count();
            // By the clock: a thread that stood still meanwhile may have come when the time was over.
            in_time && refused > 0 && within >= 400 && asked.elapsed() < Duration::from_millis(within / 2)
        });
        let began = Moment::now();
        let _closed_before = engine.shutdown(i32::try_from(within).unwrap_or(i32::MAX));
        let took = began.elapsed();
        closed.store(true, Ordering::SeqCst);
        let refused_in_time = answers.join().unwrap_or(false);
        self.story.push(format!("closing within {within} ms took {} ms", took.as_millis()));
        self.streams.clear();
        *self.slow.lock().expect("a lock") = Duration::ZERO;
        if took > Duration::from_millis(within + 1500) {
            return Err(Fault { rule: "door_close", text: format!("closing within {within} ms took {} ms", took.as_millis()) });
        }
        if refused_in_time {
            return Err(Fault { rule: "door_refused", text: "an answer was refused while the engine was being closed and had time".into() });
        }
        Ok(())
    }

    /// Everything is answered; what became of each run must fit what the host was asked and said.
    fn finish(&mut self) -> Result<(), Fault> {
        let (_, engine) = self.engine();
        let runs: Vec<String> = {
            let calls = self.calls.lock().expect("a lock");
            let mut runs: Vec<String> = calls.iter().map(|call| call.run.clone()).collect();
            runs.sort();
            runs.dedup();
            runs
        };
        let began = Moment::now();
        for run in runs {
            let trace = loop {
                self.answer_one();
                let trace = engine.call("trace.get".into(), json!({"trace_id": run}).to_string()).map_err(refused)?;
                let trace: Value = serde_json::from_str(&trace).unwrap_or_default();
                if trace["trace"]["status"] != "running" {
                    break trace;
                }
                if began.elapsed() > Duration::from_secs(8) {
                    return Err(Fault { rule: "door_rest", text: format!("run {run} does not come to rest: {}", trace["trace"]) });
                }
                std::thread::sleep(Duration::from_millis(2));
            };
            fits(&trace, self.calls.lock().expect("a lock").iter().filter(|call| call.run == run).cloned().collect())?;
        }
        Ok(())
    }
}

fn is_open(calls: &Mutex<Vec<Fetched>>, at: usize, engine: usize) -> bool {
    let calls = calls.lock().expect("a lock");
    calls[at].engine == engine && calls[at].answer.is_none()
}

/// Answers a call; whether that was accepted.
fn answer(engine: &StudioEngine, calls: &Mutex<Vec<Fetched>>, at: usize) -> bool {
    let door = calls.lock().expect("a lock")[at].door;
    let serial = format!("s{at};");
    let accepted = engine.complete_host_call(i64::try_from(door).unwrap_or(-1), 1, json!({"serial": serial}).to_string()).is_ok();
    calls.lock().expect("a lock")[at].answer = Some((serial, accepted));
    accepted
}

fn fits(trace: &Value, calls: Vec<Fetched>) -> Result<(), Fault> {
    let head = &trace["trace"];
    let code = head["error"]["code"].as_str().unwrap_or_default();
    if head["status"] == "failed" && code != "in_doubt" {
        return Err(Fault { rule: "door_failed", text: format!("the host failed no call, and a run is {}: {calls:?}", head["error"]) });
    }
    if calls.len() > 1 && !calls[0].may_repeat {
        return Err(Fault { rule: "repeat", text: format!("a call that may not be repeated was made {} times: {calls:?}", calls.len()) });
    }
    let kept = calls.iter().find(|call| call.answer.as_ref().is_some_and(|(_, accepted)| *accepted));
    if let Some(kept) = kept
        && head["status"] != "completed"
    {
        return Err(Fault { rule: "door_lost", text: format!("the answer {:?} was accepted, and the run is {}", kept.answer, head["error"]) });
    }
    Ok(())
}

fn refused(error: wfstudio::ffi::uniffi::StudioError) -> Fault {
    Fault { rule: "refused", text: error.to_string() }
}

pub async fn play(_seed: u64, wanted: Vec<(usize, Deed)>, ignored: Ignored) -> Played {
    let deeds = wanted.len();
    let played = tokio::task::spawn_blocking(move || {
        let mut host = Host::new();
        let mut fault = None;
        for (at, deed) in &wanted {
            host.story.push(format!("{at}: {deed:?}"));
            fault = host.act(deed).err().filter(|fault| !ignored.0.contains(fault.rule));
            if fault.is_some() {
                break;
            }
        }
        let fault = fault.or_else(|| host.finish().err().filter(|fault| !ignored.0.contains(fault.rule)));
        *host.slow.lock().expect("a lock") = Duration::ZERO;
        if let Some((_, engine)) = host.engine.take() {
            let _closed_before = engine.shutdown(500);
        }
        let calls = host.calls.lock().expect("a lock").len();
        Played { fault, story: std::mem::take(&mut host.story), deeds, calls }
    });
    played.await.expect("a game")
}
