//! Conversations that grow too long while a turn goes on: what is taken out, what is told of it, and that nothing is lost.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::{ListQuery, TraceQuery};

use crate::support::Bench;
use crate::support::caller::{Caller, Plan};

/// A host with one tool, `look`, whose answers are long.
struct Shelf {
    bytes: usize,
    calls: Made,
}

/// The calls of `look` that were made.
pub(super) type Made = Arc<Mutex<Vec<u64>>>;

impl Host for Shelf {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let n = call.payload["arguments"]["n"].as_u64().expect("a number");
        self.calls.lock().expect("calls").push(n);
        let text = format!("{n}:{}", "x".repeat(self.bytes));
        Box::pin(async move { Ok(Value::String(text)) })
    }
}

/// Gives the studio that tool.
pub(super) fn shelf(bench: &Bench, bytes: usize) -> Made {
    let calls = Made::default();
    let tool = HostTool {
        name: "look".into(),
        description: "Looks".into(),
        input_schema: json!({"type": "object"}),
        require_approval: false,
        idempotent: false,
        timeout_ms: None,
    };
    let declaration = HostDeclaration { ops: vec![HostOp::ToolCall], tools: vec![tool], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(Shelf { bytes, calls: Arc::clone(&calls) }), declaration);
    calls
}

/// Each of so many calls was made once.
pub(super) fn once(made: &Made, calls: u64) {
    let mut made = made.lock().expect("calls").clone();
    made.sort_unstable();
    assert_eq!(made, (0..calls).collect::<Vec<_>>());
}

struct Long {
    caller: Caller,
    bench: Bench,
    agent: String,
    calls: Made,
    trace: Value,
}

/// A chat turn of an agent with such tools.
async fn turn(plan: Plan, bytes: usize, agent: Value) -> Long {
    let caller = Caller::start(plan).await;
    let bench = Bench::new(caller.settings());
    let calls = shelf(&bench, bytes);
    let mut body = json!({"name": "A", "provider": "work", "model": "own", "instructions": "Look at all of it.", "tools": [{"ref": "host:look"}], "tool_max_runs": 100});
    crate::support::merge(&mut body, agent);
    let agent = bench.agent(body).await;
    let run = bench.chat(&agent, json!({"message": "Go on."})).await;
    let query = TraceQuery { messages: true, ..TraceQuery::default() };
    let trace = bench.studio.trace(&bench.scope, &run, query).await.expect("a trace");
    Long { caller, bench, agent, calls, trace }
}

impl Long {
    fn spans(&self) -> Vec<&Value> {
        let spans = self.trace["spans"].as_array().expect("spans").iter();
        spans.filter(|span| span["name"] == "history_compaction").map(|span| &span["output"]).collect()
    }

    fn status(&self) -> (&str, &str) {
        (self.trace["trace"]["status"].as_str().expect("a status"), self.trace["trace"]["reply"].as_str().unwrap_or_default())
    }

    fn called_once(&self, calls: u64) {
        once(&self.calls, calls);
    }
}

/// Bytes that a request has in common with the one before it.
fn kept(bodies: &[String]) -> (usize, usize) {
    let shared = |pair: &[String]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(one, other)| one == other).count();
    bodies.windows(2).fold((0, 0), |(kept, whole), pair| (kept + shared(pair), whole + pair[1].len()))
}

