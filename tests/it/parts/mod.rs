//! What models think: told as it comes, kept for their provider, sent back to it once, shown in traces and threads, and part of no answer.

mod files;
mod server;

use serde_json::{Value, json};
use wfstudio::model::event::EntityKind;
use wfstudio::model::sketch;
use wfstudio::studio::{ListQuery, TraceQuery};

use self::server::{CITING, FAMILIES, Family, PAINTERS, Server};
use crate::support::Bench;

const TOOLS: &str = "tools: [{ref: \"toolkit:calculator\"}]";

fn node(family: &Family, more: &str) -> String {
    format!("start -> agent_1{{provider: work, model: {}, stream: true, {TOOLS}{more}}} -> stop", family.model)
}

/// Runs a workflow of one agent: what it told, and its whole trace.
async fn run(bench: &Bench, sketched: &str) -> (String, Value) {
    let workflow = bench.workflow(sketch::graph(sketched).expect("a graph")).await;
    let started = bench.start(&workflow, json!({"message": "How much is 1+1?"})).await;
    let told = bench.events_text(&started).await;
    let query = TraceQuery { messages: true, ..TraceQuery::default() };
    (told, bench.studio.trace(&bench.scope, &started.run.to_string(), query).await.expect("a trace"))
}

/// Events that say something, with what they say, repeats drawn together.
fn course(told: &str) -> Vec<(String, String)> {
    let mut course: Vec<(String, String)> = Vec::new();
    let (mut event, wanted) = (String::new(), ["reasoning", "token", "tool_call", "tool_result"]);
    for line in told.lines() {
        let found = wanted.iter().find(|name| line.split_whitespace().any(|word| word == **name));
        if let Some(name) = found {
            (*name).clone_into(&mut event);
        }
        let Some(data) = line.find('{').and_then(|at| serde_json::from_str::<Value>(&line[at..]).ok()) else { continue };
        if found.is_none() {
            continue;
        }
        let said = data["delta"].as_str().unwrap_or_default();
        match course.last_mut().filter(|last| last.0 == event && matches!(event.as_str(), "reasoning" | "token")) {
            Some(last) => last.1.push_str(said),
            None => course.push((event.clone(), said.to_owned())),
        }
    }
    course
}

#[tokio::test]
async fn each_family_is_told_as_it_thinks_and_gets_its_thoughts_back_once() {
    for family in FAMILIES {
        let server = Server::start(family).await;
        let (told, trace) = run(&server.bench(json!({})), &node(family, "")).await;
        let wanted = [("reasoning", "One and one."), ("tool_call", ""), ("tool_result", ""), ("reasoning", "Two it is."), ("token", "It is 2.")];
        let wanted = wanted.map(|(event, said)| (event.to_owned(), said.to_owned()));
        assert_eq!(course(&told), wanted, "{}: {told}", family.kind);
        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{}", family.kind);
        for kept in family.sent_back {
            assert_eq!(asked[1].matches(kept).count(), 1, "{}: {kept} in {}", family.kind, asked[1]);
        }
        assert_eq!(trace["trace"]["reply"], json!("It is 2."), "{}", family.kind);
        assert_eq!(trace["trace"]["output"]["output"].as_str().unwrap_or("It is 2."), "It is 2.");
        let answers: Vec<&Value> = trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "llm").collect();
        assert_eq!(answers[0]["output"]["parts"][0], json!({"type": "reasoning", "text": "One and one."}), "{}: {:#}", family.kind, answers[0]["output"]);
        assert_eq!(answers[1]["output"]["parts"], json!([{"type": "reasoning", "text": "Two it is."}, {"type": "text", "text": "It is 2."}]));
        for secret in family.never_shown {
            assert!(!trace.to_string().contains(secret) && !told.contains(secret), "{}: {secret} is shown: {trace:#}", family.kind);
        }
    }
}

#[tokio::test]
async fn after_a_restart_in_a_tool_loop_the_thoughts_go_back_once() {
    for family in FAMILIES {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(family).await;
        let bench = server.on_disk(folder.path());
        let workflow = bench.workflow(sketch::graph(&node(family, ", require_tool_approval: true")).expect("a graph")).await;
        let started = bench.start(&workflow, json!({"message": "How much is 1+1?"})).await;
        bench.events_text(&started).await;
        let run = started.run.to_string();
        assert_eq!(bench.trace(&run).await["trace"]["status"], json!("awaiting_tool_approval"), "{}", family.kind);
        drop(bench);
        let bench = server.on_disk(folder.path());
        let resumed = bench.resume(&run, json!({"approval": "approve"})).await.expect("resumed");
        bench.events_text(&resumed).await;
        let trace = bench.trace(&run).await;
        assert_eq!((&trace["trace"]["status"], &trace["trace"]["reply"]), (&json!("completed"), &json!("It is 2.")), "{}: {trace:#}", family.kind);
        let asked = server.asked();
        assert_eq!(asked.len(), 2, "{}: the first call is not made again", family.kind);
        for kept in family.sent_back {
            assert_eq!(asked[1].matches(kept).count(), 1, "{}: {kept} in {}", family.kind, asked[1]);
        }
    }
}

