//! Costs are exact, rounded once where they are shown, and counted once.

use proptest::prelude::*;
use serde_json::{Value, json};
use wfstudio::model::usage::show_picos;
use wfstudio::studio::RunsQuery;

use super::{chain, llm, prices, run, used, using, window};
use crate::support::Bench;

/// Every day on which a test can run.
fn always() -> String {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |days: i64| today.checked_add(jiff::Span::new().days(days)).expect("a day");
    format!("from={}&to={}", day(-2), day(2))
}

/// What one run of calls of a model used: cost, tokens, unpriced, cost of each call.
async fn cost(settings: &Value, model: &str, calls: usize, usage: Value) -> (String, u64, bool, Vec<String>) {
    let mut settings = settings.clone();
    settings["providers"]["script"]["scripts"][model] = json!({"replies": [{"times": 0, "text": "ok", "usage": usage}]});
    let bench = Bench::new(settings);
    let nodes: Vec<_> = (0..calls).map(|n| llm(&format!("n{n}"), model)).collect();
    let workflow = bench.workflow(chain(&nodes)).await;
    let told = used(&bench, &run(&bench, &workflow).await).await;
    let cost = |value: &Value| value["estimated_cost"].as_str().expect("money").to_owned();
    let spans = told["spans"].as_array().expect("spans").iter().map(cost).collect();
    (cost(&told), told["total_tokens"].as_u64().expect("a count"), told["unpriced"] == true, spans)
}

