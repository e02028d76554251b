//! What belongs to a draft is never done to somebody else's, and what a workflow may be called.

use http::Method;
use serde_json::{Value, json};

use super::facade::asking;
use super::support::{WholeAnswer, ask, request, studio, with};
use crate::http::table::TABLE;
use crate::studio::Studio;
use crate::studio::definitions::slugs::WORDS_OF_PATHS;

const DRAFT: &str = "/studio/api/workflows/known/draft";

async fn put(studio: &Studio, name: &str) {
    let graph = json!({"version": 1, "nodes": [{"id": name, "type": "start", "position": {"x": 0, "y": 0}, "data": {}}], "edges": []});
    let put = ask(studio, request("PUT", DRAFT, &json!({"graph": graph}).to_string())).await;
    assert_eq!(put.status.as_u16(), 200, "{}", put.text());
}

fn conflict(told: &WholeAnswer, current: &Value) {
    assert_eq!((told.status.as_u16(), told.code().as_str()), (409, "revision_conflict"), "{}", told.text());
    assert_eq!(&told.json()["current"]["draft_revision"], current, "{}", told.text());
}

#[tokio::test]
async fn a_draft_of_another_hand_is_neither_saved_nor_deleted_unseen() {
    let studio = asking(json!({})).await;
    put(&studio, "mine").await;
    put(&studio, "theirs").await;
    let delete = |revision: &str| with(request("DELETE", DRAFT, ""), "if-match", revision);
    conflict(&ask(&studio, delete("\"1\"")).await, &json!(2));
    conflict(&ask(&studio, request("DELETE", DRAFT, r#"{"draft_revision":1}"#)).await, &json!(2));
    conflict(&ask(&studio, request("POST", &format!("{DRAFT}/save"), r#"{"draft_revision":1}"#)).await, &json!(2));
    conflict(&ask(&studio, with(request("POST", &format!("{DRAFT}/save"), "{}"), "if-match", "\"1\"")).await, &json!(2));
    assert_eq!(ask(&studio, request("GET", DRAFT, "")).await.json()["graph"]["nodes"][0]["id"], "theirs", "nothing was done");
    assert_eq!(ask(&studio, delete("\"2\"")).await.status.as_u16(), 204);
    conflict(&ask(&studio, delete("\"2\"")).await, &Value::Null);
    conflict(&ask(&studio, request("POST", &format!("{DRAFT}/save"), r#"{"draft_revision":2}"#)).await, &Value::Null);
    assert_eq!(ask(&studio, request("DELETE", DRAFT, "")).await.code(), "not_found");
    assert_eq!(ask(&studio, request("POST", &format!("{DRAFT}/save"), "{}")).await.code(), "not_found");
    let wrong = request("DELETE", "/studio/api/workflows/none/draft", r#"{"draft_revision":"x"}"#);
    assert_eq!(ask(&studio, wrong).await.code(), "not_found");
}

#[tokio::test]
async fn a_workflow_without_a_draft_is_no_refusal() {
    let studio = asking(json!({})).await;
    let none = ask(&studio, request("GET", DRAFT, "")).await;
    assert_eq!((none.status.as_u16(), none.body.len()), (204, 0));
    put(&studio, "mine").await;
    assert_eq!(ask(&studio, request("GET", DRAFT, "")).await.header("etag"), "\"1\"");
    assert_eq!(ask(&studio, request("GET", "/studio/api/workflows/none/draft", "")).await.code(), "not_found");
}

#[tokio::test]
async fn no_workflow_is_named_by_a_word_of_our_own_paths() {
    let studio = studio(json!({}));
    for word in WORDS_OF_PATHS {
        let made = ask(&studio, request("POST", "/studio/api/workflows", &json!({"name": word}).to_string())).await;
        let slug = made.json()["slug"].as_str().unwrap_or_default().to_owned();
        assert_eq!(slug, format!("{word}-1"));
        let queued = ask(&studio, request("POST", &format!("/studio/workflows/{slug}/run"), r#"{"message":"hi"}"#)).await;
        assert_eq!(queued.code(), "async_disabled", "{}", queued.text());
        let chosen = ask(&studio, request("POST", "/studio/api/workflows", &json!({"name": "W", "slug": word}).to_string())).await;
        assert_eq!(chosen.code(), "slug_taken");
        let agent = ask(&studio, request("POST", "/studio/api/agents", &json!({"name": word}).to_string())).await;
        assert_eq!(agent.json()["slug"], word, "agents have no such paths");
    }
}

#[test]
fn the_words_of_our_own_paths_are_those_of_the_table() {
    let after = |start: &str| -> Vec<String> {
        let paths = TABLE.iter().flat_map(|route| &route.paths).filter_map(|path| path.strip_prefix(start));
        let words = paths.filter_map(|rest| rest.split('/').next()).filter(|word| !word.starts_with('{'));
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words
    };
    assert_eq!(after("/workflows/"), WORDS_OF_PATHS);
    for free in ["/agents/", "/tools/", "/mcp/", "/knowledge/", "/api/agents/", "/api/workflows/", "/api/tools/", "/api/mcp-servers/", "/api/knowledge-bases/"] {
        assert_eq!(after(free), Vec::<String>::new(), "{free}");
    }
    assert!(TABLE.iter().any(|route| route.method == Method::GET));
}
