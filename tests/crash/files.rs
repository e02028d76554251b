//! A process dies while a picture that a model made is on its way into storage: it is there once with the entry that names it, and nothing lies
//! where nobody would find it.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wfstudio::clock::{Clock, SystemClock};
use wfstudio::engine::{From, Order};
use wfstudio::model::{Id, Timestamp};
use wfstudio::studio::{Options, TraceQuery};

use crate::fallbacks::request;
use crate::place;
use crate::program::{Program, say};
use crate::resume::frames_of;
use crate::support::{Bench, folder, graph, workflow_runs};

/// A picture of one dot.
pub const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A server whose model makes a picture of whatever it is told.
#[derive(Clone)]
struct Painter {
    url: String,
    asked: Arc<Mutex<usize>>,
}

impl Painter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let painter = Self { url: format!("http://{}/v1", listener.local_addr().expect("an address")), asked: Arc::default() };
        let serving = painter.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let _it_may_be_gone = serving.serve(connection);
            }
        });
        painter
    }

    fn serve(&self, mut connection: TcpStream) -> Option<()> {
        request(&mut connection)?;
        *self.asked.lock().expect("asked") += 1;
        let images = json!([{"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PICTURE}")}}]);
        let message = json!({"role": "assistant", "content": "A dot.", "images": images});
        let usage = json!({"prompt_tokens": 7, "completion_tokens": 5});
        let answer = json!({"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
        connection.write_all(format!("{head}{answer}").as_bytes()).ok()
    }

    fn settings(&self) -> Value {
        let provider = json!({"kind": "openai-compatible", "base_url": self.url, "max_retries": 0});
        json!({"providers": {"cloud": provider}, "runs": {"lease_seconds": 1}})
    }
}

fn drawing() -> Value {
    let data = json!({"provider": "cloud", "model": "painter", "prompt": "Draw.", "files_key": "drawn"});
    graph(&[("start", "start", json!({})), ("draw", "llm", data), ("stop", "stop", json!({}))], &[("start", "draw"), ("draw", "stop")])
}

/// Two days later: what nothing names was due to be removed.
#[derive(Default)]
struct Later(SystemClock);

impl Clock for Later {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.now().0 + 2 * 86_400_000)
    }

    fn id(&self) -> Id {
        self.0.id()
    }

    fn random(&self, into: &mut [u8]) {
        self.0.random(into);
    }
}

fn die() {
    let _this_process_ends_here = std::process::Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
    std::thread::sleep(Duration::from_secs(60));
}

/// Starts a run and dies at the given border of a write, or so many microseconds after the first bytes of a picture lie in the folder.
pub async fn program(folder: &Path, given: &Value) {
    let at = given["kill_at"].as_u64().unwrap_or(u64::MAX);
    let count = Arc::new(AtomicU64::new(u64::MAX / 2));
    let counted = Arc::clone(&count);
    let hook = move |_, _, _| {
        if counted.fetch_add(1, Ordering::SeqCst) + 1 == at {
            die();
        }
    };
    if let Some(after) = given["kill_with_bytes"].as_u64() {
        let room = folder.join("attachments");
        std::thread::spawn(move || {
            while lying(&room) == 0 {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_micros(after));
            nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL)
        });
    }
    let options = Options { on_append: Some(Arc::new(hook)), ..Options::default() };
    let bench = Bench::open_with(folder, given["settings"].clone(), options, Arc::new(|| ()));
    let workflow = bench.workflow("draw", drawing()).await;
    count.store(0, Ordering::SeqCst);
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    bench.until(&run, "completed", Duration::from_secs(60)).await;
    // The last write can be read before its second border is passed.
    for _ in 0..6000 {
        if count.load(Ordering::SeqCst).is_multiple_of(2) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    say(&format!("ran {}", count.swap(u64::MAX / 2, Ordering::SeqCst)));
}

fn lying(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { lying(&entry.path()) } else { 1 }).sum()
}

