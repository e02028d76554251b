//! Owns the tests that no function reaches another tenant's rows, or its runs.

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::engine::{Follow, From};
use crate::model::event::EntityKind;
use crate::studio::runs::requests::RunRequest;
use crate::studio::{ListQuery, Upload};

#[tokio::test]
async fn nothing_of_another_tenant_is_seen_or_changed() {
    let (studio, home) = (studio(), scope());
    let other = Scope { tenant: "other".into(), ..Scope::default() };
    let list = ListQuery::default;
    for resource in Resource::ALL {
        let made = make(&studio, resource, example(resource)).await;
        let id = text(&made, "id");
        assert_eq!(refusal(studio.get(&other, resource, id).await), "not_found");
        assert_eq!(refusal(studio.get(&other, resource, text(&made, "slug")).await), "not_found");
        assert_eq!(refusal(studio.put(&other, resource, id, &example(resource), None).await), "not_found");
        assert_eq!(refusal(studio.patch(&other, resource, id, &json!({"name": "x"}), None).await), "not_found");
        assert_eq!(refusal(studio.delete(&other, resource, id, &Value::Null, None, true).await), "not_found");
        assert_eq!(refusal(studio.duplicate(&other, resource, id).await), "not_found");
        let stored = studio.list(&other, resource, list()).await.expect("a list").data;
        assert!(stored.iter().all(|one| one["source"] == "host"));
        let twin = studio.create(&other, resource, &example(resource)).await.expect("slugs are the tenant's own");
        assert_eq!(twin["slug"], made["slug"]);
        studio.delete(&other, resource, text(&twin, "id"), &Value::Null, None, false).await.expect("its own");
    }
    studio.put_draft(&home, "triage", &json!({"graph": {}}), None).await.expect("a draft");
    assert_eq!(refusal(studio.draft(&other, "triage").await), "not_found");
    assert_eq!(refusal(studio.put_draft(&other, "triage", &json!({"graph": {}}), None).await), "not_found");
    assert_eq!(refusal(studio.delete_draft(&other, "triage", &json!({}), None).await), "not_found");
    assert_eq!(refusal(studio.save_draft(&other, "triage", &Value::Null, None).await), "not_found");
    assert_eq!(refusal(studio.revisions(&other, "triage", list()).await), "not_found");
    assert_eq!(refusal(studio.revision(&other, "triage", 1).await), "not_found");
    assert_eq!(refusal(studio.restore_revision(&other, "triage", 1).await), "not_found");
    assert_eq!(refusal(studio.chat_threads(&other, EntityKind::Workflow, "triage", list()).await), "not_found");
    assert_eq!(refusal(studio.chat_messages(&other, EntityKind::Workflow, "triage", "t", list()).await), "not_found");
    assert_eq!(refusal(studio.chat_runs(&other, EntityKind::Workflow, "triage", "t", list()).await), "not_found");
    let refused = studio.create(&other, Resource::Agent, &json!({"name": "A", "tools": [{"ref": "tool:lookup-order"}]})).await;
    assert_eq!(refusal(refused), "validation_failed tools.0.ref");

    let file = Upload { name: None, mime_type: None, kind: None, bytes: Bytes::from_static(b"hello") };
    let key = text(&studio.upload(&home, file).await.expect("stored"), "storage_key").to_owned();
    assert_eq!(refusal(studio.attachment(&other, &key).await), "not_found");
    assert_eq!(refusal(studio.delete_attachment(&other, &key).await), "not_found");
    assert_eq!(studio.attachment(&home, &key).await.expect("there").bytes, "hello");
}

#[tokio::test]
async fn a_run_that_leaves_nothing_behind_is_followed_by_its_tenant_alone() {
    let studio = studio_with(&json!({"database": {"durability": "none"}}));
    let other = Scope { tenant: "other".into(), ..Scope::default() };
    let node = |id: &str| json!({"id": id, "type": id, "position": {"x": 0, "y": 0}, "data": {}});
    let edge = json!({"id": "e", "source": "start", "sourceHandle": "default", "target": "stop", "targetHandle": "default"});
    let graph = json!({"version": 1, "nodes": [node("start"), node("stop")], "edges": [edge]});
    let made = make(&studio, Resource::Workflow, json!({"name": "Short", "graph": graph})).await;
    let body = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body");
    let started = studio.start(&scope(), EntityKind::Workflow, text(&made, "id"), body, false).await.expect("a run");
    let run = started.run.to_string();
    assert_eq!(refusal(studio.events(&other, &run, From::default(), Follow::Tail).await.map(drop)), "not_found");
    let mut stream = studio.events(&scope(), &run, From::default(), Follow::Tail).await.expect("known").expect("a stream");
    assert!(stream.next_batch().await.is_some());
}
