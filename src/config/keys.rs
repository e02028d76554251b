//! Owns the table of keys: variable, kind, default, what may be shown.

use serde_json::{Value, json};

/// What a value must be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Any text that is not empty.
    Text,
    /// Text that may be absent; an empty variable means absent.
    Maybe,
    /// A path that may be absent; an empty one means something else.
    Folder,
    /// What paths begin with; empty or `/` is the root, which a variable says as `/`.
    Mount,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// True or false.
    Switch,
    /// An integer within bounds.
    Count(u64, u64),
    /// A number from 0 to 1 that may be absent.
    Share,
    /// Texts; comma-separated in a variable.
    List,
    /// Texts that may be absent.
    MaybeList,
    /// Names with texts; `name=text,…` in a variable.
    Texts,
    /// An object that a part of the program reads.
    Object,
    /// An object that may be absent.
    MaybeObject,
}

/// What the settings show of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Whole,
    /// Whether it is set.
    IsSet,
    Names,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) path: &'static str,
    /// Its variable; empty when it has none.
    pub(super) variable: &'static str,
    pub(super) kind: Kind,
    pub(super) default: fn(&Context<'_>) -> Value,
    pub(super) shown: Shown,
    pub(super) gates: Option<&'static str>,
}

/// What a default may depend on.
pub(super) struct Context<'a> {
    pub(super) local: bool,
    pub(super) locale: &'a str,
    pub(super) export_path: Value,
}

/// Every JSON reader knows such a number exactly, and its milliseconds or bytes are a number too.
const MANY: u64 = 1 << 53;
const ANY: Kind = Kind::Count(0, MANY);
const SOME: Kind = Kind::Count(1, MANY);
const SMALL: Kind = Kind::Count(1, u32::MAX as u64);

macro_rules! keys {
    ($($path:literal $variable:literal $kind:expr, $default:expr $(, shown $shown:ident)? $(, gates $gates:literal)?;)*) => {
        /// Every key, in the order of the contract.
        pub(super) const KEYS: &[Key] = &[$(Key {
            path: $path,
            variable: $variable,
            kind: $kind,
            default: |context| { let _ = context; $default(context) },
            shown: keys!(@shown $($shown)?),
            gates: keys!(@gates $($gates)?),
        }),*];
    };
    (@shown) => { Shown::Whole };
    (@shown $shown:ident) => { Shown::$shown };
    (@gates) => { None };
    (@gates $gates:literal) => { Some($gates) };
}

/// A default that is always the same.
macro_rules! always {
    ($value:expr) => {
        |_: &Context<'_>| json!($value)
    };
}

const fn none(_: &Context<'_>) -> Value {
    Value::Null
}

const fn empty(_: &Context<'_>) -> Value {
    Value::Array(Vec::new())
}

fn unnamed(_: &Context<'_>) -> Value {
    json!({})
}

const fn only_local(context: &Context<'_>) -> Value {
    Value::Bool(context.local)
}