#[tokio::test]
async fn nobody_is_shown_what_is_not_to_be_shown_and_the_provider_has_it_back() {
    for family in FAMILIES {
        let server = Server::start(family).await;
        let (told, trace) = run(&server.bench(json!({})), &node(family, ", parameters: {show_reasoning: none}")).await;
        assert!(!told.contains("reasoning\"") && !told.contains("One and one.") && !told.contains("Two it is."), "{}: {told}", family.kind);
        let spans = trace["spans"].to_string();
        assert!(!spans.contains("One and one.") && !spans.contains("Two it is."), "{}: {spans}", family.kind);
        let asked = server.asked();
        for ask in ["\"summary\":\"auto\"", "includeThoughts", "\"display\""] {
            assert!(!asked[0].contains(ask), "{}: {ask}", family.kind);
        }
        for kept in family.sent_back {
            assert_eq!(asked[1].matches(kept).count(), 1, "{}: {kept} in {}", family.kind, asked[1]);
        }
    }
}

#[tokio::test]
async fn another_family_is_not_sent_them() {
    let (first, second) = (&FAMILIES[0], &FAMILIES[1]);
    let (one, other) = (Server::start(first).await, Server::start(second).await);
    let bench = one.bench(json!({"providers": {"other": other.provider()}}));
    let agent = bench.agent(json!({"name": "A", "provider": "work", "model": first.model, "tools": [{"ref": "toolkit:calculator"}]})).await;
    let run = bench.chat(&agent, json!({"message": "How much is 1+1?"})).await;
    let thread = bench.trace(&run).await["trace"]["thread_id"].clone();
    let changed = json!({"name": "A", "provider": "other", "model": second.model, "tools": [{"ref": "toolkit:calculator"}]});
    bench.studio.put(&bench.scope, wfstudio::studio::Resource::Agent, &agent, &changed, None).await.expect("changed");
    bench.chat(&agent, json!({"message": "And again?", "thread_id": thread})).await;
    let asked = other.asked();
    assert!(asked[0].contains("How much is 1+1?") && asked[0].contains("It is 2."), "{}", asked[0]);
    for own in first.sent_back.iter().chain(&["One and one.", "Two it is."]) {
        assert!(!asked[0].contains(own), "{own} in {}", asked[0]);
    }
}

#[tokio::test]
async fn a_model_without_tools_goes_on_with_a_thread_that_has_calls() {
    let (first, second) = (&FAMILIES[0], &PAINTERS[2]);
    let (one, other) = (Server::start(first).await, Server::start(second).await);
    let bench = one.bench(json!({"providers": {"other": other.provider()}}));
    let tools = json!([{"ref": "toolkit:calculator"}]);
    let agent = bench.agent(json!({"name": "A", "provider": "work", "model": first.model, "tools": tools})).await;
    let run = bench.chat(&agent, json!({"message": "How much is 1+1?"})).await;
    let thread = bench.trace(&run).await["trace"]["thread_id"].clone();
    let changed = json!({"name": "A", "provider": "other", "model": second.model, "tools": tools});
    bench.studio.put(&bench.scope, wfstudio::studio::Resource::Agent, &agent, &changed, None).await.expect("changed");
    let run = bench.chat(&agent, json!({"message": "Draw it.", "thread_id": thread})).await;
    assert_eq!(bench.trace(&run).await["trace"]["reply"], json!("A dot."));
    let asked = other.asked();
    for call in ["tool_calls", "\"role\":\"tool\"", "\"tools\""] {
        assert!(!asked[0].contains(call), "{call} in {}", asked[0]);
    }
    for told in ["How much is 1+1?", "[called calculate with {", "[result of calculate]", "It is 2.", "Draw it."] {
        assert!(asked[0].contains(told), "{told} in {}", asked[0]);
    }
}

