//! Whatever calls a tree of runs makes, fails and makes again, everything that is told of it adds up.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use wfstudio::model::usage::show_picos;
use wfstudio::studio::RunsQuery;

use super::{Hands, at, chain, prices, run, used, window};
use crate::support::Bench;

const DAY: &str = "from=2026-11-20&to=2026-11-20";
/// Rates per million, and what a token costs in 10⁻¹².
const RATES: [(&str, &str, &str, i128, i128); 2] = [("one", "1.234567", "7.654321", 1_234_567, 7_654_321), ("two", "0.333333", "0.999999", 333_333, 999_999)];

/// A node that asks a model.
#[derive(Clone, Debug)]
struct Asks {
    /// A stored agent does it, in a child run.
    agent: bool,
    model: usize,
    /// Prompt and completion of each of its calls; all but the last fail.
    calls: Vec<(u64, u64)>,
    /// The node tries again by itself; otherwise the run fails, and is tried again.
    patient: bool,
}

fn asks() -> impl Strategy<Value = Asks> {
    let calls = prop::collection::vec((0..500_000u64, 0..5_000u64), 1..4);
    (any::<bool>(), 0..2usize, calls, any::<bool>()).prop_map(|(agent, model, calls, patient)| Asks { agent, model, calls, patient })
}

type Sum = (u64, i128);

fn exact<'a>(all: impl IntoIterator<Item = &'a Asks>) -> Sum {
    all.into_iter().fold((0, 0), |sum, asks| {
        let (_, _, _, input, output) = RATES[asks.model];
        asks.calls.iter().fold(sum, |(tokens, cost), (prompt, completion)| {
            (tokens + prompt + completion, cost + i128::from(*prompt) * input + i128::from(*completion) * output)
        })
    })
}

fn figures(value: &Value) -> (u64, String) {
    (value["total_tokens"].as_u64().expect("a count"), value["estimated_cost"].as_str().expect("money").to_owned())
}

fn shown((tokens, cost): Sum) -> (u64, String) {
    (tokens, show_picos(cost))
}

fn replies(node: usize, asks: &Asks) -> Vec<Value> {
    let reply = |(place, (prompt, completion)): (usize, &(u64, u64))| {
        let usage = json!({"prompt_tokens": prompt, "completion_tokens": completion});
        let mut reply = json!({"match": {"node_id": format!("n{node}"), "call": place + 1}, "usage": usage, "times": 0});
        if place + 1 < asks.calls.len() {
            reply["error"] = "provider_unavailable".into();
        } else {
            reply["text"] = "ok".into();
        }
        reply
    };
    asks.calls.iter().enumerate().map(reply).collect()
}

async fn made(all: &[Asks]) -> (Bench, String) {
    let mut scripts = BTreeMap::from([("one", Vec::new()), ("two", Vec::new())]);
    for (node, asks) in all.iter().enumerate() {
        scripts.get_mut(RATES[asks.model].0).expect("a script").extend(replies(node, asks));
    }
    let scripts: BTreeMap<_, _> = scripts.into_iter().map(|(model, replies)| (model, json!({"replies": replies}))).collect();
    let rows = prices(&RATES.map(|(model, input, output, ..)| (model, input, output)));
    let hands = Hands::at("2026-11-20T10:00:00Z");
    let bench = at(&hands, json!({"providers": {"script": {"scripts": scripts}}, "usage": {"prices": rows}}));
    let mut nodes = Vec::new();
    for (node, asks) in all.iter().enumerate() {
        let model = RATES[asks.model].0;
        let mut data = json!({"provider": "script", "model": model, "prompt": "go"});
        if asks.agent {
            let body = json!({"name": format!("Agent {node}"), "provider": "script", "model": model});
            data = json!({"config_mode": "existing", "agent_id": bench.agent(body).await});
        }
        if asks.patient {
            data["retries"] = json!({"max": 5, "backoff_ms": 0});
        }
        nodes.push((format!("n{node}"), if asks.agent { "agent" } else { "llm" }, data));
    }
    let workflow = bench.workflow(chain(&nodes)).await;
    (bench, workflow)
}

