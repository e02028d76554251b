//! Every bundled workflow, installed and run to its ends with a model server: aimock plays each family, and tools really run.

use serde_json::{Value, json};
use wfstudio::engine::{Follow, From};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::{ResumeRequest, RunRequest};
use wfstudio::studio::{Resource, Scope, Started, Studio, TraceQuery};

use crate::aimock::PEERS;
use crate::engine::studio;
use crate::peers::{Peer, address};

/// A template, what begins a run, what people answer, the tools that run with what their results have in them, and the reply.
type Story = (&'static str, &'static str, &'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

const STORIES: [Story; 17] = [
    // Without a base: the context that the model is given is empty.
    ("rag-knowledge-qna", "What is for lunch?", &[], &[], "The context says nothing about this."),
    ("support-rag-hitl", "What is for lunch?", &[], &[], "The context says nothing about this."),
    ("basic-agent-chat", "Hello", &[], &[], "Hello, how can I help?"),
    ("supervisor-specialist-tool-mode", "Why is the sky blue?", &[], &[("research_agent", "Rayleigh")], "Air scatters blue light most."),
    ("rag-knowledge-qna", "When are orders shipped?", &[], &[], "Within two days [1]."),
    ("lead-qualification", "I am Ada, ada@example.com", &[], &[], "Thank you, Ada."),
    ("lead-qualification", "I am Ada", &[], &[], "Which address may we write to, Ada?"),
    ("lead-qualification-loop", "I am Ada, ada at example dot org", &[], &[], "Thank you, Ada."),
    (
        "autonomous-lead-qualification",
        "Three teams of eight seats",
        &["ada@example.com"],
        &[("calculate", "24")],
        "Name: Ada\nEmail: ada@example.com\nInterest: 24 seats",
    ),
    ("parallel-support-triage", "My order is late", &[], &[], "## Triage\n- Late\n\n## Reply\nSoon."),
    ("parallel-triage-hitl", "My order is late", &["Call her back"], &[], "## Triage\n- Call back\n\n## Reply\nWe call you."),
    (
        "parallel-refund-approval",
        "Refund 25.00 for A-100, it never came",
        &["approve"],
        &[("issue_refund", "rfnd_")],
        "## Triage\n- Refunded\n\n## Reply\nDone.",
    ),
    ("parallel-refund-approval", "Refund 25.00 for A-100, it never came", &["reject"], &[], "## Triage\n- Not refunded\n\n## Reply\nWe are sorry."),
    ("support-rag-hitl", "When are orders shipped?", &[], &[], "Within two days [1]."),
    ("support-rag-hitl", "It is broken", &["Offer a new one"], &[], "You get a new one."),
    ("support-rag-hitl", "I want the manager", &["yes, once"], &[], "Our manager agrees."),
    ("dev-support-memory-loop", "It ends after three hours", &["works now"], &[("calculate", "10800")], "RESOLVED: the limit was raised."),
];

/// Lets every search of the installed workflows look in a base with one document.
async fn with_base(studio: &Studio, scope: &Scope) {
    let base = studio.create(scope, Resource::KnowledgeBase, &json!({"name": "Docs"})).await.expect("a base");
    let id = base["id"].as_str().expect("an id");
    let text = json!({"name": "orders.md", "text": "When are orders shipped? Orders are shipped within two days."});
    studio.add_text(scope, id, &text).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    for workflow in ["rag-knowledge-qna", "support-rag-hitl", "dev-support-memory-loop"] {
        let mut graph = studio.get(scope, Resource::Workflow, workflow).await.expect("a workflow")["graph"].take();
        for node in graph["nodes"].as_array_mut().expect("nodes").iter_mut().filter(|node| node["type"] == "rag") {
            node["data"]["knowledge_base_id"] = id.into();
        }
        studio.patch(scope, Resource::Workflow, workflow, &json!({ "graph": graph }), None).await.expect("a workflow");
    }
}

/// A studio whose default is the model server, with every template installed and a base to search in.
async fn installed(peer: Peer) -> Studio {
    let more = json!({"default_provider": peer.0, "default_model": peer.1, "rag": {"async_ingest": false, "embeddings_provider": "hash"}});
    let (studio, scope) = (studio(peer, &address("STUDIO_AIMOCK_URL"), more), Scope::default());
    let listed = studio.templates(wfstudio::studio::TemplateQuery::default()).await.expect("templates");
    for template in listed["data"].as_array().expect("a list") {
        let [kind, id] = ["type", "id"].map(|key| template[key].as_str().expect("a text"));
        let made = studio.install_template(&scope, kind, id, &json!({})).await;
        made.unwrap_or_else(|error| panic!("{id}: {error} {:?}", error.members));
    }
    studio
}

async fn heard(studio: &Studio, started: &Started) {
    let from = From { after: started.after, ..From::default() };
    let told = studio.events(&Scope::default(), &started.run.to_string(), from, Follow::Answer).await.expect("events");
    let mut told = told.expect("a stream");
    while told.next_batch().await.is_some() {}
}

/// Plays a story: the trace of its run.
async fn played(studio: &Studio, (workflow, message, answers, ..): Story) -> Value {
    let scope = Scope::default();
    let request = RunRequest::parse(&json!({ "message": message }), EntityKind::Workflow).expect("a body");
    let started = studio.start(&scope, EntityKind::Workflow, workflow, request, false).await.expect("a run");
    heard(studio, &started).await;
    let run = started.run.to_string();
    for answer in answers {
        let body = match *answer {
            "approve" => json!({"approval": "approve"}),
            "reject" => json!({"approval": "reject", "message": "too late"}),
            text => json!({ "message": text }),
        };
        let started = studio.resume(&scope, &run, ResumeRequest::parse(&body).expect("a body"), false).await;
        heard(studio, &started.unwrap_or_else(|error| panic!("{workflow}: {error}"))).await;
    }
    studio.trace(&scope, &run, TraceQuery { children: true, ..TraceQuery::default() }).await.expect("a trace")
}

/// The names of the tools that ran, each with its result.
fn tools(trace: &Value) -> Vec<(&str, String)> {
    let spans = trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "tool" && span["status"] == "completed");
    spans.map(|span| (span["name"].as_str().expect("a name"), span["output"].to_string())).collect()
}

#[tokio::test]
#[ignore = "needs a running program: scripts/test-providers.sh"]
async fn every_bundled_workflow_runs_to_its_ends() {
    for peer in PEERS {
        let studio = installed(peer).await;
        let (without, with) = STORIES.split_at(2);
        for story in without {
            holds(peer, &studio, *story).await;
        }
        with_base(&studio, &Scope::default()).await;
        for story in with {
            holds(peer, &studio, *story).await;
        }
    }
}

async fn holds(peer: Peer, studio: &Studio, story: Story) {
    let (workflow, message, _, wanted, reply) = story;
    let trace = played(studio, story).await;
    let head = &trace["trace"];
    assert_eq!((&head["status"], &head["reply"]), (&json!("completed"), &json!(reply)), "{} {workflow} {message}: {trace:#}", peer.0);
    let ran = tools(&trace);
    let fits = ran.len() == wanted.len() && ran.iter().zip(wanted).all(|(ran, wanted)| ran.0 == wanted.0 && ran.1.contains(wanted.1));
    assert!(fits, "{} {workflow} {message}: {ran:?}", peer.0);
}
