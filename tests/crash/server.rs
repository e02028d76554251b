//! A database on a server: connections that break while they commit, a server that dies in mid run, tails in another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfstudio::engine::{Follow, From};
use wfstudio::model::Id;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::place;
use crate::program::Program;
use crate::record::record;
use crate::support::{Bench, folder, graph, marks, single};

const SOON: Duration = Duration::from_secs(60);
/// Tools that each run calls, one after another.
const TOOLS: usize = 12;

/// start → tools that must not be called twice → stop.
fn payments() -> Value {
    let names: Vec<String> = (0..TOOLS).map(|at| format!("pay{at}")).collect();
    let mut nodes = vec![("start", "start", json!({}))];
    let mut edges = Vec::new();
    let mut last = "start";
    for name in &names {
        nodes.push((name, "tool", json!({"tool_ref": "host:pay", "output_key": name})));
        edges.push((last, name.as_str()));
        last = name;
    }
    nodes.push(("stop", "stop", json!({})));
    edges.push((last, "stop"));
    graph(&nodes, &edges)
}

/// Every run ended well, its chain of hashes holds, and each of its payments was made once.
async fn all_paid_once(bench: &Bench, runs: &[Id]) {
    for run in runs {
        let row = bench.until(run, "completed", SOON).await;
        assert_eq!(row.takeovers, 0, "nobody had to take it over");
        record(bench, run).await;
        let (tenant, run) = (row.tenant.clone(), *run);
        let checked = bench.studio.world().store.read(move |tx| wfstudio::store::log::verify(tx, &tenant, &run)).await;
        checked.expect("an unbroken log");
        let paid = marks(&bench.effects).iter().filter(|line| line.ends_with(&run.to_string())).count();
        assert_eq!(paid, TOOLS);
    }
}

/// Passes everything on to the server, and cuts connections that commit: in turn before the commit arrives, and after.
struct Cutter {
    port: u16,
    cuts: Arc<AtomicUsize>,
}

