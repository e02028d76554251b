//! Owns the workload of the queue: runs that others start and workers finish, how many a second.

use std::time::{Duration, Instant};

use serde_json::json;
use wfstudio::config::{Config, ConfigSources};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Resource, Scope, Studio};

use crate::graphs;
use crate::measure::{self, Sample, emit};

/// Starters that wait for their answer at the same time.
const STARTERS: u64 = 64;

/// Starts `n` runs of one step on the queue and waits until all are over.
pub fn finish(variant: &str, n: u64) {
    let file = std::env::temp_dir().join(format!("bench-W10-{}.sqlite", std::process::id()));
    let database = match variant {
        "postgres" => json!({"url": std::env::var("PGURL").expect("PGURL names the server")}),
        "sqlite-normal" => json!({"path": file, "synchronous": "normal"}),
        _full => json!({"path": file}),
    };
    let settings = json!({"environment": "local", "database": database, "async_runs_enabled": true});
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: std::collections::BTreeMap::new() });
    let studio = Studio::open(config.unwrap_or_else(|error| panic!("{error}"))).expect("a studio");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let sample = Sample::start();
    let began = Instant::now();
    let seconds = runtime.block_on(async {
        let scope = Scope::default();
        let body = json!({"name": "One step", "graph": graphs::linear(1)});
        let workflow = studio.create(&scope, Resource::Workflow, &body).await.expect("a workflow")["id"].as_str().expect("an id").to_owned();
        let starters = (0..STARTERS).map(|starter| {
            let (studio, scope, workflow) = (studio.clone(), scope.clone(), workflow.clone());
            tokio::spawn(async move {
                for _ in (starter..n).step_by(STARTERS as usize) {
                    let request = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body");
                    studio.start(&scope, EntityKind::Workflow, &workflow, request, true).await.expect("a run");
                }
            })
        });
        for starter in starters.collect::<Vec<_>>() {
            starter.await.expect("a starter");
        }
        loop {
            let counts = studio.run_counts(&scope).await.expect("counts");
            if counts["queued"] == 0 && counts["running"] == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let seconds = began.elapsed().as_secs_f64();
        studio.shutdown(Duration::from_secs(10)).await;
        seconds
    });
    emit("W10", variant, n, n, &[sample.stop()], json!({"runs_per_second": n as f64 / seconds}));
    measure::remove(&file);
}
