//! Reading anew: what was read stays found until what is new is whole.

use serde_json::json;
use wfstudio::model::{Id, Timestamp};
use wfstudio::store::knowledge::readings::{self, Wanted};
use wfstudio::store::knowledge::{documents, editions};
use wfstudio::studio::Resource;

use super::{bench, three};

#[tokio::test]
async fn other_embeddings_need_a_reindex_and_searches_use_the_old_ones_until_then() {
    let bench = bench(json!({"providers": {"broken": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "max_retries": 0}}}));
    let base = three(&bench).await;
    let patch = async |body| bench.studio.patch(&bench.scope, Resource::KnowledgeBase, &base, &body, None).await.expect("patched");
    assert_eq!(patch(json!({"chunking": {"max_words": 5, "overlap_words": 0}})).await["needs_reindex"], json!(false));
    let patched = patch(json!({"embeddings_provider": "broken", "embeddings_model": "m"})).await;
    assert_eq!((&patched["needs_reindex"], &patched["chunk_count"]), (&json!(true), &json!(3)));
    assert!(bench.names(&base, json!({"query": "refund", "top_k": 1})).await[0].starts_with("refunds.md"));
    // A new document is found with the old ones.
    bench.add(&base, "new", "Gift cards never expire.").await;
    assert!(bench.names(&base, json!({"query": "gift cards", "top_k": 1})).await[0].starts_with("new"));
    // The other embeddings cannot be made: nothing is lost.
    let after = bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    assert_eq!(after["needs_reindex"], json!(true));
    assert!(bench.names(&base, json!({"query": "gift cards", "top_k": 1})).await[0].starts_with("new"));
    let failed = bench.studio.documents(&bench.scope, &base, wfstudio::studio::ListQuery::default()).await.expect("a list").data;
    assert!(failed.iter().all(|row| row["status"] == "failed" && row["error"].is_string()), "{failed:?}");
    // Back to what works, and cut as the base says now.
    assert_eq!(patch(json!({"embeddings_provider": "hash", "embeddings_model": "hash-256"})).await["needs_reindex"], json!(false));
    let after = bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    assert_eq!(after["needs_reindex"], json!(false));
    assert!(after["chunk_count"].as_u64().expect("a count") > 6, "{after}");
    assert!(bench.names(&base, json!({"query": "gift cards", "top_k": 1})).await[0].starts_with("new"));
}

#[tokio::test]
async fn embeddings_that_a_base_does_not_want_any_more_are_not_made() {
    let bench = bench(json!({"providers": {"broken": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "max_retries": 0}}}));
    let base = three(&bench).await;
    let patch = async |body| bench.studio.patch(&bench.scope, Resource::KnowledgeBase, &base, &body, None).await.expect("patched");
    patch(json!({"embeddings_provider": "broken", "embeddings_model": "m"})).await;
    bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    assert_eq!(patch(json!({"embeddings_provider": "hash", "embeddings_model": "hash-256"})).await["needs_reindex"], json!(false));
    let new = bench.add(&base, "new", "Gift cards never expire.").await;
    assert_eq!((&new["status"], &new["error"]), (&json!("completed"), &json!(null)), "{new}");
    let listed = bench.studio.documents(&bench.scope, &base, wfstudio::studio::ListQuery::default()).await.expect("a list").data;
    assert!(listed.len() == 4 && listed.iter().all(|row| row["status"] == "completed"), "{listed:?}");
    assert_eq!(bench.get_base(&base).await["chunk_count"], json!(4));
}

