//! Owns the known providers: how an id becomes a provider, and the one door to all of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::hash::Hash;
use super::host::HostModels;
use super::openai::OpenAi;
use super::openai::dialect::Dialect;
use super::outbound::{Outbound, Patience};
use super::script::Scripts;
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure, Secret};
use crate::host::HostDoor;
use crate::model::event::{Fault, FaultCode};
use crate::secrets::{PREFIX, Secrets};

/// What the configuration says of one provider (`providers.<id>.*`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the keys of the configuration")]
pub struct ProviderSettings {
    pub kind: Option<String>,
    pub base_url: Option<String>,
    pub credential: Option<String>,
    pub headers: BTreeMap<String, String>,
    pub models: Vec<Value>,
    pub timeout_ms: Option<u64>,
    pub max_retries: Option<u32>,
    pub api_version: Option<String>,
    pub scripts: Map<String, Value>,
}

/// How long providers may take unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub struct ModelLimits {
    /// `timeouts.model_ms`.
    pub first_byte: Duration,
    /// `timeouts.model_idle_ms`.
    pub idle: Duration,
}

/// The kinds of providers that there are. A wire family is a file of its own and a row here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    OpenAi,
    Script,
    Hash,
    Host,
}

/// A provider that is known by itself: id, label, family, credential variable, base URL.
struct Known(&'static str, &'static str, Family, &'static str, &'static str);

const KNOWN: [Known; 10] = [
    Known("openai", "OpenAI", Family::OpenAi, "OPENAI_API_KEY", "https://api.openai.com/v1"),
    Known("azure-openai", "Azure OpenAI", Family::OpenAi, "AZURE_OPENAI_API_KEY", ""),
    Known("mistral", "Mistral", Family::OpenAi, "MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    Known("deepseek", "DeepSeek", Family::OpenAi, "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    Known("xai", "xAI", Family::OpenAi, "XAI_API_KEY", "https://api.x.ai/v1"),
    Known("groq", "Groq", Family::OpenAi, "GROQ_API_KEY", "https://api.groq.com/openai/v1"),
    Known("openrouter", "OpenRouter", Family::OpenAi, "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    Known("voyage", "Voyage", Family::OpenAi, "VOYAGE_API_KEY", "https://api.voyageai.com/v1"),
    Known("script", "Script", Family::Script, "", ""),
    Known("hash", "Hash", Family::Hash, "", ""),
];

fn known(id: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.0 == id)
}

/// A provider with what it needs before it can be asked.
struct Entry {
    family: Family,
    dialect: String,
    base_url: String,
    credential: Option<String>,
    patience: Patience,
    settings: ProviderSettings,
}

/// All providers.
pub struct Providers {
    entries: BTreeMap<String, Entry>,
    scripts: Scripts,
    outbound: Arc<Outbound>,
    host: HostDoor,
    secrets: Secrets,
}

impl Providers {
    /// The known providers and the configured ones.
    ///
    /// # Errors
    /// What is wrong with the configuration, one sentence each.
    pub fn new(
        configured: &BTreeMap<String, ProviderSettings>,
        limits: ModelLimits,
        outbound: Arc<Outbound>,
        host: HostDoor,
        secrets: Secrets,
    ) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut entries = BTreeMap::new();
        let ids = KNOWN.iter().map(|known| known.0).chain(configured.keys().map(String::as_str));
        for id in ids {
            match Entry::new(id, configured.get(id).cloned().unwrap_or_default(), limits) {
                Ok(entry) => {
                    entries.insert(id.to_owned(), entry);
                }
                Err(problem) => problems.push(problem),
            }
        }
        let script = configured.get("script").map(|script| script.scripts.clone()).unwrap_or_default();
        let scripts = Scripts::parse(&script).unwrap_or_else(|problem| {
            problems.push(problem);
            Scripts::default()
        });
        if problems.is_empty() { Ok(Self { entries, scripts, outbound, host, secrets }) } else { Err(problems) }
    }

    /// Makes one model call.
    ///
    /// # Errors
    /// The provider is unknown, its credential missing, or it failed.
    pub async fn chat(&self, provider: &str, mut request: ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
        let entry = self.entry(provider)?;
        let name = request.credential_name.as_ref().or(entry.credential.as_ref());
        request.credential = self.credential(name, &request.asker.tenant).await?;
        let ready = self.ready(provider, entry, &request.asker.tenant).await?;
        let answer = ready.provider().chat(&request, deltas).await;
        answer.map_err(|failure| masked(failure, request.credential.as_ref()))
    }

    /// Embeds texts.
    ///
    /// # Errors
    /// As `chat`.
    pub async fn embed(&self, provider: &str, mut request: EmbedRequest) -> Result<Embeddings, ProviderFailure> {
        let entry = self.entry(provider)?;
        request.credential = self.credential(entry.credential.as_ref(), &request.tenant).await?;
        let ready = self.ready(provider, entry, &request.tenant).await?;
        let answer = ready.provider().embed(&request).await;
        answer.map_err(|failure| masked(failure, request.credential.as_ref()))
    }

    /// The ids of all providers, with their labels.
    pub fn list(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.keys().map(|id| (id.as_str(), known(id).map_or(id.as_str(), |known| known.1)))
    }

    /// Everything that the provider needs is set.
    pub async fn is_configured(&self, provider: &str, tenant: &str) -> bool {
        let Ok(entry) = self.entry(provider) else { return false };
        if entry.family == Family::OpenAi && entry.base_url.is_empty() {
            return false;
        }
        match &entry.credential {
            Some(name) => self.secrets.find(name, tenant).await.is_some(),
            None => true,
        }
    }

    fn entry(&self, provider: &str) -> Result<&Entry, ProviderFailure> {
        self.entries.get(provider).ok_or_else(|| {
            let text = format!("there is no provider `{provider}`; configure `providers.{provider}`");
            ProviderFailure::new(FaultCode::ProviderBadRequest, text)
        })
    }

    async fn credential(&self, name: Option<&String>, tenant: &str) -> Result<Option<Secret>, ProviderFailure> {
        let Some(name) = name else { return Ok(None) };
        self.secrets.get(name, tenant).await.map(Some).map_err(failure)
    }

    async fn ready<'a>(&'a self, id: &str, entry: &'a Entry, tenant: &str) -> Result<Ready<'a>, ProviderFailure> {
        Ok(match entry.family {
            Family::Script => Ready::Borrowed(&self.scripts),
            Family::Hash => Ready::Borrowed(&Hash),
            Family::Host => {
                Ready::Owned(Box::new(HostModels { id: id.to_owned(), door: self.host.clone(), patience: entry.patience }))
            }
            Family::OpenAi => Ready::Owned(Box::new(OpenAi {
                base_url: entry.base_url(id)?,
                dialect: entry.dialect(),
                headers: self.headers(entry, tenant).await?,
                patience: entry.patience,
                outbound: self.outbound.clone(),
            })),
        })
    }

    async fn headers(&self, entry: &Entry, tenant: &str) -> Result<Vec<(HeaderName, HeaderValue)>, ProviderFailure> {
        let mut headers = Vec::new();
        for (name, value) in &entry.settings.headers {
            let secret = if value.starts_with(PREFIX) { Some(self.secrets.get(value, tenant).await.map_err(failure)?) } else { None };
            let text = secret.as_ref().map_or(value.as_str(), |secret| &secret.0);
            let header = HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::from_str(text).ok());
            let Some((name, mut value)) = header else {
                let text = format!("the configured header `{name}` is not valid");
                return Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text));
            };
            value.set_sensitive(secret.is_some());
            headers.push((name, value));
        }
        Ok(headers)
    }
}

