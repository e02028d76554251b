//! Retrieval by meaning, with real embeddings: `scripts/test-knowledge.sh` starts the model. The texts and questions lie beside this file.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::studio::{ListQuery, Resource, Scope, Studio};

const CORPUS: &str = include_str!("corpus.txt");
const QUERIES: &str = include_str!("queries.txt");

fn lines(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter_map(|line| line.split_once(" | ")).collect()
}

async fn filled(url: &str) -> (Studio, Scope) {
    let settings = json!({
        "environment": "local", "database": {"path": ":memory:"},
        "providers": {"local": {"kind": "openai-compatible", "base_url": url}},
    });
    let config = Config::load(ConfigSources { file: None, json: Some(settings), env: BTreeMap::new() }).expect("a configuration");
    let (studio, scope) = (Studio::open(config).expect("a studio"), Scope::default());
    let base = json!({"name": "Help", "slug": "help", "embeddings_provider": "local", "embeddings_model": "minilm"});
    studio.create(&scope, Resource::KnowledgeBase, &base).await.expect("a base");
    for (name, text) in lines(CORPUS) {
        studio.add_text(&scope, "help", &json!({"name": name, "text": text})).await.expect("taken");
    }
    loop {
        let documents = studio.documents(&scope, "help", ListQuery { limit: 100, ..ListQuery::default() }).await.expect("a list").data;
        assert!(documents.iter().all(|document| document["status"] != "failed"), "{documents:?}");
        if documents.iter().all(|document| document["status"] == "completed") {
            return (studio, scope);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// The share of questions whose passage is among the first five.
async fn recall(studio: &Studio, scope: &Scope, mode: &str) -> f64 {
    let (mut found, mut asked) = (0, 0);
    for (wanted, query) in lines(QUERIES) {
        let answer = studio.search(scope, "help", &json!({"query": query, "mode": mode, "top_k": 5})).await.expect("an answer");
        let names: Vec<&str> = answer["results"].as_array().expect("results").iter().filter_map(|chunk| chunk["source_name"].as_str()).collect();
        asked += 1;
        if names.contains(&wanted) {
            found += 1;
        } else {
            println!("{mode}: `{query}` gave {names:?}, not {wanted}");
        }
    }
    println!("{mode}: {found} of {asked}");
    f64::from(found) / f64::from(asked)
}

#[tokio::test]
#[ignore = "needs a model that makes embeddings; scripts/test-knowledge.sh starts one"]
async fn both_together_find_more_than_either_alone() {
    let url = std::env::var("STUDIO_EMBEDDINGS_URL").expect("scripts/test-knowledge.sh sets it");
    assert!(lines(CORPUS).len() >= 60 && lines(QUERIES).len() >= 30);
    let (studio, scope) = filled(&url).await;
    let (hybrid, vector, text) =
        (recall(&studio, &scope, "hybrid").await, recall(&studio, &scope, "vector").await, recall(&studio, &scope, "text").await);
    assert!(hybrid >= 0.9 && hybrid > vector && hybrid > text, "hybrid {hybrid}, vector {vector}, text {text}");
    let base = studio.get(&scope, Resource::KnowledgeBase, "help").await.expect("a base");
    assert_eq!(base["chunk_count"], Value::from(lines(CORPUS).len()));
}
