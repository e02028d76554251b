//! The tool that searches a knowledge base, with a base that has something to find.

use serde_json::json;
use wfstudio::studio::Resource;

use super::{graph, run, stored, tried};
use crate::support::Bench;

#[tokio::test]
async fn a_search_finds_what_the_base_has_and_is_metered() {
    let bench = Bench::new(json!({"rag": {"async_ingest": false}}));
    let base = json!({"name": "Docs", "embeddings_provider": "hash", "embeddings_model": "hash-256"});
    let base = bench.studio.create(&bench.scope, Resource::KnowledgeBase, &base).await.expect("a base");
    let base = base["id"].as_str().expect("an id");
    let text = json!({"name": "faq.md", "text": "Refunds take thirty days. They go to the card that was charged."});
    bench.studio.add_text(&bench.scope, base, &text).await.expect("a document");
    let id = stored(&bench, json!({"name": "find", "kind": "rag", "config": {"knowledge_base_id": base, "top_k": 1}})).await;
    assert!(tried(&bench, &id, json!({"query": "refunds"})).await.contains("[1] Refunds take thirty days."));
    let trace = run(&bench, graph(json!({"tool_ref": "tool:find", "parameters": {"query": "When do refunds come?"}}))).await;
    let result = &trace["steps"][0]["output"]["tool_result"]["result"];
    assert_eq!((result["chunk_count"].as_u64(), result["sources"][0]["source"].as_str()), (Some(1), Some("faq.md")), "{trace}");
    let spans = trace["spans"].as_array().expect("spans").iter();
    let kinds: Vec<String> = spans.map(|span| format!("{} {} {}", span["type"], span["name"], span["provider"])).collect();
    assert_eq!(kinds, [r#""tool" "find" null"#, r#""embedding" "embed" "hash""#]);
    assert_eq!(trace["steps"][0]["total_tokens"], trace["spans"][1]["total_tokens"]);
}
