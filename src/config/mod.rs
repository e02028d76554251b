//! Owns the configuration: every key as a typed field, named as in the contract.

mod checks;
mod defaults;
mod flags;
mod keys;
mod load;
mod places;
mod propagate;
mod provider;
mod secrets;
mod settings_json;
mod time_zone;
mod unknown_variables;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use load::ConfigSources;
pub use flags::Flags;
pub use propagate::Propagate;
pub use provider::{CacheMode, EmbeddingConfig, ModelConfig, ProviderConfig, ProviderLimits, Quirks, SystemRole};
#[cfg(test)]
pub(crate) use checks::ROUTES;
pub(crate) use time_zone::time_zone;

/// A secret value: never shown, logged or stored.
#[derive(Clone)]
pub struct Secret(pub Arc<str>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File,
    /// What the host gave when it opened the engine.
    Json,
    /// An environment variable.
    Env,
}

impl Source {
    /// As the settings show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File | Self::Json => "config",
            Self::Env => "env",
        }
    }
}

/// A loaded configuration. It cannot change.
#[derive(Clone)]
pub struct Config {
    /// The values.
    pub keys: Arc<Keys>,
    /// Each key's value as JSON and where it came from, in the order of the contract.
    origin: Arc<Vec<(&'static str, Value, Source)>>,
    /// What secrets may be read from.
    environment: Arc<BTreeMap<String, String>>,
}

impl std::ops::Deref for Config {
    type Target = Keys;
    fn deref(&self) -> &Keys {
        &self.keys
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Config")
    }
}

/// Whether a PostgreSQL server with the extension `vector` compares vectors itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pgvector {
    /// Those of large bases.
    #[default]
    Auto,
    /// Those of all bases.
    Always,
    /// Never.
    Off,
}

/// How hard a commit is pressed onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// Survives a power cut.
    #[default]
    Full,
    /// Survives the death of the process.
    Normal,
}

/// What is on the disk before a run goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// What is announced, and what precedes a call with side effects.
    #[default]
    Effect,
    /// Every step.
    Step,
    /// Nothing of a run: it lives while it is driven, and cannot be read, resumed or recovered.
    None,
}