impl Cutter {
    async fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (commits, cuts) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&cuts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                tokio::spawn(pass(client, server, Arc::clone(&commits), Arc::clone(&counted)));
            }
        });
        Self { port, cuts }
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, commits: Arc<AtomicUsize>, cuts: Arc<AtomicUsize>) {
    let (mut asked, mut told) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(count @ 1..) = read else { return };
                let commit = asked[..count].windows(7).any(|part| part == b"COMMIT\0");
                let turn = if commit { commits.fetch_add(1, Ordering::Relaxed) % 10 } else { 0 };
                if turn == 5 || turn == 9 {
                    cuts.fetch_add(1, Ordering::Relaxed);
                }
                if turn == 5 {
                    return;
                }
                if server.write_all(&asked[..count]).await.is_err() {
                    return;
                }
                if turn == 9 {
                    // The server commits; its answer is lost.
                    let _answer = tokio::time::timeout(Duration::from_millis(100), server.read(&mut told)).await;
                    return;
                }
            }
            read = server.read(&mut told) => {
                let Ok(count @ 1..) = read else { return };
                if client.write_all(&told[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn host_of(url: &str) -> String {
    let (_, rest) = url.split_once('@').expect("a login");
    rest.split(['/', '?']).next().expect("a host").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_neither_lost_nor_made_twice() {
    let folder = folder();
    let Some(url) = place::on_server(folder.path().to_str().expect("a path")) else { return };
    let server = host_of(&url);
    let cutter = Cutter::before(server.clone()).await;
    let url = url.replace(&server, &format!("127.0.0.1:{}", cutter.port));
    let bench = Bench::open(folder.path(), json!({"database": {"url": url}}));
    let workflow = bench.workflow("pay", payments()).await;
    let mut runs = Vec::new();
    for _ in 0..6 {
        runs.push(bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run);
    }
    all_paid_once(&bench, &runs).await;
    assert!(cutter.cuts.load(Ordering::Relaxed) >= 8, "connections were cut");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "kills the server that other tests use"]
async fn a_server_that_dies_in_mid_run_loses_nothing_and_repeats_nothing() {
    let Ok(restart) = std::env::var("STUDIO_TEST_POSTGRES") else { return };
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({"database": {"durability": "step"}}));
    let workflow = bench.workflow("pay", payments()).await;
    for _ in 0..3 {
        let mut runs = Vec::new();
        for _ in 0..4 {
            runs.push(bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run);
        }
        let restart = restart.clone();
        let restarted = tokio::task::spawn_blocking(move || std::process::Command::new(restart).status());
        assert!(restarted.await.expect("a thread").expect("a program").success());
        runs.push(bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run);
        all_paid_once(&bench, &runs).await;
    }
}

/// Text that another process streams is told here, and soon.
#[tokio::test(flavor = "multi_thread")]
async fn a_tail_elsewhere_hears_text_while_it_is_streamed() {
    if !place::on_server("").is_some() {
        return;
    }
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({}));
    let workflow = bench.workflow("talk", single("llm", json!({"provider": "script", "model": "drip", "message": "hi", "stream": true}))).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), true).await.expect("a run").run;
    let mut worker = Program::run("work", folder.path(), &json!({"settings": {"worker": {"in_process": true}}}));
    assert_eq!(worker.next().as_deref(), Some("0"));
    let mut tail = bench.studio.events(&bench.scope, &run.to_string(), From::default(), Follow::Tail).await.expect("events").expect("a stream");
    let (mut texts, mut longest, mut last) = (0, Duration::ZERO, None::<Instant>);
    while let Some(batch) = tail.next_batch().await {
        let now = Instant::now();
        let told = batch.iter().filter(|frame| frame.event() == "token").count();
        if told > 0 {
            longest = last.map_or(longest, |last| longest.max(now - last));
            last = Some(now);
            texts += told;
        }
    }
    worker.kill();
    assert_eq!(texts, 200);
    // A piece every 20 ms, gathered for 50 ms before it is stored.
    assert!(longest < Duration::from_millis(1000), "text came in bursts: {longest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_and_certificates_looked_at_when_that_is_asked() {
    let Ok(certificate) = std::env::var("STUDIO_TEST_POSTGRES_CERTIFICATE") else { return };
    let folder = folder();
    let url = place::on_server(folder.path().to_str().expect("a path")).expect("a server");
    let with = |mode: &str| url.replace("sslmode=disable", mode);
    let trusted = format!("sslmode=verify-full&sslrootcert={certificate}");
    for (mode, works) in [("sslmode=require", true), (trusted.as_str(), true), ("sslmode=verify-full", false)] {
        let bench = Bench::open(folder.path(), json!({"database": {"url": with(mode)}}));
        let told = bench.studio.run_counts(&bench.scope).await;
        assert_eq!(told.is_ok(), works, "{mode}: {told:?}");
    }
}

/// A worker elsewhere looks by itself only every two seconds: five jobs in a row would take ten.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_begun_elsewhere_as_soon_as_it_is_queued() {
    if place::on_server("").is_none() {
        return;
    }
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({}));
    let workflow = bench.workflow("note", single("tool", json!({"tool_ref": "host:note"}))).await;
    let mut worker = Program::run("work", folder.path(), &json!({"settings": {"worker": {"in_process": true}}}));
    assert_eq!(worker.next().as_deref(), Some("0"));
    let mut waits = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let run = bench.start(&workflow, json!({"message": "hi"}), true).await.expect("a run").run;
        bench.until(&run, "completed", SOON).await;
        waits.push(began.elapsed());
    }
    worker.kill();
    assert!(waits.iter().sum::<Duration>() < Duration::from_secs(5), "{waits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_opens_no_more_than_nine_connections() {
    let folder = folder();
    let Some(url) = place::on_server(folder.path().to_str().expect("a path")) else { return };
    let bench = Bench::open(folder.path(), json!({"database": {"url": format!("{url}&application_name=bounded")}}));
    let workflow = bench.workflow("note", single("tool", json!({"tool_ref": "host:note"}))).await;
    let crowd = (0..120).map(|_| {
        let (bench, workflow) = (bench.clone(), workflow.clone());
        tokio::spawn(async move {
            let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
            bench.until(&run, "completed", SOON).await;
        })
    });
    for one in crowd.collect::<Vec<_>>() {
        one.await.expect("a task");
    }
    let count = bench.studio.world().store.read(|tx| {
        tx.query_one("SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'bounded'", &[], |row| row.int(0))
    });
    let count = count.await.expect("a server").expect("a count");
    assert!((3..=9).contains(&count), "{count} connections");
}
