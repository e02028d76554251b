//! Which tools a model is offered and made to call, and what goes along with its requests.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use wfstudio::model::sketch;
use wfstudio::studio::{Resource, TraceQuery};

use crate::support::Bench;
use crate::support::caller::{Caller, Plan};
use crate::support::story::Story;

/// A host with a hundred tools and one of another name.
struct Many;

impl Host for Many {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        Box::pin(async move { Ok(json!({"did": call.payload["name"]})) })
    }
}

fn many(bench: &Bench) {
    let tool = |name: String, description: &str| HostTool {
        name,
        description: description.into(),
        input_schema: json!({"type": "object"}),
        require_approval: false,
        idempotent: true,
        timeout_ms: None,
    };
    let mut tools: Vec<HostTool> = (0..100).map(|n| tool(format!("tool_{n}"), &format!("Does thing number {n}"))).collect();
    tools.push(tool("refund".into(), "Gives a customer money back"));
    bench.studio.set_host(Arc::new(Many), HostDeclaration { ops: vec![HostOp::ToolCall], tools, ..HostDeclaration::default() });
}

fn references(always: &str) -> Value {
    let names = (0..100).map(|n| format!("tool_{n}")).chain(["refund".to_owned()]);
    names.map(|name| json!({"ref": format!("host:{name}"), "always": name == always})).collect()
}

fn offered(body: &Value) -> Vec<String> {
    let name = |tool: &Value| tool["function"]["name"].as_str().expect("a name").to_owned();
    body["tools"].as_array().map(|tools| tools.iter().map(name).collect()).unwrap_or_default()
}

/// Runs one node against a server whose model calls `look` three times.
async fn sent(plan: Plan, node: &str) -> (Vec<Value>, Value) {
    let caller = Caller::start(plan).await;
    let story = Story::of(Bench::new(caller.settings()));
    let run = story.run(&format!("start -> {node} -> stop")).await;
    (caller.bodies(), story.trace(&run.id).await)
}

#[tokio::test]
async fn a_choice_of_tools_holds_as_long_as_it_must() {
    let plan = || Plan { calls: 2, at_once: 1, ..Plan::default() };
    let named = json!({"type": "function", "function": {"name": "look"}});
    for (choice, wanted) in [
        ("auto", [json!("auto"), json!("auto"), json!("auto")].to_vec()),
        ("required", vec![json!("required"), Value::Null, Value::Null]),
        ("{tool: look}", vec![named, Value::Null, Value::Null]),
        ("none", vec![json!("none")]),
    ] {
        let node = format!("agent_1{{provider: work, model: own, parameters: {{tool_choice: {choice}}}, tools: [{{ref: \"host:look\"}}]}}");
        let (bodies, trace) = sent(plan(), &node).await;
        assert_eq!(bodies.iter().map(|body| body["tool_choice"].clone()).collect::<Vec<_>>(), wanted, "{trace:#}");
    }
}

#[tokio::test]
async fn a_tool_that_nobody_has_cannot_be_wanted() {
    let story = Story::plain();
    let refused = async |parameters: &str| {
        let text = format!("start -> agent_1{{provider: echo, model: m, tools: [{{ref: \"host:look\"}}], parameters: {parameters}}} -> stop");
        let body = json!({"name": "W", "graph": sketch::graph(&text).expect("a sketch")});
        let error = story.bench.studio.create(&story.bench.scope, Resource::Workflow, &body).await.err();
        error.map(|error| json!(error.members).to_string()).unwrap_or_default()
    };
    for (parameters, field) in [
        ("{tool_choice: {tool: fly}}", "data.parameters.tool_choice"),
        ("{tool_choice: always}", "data.parameters.tool_choice"),
        ("{provider_options: {openai: {model: x}}}", "data.parameters.provider_options.openai.model"),
        ("{provider_options: {openai: 1}}", "data.parameters.provider_options.openai"),
    ] {
        let told = refused(parameters).await;
        assert!(told.contains("node_data_invalid") && told.contains(field), "{parameters}: {told}");
    }
    assert_eq!(refused("{tool_choice: {tool: look}, provider_options: {openai: {seed: 1}}}").await, "");
    for (parameters, field) in [
        (json!({"tool_choice": "always"}), "parameters.tool_choice"),
        (json!({"provider_options": {"openai": {"messages": []}}}), "parameters.provider_options.openai.messages"),
    ] {
        let error = story.bench.studio.create(&story.bench.scope, Resource::Agent, &json!({"name": "A", "parameters": parameters})).await.expect_err("a refusal");
        assert!(json!(error.members).to_string().contains(field), "{error} {:?}", error.members);
    }
}

#[tokio::test]
async fn options_of_a_provider_go_along_and_are_shown() {
    let node = "agent_1{provider: work, model: own, parameters: {temperature: 0.5, provider_options: {openai-compatible: {seed: 1, extra: {a: 1, b: 2}}, work: {extra: {b: 3}}, gemini: {seed: 9}}}}";
    let (bodies, trace) = sent(Plan { calls: 0, ..Plan::default() }, node).await;
    assert_eq!((&bodies[0]["seed"], &bodies[0]["extra"], &bodies[0]["temperature"]), (&json!(1), &json!({"a": 1, "b": 3}), &json!(0.5)));
    let span = trace["spans"].as_array().expect("spans").iter().find(|span| span["type"] == "llm").expect("a call");
    assert_eq!(span["provider_options"]["work"], json!({"extra": {"b": 3}}), "{span:#}");
}

