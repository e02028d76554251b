//! Fallbacks: who is asked when a model does not answer, in which order, after which failures, and what is told of it.

use serde_json::{Value, json};
use wfstudio::model::sketch;
use wfstudio::studio::Resource;

use super::cloud::Cloud;
use crate::support::Bench;

const OK: &str = "fallbacks: [{provider: two, model: ok}]";

/// Runs `start -> node -> stop`: what it told, and its trace.
async fn run(bench: &Bench, nodes: &str) -> (String, Value) {
    let graph = sketch::graph(&format!("start -> {nodes} -> stop")).expect("a graph");
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "hi"})).await;
    (bench.events_text(&started).await, bench.trace(&started.run.to_string()).await)
}

fn events(told: &str, event: &str) -> Vec<Value> {
    let lines = told.lines().filter(|line| line.split(' ').nth(1) == Some(event));
    lines.map(|line| serde_json::from_str(line.splitn(3, ' ').nth(2).expect("data")).expect("JSON")).collect()
}

/// Its model calls, as `provider/model status code warnings`.
fn calls(trace: &Value) -> Vec<String> {
    let spans = trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "llm");
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let told = |span: &Value| {
        let warnings: Vec<String> = span["warnings"].as_array().into_iter().flatten().map(|warning| text(&warning["code"])).collect();
        format!("{}/{} {} {} {}", text(&span["provider"]), text(&span["model"]), text(&span["status"]), text(&span["error"]["code"]), warnings.join(","))
    };
    spans.map(|span| told(span).trim_end().to_owned()).collect()
}

#[tokio::test]
async fn the_next_is_asked_after_each_failure_that_is_the_providers() {
    for (model, code) in [
        ("limited", "provider_rate_limited"),
        ("down", "provider_unavailable"),
        ("auth", "provider_auth"),
        ("silent", "provider_timeout"),
        ("midway", "provider_rate_limited"),
    ] {
        for kind in ["llm_1", "agent_1"] {
            let cloud = Cloud::start().await;
            let patience = if model == "silent" { 300 } else { 60_000 };
            let bench = cloud.bench(json!({"providers": {"one": {"timeout_ms": patience}}}));
            let (told, trace) = run(&bench, &format!("{kind}{{provider: one, model: {model}, {OK}}}")).await;
            assert_eq!(calls(&trace), [format!("one/{model} failed {code}"), "two/ok completed - fallback".to_owned()], "{told}");
            let (from, to) = (json!({"provider": "one", "model": model}), json!({"provider": "two", "model": "ok"}));
            let event = &events(&told, "model_fallback")[0];
            assert_eq!((&event["node_id"], &event["from"], &event["to"], &event["code"]), (&json!(kind), &from, &to, &json!(code)), "{event}");
            let warnings = json!([{"code": "fallback", "message": format!("the call of `{model}` (one) ended with `{code}`, so `ok` (two) was asked instead")}]);
            let (step, ended) = (&trace["steps"][0], &events(&told, "step_completed")[0]);
            for told in [step, ended] {
                assert_eq!((&told["provider"], &told["model"], &told["warnings"]), (&json!("two"), &json!("ok"), &warnings), "{told:#}");
            }
            assert_eq!(trace["trace"]["reply"], "Hi from ok");
            assert_eq!(trace["spans"].as_array().expect("spans").last().expect("a span")["prompt_tokens"], 10);
        }
    }
}

#[tokio::test]
async fn the_order_is_that_of_the_list_and_the_last_failure_is_the_steps() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({}));
    let list = |last: &str| format!("fallbacks: [{{provider: one, model: auth}}, {{provider: two, model: down}}, {{provider: two, model: {last}}}]");
    let (told, trace) = run(&bench, &format!("llm_1{{provider: one, model: limited, {}}}", list("ok"))).await;
    assert_eq!(cloud.names(), ["one/limited", "one/auth", "two/down", "two/ok"]);
    let codes: Vec<Value> = events(&told, "model_fallback").iter().map(|event| event["code"].clone()).collect();
    assert_eq!(codes, ["provider_rate_limited", "provider_auth", "provider_unavailable"]);
    assert_eq!(trace["steps"][0]["warnings"].as_array().map(Vec::len), Some(3));

    let (told, trace) = run(&bench, &format!("llm_1{{provider: one, model: limited, {}}}", list("limited"))).await;
    assert_eq!((events(&told, "step_failed")[0]["code"].as_str(), events(&told, "model_fallback").len()), (Some("provider_rate_limited"), 3));
    assert_eq!(calls(&trace).len(), 4);
}

