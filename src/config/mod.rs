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
        impl Default for $name {
            fn default() -> Self { Self { $($field: $default),* } }
        }
    };
}
section!(Limits { body_kb: u64 = 2048, streams: usize = 10_000, graph_kb: u64 = 1024 });
section!(Csrf { header: Option<String> = None, meta: Option<String> = None });
section!(Sse { heartbeat_seconds: u64 = 15 });
section!(Attachments { max_size_kb: u64 = 10_240 });
section!(StreamAdapters { enabled: bool = true, route_prefix: String = "api/studio".into() });
section!(UsageExport { enabled: bool = true, route_prefix: Option<String> = None });
section!(UsageSettings { export: UsageExport = UsageExport::default() });
section!(Codegen { enabled: bool = true });
section!(Config {
    environment: String = "production".into(), route_prefix: String = "studio".into(), base_url: Option<String> = None,
    locale: String = "en".into(), timezone: String = "UTC".into(), gate: String = "viewStudio".into(), csrf: Csrf = Csrf::default(),
    limits: Limits = Limits::default(), sse: Sse = Sse::default(), attachments: Attachments = Attachments::default(),
    stream_adapters: StreamAdapters = StreamAdapters::default(), usage: UsageSettings = UsageSettings::default(),
    codegen: Codegen = Codegen::default(), async_runs_enabled: bool = false
});
/// Where a configuration comes from.
#[derive(Debug, Default)]
#[expect(missing_docs, reason = "a stand-in")]
pub struct ConfigSources { pub file: Option<PathBuf>, pub json: Option<Value>, pub env: BTreeMap<String, String> }
impl Config {
    /// Reads all sources.
    pub fn load(sources: ConfigSources) -> Result<Self> {
        serde_json::from_value(sources.json.unwrap_or_else(|| serde_json::json!({})))
            .map_err(|error| Error::field("config", error.to_string()))
    }
}
