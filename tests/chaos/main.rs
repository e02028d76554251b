//! Chaos: hosts and workers as processes on one database, killed, stopped and cut off from it while thousands of runs go through.
//!
//! `scripts/test-chaos.sh` runs it whole. Sizes: `STUDIO_CHAOS_RUNS`, `STUDIO_CHAOS_KILL_MS` between two kills, `STUDIO_CHAOS_PATIENCE` in seconds.

mod check;
mod graphs;
mod outside;
mod people;
mod processes;
mod throughput;
mod trouble;

use std::sync::Arc;
use std::time::{Duration, Instant};

use outside::Outside;
use people::People;
use processes::Zoo;

/// How large a storm is.
#[derive(Clone, Copy, Debug)]
pub struct Storm {
    /// Runs in all.
    pub runs: usize,
    /// Between two killed workers.
    pub kill_every: Duration,
    /// How often the server is restarted.
    pub restarts: usize,
    /// Processes that listen.
    pub hosts: usize,
    /// Processes that work.
    pub workers: usize,
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Everything in, everything out: what came of it is printed and checked.
async fn weather(name: &str, database: &str, storm: Storm, restart: Option<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = Arc::new(Outside::open(folder.path()).await);
    let zoo = Arc::new(Zoo::open(folder.path(), database, outside.port, storm).await);
    let people = Arc::new(People::new(Arc::clone(&zoo), Arc::clone(&outside), storm.runs));
    people.prepare().await;
    let began = Instant::now();
    let trouble = tokio::spawn(trouble::make(Arc::clone(&zoo), Arc::clone(&people), storm, restart));
    let patience = Duration::from_secs(number("STUDIO_CHAOS_PATIENCE", 900));
    let done = tokio::time::timeout(patience, people.see_through()).await;
    let took = began.elapsed();
    people.over.cancel();
    let troubles = trouble.await.expect("trouble");
    let graceful = zoo.end().await;
    if done.is_err() {
        zoo.tell_logs();
        panic!("{name}: not everything ended: {}", people.counts().await);
    }
    let found = check::all(database, &outside, storm.runs).await;
    println!("{name}: {} runs in {:.1} s ({:.1}/s)", storm.runs, took.as_secs_f64(), storm.runs as f64 / took.as_secs_f64());
    println!("  trouble: {troubles}");
    println!("  people: {}", people.deeds());
    println!("  {found}");
    println!("  ended gently: {graceful} workers");
}

fn storm(runs: u64, hosts: usize, workers: usize, restarts: usize) -> Storm {
    Storm {
        runs: usize::try_from(number("STUDIO_CHAOS_RUNS", runs)).unwrap_or(200),
        kill_every: Duration::from_millis(number("STUDIO_CHAOS_KILL_MS", 2000)),
        restarts,
        hosts,
        workers,
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the programs and a server for itself: scripts/test-chaos.sh"]
async fn a_server_with_two_hosts_and_three_workers() {
    let url = std::env::var("STUDIO_TEST_DATABASE_URL").expect("scripts/test-chaos.sh starts a server");
    let sign = if url.contains('?') { '&' } else { '?' };
    let schema = format!("{url}{sign}options=-c%20search_path%3Dchaos_{}", std::process::id());
    let restart = std::env::var("STUDIO_TEST_POSTGRES").ok();
    weather("postgres", &schema, storm(2000, 2, 3, 2), restart).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the programs: scripts/test-chaos.sh"]
async fn a_file_with_a_host_and_two_workers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("studio.sqlite");
    weather("sqlite", &format!("sqlite:{}", file.display()), storm(2000, 1, 2, 0), None).await;
}

/// Figures of `docs/scaling.md`; `STUDIO_PROGRAM` names another build of the program, `STUDIO_MEASURE_RUNS` how many runs.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures: scripts/test-chaos.sh measure"]
async fn measured_throughput() {
    let folder = tempfile::tempdir().expect("a folder");
    match std::env::var("STUDIO_TEST_DATABASE_URL") {
        Ok(url) => {
            let sign = if url.contains('?') { '&' } else { '?' };
            let schema = format!("{url}{sign}options=-c%20search_path%3Dmeasured_{}", std::process::id());
            throughput::measure("postgres", &schema, folder.path()).await;
        }
        Err(_) => throughput::measure("sqlite", &format!("sqlite:{}", folder.path().join("studio.sqlite").display()), folder.path()).await,
    }
}
