//! Each bundled workflow, installed twice and played with the model `demo` to each of its ends.

use serde_json::{Value, json};
use wfstudio::studio::Resource;

use super::{Played, install, post};
use crate::support::Bench;

const WRITING: &str = "Thank you for writing. I have taken note and will follow up.";
const NOTHING_KNOWN: &str = "The knowledge base has nothing on this yet. Please add a document about it.";
const KNOWN: &str = "According to the knowledge base [1], this is covered.";
const ASK: &str = "Could you share your email address so that we can reply?";
const WHICH_ADDRESS: &str = "Thanks for your interest! Which email address can we use to reach you?";
const TRIAGE: &str = "## Triage\n- Sentiment: frustrated\n- Facts: as stated\n- Priority: high\n- Route: support\n\n## Reply\nThank you for your patience. We are looking into it.";
const PROFILE: &str = "Name: unknown\nEmail: ada@example.com\nInterest: unknown";

fn done(reply: &str) -> (String, String) {
    ("completed".to_owned(), reply.to_owned())
}

fn waits(node: &str) -> (String, String) {
    ("awaiting_input".to_owned(), node.to_owned())
}

/// A studio and a workflow that was installed for the second time.
async fn installed(template: &str) -> (Bench, String) {
    let bench = Bench::new(json!({"rag": {"async_ingest": false}}));
    install(&bench, template).await;
    let made = install(&bench, template).await;
    let id = made["workflow"]["id"].as_str().expect("an id").to_owned();
    (bench, id)
}

/// Stores a base with one document, and lets all searches of a workflow look there.
async fn with_base(bench: &Bench, workflow: &str) {
    let base = bench.studio.create(&bench.scope, Resource::KnowledgeBase, &json!({"name": "Docs"})).await.expect("a base");
    let id = base["id"].as_str().expect("an id");
    let text = json!({"name": "orders.md", "text": "Where is my order? Orders are shipped within two days. When it crashes, start it again."});
    assert_eq!(post(bench, &format!("/api/knowledge-bases/{id}/documents"), text).await.0, 202);
    let mut stored = bench.studio.get(&bench.scope, Resource::Workflow, workflow).await.expect("a workflow");
    for node in stored["graph"]["nodes"].as_array_mut().expect("nodes") {
        if node["type"] == "rag" {
            node["data"]["knowledge_base_id"] = id.into();
        }
    }
    let after = bench.studio.patch(&bench.scope, Resource::Workflow, workflow, &json!({"graph": stored["graph"]}), None).await.expect("a workflow");
    assert_eq!(after["warnings"], json!([]));
}

#[tokio::test]
async fn basic_agent_chat_streams_its_answer() {
    let (bench, workflow) = installed("basic-agent-chat").await;
    let played = Played::start(&bench, &workflow, "Hello").await;
    assert_eq!(played.end().await, done(WRITING));
    let text: String = played.data_of("token").iter().filter_map(|token| token["delta"].as_str().or_else(|| token["text"].as_str())).collect();
    assert_eq!(text, WRITING);
}

#[tokio::test]
async fn the_supervisor_builds_on_what_its_specialist_found() {
    let (bench, workflow) = installed("supervisor-specialist-tool-mode").await;
    let played = Played::start(&bench, &workflow, "Why is the sky blue?").await;
    assert_eq!(played.end().await, done("Here is what the research found: Findings: nothing beyond common knowledge."));
    assert_eq!(played.data_of("tool_call")[0]["inputs"], json!({"input": "Why is the sky blue?"}));
    assert_eq!(played.data_of("tool_result")[0]["result"], "Findings: nothing beyond common knowledge.");
    assert_eq!(played.nodes(), ["supervisor_1", "stop_1"]);
}

#[tokio::test]
async fn questions_are_answered_with_and_without_a_knowledge_base() {
    let (bench, workflow) = installed("rag-knowledge-qna").await;
    let played = Played::start(&bench, &workflow, "Where is my order?").await;
    assert_eq!(played.end().await, done(NOTHING_KNOWN));
    let query = played.data_of("rag_query")[0];
    assert_eq!((&query["knowledge_base_id"], &query["chunk_count"]), (&Value::Null, &json!(0)));
    with_base(&bench, &workflow).await;
    let played = Played::start(&bench, &workflow, "Where is my order?").await;
    assert_eq!(played.end().await, done(KNOWN));
    assert_eq!(played.data_of("rag_query")[0]["chunk_count"], 1);
}