/// Declares structs whose fields are the keys of the contract.
macro_rules! sections {
    ($($(#[doc = $doc:literal])* $name:ident { $($(#[$meta:meta])* $field:ident: $kind:ty,)* })*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(missing_docs, reason = "the fields are the keys of the contract")]
        pub struct $name { $($(#[$meta])* pub $field: $kind,)* }
    )*};
}

sections! {
    /// Every key.
    Keys {
        environment: String,
        route_prefix: String,
        base_url: Option<String>,
        locale: String,
        timezone: String,
        gate: String,
        csrf: Csrf,
        database: Database,
        table_prefix: String,
        default_provider: Option<String>,
        default_model: Option<String>,
        providers: BTreeMap<String, ProviderConfig>,
        chat_history_context_window: u64,
        memory: Memory,
        async_runs_enabled: bool,
        queue: String,
        queue_connection: Option<String>,
        queue_tries: u32,
        queue_backoff: u64,
        worker: Worker,
        runs: Runs,
        async_progress: AsyncProgress,
        sse: Sse,
        parallel: Parallel,
        #[serde(rename = "loop")]
        loops: Loops,
        checkpoints: Checkpoints,
        usage: Usage,
        stream_adapters: StreamAdapters,
        codegen: Codegen,
        export_namespace: String,
        export_path: String,
        workflow_scan_paths: Vec<String>,
        workflow_json_paths: Vec<String>,
        views_path: Option<String>,
        allow_builder_tools: bool,
        templates_enabled: bool,
        template_paths: TemplatePaths,
        output_schemas: Map<String, Value>,
        tools: Tools,
        webhook: Webhook,
        mcp: Mcp,
        rag: Rag,
        attachments: Attachments,
        tls: Tls,
        observability: Observability,
        retention: Retention,
        limits: Limits,
        timeouts: Timeouts,
        secrets: BTreeMap<String, String>,
    }
    /// The host's token against forged requests.
    Csrf { header: Option<String>, meta: Option<String>, }
    /// Where everything is stored.
    Database { path: String, url: Option<String>, synchronous: Synchronous, durability: Durability, }
    /// Conversations.
    Memory { summarizer: Summarizer, }
    /// What makes summaries of conversations.
    Summarizer { provider: Option<String>, model: Option<String>, }
    /// Who works off the queue.
    Worker { in_process: bool, concurrency: u32, }
    /// Leases.
    Runs { lease_seconds: u64, max_takeovers: u32, }
    /// What tails of async runs read.
    AsyncProgress { enabled: bool, ttl: u64, poll_ms: u64, }
    /// Event streams.
    Sse { heartbeat_seconds: u64, max_seconds: u64, }
    /// Branches.
    Parallel { concurrency: u32, }
    /// Loops.
    Loops { default_max_steps: u32, global_max_steps: u64, }
    /// Node checkpoints.
    Checkpoints { enabled: bool, ttl: u64, }
    /// Usage and cost.
    Usage { currency: String, prices: Option<Value>, prices_path: Option<PathBuf>, export: UsageExport, events: UsageEvents, }
    /// The usage export.
    UsageExport { enabled: bool, route_prefix: Option<String>, middleware: Option<Vec<String>>, }
    /// Events with usage for the host.
    UsageEvents { enabled: bool, }
    /// Other protocols of event streams.
    StreamAdapters { enabled: bool, route_prefix: String, middleware: Vec<String>, }
    /// Code from and to graphs.
    Codegen { enabled: bool, export: bool, preview: bool, target: String, }
    /// Templates of one's own.
    TemplatePaths { agent: Vec<String>, workflow: Vec<String>, }
    /// Tools.
    Tools { toolkits: Vec<String>, offered_max: usize, }
    /// Where webhooks may go.
    Webhook { allowed_hosts: Vec<String>, allow_private: Vec<String>, }
    /// MCP servers.
    Mcp { servers: Map<String, Value>, stdio_allowlist: Vec<String>, env_allowlist: Vec<String>, allow_private: Vec<String>, connections: u64, connections_per_tenant: u64, }
    /// Knowledge bases.
    Rag {
        async_ingest: bool,
        embeddings_provider: Option<String>,
        embeddings_model: Option<String>,
        mode: String,
        top_k: u32,
        threshold: Option<f64>,
        chunk_max_words: u32,
        chunk_overlap_words: u32,
        max_document_kb: u64,
        reader_seconds: u64,
        reader_mb: u64,
        pgvector: Pgvector,
    }
    /// Encryption of connections that the studio opens.
    Tls { ca_file: Option<PathBuf>, }
    /// Uploaded files.
    Attachments { path: Option<String>, max_size_kb: u64, }
    /// Traces, and what is sent to other systems.
    Observability { native_tracing: bool, otlp: Otlp, inspector: Inspector, langfuse: Langfuse, propagate: Propagate, redact: Vec<String>, }
    /// OpenTelemetry.
    Otlp { endpoint: Option<String>, headers: BTreeMap<String, String>, content: bool, metrics: bool, }
    /// The Inspector preset.
    Inspector { enabled: bool, ingestion_key: Option<String>, url: Option<String>, content: Option<bool>, }
    /// The Langfuse preset.
    Langfuse { enabled: bool, public_key: Option<String>, secret_key: Option<String>, host: Option<String>, content: Option<bool>, }
    /// How long things are kept; 0 = for ever.
    Retention { runs_days: u64, paused_days: u64, threads_days: u64, attachments_days: u64, }
    /// Sizes and numbers.
    Limits {
        body_kb: u64,
        graph_kb: u64,
        graph_nodes: u64,
        graph_edges: u64,
        definitions_kb: u64,
        state_kb: u64,
        run_log_kb: u64,
        event_value_kb: u64,
        stream_buffer_kb: u64,
        streams: u64,
        runs: u64,
        loop_max_steps: u64,
        fork_branches: u64,
        tool_result_kb: u64,
        answer_kb: u64,
        provider_wait_ms: u64,
    }
    /// Waits.
    Timeouts {
        model_ms: u64,
        model_idle_ms: u64,
        model_total_ms: u64,
        tool_ms: u64,
        webhook_ms: u64,
        run_seconds: u64,
        cancel_grace_ms: u64,
        shutdown_ms: u64,
    }
}

#[cfg(test)]
mod tests;
