//! Owns the programs that tests run as processes of their own, and kill. A program is this very binary with a role.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::{Follow, From, Order};
use wfstudio::model::Id;

use crate::support::{Bench, graph, mark, single};
use crate::{billing, fallbacks, files, growth, ingest, keys, models, sweep, tails};

const ROLE: &str = "STUDIO_TEST_ROLE";
const FOLDER: &str = "STUDIO_TEST_FOLDER";
const GIVEN: &str = "STUDIO_TEST_GIVEN";

/// A program of a role, with its standard input and output.
pub struct Program {
    pub child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Program {
    pub fn run(role: &str, folder: &Path, given: &Value) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "program::role", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(FOLDER, folder)
            .env(GIVEN, given.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("a process");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Self { child, output }
    }

    /// The next line that it says to its starter; none when it ended.
    pub fn next(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("its output") > 0 {
            if let Some((_, said)) = line.split_once("SAY ") {
                return Some(said.trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    pub fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush()).expect("its input");
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("a signal");
        self.child.wait().expect("its end");
    }
}

/// What a program says to its starter.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("SAY {line}\n").as_bytes()).and_then(|()| out.flush()).expect("output");
}

/// Does nothing in the test run itself; in a process of its own, what its role says.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let folder = PathBuf::from(std::env::var(FOLDER).expect("a folder"));
    let given: Value = serde_json::from_str(&std::env::var(GIVEN).expect("JSON")).expect("JSON");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match role.as_str() {
        "sweep" => runtime.block_on(sweep::program(&folder, &given)),
        "resume" => runtime.block_on(resumer(&folder)),
        "follow" => runtime.block_on(follower(&folder, given)),
        "work" => runtime.block_on(worker(&folder, given)),
        "bill" => runtime.block_on(billing::program(&folder, &given)),
        "ingest" => runtime.block_on(ingest::program(&folder, &given)),
        "fallback" => runtime.block_on(fallbacks::program(&folder, &given)),
        "models" => runtime.block_on(models::program(&folder, &given)),
        "files" => runtime.block_on(files::program(&folder, &given)),
        "key" => runtime.block_on(keys::program(&folder, &given)),
        "clock" => runtime.block_on(tails::program(&folder, &given)),
        "grow" => runtime.block_on(growth::program(&folder)),
        other => panic!("there is no role {other}"),
    }
}

/// Resumes the pauses that it is told of, each at once.
async fn resumer(folder: &Path) {
    let bench = Bench::open(folder, json!({}));
    bench.studio.take_over().await.expect("a studio");
    say("ready");
    for line in std::io::stdin().lines() {
        let line = line.expect("a line");
        let (run, pause) = line.split_once(' ').expect("a run and a pause");
        let run: Id = run.parse().expect("an id");
        let mut answer = json!({"message": "go on"});
        if pause != "-" {
            answer["pause_id"] = pause.into();
        }
        match bench.resume(&run, answer).await {
            Ok(_) => say("won"),
            Err(error) => say(&format!("{:?}", error.kind)),
        }
    }
    while bench.studio.world().at_work() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts one run of one node and says which; goes on until it is killed or told to end.
async fn worker(folder: &Path, mut given: Value) {
    let settings = given["settings"].take();
    let bench = Bench::open(folder, settings);
    if let Some(node) = given.get("node") {
        let graph = single(node["type"].as_str().expect("a type"), node["data"].clone());
        let workflow = bench.workflow("single", graph).await;
        let started = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run");
        say(&started.run.to_string());
    } else {
        say(&bench.studio.take_over().await.expect("a studio").to_string());
    }
    let told = tokio::task::spawn_blocking(|| std::io::stdin().lines().next().and_then(Result::ok));
    if told.await.expect("a thread").as_deref() == Some("shut down") {
        bench.studio.shutdown(Duration::from_secs(5)).await;
        mark(&folder.join("ended"), "shut down");
    }
}

/// Starts a run of one node and says what it is told of it, until it is killed.
async fn follower(folder: &Path, given: Value) {
    let bench = Bench::open(folder, json!({}));
    let graph = single(given["node"]["type"].as_str().expect("a type"), given["node"]["data"].clone());
    let workflow = bench.workflow("single", graph).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    say(&run.to_string());
    let order = if given["live"] == true { Order::Live } else { Order::Ordered };
    let from = From { order, after: 0 };
    let stream = bench.studio.events(&bench.scope, &run.to_string(), from, Follow::Tail).await.expect("a stream");
    let mut stream = stream.expect("frames");
    while let Some(batch) = stream.next_batch().await {
        batch.iter().for_each(|frame| say(&format!("{} {}", frame.number(), frame.event())));
    }
}

/// A graph that pauses and then pays.
pub fn ask_and_pay() -> Value {
    graph(
        &[
            ("start", "start", json!({})),
            ("human", "human", json!({"prompt": "Well?"})),
            ("pay", "tool", json!({"tool_ref": "host:pay", "output_key": "paid"})),
            ("stop", "stop", json!({})),
        ],
        &[("start", "human"), ("human", "pay"), ("pay", "stop")],
    )
}
