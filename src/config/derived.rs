//! Owns the settings derived from the keys: flags, effective defaults, secrets, and the settings page.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Value, json};

use super::keys::{KEYS, Shown};
use super::{Config, Keys, Secret, Source};
use crate::model::address::without_credentials;

/// What is on, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are the flags of the contract")]
#[expect(clippy::struct_excessive_bools, reason = "flags are independent of each other")]
pub struct Flags {
    pub can_export: bool,
    pub can_preview: bool,
    pub can_import: bool,
    pub can_build_tools: bool,
    pub async_runs: bool,
    pub usage_export: bool,
    pub stream_adapters: bool,
    pub templates: bool,
}

impl Config {
    /// How long a model may be silent before its answer begins: as long as in it, unless its own key says otherwise.
    #[must_use]
    pub fn model_first_byte_ms(&self) -> u64 {
        if self.is_set("timeouts.model_ms") { self.timeouts.model_ms } else { self.timeouts.model_idle_ms }
    }

    /// The window of conversations, when somebody set it.
    #[must_use]
    pub fn own_context_window(&self) -> Option<u64> {
        self.is_set("chat_history_context_window").then_some(self.chat_history_context_window)
    }

    fn is_set(&self, wanted: &str) -> bool {
        self.origin.iter().any(|(key, _, source)| *key == wanted && *source != Source::Default)
    }
}

impl Keys {
    /// Everything is open for a developer.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.environment == "local"
    }

    /// Where days begin and clocks are read.
    #[must_use]
    pub fn time_zone(&self) -> TimeZone {
        time_zone(&self.timezone).unwrap_or(TimeZone::UTC)
    }

    /// What is on.
    #[must_use]
    pub const fn flags(&self) -> Flags {
        let codegen = &self.codegen;
        Flags {
            can_export: codegen.enabled && codegen.export,
            can_preview: codegen.enabled && codegen.preview,
            can_import: codegen.enabled,
            can_build_tools: self.allow_builder_tools,
            async_runs: self.async_runs_enabled,
            usage_export: self.usage.export.enabled,
            stream_adapters: self.stream_adapters.enabled,
            templates: self.templates_enabled,
        }
    }

    /// Where the usage export is mounted.
    #[must_use]
    pub fn usage_export_prefix(&self) -> &str {
        self.usage.export.route_prefix.as_deref().unwrap_or(&self.stream_adapters.route_prefix)
    }

    /// What the host runs before the usage export.
    #[must_use]
    pub fn usage_export_middleware(&self) -> &[String] {
        self.usage.export.middleware.as_deref().unwrap_or(&self.stream_adapters.middleware)
    }

    /// The database's file; none when it is in memory or on a server.
    #[must_use]
    pub fn database_file(&self) -> Option<&Path> {
        let path = match self.database.url.as_deref() {
            Some(url) => url.strip_prefix("sqlite:")?,
            None => &self.database.path,
        };
        (path != ":memory:").then(|| Path::new(path))
    }

    /// Whether the queue is in the main database, whatever the spelling.
    #[must_use]
    pub fn queues_in_database(&self) -> bool {
        let file = |path: &str| format!("sqlite:{path}");
        let main = self.database.url.clone().unwrap_or_else(|| file(&self.database.path));
        self.queue_connection.as_ref().is_none_or(|queue| *queue == main)
    }

    /// Where uploaded files are kept; none = in the database.
    #[must_use]
    pub fn attachments_folder(&self) -> Option<PathBuf> {
        let on_a_server = self.database.url.as_deref().is_some_and(|url| !url.starts_with("sqlite:"));
        match self.attachments.path.as_deref().filter(|_| !on_a_server) {
            Some("") => None,
            Some(path) => Some(PathBuf::from(path)),
            None => self.database_file().map(|file| file.with_file_name("attachments")),
        }
    }
}

impl Config {
    /// The value of a secret: from `secrets`, else the environment. The host is asked before, by others.
    #[must_use]
    pub fn secret(&self, name: &str) -> Option<Secret> {
        let found = self.secrets.get(name).or_else(|| self.environment.get(name));
        found.filter(|value| !value.is_empty()).map(|value| Secret(value.as_str().into()))
    }

    /// Variables that are named like ours and that nothing reads.
    #[must_use]
    pub fn unknown_variables(&self) -> Vec<String> {
        let read = |name: &str| KEYS.iter().any(|key| key.variable == name) || self.names_secret(name);
        self.environment.keys().filter(|name| name.starts_with("STUDIO_") && !read(name)).cloned().collect()
    }