keys! {
    "environment" "STUDIO_ENV" Kind::Text, always!("production");
    "route_prefix" "STUDIO_ROUTE_PREFIX" Kind::Mount, always!("studio");
    "base_url" "STUDIO_BASE_URL" Kind::Maybe, none;
    "locale" "STUDIO_LOCALE" Kind::OneOf(&["en", "pt_BR"]), |context: &Context<'_>| json!(context.locale);
    "timezone" "STUDIO_TIMEZONE" Kind::Text, always!("UTC");
    "gate" "" Kind::Text, always!("viewStudio");
    "csrf.header" "" Kind::Maybe, none;
    "csrf.meta" "" Kind::Maybe, none;
    "database.path" "STUDIO_DATABASE" Kind::Text, always!("studio.sqlite");
    "database.url" "STUDIO_DATABASE_URL" Kind::Maybe, none, shown IsSet;
    "database.synchronous" "STUDIO_DATABASE_SYNCHRONOUS" Kind::OneOf(&["full", "normal"]), always!("full");
    "database.durability" "STUDIO_DATABASE_DURABILITY" Kind::OneOf(&["effect", "step", "none"]), always!("effect");
    "table_prefix" "STUDIO_TABLE_PREFIX" Kind::Text, always!("studio_");
    "default_provider" "STUDIO_DEFAULT_PROVIDER" Kind::Maybe, none;
    "default_model" "STUDIO_DEFAULT_MODEL" Kind::Maybe, none;
    "providers" "" Kind::Object, unnamed, shown Names;
    "chat_history_context_window" "STUDIO_CHAT_HISTORY_CONTEXT_WINDOW" Kind::Count(256, MANY), always!(150_000);
    "memory.summarizer.provider" "STUDIO_SUMMARIZER_PROVIDER" Kind::Maybe, none;
    "memory.summarizer.model" "STUDIO_SUMMARIZER_MODEL" Kind::Maybe, none;
    "async_runs_enabled" "STUDIO_ASYNC_RUNS_ENABLED" Kind::Switch, always!(false), gates "async run, resume and retry";
    "queue" "STUDIO_QUEUE" Kind::Text, always!("default");
    "queue_connection" "STUDIO_QUEUE_CONNECTION" Kind::Maybe, none, shown IsSet;
    "queue_tries" "STUDIO_QUEUE_TRIES" SMALL, always!(1);
    "queue_backoff" "STUDIO_QUEUE_BACKOFF" Kind::Count(0, 31_536_000), always!(30);
    "worker.in_process" "STUDIO_WORKER_IN_PROCESS" Kind::Switch, always!(true);
    "worker.concurrency" "STUDIO_WORKER_CONCURRENCY" SMALL, always!(64);
    "runs.lease_seconds" "STUDIO_RUN_LEASE_SECONDS" Kind::Count(1, 86_400), always!(30);
    "runs.max_takeovers" "STUDIO_RUN_MAX_TAKEOVERS" Kind::Count(0, u32::MAX as u64), always!(3);
    "async_progress.enabled" "STUDIO_ASYNC_PROGRESS_ENABLED" Kind::Switch, always!(true), gates "progress of async runs in tails";
    "async_progress.ttl" "STUDIO_ASYNC_PROGRESS_TTL" Kind::Count(0, 3_153_600_000), always!(3600);
    "async_progress.poll_ms" "STUDIO_ASYNC_PROGRESS_POLL_MS" Kind::Count(50, 3_600_000), always!(200);
    "sse.heartbeat_seconds" "STUDIO_SSE_HEARTBEAT_SECONDS" Kind::Count(1, 3600), always!(15);
    "sse.max_seconds" "STUDIO_SSE_MAX_SECONDS" Kind::Count(0, 31_536_000), always!(0);
    "parallel.concurrency" "STUDIO_PARALLEL_CONCURRENCY" SMALL, always!(8);
    "loop.default_max_steps" "STUDIO_LOOP_DEFAULT_MAX_STEPS" SMALL, always!(10);
    "loop.global_max_steps" "STUDIO_LOOP_GLOBAL_MAX_STEPS" SOME, always!(100_000);
    "checkpoints.enabled" "STUDIO_CHECKPOINTS_ENABLED" Kind::Switch, always!(true), gates "reuse of node results";
    "checkpoints.ttl" "STUDIO_CHECKPOINTS_TTL" Kind::Count(0, 3_153_600_000), always!(604_800);
    "usage.currency" "STUDIO_USAGE_CURRENCY" Kind::Text, always!("USD");
    "usage.prices" "" Kind::MaybeObject, none;
    "usage.prices_path" "STUDIO_USAGE_PRICES_PATH" Kind::Maybe, none;
    "usage.export.enabled" "STUDIO_USAGE_EXPORT_ENABLED" Kind::Switch, always!(true), gates "usage export";
    "usage.export.route_prefix" "STUDIO_USAGE_EXPORT_PREFIX" Kind::Maybe, none;
    "usage.export.middleware" "" Kind::MaybeList, none;
    "usage.events.enabled" "STUDIO_USAGE_EVENTS_ENABLED" Kind::Switch, always!(false), gates "usage events to the host";
    "stream_adapters.enabled" "STUDIO_STREAM_ADAPTERS_ENABLED" Kind::Switch, always!(true), gates "stream adapters";
    "stream_adapters.route_prefix" "STUDIO_STREAM_ADAPTERS_PREFIX" Kind::Text, always!("api/studio");
    "stream_adapters.middleware" "" Kind::List, always!(["api"]);
    "codegen.enabled" "STUDIO_CODEGEN_ENABLED" Kind::Switch, only_local, gates "code export, preview and import";
    "codegen.export" "STUDIO_CODEGEN_EXPORT" Kind::Switch, only_local, gates "code export";
    "codegen.preview" "STUDIO_CODEGEN_PREVIEW" Kind::Switch, only_local, gates "code preview";
    "codegen.target" "STUDIO_CODEGEN_TARGET" Kind::OneOf(&["php", "python", "typescript", "kotlin", "swift", "ruby", "rust"]), always!("php");
    "export_namespace" "STUDIO_EXPORT_NAMESPACE" Kind::Text, always!("App\\Studio");
    "export_path" "STUDIO_EXPORT_PATH" Kind::Text, always!("app/Studio");
    "workflow_scan_paths" "STUDIO_WORKFLOW_SCAN_PATHS" Kind::List, |context: &Context<'_>| json!([context.export_path]);
    "workflow_json_paths" "STUDIO_WORKFLOW_JSON_PATHS" Kind::List, always!(["workflows"]);
    "views_path" "STUDIO_VIEWS_PATH" Kind::Maybe, none;
    "allow_builder_tools" "STUDIO_ALLOW_BUILDER_TOOLS" Kind::Switch, only_local, gates "making and changing builder tools";
    "templates_enabled" "STUDIO_TEMPLATES_ENABLED" Kind::Switch, always!(true), gates "template discovery and install";
    "template_paths.agent" "STUDIO_TEMPLATE_PATHS_AGENT" Kind::List, empty;
    "template_paths.workflow" "STUDIO_TEMPLATE_PATHS_WORKFLOW" Kind::List, empty;
    "output_schemas" "" Kind::Object, unnamed, shown Names;
    "tools.toolkits" "STUDIO_TOOLKITS" Kind::List, always!(["calculator", "calendar", "demo"]);
    "tools.offered_max" "STUDIO_TOOLS_OFFERED_MAX" SMALL, always!(64);
    "webhook.allowed_hosts" "STUDIO_WEBHOOK_ALLOWED_HOSTS" Kind::List, always!(["*"]);
    "webhook.allow_private" "STUDIO_WEBHOOK_ALLOW_PRIVATE" Kind::List, empty;
    "mcp.servers" "" Kind::Object, unnamed, shown Names;
    "mcp.stdio_allowlist" "STUDIO_MCP_STDIO_ALLOWLIST" Kind::List, |context: &Context<'_>| {
        if context.local { json!(["npx", "node", "python3", "uvx"]) } else { json!([]) }
    };
    "mcp.env_allowlist" "STUDIO_MCP_ENV_ALLOWLIST" Kind::List, empty;
    "mcp.allow_private" "STUDIO_MCP_ALLOW_PRIVATE" Kind::List, empty;
    "mcp.connections" "STUDIO_MCP_CONNECTIONS" Kind::Count(1, 10_000), always!(256);
    "mcp.connections_per_tenant" "STUDIO_MCP_CONNECTIONS_PER_TENANT" Kind::Count(1, 10_000), always!(64);
    "rag.async_ingest" "STUDIO_RAG_ASYNC_INGEST" Kind::Switch, always!(true);
    "rag.embeddings_provider" "STUDIO_RAG_EMBEDDINGS_PROVIDER" Kind::Maybe, none;
    "rag.embeddings_model" "STUDIO_RAG_EMBEDDINGS_MODEL" Kind::Maybe, none;
    "rag.mode" "STUDIO_RAG_MODE" Kind::OneOf(&["hybrid", "vector", "text"]), always!("hybrid");
    "rag.top_k" "STUDIO_RAG_TOP_K" Kind::Count(1, 100), always!(5);
    "rag.threshold" "STUDIO_RAG_THRESHOLD" Kind::Share, none;
    "rag.chunk_max_words" "STUDIO_RAG_CHUNK_MAX_WORDS" SMALL, always!(200);
    "rag.chunk_overlap_words" "STUDIO_RAG_CHUNK_OVERLAP_WORDS" Kind::Count(0, u32::MAX as u64), always!(20);
    "rag.max_document_kb" "STUDIO_RAG_MAX_DOCUMENT_KB" SOME, always!(20_480);
    "rag.reader_seconds" "STUDIO_RAG_READER_SECONDS" Kind::Count(1, 3_600), always!(60);
    "rag.reader_mb" "STUDIO_RAG_READER_MB" Kind::Count(1, 65_536), always!(512);
    "rag.pgvector" "STUDIO_RAG_PGVECTOR" Kind::OneOf(&["auto", "always", "off"]), always!("auto");
    "attachments.path" "STUDIO_ATTACHMENTS_PATH" Kind::Folder, none;
    "attachments.max_size_kb" "STUDIO_ATTACHMENTS_MAX_SIZE_KB" SOME, always!(10_240);
    "tls.ca_file" "STUDIO_TLS_CA_FILE" Kind::Maybe, none;
    "observability.native_tracing" "STUDIO_NATIVE_TRACING" Kind::Switch, always!(true), gates "spans in traces";
    "observability.otlp.endpoint" "STUDIO_OTLP_ENDPOINT" Kind::Maybe, none;
    "observability.otlp.headers" "STUDIO_OTLP_HEADERS" Kind::Texts, unnamed, shown Names;
    "observability.otlp.content" "STUDIO_OTLP_CONTENT" Kind::Switch, always!(false), gates "prompts and answers in OTLP";
    "observability.otlp.metrics" "STUDIO_OTLP_METRICS" Kind::Switch, always!(true), gates "metrics in OTLP";
    "observability.inspector.enabled" "STUDIO_INSPECTOR_ENABLED" Kind::Switch, always!(false), gates "Inspector";
    "observability.inspector.ingestion_key" "INSPECTOR_INGESTION_KEY" Kind::Maybe, none, shown IsSet;
    "observability.inspector.url" "INSPECTOR_URL" Kind::Maybe, none;
    "observability.inspector.content" "STUDIO_INSPECTOR_CONTENT" Kind::Switch, none;
    "observability.langfuse.enabled" "STUDIO_LANGFUSE_ENABLED" Kind::Switch, always!(false), gates "Langfuse";
    "observability.langfuse.public_key" "LANGFUSE_PUBLIC_KEY" Kind::Maybe, none, shown IsSet;
    "observability.langfuse.secret_key" "LANGFUSE_SECRET_KEY" Kind::Maybe, none, shown IsSet;
    "observability.langfuse.host" "LANGFUSE_HOST" Kind::Maybe, none;
    "observability.langfuse.content" "STUDIO_LANGFUSE_CONTENT" Kind::Switch, none;
    "observability.propagate" "STUDIO_PROPAGATE" Kind::OneOf(&["all", "tools", "none"]), always!("all");
    "observability.redact" "STUDIO_REDACT" Kind::List, empty;
    "retention.runs_days" "STUDIO_RETENTION_RUNS_DAYS" Kind::Count(0, 36_500), always!(0);
    "retention.paused_days" "STUDIO_RETENTION_PAUSED_DAYS" Kind::Count(0, 36_500), always!(0);
    "retention.threads_days" "STUDIO_RETENTION_THREADS_DAYS" Kind::Count(0, 36_500), always!(0);
    "retention.attachments_days" "STUDIO_RETENTION_ATTACHMENTS_DAYS" Kind::Count(0, 36_500), always!(0);
    "limits.body_kb" "STUDIO_LIMITS_BODY_KB" SOME, always!(2048);
    "limits.graph_kb" "STUDIO_LIMITS_GRAPH_KB" SOME, always!(1024);
    "limits.graph_nodes" "STUDIO_LIMITS_GRAPH_NODES" SOME, always!(500);
    "limits.graph_edges" "STUDIO_LIMITS_GRAPH_EDGES" SOME, always!(2000);
    "limits.definitions_kb" "STUDIO_LIMITS_DEFINITIONS_KB" SOME, always!(16_384);
    "limits.state_kb" "STUDIO_LIMITS_STATE_KB" SOME, always!(4096);
    "limits.run_log_kb" "STUDIO_LIMITS_RUN_LOG_KB" SOME, always!(262_144);
    "limits.event_value_kb" "STUDIO_LIMITS_EVENT_VALUE_KB" SOME, always!(64);
    "limits.stream_buffer_kb" "STUDIO_LIMITS_STREAM_BUFFER_KB" SOME, always!(1024);
    "limits.streams" "STUDIO_LIMITS_STREAMS" SOME, always!(10_000);
    "limits.runs" "STUDIO_LIMITS_RUNS" SOME, always!(10_000);
    "limits.loop_max_steps" "STUDIO_LIMITS_LOOP_MAX_STEPS" SOME, always!(10_000);
    "limits.fork_branches" "STUDIO_LIMITS_FORK_BRANCHES" SOME, always!(256);
    "limits.tool_result_kb" "STUDIO_LIMITS_TOOL_RESULT_KB" SOME, always!(256);
    "limits.answer_kb" "STUDIO_LIMITS_ANSWER_KB" Kind::Count(1, 4_194_304), always!(32_768);
    "limits.provider_wait_ms" "STUDIO_LIMITS_PROVIDER_WAIT_MS" ANY, always!(60_000);
    "timeouts.model_ms" "STUDIO_TIMEOUTS_MODEL_MS" SOME, always!(300_000);
    "timeouts.model_idle_ms" "STUDIO_TIMEOUTS_MODEL_IDLE_MS" SOME, always!(300_000);
    "timeouts.model_total_ms" "STUDIO_TIMEOUTS_MODEL_TOTAL_MS" SOME, always!(900_000);
    "timeouts.tool_ms" "STUDIO_TIMEOUTS_TOOL_MS" SOME, always!(30_000);
    "timeouts.webhook_ms" "STUDIO_TIMEOUTS_WEBHOOK_MS" SOME, always!(15_000);
    "timeouts.run_seconds" "STUDIO_TIMEOUTS_RUN_SECONDS" SOME, always!(3600);
    "timeouts.cancel_grace_ms" "STUDIO_TIMEOUTS_CANCEL_GRACE_MS" ANY, always!(2000);
    "timeouts.shutdown_ms" "STUDIO_TIMEOUTS_SHUTDOWN_MS" ANY, always!(10_000);
    "secrets" "" Kind::Texts, unnamed, shown Names;
}