#[tokio::test]
async fn the_arithmetic_is_that_of_the_contract() {
    let mut table = prices(&[("gpt-4o-mini", "0.15", "0.60"), ("gemini-2.5-flash-lite", "0.10", "0.40"), ("gpt-4o", "2.50", "10")]);
    table["models"][2]["cached_input"] = "1.25".into();
    let tiers = json!([{"above_prompt_tokens": 200_000, "input": "2.50", "output": "15"}]);
    let rows = table["models"].as_array_mut().expect("rows");
    rows.push(json!({"provider": "script", "model": "big-*", "match": "prefix", "input": "1.25", "output": "10", "tiers": tiers}));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("prices.json");
    std::fs::write(&path, table.to_string()).expect("a file");
    let own = json!({"per_tokens": 1000, "models": [{"provider": "script", "model": "plain", "input": "1", "output": "2"}]});
    let settings = json!({"usage": {"prices": own, "prices_path": path}});
    for (model, prompt, cached, completion, wanted) in [
        ("gpt-4o-mini", 1000, 0, 500, "0.000450"),
        ("plain", 1000, 0, 500, "2.000000"),
        ("gpt-4o", 1000, 400, 100, "0.003000"),
        ("gpt-4o-mini", 3, 0, 0, "0.000000"),
        ("gemini-2.5-flash-lite", 5, 0, 0, "0.000001"),
        ("big-1", 200_001, 0, 10, "0.500153"),
        ("big-1", 200_000, 0, 10, "0.250100"),
    ] {
        let usage = json!({"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached});
        let told = cost(&settings, model, 1, usage).await;
        assert_eq!(told, (wanted.to_owned(), prompt + completion, false, vec![wanted.to_owned()]), "{model} {prompt}");
    }
    let told = cost(&settings, "gpt-4o-mini", 3, json!({"prompt_tokens": 3})).await;
    assert_eq!(told, ("0.000001".to_owned(), 9, false, vec!["0.000000".to_owned(); 3]));
    let foreign = json!({"usage": {"currency": "EUR"}});
    let told = cost(&foreign, "unknown", 1, json!({"prompt_tokens": 1000, "completion_tokens": 500})).await;
    assert_eq!(told, ("0.000000".to_owned(), 1500, true, vec!["0.000000".to_owned()]));
}

/// A call: whether a stored agent makes it, which of two models is asked, its tokens.
type Made = (bool, bool, u64, u64);

const RATES: [(&str, i128, i128); 2] = [("one", 1_234_567, 7_654_321), ("two", 333_333, 999_999)];

fn exact<'c>(calls: impl IntoIterator<Item = &'c Made>) -> (u64, i128) {
    calls.into_iter().fold((0, 0), |(tokens, cost), (_, second, prompt, completion)| {
        let rates = RATES[usize::from(*second)];
        (tokens + prompt + completion, cost + i128::from(*prompt) * rates.1 + i128::from(*completion) * rates.2)
    })
}

fn figures(value: &Value) -> (u64, String) {
    (value["total_tokens"].as_u64().expect("a count"), value["estimated_cost"].as_str().expect("money").to_owned())
}

fn shown((tokens, cost): (u64, i128)) -> (u64, String) {
    (tokens, show_picos(cost))
}

/// A studio whose nodes `n0`, `n1`, … use what is said.
async fn tree(calls: &[Made]) -> (Bench, String) {
    let script = |model: &str| {
        let nodes = calls.iter().enumerate().filter(|(_, made)| RATES[usize::from(made.1)].0 == model);
        let replies = nodes.map(|(n, made)| {
            let usage = json!({"prompt_tokens": made.2, "completion_tokens": made.3});
            json!({"times": 0, "match": {"node_id": format!("n{n}")}, "text": "ok", "usage": usage})
        });
        json!({"replies": replies.collect::<Vec<_>>()})
    };
    let rows = prices(&[("one", "1.234567", "7.654321"), ("two", "0.333333", "0.999999")]);
    let scripts = json!({"one": script("one"), "two": script("two")});
    let bench = Bench::new(json!({"providers": {"script": {"scripts": scripts}}, "usage": {"prices": rows}}));
    let mut nodes = Vec::new();
    for (n, (agent, second, ..)) in calls.iter().enumerate() {
        let model = RATES[usize::from(*second)].0;
        if *agent {
            let body = json!({"name": format!("Agent {n}"), "provider": "script", "model": model});
            let data = json!({"config_mode": "existing", "agent_id": bench.agent(body).await});
            nodes.push((format!("n{n}"), "agent", data));
        } else {
            nodes.push(llm(&format!("n{n}"), model));
        }
    }
    let workflow = bench.workflow(chain(&nodes)).await;
    (bench, workflow)
}

async fn children(bench: &Bench, run: &str) -> Vec<String> {
    let query = RunsQuery { parent_run_id: Some(run.to_owned()), ..RunsQuery::default() };
    let page = bench.studio.runs(&bench.scope, query).await.expect("runs").into_json();
    page["data"].as_array().expect("a list").iter().map(|run| run["id"].as_str().expect("an id").to_owned()).collect()
}

async fn adds_up(calls: &[Made]) {
    let (bench, workflow) = tree(calls).await;
    let all = run(&bench, &workflow).await;
    let parent = used(&bench, &all).await;
    assert_eq!(parent["status"], "completed");
    assert_eq!(figures(&parent), shown(exact(calls)), "own and children's");
    let own: Vec<_> = calls.iter().filter(|made| !made.0).map(|made| shown(exact([made]))).collect();
    assert_eq!(parent["spans"].as_array().expect("spans").iter().map(figures).collect::<Vec<_>>(), own);
    let mut told = Vec::new();
    for child in children(&bench, &all).await {
        let child = used(&bench, &child).await;
        assert_eq!((&child["is_child"], &child["parent_run_id"]), (&json!(true), &json!(all)));
        assert_eq!(child["spans"].as_array().expect("spans").iter().map(figures).collect::<Vec<_>>(), [figures(&child)]);
        told.push(figures(&child));
    }
    told.sort();
    let mut wanted: Vec<_> = calls.iter().filter(|made| made.0).map(|made| shown(exact([made]))).collect();
    wanted.sort();
    assert_eq!(told, wanted, "one child run for each stored agent");
    windows_agree(&bench, calls).await;
    bench.studio.delete_run(&bench.scope, &all).await.expect("it is over");
    for more in ["", "&group_by=model", "&model=one", "&group_by=entity"] {
        let told = window(&bench, &format!("{}{more}", always())).await;
        assert_eq!((figures(&told["totals"]), &told["totals"]["run_count"]), ((0, "0.000000".into()), &json!(0)), "{more}");
        assert_eq!(told["breakdown"], json!([]), "{more}");
    }
}

/// Children are in no total twice, and models have every call once.
async fn windows_agree(bench: &Bench, calls: &[Made]) {
    let told = window(bench, &format!("{}&group_by=model", always())).await;
    assert_eq!((figures(&told["totals"]), &told["totals"]["run_count"]), (shown(exact(calls)), &json!(1)));
    let of = |second: bool| calls.iter().filter(move |made| made.1 == second);
    let models: Vec<_> = [false, true].into_iter().filter(|second| of(*second).next().is_some()).collect();
    let wanted: Vec<_> = models.iter().map(|second| (RATES[usize::from(*second)].0, shown(exact(of(*second))))).collect();
    let entries = told["breakdown"].as_array().expect("a list");
    let entries: Vec<_> = entries.iter().map(|entry| (entry["model"].as_str().expect("text"), figures(entry))).collect();
    assert_eq!(entries, wanted);
    for second in models {
        let told = window(bench, &format!("{}&model={}", always(), RATES[usize::from(second)].0)).await;
        assert_eq!((figures(&told["totals"]), &told["totals"]["run_count"]), (shown(exact(of(second))), &json!(1)));
    }
    let agents = window(bench, &format!("{}&entity_type=agent&group_by=entity", always())).await;
    assert_eq!((&agents["totals"]["run_count"], &agents["breakdown"]), (&json!(0), &json!([])), "children are no runs of a window");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn a_run_uses_what_it_and_its_children_use(calls in prop::collection::vec((any::<bool>(), any::<bool>(), 0..5000u64, 0..500u64), 1..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(adds_up(&calls));
    }
}

#[tokio::test]
async fn failed_calls_and_all_attempts_are_counted() {
    let failing = json!({"replies": [{"error": "provider_unavailable", "times": 0, "usage": {"prompt_tokens": 10}}]});
    let bench = Bench::new(json!({"providers": {"script": {"scripts": {"m": failing, "n": using(7, 0)}}}}));
    let workflow = bench.workflow(chain(&[llm("a", "n"), llm("b", "m")])).await;
    let id = run(&bench, &workflow).await;
    let told = used(&bench, &id).await;
    assert_eq!((&told["status"], &told["total_tokens"], told["spans"].as_array().map(Vec::len)), (&json!("failed"), &json!(17), Some(2)));
    let again = bench.retry(&id, json!({})).await.expect("a retry");
    bench.events_text(&again).await;
    let told = used(&bench, &id).await;
    assert_eq!((&told["total_tokens"], told["spans"].as_array().map(Vec::len)), (&json!(27), Some(3)));
    let counted = window(&bench, &format!("{}&group_by=model", always())).await;
    assert_eq!((&counted["totals"]["run_count"], &counted["totals"]["total_tokens"]), (&json!(1), &json!(27)));
    assert_eq!((&counted["breakdown"][0]["total_tokens"], &counted["breakdown"][1]["total_tokens"]), (&json!(20), &json!(7)));
}

#[tokio::test]
async fn without_native_tracing_only_spans_are_missing() {
    let scripts = json!({"m": using(7, 3)});
    let bench = Bench::new(json!({"providers": {"script": {"scripts": scripts}}, "observability": {"native_tracing": false}}));
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    let told = used(&bench, &run(&bench, &workflow).await).await;
    assert_eq!((&told["spans"], &told["total_tokens"]), (&json!([]), &json!(10)));
    let told = window(&bench, &format!("{}&group_by=model", always())).await;
    assert_eq!(told["breakdown"][0]["total_tokens"], 10);
    let told = window(&bench, &format!("{}&model=m", always())).await;
    assert_eq!(told["totals"]["total_tokens"], 10);
}
