//! The host's log names the jobs of the queue.

use serde_json::json;

use super::redaction::Lines;
use crate::support::story::Story;

#[tokio::test]
async fn the_log_names_the_job_that_begins_and_the_one_that_goes_on() {
    let lines = Lines::default();
    let _until_the_end = tracing::subscriber::set_default(lines.clone());
    let story = Story::with(json!({"async_runs_enabled": true, "worker": {"in_process": false}}), json!([]));
    let run = story.queue("start -> human_1 -> stop").await;
    story.work(&run, 0).await;
    story.bench.queue_resume(&run, json!({"message": "go on"})).await.expect("an answer");
    assert_eq!(story.bench.studio.world().work().await.expect("work").map(|run| run.to_string()), Some(run.clone()));
    story.settle(&run).await;
    let lines = lines.0.lock().expect("a lock").clone();
    let jobs: Vec<&str> = lines.lines().filter(|line| line.contains("a job begins") && line.contains(&run)).collect();
    assert_eq!(jobs.len(), 2, "{lines}");
    for (line, job) in jobs.into_iter().zip(["RunWorkflowJob", "ResumeWorkflowJob"]) {
        assert!(line.contains(&format!("job={job:?}")) && line.contains("queue=\"default\""), "{line}");
    }
}
