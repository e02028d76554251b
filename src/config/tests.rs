//! Tests of the configuration against a list of the contract's keys written here a second time.

use std::collections::BTreeMap;

use expect_test::expect;
use serde_json::{Value, json};

use super::keys::KEYS;
use super::{Config, ConfigSources, Durability, Synchronous};

/// Key, variable, default (JSON), value of the variable, what it gives (JSON). `-` = no variable.
const CONTRACT: &str = r#"
environment|STUDIO_ENV|"production"|staging|"staging"
route_prefix|STUDIO_ROUTE_PREFIX|"studio"|tools/ai|"tools/ai"
base_url|STUDIO_BASE_URL|null|https://a.example|"https://a.example"
locale|STUDIO_LOCALE|"en"|pt_BR|"pt_BR"
timezone|STUDIO_TIMEZONE|"UTC"|Etc/UTC|"Etc/UTC"
gate|-|"viewStudio"
csrf.header|-|null
csrf.meta|-|null
database.path|STUDIO_DATABASE|"studio.sqlite"|/x/y.db|"/x/y.db"
database.url|STUDIO_DATABASE_URL|null|sqlite:a.db|"sqlite:a.db"
database.synchronous|STUDIO_DATABASE_SYNCHRONOUS|"full"|normal|"normal"
database.durability|STUDIO_DATABASE_DURABILITY|"effect"|step|"step"
table_prefix|STUDIO_TABLE_PREFIX|"studio_"|ai_|"ai_"
default_provider|STUDIO_DEFAULT_PROVIDER|null|ollama|"ollama"
default_model|STUDIO_DEFAULT_MODEL|null|llama|"llama"
providers|-|{}
chat_history_context_window|STUDIO_CHAT_HISTORY_CONTEXT_WINDOW|150000|9000|9000
memory.summarizer.provider|STUDIO_SUMMARIZER_PROVIDER|null|openai|"openai"
memory.summarizer.model|STUDIO_SUMMARIZER_MODEL|null|small|"small"
async_runs_enabled|STUDIO_ASYNC_RUNS_ENABLED|false|yes|true
queue|STUDIO_QUEUE|"default"|slow|"slow"
queue_connection|STUDIO_QUEUE_CONNECTION|null|sqlite:q.db|"sqlite:q.db"
queue_tries|STUDIO_QUEUE_TRIES|1|3|3
queue_backoff|STUDIO_QUEUE_BACKOFF|30|0|0
worker.in_process|STUDIO_WORKER_IN_PROCESS|true|off|false
worker.concurrency|STUDIO_WORKER_CONCURRENCY|64|2|2
runs.lease_seconds|STUDIO_RUN_LEASE_SECONDS|30|5|5
runs.max_takeovers|STUDIO_RUN_MAX_TAKEOVERS|3|9|9
async_progress.enabled|STUDIO_ASYNC_PROGRESS_ENABLED|true|0|false
async_progress.ttl|STUDIO_ASYNC_PROGRESS_TTL|3600|60|60
async_progress.poll_ms|STUDIO_ASYNC_PROGRESS_POLL_MS|200|50|50
sse.heartbeat_seconds|STUDIO_SSE_HEARTBEAT_SECONDS|15|3|3
sse.max_seconds|STUDIO_SSE_MAX_SECONDS|0|25|25
parallel.concurrency|STUDIO_PARALLEL_CONCURRENCY|8|1|1
loop.default_max_steps|STUDIO_LOOP_DEFAULT_MAX_STEPS|10|20|20
loop.global_max_steps|STUDIO_LOOP_GLOBAL_MAX_STEPS|100000|5|5
checkpoints.enabled|STUDIO_CHECKPOINTS_ENABLED|true|FALSE|false
checkpoints.ttl|STUDIO_CHECKPOINTS_TTL|604800|0|0
usage.currency|STUDIO_USAGE_CURRENCY|"USD"|EUR|"EUR"
usage.prices|-|null
usage.prices_path|STUDIO_USAGE_PRICES_PATH|null|p.json|"p.json"
usage.export.enabled|STUDIO_USAGE_EXPORT_ENABLED|true|no|false
usage.export.route_prefix|STUDIO_USAGE_EXPORT_PREFIX|null|api/u|"api/u"
usage.export.middleware|-|null
usage.events.enabled|STUDIO_USAGE_EVENTS_ENABLED|false|on|true
stream_adapters.enabled|STUDIO_STREAM_ADAPTERS_ENABLED|true|false|false
stream_adapters.route_prefix|STUDIO_STREAM_ADAPTERS_PREFIX|"api/studio"|x|"x"
stream_adapters.middleware|-|["api"]
codegen.enabled|STUDIO_CODEGEN_ENABLED|false|1|true
codegen.export|STUDIO_CODEGEN_EXPORT|false|1|true
codegen.preview|STUDIO_CODEGEN_PREVIEW|false|1|true
codegen.target|STUDIO_CODEGEN_TARGET|"php"|python|"python"
export_namespace|STUDIO_EXPORT_NAMESPACE|"App\\Studio"|X|"X"
export_path|STUDIO_EXPORT_PATH|"app/Studio"|out|"out"
workflow_scan_paths|STUDIO_WORKFLOW_SCAN_PATHS|["app/Studio"]|a, b|["a","b"]
workflow_json_paths|STUDIO_WORKFLOW_JSON_PATHS|["workflows"]|w|["w"]
views_path|STUDIO_VIEWS_PATH|null|studio/views|"studio/views"
allow_builder_tools|STUDIO_ALLOW_BUILDER_TOOLS|false|true|true
templates_enabled|STUDIO_TEMPLATES_ENABLED|true|false|false
template_paths.agent|STUDIO_TEMPLATE_PATHS_AGENT|[]|a|["a"]
template_paths.workflow|STUDIO_TEMPLATE_PATHS_WORKFLOW|[]|a,,b|["a","b"]
output_schemas|-|{}
tools.toolkits|STUDIO_TOOLKITS|["calculator","calendar","demo"]||[]
tools.offered_max|STUDIO_TOOLS_OFFERED_MAX|64|10|10
webhook.allowed_hosts|STUDIO_WEBHOOK_ALLOWED_HOSTS|["*"]|a.example|["a.example"]
webhook.allow_private|STUDIO_WEBHOOK_ALLOW_PRIVATE|[]|10.0.0.0/8|["10.0.0.0/8"]
mcp.servers|-|{}
mcp.stdio_allowlist|STUDIO_MCP_STDIO_ALLOWLIST|[]|npx|["npx"]
mcp.env_allowlist|STUDIO_MCP_ENV_ALLOWLIST|[]|A_URL|["A_URL"]
mcp.allow_private|STUDIO_MCP_ALLOW_PRIVATE|[]|::1|["::1"]
mcp.connections|STUDIO_MCP_CONNECTIONS|256|9|9
mcp.connections_per_tenant|STUDIO_MCP_CONNECTIONS_PER_TENANT|64|9|9
rag.async_ingest|STUDIO_RAG_ASYNC_INGEST|true|no|false
rag.embeddings_provider|STUDIO_RAG_EMBEDDINGS_PROVIDER|null|hash|"hash"
rag.embeddings_model|STUDIO_RAG_EMBEDDINGS_MODEL|null|m|"m"
rag.mode|STUDIO_RAG_MODE|"hybrid"|text|"text"
rag.top_k|STUDIO_RAG_TOP_K|5|100|100
rag.threshold|STUDIO_RAG_THRESHOLD|null|0.5|0.5
rag.chunk_max_words|STUDIO_RAG_CHUNK_MAX_WORDS|200|90|90
rag.chunk_overlap_words|STUDIO_RAG_CHUNK_OVERLAP_WORDS|20|0|0
rag.max_document_kb|STUDIO_RAG_MAX_DOCUMENT_KB|20480|1|1
rag.reader_seconds|STUDIO_RAG_READER_SECONDS|60|5|5
rag.reader_mb|STUDIO_RAG_READER_MB|512|64|64
rag.pgvector|STUDIO_RAG_PGVECTOR|"auto"|off|"off"
attachments.path|STUDIO_ATTACHMENTS_PATH|null||""
attachments.max_size_kb|STUDIO_ATTACHMENTS_MAX_SIZE_KB|10240|7|7
tls.ca_file|STUDIO_TLS_CA_FILE|null|/etc/ca.pem|"/etc/ca.pem"
observability.native_tracing|STUDIO_NATIVE_TRACING|true|no|false
observability.otlp.endpoint|STUDIO_OTLP_ENDPOINT|null|http://x|"http://x"
observability.otlp.headers|STUDIO_OTLP_HEADERS|{}|a=1, b=x=y|{"a":"1","b":"x=y"}
observability.otlp.content|STUDIO_OTLP_CONTENT|false|yes|true
observability.otlp.metrics|STUDIO_OTLP_METRICS|true|no|false
observability.inspector.enabled|STUDIO_INSPECTOR_ENABLED|false|yes|true
observability.inspector.ingestion_key|INSPECTOR_INGESTION_KEY|null|k|"k"
observability.inspector.url|INSPECTOR_URL|null|u|"u"
observability.inspector.content|STUDIO_INSPECTOR_CONTENT|null|yes|true
observability.langfuse.enabled|STUDIO_LANGFUSE_ENABLED|false|yes|true
observability.langfuse.public_key|LANGFUSE_PUBLIC_KEY|null|k|"k"
observability.langfuse.secret_key|LANGFUSE_SECRET_KEY|null|k|"k"
observability.langfuse.host|LANGFUSE_HOST|null|h|"h"
observability.langfuse.content|STUDIO_LANGFUSE_CONTENT|null|no|false
observability.propagate|STUDIO_PROPAGATE|"all"|tools|"tools"
observability.redact|STUDIO_REDACT|[]|password,token|["password","token"]
retention.runs_days|STUDIO_RETENTION_RUNS_DAYS|0|1|1
retention.paused_days|STUDIO_RETENTION_PAUSED_DAYS|0|1|1
retention.threads_days|STUDIO_RETENTION_THREADS_DAYS|0|1|1
retention.attachments_days|STUDIO_RETENTION_ATTACHMENTS_DAYS|0|1|1
limits.body_kb|STUDIO_LIMITS_BODY_KB|2048|1|1
limits.graph_kb|STUDIO_LIMITS_GRAPH_KB|1024|1|1
limits.graph_nodes|STUDIO_LIMITS_GRAPH_NODES|500|1|1
limits.graph_edges|STUDIO_LIMITS_GRAPH_EDGES|2000|1|1
limits.definitions_kb|STUDIO_LIMITS_DEFINITIONS_KB|16384|1|1
limits.state_kb|STUDIO_LIMITS_STATE_KB|4096|1|1
limits.run_log_kb|STUDIO_LIMITS_RUN_LOG_KB|262144|1|1
limits.event_value_kb|STUDIO_LIMITS_EVENT_VALUE_KB|64|1|1
limits.stream_buffer_kb|STUDIO_LIMITS_STREAM_BUFFER_KB|1024|1|1
limits.streams|STUDIO_LIMITS_STREAMS|10000|1|1
limits.runs|STUDIO_LIMITS_RUNS|10000|1|1
limits.loop_max_steps|STUDIO_LIMITS_LOOP_MAX_STEPS|10000|1|1
limits.fork_branches|STUDIO_LIMITS_FORK_BRANCHES|256|1|1
limits.tool_result_kb|STUDIO_LIMITS_TOOL_RESULT_KB|256|1|1
limits.answer_kb|STUDIO_LIMITS_ANSWER_KB|32768|1|1
limits.provider_wait_ms|STUDIO_LIMITS_PROVIDER_WAIT_MS|60000|1|1
timeouts.model_ms|STUDIO_TIMEOUTS_MODEL_MS|300000|1|1
timeouts.model_idle_ms|STUDIO_TIMEOUTS_MODEL_IDLE_MS|300000|1|1
timeouts.model_total_ms|STUDIO_TIMEOUTS_MODEL_TOTAL_MS|900000|1|1
timeouts.tool_ms|STUDIO_TIMEOUTS_TOOL_MS|30000|1|1
timeouts.webhook_ms|STUDIO_TIMEOUTS_WEBHOOK_MS|15000|1|1
timeouts.run_seconds|STUDIO_TIMEOUTS_RUN_SECONDS|3600|1|1
timeouts.cancel_grace_ms|STUDIO_TIMEOUTS_CANCEL_GRACE_MS|2000|1|1
timeouts.shutdown_ms|STUDIO_TIMEOUTS_SHUTDOWN_MS|10000|1|1
secrets|-|{}
"#;

