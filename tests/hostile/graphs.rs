//! Whole graphs at the largest size that `limits.graph_kb` lets through, saved through the facade.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::model::sketch;
use wfstudio::studio::{Resource, Scope, Studio};

use crate::trial::trial;

/// What threads of a runtime have.
const STACK: usize = 2 << 20;

fn saved(graph: &Value) -> bool {
    let settings = json!({"environment": "local", "database": {"path": ":memory:", "durability": "none"}});
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() }).expect("a configuration");
    let studio = Studio::open(config).expect("a studio");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let body = json!({"name": "Test", "graph": graph});
    runtime.block_on(studio.create(&Scope::default(), Resource::Workflow, &body)).is_ok()
}

fn condition(data: &Value) -> Value {
    let mut graph = sketch::graph("start -> condition; condition.true -> stop; condition.false -> stop").expect("a graph");
    for node in graph["nodes"].as_array_mut().expect("nodes") {
        if node["type"] == "condition" {
            node["data"] = data.clone();
        }
    }
    graph
}

#[test]
fn a_graph_full_of_regular_expressions_is_saved_or_refused_in_little_memory() {
    trial("graphs::a_graph_full_of_regular_expressions_is_saved_or_refused_in_little_memory", STACK, || {
        for pattern in [r"\w{20}", r"(?i)\pL{60}", "a{1000}", "x"] {
            for count in [300, 20_000] {
                let rules: Vec<Value> = (0..count).map(|n| json!({"operator": "regex", "value": format!("{pattern}{n}")})).collect();
                let _refused = saved(&condition(&json!({"rules": rules})));
            }
        }
    });
}

#[test]
fn a_graph_full_of_expressions_is_saved_or_refused_in_little_memory() {
    trial("graphs::a_graph_full_of_expressions_is_saved_or_refused_in_little_memory", STACK, || {
        for expression in ["[1,1,1],".repeat(1_200), "1+".repeat(4_990), "'a'~".repeat(2_400)] {
            let expression = format!("[{}1]", expression);
            let mut text = "start -> condition_0".to_owned();
            for n in 0..95 {
                text += &format!("; condition_{n}.true -> condition_{}; condition_{n}.false -> stop", n + 1);
            }
            text += "; condition_95.true -> stop; condition_95.false -> stop";
            let mut graph = sketch::graph(&text).expect("a graph");
            for node in graph["nodes"].as_array_mut().expect("nodes") {
                if node["type"] == "condition" {
                    node["data"] = json!({"expression": expression});
                }
            }
            let _refused = saved(&graph);
        }
    });
}