#[tokio::test]
async fn a_lead_is_answered_or_asked_for_its_address() {
    let (bench, workflow) = installed("lead-qualification").await;
    let played = Played::start(&bench, &workflow, "I am Ada, ada@example.com").await;
    assert_eq!(played.end().await, done(WRITING));
    assert_eq!(played.trace().await["trace"]["output"]["lead_profile"], PROFILE);
    assert_eq!(played.nodes(), ["set_1", "llm_extract", "condition_1", "agent_1", "stop_1"]);
    let played = Played::start(&bench, &workflow, "Hi").await;
    assert_eq!(played.end().await, done(ASK));
    assert_eq!(played.nodes(), ["set_1", "llm_extract", "condition_1", "llm_ask", "stop_2"]);
}

#[tokio::test]
async fn the_lead_loop_ends_with_the_address_or_after_five_passes() {
    let (bench, workflow) = installed("lead-qualification-loop").await;
    let played = Played::start(&bench, &workflow, "I am Ada, ada@example.com").await;
    assert_eq!((played.end().await, played.data_of("loop_iteration").len()), (done(WRITING), 2));
    let played = Played::start(&bench, &workflow, "Hi").await;
    assert_eq!((played.end().await, played.data_of("loop_iteration").len()), (done(ASK), 6));
    assert_eq!(played.nodes().iter().filter(|node| **node == "llm_extract").count(), 5);
}

#[tokio::test]
async fn an_autonomous_lead_is_asked_until_it_gives_an_address() {
    let (bench, workflow) = installed("autonomous-lead-qualification").await;
    let mut played = Played::start(&bench, &workflow, "Hi").await;
    assert_eq!(played.end().await, waits("human_1"));
    assert_eq!(played.data_of("human_input_required")[0]["prompt"], WHICH_ADDRESS);
    played.say("ada@example.com").await;
    assert_eq!((played.end().await, played.data_of("loop_iteration").len()), (done(PROFILE), 3));
    assert_eq!(played.trace().await["trace"]["output"]["result"], "qualified");
}

#[tokio::test]
async fn an_autonomous_lead_without_an_address_is_given_up_after_ten_passes() {
    let (bench, workflow) = installed("autonomous-lead-qualification").await;
    let mut played = Played::start(&bench, &workflow, "Hi").await;
    for _ in 0..10 {
        assert_eq!(played.end().await, waits("human_1"));
        played.say("not yet").await;
    }
    assert_eq!(played.end().await, done("No contact address was given, so we cannot follow up on this request."));
    assert_eq!(played.trace().await["trace"]["output"]["result"], "unqualified");
}

#[tokio::test]
async fn a_ticket_is_analysed_in_three_branches() {
    let (bench, workflow) = installed("parallel-support-triage").await;
    let played = Played::start(&bench, &workflow, "My order is late").await;
    assert_eq!(played.end().await, done(TRIAGE));
    let analyses = json!({"sentiment": "Sentiment: frustrated.", "facts": "- Problem as described in the ticket.", "priority": "Priority: high."});
    assert_eq!(played.trace().await["trace"]["output"]["analyses"].to_string(), analyses.to_string());
}

#[tokio::test]
async fn a_reviewer_adds_notes_to_a_triage() {
    let (bench, workflow) = installed("parallel-triage-hitl").await;
    let mut played = Played::start(&bench, &workflow, "My order is late").await;
    assert_eq!(played.end().await, waits("human_1"));
    let interrupt = played.data_of("parallel_interrupt")[0];
    assert_eq!((&interrupt["branch_id"], &interrupt["reason"]), (&json!("review"), &json!("human")));
    assert_eq!(played.trace().await["trace"]["checkpoint"]["kind"], "parallel");
    played.say("Call back").await;
    assert_eq!(played.end().await, done(TRIAGE));
    let analyses = played.trace().await["trace"]["output"]["analyses"].clone();
    let keys: Vec<&String> = analyses.as_object().expect("an object").keys().collect();
    assert_eq!((keys.len(), keys[3].as_str(), &analyses["review"]), (4, "review", &json!("Call back")));
}

