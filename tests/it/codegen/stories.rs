//! What people say to the bundled workflows and how the stored ones end: exported classes, registered in their own language, must end alike.

use serde_json::{Value, json};
use wfstudio::engine::{Follow, From};
use wfstudio::studio::Started;

use super::Desk;

/// The workflow, what begins it, and its answers.
fn all() -> [(&'static str, &'static str, Vec<Value>); 16] {
    let say = |text: &str| json!({"message": text});
    [
        ("basic-agent-chat", "Hello", vec![]),
        ("supervisor-specialist-tool-mode", "Why is the sky blue?", vec![]),
        ("rag-knowledge-qna", "Where is my order?", vec![]),
        ("lead-qualification", "I am Ada, ada@example.com", vec![]),
        ("lead-qualification", "Hi", vec![]),
        ("lead-qualification-loop", "I am Ada, ada@example.com", vec![]),
        ("lead-qualification-loop", "Hi", vec![]),
        ("autonomous-lead-qualification", "Hi", vec![say("not yet"), say("ada@example.com")]),
        ("parallel-support-triage", "My order is late", vec![]),
        ("parallel-triage-hitl", "My order is late", vec![say("Call back")]),
        ("parallel-refund-approval", "Refund A-100", vec![json!({"approval": "approve"})]),
        ("parallel-refund-approval", "Refund A-100", vec![json!({"approval": "reject"})]),
        ("support-rag-hitl", "Where is my order?", vec![]),
        ("support-rag-hitl", "It is broken", vec![say("Offer a new one")]),
        ("support-rag-hitl", "I want the manager", vec![say("yes")]),
        ("dev-support-memory-loop", "It crashes", vec![say("still the same"), say("works now")]),
    ]
}

/// The workflows of all stories, each once.
pub fn workflows() -> Vec<&'static str> {
    let mut all: Vec<&str> = all().into_iter().map(|(workflow, ..)| workflow).collect();
    all.dedup();
    all
}

/// Each story with what was told of the stored workflow, event by event, and how it ended.
pub async fn events_of_all(desk: &Desk) -> Vec<Value> {
    let mut stories = Vec::new();
    for (workflow, message, answers) in all() {
        let mut told = Vec::new();
        let started = desk.bench.start(workflow, json!({"message": message})).await;
        heard(desk, &started, &mut told).await;
        let run = started.run.to_string();
        for answer in &answers {
            let started = desk.bench.resume(&run, answer.clone()).await.expect("an answer that fits");
            heard(desk, &started, &mut told).await;
        }
        let trace = desk.bench.trace(&run).await["trace"].take();
        let end = ["status", "reply", "output"].map(|key| trace[key].clone());
        assert_eq!(end[0], "completed", "{workflow} {message}: {trace}");
        stories.push(json!({"workflow": workflow, "message": message, "answers": answers, "told": told, "end": end}));
    }
    stories
}

/// The names of the events of one answer, with their nodes.
async fn heard(desk: &Desk, started: &Started, told: &mut Vec<Value>) {
    let from = From { after: started.after, ..From::default() };
    let events = desk.bench.studio.events(&desk.bench.scope, &started.run.to_string(), from, Follow::Answer).await;
    let mut events = events.expect("events").expect("a stream");
    while let Some(batch) = events.next_batch().await {
        for frame in batch {
            let mut data = Vec::new();
            frame.write_data(&mut data);
            let data: Value = serde_json::from_slice(&data).expect("JSON");
            told.push(json!([frame.event(), data["node_id"]]));
        }
    }
}
