//! Owns the trouble: workers that are killed, one that stands still past its lease, a server that is restarted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Storm;
use crate::people::People;
use crate::processes::{LEASE, Zoo, signal};

/// Makes trouble until everything is over; says what it did.
pub async fn make(zoo: Arc<Zoo>, people: Arc<People>, storm: Storm, restart: Option<String>) -> String {
    let (mut killed, mut restarts, mut stopped) = (0, 0, 0);
    let began = Instant::now();
    let mut standing = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            () = people.over.cancelled() => break,
            () = tokio::time::sleep(storm.kill_every) => {}
        }
        let share = people.share();
        zoo.replace(killed);
        killed += 1;
        if stopped == 0 && share > 0.15 || stopped == 1 && share > 0.6 {
            stopped += 1;
            let zoo = Arc::clone(&zoo);
            standing.spawn(async move { stand_still(&zoo).await });
        }
        if let Some(restart) = restart.as_ref().filter(|_| restarts < storm.restarts && share > 0.3 * (restarts + 1) as f64) {
            restarts += 1;
            let program = restart.clone();
            let done = tokio::task::spawn_blocking(move || std::process::Command::new(program).status().is_ok_and(|status| status.success()));
            assert!(done.await.expect("a thread"), "the server does not start again");
        }
    }
    while let Some(stood) = standing.join_next().await {
        stood.expect("a worker that stood still");
    }
    format!("{killed} workers killed, {stopped} stood still past their lease, {restarts} restarts of the server, in {:.0} s", began.elapsed().as_secs_f64())
}

/// A worker stands still for longer than its lease, while others take its runs, and goes on as if nothing had been.
async fn stand_still(zoo: &Zoo) {
    let mut worker = zoo.lend();
    signal(&worker, "STOP");
    tokio::time::sleep(Duration::from_secs(LEASE + 6)).await;
    signal(&worker, "CONT");
    tokio::time::sleep(Duration::from_secs(2)).await;
    signal(&worker, "TERM");
    let until = Instant::now() + Duration::from_secs(20);
    while worker.try_wait().expect("a state").is_none() {
        if Instant::now() > until {
            println!("  a worker that stood still did not end when asked");
            worker.kill().expect("a signal");
            worker.wait().expect("its end");
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