async fn children(bench: &Bench, run: &str) -> Vec<String> {
    let query = RunsQuery { parent_run_id: Some(run.to_owned()), ..RunsQuery::default() };
    let page = bench.studio.runs(&bench.scope, query).await.expect("runs").into_json();
    page["data"].as_array().expect("a list").iter().map(|run| run["id"].as_str().expect("an id").to_owned()).collect()
}

/// The totals and every breakdown of the day.
async fn totals(bench: &Bench) -> Vec<Value> {
    let mut told = Vec::new();
    for more in ["", "&group_by=model", "&group_by=entity", "&group_by=day", "&group_by=thread", "&model=one", "&model=two"] {
        told.push(window(bench, &format!("{DAY}{more}")).await);
    }
    told
}

async fn adds_up(all: &[Asks]) {
    let (bench, workflow) = made(all).await;
    let top = run(&bench, &workflow).await;
    let failures = all.iter().filter(|asks| !asks.patient).map(|asks| asks.calls.len() - 1).sum::<usize>();
    for _ in 0..failures {
        assert_eq!(used(&bench, &top).await["status"], "failed");
        let again = bench.retry(&top, json!({})).await.expect("a retry");
        bench.events_text(&again).await;
    }
    let whole = used(&bench, &top).await;
    assert_eq!((&whole["status"], figures(&whole)), (&json!("completed"), shown(exact(all))), "every attempt counts");

    let own = exact(all.iter().filter(|asks| !asks.agent));
    let (mut spans, mut below) = (whole["spans"].as_array().expect("spans").clone(), (0, 0));
    let of_spans = |spans: &[Value]| spans.iter().fold(0, |tokens, span| tokens + figures(span).0);
    assert_eq!(of_spans(&spans), own.0, "the spans of a run are its own");
    for child in children(&bench, &top).await {
        let child = used(&bench, &child).await;
        let asks = all.iter().filter(|asks| asks.agent && figures(&child) == shown(exact([*asks]))).count();
        assert!(asks > 0, "a child run took what its node did: {child}");
        below.0 += figures(&child).0;
        spans.extend(child["spans"].as_array().expect("spans").iter().cloned());
    }
    below.1 = exact(all.iter().filter(|asks| asks.agent)).1;
    assert_eq!((own.0 + below.0, own.1 + below.1), exact(all), "a run is its own calls and those of its children");
    assert_eq!(spans.len(), all.iter().map(|asks| asks.calls.len()).sum::<usize>(), "a span for each call");

    let told_before = totals(&bench).await;
    for report in &told_before[..5] {
        assert_eq!((figures(&report["totals"]), &report["totals"]["run_count"]), (shown(exact(all)), &json!(1)), "children count in their parent");
    }
    for (place, rates) in RATES.iter().enumerate() {
        let wanted = all.iter().filter(|asks| asks.model == place);
        let entry = told_before[1]["breakdown"].as_array().expect("a list").iter().find(|entry| entry["model"] == rates.0);
        assert_eq!(entry.map(figures), wanted.clone().next().map(|_| shown(exact(wanted.clone()))));
        assert_eq!(figures(&told_before[5 + place]["totals"]), shown(exact(wanted)));
    }
    bench.studio.rebuild_usage().await.expect("a store");
    assert_eq!(totals(&bench).await, told_before, "the sums are those of what is stored");
    bench.studio.delete_run(&bench.scope, &top).await.expect("it is over");
    for report in totals(&bench).await {
        assert_eq!((figures(&report["totals"]), &report["totals"]["run_count"]), ((0, "0.000000".into()), &json!(0)));
        assert_eq!(report["breakdown"], json!([]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_of_runs_adds_up(all in prop::collection::vec(asks(), 1..5)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(adds_up(&all));
    }
}
