//! Owns the settings of a stored knowledge base for indexing and searching.

use serde_json::{Map, Value};

use crate::config::Config;
use crate::model::Id;
use crate::store::definitions::{self, DefinitionKind, DefinitionRow};
use crate::store::knowledge::editions::{EARLIER, Embedder};
use crate::store::{StoreError, Tx};

/// How a base is searched when a question does not say.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of `retrieval_defaults`")]
pub struct Retrieval {
    pub mode: Mode,
    pub top_k: u32,
    pub threshold: Option<f64>,
    pub filter: Map<String, Value>,
    pub rerank: Map<String, Value>,
}

named! {
    /// What is compared with a question.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "the names are those of the contract")]
    pub enum Mode {
        Hybrid = "hybrid",
        Vector = "vector",
        Text = "text",
    }
}

/// A base as it is read into and searched.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the resource")]
pub struct Base {
    pub id: Id,
    pub embedder: Embedder,
    pub language: String,
    pub retrieval: Retrieval,
    pub max_words: u32,
    pub overlap_words: u32,
}

impl Base {
    /// What a stored base says; the configuration says the rest.
    #[must_use]
    pub fn of(row: &DefinitionRow, config: &Config) -> Self {
        let at = |path: &str| row.body.pointer(path);
        let text = |path: &str| at(path).and_then(Value::as_str);
        let small = |path: &str| at(path).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
        let usual = &config.rag;
        Self {
            id: row.id,
            embedder: Embedder {
                provider: text("/embeddings_provider").unwrap_or("hash").to_owned(),
                model: text("/embeddings_model").unwrap_or("hash-256").to_owned(),
                dimensions: small("/dimensions"),
            },
            language: text("/language").unwrap_or(EARLIER).to_owned(),
            retrieval: Retrieval {
                mode: text("/retrieval_defaults/mode").and_then(Mode::named).or_else(|| Mode::named(&usual.mode)).unwrap_or(Mode::Hybrid),
                top_k: small("/retrieval_defaults/top_k").unwrap_or(usual.top_k),
                threshold: at("/retrieval_defaults/threshold").and_then(Value::as_f64),
                rerank: at("/retrieval_defaults/rerank").and_then(Value::as_object).cloned().unwrap_or_default(),
                filter: at("/retrieval_defaults/filter").and_then(Value::as_object).cloned().unwrap_or_default(),
            },
            max_words: small("/chunking/max_words").unwrap_or(usual.chunk_max_words),
            overlap_words: small("/chunking/overlap_words").unwrap_or(usual.chunk_overlap_words),
        }
    }

    /// The base of an id or a slug.
    pub fn find(tx: &mut Tx<'_>, tenant: &str, name: &str, config: &Config) -> Result<Option<Self>, StoreError> {
        let found = definitions::find(tx, tenant, DefinitionKind::KnowledgeBase, &name.to_ascii_lowercase())?;
        Ok(found.map(|row| Self::of(&row, config)))
    }
}