    /// The variable that somebody may have meant who wrote another: one begins like the other.
    #[must_use]
    pub fn meant(unknown: &str) -> Option<&'static str> {
        let alike = |name: &&str| !name.is_empty() && (unknown.starts_with(*name) || name.starts_with(unknown));
        KEYS.iter().map(|key| key.variable).filter(alike).min_by_key(|name| name.len().abs_diff(unknown.len()))
    }

    /// A provider takes its credential from this variable.
    fn names_secret(&self, variable: &str) -> bool {
        self.providers.keys().any(|provider| self.secrets_of(provider).iter().any(|name| name == variable))
    }

    /// The name of the secret that a provider uses.
    #[must_use]
    pub fn credential_of(&self, provider: &str) -> Option<String> {
        if let Some(configured) = self.providers.get(provider).and_then(|provider| provider.credential.as_deref()) {
            return configured.strip_prefix("secret:").map(str::to_owned);
        }
        if self.providers.get(provider).is_some_and(|provider| provider.access_key_id.is_some()) {
            return None;
        }
        let name = match provider {
            "openai" | "openai-responses" => "OPENAI_API_KEY",
            "anthropic" => "ANTHROPIC_API_KEY",
            "gemini" => "GEMINI_API_KEY",
            "mistral" => "MISTRAL_API_KEY",
            "cohere" => "COHERE_API_KEY",
            "deepseek" => "DEEPSEEK_API_KEY",
            "xai" => "XAI_API_KEY",
            "groq" => "GROQ_API_KEY",
            "openrouter" => "OPENROUTER_API_KEY",
            "azure-openai" => "AZURE_OPENAI_API_KEY",
            "voyage" => "VOYAGE_API_KEY",
            "jina" => "JINA_API_KEY",
            "bedrock" => "AWS_BEARER_TOKEN_BEDROCK",
            "together" => "TOGETHER_API_KEY",
            "fireworks" => "FIREWORKS_API_KEY",
            "cerebras" => "CEREBRAS_API_KEY",
            "perplexity" => "PERPLEXITY_API_KEY",
            "huggingface" => "HF_TOKEN",
            "moonshot" => "MOONSHOT_API_KEY",
            "zai" => "ZAI_API_KEY",
            "nvidia" => "NVIDIA_API_KEY",
            _ => return None,
        };
        Some(name.to_owned())
    }

    /// The names of all secrets that a provider uses: its credential, or what its requests are signed with.
    #[must_use]
    pub fn secrets_of(&self, provider: &str) -> Vec<String> {
        let configured = self.providers.get(provider);
        let signing = configured.into_iter().flat_map(|provider| [&provider.access_key_id, &provider.secret_access_key, &provider.session_token]);
        let signing = signing.flatten().filter_map(|name| name.strip_prefix("secret:")).map(str::to_owned);
        self.credential_of(provider).into_iter().chain(signing).collect()
    }

    /// Provider and model where none is given; `resolves` says whether a secret has a value, the host's answer included.
    #[must_use]
    pub fn effective_default_model(&self, resolves: impl Fn(&str) -> bool) -> (String, String) {
        let openai = self.default_provider.is_none() && resolves("OPENAI_API_KEY");
        let provider = self.default_provider.clone().unwrap_or_else(|| (if openai { "openai" } else { "script" }).to_owned());
        let usual = match provider.as_str() {
            "script" => "demo",
            _ => "gpt-4o-mini",
        };
        let model = self.default_model.clone().unwrap_or_else(|| usual.to_owned());
        (provider, model)
    }

    /// Embeddings provider and model where none is given.
    #[must_use]
    pub fn effective_embeddings(&self, resolves: impl Fn(&str) -> bool) -> (String, String) {
        let openai = self.rag.embeddings_provider.is_none() && resolves("OPENAI_API_KEY");
        let provider =
            self.rag.embeddings_provider.clone().unwrap_or_else(|| (if openai { "openai" } else { "hash" }).to_owned());
        let usual = if provider == "hash" { "hash-256" } else { "text-embedding-3-small" };
        let model = self.rag.embeddings_model.clone().unwrap_or_else(|| usual.to_owned());
        (provider, model)
    }

    /// What `GET /api/settings` answers; never a secret.
    #[must_use]
    pub fn settings_json(&self) -> Value {
        let shown = |(key, (path, value, source)): (&super::keys::Key, &(&str, Value, super::Source))| {
            json!({"key": path, "value": shown_value(key.shown, value), "source": source.as_str(), "gates": key.gates})
        };
        let keys: Vec<Value> = KEYS.iter().zip(self.origin.iter()).map(shown).collect();
        json!({"flags": self.flags(), "keys": keys})
    }
}

fn shown_value(shown: Shown, value: &Value) -> Value {
    match (shown, value) {
        (Shown::Whole, Value::String(text)) => without_credentials(text).into(),
        (Shown::Whole, value) => value.clone(),
        (Shown::IsSet, Value::Null) => Value::Null,
        (Shown::IsSet, _) => json!("(set)"),
        (Shown::Names, Value::Object(fields)) => fields.keys().cloned().collect::<Vec<_>>().into(),
        (Shown::Names, _) => Value::Null,
    }
}