#[tokio::test]
async fn an_agent_of_two_hundred_calls_keeps_within_its_window() {
    let long = turn(Plan::default(), 20_000, json!({"memory_config": {"context_window": 100_000}})).await;
    assert_eq!(long.status().0, "completed", "{:#}", long.trace["trace"]);
    long.called_once(200);
    assert_eq!(*long.caller.over.lock().expect("over"), Vec::<usize>::new(), "no request was over the window");
    let spans = long.spans();
    assert!((20..45).contains(&spans.len()), "room is made in one go: {}", spans.len());
    for span in &spans {
        assert_eq!((&span["at"], &span["mode"]), (&json!("inside_turn"), &json!("clear_tool_results")), "{span}");
        assert!(span["tokens_after"].as_u64() <= Some(60_100) && span["tokens_before"].as_u64() > Some(85_000), "{span}");
    }
    let bodies = long.caller.seen.lock().expect("seen").clone();
    assert_eq!(bodies.len(), 101);
    let (kept, whole) = kept(&bodies);
    // A turn brings a tenth of the window, so that room is made in every third.
    assert!(kept * 100 >= whole * 55, "{kept} of {whole} bytes are what the request before began with");
    assert!(bodies[100].contains("[result of look removed to save space; call it again if you need it]"));

    // The trace and the thread have every result as it was.
    let results = |value: &Value| value.to_string().matches(&"x".repeat(20_000)).count();
    let plain = long.bench.trace(long.trace["trace"]["id"].as_str().expect("an id")).await;
    let tools: Vec<&Value> = plain["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "tool").collect();
    assert_eq!((tools.len(), tools.iter().map(|span| results(&span["output"])).sum::<usize>()), (200, 200));
    let thread = long.trace["trace"]["thread_id"].as_str().expect("a thread");
    let (mut whole, mut after) = (0, None);
    loop {
        let mut query = ListQuery::parse([("include", "tools"), ("limit", "100")]).expect("a query");
        query.after = after;
        let page = long.bench.studio.chat_messages(&long.bench.scope, EntityKind::Agent, &long.agent, thread, query).await.expect("messages");
        whole += results(&page);
        let Some(next) = page["next_cursor"].as_str() else { break };
        after = Some(wfstudio::studio::lists::open(next).expect("a cursor"));
    }
    assert_eq!(whole, 200);
}

#[tokio::test]
async fn without_reports_texts_are_counted() {
    let plan = Plan { reports: false, calls: 40, at_once: 1, window: 10_000, ..Plan::default() };
    let long = turn(plan, 4000, json!({"memory_config": {"context_window": 9000}})).await;
    assert_eq!(long.status(), ("completed", "Done after 40."));
    long.called_once(40);
    assert_eq!(*long.caller.over.lock().expect("over"), Vec::<usize>::new());
    assert!((4..30).contains(&long.spans().len()), "{}", long.spans().len());
}

#[tokio::test]
async fn what_was_said_is_summarised_when_results_are_not_enough() {
    let plan = Plan { calls: 30, at_once: 1, window: 10_000, says: 3000, ..Plan::default() };
    let long = turn(plan, 10, json!({"memory_config": {"context_window": 9000}})).await;
    assert_eq!(long.status(), ("completed", "Done after 30."));
    long.called_once(30);
    assert_eq!(*long.caller.over.lock().expect("over"), Vec::<usize>::new());
    let spans = long.spans();
    assert!(spans.len() > 1 && spans.iter().all(|span| span["mode"] == "compaction" && span["summarizer_source"] == "agent"), "{spans:#?}");
    let bodies = long.caller.bodies();
    let last = bodies.last().expect("a request");
    assert_eq!(last["messages"][1]["content"], "Go on.\n\n[Studio memory summary]\nThey looked at much.");
    let summaries: Vec<&Value> = bodies.iter().filter(|body| body.get("tools").is_none()).collect();
    assert_eq!(summaries.len(), spans.len());
    let second = summaries[1]["messages"][1]["content"].as_str().expect("a text");
    assert!(second.starts_with("Summary so far:\n[Studio memory summary]\nThey looked at much.\n\nConversation:"), "{second}");
}

#[tokio::test]
async fn what_a_turn_cannot_spare_is_sent_whole() {
    let plan = Plan { calls: 3, at_once: 3, ..Plan::default() };
    let long = turn(plan, 20_000, json!({"memory_config": {"context_window": 9000}})).await;
    assert_eq!(long.status(), ("completed", "Done after 3."));
    long.called_once(3);
    assert_eq!(long.spans(), Vec::<&Value>::new(), "there was nothing to take out");
    let bodies = long.caller.bodies();
    let roles = bodies[1]["messages"].as_array().expect("messages").iter().map(|message| message["role"].as_str().unwrap_or_default());
    assert_eq!(roles.collect::<Vec<_>>(), ["system", "user", "assistant", "tool", "tool", "tool"]);
}

#[tokio::test]
async fn a_request_that_the_provider_finds_too_long_is_halved_once() {
    let plan = Plan { calls: 30, at_once: 1, window: 8000, ..Plan::default() };
    let long = turn(plan.clone(), 4000, json!({"memory_config": {"context_window": 1_000_000}})).await;
    assert_eq!(long.status().0, "failed", "the second time it fails");
    assert_eq!(long.caller.over.lock().expect("over").len(), 2);
    assert_eq!(long.spans().iter().map(|span| &span["at"]).collect::<Vec<_>>(), [&json!("after_overflow")]);

    let long = turn(Plan { calls: 9, ..plan.clone() }, 4000, json!({"memory_config": {"context_window": 1_000_000}})).await;
    assert_eq!(long.status(), ("completed", "Done after 9."));
    long.called_once(9);

    let long = turn(plan, 4000, json!({"memory_config": {"context_window": 1_000_000, "inside_turn": "off"}})).await;
    assert_eq!((long.status().0, long.spans().len(), long.caller.over.lock().expect("over").len()), ("failed", 0, 1));
}

#[tokio::test]
async fn earlier_turns_are_left_out_of_a_request_that_the_provider_finds_too_long() {
    let long = turn(Plan { calls: 0, window: 6000, ..Plan::default() }, 10, json!({"memory_config": {"context_window": 1_000_000}})).await;
    let thread = &long.trace["trace"]["thread_id"];
    let mut run = String::new();
    for number in 0..3 {
        let message = format!("{number}{}", "z".repeat(9000));
        run = long.bench.chat(&long.agent, json!({"message": message, "thread_id": thread})).await;
    }
    let trace = long.bench.trace(&run).await;
    assert_eq!((&trace["trace"]["status"], &trace["trace"]["reply"]), (&json!("completed"), &json!("Done after 0.")), "{:#}", trace["trace"]);
    assert_eq!(long.caller.over.lock().expect("over").len(), 1);
    let bodies = long.caller.bodies();
    let messages = bodies.last().expect("a request")["messages"].as_array().expect("messages").clone();
    assert_eq!((&messages[0]["role"], &messages[0]["content"]), (&json!("system"), &json!("Look at all of it.")), "{messages:#?}");
    let last = messages.last().expect("a message")["content"].as_str().expect("a text");
    assert!(last.starts_with("2z") && !messages.iter().any(|message| message["content"].as_str().is_some_and(|text| text.starts_with("0z"))));
}

#[tokio::test]
async fn a_model_at_its_limit_of_tools_answers_with_what_it_knows() {
    let plan = Plan { calls: 12, at_once: 1, ..Plan::default() };
    let long = turn(plan.clone(), 10, json!({"tool_max_runs": 3})).await;
    assert_eq!(long.status(), ("completed", "Done after 3."));
    long.called_once(3);
    let bodies = long.caller.bodies();
    let (before, last) = (&bodies[3], &bodies[4]);
    assert_eq!((bodies.len(), &last["tool_choice"], &last["tools"]), (5, &json!("none"), &before["tools"]));
    let messages = last["messages"].as_array().expect("messages");
    assert!(messages.last().expect("one")["content"].as_str().expect("a text").contains("limit of tool calls"), "{messages:#?}");
    assert_eq!(messages[..messages.len() - 1], *before["messages"].as_array().expect("messages"), "the prompt begins alike");
    assert_eq!(long.trace["steps"][0]["warnings"][0]["code"], "tool_limit", "{:#}", long.trace["steps"][0]);

    let long = turn(plan, 10, json!({"tool_max_runs": 3, "on_tool_limit": "fail"})).await;
    assert_eq!(long.status().0, "failed");
    assert_eq!((long.caller.bodies().len(), &long.trace["trace"]["error"]["code"]), (4, &json!("tool_limit")));
}

#[tokio::test]
async fn calls_in_the_last_answer_are_not_made_and_an_empty_one_is_none() {
    for (says, status, reply) in [(5, "completed", "yyyyy"), (0, "failed", "")] {
        let plan = Plan { calls: 12, at_once: 1, says, stubborn: true, ..Plan::default() };
        let long = turn(plan, 10, json!({"tool_max_runs": 3})).await;
        let found = long.status();
        assert_eq!((found.0, if status == "failed" { "" } else { found.1 }), (status, reply), "{:#}", long.trace["trace"]);
        long.called_once(3);
        assert_eq!(long.caller.bodies().len(), 5);
        if status == "failed" {
            assert_eq!(long.trace["trace"]["error"]["code"], "tool_limit");
        }
    }
}

/// The model looks twice, then answers in words where a form is wanted.
async fn shaped(plan: Plan, size: usize) -> Long {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    turn(plan, size, json!({"schema": schema, "memory_config": {"context_window": 1_000_000}})).await
}

#[tokio::test]
async fn a_repair_begins_like_the_call_before_it_and_heeds_the_window() {
    let plan = Plan { calls: 2, at_once: 1, ..Plan::default() };
    let long = shaped(plan.clone(), 10).await;
    let bodies = long.caller.bodies();
    let (before, repair) = (&bodies[2], &bodies[3]);
    assert_eq!((bodies.len(), &repair["tool_choice"], &repair["tools"]), (4, &json!("none"), &before["tools"]), "{repair:#}");
    let messages = |body: &Value| body["messages"].as_array().expect("messages").clone();
    assert_eq!(messages(repair)[..messages(before).len()], messages(before)[..], "the prompt begins alike");
    assert_eq!(long.trace["trace"]["error"]["code"], "structured_invalid", "{:#}", long.trace["trace"]);

    // The last call fits, the repair does not any more.
    let plan = Plan { calls: 9, ..plan };
    let whole = shaped(plan.clone(), 4000).await.caller.bodies()[9].to_string().len() / 4;
    let long = shaped(Plan { window: whole + 20, ..plan }, 4000).await;
    let (over, bodies) = (long.caller.over.lock().expect("over").len(), long.caller.bodies());
    assert_eq!((over, bodies.len()), (1, 12), "it is shortened and asked for once more: {:#}", long.trace["trace"]);
    assert!(bodies[11].to_string().len() < bodies[10].to_string().len() && bodies[11]["tools"] == bodies[9]["tools"]);
}

#[tokio::test]
async fn a_repair_that_is_shortened_keeps_what_the_user_said() {
    // Nothing but what the model said itself can be taken out.
    let plan = Plan { calls: 3, at_once: 1, says: 3000, ..Plan::default() };
    let whole = shaped(plan.clone(), 10).await.caller.bodies()[3].to_string().len() / 4;
    let long = shaped(Plan { window: whole + 20, ..plan }, 10).await;
    let bodies = long.caller.bodies();
    assert_eq!(long.caller.over.lock().expect("over").len(), 1, "{:#}", long.trace["trace"]);
    let last = bodies.last().expect("a body")["messages"].as_array().expect("messages").clone();
    let text = |at: usize| last[at]["content"].as_str().unwrap_or_default();
    assert!(text(1).starts_with("Go on.") && text(1).contains("They looked at much."), "{last:#?}");
    assert!(text(last.len() - 2).starts_with("Done") && text(last.len() - 1).starts_with("Your answer does not fit"), "{last:#?}");
}

/// An answer that the provider pauses takes two requests: only the last one says how long the conversation is.
#[tokio::test]
async fn requests_that_are_added_up_for_one_answer_do_not_make_the_conversation_longer() {
    let answers = [
        json!({"type": "message", "content": [{"type": "text", "text": "So "}], "stop_reason": "pause_turn", "usage": {"input_tokens": 3000, "output_tokens": 2}}),
        json!({"type": "message", "content": [{"type": "tool_use", "id": "t1", "name": "calculate", "input": {"expression": "1+1"}}], "stop_reason": "tool_use",
            "usage": {"input_tokens": 3100, "output_tokens": 9}}),
        json!({"type": "message", "content": [{"type": "text", "text": "2"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3200, "output_tokens": 1}}),
    ];
    let left = Arc::new(Mutex::new(answers.into_iter().rev().collect::<Vec<Value>>()));
    let given = Arc::clone(&left);
    let answer = move || {
        let answer = given.lock().expect("answers").pop().expect("no further request");
        async move { axum::Json(answer) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    let work = json!({"kind": "anthropic", "base_url": url, "credential": "secret:KEY", "quirks": {"stream": false}});
    let bench = Bench::new(json!({"providers": {"work": work}, "secrets": {"KEY": "a-key-of-ours"}}));
    let agent = json!({"name": "A", "provider": "work", "model": "claude-opus-5", "tools": [{"ref": "toolkit:calculator"}], "memory_config": {"context_window": 5000}});
    let agent = bench.agent(agent).await;
    let run = bench.chat(&agent, json!({"message": "How much is 1+1?"})).await;
    let trace = bench.trace(&run).await;
    assert_eq!((&trace["trace"]["reply"], left.lock().expect("answers").len()), (&json!("2"), 0), "{trace:#}");
    assert_eq!(trace["trace"]["prompt_tokens"], json!(9300), "all of them count as spent");
    let spans = trace["spans"].as_array().expect("spans");
    assert!(spans.iter().all(|span| span["name"] != "history_compaction"), "{spans:#?}");
}