#[tokio::test]
async fn nobody_else_is_asked_after_other_failures_or_once_text_was_told() {
    for (node, code) in [
        ("llm_1{provider: one, model: bad, ", "provider_bad_request"),
        ("llm_1{provider: one, model: midway, stream: true, ", "provider_rate_limited"),
        ("agent_1{provider: one, model: midway, stream: true, ", "provider_rate_limited"),
    ] {
        let cloud = Cloud::start().await;
        let (told, trace) = run(&cloud.bench(json!({})), &format!("{node}{OK}}}")).await;
        assert_eq!((events(&told, "step_failed")[0]["code"].as_str(), cloud.names().len()), (Some(code), 1), "{told}");
        assert!(!told.contains("model_fallback") && calls(&trace).len() == 1, "{told}");
    }
    // A stream that failed before it told anything.
    let cloud = Cloud::start().await;
    let (told, _) = run(&cloud.bench(json!({})), &format!("llm_1{{provider: one, model: limited, stream: true, {OK}}}")).await;
    assert!(told.contains("Hi from ok") && events(&told, "token").len() == 1, "{told}");
}

#[tokio::test]
async fn a_larger_model_is_asked_where_size_was_what_failed() {
    let fallbacks = "fallbacks: [{provider: two, model: small}, {provider: two, model: large}]";
    for (model, member, code) in [("full", "context_window", "context_overflow"), ("cut", "max_output", "output_truncated")] {
        let sized = |id: &str, size: u64| json!({"id": id, (member): size});
        let settings = json!({"providers": {"one": {"models": [sized(model, 5000)]}, "two": {"models": [sized("small", 5000), sized("large", 5001)]}}});
        let cloud = Cloud::start().await;
        let bench = cloud.bench(settings);
        let (told, _) = run(&bench, &format!("llm_1{{provider: one, model: {model}, {fallbacks}}}")).await;
        assert_eq!(cloud.names(), [format!("one/{model}"), "two/large".to_owned()], "{told}");
        assert_eq!(events(&told, "model_fallback")[0]["code"], code);
        let (told, _) = run(&bench, &format!("llm_1{{provider: one, model: {model}, fallbacks: [{{provider: two, model: small}}, {{provider: two, model: unknown}}]}}")).await;
        assert_eq!((events(&told, "step_failed")[0]["code"].as_str(), cloud.names().len()), (Some(code), 3), "{told}");
    }
}

#[tokio::test]
async fn later_calls_of_a_step_stay_with_the_one_that_answered_and_the_next_step_begins_anew() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({}));
    let fallbacks = "fallbacks: [{provider: two, model: down}, {provider: two, model: steady}], tools: [{ref: \"toolkit:calculator\"}]";
    let agents = ["agent_1", "agent_2"].map(|id| format!("{id}{{provider: one, model: caller, memory: none, {fallbacks}}}"));
    let (told, trace) = run(&bench, &agents.join(" -> ")).await;
    let one = ["one/caller", "one/caller", "two/down", "two/steady", "two/steady", "two/steady"];
    assert_eq!(cloud.names(), [one, one].concat(), "{told}");
    assert_eq!((events(&told, "model_fallback").len(), events(&told, "tool_result").len()), (4, 6));
    assert_eq!((&trace["steps"][0]["model"], &trace["trace"]["status"]), (&json!("steady"), &json!("completed")));
}

#[tokio::test]
async fn the_next_attempt_of_a_step_begins_with_the_first_again() {
    let cloud = Cloud::start().await;
    let node = "llm_1{provider: one, model: fails, retries: {max: 1, backoff_ms: 1}, fallbacks: [{provider: two, model: down}]}";
    let (told, _) = run(&cloud.bench(json!({})), node).await;
    assert_eq!(cloud.names(), ["one/fails", "two/down", "one/fails"], "{told}");
    assert!(told.contains("Hi from fails"), "{told}");
    assert_eq!(events(&told, "step_completed")[0]["model"], "fails");
}

