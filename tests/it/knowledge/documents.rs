//! Documents: what is taken, how it is read, what is shown of it.

use expect_test::expect;
use serde_json::{Value, json};
use wfstudio::Kind;
use wfstudio::studio::{ListQuery, Resource};

use super::{bench, three};
use crate::support::Bench;

#[tokio::test]
async fn a_text_is_read_and_shown_with_what_it_took() {
    let bench = bench(json!({"usage": {"prices": {"models": [
        {"provider": "hash", "model": "hash-256", "from": "2020-01-01", "input": "2", "output": "0"}
    ]}}}));
    let base = bench.base(json!({})).await;
    let mut made = bench.add_with(&base, json!({"name": "faq.md", "text": super::REFUNDS, "metadata": {"lang": "en"}})).await;
    for name in ["id", "knowledge_base_id", "created_at", "updated_at"] {
        assert!(made[name].is_string());
        made[name] = "…".into();
    }
    expect![[r#"{"id":"…","knowledge_base_id":"…","name":"faq.md","source_type":"manual","mime_type":"text/markdown","size_bytes":96,"status":"completed","error":null,"chunk_count":1,"metadata":{"lang":"en"},"prompt_tokens":24,"completion_tokens":0,"total_tokens":24,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000048","currency":"USD","unpriced":false,"created_at":"…","updated_at":"…"}"#]]
        .assert_eq(&made.to_string());
    let base = bench.get_base(&base).await;
    assert_eq!((&base["document_count"], &base["chunk_count"], &base["size_bytes"]), (&json!(1), &json!(1), &json!(96)));
    assert_eq!(base["needs_reindex"], json!(false));
}

#[tokio::test]
async fn documents_are_cut_as_the_base_says() {
    let bench = bench(json!({}));
    let base = bench.base(json!({"chunking": {"max_words": 8, "overlap_words": 2}})).await;
    let made = bench.add(&base, "a", "One two three four. Five six seven. Eight nine ten eleven twelve.").await;
    assert_eq!(made["chunk_count"], json!(2));
    let found = bench.ask(&base, json!({"query": "eight twelve", "mode": "text"})).await;
    assert_eq!(found["results"][0]["content"], json!("six seven. Eight nine ten eleven twelve."));
    assert_eq!(found["results"][0]["position"], json!(1));
}

#[tokio::test]
async fn pages_become_text_and_empty_ones_say_why_they_failed() {
    let bench = bench(json!({}));
    let base = bench.base(json!({})).await;
    let page = b"<!doctype html><title>T</title><script>var secret = 1</script><p>Parcels &amp; letters</p>";
    let made = bench.add_file(&base, "page.html", Some("text/html"), page).await.expect("taken");
    assert_eq!((&made["status"], &made["mime_type"], &made["source_type"]), (&json!("completed"), &json!("text/html"), &json!("file")));
    let found = bench.ask(&base, json!({"query": "parcels"})).await;
    assert_eq!(found["results"][0]["content"], json!("T\n\nParcels & letters"));
    let empty = bench.add_file(&base, "e.html", None, b"<html><script>x</script></html>").await.expect("taken");
    assert_eq!(empty["status"], json!("failed"));
    assert_eq!(empty["error"], json!("the page has no text outside of scripts and styles; there is nothing to find in it"));
    assert_eq!(bench.get_base(&base).await["document_count"], json!(2));
    assert_eq!(bench.get_base(&base).await["chunk_count"], json!(1));
}

#[tokio::test]
async fn what_is_no_document_is_refused() {
    let bench = bench(json!({"rag": {"max_document_kb": 1}}));
    let base = bench.base(json!({})).await;
    let kind = async |name: &str, mime: Option<&str>, bytes: &[u8]| bench.add_file(&base, name, mime, bytes).await.expect_err("refused").kind;
    assert_eq!(kind("a.png", Some("image/png"), b"\x89PNG\r\n\x1a\n\0").await, Kind::UnsupportedMediaType);
    assert_eq!(kind("a.txt", None, b"caf\xe9").await, Kind::UnsupportedMediaType);
    assert_eq!(kind("a.doc", None, b"\xd0\xcf\x11\xe0").await, Kind::UnsupportedMediaType);
    assert_eq!(kind("a.txt", None, b"").await, Kind::ValidationFailed);
    assert_eq!(kind("a.txt", None, &[b'a'; 1025]).await, Kind::BodyTooLarge);
    let refused = bench.studio.add_text(&bench.scope, &base, &json!({"name": " ", "mime_type": "application/pdf", "metadata": []})).await;
    let errors = refused.expect_err("refused").members["errors"].clone();
    assert_eq!(errors.as_object().expect("errors").keys().collect::<Vec<_>>(), ["name", "text", "mime_type", "metadata"]);
    let missing = bench.studio.add_text(&bench.scope, "none", &json!({"name": "a", "text": "b"})).await.expect_err("refused");
    assert_eq!(missing.kind, Kind::NotFound);
    assert_eq!(bench.get_base(&base).await["document_count"], json!(0));
}

#[tokio::test]
async fn documents_are_listed_found_by_name_and_deleted() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let list = async |query: ListQuery| bench.studio.documents(&bench.scope, &base, query).await.expect("a list");
    let first = list(ListQuery { limit: 2, ..ListQuery::default() }).await;
    let names = |data: &[Value]| data.iter().filter_map(|row| row["name"].as_str().map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(names(&first.data), ["shipping", "cats.txt"]);
    let next = ListQuery::parse([("cursor", first.next_cursor.as_deref().expect("more"))]).expect("a query");
    assert_eq!(names(&list(next).await.data), ["refunds.md"]);
    let cats = list(ListQuery { q: Some("CATS".into()), ..ListQuery::default() }).await.data;
    assert_eq!(names(&cats), ["cats.txt"]);
    let id = cats[0]["id"].as_str().expect("an id");
    assert_eq!(bench.names(&base, json!({"query": "purrs", "mode": "text"})).await.len(), 1);
    bench.studio.delete_document(&bench.scope, &base, id).await.expect("deleted");
    assert!(bench.names(&base, json!({"query": "purrs cat", "filter": {"year": 2020}})).await.is_empty());
    assert_eq!(bench.studio.delete_document(&bench.scope, &base, id).await.expect_err("gone").kind, Kind::NotFound);
    assert_eq!(bench.get_base(&base).await["document_count"], json!(2));
}

#[tokio::test]
async fn a_deleted_base_leaves_nothing_and_what_is_gone_is_swept() {
    let bench = Bench::new(json!({}));
    let base = three(&bench).await;
    for row in bench.studio.documents(&bench.scope, &base, ListQuery::default()).await.expect("a list").data {
        bench.rested(&base, &row["id"]).await;
    }
    let studio = &bench.studio;
    studio.delete(&bench.scope, wfstudio::studio::Resource::KnowledgeBase, &base, &Value::Null, None, false).await.expect("deleted");
    assert_eq!(studio.search(&bench.scope, &base, &json!({"query": "cat"})).await.expect_err("gone").kind, Kind::NotFound);
    let mut patience = super::patience();
    loop {
        let left = studio.world().store.read(|tx| {
            let all = "SELECT (SELECT COUNT(*) FROM #readings) + (SELECT COUNT(*) FROM #passages) + (SELECT COUNT(*) FROM #vectors) \
                       + (SELECT COUNT(*) FROM #codes) + (SELECT COUNT(*) FROM #editions) + (SELECT COUNT(*) FROM #documents)";
            tx.query_one(all, &[], |row| row.int(0))
        });
        if left.await.expect("a store") == Some(0) {
            break;
        }
        studio.world().knowledge.wake();
        patience.wait().await;
    }
}

#[tokio::test]
async fn documents_wait_for_the_worker_and_are_read_by_it() {
    let bench = Bench::new(json!({}));
    let base = bench.base(json!({})).await;
    let made = bench.add(&base, "refunds", super::REFUNDS).await;
    assert!(["pending", "processing", "completed"].contains(&made["status"].as_str().expect("a status")));
    let read = bench.rested(&base, &made["id"]).await;
    assert_eq!((&read["status"], &read["chunk_count"]), (&json!("completed"), &json!(1)));
    let idle = Bench::new(json!({"worker": {"in_process": false}}));
    let base = idle.base(json!({})).await;
    let made = idle.add(&base, "refunds", super::REFUNDS).await;
    assert_eq!((&made["status"], &made["chunk_count"]), (&json!("pending"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_document_that_comes_while_its_base_is_deleted_leaves_nothing_behind() {
    let bench = Bench::new(json!({"worker": {"in_process": false}}));
    for round in 0..30 {
        let base = bench.base(json!({"name": format!("Base {round}")})).await;
        let adding = (0..6).map(|n| {
            let (studio, scope, base) = (bench.studio.clone(), bench.scope.clone(), base.clone());
            let body = json!({"name": format!("{n}.md"), "text": "Refunds take ten days."});
            tokio::spawn(async move { studio.add_text(&scope, &base, &body).await.err().map(|error| error.kind) })
        });
        let adding: Vec<_> = adding.collect();
        bench.studio.delete(&bench.scope, Resource::KnowledgeBase, &base, &json!({}), None, false).await.expect("deleted");
        for added in adding {
            let refused = added.await.expect("no panic");
            assert!(refused.is_none_or(|kind| kind == Kind::NotFound), "{refused:?}");
        }
        let id = base.parse().expect("an id");
        let left = bench.studio.world().store.read(move |tx| wfstudio::store::knowledge::documents::numbers(tx, "", &id)).await;
        assert!(left.expect("read").is_empty(), "round {round}");
    }
}