#[tokio::test]
async fn a_document_that_waits_is_pending_though_the_next_embeddings_have_it() {
    let broken = json!({"broken": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "max_retries": 0}});
    let bench = bench(json!({"providers": broken, "worker": {"in_process": false}}));
    let base = three(&bench).await;
    let body = json!({"embeddings_provider": "broken", "embeddings_model": "m"});
    bench.studio.patch(&bench.scope, Resource::KnowledgeBase, &base, &body, None).await.expect("patched");
    bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    let id: Id = base.parse().expect("an id");
    let write = bench.studio.world().store.write(move |tx| {
        let document = documents::numbers(tx, "", &id)?[0];
        let [now, later] = [1, 2].map(Timestamp);
        // It is to be read for the present embeddings later, for the next ones now.
        let editions = editions::of_base(tx, "", &id)?;
        for edition in &editions {
            let due = if edition.current { later } else { now };
            readings::ask(tx, &Wanted { tenant: "", base: &id, document, edition: edition.no, max_words: 50, overlap_words: 0, due })?;
        }
        let reading = readings::claim(tx, Some(document), "w", now, later)?.expect("a reading");
        readings::complete(tx, &reading, now)?;
        Ok(editions.len())
    });
    assert_eq!(write.await.expect("written"), 2);
    let listed = bench.studio.documents(&bench.scope, &base, wfstudio::studio::ListQuery::default()).await.expect("a list").data;
    let mut states: Vec<&str> = listed.iter().filter_map(|row| row["status"].as_str()).collect();
    states.sort_unstable();
    assert_eq!(states, ["failed", "failed", "pending"]);
}

#[tokio::test]
async fn a_reading_is_held_for_longer_by_who_has_it_and_by_nobody_else() {
    let bench = bench(json!({"worker": {"in_process": false}}));
    let base = three(&bench).await;
    let id: Id = base.parse().expect("an id");
    let write = bench.studio.world().store.write(move |tx| {
        let (document, edition) = (documents::numbers(tx, "", &id)?[0], editions::of_base(tx, "", &id)?[0].no);
        readings::ask(tx, &Wanted { tenant: "", base: &id, document, edition, max_words: 50, overlap_words: 0, due: Timestamp(1) })?;
        let reading = readings::claim(tx, Some(document), "w", Timestamp(1), Timestamp(2))?.expect("a reading");
        readings::renew(tx, &reading, Timestamp(9))?;
        let held = readings::holders(tx)?;
        readings::free(tx, "w", Timestamp(3))?;
        Ok((held, readings::renew(tx, &reading, Timestamp(10)).is_err()))
    });
    assert_eq!(write.await.expect("written"), (vec![(Some("w".to_owned()), Timestamp(9), Timestamp(9))], true));
}

#[tokio::test]
async fn a_reading_of_a_document_that_is_gone_holds_up_nothing() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let id: Id = base.parse().expect("an id");
    let store = &bench.studio.world().store;
    let asked = store.write(move |tx| {
        let edition = editions::of_base(tx, "", &id)?[0].no;
        readings::ask(tx, &Wanted { tenant: "", base: &id, document: 9_999, edition, max_words: 50, overlap_words: 0, due: Timestamp(1) })?;
        Ok(edition)
    });
    let edition = asked.await.expect("asked");
    bench.studio.start_workers().expect("workers");
    let mut patience = super::patience();
    while store.read(move |tx| readings::unfinished(tx, edition)).await.expect("read") {
        patience.wait().await;
    }
    assert_eq!(bench.get_base(&base).await["chunk_count"], json!(3), "what is there stays found");
}

#[tokio::test]
async fn one_document_is_read_anew() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    bench.studio.patch(&bench.scope, Resource::KnowledgeBase, &base, &json!({"chunking": {"max_words": 5, "overlap_words": 0}}), None).await.expect("patched");
    let cats = &bench.studio.documents(&bench.scope, &base, wfstudio::studio::ListQuery::default()).await.expect("a list").data[1];
    let read = bench.studio.reindex_document(&bench.scope, &base, cats["id"].as_str().expect("an id")).await.expect("asked");
    assert_eq!((&read["status"], read["chunk_count"].as_u64().map(|count| count > 1)), (&json!("completed"), Some(true)));
    assert_eq!(bench.get_base(&base).await["chunk_count"], json!(2 + read["chunk_count"].as_u64().expect("a count")));
    let found = bench.ask(&base, json!({"query": "purrs", "mode": "text"})).await;
    assert_eq!(found["chunk_count"], json!(1), "the former reading is found no more");
    assert_eq!(bench.studio.reindex_document(&bench.scope, &base, &base).await.expect_err("refused").kind, wfstudio::Kind::NotFound);
}