#[tokio::test]
async fn a_model_searches_where_there_are_many_tools() {
    let replies = json!([
        {"tool_calls": [{"name": "find_tools", "arguments": {"query": "give money back to a customer"}}]},
        {"match": {"has_tool": "refund"}, "tool_calls": [{"name": "refund", "arguments": {}}, {"name": "nothing", "arguments": {}}]},
        {"text": "Paid back."}]);
    let bench = Bench::new(json!({"providers": {"script": {"scripts": {"m": {"replies": replies}}}}}));
    many(&bench);
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m", "tools": references("tool_7"), "require_tool_approval": false})).await;
    let run = bench.chat(&agent, json!({"message": "Pay."})).await;
    let trace = bench.trace(&run).await;
    assert_eq!((&trace["trace"]["status"], &trace["trace"]["reply"]), (&json!("completed"), &json!("Paid back.")), "{:#}", trace["trace"]);
    let spans: Vec<&Value> = trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "tool").collect();
    let found: Value = serde_json::from_str(spans[0]["output"]["result"].as_str().expect("a result")).expect("JSON");
    assert_eq!(found["tools"][0]["name"], "refund", "{found:#}");
    assert_eq!(spans.len(), 2, "what was found is offered: {trace:#}");
    assert_eq!(spans[1]["output"]["result"], "{\"did\":\"refund\"}");
    let whole = bench.studio.trace(&bench.scope, &run, TraceQuery { messages: true, ..TraceQuery::default() }).await.expect("a trace");
    assert!(whole.to_string().contains("the tools are tool_7, find_tools."), "only what is offered is named: {whole:#}");
    let stored = bench.studio.get(&bench.scope, Resource::Agent, &agent).await.expect("an agent");
    assert_eq!((&stored["tools"][7]["always"], stored["tools"][8].get("always")), (&json!(true), None));
}

#[tokio::test]
async fn what_was_found_is_offered_behind_the_rest() {
    let caller = Caller::start(Plan { tool: "find_tools", calls: 1, at_once: 1, ..Plan::default() }).await;
    let bench = Bench::new(caller.settings());
    many(&bench);
    // The model of the server gives no query: nothing is found, and the offer stays.
    let agent = bench.agent(json!({"name": "A", "provider": "work", "model": "own", "tools": references("tool_7")})).await;
    bench.chat(&agent, json!({"message": "Pay."})).await;
    let bodies = caller.bodies();
    assert_eq!((offered(&bodies[0]), offered(&bodies[1])), (vec!["tool_7".to_owned(), "find_tools".to_owned()], vec!["tool_7".to_owned(), "find_tools".to_owned()]));
    let few = bench.agent(json!({"name": "B", "provider": "work", "model": "own", "tools": [{"ref": "host:refund"}]})).await;
    bench.chat(&few, json!({"message": "Pay."})).await;
    assert_eq!(offered(&caller.bodies()[2]), ["refund"], "few tools are all offered");
    let named = json!({"name": "C", "provider": "work", "model": "own", "tools": references("tool_7"), "parameters": {"tool_choice": {"tool": "refund"}}});
    let named = bench.agent(named).await;
    bench.chat(&named, json!({"message": "Pay."})).await;
    assert!(caller.bodies().iter().any(|body| offered(body) == ["tool_7", "refund", "find_tools"]), "a tool that is chosen is offered");
}

#[tokio::test]
async fn what_a_search_found_is_appended_for_the_rest_of_the_step() {
    let caller = Caller::start(Plan { tool: "find_tools", calls: 2, at_once: 1, query: "give a customer money back", ..Plan::default() }).await;
    let bench = Bench::new(caller.settings());
    many(&bench);
    let agent = bench.agent(json!({"name": "A", "provider": "work", "model": "own", "tools": references("tool_7")})).await;
    bench.chat(&agent, json!({"message": "Pay."})).await;
    let bodies = caller.bodies();
    let found: Vec<Vec<String>> = bodies.iter().map(offered).collect();
    assert_eq!((found.len(), &found[0][..]), (3, &["tool_7".to_owned(), "find_tools".to_owned()][..]));
    assert!(found[1].contains(&"refund".to_owned()) && found[1][..2] == found[0][..], "{found:?}");
    assert_eq!(found[2], found[1], "what is found again is not offered twice");
}

#[tokio::test]
async fn an_agent_with_gated_tools_may_tell_its_tokens() {
    let replies = json!([{"text": "I will pay.", "tool_calls": [{"name": "pay", "arguments": {"sum": 1}, "id": "a"}]}, {"text": "It is paid."}]);
    for (key, told) in [(", stream_approval: true", true), ("", false)] {
        let story = Story::scripted(replies.clone());
        let node = format!("agent_1{{provider: script, model: m, stream: true{key}, tools: [{{ref: \"host:pay\"}}]}}");
        let workflow = story.workflow(&format!("start -> {node} -> stop")).await;
        let first = story.start(&workflow, json!({"message": "hi"})).await;
        assert_eq!(first.text.contains("token "), told, "{}", first.text);
        assert!(first.text.contains("tool_approval_required"), "{}", first.text);
        let then = story.resume(&first.id, json!({"approval": "approve"})).await;
        assert_eq!((then.contains("token "), then.contains("It is paid.")), (told, true), "{then}");
        assert_eq!(story.hands.calls().len(), 1);
        let graph = sketch::graph(&format!("start -> {node} -> stop")).expect("a sketch");
        let checked = story.bench.studio.validate_graph(&story.bench.scope, &json!({"graph": graph})).await;
        assert_eq!(json!(checked.expect("an answer")).to_string().contains("stream_ignored"), !told);
    }
}
