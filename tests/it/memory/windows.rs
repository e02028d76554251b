//! Fallbacks whose window is smaller: room is made for the model that is asked, and who was turned away from is not asked for summaries.

use serde_json::{Value, json};
use wfstudio::studio::TraceQuery;

use super::inside::{Made, once, shelf};
use crate::support::Bench;
use crate::support::caller::{Caller, Plan};

/// An agent whose model is on one server, its fallback on another.
struct Pair {
    first: Caller,
    spare: Caller,
    bench: Bench,
    agent: String,
    calls: Made,
}

impl Pair {
    /// Both serve a model whose window is known when a size is given.
    async fn new((first, spare): (Plan, Plan), sizes: Option<[usize; 2]>, bytes: usize, memory: Value) -> Self {
        let (first, spare) = (Caller::start(first).await, Caller::start(spare).await);
        let [mut settings, of_spare] = [&first, &spare].map(Caller::settings);
        settings["providers"]["spare"] = of_spare["providers"]["work"].clone();
        for (id, model, size) in sizes.into_iter().flat_map(|[first, spare]| [("work", "own", first), ("spare", "other", spare)]) {
            settings["providers"][id]["models"] = json!([{"id": model, "context_window": size}]);
        }
        let bench = Bench::new(settings);
        let calls = shelf(&bench, bytes);
        let body = json!({"name": "A", "provider": "work", "model": "own", "instructions": "Look at all of it.", "tool_max_runs": 100,
            "tools": [{"ref": "host:look"}], "fallbacks": [{"provider": "spare", "model": "other"}], "memory_config": memory});
        let agent = bench.agent(body).await;
        Self { first, spare, bench, agent, calls }
    }

    async fn turn(&self) -> String {
        self.bench.chat(&self.agent, json!({"message": "Go on."})).await
    }

    async fn trace(&self, run: &str) -> Value {
        self.bench.studio.trace(&self.bench.scope, run, TraceQuery { messages: true, ..TraceQuery::default() }).await.expect("a trace")
    }

    fn asked(&self) -> [usize; 3] {
        [self.first.seen.lock().expect("seen").len(), self.spare.seen.lock().expect("seen").len(), self.spare.over.lock().expect("over").len()]
    }
}

fn compactions(trace: &Value) -> Vec<&Value> {
    trace["spans"].as_array().expect("spans").iter().filter(|span| span["name"] == "history_compaction").map(|span| &span["output"]).collect()
}

/// A model that is out of order from this call on, and one with a window of 8000 tokens; so many calls of 600 tokens.
fn plans(calls: u64, fails_from: usize) -> (Plan, Plan) {
    let first = Plan { calls, at_once: 1, fails_from, ..Plan::default() };
    (first.clone(), Plan { window: 8000, fails_from: usize::MAX, ..first })
}

#[tokio::test]
async fn room_is_made_for_the_window_of_the_model_that_is_asked() {
    // With half of what the first had, the second would have too much at once, or again after some calls.
    for (calls, fails_from, memory) in [(50, 40, json!({})), (40, 16, json!({})), (50, 40, json!({"context_window": 90_000}))] {
        let pair = Pair::new(plans(calls, fails_from), Some([100_000, 8000]), 2400, memory.clone()).await;
        let trace = pair.trace(&pair.turn().await).await;
        assert_eq!(trace["trace"]["reply"], format!("Done after {calls}."), "{memory} {:#}", trace["trace"]);
        once(&pair.calls, calls);
        assert_eq!(pair.asked()[2], 1, "what was made for the first is over the window of the second once");
        let spans = compactions(&trace);
        assert_eq!((&spans[0]["at"], spans[1..].iter().all(|span| span["at"] == "inside_turn")), (&json!("after_overflow"), true), "{spans:#?}");
        assert!(spans.len() > 2 && spans.iter().all(|span| span["tokens_after"].as_u64() <= Some(3400)), "{spans:#?}");
    }
}

#[tokio::test]
async fn what_was_decided_for_a_fallback_is_sent_again_as_it_was() {
    let (first, spare) = plans(50, 40);
    // It finds the first request too long and makes a summary; then it fails, and once more when it had answered some calls.
    let pair = Pair::new((first, Plan { fails: &[3, 13], ..spare }), Some([100_000, 8000]), 2400, json!({})).await;
    let run = pair.turn().await;
    for asked in [[40, 3, 1], [41, 13, 2]] {
        assert_eq!((pair.trace(&run).await["trace"]["status"].as_str(), pair.asked()), (Some("failed"), asked));
        let again = pair.bench.retry(&run, json!({})).await.expect("a retry");
        pair.bench.events_text(&again).await;
    }
    assert_eq!(pair.trace(&run).await["trace"]["reply"], "Done after 50.");
    once(&pair.calls, 50);
    let seen = pair.spare.seen.lock().expect("seen").clone();
    assert!(seen[0] == seen[3] && seen[2] == seen[4], "nobody had answered, so both were asked the same again");
    assert!(seen[12] == seen[13], "who had answered is asked the same again");
    assert_eq!((pair.asked()[0], pair.asked()[2]), (41, 2));
}

#[tokio::test]
async fn each_of_two_models_that_find_a_call_too_long_gets_what_fits() {
    let plan = Plan { calls: 30, at_once: 1, ..Plan::default() };
    // The first is out of order once it has less.
    let plans = (Plan { window: 10_000, fails_from: 17, ..plan.clone() }, Plan { window: 4000, ..plan });
    let pair = Pair::new(plans, Some([100_000, 4000]), 2400, json!({})).await;
    let trace = pair.trace(&pair.turn().await).await;
    assert_eq!(trace["trace"]["reply"], "Done after 30.", "{:#}", trace["trace"]);
    once(&pair.calls, 30);
    let over = pair.first.over.lock().expect("over").len();
    assert_eq!((over, pair.asked()[0], pair.asked()[2]), (1, 17, 1), "both at the same call");
    let spans = compactions(&trace);
    assert_eq!(spans.iter().filter(|span| span["at"] == "after_overflow").count(), 2, "{spans:#?}");
}

#[tokio::test]
async fn the_summariser_is_the_model_that_the_step_came_to() {
    let first = Plan { calls: 30, at_once: 1, fails_from: 1, ..Plan::default() };
    let spare = Plan { window: 10_000, says: 3000, fails_from: usize::MAX, ..first.clone() };
    let pair = Pair::new((first, spare), None, 10, json!({"context_window": 9000})).await;
    let trace = pair.trace(&pair.turn().await).await;
    assert_eq!(trace["trace"]["reply"], "Done after 30.", "{:#}", trace["trace"]);
    assert_eq!((pair.asked()[0], pair.asked()[2]), (1, 0), "who does not answer is asked once");
    let spans = compactions(&trace);
    let fine = |span: &&Value| span["mode"] == "compaction" && span["summarizer_source"] == "agent" && span["summarizer_error"].is_null();
    assert!(spans.len() > 1 && spans.iter().all(fine), "{spans:#?}");
    let bodies = pair.spare.bodies();
    let summaries: Vec<&Value> = bodies.iter().filter(|body| body.get("tools").is_none()).collect();
    assert!(summaries.len() == spans.len() && summaries.iter().all(|body| body["model"] == "other"), "{summaries:#?}");
}