#[tokio::test]
async fn an_empty_base_changes_its_embeddings_at_once() {
    let bench = bench(json!({}));
    let base = bench.base(json!({"embeddings_provider": "nobody", "embeddings_model": "x"})).await;
    let failed = bench.add(&base, "a", "Some text.").await;
    let other = bench.add(&base, "b", "Other text.").await;
    assert_eq!(failed["error"], json!("there is no provider `nobody`; configure `providers.nobody`"));
    let body = json!({"embeddings_provider": "hash", "embeddings_model": "hash-256"});
    let patched = bench.studio.patch(&bench.scope, Resource::KnowledgeBase, &base, &body, None).await.expect("patched");
    assert_eq!(patched["needs_reindex"], json!(false));
    let read = bench.studio.reindex_document(&bench.scope, &base, failed["id"].as_str().expect("an id")).await.expect("asked");
    assert_eq!(read["status"], json!("completed"));
    assert_eq!(bench.document(&base, &other["id"]).await["status"], json!("failed"), "it was not read anew");
    let empty = bench.studio.reindex_base(&bench.scope, &bench.base(json!({"name": "E"})).await).await.expect("asked");
    assert_eq!(empty["document_count"], json!(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_added_while_a_reindex_begins_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path").to_owned() + "/studio.sqlite";
    if crate::support::place::on_server(&path).is_none() {
        return;
    }
    let settings = || json!({"rag": {"async_ingest": false}});
    let [bench, other, stranger] = [(); 3].map(|()| crate::support::Bench::on_disk(settings(), folder.path()));
    let base = three(&bench).await;
    let ((locks, locked), (free, freed)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    let world = std::sync::Arc::clone(stranger.studio.world());
    let hold = tokio::spawn(async move {
        let lock = world.store.write(move |tx| {
            tx.execute("LOCK TABLE #editions IN SHARE MODE", &[])?;
            let _told = (locks.send(()), freed.recv_timeout(std::time::Duration::from_secs(15)));
            Ok(())
        });
        lock.await
    });
    tokio::task::spawn_blocking(move || locked.recv()).await.expect("a thread").expect("a lock");
    let later = || tokio::time::sleep(std::time::Duration::from_millis(700));
    let body = json!({"name": "new", "text": "Gift cards never expire."});
    let (reindexed, added, ()) = tokio::join!(
        bench.studio.reindex_base(&bench.scope, &base),
        async {
            later().await;
            other.studio.add_text(&other.scope, &base, &body).await
        },
        async {
            later().await;
            later().await;
            free.send(()).expect("heard");
        }
    );
    hold.await.expect("a task").expect("a lock");
    reindexed.expect("asked");
    let new = added.expect("added");
    assert_eq!(other.rested(&base, &new["id"]).await["status"], "completed");
    let id: wfstudio::model::Id = base.parse().expect("an id");
    let editions = bench.studio.world().store.read(move |tx| wfstudio::store::knowledge::editions::of_base(tx, "", &id)).await.expect("a store");
    assert_eq!(editions.iter().map(|edition| edition.current).collect::<Vec<_>>(), [true], "none is left in the making");
    assert_eq!(bench.get_base(&base).await["needs_reindex"], json!(false));
    for (question, name) in [("gift cards", "new"), ("refund", "refunds.md"), ("parcels", "shipping")] {
        assert!(bench.names(&base, json!({"query": question, "top_k": 1})).await[0].starts_with(name), "{question}");
    }
}