#[tokio::test]
async fn a_refund_is_made_once_it_is_approved_and_not_when_it_is_rejected() {
    let (bench, workflow) = installed("parallel-refund-approval").await;
    for (approval, result, skipped) in [("approve", "The refund was issued.", false), ("reject", "No refund was issued.", true)] {
        let mut played = Played::start(&bench, &workflow, "Refund A-100").await;
        assert_eq!(played.end().await, ("awaiting_tool_approval".to_owned(), "agent_refund".to_owned()));
        assert_eq!((played.data_of("parallel_interrupt")[0]["branch_id"].as_str(), played.data_of("tool_call").len()), (Some("refund"), 0));
        let pending = played.data_of("tool_approval_required")[0]["pending_tools"].clone();
        assert_eq!((pending.as_array().map(Vec::len), &pending[0]["name"]), (Some(1), &json!("issue_refund")));
        played.resume(json!({"approval": approval})).await;
        assert_eq!(played.end().await, done(TRIAGE));
        assert_eq!(played.data_of("tool_result")[0]["skipped"], skipped);
        let analyses = played.trace().await["trace"]["output"]["analyses"].clone();
        assert_eq!(analyses, json!({"eligibility": "Eligible: yes, within 30 days.", "refund": result}));
    }
}

#[tokio::test]
async fn support_answers_questions_with_and_without_a_knowledge_base() {
    let (bench, workflow) = installed("support-rag-hitl").await;
    let played = Played::start(&bench, &workflow, "Where is my order?").await;
    assert_eq!(played.end().await, done(NOTHING_KNOWN));
    with_base(&bench, &workflow).await;
    let played = Played::start(&bench, &workflow, "Where is my order?").await;
    assert_eq!(played.end().await, done(KNOWN));
    assert_eq!(played.nodes(), ["set_1", "agent_intent", "condition_1", "rag_1", "agent_knowledge", "stop_1"]);
}

#[tokio::test]
async fn support_asks_a_colleague_about_complaints_and_a_manager_about_escalations() {
    let (bench, workflow) = installed("support-rag-hitl").await;
    let mut played = Played::start(&bench, &workflow, "It is broken").await;
    assert_eq!(played.end().await, waits("human_1"));
    assert!(played.data_of("human_input_required")[0]["prompt"].as_str().expect("a prompt").contains("It is broken"));
    played.say("Offer a new one").await;
    assert_eq!(played.end().await, done(WRITING));
    assert_eq!(played.nodes().last(), Some(&"stop_2"));
    for (answer, approved) in [("yes", true), ("Approved, once", true), ("OK", true), ("no", false), ("yesterday I said no", false)] {
        let mut played = Played::start(&bench, &workflow, "I want the manager").await;
        assert_eq!(played.end().await, waits("human_2"));
        played.say(answer).await;
        assert_eq!(played.end().await, done(WRITING));
        assert_eq!((&played.trace().await["trace"]["output"]["approved"], played.nodes().last()), (&json!(approved), Some(&"stop_3")), "{answer}");
    }
}

#[tokio::test]
async fn dev_support_goes_on_until_the_problem_is_gone() {
    let (bench, workflow) = installed("dev-support-memory-loop").await;
    let mut played = Played::start(&bench, &workflow, "It crashes").await;
    assert_eq!(played.end().await, waits("human_1"));
    assert_eq!(played.data_of("human_input_required")[0]["prompt"], "What is the exact error message?");
    played.say("works now").await;
    assert_eq!(played.end().await, done("RESOLVED: the problem is gone."));
    assert_eq!(played.trace().await["trace"]["output"]["result"], "resolved");
    assert_eq!(played.data_of("rag_query")[0]["chunk_count"], 0);
    with_base(&bench, &workflow).await;
    let mut played = Played::start(&bench, &workflow, "It crashes").await;
    assert_eq!(played.data_of("rag_query")[0]["chunk_count"], 1);
    played.say("solved").await;
    assert_eq!(played.end().await, done("RESOLVED: the problem is gone."));
}

#[tokio::test]
async fn dev_support_hands_over_after_twelve_passes() {
    let (bench, workflow) = installed("dev-support-memory-loop").await;
    let mut played = Played::start(&bench, &workflow, "It crashes").await;
    for _ in 0..12 {
        assert_eq!(played.end().await, waits("human_1"));
        played.say("still the same").await;
    }
    assert_eq!(played.end().await, done("This could not be resolved here. A colleague takes over and will contact you."));
    assert_eq!(played.trace().await["trace"]["output"]["result"], "unresolved");
}
