//! Languages of bases: whose words are found, what a change asks for, bases of earlier versions.

use serde_json::{Value, json};
use wfstudio::knowledge::words::LANGUAGES;
use wfstudio::model::Id;
use wfstudio::store::knowledge::editions;
use wfstudio::studio::Resource;

use super::bench;
use crate::support::Bench;

/// A base of a language with these documents, named by their place.
async fn base(bench: &Bench, language: &str, texts: &[&str]) -> String {
    let base = bench.base(json!({"name": language, "language": language})).await;
    for (place, text) in texts.iter().enumerate() {
        let read = bench.add(&base, &place.to_string(), text).await;
        assert_eq!(read["status"], "completed", "{read}");
    }
    base
}

/// The documents that hold the words of a question, in the order of their names.
async fn worded(bench: &Bench, base: &str, question: &str) -> String {
    let found = bench.ask(base, json!({"query": question, "mode": "text", "top_k": 50})).await;
    let mut names: Vec<&str> = found["results"].as_array().expect("results").iter().filter_map(|chunk| chunk["source_name"].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

#[tokio::test]
async fn words_are_found_by_the_language_of_their_base() {
    let bench = bench(json!({}));
    let english = ["Dogs run in the park.", "Cats sleep.", "Os corredores estão trabalhando."];
    let portuguese = ["O corredor gosta de trabalhar.", "Running is fun.", "As ações não mentem."];
    let [en, pt, simple] = [base(&bench, "en", &english).await, base(&bench, "pt", &portuguese).await, base(&bench, "simple", &english).await];
    for (base, question, found) in [
        (&en, "running", "0"),
        (&en, "Is the cat SLEEPING?", "1"),
        (&en, "trabalhar", ""),
        (&pt, "corredores", "0"),
        (&pt, "trabalhando", "0"),
        (&pt, "run", ""),
        (&pt, "acoes", "2"),
        (&simple, "running", ""),
        (&simple, "RUN sleep", "0 1"),
        (&simple, "corredor", ""),
        (&simple, "corredores estao", "2"),
    ] {
        assert_eq!(worded(&bench, base, question).await, found, "{question}");
    }
    assert_eq!(bench.get_base(&pt).await["language"], "pt");
    let hybrid = bench.names(&en, json!({"query": "running dogs", "mode": "hybrid", "top_k": 1})).await;
    assert!(hybrid[0].starts_with("0 "), "{hybrid:?}");
}

#[tokio::test]
async fn words_without_spaces_between_them_are_found_by_pairs() {
    let bench = bench(json!({}));
    let zh = base(&bench, "zh", &["我住在北京市。", "他在上海大学学习。", "東京は大きい。データベース", "水"]).await;
    for (question, found) in [("北京", "0"), ("大学", "1"), ("上海大学", "1"), ("海市", ""), ("北", "0"), ("水", "3"), ("ベース", "2"), ("京", "0 2")] {
        assert_eq!(worded(&bench, &zh, question).await, found, "{question}");
    }
    let en = base(&bench, "en", &["The office is in 北京市 since 2020."]).await;
    assert_eq!((worded(&bench, &en, "北京").await, worded(&bench, &en, "offices").await), ("0".into(), "0".into()));
}

#[tokio::test]
async fn every_language_finds_its_own_words_and_hostile_texts_do_no_harm() {
    let bench = bench(json!({}));
    let hostile = "e1 OR scope:e1 'x' \"y\" \\ & | ! ( ) * NEAR a:b ''' zebra \u{301} ﷺ 🦀 کتاب‌ها";
    for language in &LANGUAGES {
        let base = base(&bench, language.name, &["Zebra Ζέβρα Зебра", hostile]).await;
        assert_eq!(worded(&bench, &base, "zebra").await, "0 1", "{}", language.name);
        assert_eq!(worded(&bench, &base, "зебра & ' \" \\").await, "0", "{}", language.name);
        for part in ["کتاب‌ها", "y\" OR \"x", "e1"] {
            assert_eq!(worded(&bench, &base, part).await, "1", "{part} in {}", language.name);
        }
    }
    let huge: String = (0..9_000).map(|n| format!("{n}{} ", "wörd".repeat(20))).collect();
    let base = bench.base(json!({"chunking": {"max_words": 10_000, "overlap_words": 0}})).await;
    assert_eq!(bench.add(&base, "huge", &huge).await["status"], "completed");
}

#[tokio::test]
async fn the_locale_says_the_language_and_others_are_refused() {
    for (locale, language) in [("en", "en"), ("pt_BR", "pt")] {
        let bench = bench(json!({"locale": locale}));
        let base = bench.base(json!({})).await;
        assert_eq!(bench.get_base(&base).await["language"], language);
        let refused = bench.studio.create(&bench.scope, Resource::KnowledgeBase, &json!({"name": "x", "language": "xx"})).await.expect_err("refused");
        assert!(refused.members["errors"]["language"][0].as_str().is_some_and(|text| text.contains("simple")), "{:?}", refused.members);
    }
    let described: Value = serde_json::from_str(include_str!("../../../docs/openapi.json")).expect("JSON");
    let schema = &described["components"]["schemas"]["KnowledgeBase"]["properties"]["language"]["enum"];
    assert_eq!(*schema, json!(LANGUAGES.each_ref().map(|language| language.name)));
}

#[tokio::test]
async fn another_language_needs_a_reindex_that_makes_no_embeddings_again() {
    let bench = bench(json!({}));
    let book: String = (0..90).map(|n| format!("Entry{n} tells of trabalhando.\n\n")).collect();
    let base = bench.base(json!({"language": "en", "chunking": {"max_words": 5, "overlap_words": 0}})).await;
    let read = bench.add(&base, "book", &book).await;
    let patch = async |body| bench.studio.patch(&bench.scope, Resource::KnowledgeBase, &base, &body, None).await.expect("patched");
    assert_eq!(patch(json!({"description": "x"})).await["needs_reindex"], json!(false));
    let patched = patch(json!({"language": "pt"})).await;
    assert_eq!((&patched["language"], &patched["needs_reindex"]), (&json!("pt"), &json!(true)));
    assert_eq!((worded(&bench, &base, "trabalhar").await, worded(&bench, &base, "entry7 telling").await.is_empty()), (String::new(), false));
    let vectors = bench.ask(&base, json!({"query": "Entry70 tells of", "mode": "vector", "top_k": 20})).await["results"].clone();
    let after = bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    assert_eq!((&after["needs_reindex"], &after["chunk_count"]), (&json!(false), &read["chunk_count"]));
    assert!(after["chunk_count"].as_u64().is_some_and(|count| count > 64), "more than one batch: {after}");
    assert_eq!(bench.ask(&base, json!({"query": "trabalhar", "mode": "text", "top_k": 100})).await["chunk_count"], json!(90));
    assert_eq!(worded(&bench, &base, "telling").await, "");
    let usage = |document: &Value| document["total_tokens"].clone();
    let now = bench.document(&base, &read["id"]).await;
    assert!(usage(&now).as_u64().is_some_and(|tokens| tokens > 0), "{now}");
    assert_eq!(usage(&now), usage(&read), "nothing was embedded");
    let scores = |results: &Value| results.as_array().expect("results").iter().map(|chunk| (chunk["content"].clone(), chunk["score"].clone())).collect::<Vec<_>>();
    let again = bench.ask(&base, json!({"query": "Entry70 tells of", "mode": "vector", "top_k": 20})).await["results"].clone();
    assert_eq!(scores(&again), scores(&vectors));
    // The next reindex makes them anew, and so does one that cuts the text in another way.
    bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    assert_ne!(usage(&bench.document(&base, &read["id"]).await), usage(&read));
    patch(json!({"language": "simple", "chunking": {"max_words": 9}})).await;
    let before = usage(&bench.document(&base, &read["id"]).await);
    let after = bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    assert_eq!(after["needs_reindex"], json!(false));
    assert_ne!(usage(&bench.document(&base, &read["id"]).await), before);
    assert_eq!((worded(&bench, &base, "trabalhar").await, worded(&bench, &base, "trabalhando").await), (String::new(), "book".into()));
}

#[tokio::test]
async fn bases_of_earlier_versions_are_found_as_before_until_they_are_reindexed() {
    let bench = bench(json!({"locale": "pt_BR"}));
    let base = bench.base(json!({"language": "en"})).await;
    let first = bench.add(&base, "first", "x").await;
    bench.studio.delete_document(&bench.scope, &base, first["id"].as_str().expect("an id")).await.expect("deleted");
    let id: Id = base.parse().expect("an id");
    let make_earlier = bench.studio.world().store.write(|tx| {
        tx.execute("UPDATE #editions SET language = NULL", &[])?;
        tx.execute("UPDATE #definitions SET body = REPLACE(body, '\"language\":\"en\",', '')", &[]).map(drop)
    });
    make_earlier.await.expect("written");
    let editions = async || bench.studio.world().store.read(move |tx| editions::of_base(tx, "", &id)).await.expect("editions");
    bench.add(&base, "dogs", "Dogs run in the park.").await;
    bench.add(&base, "cats", "Cats sleep in 北京市.").await;
    assert_eq!((editions().await.len(), &editions().await[0].language), (1, &None));
    let shown = bench.get_base(&base).await;
    assert_eq!((&shown["language"], &shown["needs_reindex"]), (&json!("en"), &json!(false)));
    assert_eq!((worded(&bench, &base, "running").await, worded(&bench, &base, "北京").await), ("dogs".into(), String::new()));
    // A patch of something else leaves the language as it was.
    let patch = async |body| bench.studio.patch(&bench.scope, Resource::KnowledgeBase, &base, &body, None).await.expect("patched");
    let patched = patch(json!({"description": "x"})).await;
    assert_eq!((&patched["language"], &patched["needs_reindex"]), (&json!("en"), &json!(false)));
    let after = bench.studio.reindex_base(&bench.scope, &base).await.expect("asked");
    assert_eq!((&after["needs_reindex"], editions().await[0].language.as_deref()), (&json!(false), Some("en")));
    assert_eq!((worded(&bench, &base, "running").await, worded(&bench, &base, "北京").await), ("dogs".into(), "cats".into()));
    bench.studio.delete(&bench.scope, Resource::KnowledgeBase, &base, &Value::Null, None, false).await.expect("deleted");
}