/// A time zone by name; UTC also where the system knows no time zones. Other names make the process look through all that it knows.
pub(crate) fn time_zone(name: &str) -> Option<TimeZone> {
    if matches!(name, "UTC" | "Etc/UTC") { Some(TimeZone::UTC) } else { TimeZone::get(name).ok() }
}

const SEGMENTS: &str = "path segments of letters, digits, `-`, `_`, `.`, without a slash at either end";

/// What the studio's paths begin with, `api` aside.
pub(crate) const ROUTES: [&str; 11] = [
    "agents", "assets", "knowledge", "knowledge-bases", "mcp", "settings", "templates", "tools", "traces", "usage", "workflows",
];

/// What a kind alone cannot say of a value.
pub(super) fn check(tree: &Value, problems: &mut Vec<(String, String)>) {
    let text = |pointer: &str| tree.pointer(pointer).and_then(Value::as_str);
    let mut refuse = |path: &str, why: &str| problems.push((path.to_owned(), why.to_owned()));
    if text("/table_prefix").is_some_and(|prefix| !is_table_prefix(prefix)) {
        refuse("table_prefix", "must match ^[a-z_][a-z0-9_]{0,30}$");
    }
    if text("/timezone").is_some_and(|name| time_zone(name).is_none()) {
        refuse("timezone", "must be the name of a time zone, such as `Europe/Lisbon`");
    }
    if text("/usage/currency").is_some_and(|code| code.len() != 3 || !code.bytes().all(|letter| letter.is_ascii_uppercase())) {
        refuse("usage.currency", "must be a currency code of three letters, such as `USD`");
    }
    if text("/database/durability") == Some("none") && tree.pointer("/usage/events/enabled") == Some(&Value::Bool(true)) {
        refuse("usage.events.enabled", "cannot be on while `database.durability` is `none`: what is not stored is never told to who bills; switch one of them");
    }
    if text("/base_url").is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
        refuse("base_url", "must begin with http:// or https://");
    }
    if text("/database/url").is_some_and(|url| !["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))) {
        refuse("database.url", "must begin with sqlite: or postgres://");
    }
    if text("/observability/otlp/endpoint").is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
        refuse("observability.otlp.endpoint", "must begin with http:// or https://");
    }
    let studio = text("/route_prefix").unwrap_or_default();
    if !studio.is_empty() && !is_route_prefix(studio) {
        refuse("route_prefix", &format!("must be {SEGMENTS}; or `/` for the root"));
    }
    for path in ["stream_adapters.route_prefix", "usage.export.route_prefix"] {
        let Some(prefix) = text(&format!("/{}", path.replace('.', "/"))) else { continue };
        if !is_route_prefix(prefix) {
            refuse(path, &format!("must be {SEGMENTS}"));
        } else if hides_routes(studio, prefix) {
            refuse(path, "would hide routes of the studio, which are below `route_prefix`; choose another prefix");
        }
    }
    let words = |name: &str| tree.pointer(&format!("/rag/{name}")).and_then(Value::as_u64);
    if words("chunk_overlap_words") >= words("chunk_max_words") {
        refuse("rag.chunk_overlap_words", "must be less than rag.chunk_max_words");
    }
    for name in tree.pointer("/secrets").and_then(Value::as_object).into_iter().flat_map(|secrets| secrets.keys()) {
        if !is_secret_name(name) {
            refuse("secrets", "must have names that match ^[A-Z][A-Z0-9_]{0,63}$");
        }
    }
    for (id, provider) in tree.pointer("/providers").and_then(Value::as_object).into_iter().flatten() {
        for key in ["credential", "access_key_id", "secret_access_key", "session_token"] {
            let named = provider.get(key).and_then(Value::as_str);
            if named.is_some_and(|text| !text.strip_prefix("secret:").is_some_and(is_secret_name)) {
                refuse(&format!("providers.{id}.{key}"), "must be secret:NAME; the value itself belongs into `secrets`");
            }
        }
    }
    for (slug, server) in tree.pointer("/mcp/servers").and_then(Value::as_object).into_iter().flatten() {
        if !server.is_object() {
            refuse(&format!("mcp.servers.{slug}"), "must be an object");
        }
    }
}

fn is_table_prefix(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    text.len() <= 31
        && text.starts_with(plain)
        && text.chars().all(|letter| plain(letter) || letter.is_ascii_digit())
}

fn is_route_prefix(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    text.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && part.chars().all(plain))
}

/// Would requests for the studio's own routes be taken for requests below this prefix?
fn hides_routes(studio: &str, prefix: &str) -> bool {
    let parts = |text: &'_ str| -> Vec<String> { text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect() };
    let (studio, prefix) = (parts(studio), parts(prefix));
    match prefix.strip_prefix(studio.as_slice()) {
        None => false,
        Some([]) => true,
        Some([first]) if first == "api" => true,
        Some([first, ..]) => ROUTES.contains(&first.as_str()),
    }
}

fn is_secret_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    text.len() <= 64 && text.starts_with(|letter: char| letter.is_ascii_uppercase()) && text.chars().all(plain)
}
