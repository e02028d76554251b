//! Owns proof of how an engine ends: who may still answer, what is stored of calls, which callbacks are over.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::super::fault::Code;
use crate::model::event::EntityKind;
use super::stream::Next;
use super::stream_state::StreamState;
use super::{Answering, Engine, process, set_log};

const DECLARED: &[u8] = br#"{"ops":["tool.call"],"tools":[{"name":"pay"}]}"#;

fn open(folder: &Path, works: bool) -> Arc<Engine> {
    let path = folder.join("studio.sqlite");
    let config = json!({"environment": "local", "database": {"path": path}, "worker": {"in_process": works}});
    process::open(config.to_string().as_bytes()).ok().expect("an engine")
}

fn called(engine: &Engine, op: &str, request: &Value) -> Value {
    let answer = engine.call(op, request.to_string().as_bytes()).unwrap_or_else(|fault| panic!("{}", fault.text()));
    serde_json::from_slice(&answer).expect("JSON")
}

/// Runs one tool of the host; the run's stream.
fn run(engine: &Arc<Engine>, inline: bool) -> Arc<super::Stream> {
    let graph = crate::model::sketch::graph("start -> tool_1{tool_ref: \"host:pay\"} -> stop").expect("a sketch");
    called(engine, "workflow.save", &json!({"name": "Pays", "graph": graph}));
    let mut request = json!({"workflow": "pays", "message": "hi"});
    if inline {
        request["host_calls"] = "inline".into();
    }
    engine.run(request.to_string().as_bytes()).unwrap_or_else(|fault| panic!("{}", fault.text()))
}

/// A run whose host has its call; the call's number and the run.
fn paying(engine: &Arc<Engine>) -> (u64, String) {
    assert!(engine.host_set(DECLARED, || None).is_ok());
    let _stream = run(engine, false);
    let call = engine.host_next(60_000).ok().flatten().expect("a call");
    let call: Value = serde_json::from_slice(&call).expect("JSON");
    (call["call_id"].as_u64().expect("a number"), call["payload"]["trace_id"].as_str().expect("a run").to_owned())
}

#[test]
fn a_host_answers_its_calls_while_its_engine_is_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let (call, run) = paying(&engine);
    std::thread::scope(|threads| {
        let closing = threads.spawn(|| engine.close(Duration::from_secs(60)).is_ok());
        let until = Instant::now() + Duration::from_secs(30);
        while engine.call("ops", b"").is_ok() {
            assert!(Instant::now() < until, "nothing new begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(engine.host_complete(call, 1, b"\"paid\"").is_ok());
        assert!(closing.join().expect("no panic"));
    });
    let again = open(folder.path(), false);
    let trace = called(&again, "trace.get", &json!({"trace_id": run}));
    assert_eq!((&trace["steps"][0]["status"], &trace["steps"][0]["output"]["tool_result"]["result"]), (&json!("completed"), &json!("paid")), "{trace}");
    assert!(again.close(Duration::from_secs(5)).is_ok());
}

#[test]
fn a_call_that_the_host_does_not_answer_in_time_is_in_doubt_and_has_not_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let (call, run) = paying(&engine);
    let began = Instant::now();
    assert!(engine.close(Duration::from_millis(800)).is_ok());
    // The call would be given up after half a minute.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(engine.host_complete(call, 1, b"1").is_err());
    let again = open(folder.path(), true);
    assert!(again.host_set(DECLARED, || None).is_ok());
    let mut error = Value::Null;
    for _ in 0..2400 {
        let trace = called(&again, "trace.get", &json!({"trace_id": run}));
        error = trace["trace"]["error"].clone();
        if trace["trace"]["status"] == "failed" {
            break;
        }
        std::thread::sleep(Duration::from_millis(25));
    }
    assert_eq!((&error["code"], &error["calls"][0]["name"]), (&json!("in_doubt"), &json!("pay")), "{error}");
    assert!(again.close(Duration::from_secs(5)).is_ok());
}

