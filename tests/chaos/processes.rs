//! Owns the processes of the storm: hosts that listen, workers that are killed and replaced, their logs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Storm;

/// All processes.
pub struct Zoo {
    folder: PathBuf,
    /// Where hosts listen.
    pub hosts: Vec<String>,
    host_processes: Mutex<Vec<Child>>,
    workers: Mutex<Vec<Child>>,
    names: std::sync::atomic::AtomicUsize,
}

/// Seconds that a run belongs to a process that says nothing.
pub const LEASE: u64 = 3;

fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_studio")).parent().expect("a folder").to_path_buf()
}

fn configuration(database: &str, port: u16) -> serde_json::Value {
    json!({
        "environment": "local",
        "async_runs_enabled": true,
        "database": {"url": database},
        "worker": {"in_process": false, "concurrency": 12},
        "runs": {"lease_seconds": LEASE},
        "queue_tries": 2,
        "queue_backoff": 1,
        "webhook": {"allow_private": ["127.0.0.1"]},
        "default_provider": "storm", "default_model": "talk",
        "providers": {"storm": {"kind": "openai-compatible", "base_url": format!("http://127.0.0.1:{port}/v1")}},
    })
}

impl Zoo {
    pub async fn open(folder: &Path, database: &str, port: u16, storm: Storm) -> Self {
        let file = folder.join("studio.json");
        std::fs::write(&file, configuration(database, port).to_string()).expect("a configuration");
        let mut zoo = Self {
            folder: folder.to_path_buf(),
            hosts: Vec::new(),
            host_processes: Mutex::default(),
            workers: Mutex::default(),
            names: std::sync::atomic::AtomicUsize::default(),
        };
        for _ in 0..storm.hosts {
            let address = zoo.start_host();
            zoo.hosts.push(address);
        }
        for _ in 0..storm.workers {
            let worker = zoo.start_worker();
            zoo.workers.lock().expect("workers").push(worker);
        }
        zoo
    }

    fn output(&self, name: &str) -> (Stdio, Stdio) {
        let open = |suffix: &str| {
            let path = self.folder.join(format!("{name}.{suffix}"));
            std::fs::OpenOptions::new().append(true).create(true).open(path).expect("a log").into()
        };
        (open("out"), open("log"))
    }

    /// A host on a port that the system chooses; waits until it says where.
    fn start_host(&self) -> String {
        let number = self.host_processes.lock().expect("hosts").len();
        let (out, log) = self.output(&format!("host{number}"));
        let child = Command::new(programs().join("examples").join("axum"))
            .args(["--port", "0", "--config"])
            .arg(self.folder.join("studio.json"))
            .env_remove("PORT")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(log)
            .spawn()
            .expect("the example host: cargo build --example axum");
        self.host_processes.lock().expect("hosts").push(child);
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let said = std::fs::read_to_string(self.folder.join(format!("host{number}.out"))).unwrap_or_default();
            if let Some((_, rest)) = said.split_once("open ") {
                return rest.trim().to_owned();
            }
            assert!(Instant::now() < until, "a host does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn start_worker(&self) -> Child {
        let number = self.names.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (out, log) = self.output(&format!("worker{number}"));
        Command::new(programs().join("studio"))
            .arg("--config")
            .arg(self.folder.join("studio.json"))
            .arg("work")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(log)
            .spawn()
            .expect("the program studio")
    }

    /// Kills a worker without a word and puts another in its place.
    pub fn replace(&self, turn: usize) {
        let mut workers = self.workers.lock().expect("workers");
        let at = turn % workers.len();
        let next = self.start_worker();
        let mut gone = std::mem::replace(&mut workers[at], next);
        drop(workers);
        gone.kill().expect("a signal");
        gone.wait().expect("its end");
    }

    /// Takes a worker out of those that are killed.
    pub fn lend(&self) -> Child {
        let mut workers = self.workers.lock().expect("workers");
        let next = self.start_worker();
        std::mem::replace(&mut workers[0], next)
    }

    /// Ends everything: workers are asked, and must end by themselves. How many did.
    pub async fn end(&self) -> usize {
        let mut workers = std::mem::take(&mut *self.workers.lock().expect("workers"));
        workers.iter().for_each(|worker| signal(worker, "TERM"));
        let until = Instant::now() + Duration::from_secs(30);
        let mut gentle = 0;
        for worker in &mut workers {
            loop {
                match worker.try_wait().expect("a state") {
                    Some(status) => {
                        assert!(status.success(), "a worker that was asked to end ended with {status}");
                        gentle += 1;
                        break;
                    }
                    None if Instant::now() > until => {
                        worker.kill().expect("a signal");
                        worker.wait().expect("its end");
                        break;
                    }
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        }
        for mut host in std::mem::take(&mut *self.host_processes.lock().expect("hosts")) {
            host.kill().expect("a signal");
            host.wait().expect("its end");
        }
        gentle
    }

    /// What the processes had to say, when something went wrong.
    pub fn tell_logs(&self) {
        let mut files: Vec<_> = std::fs::read_dir(&self.folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "log")) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let last: Vec<&str> = text.lines().rev().take(12).collect();
            if !last.is_empty() {
                println!("== {}", file.display());
                last.iter().rev().for_each(|line| println!("{line}"));
            }
        }
    }
}

impl Drop for Zoo {
    fn drop(&mut self) {
        let all = self.workers.lock().expect("workers").drain(..).chain(self.host_processes.lock().expect("hosts").drain(..)).collect::<Vec<_>>();
        for mut process in all {
            let _gone_already = process.kill();
            let _gone_already = process.wait();
        }
    }
}

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}
