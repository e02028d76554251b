//! Owns the configuration. Stand-in until the real one is merged.
use std::collections::BTreeMap;
use std::path::PathBuf;
use serde::Deserialize;
use serde_json::Value;
use crate::error::{Error, Result};
macro_rules! section {
    ($name:ident { $($field:ident: $type:ty = $default:expr),* $(,)? }) => {
        #[derive(Clone, Debug, Deserialize)]
        #[serde(default)]
        #[expect(missing_docs, reason = "a stand-in")]
        pub struct $name { $(pub $field: $type),* }
        impl Default for $name { fn default() -> Self { Self { $($field: $default),* } } }
    };
}
section!(Limits { body_kb: u64 = 2048, graph_kb: u64 = 1024, graph_nodes: u64 = 500, graph_edges: u64 = 2000 });
section!(Attachments { path: Option<PathBuf> = None, max_size_kb: u64 = 10_240 });
section!(Database { path: PathBuf = "studio.sqlite".into() });
section!(UsageSettings { currency: String = "USD".into() });
section!(Mcp { servers: BTreeMap<String, Value> = BTreeMap::new(), stdio_allowlist: Vec<String> = vec![] });
section!(Tools { toolkits: Vec<String> = vec!["calculator".into(), "calendar".into(), "demo".into()] });
section!(Rag { mode: String = "hybrid".into(), top_k: u64 = 5, threshold: Option<f64> = None, chunk_max_words: u64 = 200, chunk_overlap_words: u64 = 20 });
section!(Config {
    locale: String = "en".into(), timezone: String = "UTC".into(), database: Database = Database::default(),
    limits: Limits = Limits::default(), attachments: Attachments = Attachments::default(), usage: UsageSettings = UsageSettings::default(),
    mcp: Mcp = Mcp::default(), tools: Tools = Tools::default(), rag: Rag = Rag::default(), allow_builder_tools: bool = false,
    output_schemas: BTreeMap<String, Value> = BTreeMap::new()
});
#[expect(missing_docs, reason = "a stand-in")]
impl Config {
    pub fn of(json: Value) -> Result<Self> { serde_json::from_value(json).map_err(|error| Error::field("config", error.to_string())) }
    pub fn effective_default_model(&self) -> (String, String) { ("script".into(), "demo".into()) }
    pub fn effective_embeddings_model(&self) -> (String, String) { ("hash".into(), "hash-256".into()) }
    pub fn settings_json(&self) -> Value { Value::Null }
}