/// Another engine goes on with the run; there is one picture, and whatever else lies in the folder is noted to be removed.
async fn go_on(folder: &Path, painter: &Painter, what: &str) {
    let bench = Bench::open(folder, painter.settings());
    bench.studio.take_over().await.expect("a studio");
    let Some(run) = workflow_runs(&bench).await.first().copied() else { return };
    bench.until(&run, "completed", Duration::from_secs(60)).await;
    let trace = bench.studio.trace(&bench.scope, &run.to_string(), TraceQuery::default()).await.expect("a trace");
    let drawn = trace["trace"]["output"]["drawn"].as_array().expect("files");
    assert_eq!(drawn.len(), 1, "{what}");
    let key = drawn[0]["storage_key"].as_str().expect("a key");
    assert_eq!(bench.studio.attachment(&bench.scope, key).await.expect("the picture").bytes.len(), 70, "{what}");
    let answered = trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "llm" && span["status"] == "completed").count();
    assert_eq!((answered, &trace["trace"]["total_tokens"]), (1, &json!(12)), "{what}");
    let path = folder.join("studio.sqlite");
    if path.exists() {
        let database = rusqlite::Connection::open(&path).expect("a database");
        let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a number");
        assert_eq!(count("SELECT COUNT(*) FROM studio_attachments"), 1, "{what}");
        assert_eq!(count("SELECT COUNT(*) FROM studio_attachments WHERE used = 1"), 1, "{what}");
        let noted = count("SELECT COUNT(*) FROM studio_files_to_remove");
        assert!(i64::try_from(lying(&folder.join("attachments"))).expect("a few") <= 1 + noted, "{what}: bytes lie where nobody finds them");
    }
    for order in [Order::Ordered, Order::Live] {
        let told = frames_of(&bench, &run, From { order, after: 0 }, usize::MAX).await;
        let named: Vec<&Value> = told.iter().filter(|(_, event, _)| event == "file").map(|(.., data)| &data["storage_key"]).collect();
        assert_eq!(named, [key], "{what}: it is told once, {order:?}");
    }
    let later = Bench::open_with(folder, painter.settings(), Options { clock: Some(Arc::new(Later::default())), ..Options::default() }, Arc::new(|| ()));
    later.studio.purge(CancellationToken::new()).await.expect("a purge");
    if path.exists() {
        assert_eq!(lying(&folder.join("attachments")), 1, "{what}: what nothing names is removed");
    }
    assert_eq!(bench.studio.attachment(&bench.scope, key).await.expect("the picture").bytes.len(), 70, "{what}: and what a run names stays");
    bench.studio.delete_run(&bench.scope, &run.to_string()).await.expect("deleted");
    assert!(bench.studio.attachment(&bench.scope, key).await.is_err(), "{what}: it goes with its run");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_stored_once_whenever_its_process_dies() {
    let (whole, painter) = (folder(), Painter::start());
    let mut program = Program::run("files", whole.path(), &json!({"settings": painter.settings()}));
    let said = program.next().expect("its end");
    let borders: u64 = said.strip_prefix("ran ").and_then(|count| count.parse().ok()).expect("a number");
    program.kill();
    assert_eq!((*painter.asked.lock().expect("asked"), borders), (1, 4), "two writes, with the border before and after each");
    for at in 1..=borders {
        let (folder, painter) = (folder(), Painter::start());
        let mut program = Program::run("files", folder.path(), &json!({"settings": painter.settings(), "kill_at": at}));
        let said = program.next();
        program.kill();
        // The lease of the dead one ends first.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        go_on(folder.path(), &painter, &format!("border {at} of {borders} ({said:?})")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_told_once_when_its_process_dies_while_its_bytes_are_laid_down() {
    if place::on_server("").is_some() {
        return;
    }
    let mut died = 0;
    for after in [0, 0, 50, 200, 500, 1000, 2000, 4000] {
        let (folder, painter) = (folder(), Painter::start());
        let mut program = Program::run("files", folder.path(), &json!({"settings": painter.settings(), "kill_with_bytes": after}));
        let said = program.next();
        program.kill();
        died += usize::from(said.is_none());
        go_on(folder.path(), &painter, &format!("{after} us after the first bytes ({said:?})")).await;
        assert!(*painter.asked.lock().expect("asked") <= 2);
    }
    assert!(died > 3, "{died} died");
}
