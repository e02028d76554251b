//! A process dies at any border of a turn in which room is made again and again, or results are cut to their budget: whoever goes on sends the same
//! requests, and the log tells each making of room and each cut once.

use serde_json::{Value, json};

use super::Stage;
use crate::caller::{Caller, Plan};
use crate::long::agent;
use crate::record::record;
use crate::support::single;
use crate::sweep::finish;

/// Kills at every second border of a turn in which room is made.
async fn killed_from(first: u64) {
    let plan = Plan { tool: "note", calls: 8, at_once: 1, window: 10_000, says: 3000, ..Plan::default() };
    let more = json!({"memory": {"summarizer": {"provider": "work", "model": "own"}}});
    let data = agent(&plan, 4000);
    killed_at(plan, more, data, (first, 2)).await;
}

/// Kills at so many borders of a turn, beginning with the first of them.
async fn killed_at(plan: Plan, more: Value, data: Value, (first, step): (u64, usize)) {
    let caller = Caller::start(plan).await;
    let mut stage = Stage::set(caller.settings(), more, single("agent", data)).await;
    let borders = stage.borders(json!({}));
    let wanted = caller.seen.lock().expect("seen").clone();
    let run = stage.new_runs().await[0];
    let undisturbed = record(&stage.bench, &run).await;
    assert!(borders > 10 && undisturbed["measured"].as_array().is_some_and(|told| told.len() > 1), "{borders} {undisturbed}");
    for at in (first..=borders).step_by(step) {
        let what = format!("border {at} of {borders}");
        caller.seen.lock().expect("seen").clear();
        stage.whole(json!({"kill_at": at}));
        stage.bench.studio.take_over().await.expect("a studio");
        for run in stage.new_runs().await {
            finish(&stage.bench, &run).await;
            let record = record(&stage.bench, &run).await;
            let mut bodies = caller.seen.lock().expect("seen").clone();
            bodies.dedup();
            assert!(bodies == wanted, "{what}: {} requests", bodies.len());
            for part in ["status", "usage", "measured", "output"] {
                assert_eq!(record[part], undisturbed[part], "{what}: {part}");
            }
        }
    }
    assert_eq!(*caller.over.lock().expect("over"), Vec::<usize>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn room_is_made_once_at_every_odd_border() {
    killed_from(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn room_is_made_once_at_every_even_border() {
    killed_from(2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_result_is_told_once_at_every_border() {
    let plan = Plan { tool: "note", calls: 4, at_once: 1, ..Plan::default() };
    let mut data = agent(&plan, 100_000);
    data["budget_tool_results"] = json!(2);
    killed_at(plan, json!({}), data, (1, 1)).await;
}
