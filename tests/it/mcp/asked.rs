//! Servers that ask a person in the middle of a call: the run waits, whoever answers, from wherever.

use serde_json::{Value, json};

use super::support::{bench, call, graph, program, run};
use crate::support::Bench;

const FORM: &str = "“peer” asks, for its tool “form”: ";

fn peer() -> Value {
    program("modern", json!({}))
}

/// A run that waits: its number and what it waits with.
async fn waits(bench: &Bench, graph: Value) -> (String, Value) {
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    let told = bench.events_text(&started).await;
    assert!(told.contains("human_input_required"), "{told}");
    let run = started.run.to_string();
    let pause = open(bench, &run).await;
    (run, pause)
}

async fn open(bench: &Bench, run: &str) -> Value {
    let trace = bench.trace(run).await["trace"].clone();
    assert_eq!((&trace["status"], trace["pauses"].as_array().map(Vec::len)), (&json!("awaiting_input"), Some(1)), "{trace}");
    assert_eq!(trace["checkpoint"]["question"], trace["pauses"][0]["question"]);
    trace["pauses"][0].clone()
}

async fn say(bench: &Bench, run: &str, message: &str) -> String {
    let resumed = bench.resume(run, json!({ "message": message })).await.expect("resumed");
    bench.events_text(&resumed).await
}

async fn refused(bench: &Bench, run: &str, body: Value) -> String {
    let Err(error) = bench.resume(run, body).await else { panic!("resumed") };
    error.to_string()
}

#[tokio::test]
async fn a_node_waits_for_each_question_and_the_answers_go_back() {
    let bench = bench(&[("peer", peer())], json!({}));
    let (run, pause) = waits(&bench, call("peer", "form", json!({}))).await;
    let question = &pause["question"];
    assert_eq!((&pause["reason"], &pause["output_key"]), (&json!("human"), &json!("mcp_result")));
    assert_eq!((&question["server"], &question["tool"]), (&json!("peer"), &json!("form")), "{question}");
    assert_eq!(pause["prompt"], format!("{FORM}Whose name?\n\nAnswer with name: text. Answer “decline” to give no answer."));
    assert_eq!(question["schema"]["required"], json!(["name"]));
    let wrong = refused(&bench, &run, json!({"message": "x", "approval": "approve"})).await;
    assert!(wrong.contains("Whose name?"), "{wrong}");
    say(&bench, &run, "Ada").await;
    let pause = open(&bench, &run).await;
    let lines = "row: a whole number\nside: one of: left, right, may be left out";
    assert!(pause["prompt"].as_str().is_some_and(|prompt| prompt.starts_with(&format!("{FORM}Which seat?")) && prompt.contains(lines)), "{pause}");
    assert!(refused(&bench, &run, json!({"message": "row: 0"})).await.contains("minimum of 1"));
    assert!(refused(&bench, &run, json!({"message": "12"})).await.contains("does not begin with one of the names"));
    say(&bench, &run, "ROW: 12").await;
    assert!(refused(&bench, &run, json!({"message": "sure"})).await.contains("`accept` or `decline`"));
    let told = say(&bench, &run, "accept").await;
    let state = bench.trace(&run).await["trace"]["output"].clone();
    let result = &state["mcp_result"]["result"];
    let first = json!({"name": {"action": "accept", "content": {"name": "Ada"}}, "seat": {"action": "accept", "content": {"row": 12, "side": "left"}}});
    assert_eq!((&result["first"], &result["second"]), (&first, &json!({"fine": {"action": "accept", "content": {}}})), "{told}");
    assert_eq!((&result["able"]["elicitation"], result["key"].is_string()), (&json!({"form": {}}), true));
    assert_eq!(state["input"], "go", "what was said to the server is no new input");
}

