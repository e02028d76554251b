//! Owns the interface by which tools and nodes search knowledge bases.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SpentList;
use crate::model::event::Warning;
use crate::model::trace_context::TraceContext;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchQuery {
    /// Id or slug of the base.
    pub knowledge_base: String,
    /// The question.
    pub query: String,
    /// How many chunks; absent: the base's `retrieval_defaults`, then the configuration's. So with the rest.
    pub top_k: Option<u32>,
    /// The least score.
    pub threshold: Option<f64>,
    /// `hybrid`, `vector` or `text`.
    pub mode: Option<String>,
    /// `{provider, model, candidates}`; empty: none.
    pub rerank: Option<Map<String, Value>>,
    /// On the metadata of documents, as the contract's filters are written; absent: the base's own.
    pub filter: Option<Map<String, Value>>,
    /// The span that it is made in.
    pub trace: Option<Arc<TraceContext>>,
}

/// A piece of a document, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the contract's chunk")]
pub struct Chunk {
    pub id: String,
    pub document_id: String,
    pub content: String,
    pub score: f64,
    pub source_type: String,
    pub source_name: String,
    pub position: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sheet: Option<String>,
    pub metadata: Map<String, Value>,
}

impl Chunk {
    /// Adds to a citation where the chunk stands: `page`, `heading`, `sheet`, as far as they are known.
    pub fn add_place(&self, citation: &mut Map<String, Value>) {
        citation.extend(self.page.map(|page| ("page".to_owned(), page.into())));
        citation.extend(self.heading.clone().map(|heading| ("heading".to_owned(), heading.into())));
        citation.extend(self.sheet.clone().map(|sheet| ("sheet".to_owned(), sheet.into())));
    }
}

/// What a search found, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The base's id.
    pub knowledge_base_id: String,
    /// The chunks.
    pub results: Vec<Chunk>,
    /// `[n] <content>` blocks joined by a line `---`; empty when nothing was found.
    pub context: String,
    /// The best score; 0 when nothing was found.
    pub top_score: f64,
    /// What people should know of it.
    pub warnings: Vec<Warning>,
}

/// A search that found no answer to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchError {
    /// There is no such base.
    Missing(String),
    /// It could not be searched; the text says why.
    Failed(String),
}

/// Who searches knowledge bases.
pub trait Search: Send + Sync {
    /// Searches one base of a tenant. Dropping the future ends the search. The calls that embed its question are recorded in `spent`: they
    /// are paid for, whatever comes of it.
    fn search<'a>(&'a self, tenant: &'a str, query: &'a SearchQuery, spent: &'a SpentList) -> BoxFuture<'a, Result<Found, SearchError>>;
}

/// The way to whoever searches; set once, when the studio opens.
#[derive(Clone, Default)]
pub struct SearchDoor(Arc<OnceLock<Arc<dyn Search>>>);

impl SearchDoor {
    /// Sets who searches; the first one stays.
    pub fn set(&self, search: Arc<dyn Search>) {
        let _the_first_stays = self.0.set(search);
    }

    /// Searches one base of a tenant.
    pub async fn search(&self, tenant: &str, query: &SearchQuery, spent: &SpentList) -> Result<Found, SearchError> {
        match self.0.get() {
            Some(search) => search.search(tenant, query, spent).await,
            None => Err(SearchError::Failed("nothing searches knowledge bases here".into())),
        }
    }
}