/// A run that waits, and a studio beside it that takes none.
async fn queued(folder: &Path) -> (crate::studio::Studio, crate::model::ids::Id) {
    let path = folder.join("studio.sqlite");
    let config = json!({"environment": "local", "async_runs_enabled": true, "database": {"path": path}, "worker": {"in_process": false}});
    let studio = crate::studio::Studio::open(crate::config::Config::with(config).expect("a configuration")).expect("a studio");
    let scope = crate::studio::Scope::default();
    let graph = crate::model::sketch::graph("start -> stop").expect("a sketch");
    let saved = studio.create(&scope, crate::studio::Resource::Workflow, &json!({"name": "Rests", "graph": graph})).await.expect("a workflow");
    let body = crate::studio::runs::requests::RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body");
    let id = saved["id"].as_str().expect("an id");
    let run = studio.start(&scope, EntityKind::Workflow, id, body, true).await.expect("a run").run;
    (studio, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_a_worker_that_is_given_up_takes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (studio, run) = queued(folder.path()).await;
    let (held, free) = std::sync::mpsc::channel::<()>();
    let (begun, begins) = std::sync::mpsc::channel::<()>();
    let writer = studio.clone();
    let hold = move |_: &mut crate::store::Tx<'_>| Ok(begun.send(()).is_ok() && free.recv_timeout(Duration::from_secs(60)).is_ok());
    let holding = tokio::spawn(async move { writer.world().store.write(hold).await });
    begins.recv_timeout(Duration::from_secs(60)).expect("the writer is held");
    let stepping = studio.clone();
    let step = tokio::spawn(async move { super::ops::call(&stepping, "worker.step", b"{}").await.is_ok() });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!step.is_finished(), "its claim waits for the writer");
    step.abort();
    assert!(step.await.is_err());
    held.send(()).expect("it waits");
    assert!(holding.await.expect("no panic").expect("a store"));
    studio.world().store.write(|_| Ok(())).await.expect("what waited is written");
    let row = studio.world().store.read(move |tx| crate::store::runs::get(tx, "", &run)).await.expect("a store").expect("a run");
    assert_eq!((row.status.as_str(), row.owner, row.tries), ("queued", None, 0));
    assert!(super::ops::call(&studio, "worker.step", b"{}").await.is_ok());
    let row = studio.world().store.read(move |tx| crate::store::runs::get(tx, "", &run)).await.expect("a store").expect("a run");
    assert_eq!(row.status, "completed");
}

#[test]
fn what_a_mount_asks_starts_no_workers() {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (studio, run) = runtime.block_on(queued(folder.path()));
    let config = json!({"environment": "local", "async_runs_enabled": true, "database": {"path": folder.path().join("studio.sqlite")}});
    let engine = process::open(config.to_string().as_bytes()).ok().expect("an engine");
    let status = || {
        let row = studio.world().store.read(move |tx| crate::store::runs::get(tx, "", &run));
        runtime.block_on(row).expect("a store").expect("a run").status
    };
    assert_eq!(called(&engine, "about", &json!({}))["mounts"], json!(["/api/studio", "/studio"]));
    let stream = engine.start("about", b"", bytes::Bytes::new()).unwrap_or_else(|fault| panic!("{}", fault.text()));
    assert!(matches!(stream.next(0), Ok(Next::Head(head)) if head.starts_with(b"{\"version\":")));
    assert!(matches!(stream.next(0), Ok(Next::Over)) && stream.close().is_ok());
    std::thread::sleep(Duration::from_millis(700));
    assert!(engine.is_untouched() && status() == "queued");
    called(&engine, "start", &json!({}));
    for _ in 0..1200 {
        if status() == "completed" {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status(), "completed");
    assert!(engine.close(Duration::from_secs(5)).is_ok());
}

#[test]
fn a_short_answer_arrives_whole_and_wakes_its_reader_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let head = br#"{"method":"GET","path":"/studio/api/settings"}"#;
    let stream = engine.start("http", head, bytes::Bytes::new()).unwrap_or_else(|fault| panic!("{}", fault.text()));
    stream.enlist(7);
    assert_eq!(engine.ready(60_000, 9).ok(), Some(vec![7]));
    // What follows is read without waiting.
    let Ok(Next::Head(_)) = stream.next(0) else { panic!("no head") };
    let Ok(Next::Bytes(body)) = stream.next_batch(0, 0) else { panic!("no body") };
    assert!(serde_json::from_slice::<Value>(&body).is_ok(), "the whole body");
    assert!(matches!(stream.next(0), Ok(Next::Over)));
    assert_eq!(engine.ready(0, 9).ok(), Some(vec![]));
    assert!(engine.close(Duration::from_secs(5)).is_ok());
}