#[tokio::test]
async fn each_provider_is_asked_with_its_own_credential_and_settings() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({}));
    let list = "fallbacks: [{provider: one, model: down}, {provider: two, model: down, parameters: {max_tokens: 7}}, {provider: two, model: down, credential: \"secret:OWN\"}]";
    run(&bench, &format!("llm_1{{provider: one, model: limited, credential: \"secret:OTHER\", parameters: {{max_tokens: 5, temperature: 0.5}}, {list}}}")).await;
    let seen: Vec<String> = cloud.asked().iter().map(|asked| format!("{} {} {}", asked.key, asked.body["max_tokens"], asked.body["temperature"])).collect();
    assert_eq!(seen, ["Bearer k2 5 0.5", "Bearer k2 5 0.5", "Bearer k2 7 0.5", "Bearer k3 5 0.5"]);
    let (told, trace) = run(&bench, &format!("llm_1{{provider: one, model: ok, credential: \"secret:GONE\", {OK}}}")).await;
    assert_eq!(calls(&trace), ["one/ok failed credential_missing", "two/ok completed - fallback"], "{told}");
}

#[tokio::test]
async fn what_one_provider_encrypted_is_not_sent_to_another() {
    let cloud = Cloud::start().await;
    let kind = json!({"kind": "openai-responses"});
    let bench = cloud.bench(json!({"providers": {"one": kind, "two": kind}}));
    let (told, _) = run(&bench, "agent_1{provider: one, model: gpt-5, fallbacks: [{provider: two, model: gpt-5}], tools: [{ref: \"toolkit:calculator\"}]}").await;
    assert!(told.contains("Done."), "{told}");
    let asked = cloud.asked();
    let of = |n: usize| asked[n].body["input"].to_string();
    assert_eq!(asked.len(), 4);
    assert!(of(1).contains("one only") && asked[1].provider == "one", "what it thought goes back to who thought it: {}", of(1));
    assert!(!of(2).contains("one only") && of(2).contains("function_call_output") && asked[2].provider == "two", "{}", of(2));
    assert!(!of(3).contains("one only") && of(3).contains("two only"), "{}", of(3));
}

#[tokio::test]
async fn what_a_fallback_encrypted_is_not_sent_to_the_first_in_the_next_turn() {
    let cloud = Cloud::start().await;
    let kind = json!({"kind": "openai-responses"});
    let bench = cloud.bench(json!({"providers": {"one": kind, "two": kind}}));
    let fallbacks = json!([{"provider": "two", "model": "gpt-5"}]);
    let agent = bench.agent(json!({"name": "A", "provider": "one", "model": "gpt-5", "fallbacks": fallbacks, "tools": [{"ref": "toolkit:calculator"}]})).await;
    let first = bench.chat(&agent, json!({"message": "hi"})).await;
    let thread = bench.trace(&first).await["trace"]["thread_id"].clone();
    let turn = cloud.asked().len();
    bench.chat(&agent, json!({"message": "again", "thread_id": thread})).await;
    let asked = cloud.asked();
    assert!(asked.len() > turn && asked[turn].provider == "one", "the next turn begins with the first");
    for one in &asked {
        let other = if one.provider == "one" { "two only" } else { "one only" };
        assert!(!one.body["input"].to_string().contains(other), "{}: {}", one.provider, one.body["input"]);
    }
    assert!(asked[turn].body["input"].to_string().contains("one only"), "its own goes back: {}", asked[turn].body["input"]);
}

#[tokio::test]
async fn a_fallback_of_another_account_is_asked_without_what_the_first_encrypted() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({"providers": {"one": {"kind": "openai-responses"}}}));
    let own = "fallbacks: [{provider: one, model: gpt-5-sealed, credential: \"secret:OWN\"}]";
    let (told, trace) = run(&bench, &format!("agent_1{{provider: one, model: gpt-5-sealed, {own}, tools: [{{ref: \"toolkit:calculator\"}}]}}")).await;
    assert!(told.contains("Done.") && trace["trace"]["status"] == "completed", "{told}");
    let asked = cloud.asked();
    let sent: Vec<String> = asked.iter().map(|one| format!("{} {}", one.key, one.body["input"])).collect();
    let keys: Vec<&str> = asked.iter().map(|one| one.key.trim_start_matches("Bearer ")).collect();
    assert_eq!(keys, ["k1", "k1", "k3", "k3", "k3"], "refused once, and asked once more: {sent:#?}");
    assert!(sent[1].contains("by Bearer k1") && !sent[3].contains("by Bearer") && !sent[3].contains("fc_0") && sent[3].contains("call_after_0_results"), "{}", sent[3]);
    assert!(!sent[4].contains("by Bearer k1") && sent[4].contains("by Bearer k3"), "what was refused stays out, what it thought itself goes back: {}", sent[4]);
    let warned: Vec<&Value> = trace["steps"][0]["warnings"].as_array().expect("warnings").iter().map(|warning| &warning["code"]).collect();
    assert_eq!(warned, ["fallback", "parameter_dropped"]);
}