#[tokio::test]
async fn a_model_gets_the_result_once_the_person_has_answered() {
    let script = json!({"replies": [
        {"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}, {"name": "ask", "arguments": {}}]},
        {"text": "It said {{tool_result}}"}]});
    let bench = bench(&[("peer", peer())], script);
    let agent = json!({"config_mode": "inline", "provider": "script", "model": "m", "tools": [{"ref": "mcp:peer"}], "stream": true});
    let (run, _) = waits(&bench, graph(vec![("a", "agent", agent)], &["start > a", "a > stop"])).await;
    let told = say(&bench, &run, r#"{"action": "decline"}"#).await;
    let results: Vec<&str> = told.lines().filter(|line| line.contains(" tool_result ")).collect();
    assert!(results.len() == 1 && results[0].contains("decline") && told.contains(r#""resumed":true"#), "{told}");
    assert!(told.contains("It said {") && told.contains("trace_completed"), "{told}");
    let trace = bench.trace(&run).await;
    let calls: Vec<&Value> = trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "tool").collect();
    assert_eq!(calls.len(), 3, "one sum, one question, one result: {calls:?}");
    assert_eq!(calls[1]["output"]["asked"], json!(["Your name?"]), "{calls:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_studio_can_take_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let open_one = || Bench::on_disk(json!({"mcp": {"servers": {"peer": peer()}}}), folder.path());
    let first = open_one();
    let branches = graph(
        vec![("f", "fork", json!({"branches": ["x", "y"]})), ("a", "mcp", json!({"mcp_server": "peer", "tool_name": "ask"})),
            ("b", "set_state", json!({"key": "k", "value": "v"})), ("j", "join", json!({}))],
        &["start > f", "f > j", "f:x > a", "f:y > b", "a > j", "b > j", "j > stop"],
    );
    let (run, pause) = waits(&first, branches).await;
    assert_eq!(pause["branch_id"], "x");
    first.studio.shutdown(std::time::Duration::from_millis(500)).await;
    drop(first);
    let next = open_one();
    say(&next, &run, "accept").await;
    let output = next.trace(&run).await["trace"]["output"].clone();
    let result = &output["parallel_results"]["x"]["result"];
    assert_eq!(result, &json!({"state": "state", "answers": {"name": {"action": "accept", "content": {}}}}), "{output}");
}

#[tokio::test]
async fn a_secret_in_what_goes_back_to_the_server_is_not_stored() {
    let bench = bench(&[("peer", program("modern", json!({"TOKEN": "secret:PEER_TOKEN"})))], json!({}));
    let refused = run(&bench, call("peer", "ask", json!({"parameters": {"state": "token"}}))).await.expect_err("refused");
    assert!(refused.starts_with("tool_failed: the MCP server `peer` wants a secret of its connection back"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_masked_value_in_what_goes_back_to_the_server_is_not_stored_and_not_sent_as_a_mask() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench::on_disk(json!({"mcp": {"servers": {"peer": peer()}}, "observability": {"redact": ["password"]}}), folder.path());
    let (run, _) = waits(&bench, call("peer", "ask", json!({"parameters": {"state": "password"}}))).await;
    let told = say(&bench, &run, "accept").await;
    assert!(told.contains("was redacted (`observability.redact`) and is not known any more"), "{told}");
    bench.studio.shutdown(std::time::Duration::from_millis(500)).await;
    drop(bench);
    for entry in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", entry.path().display());
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_questions_are_declined() {
    let script = json!({"replies": [
        {"match": {"node_id": "s"}, "tool_calls": [{"name": "ask", "arguments": {}}]},
        {"match": {"node_id": "s"}, "text": "{{tool_result}}"},
        {"match": {"has_tool": "helper", "call": 1}, "tool_calls": [{"name": "helper", "arguments": {"input": "x"}}]},
        {"match": {"has_tool": "ask", "call": 1}, "tool_calls": [{"name": "ask", "arguments": {}}]},
        {"text": "{{tool_result}}"}]});
    let bench = bench(&[("peer", peer())], script);
    let inline = |more: Value| {
        let mut data = json!({"config_mode": "inline", "provider": "script", "model": "m"});
        crate::support::merge(&mut data, more);
        data
    };
    let helper = json!({"tools": [{"ref": "mcp:peer"}], "tool_mode": true, "tool_exposure": {"slug": "helper", "description": "Helps",
        "parameters": {"input": {"description": "What", "controlled_by": "caller"}}}});
    let supervised = graph(vec![("a", "agent", inline(json!({}))), ("s", "agent", inline(helper))], &["start > a", "a > stop", "s:toolset => a"]);
    let workflow = bench.workflow(supervised).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    let told = bench.events_text(&started).await;
    assert!(told.contains("decline") && told.contains("trace_completed"), "{told}");
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m", "tools": [{"ref": "mcp:peer"}]})).await;
    let run = bench.chat(&agent, json!({"message": "go"})).await;
    let trace = bench.trace(&run).await["trace"].clone();
    assert!(trace["status"] == "completed" && trace["reply"].as_str().is_some_and(|reply| reply.contains("decline")), "{trace}");
}