enum Ready<'a> {
    Borrowed(&'a dyn Provider),
    Owned(Box<dyn Provider>),
}

impl Ready<'_> {
    fn provider(&self) -> &dyn Provider {
        match self {
            Ready::Borrowed(provider) => *provider,
            Ready::Owned(provider) => provider.as_ref(),
        }
    }
}

impl Entry {
    fn new(id: &str, settings: ProviderSettings, limits: ModelLimits) -> Result<Self, String> {
        let kind = settings.kind.as_deref().unwrap_or(id);
        let known = known(kind);
        let family = match (kind, known) {
            (_, Some(known)) => known.2,
            ("host", None) => Family::Host,
            ("openai-compatible", None) => Family::OpenAi,
            (kind, None) => return Err(format!("providers.{id}.kind: `{kind}` is no kind of provider")),
        };
        let variable = known.map(|known| known.3).filter(|variable| !variable.is_empty());
        let credential = settings.credential.clone().or_else(|| variable.map(|name| format!("{PREFIX}{name}")));
        let base_url = settings.base_url.clone().or_else(|| known.map(|known| known.4.to_owned())).unwrap_or_default();
        let first_byte = settings.timeout_ms.map_or(limits.first_byte, Duration::from_millis);
        let patience = Patience { first_byte, idle: limits.idle, retries: settings.max_retries.unwrap_or(2) };
        Ok(Self { family, dialect: kind.to_owned(), base_url, credential, patience, settings })
    }

    fn base_url(&self, id: &str) -> Result<String, ProviderFailure> {
        if self.base_url.is_empty() {
            let text = format!("`providers.{id}.base_url` is not set");
            return Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text));
        }
        Ok(self.base_url.clone())
    }

    fn dialect(&self) -> Dialect {
        let mut dialect = Dialect::of(&self.dialect);
        if let Some(azure) = &mut dialect.azure {
            azure.api_version = self.settings.api_version.clone().unwrap_or_else(|| "2024-10-21".into());
            let named = self.settings.models.iter().filter_map(|model| {
                Some((model.get("id")?.as_str()?.to_owned(), model.get("deployment")?.as_str()?.to_owned()))
            });
            azure.deployments = named.collect();
        }
        dialect
    }
}

const fn failure(fault: Fault) -> ProviderFailure {
    ProviderFailure { fault, tokens: None }
}

/// Providers repeat keys in their error texts.
fn masked(mut failure: ProviderFailure, credential: Option<&Secret>) -> ProviderFailure {
    if let Some(secret) = credential.filter(|secret| !secret.0.is_empty()) {
        failure.fault.message = failure.fault.message.replace(&*secret.0, "***");
    }
    failure
}