#[tokio::test]
async fn a_stored_agents_fallbacks_hold_in_chats_and_in_nodes() {
    let cloud = Cloud::start().await;
    let bench = cloud.bench(json!({}));
    let agent = bench.agent(json!({"name": "A", "provider": "one", "model": "limited", "fallbacks": [{"provider": "two", "model": "ok"}]})).await;
    let (told, _) = run(&bench, &format!("agent_1{{agent_id: \"{agent}\"}}")).await;
    assert!(told.contains("Hi from ok"), "{told}");
    let run = bench.chat(&agent, json!({"message": "hi"})).await;
    let told = bench.events_text_from(&run, wfstudio::engine::From::default(), wfstudio::engine::Follow::Answer).await;
    let (from, to) = (json!({"provider": "one", "model": "limited"}), json!({"provider": "two", "model": "ok"}));
    assert_eq!(events(&told, "model_fallback"), [json!({"from": from, "to": to, "code": "provider_rate_limited"})], "{told}");
    let warnings = &events(&told, "done")[0]["warnings"];
    assert_eq!(warnings[0]["code"], "fallback");
    let thread = bench.trace(&run).await["trace"]["thread_id"].as_str().expect("a thread").to_owned();
    let stored = bench.studio.thread(&bench.scope, &thread, wfstudio::studio::ListQuery::default()).await.expect("messages");
    assert_eq!((&stored["messages"][0]["meta"], &stored["messages"][1]["meta"]["warnings"]), (&json!({}), warnings), "also after a reload");
}

#[tokio::test]
async fn what_is_wrong_with_fallbacks_is_told() {
    let bench = Cloud::start().await.bench(json!({}));
    let one = json!({"provider": "two", "model": "ok"});
    for (fallbacks, field, told) in [
        (json!(vec![one.clone(); 5]), "fallbacks", "fallbacks must have at most 4 items"),
        (json!([{"provider": "two"}]), "fallbacks.0.model", "fallbacks.0.model is required"),
        (json!([one, {"model": "ok", "provider": " "}]), "fallbacks.1.provider", "fallbacks.1.provider is required"),
        (json!([{"provider": "two", "model": "ok", "credential": "sk-123"}]), "fallbacks.0.credential", "secret:NAME"),
        (json!([{"provider": "two", "model": "ok", "parameters": {"top_p": 2}}]), "fallbacks.0.parameters.top_p", "must be a number from 0 to 1"),
        (json!("ok"), "fallbacks", "must be an array"),
    ] {
        let body = json!({"name": "A", "provider": "one", "model": "ok", "fallbacks": fallbacks});
        let error = bench.studio.create(&bench.scope, Resource::Agent, &body).await.expect_err("refused");
        let text = format!("{error} {:?}", error.members);
        assert!(text.contains(field) && text.contains(told), "{text}");
    }
    for (fallbacks, told) in [
        ("[{provider: p, model: m}, {provider: p, model: m}, {provider: p, model: m}, {provider: p, model: m}, {provider: p, model: m}]", "must be a list of at most 4"),
        ("[{provider: p}]", "must be text that is not empty"),
        ("[{provider: p, model: m, parameters: {max_tokens: 0}}]", "must be a whole number of at least 1"),
        ("[{provider: p, model: m, credential: \"sk-123\"}]", "fallbacks.0.credential"),
    ] {
        for node in ["llm_1{provider: one, model: m", "agent_1{provider: one, model: m"] {
            let graph = sketch::graph(&format!("start -> {node}, fallbacks: {fallbacks}}} -> stop")).expect("a graph");
            let checked = bench.studio.validate_graph(&bench.scope, &json!({"graph": graph})).await;
            let text = format!("{checked:?}");
            assert!(text.contains(told), "{text}");
        }
    }
}
