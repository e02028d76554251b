//! Questions: order, scores, thresholds, modes, filters, tenants.

use serde_json::{Value, json};
use wfstudio::studio::Scope;

use super::{bench, three};

#[tokio::test]
async fn the_answer_has_the_shape_of_the_contract() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let found = bench.ask(&base, json!({"query": "When do I get a refund?", "top_k": 1})).await;
    assert_eq!(found["knowledge_base_id"], json!(base));
    assert_eq!((&found["query"], &found["chunk_count"]), (&json!("When do I get a refund?"), &json!(1)));
    let chunk = &found["results"][0];
    let keys: Vec<&str> = chunk.as_object().expect("a chunk").keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "document_id", "content", "score", "source_type", "source_name", "position", "metadata"]);
    assert_eq!((&chunk["source_type"], &chunk["source_name"], &chunk["position"]), (&json!("manual"), &json!("refunds.md"), &json!(0)));
    assert_eq!(chunk["metadata"], json!({"lang": "en", "year": 2024}));
    assert_eq!(chunk["content"], json!(super::REFUNDS));
    assert_eq!(found["top_score"], chunk["score"]);
    let score = chunk["score"].as_f64().expect("a number");
    assert!((0.05..=1.0).contains(&score), "{score}");
}

#[tokio::test]
async fn modes_rank_by_what_they_look_at() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let first = |names: Vec<String>| names.first().map(|name| name.split(' ').next().unwrap_or_default().to_owned());
    for mode in ["hybrid", "vector", "text"] {
        let names = bench.names(&base, json!({"query": "refund on my card", "mode": mode})).await;
        assert_eq!(first(names), Some("refunds.md".to_owned()), "{mode}");
    }
    // Words find only what holds them, and their score tells nothing of likeness.
    assert_eq!(bench.names(&base, json!({"query": "warehouse", "mode": "text"})).await, ["shipping 0.00"]);
    assert!(bench.names(&base, json!({"query": "warehouse", "mode": "text", "threshold": 0.01})).await.is_empty());
    assert!(bench.names(&base, json!({"query": "zebra", "mode": "text"})).await.is_empty());
    assert_eq!(bench.ask(&base, json!({"query": "zebra", "mode": "text"})).await["top_score"], json!(0.0));
}

#[tokio::test]
async fn a_threshold_keeps_what_is_at_least_that_alike() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let found = bench.ask(&base, json!({"query": super::CATS, "mode": "vector"})).await;
    let scores: Vec<f64> = found["results"].as_array().expect("results").iter().filter_map(|chunk| chunk["score"].as_f64()).collect();
    assert!(scores.len() > 1 && (scores[0] - 1.0).abs() < 1e-5 && scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
    let kept = bench.ask(&base, json!({"query": super::CATS, "threshold": scores[0]})).await;
    assert_eq!(kept["chunk_count"], json!(1));
    let base_of_its_own = bench.base(json!({"name": "Strict", "retrieval_defaults": {"threshold": 0.9, "top_k": 1, "mode": "vector"}})).await;
    bench.add(&base_of_its_own, "cats", super::CATS).await;
    assert_eq!(bench.ask(&base_of_its_own, json!({"query": "cats and dogs"})).await["chunk_count"], json!(0));
    assert_eq!(bench.ask(&base_of_its_own, json!({"query": "cats and dogs", "threshold": 0.0})).await["chunk_count"], json!(1));
}

#[tokio::test]
async fn filters_ask_the_metadata_of_documents() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let count = async |filter: Value| bench.ask(&base, json!({"query": "day refund cat shipping", "filter": filter})).await["chunk_count"].clone();
    assert_eq!(count(json!({})).await, json!(3));
    assert_eq!(count(json!({"lang": "en"})).await, json!(2));
    assert_eq!(count(json!({"lang": "en", "year": {"gte": 2024}})).await, json!(1));
    assert_eq!(count(json!({"lang": {"in": ["pt", "es"]}})).await, json!(1));
    assert_eq!(count(json!({"year": {"lt": 2000}})).await, json!(0));
    let refused = bench.studio.search(&bench.scope, &base, &json!({"query": "x", "filter": {"lang": {"like": 1}}, "top_k": 0, "mode": "x"})).await;
    let errors = refused.expect_err("refused").members["errors"].clone();
    let keys: Vec<&String> = errors.as_object().expect("errors").keys().collect();
    assert_eq!(keys, ["top_k", "mode", "filter.lang"]);
}

