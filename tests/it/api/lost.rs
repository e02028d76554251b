//! What one hand did is never undone by another that did not see it, and what is in use is found however it is written.

use serde_json::{Value, json};

use super::ask;
use crate::support::Bench;

fn graph(prompt: &str) -> Value {
    wfstudio::model::sketch::graph(&format!("start -> llm_1{{provider: script, model: m, prompt: \"{prompt}\"}} -> stop")).expect("a sketch")
}

#[tokio::test]
async fn saving_a_draft_does_not_undo_a_revision_that_was_saved_meanwhile() {
    let bench = Bench::new(json!({}));
    let made = ask(&bench, "POST", "/api/workflows", json!({"name": "W", "graph": graph("one")})).await.1;
    let one = format!("/api/workflows/{}", made["id"].as_str().expect("an id"));
    let draft = ask(&bench, "PUT", &format!("{one}/draft"), json!({"graph": graph("mine")})).await.1;
    assert_eq!(ask(&bench, "PATCH", &one, json!({"graph": graph("theirs")})).await.0, 200);
    let again = json!({"graph": graph("mine too"), "draft_revision": draft["draft_revision"]});
    let (status, draft) = ask(&bench, "PUT", &format!("{one}/draft"), again).await;
    assert_eq!((status, &draft["based_on_revision"]), (200, &json!(1)));
    let seen = json!({"draft_revision": draft["draft_revision"]});
    for body in [json!({}), seen.clone()] {
        let (status, told) = ask(&bench, "POST", &format!("{one}/draft/save"), body).await;
        assert_eq!((status, &told["code"], &told["current"]["revision"]), (409, &json!("revision_conflict"), &json!(2)), "{told}");
    }
    let prompt = |told: &Value| told["graph"]["nodes"].as_array().expect("nodes").iter().find(|node| node["id"] == "llm_1").expect("a node")["data"]["prompt"].clone();
    assert_eq!(prompt(&ask(&bench, "GET", &one, json!({})).await.1), "theirs");
    assert_eq!(ask(&bench, "GET", &format!("{one}/draft"), json!({})).await.0, 200, "the draft is kept");
    let (status, told) = ask(&bench, "POST", &format!("{one}/draft/save"), json!({"draft_revision": draft["draft_revision"], "revision": 2})).await;
    assert_eq!((status, prompt(&told), &told["revision"]), (200, json!("mine too"), &json!(3)), "who has seen it may go over it");
}

#[tokio::test]
async fn what_a_workflow_names_in_upper_case_is_in_use() {
    let bench = Bench::new(json!({}));
    let agent = ask(&bench, "POST", "/api/agents", json!({"name": "Helper", "slug": "helper"})).await.1;
    let tool = json!({"name": "Lookup", "slug": "lookup", "kind": "webhook", "config": {"url": "https://shop.example/"}});
    let tool = ask(&bench, "POST", "/api/tools", tool).await.1;
    let id = agent["id"].as_str().expect("an id");
    for (n, named) in ["HELPER".to_owned(), id.to_uppercase()].iter().enumerate() {
        let sketch = format!("start -> agent_1{{config_mode: existing, agent_id: \"{named}\"}} -> tool_1{{tool_ref: \"tool:LOOKUP\"}} -> stop");
        let graph = wfstudio::model::sketch::graph(&sketch).expect("a sketch");
        let (status, made) = ask(&bench, "POST", "/api/workflows", json!({"name": format!("W{n}"), "graph": graph})).await;
        assert_eq!(status, 201, "{made}");
        for path in [format!("/api/agents/{id}"), format!("/api/tools/{}", tool["id"].as_str().expect("an id"))] {
            let (status, told) = ask(&bench, "DELETE", &path, json!({})).await;
            assert_eq!((status, &told["code"]), (409, &json!("in_use")), "{path} {named} {told}");
        }
        assert_eq!(ask(&bench, "DELETE", &format!("/api/workflows/{}", made["id"].as_str().expect("an id")), json!({})).await.0, 204);
    }
}
