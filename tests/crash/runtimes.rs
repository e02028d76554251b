//! The studio works whatever calls it: no executor of tokio's, several runtimes at once, and dropped in the middle of anything.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::json;
use wfstudio::engine::{Follow, From};

use crate::support::{Bench, folder, single};

/// Polls a future on a thread of no runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Thread(std::thread::Thread);
    impl std::task::Wake for Thread {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Thread(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::park_timeout(Duration::from_secs(30));
    }
}

async fn frames_of(bench: &Bench, run: &str) -> Vec<String> {
    let stream = bench.studio.events(&bench.scope, run, From::default(), Follow::Tail).await.expect("a stream");
    let Some(mut stream) = stream else { return Vec::new() };
    let mut all = Vec::new();
    while let Some(batch) = stream.next_batch().await {
        all.extend(batch.iter().map(|frame| frame.event().to_owned()));
    }
    all
}

#[test]
fn a_studio_works_without_an_executor_of_tokio() {
    let folder = folder();
    let (own, other) = (Bench::open(folder.path(), json!({})), Bench::open(folder.path(), json!({})));
    block_on(async {
        let workflow = own.workflow("drip", single("llm", json!({"provider": "script", "model": "talk", "stream": true}))).await;
        let run = own.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run.to_string();
        assert_eq!(frames_of(&other, &run).await.last().map(String::as_str), Some("run_terminal"), "followed from another studio");
        assert_eq!(frames_of(&own, &run).await.last().map(String::as_str), Some("run_terminal"));
        own.studio.trace(&own.scope, &run, wfstudio::studio::TraceQuery::default()).await.expect("a trace");
        other.studio.take_over().await.expect("a studio");
        own.studio.shutdown(Duration::from_secs(2)).await;
    });
}

#[test]
fn a_studio_works_for_several_runtimes_at_once() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({}));
    let workflow = block_on(bench.workflow("talk", single("llm", json!({"provider": "script", "model": "talk", "stream": true}))));
    let threads = (0..4).map(|_| {
        let (bench, workflow) = (bench.clone(), workflow.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                for _ in 0..5 {
                    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
                    assert_eq!(frames_of(&bench, &run.to_string()).await.last().map(String::as_str), Some("run_terminal"));
                }
            });
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().expect("a thread"));
}

/// Starts a run that takes long, with a reader, and gives what ends when the reader does.
fn at_work(folder: &std::path::Path) -> (Bench, mpsc::Receiver<usize>) {
    let bench = Bench::open(folder, json!({}));
    let workflow = block_on(bench.workflow("drip", single("llm", json!({"provider": "script", "model": "drip", "stream": true}))));
    let run = block_on(bench.start(&workflow, json!({"message": "hi"}), false)).expect("a run").run;
    let scope = bench.scope.clone();
    let stream = block_on(bench.studio.events(&scope, &run.to_string(), From::default(), Follow::Tail)).expect("a stream");
    let mut stream = stream.expect("frames");
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut count = 0;
        while let Some(batch) = block_on(stream.next_batch()) {
            count += batch.len();
        }
        let _nobody_waits = sender.send(count);
    });
    std::thread::sleep(Duration::from_millis(300));
    (bench, ended)
}

fn taken_over_at_once(folder: &std::path::Path) {
    let next = Bench::open(folder, json!({}));
    // The lease of a run that was not given back lasts much longer.
    let asked = Instant::now();
    while block_on(next.studio.take_over()).expect("a studio") == 0 {
        assert!(asked.elapsed() < Duration::from_secs(15), "the run was not given back");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn dropping_a_studio_in_the_middle_of_a_run_gives_it_back() {
    let folder = folder();
    let (bench, ended) = at_work(folder.path());
    let dropped = Instant::now();
    drop(bench);
    assert!(dropped.elapsed() < Duration::from_secs(1), "dropping took {:?}", dropped.elapsed());
    assert!(ended.recv_timeout(Duration::from_secs(60)).expect("the reader ends") > 0);
    taken_over_at_once(folder.path());
}

#[test]
fn dropping_a_studio_inside_a_task_does_not_panic() {
    let folder = folder();
    let (bench, ended) = at_work(folder.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    runtime.block_on(async move { tokio::spawn(async move { drop(bench) }).await.expect("no panic") });
    assert!(ended.recv_timeout(Duration::from_secs(60)).expect("the reader ends") > 0);
    taken_over_at_once(folder.path());
}

#[test]
fn dropping_a_studio_inside_its_own_runtime_does_not_panic() {
    let folder = folder();
    let (bench, ended) = at_work(folder.path());
    let own = bench.studio.runtime().expect("a runtime");
    let (sender, dropped) = mpsc::channel();
    own.spawn(async move {
        drop(bench);
        sender.send(()).expect("somebody waits");
    });
    dropped.recv_timeout(Duration::from_secs(60)).expect("no panic");
    assert!(ended.recv_timeout(Duration::from_secs(60)).expect("the reader ends") > 0);
    taken_over_at_once(folder.path());
}
