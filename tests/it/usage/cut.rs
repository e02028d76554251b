//! What a provider reported of a call that was cut short, or that broke off, counts.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use wfstudio::engine::{Follow, From};
use wfstudio::studio::Started;

use super::{Hands, at, chain, used};
use crate::support::Bench;

/// A model that reports what it took so far, and then breaks off or never ends.
#[derive(Clone, Copy)]
struct Model {
    breaks: bool,
    /// The completion tokens of its reports.
    reports: &'static [u64],
}

impl Host for Model {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let Self { breaks, reports } = *self;
        async move {
            let chunks = call.chunks.expect("a model streams");
            for completion in reports {
                chunks.send(json!({"usage": {"prompt_tokens": 100, "completion_tokens": completion}})).expect("somebody listens");
            }
            chunks.send(json!({"delta": "Well"})).expect("somebody listens");
            if breaks {
                return Err(HostFailure::new("the line broke"));
            }
            std::future::pending().await
        }
        .boxed()
    }
}

/// The text came after the reports.
async fn until_text(bench: &Bench, started: &Started) {
    let from = From { after: started.after, ..From::default() };
    let events = bench.studio.events(&bench.scope, &started.run.to_string(), from, Follow::Tail).await;
    let mut events = events.expect("events").expect("a stream");
    while let Some(batch) = events.next_batch().await {
        if batch.iter().any(|frame| frame.event() == "token") {
            return;
        }
    }
    panic!("no text came");
}

async fn took(model: Model) -> Value {
    let prices = json!({"models": [{"provider": "mine", "model": "m", "input": "1", "output": "10"}]});
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), json!({"providers": {"mine": {"kind": "host"}}, "usage": {"prices": prices}}));
    let declaration = HostDeclaration { ops: vec![HostOp::ProviderChat], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(model), declaration);
    let node = ("a".to_owned(), "llm", json!({"provider": "mine", "model": "m", "prompt": "go", "stream": true}));
    let workflow = bench.workflow(chain(&[node])).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    if !model.breaks {
        until_text(&bench, &started).await;
        bench.studio.cancel(&bench.scope, &started.run.to_string()).await.expect("a cancel");
    }
    bench.events_text(&started).await;
    used(&bench, &started.run.to_string()).await
}

#[tokio::test]
async fn a_cancelled_or_broken_call_counts_what_was_reported_last() {
    for (breaks, status) in [(false, "cancelled"), (true, "failed")] {
        let told = took(Model { breaks, reports: &[1, 7] }).await;
        assert_eq!(told["unpriced"], json!(false));
        assert_eq!((&told["status"], &told["prompt_tokens"], &told["completion_tokens"]), (&json!(status), &json!(100), &json!(7)));
        assert_eq!((&told["estimated_cost"], told["spans"].as_array().map(Vec::len)), (&json!("0.000170"), Some(1)));
    }
}

#[tokio::test]
async fn a_cancelled_or_broken_call_without_a_report_is_unpriced() {
    for (breaks, status) in [(false, "cancelled"), (true, "failed")] {
        let told = took(Model { breaks, reports: &[] }).await;
        assert_eq!((&told["status"], &told["total_tokens"], &told["unpriced"]), (&json!(status), &json!(0), &json!(true)), "{told:#}");
        assert_eq!(told["spans"].as_array().map(Vec::len), Some(1));
    }
}

#[tokio::test]
async fn a_report_that_no_model_can_have_made_is_not_believed() {
    let told = took(Model { breaks: true, reports: &[1_000_000_000_000_000_000] }).await;
    assert_eq!((&told["total_tokens"], &told["estimated_cost"], &told["unpriced"]), (&json!(0), &json!("0.000000"), &json!(true)), "{told:#}");
}

#[tokio::test]
async fn each_attempt_that_a_nodes_time_limit_ends_counts_what_it_reported() {
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), json!({"providers": {"mine": {"kind": "host"}}}));
    let declaration = HostDeclaration { ops: vec![HostOp::ProviderChat], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(Model { breaks: false, reports: &[1, 7] }), declaration);
    let node = json!({"provider": "mine", "model": "m", "prompt": "go", "stream": true, "timeout_ms": 1500, "retries": {"max": 2, "backoff_ms": 1}});
    let workflow = bench.workflow(chain(&[("a".to_owned(), "llm", node)])).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    bench.events_text(&started).await;
    let told = used(&bench, &started.run.to_string()).await;
    assert_eq!((&told["status"], &told["prompt_tokens"], &told["completion_tokens"]), (&json!("failed"), &json!(300), &json!(21)));
}
