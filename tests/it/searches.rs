//! Searches of runs for a text.

use serde_json::json;
use wfstudio::model::sketch::graph;
use wfstudio::studio::{ListQuery, RunsQuery};

use crate::support::Bench;

/// The messages of all runs that hold a text, newest first.
async fn found(bench: &Bench, text: &str) -> Vec<String> {
    let (mut messages, mut after) = (Vec::new(), String::new());
    loop {
        let asked = [("q", text), ("limit", "10"), ("cursor", after.as_str())];
        let list = ListQuery::parse(asked.into_iter().filter(|(_, value)| !value.is_empty())).expect("a query");
        let page = bench.studio.runs(&bench.scope, RunsQuery { list, ..RunsQuery::default() }).await.expect("a page").into_json();
        let runs = page["data"].as_array().expect("runs");
        messages.extend(runs.iter().filter_map(|run| run["input_preview"].as_str()).map(str::to_owned));
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => return messages,
        }
    }
}

#[tokio::test]
async fn a_text_is_found_in_any_run_page_by_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::on_disk(json!({}), folder.path());
    let workflow = bench.workflow(graph("start -> stop").expect("a graph")).await;
    let runs = 300;
    for number in 1..=runs {
        let started = bench.start(&workflow, json!({"message": format!("Order {number:05} of Ada")})).await;
        bench.events_text(&started).await;
    }
    assert_eq!(found(&bench, "ORDER 00007").await, ["Order 00007 of Ada"]);
    assert_eq!(found(&bench, "order 0010").await.len(), 10);
    assert!(found(&bench, "nowhere").await.is_empty());
    assert_eq!(found(&bench, "ada").await.len(), runs, "what all hold is found as well");
    bench.start(&workflow, json!({"message": "Zebra"})).await;
    assert_eq!(found(&bench, "zebra").await, ["Zebra"], "what came after is found too");
}

#[tokio::test]
async fn a_run_is_found_by_what_it_replied() {
    let bench = Bench::new(json!({}));
    let workflow = bench.workflow(graph("start -> stop{reply: \"Farewell, {{input}}\"}").expect("a graph")).await;
    for message in ["Ada", "Bob"] {
        let started = bench.start(&workflow, json!({"message": message})).await;
        bench.events_text(&started).await;
    }
    assert_eq!(found(&bench, "farewell, bob").await, ["Bob"]);
    assert_eq!(found(&bench, "farewell").await, ["Bob", "Ada"]);
}