#[test]
fn no_callback_begins_or_runs_on_after_close() {
    static RUNS: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let slow: Answering = Arc::new(|_| {
        RUNS.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(400));
        RUNS.store(false, Ordering::SeqCst);
        true
    });
    assert!(engine.host_set(DECLARED, || Some(slow)).is_ok());
    let _stream = run(&engine, true);
    std::thread::sleep(Duration::from_millis(300));
    assert!(engine.close(Duration::from_secs(60)).is_ok());
    for _ in 0..10 {
        assert!(!RUNS.load(Ordering::SeqCst));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "run by the test below, in a process of its own"]
fn in_a_process_of_its_own() {
    static ENTERED: AtomicBool = AtomicBool::new(false);
    static RETURNED: AtomicBool = AtomicBool::new(false);
    let wait = |what: &AtomicBool| {
        let until = Instant::now() + Duration::from_secs(60);
        while !what.load(Ordering::SeqCst) {
            assert!(Instant::now() < until, "it takes too long");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    called(&engine, "ops", &json!({}));
    set_log(Some(Arc::new(|_| {
        ENTERED.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_secs(9));
    })));
    tracing::warn!("a line");
    wait(&ENTERED);
    let began = Instant::now();
    assert!(engine.host_set(br#"{"ops":["log"]}"#, || None).is_ok());
    assert!(engine.close(Duration::from_millis(100)).is_ok());
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    let _other = open(folder.path(), false);
    set_log(Some(Arc::new(|_| {
        process::shutdown(Duration::from_millis(200));
        RETURNED.store(true, Ordering::SeqCst);
    })));
    tracing::warn!("another line");
    wait(&RETURNED);
}

#[test]
fn a_log_callback_holds_nobody_longer_than_their_time() {
    let program = std::env::current_exe().expect("this program");
    let own = ["--exact", "ffi::door::tests::in_a_process_of_its_own", "--ignored", "--nocapture"];
    let ended = std::process::Command::new(program).args(own).output().expect("a process");
    assert!(ended.status.success(), "{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
}

/// A stream of a run without calls, told to a callback that takes its time with the first bytes.
fn codes_of(engine: &Arc<Engine>, slow: Duration, over: &'static AtomicBool) -> std::sync::mpsc::Receiver<i32> {
    let graph = crate::model::sketch::graph("start -> stop").expect("a sketch");
    called(engine, "workflow.save", &json!({"slug": "ends", "name": "Ends", "graph": graph}));
    let stream = engine.run(br#"{"workflow":"ends","message":"hi"}"#).unwrap_or_else(|fault| panic!("{}", fault.text()));
    let (sender, codes) = std::sync::mpsc::channel();
    let (watched, mut first) = (Arc::downgrade(engine), true);
    let listener = move |code: i32, _: &[u8]| {
        let _nobody_asks = sender.send(code);
        if std::mem::take(&mut first) {
            std::thread::sleep(slow);
            over.store(watched.upgrade().is_some_and(|engine| engine.is_over()), Ordering::SeqCst);
        }
        true
    };
    assert!(super::on_event(&stream, || Box::new(listener)).is_ok());
    codes
}

#[test]
fn the_callback_of_a_stream_that_is_over_is_not_waited_for() {
    static OVER: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let codes = codes_of(&engine, Duration::ZERO, &OVER);
    while codes.recv_timeout(Duration::from_secs(60)).expect("the end is told") != 1 {}
    let began = Instant::now();
    assert!(engine.close(Duration::from_secs(60)).is_ok());
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn an_engine_takes_answers_until_the_callbacks_of_its_streams_are_over() {
    static OVER: AtomicBool = AtomicBool::new(true);
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let codes = codes_of(&engine, Duration::from_millis(700), &OVER);
    assert_eq!(codes.recv_timeout(Duration::from_secs(60)), Ok(0));
    assert!(engine.close(Duration::from_secs(60)).is_ok());
    assert!(engine.is_over() && !OVER.load(Ordering::SeqCst));
}

#[test]
fn what_is_saved_under_a_slug_that_nobody_has_is_made_and_an_unknown_id_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let graph = crate::model::sketch::graph("start -> stop").expect("a sketch");
    let mut saves = json!({"slug": "not-there-yet", "name": "First", "graph": graph});
    assert_eq!(called(&engine, "workflow.save", &saves)["slug"], "not-there-yet");
    saves["name"] = "Second".into();
    assert_eq!(called(&engine, "workflow.save", &saves)["name"], "Second");
    saves["id"] = "0199a000-0000-7000-8000-000000000000".into();
    assert!(engine.call("workflow.save", saves.to_string().as_bytes()).is_err());
}

#[test]
fn of_several_who_save_one_slug_at_once_nobody_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    for round in 0..20 {
        let saves = json!({"slug": format!("shared-{round}"), "name": "Shared"});
        let saved = std::thread::scope(|threads| {
            let saving: Vec<_> = (0..6).map(|_| threads.spawn(|| called(&engine, "agent.save", &saves)["id"].to_string())).collect();
            saving.into_iter().map(|saving| saving.join().expect("no refusal")).collect::<std::collections::HashSet<_>>()
        });
        assert_eq!(saved.len(), 1, "one agent");
    }
    assert!(engine.call("workflow.save", br#"{"slug":"preview","name":"Taken by a path"}"#).is_err());
}

#[test]
fn a_stream_that_is_closed_in_the_middle_is_never_told_as_one_that_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path(), false);
    let _used = called(&engine, "health", &Value::Null);
    for round in 0..2_000 {
        let stream_state = Arc::new(StreamState::default());
        // The work behind it ends as soon as its reader leaves.
        let left = Arc::clone(&stream_state);
        let source = futures_util::stream::once(async move { left.left().await }).filter_map(|()| std::future::ready(None));
        let stream = super::Stream::begun(&engine, Box::pin(source), stream_state, false);
        std::thread::scope(|threads| {
            let reads = threads.spawn(|| stream.next(-1));
            if round % 2 == 0 {
                std::thread::yield_now();
            }
            assert!(stream.close().is_ok());
            let told = reads.join().expect("no panic");
            assert!(told.is_err_and(|fault| fault.code == Code::Closed as i32), "round {round}: told as an end");
        });
    }
    assert!(engine.close(Duration::from_secs(5)).is_ok());
}

#[test]
fn a_backup_says_what_it_holds() {
    let (folder, copies) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let engine = open(folder.path(), false);
    let path = copies.path().join("copy.sqlite");
    let told = called(&engine, "backup", &json!({"path": path}));
    let files = json!({"path": copies.path().join("attachments"), "copied": 0, "kept": 0, "missing": 0});
    assert_eq!(told, json!({"path": path, "attachments": files, "resting_runs": 0}));
    assert!(engine.call("backup", json!({"path": path}).to_string().as_bytes()).is_err_and(|fault| fault.text().contains("exists")));
    let rests = called(&engine, "command", &json!({"args": ["runs:rest"]}));
    assert_eq!((&rests["exit"], &rests["stdout"]), (&json!(0), &json!("Marked 0 run(s).\n")));
    assert!(engine.close(Duration::from_secs(5)).is_ok());
}
