//! Owns the fields of a knowledge base.

use serde_json::{Map, Value, json};

use crate::knowledge::words::LANGUAGES;
use crate::store::knowledge::editions::EARLIER;
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::Fields;
use crate::studio::definitions::resource::Resource;

/// What the studio itself counts of a base: never written, worked out when it is shown.
pub(in crate::studio) const COUNTED: [&str; 4] = ["document_count", "chunk_count", "size_bytes", "needs_reindex"];

/// Reads the writable fields of a base, in the order in which they are shown.
pub(in crate::studio) fn read(fields: &mut Fields<'_>, catalog: &Catalog) -> Map<String, Value> {
    let (provider, model) = fields.model(["embeddings_provider", "embeddings_model"], catalog.default_embeddings());
    let mut body = Map::new();
    body.insert("description".into(), fields.text("description", 10_000).unwrap_or_default().into());
    body.insert("embeddings_provider".into(), provider.into());
    body.insert("embeddings_model".into(), model.into());
    body.insert("dimensions".into(), fields.integer("dimensions", 1..=65_536).into());
    body.insert("language".into(), read_language(fields, catalog).into());
    body.insert("retrieval_defaults".into(), fields.nested("retrieval_defaults", |fields| read_retrieval(fields, catalog)));
    body.insert("chunking".into(), fields.nested("chunking", |fields| read_chunking(fields, catalog)));
    body.extend(COUNTED.iter().zip([json!(0), json!(0), json!(0), json!(false)]).map(|(name, none)| ((*name).to_owned(), none)));
    body.insert("metadata".into(), fields.object("metadata").into());
    body
}

/// The language of its texts; absent is that of the locale.
fn read_language(fields: &mut Fields<'_>, catalog: &Catalog) -> &'static str {
    let names = LANGUAGES.each_ref().map(|language| language.name);
    let usual = if catalog.config().locale.starts_with("pt") { "pt" } else { "en" };
    fields.choice("language", &names).unwrap_or(usual)
}

/// The language of a base that was stored before bases had one.
pub(in crate::studio) fn fill_language(resource: Resource, body: &mut Map<String, Value>) {
    if resource == Resource::KnowledgeBase {
        body.entry("language").or_insert_with(|| EARLIER.into());
    }
}

fn read_retrieval(fields: &mut Fields<'_>, catalog: &Catalog) -> Value {
    let usual = &catalog.config().rag;
    let threshold = fields.number("threshold", 0.0..=1.0).cloned().or_else(|| usual.threshold.map(Value::from));
    let mut read = json!({
        "mode": fields.choice("mode", &["hybrid", "vector", "text"]).unwrap_or(usual.mode.as_str()),
        "top_k": fields.integer("top_k", 1..=100).unwrap_or_else(|| i64::from(usual.top_k)),
        "threshold": threshold, "filter": fields.filter("filter"),
    });
    let rerank = fields.rerank("rerank");
    if !rerank.is_null() {
        read["rerank"] = rerank;
    }
    read
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