#[tokio::test]
async fn nobody_else_sees_a_base_and_an_empty_one_answers_nothing() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let other = Scope { tenant: "other".into(), user: None };
    let refused = bench.studio.search(&other, &base, &json!({"query": "refund"})).await.expect_err("refused");
    assert_eq!(refused.kind, wfstudio::Kind::NotFound);
    assert!(bench.studio.documents(&other, &base, wfstudio::studio::ListQuery::default()).await.is_err());
    let empty = bench.base(json!({"name": "Empty"})).await;
    let found = bench.ask("empty", json!({"query": "refund"})).await;
    assert_eq!((&found["knowledge_base_id"], &found["chunk_count"], &found["results"]), (&json!(empty), &json!(0), &json!([])));
    let missing = bench.studio.search(&bench.scope, "none", &json!({"query": "x"})).await.expect_err("refused");
    assert_eq!((missing.kind, &missing.members["resource"]), (wfstudio::Kind::NotFound, &json!("knowledge_base")));
    assert!(bench.studio.search(&bench.scope, &base, &json!({"query": "  "})).await.is_err());
}

#[tokio::test]
async fn many_chunks_are_ranked_exactly() {
    let bench = bench(json!({}));
    let base = bench.base(json!({"chunking": {"max_words": 12, "overlap_words": 0}})).await;
    let text: Vec<String> = (0..400).map(|n| format!("Entry{n} tells of topic{} in chapter{}.", n % 37, n % 11)).collect();
    bench.add(&base, "book", &text.join("\n\n")).await;
    let found = bench.ask(&base, json!({"query": "Entry123 tells of topic12 in chapter2", "top_k": 3})).await;
    let content = found["results"][0]["content"].as_str().expect("a text");
    assert!(content.contains("Entry123 "), "{found}");
    assert_eq!(bench.ask(&base, json!({"query": "topic5", "top_k": 100, "mode": "text"})).await["chunk_count"].as_u64().map(|n| n >= 10), Some(true));
}

#[tokio::test]
async fn words_of_what_is_not_searched_hide_nothing() {
    let bench = bench(json!({"worker": {"in_process": false}}));
    let base = bench.base(json!({"chunking": {"max_words": 3, "overlap_words": 0}})).await;
    bench.add_with(&base, json!({"name": "one", "text": "One refund.", "metadata": {"lang": "en"}})).await;
    let many = bench.add(&base, "many", &"Refund refund refund. ".repeat(5_100)).await;
    assert_eq!(many["status"], json!("completed"), "{many}");
    let asked = json!({"query": "refund", "mode": "text", "filter": {"lang": "en"}});
    assert_eq!(bench.names(&base, asked).await, ["one 0.00"], "a filter leaves the others out");
    bench.studio.delete_document(&bench.scope, &base, many["id"].as_str().expect("an id")).await.expect("deleted");
    assert_eq!(bench.names(&base, json!({"query": "refund", "mode": "text"})).await, ["one 0.00"], "nobody has removed the words yet");
}

#[tokio::test]
async fn numbers_of_any_length_are_told_apart() {
    let bench = bench(json!({}));
    let base = bench.base(json!({})).await;
    let (one, other) = (1_234_567_890_123_456_789_u64, 1_234_567_890_123_456_790_u64);
    for customer in [one, other] {
        bench.add_with(&base, json!({"name": customer.to_string(), "text": super::CATS, "metadata": {"customer": customer}})).await;
    }
    for rule in [json!(other), json!({"in": [other]}), json!({"gt": one}), json!({"ne": one})] {
        let found = bench.ask(&base, json!({"query": "cat", "filter": {"customer": rule}})).await;
        let names: Vec<&str> = found["results"].as_array().expect("results").iter().filter_map(|chunk| chunk["source_name"].as_str()).collect();
        assert_eq!(names, [other.to_string()], "{rule}");
    }
}
