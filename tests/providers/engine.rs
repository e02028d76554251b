//! Whole runs of agents over every wire family: tools run, answers are repaired, usage is counted.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::{Follow, From};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Resource, Scope, Studio, TraceQuery};

use crate::aimock::PEERS;
use crate::peers::{Peer, address};

/// A studio in memory in front of a program, with more settings.
pub fn studio(peer: Peer, address: &str, more: Value) -> Studio {
    let mut settings = peer.settings(address);
    settings["environment"] = "local".into();
    settings["database"] = json!({"path": ":memory:"});
    settings.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() });
    Studio::open(config.unwrap_or_else(|error| panic!("{error}"))).expect("a studio")
}

/// Runs an agent to its end: its trace.
async fn run(peer: Peer, message: &str, agent: Value) -> Value {
    let address = address("STUDIO_AIMOCK_URL");
    let (studio, scope) = (studio(peer, &address, json!({})), Scope::default());
    let mut body = json!({"name": "Test", "provider": peer.0, "model": peer.1, "instructions": "You are brief."});
    body.as_object_mut().expect("an object").extend(agent.as_object().expect("an object").clone());
    let stored = studio.create(&scope, Resource::Agent, &body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    let id = stored["id"].as_str().expect("an id").to_owned();
    let request = RunRequest::parse(&json!({ "message": message }), EntityKind::Agent).expect("a body");
    let started = studio.start(&scope, EntityKind::Agent, &id, request, false).await.expect("a run");
    let run = started.run.to_string();
    let from = From { after: started.after, ..From::default() };
    let mut told = studio.events(&scope, &run, from, Follow::Answer).await.expect("events").expect("a stream");
    while told.next_batch().await.is_some() {}
    studio.trace(&scope, &run, TraceQuery::default()).await.expect("a trace")
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn an_agent_works_with_tools() {
    for peer in PEERS {
        let trace = run(peer, "Work out the sum", json!({"tools": [{"ref": "toolkit:calculator"}]})).await;
        let head = &trace["trace"];
        assert_eq!((&head["status"], &head["reply"]), (&json!("completed"), &json!("It is 5 and 20.")), "{}: {trace:#}", peer.0);
        let spans = trace["spans"].as_array().expect("spans");
        let kinds: Vec<&Value> = spans.iter().map(|span| &span["type"]).collect();
        assert_eq!(kinds, ["llm", "tool", "tool", "llm"], "{}", peer.0);
    }
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn an_agents_structured_answer_is_repaired() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false});
    for peer in PEERS {
        let trace = run(peer, "Name a city as JSON", json!({ "schema": schema })).await;
        let head = &trace["trace"];
        assert_eq!(head["output"]["agent_response"], json!({"city": "Paris"}), "{}: {trace:#}", peer.0);
        assert_eq!(trace["spans"].as_array().map(Vec::len), Some(2), "{}", peer.0);
    }
}
