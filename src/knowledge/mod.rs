//! Owns knowledge bases: documents become passages with vectors, searches find passages, for nodes, tools and people.

mod vector_cache;
pub mod base;
pub mod chunk;
mod codes;
mod ingest;
mod pgvector;
mod rank;
mod rerank;
mod search;
pub mod text;
pub mod words;
mod worker;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::config::Config;
use crate::model::prices::PriceTable;
use crate::providers::registry::Providers;
use crate::store::Store;

pub use rerank::Scores;
pub use search::{Question, SearchFailure, context};
pub use worker::Worker;

/// The knowledge bases of an engine.
pub struct Knowledge {
    config: Arc<Config>,
    clock: Arc<dyn Clock>,
    store: Store,
    providers: Arc<Providers>,
    prices: Arc<PriceTable>,
    vector_cache: Arc<vector_cache::VectorCache>,
    texts: text::Reader,
    /// There may be a document to read.
    wake: Notify,
    /// Documents that workers read.
    at_work: Arc<AtomicUsize>,
    /// A document was read to its end.
    indexed: Notify,
}

impl Knowledge {
    /// Works on this store with these providers.
    #[must_use]
    pub fn new(config: Arc<Config>, clock: Arc<dyn Clock>, store: Store, providers: Arc<Providers>, prices: Arc<PriceTable>) -> Self {
        let texts = text::Reader::new(config.rag.reader_seconds, config.rag.reader_mb);
        Self {
            config,
            clock,
            store,
            providers,
            prices,
            vector_cache: Arc::default(),
            texts,
            wake: Notify::new(),
            at_work: Arc::default(),
            indexed: Notify::new(),
        }
    }

    /// There may be a document to read.
    pub fn wake(&self) {
        self.wake.notify_one();
    }
}
