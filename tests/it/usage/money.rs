//! Money of small currencies, of currencies that change, and of runs that nobody stores.

use serde_json::json;
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;

use super::events::{bill, next};
use super::{Hands, at, chain, llm, on, run, used, using, window};
const DAY: &str = "from=2026-11-20&to=2026-11-20";

#[tokio::test]
async fn a_run_that_cost_more_than_can_be_kept_says_so() {
    let row = json!({"provider": "script", "model": "m", "input": "5000000", "output": "0"});
    let prices = json!({"version": 1, "currency": "VND", "per_tokens": 1_000_000, "models": [row]});
    let settings = json!({"usage": {"currency": "VND", "prices": prices, "events": {"enabled": true}}, "providers": {"script": {"scripts": {"m": using(1_000_000, 0)}}}});
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), settings);
    let mut told = bill(&bench.studio, 0);
    let workflow = bench.workflow(chain(&[llm("a", "m"), llm("b", "m"), llm("c", "m")])).await;
    let top = run(&bench, &workflow).await;
    assert_eq!(used(&bench, &top).await["unpriced"], true);
    assert_eq!(next(&mut told).await["unpriced"], true);
    assert_eq!(window(&bench, DAY).await["totals"]["estimated_cost"], "15000000.000000", "sums have no bound");
}

#[tokio::test]
async fn costs_of_one_currency_are_never_told_in_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("studio.sqlite");
    let path = path.to_str().expect("a path");
    let hands = Hands::at("2026-11-20T10:00:00Z");
    let row = json!({"provider": "script", "model": "m", "input": "1", "output": "1"});
    let prices = json!({"version": 1, "currency": "VND", "per_tokens": 1_000_000, "models": [row]});
    let settings = json!({"usage": {"currency": "VND", "prices": prices}, "providers": {"script": {"scripts": {"m": using(1_000_000, 0)}}}});
    let bench = on(&hands, settings, path);
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    run(&bench, &workflow).await;
    drop(bench);
    let bench = on(&hands, json!({"usage": {"currency": "EUR"}}), path);
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Workflow).expect("a body");
    let refused = bench.studio.start(&bench.scope, EntityKind::Workflow, &workflow, request, false).await.err().expect("a refusal");
    assert!(refused.message.contains("VND") && refused.message.contains("EUR") && refused.message.contains("usage.currency"), "{refused}");
    drop(bench);
    let bench = on(&hands, json!({"usage": {"currency": "VND"}}), path);
    assert_eq!(window(&bench, DAY).await["totals"]["estimated_cost"], "1.000000");
}

#[tokio::test]
async fn a_currency_may_change_before_anything_has_cost_something() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("studio.sqlite");
    let path = path.to_str().expect("a path");
    let hands = Hands::at("2026-11-20T10:00:00Z");
    let scripts = json!({"providers": {"script": {"scripts": {"m": using(1_000_000, 0)}}}});
    let bench = on(&hands, scripts.clone(), path);
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    run(&bench, &workflow).await;
    drop(bench);
    let mut all = scripts;
    all["usage"] = json!({"currency": "EUR"});
    assert_eq!(window(&on(&hands, all, path), DAY).await["currency"], "EUR");
}

#[test]
fn runs_that_nobody_stores_cannot_be_billed() {
    let settings = json!({"database": {"path": ":memory:", "durability": "none"}, "usage": {"events": {"enabled": true}}});
    let refused = wfstudio::config::Config::with(settings).expect_err("a refusal");
    assert!(refused.message.contains("usage.events.enabled") && refused.message.contains("database.durability"), "{refused}");
}