fn rows() -> Vec<Vec<&'static str>> {
    CONTRACT.trim().lines().map(|line| line.split('|').collect()).collect()
}

fn with_env(name: &str, value: &str) -> Config {
    let env = BTreeMap::from([(name.to_owned(), value.to_owned())]);
    Config::load(ConfigSources { env, ..ConfigSources::default() }).unwrap()
}

/// What the typed fields hold for a dotted key.
fn value(config: &Config, path: &str) -> Value {
    let tree = serde_json::to_value(&*config.keys).unwrap();
    tree.pointer(&format!("/{}", path.replace('.', "/"))).unwrap_or(&Value::Null).clone()
}

fn refusal(json: Value) -> String {
    Config::with(json).err().map(|error| error.message).unwrap_or_default()
}

#[test]
fn every_key_has_the_default_of_the_contract() {
    let config = Config::load(ConfigSources::default()).unwrap();
    for row in rows() {
        assert_eq!(value(&config, row[0]), serde_json::from_str::<Value>(row[2]).unwrap(), "{}", row[0]);
    }
    let named: Vec<&str> = rows().iter().map(|row| row[0]).collect();
    assert_eq!(KEYS.iter().map(|key| key.path).collect::<Vec<_>>(), named);
}

#[test]
fn every_key_is_documented_with_its_variable_and_default() {
    let page = include_str!("../../docs/configuration.md");
    let config = Config::with(json!({})).unwrap();
    let plain = |text: &str| text.replace(' ', "");
    let written: Vec<String> = page.lines().map(plain).collect();
    let row = |key: &super::keys::Key| {
        let variable = if key.variable.is_empty() { "–".to_owned() } else { format!("`{}`", key.variable) };
        plain(&format!("| `{}` | {variable} | `{}` | ", key.path, value(&config, key.path)))
    };
    let wanted: Vec<String> = KEYS.iter().map(row).collect();
    let missing: Vec<&String> = wanted.iter().filter(|row| !written.iter().any(|line| line.starts_with(*row))).collect();
    assert!(missing.is_empty(), "docs/configuration.md lacks these rows: {missing:#?}");
    let known = |line: &&String| line.starts_with("|`") && !wanted.iter().any(|row| line.starts_with(row));
    let stale: Vec<&String> = written.iter().filter(known).collect();
    assert!(stale.is_empty(), "docs/configuration.md tells of what is not there: {stale:#?}");
}