#[tokio::test]
async fn a_thread_is_read_with_its_parts() {
    let family = &FAMILIES[0];
    let server = Server::start(family).await;
    let bench = server.bench(json!({}));
    let agent = bench.agent(json!({"name": "A", "provider": "work", "model": family.model, "tools": [{"ref": "toolkit:calculator"}]})).await;
    let run = bench.chat(&agent, json!({"message": "How much is 1+1?"})).await;
    let thread = bench.trace(&run).await["trace"]["thread_id"].as_str().expect("a thread").to_owned();
    let read = async |include: &str| {
        let query = ListQuery::parse([("include", include)]).expect("a query");
        bench.studio.chat_messages(&bench.scope, EntityKind::Agent, &agent, &thread, query).await.expect("messages")["messages"].clone()
    };
    let (plain, parts) = (read("").await, read("parts").await);
    assert!(plain.as_array().expect("messages").iter().all(|message| message.get("parts").is_none()), "{plain:#}");
    assert_eq!(parts[0]["parts"], json!([{"type": "text", "text": "How much is 1+1?"}]));
    let kinds: Vec<&str> = parts[1]["parts"].as_array().expect("parts").iter().filter_map(|part| part["type"].as_str()).collect();
    assert_eq!(kinds, ["reasoning", "call", "result", "reasoning", "text"], "{parts:#}");
    assert_eq!((&parts[1]["content"], &parts[1]["parts"][2]["parts"][0]["text"]), (&json!("It is 2."), &json!("{\"result\":2}")));
}

/// The data of events of a name.
fn events(told: &str, name: &str) -> Vec<Value> {
    let found = told.lines().filter(|line| line.split_whitespace().any(|word| word == name));
    found.filter_map(|line| serde_json::from_str(&line[line.find('{')?..]).ok()).collect()
}

#[tokio::test]
async fn what_an_answer_rests_on_is_told_once_in_a_step() {
    let server = Server::start(&CITING).await;
    let bench = server.bench(json!({}));
    let (told, trace) = run(&bench, &node(&CITING, "")).await;
    let shown = |source: &Value| format!("{} {} {}", source["kind"], source["url"], source["title"]);
    let sources: Vec<String> = events(&told, "source").iter().map(shown).collect();
    assert_eq!(sources, [r#""url" "https://a.example/one" "One""#, r#""url" "https://b.example/two" "Two""#], "{told}");
    assert!(events(&told, "source").iter().all(|source| source["node_id"] == "agent_1"), "{told}");
    let last = trace["spans"].as_array().expect("spans").iter().rfind(|span| span["type"] == "llm").expect("an answer");
    let kinds: Vec<&str> = last["output"]["parts"].as_array().expect("parts").iter().filter_map(|part| part["type"].as_str()).collect();
    assert_eq!(kinds, ["text", "source", "source"], "{last:#}");
    assert_eq!(trace["trace"]["reply"], json!("It is 2."));
    assert!(!server.asked()[1].contains("a.example"), "what only people read goes to no provider");
}

#[tokio::test]
async fn a_value_that_is_masked_is_masked_in_thoughts_too() {
    let first = "Their password: \\\"hunter2hunter2\\\" is long.";
    let server = Server::thinking(&FAMILIES[0], first, "So hunter2hunter2 it is.").await;
    let folder = tempfile::tempdir().expect("a folder");
    let bench = server.on_disk_with(folder.path(), json!({"observability": {"redact": ["password"]}}));
    let (told, trace) = run(&bench, &node(&FAMILIES[0], "")).await;
    let joined: String = course(&told).into_iter().map(|(_, said)| said).collect();
    assert!(joined.contains("Their password: ") && joined.contains("So ") && joined.contains("it is."), "{told}");
    assert!(!joined.contains("hunter2") && !trace.to_string().contains("hunter2"), "{told}\n{trace:#}");
    assert!(server.asked()[1].contains("hunter2hunter2"), "the run itself works with it");
    drop(bench);
    for entry in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!bytes.windows(7).any(|window| window == b"hunter2"), "{}", entry.path().display());
    }
}

#[tokio::test]
async fn a_provider_that_refuses_to_show_is_asked_without() {
    let family = &FAMILIES[1];
    let server = Server::refusing(family, "\"summary\":\"auto\"", "Your organization must be verified to generate reasoning summaries.").await;
    let (told, trace) = run(&server.bench(json!({})), &node(family, "")).await;
    assert_eq!(trace["trace"]["reply"], json!("It is 2."), "{trace:#}");
    assert!(told.contains("parameter_dropped") && told.contains("show_reasoning"), "{told}");
    let refused = server.refused.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!((refused, server.asked().len()), (1, 2), "what is refused once is not asked for again");
}

#[tokio::test]
async fn gemini_is_asked_without_thoughts_where_it_says_that_the_model_does_not_think() {
    let family = FAMILIES.iter().find(|family| family.kind == "gemini").expect("a family");
    let server = Server::refusing(family, "includeThoughts", "Thinking is not enabled for this model").await;
    let (told, trace) = run(&server.bench(json!({})), &node(family, "")).await;
    assert_eq!(trace["trace"]["reply"], json!("It is 2."), "{trace:#}");
    assert!(told.contains("parameter_dropped") && told.contains("show_reasoning"), "{told}");
    assert_eq!(server.refused.load(std::sync::atomic::Ordering::SeqCst), 1);
}
