//! Owns `studio:work`: a worker as a program, from its options to its last line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;

use super::{Arguments, Call, Exit, Outcome};
use crate::studio::Finished;
use crate::sync::Mutex;

/// Takes runs until it is stopped; prints one line for each run that this process has finished with.
pub(super) async fn run(call: &Call<'_>, mut arguments: Arguments) -> Outcome {
    let queue = arguments.value("queue");
    let concurrency = arguments.count("concurrency")?.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let mut working = call.studio.working(queue.as_deref(), concurrency)?;
    working.once = arguments.switch("once")?;
    working.until_empty = arguments.switch("stop-when-empty")?;
    let most = arguments.count("max-seconds")?.map(Duration::from_secs);
    arguments.end()?;
    if let Some(file) = call.lacks_database() {
        call.console.problem(&format!("there is no database `{}` yet; an empty one is created. If the application uses another database, pass it with `--database`", file.display()));
    }

    let counts: Arc<Mutex<BTreeMap<&'static str, u64>>> = Arc::default();
    let (sender, mut lines) = mpsc::unbounded_channel();
    let report = {
        let counts = Arc::clone(&counts);
        move |finished: Finished| {
            *counts.lock().entry(finished.status.as_str()).or_default() += 1;
            let _nobody_reads = sender.send(finished);
        }
    };
    let stop = call.stop.gently.child_token();
    let work = async {
        let served = call.studio.work(working, stop.clone(), report).await;
        if call.alone {
            call.studio.let_go(call.stop.at_once.clone()).await;
        }
        served
    };
    let late = async {
        match most {
            Some(most) => tokio::time::sleep(most).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(work, late);
    let mut in_time = true;
    let served = loop {
        tokio::select! {
            served = &mut work => break served,
            () = &mut late, if in_time => {
                in_time = false;
                stop.cancel();
            }
            Some(finished) = lines.recv() => line(call, finished),
        }
    };
    while let Ok(finished) = lines.try_recv() {
        line(call, finished);
    }
    served?;
    call.give(&json!({"finished": *counts.lock()}));
    Ok(Exit::Done)
}

fn line(call: &Call<'_>, finished: Finished) {
    call.say(&format!("{} {} {}", finished.run, finished.status.as_str(), finished.millis));
}