#[test]
fn every_variable_sets_its_key() {
    for row in rows() {
        let key = KEYS.iter().find(|key| key.path == row[0]).unwrap();
        assert_eq!(key.variable, row[1].trim_matches('-'), "{}", row[0]);
        if row[1] != "-" {
            let config = with_env(row[1], row[3]);
            assert_eq!(value(&config, row[0]), serde_json::from_str::<Value>(row[4]).unwrap(), "{}", row[0]);
        }
    }
}

#[test]
fn later_sources_win_and_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("studio.toml");
    std::fs::write(&file, "queue = 'file'\nqueue_tries = 2\nqueue_backoff = 2\n[limits]\nbody_kb = 7\n").unwrap();
    let config = Config::load(ConfigSources {
        file: Some(file),
        json: Some(json!({"queue_tries": 3, "queue_backoff": 3})),
        env: BTreeMap::from([("STUDIO_QUEUE_BACKOFF".to_owned(), "4".to_owned())]),
    })
    .unwrap();
    assert_eq!((config.queue.as_str(), config.queue_tries, config.queue_backoff, config.limits.body_kb), ("file", 3, 4, 7));
    let settings = config.settings_json();
    let source = |key: &str| {
        let row = settings["keys"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap();
        row["source"].as_str().unwrap().to_owned()
    };
    assert_eq!(["queue", "queue_tries", "queue_backoff", "gate"].map(source), ["config", "config", "env", "default"]);
}

