//! Two processes on one database: of two answers to one pause exactly one wins, and the run goes on once.

use std::time::Duration;

use serde_json::json;
use wfstudio::model::Id;

use crate::program::{Program, ask_and_pay};
use crate::record::record;
use crate::support::{Bench, folder, marks};

const TRIES: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_answers_wins_a_hundred_times() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({}));
    let workflow = bench.workflow("ask", ask_and_pay()).await;
    let mut paused: Vec<(Id, String)> = Vec::new();
    for at in 0..TRIES {
        let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
        let row = bench.until(&run, "awaiting_input", Duration::from_secs(60)).await;
        let pause = if at % 2 == 0 { row.awaiting_pause.expect("a pause").to_string() } else { "-".to_owned() };
        paused.push((run, pause));
    }
    let mut two = [Program::run("resume", folder.path(), &json!({})), Program::run("resume", folder.path(), &json!({}))];
    two.iter_mut().for_each(|program| assert_eq!(program.next().as_deref(), Some("ready")));
    for (run, pause) in &paused {
        two.iter_mut().for_each(|program| program.tell(&format!("{run} {pause}")));
        let mut said: Vec<String> = two.iter_mut().map(|program| program.next().expect("an answer")).collect();
        said.sort();
        let loser = &said[0];
        assert!(loser == "AlreadyResumed" || loser == "InvalidState", "{said:?}");
        assert_eq!(said[1], "won", "{said:?}");
    }
    for mut program in two {
        drop(program.child.stdin.take());
        program.child.wait().expect("its end");
    }
    for (run, _) in &paused {
        assert_eq!(bench.row(run).await.status, "completed");
        record(&bench, run).await;
    }
    assert_eq!(marks(&bench.effects).len(), TRIES, "each run paid once");
}
