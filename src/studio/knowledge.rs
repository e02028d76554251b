//! Owns the fields of a knowledge base.

use serde_json::{Map, Value, json};

use super::catalog::Catalog;
use super::fields::Fields;

/// What the studio itself counts of a base; kept over writes.
pub(super) const COUNTED: [&str; 4] = ["document_count", "chunk_count", "size_bytes", "needs_reindex"];

/// Reads the writable fields of a base, in the order in which they are shown; `before` is the base as it was.
pub(super) fn read(fields: &mut Fields<'_>, catalog: &Catalog, before: Option<&Map<String, Value>>) -> Map<String, Value> {
    let (provider, model) = catalog.default_embeddings();
    let mut body = Map::new();
    body.insert("description".into(), fields.text("description", 10_000).unwrap_or_default().into());
    body.insert("embeddings_provider".into(), fields.text("embeddings_provider", 255).unwrap_or(&provider).into());
    body.insert("embeddings_model".into(), fields.text("embeddings_model", 255).unwrap_or(&model).into());
    body.insert("dimensions".into(), fields.integer("dimensions", 1..=65_536).into());
    body.insert("retrieval_defaults".into(), fields.nested("retrieval_defaults", |fields| read_retrieval(fields, catalog)));
    body.insert("chunking".into(), fields.nested("chunking", |fields| read_chunking(fields, catalog)));
    count(&mut body, before);
    body.insert("metadata".into(), fields.object("metadata").into());
    body
}

fn read_retrieval(fields: &mut Fields<'_>, catalog: &Catalog) -> Value {
    let usual = &catalog.config().rag;
    let threshold = fields.number("threshold", 0.0..=1.0).cloned().or_else(|| usual.threshold.map(Value::from));
    json!({
        "mode": fields.choice("mode", &["hybrid", "vector", "text"]).unwrap_or(usual.mode.as_str()),
        "top_k": fields.integer("top_k", 1..=100).unwrap_or_else(|| i64::from(usual.top_k)),
        "threshold": threshold, "filter": fields.object("filter"),
    })
}

fn read_chunking(fields: &mut Fields<'_>, catalog: &Catalog) -> Value {
    let usual = &catalog.config().rag;
    let words = fields.integer("max_words", 1..=10_000).unwrap_or_else(|| i64::from(usual.chunk_max_words));
    let given = fields.integer("overlap_words", 0..=9_999);
    let overlap = given.unwrap_or_else(|| i64::from(usual.chunk_overlap_words).min(words - 1));
    if overlap >= words {
        fields.wrong("overlap_words", "must be below max_words");
    }
    json!({"max_words": words, "overlap_words": overlap})
}

/// Vectors of another model are of no use: a base that has some must be indexed again.
fn count(body: &mut Map<String, Value>, before: Option<&Map<String, Value>>) {
    let kept = |name: &str, none: Value| before.and_then(|before| before.get(name)).cloned().unwrap_or(none);
    let moved = before.is_some_and(|before| {
        ["embeddings_provider", "embeddings_model", "dimensions"].iter().any(|name| before.get(*name) != body.get(*name))
    });
    let chunks = kept("chunk_count", json!(0));
    let stale = kept("needs_reindex", json!(false)) == json!(true) || (moved && chunks != json!(0));
    body.insert("document_count".into(), kept("document_count", json!(0)));
    body.insert("chunk_count".into(), chunks);
    body.insert("size_bytes".into(), kept("size_bytes", json!(0)));
    body.insert("needs_reindex".into(), stale.into());
}