#[test]
fn a_file_that_cannot_be_read_is_told_without_its_text() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, place) in [
        ("studio.toml", "queue = 'q'\n[secrets]\nOPENAI_API_KEY = sk-live-1234\n", "line 3"),
        ("studio.toml", "[secrets]\nOPENAI_API_KEY = 'sk-live-1234\n", "line 2"),
        ("studio.json", "{\"secrets\": {\n\"OPENAI_API_KEY\": sk-live-1234}}", "line 2"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let error = Config::load(ConfigSources { file: Some(file), ..ConfigSources::default() }).unwrap_err();
        let told = format!("{} {error:?}", error.message);
        assert!(told.contains(place) && !told.contains("sk-live"), "{told}");
    }
}

#[test]
fn all_problems_are_listed_at_once() {
    let shown = refusal(json!({
        "queu": "x", "limits": {"body_kb": "big", "nope": 1}, "queue_tries": 0, "runs": 3, "rag": {"mode": "fuzzy"},
        "providers": {"openai": {"key": "sk-1"}}, "async_runs_enabled": "yes"
    }));
    expect![[r#"
        the configuration is refused: `queu` is not a known key; `limits.body_kb` must be an integer of at least 1; `limits.nope` is not a known key; `queue_tries` must be an integer from 1 to 4294967295; `runs` must be an object; `rag.mode` must be one of hybrid, vector, text; `providers` of `openai`: unknown field `key`, expected one of `kind`, `label`, `base_url`, `credential`, `headers`, `models`, `embeddings`, `timeout_ms`, `quirks`, `cache`, `max_retries`, `limits`, `api_version`, `region`, `access_key_id`, `secret_access_key`, `session_token`, `project`, `location`, `token_url`, `scripts`; `async_runs_enabled` must be true or false"#]]
    .assert_eq(&shown.replace("\n", ""));
}

#[test]
fn what_is_no_value_and_what_cannot_work_is_listed_together() {
    let shown = refusal(json!({
        "nope": 1, "timezone": "Mars/Base", "usage": {"currency": "usd", "export": {"route_prefix": "studio/x"}}, "route_prefix": 7,
        "rag": {"chunk_max_words": "many", "chunk_overlap_words": 300}, "providers": {"a": {"kynd": 1}, "b": {"zzz": 2}, "c": {"credential": "sk-123"}}
    }));
    for named in ["`nope`", "`timezone`", "`usage.currency`", "`route_prefix`", "`rag.chunk_max_words`", "of `a`: unknown field `kynd`", "of `b`: unknown field `zzz`"] {
        assert!(shown.contains(named), "{named}: {shown}");
    }
    // What these are held against was refused itself.
    assert!(!shown.contains("`rag.chunk_overlap_words`") && !shown.contains("`usage.export.route_prefix`"), "{shown}");
    assert!(refusal(json!({"nope": 1, "providers": {"c": {"credential": "sk-123"}}})).contains("`providers.c.credential`"));
}

#[test]
fn values_that_cannot_work_are_refused() {
    for (json, says) in [
        (json!({"table_prefix": "Studio"}), "table_prefix"),
        (json!({"table_prefix": "x; DROP TABLE"}), "table_prefix"),
        (json!({"timezone": "Mars/Base"}), "timezone"),
        (json!({"usage": {"currency": "dollars"}}), "usage.currency"),
        (json!({"base_url": "ftp://x"}), "base_url"),
        (json!({"database": {"url": "mysql://x"}}), "database.url"),
        (json!({"route_prefix": "/studio/"}), "route_prefix"),
        (json!({"route_prefix": "a/../b"}), "route_prefix"),
        (json!({"route_prefix": "//"}), "route_prefix"),
        (json!({"stream_adapters": {"route_prefix": "/"}}), "stream_adapters.route_prefix"),
        (json!({"stream_adapters": {"route_prefix": "studio"}}), "stream_adapters.route_prefix"),
        (json!({"usage": {"export": {"route_prefix": "studio"}}}), "usage.export.route_prefix"),
        (json!({"usage": {"export": {"route_prefix": "studio/api"}}}), "usage.export.route_prefix"),
        (json!({"usage": {"export": {"route_prefix": "studio/workflows/x"}}}), "usage.export.route_prefix"),
        (json!({"route_prefix": "", "usage": {"export": {"route_prefix": "usage"}}}), "usage.export.route_prefix"),
        (json!({"route_prefix": "/", "stream_adapters": {"route_prefix": "api"}}), "stream_adapters.route_prefix"),
        (json!({"rag": {"chunk_overlap_words": 200}}), "rag.chunk_overlap_words"),
        (json!({"secrets": {"lower": "x"}}), "secrets"),
        (json!({"providers": {"x": {"credential": "sk-123"}}}), "providers.x.credential"),
        (json!({"async_progress": {"poll_ms": 49}}), "async_progress.poll_ms"),
        (json!({"rag": {"threshold": 1.5}}), "rag.threshold"),
        (json!({"timeouts": {"run_seconds": (1_u64 << 53) + 1}}), "timeouts.run_seconds"),
        (json!({"limits": {"stream_buffer_kb": i64::MAX}}), "limits.stream_buffer_kb"),
    ] {
        let shown = refusal(json.clone());
        assert!(shown.contains(&format!("`{says}`")), "{json}: {shown}");
        assert!(!shown.contains("sk-123"), "a secret is never shown");
    }
}

#[test]
fn the_studio_may_be_mounted_at_the_root() {
    for root in ["", "/"] {
        let config = Config::with(json!({"route_prefix": root})).expect("a configuration");
        assert_eq!((config.route_prefix.as_str(), config.stream_adapters.route_prefix.as_str()), ("", "api/studio"));
    }
    let of_variable = |text: &str| {
        let env = [("STUDIO_ROUTE_PREFIX".to_owned(), text.to_owned())].into();
        Config::load(ConfigSources { env, ..ConfigSources::default() }).expect("a configuration").route_prefix.clone()
    };
    assert_eq!((of_variable("/").as_str(), of_variable("").as_str(), of_variable("ai").as_str()), ("", "studio", "ai"));
    for prefix in ["studios", "studio/export", "studio/api/export", "billing/usage"] {
        assert!(Config::with(json!({"usage": {"export": {"route_prefix": prefix}}})).is_ok(), "{prefix}");
    }
}

#[test]
fn variables_of_the_wrong_kind_are_refused_by_name_and_others_ignored() {
    let env = [("STUDIO_QUEUE_TRIES", "many"), ("STUDIO_WORKER_IN_PROCESS", "perhaps"), ("STUDIO_UNKNOWN", "1")];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let error = Config::load(ConfigSources { env, ..ConfigSources::default() }).unwrap_err();
    assert!(error.message.contains("STUDIO_QUEUE_TRIES") && error.message.contains("STUDIO_WORKER_IN_PROCESS"));
    assert!(!error.message.contains("STUDIO_UNKNOWN"));
}

#[test]
fn a_local_environment_opens_what_is_for_developers() {
    let local = Config::with(json!({"environment": "local"})).unwrap();
    assert!(local.codegen.enabled && local.codegen.export && local.codegen.preview && local.allow_builder_tools);
    assert_eq!(local.mcp.stdio_allowlist, ["npx", "node", "python3", "uvx"]);
    let flags = |config: &Config| serde_json::to_value(config.flags()).unwrap();
    assert_eq!(flags(&local)["canExport"], true);
    let off = Config::with(json!({"environment": "local", "codegen": {"enabled": false}})).unwrap();
    assert_eq!((flags(&off)["canExport"].clone(), flags(&off)["canImport"].clone()), (json!(false), json!(false)));
    expect![[r#"{"canExport":false,"canPreview":false,"canImport":false,"canBuildTools":false,"asyncRuns":false,"usageExport":true,"streamAdapters":true,"templates":true}"#]]
        .assert_eq(&flags(&Config::with(json!({})).unwrap()).to_string());
}

#[test]
fn the_settings_never_show_a_secret() {
    let config = Config::with(json!({
        "secrets": {"SHOP": "canary"}, "database": {"url": "postgres://me:canary@h/db"}, "queue_connection": "postgres://canary@h/db",
        "providers": {"x": {"kind": "openai-compatible", "headers": {"Authorization": "canary"}}},
        "mcp": {"servers": {"files": {"env": {"TOKEN": "canary"}}}},
        "observability": {"otlp": {"headers": {"auth": "canary"}}, "langfuse": {"secret_key": "canary"}, "inspector": {"ingestion_key": "canary"}}
    }))
    .unwrap();
    let shown = config.settings_json().to_string();
    assert!(!shown.contains("canary"), "{shown}");
    assert!(shown.contains(r#"{"key":"secrets","value":["SHOP"],"source":"config","gates":null}"#));
    assert!(shown.contains(r#"{"key":"async_runs_enabled","value":false,"source":"default","gates":"async run, resume and retry"}"#));
    assert_eq!(format!("{config:?}"), "Config");
}

#[test]
fn the_settings_show_no_credentials_of_addresses() {
    let config = Config::with(json!({
        "base_url": "https://me:canary@shop.example/app",
        "observability": {
            "otlp": {"endpoint": "https://canary@collector.example:4318/v1?api_key=canary&x=1"}, "langfuse": {"host": "https://me:canary@langfuse.example"},
            "inspector": {"url": "https://inspector.example/?token=canary#canary"},
        }
    }))
    .unwrap();
    let shown = config.settings_json().to_string();
    assert!(!shown.contains("canary"), "{shown}");
    for part in ["https://***@shop.example/app", "https://***@collector.example:4318/v1?api_key=***&x=1", "https://***@langfuse.example", "https://inspector.example/?token=***"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn defaults_that_depend_on_a_credential() {
    let config = Config::with(json!({})).unwrap();
    let pair = |pair: (String, String)| format!("{} {}", pair.0, pair.1);
    assert_eq!(pair(config.effective_default_model(|_| false)), "script demo");
    assert_eq!(pair(config.effective_default_model(|name| name == "OPENAI_API_KEY")), "openai gpt-4o-mini");
    assert_eq!(pair(config.effective_embeddings(|_| false)), "hash hash-256");
    assert_eq!(pair(config.effective_embeddings(|_| true)), "openai text-embedding-3-small");
    let config = with_env("OPENAI_API_KEY", "canary");
    assert_eq!(config.secret("OPENAI_API_KEY").map(|secret| secret.0.to_string()), Some("canary".to_owned()));
    assert!(config.secret("OTHER").is_none());
}

#[test]
fn the_queue_may_be_named_as_the_main_database_only() {
    let at = |json: Value| Config::with(json).unwrap().queues_in_database();
    assert!(at(json!({})));
    assert!(at(json!({"database": {"path": "/d/s.db"}, "queue_connection": "sqlite:/d/s.db"})));
    assert!(at(json!({"database": {"url": "postgres://h/d"}, "queue_connection": "postgres://h/d"})));
    assert!(!at(json!({"database": {"url": "postgres://h/d"}, "queue_connection": "postgres://h/q"})));
    assert!(!at(json!({"queue_connection": "sqlite:q.db"})));
}

#[test]
fn places_follow_from_the_database() {
    let at = |json: Value| Config::with(json).unwrap();
    let shown = |config: &Config| format!("{:?} {:?}", config.database_file(), config.attachments_folder());
    assert_eq!(shown(&at(json!({"database": {"path": "/d/s.db"}}))), r#"Some("/d/s.db") Some("/d/attachments")"#);
    assert_eq!(shown(&at(json!({"database": {"path": "/d/s.db", "url": "sqlite:/e/s.db"}}))), r#"Some("/e/s.db") Some("/e/attachments")"#);
    assert_eq!(shown(&at(json!({"database": {"path": ":memory:"}, "attachments": {"path": ""}}))), "None None");
    let config = at(json!({"database": {"synchronous": "normal", "durability": "step"}}));
    assert_eq!((config.database.synchronous, config.database.durability), (Synchronous::Normal, Durability::Step));
}

#[test]
fn a_variable_that_nothing_reads_is_set_right() {
    for (written, meant) in [
        ("STUDIO_ENVIRONMENT", Some("STUDIO_ENV")),
        ("STUDIO_DATABASE_PATH", Some("STUDIO_DATABASE")),
        ("STUDIO_LOCAL", Some("STUDIO_LOCALE")),
        ("STUDIO_COLOUR", None),
    ] {
        assert_eq!(Config::meant(written), meant, "{written}");
    }
}

#[test]
fn a_model_may_be_silent_before_its_answer_as_long_as_in_it_unless_told_otherwise() {
    for (timeouts, wanted) in [(json!({}), 300_000), (json!({"model_idle_ms": 5000}), 5000), (json!({"model_idle_ms": 5000, "model_ms": 9000}), 9000)] {
        let config = Config::with(json!({ "timeouts": timeouts })).expect("a configuration");
        assert_eq!(config.model_first_byte_ms(), wanted, "{timeouts}");
    }
}
