//! Owns the configured providers: the way from an id to a provider, and the entry point for all calls.

mod second_attempt;
mod clouds;
mod credential_masking;
mod known;
mod options;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use self::second_attempt::{Asked, Silent, ask};
use self::credential_masking::{Held, without_secrets};
use self::known::{Family, KNOWN, known};
use super::anthropic::Anthropic;
use super::bedrock::Bedrock;
use super::bedrock::sign::Keys;
use super::cohere::Cohere;
use super::prompt_cache_key::Conversation;
use super::gemini::Gemini;
use super::hash::Hash;
use super::host::HostModels;
use super::limits::{self, Gate, Key, Pass};
use super::ollama::Ollama;
use super::openai::OpenAi;
use super::openai::dialect::{Dialect, Structure};
use super::http_client::{Outbound, TimeLimits};
use super::responses::Responses;
use super::script::Scripts;
use super::strict::Mode;
use super::vertex::Vertex;
use super::vertex::token::Tokens;
use super::wire::Wire;
use super::{ChatReply, ChatRequest, Delta, Deltas, EmbedRequest, Embeddings, Made, NativeTool, Provider, ProviderFailure, Ranking, RerankRequest};
use super::{fitting, strict};
use crate::config::{CacheMode, Config, ModelConfig, ProviderConfig, Secret};
use crate::host::HostDoor;
use crate::model::Timestamp;
use crate::model::event::{FaultCode, Warning};
use crate::model::trace_context::TraceContext;
use crate::model::registry::{self as models, Cache, Facts, Structured};
use crate::secrets::masking::Masker;
use crate::secrets::{PREFIX, Secrets};

/// The interface of Azure whose paths name no deployments.
const AZURE_VERSION: &str = "v1";

/// A provider with what it needs before it can be asked.
struct Entry {
    family: Family,
    dialect: String,
    base_url: String,
    credential: Option<String>,
    time_limits: TimeLimits,
    gate: Arc<Gate>,
    /// Models and keys that summaries of thoughts were refused to.
    silent: Silent,
    /// Of Vertex AI: the tokens of its accounts.
    tokens: Tokens,
    settings: ProviderConfig,
    /// What is known of the models that the configuration names.
    models: BTreeMap<String, Arc<Facts>>,
}

/// All providers.
pub struct Providers {
    entries: BTreeMap<String, Entry>,
    scripts: Scripts,
    config: Arc<Config>,
    outbound: Arc<Outbound>,
    host: HostDoor,
    secrets: Secrets,
}

impl Providers {
    /// The known providers and the configured ones.
    ///
    /// # Errors
    /// What is wrong with the configuration, one sentence each.
    pub fn new(config: &Arc<Config>, outbound: Arc<Outbound>, host: HostDoor) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let mut entries = BTreeMap::new();
        for id in KNOWN.iter().map(|known| known.0).chain(config.providers.keys().map(String::as_str)) {
            match Entry::new(id, config) {
                Ok(entry) => {
                    entries.insert(id.to_owned(), entry);
                }
                Err(problem) => problems.push(problem),
            }
        }
        let script = config.providers.get("script").map(|script| script.scripts.clone()).unwrap_or_default();
        let scripts = Scripts::parse(&script).unwrap_or_else(|problem| {
            problems.push(problem);
            Scripts::default()
        });
        let secrets = Secrets::new(Arc::clone(config), host.clone());
        if problems.is_empty() { Ok(Self { entries, scripts, config: Arc::clone(config), outbound, host, secrets }) } else { Err(problems) }
    }

    /// Provider and model where none is given.
    pub async fn default_model(&self, tenant: &str) -> (String, String) {
        let key = self.secrets.find("OPENAI_API_KEY", tenant).await.is_some();
        self.config.effective_default_model(|name| name == "OPENAI_API_KEY" && key)
    }

    /// The provider of an id. Its credential is looked up when it is asked.
    pub fn get<'a>(&'a self, provider: &'a str) -> Result<Named<'a>, ProviderFailure> {
        Ok(Named { all: self, id: provider, entry: self.entry(provider)? })
    }

    /// Whether its answers are asked for as streams.
    pub fn streams(&self, provider: &str) -> bool {
        self.entries.get(provider).and_then(|entry| entry.settings.quirks.stream).unwrap_or(true)
    }

    /// Adapts a request to its model, and returns each change as a warning.
    pub fn fit(&self, provider: &str, request: &mut ChatRequest, conversation: &Conversation<'_>, now: Timestamp) -> Vec<Warning> {
        let Some(entry) = self.entries.get(provider) else { return Vec::new() };
        let facts = entry.sent_facts(&request.model);
        let mut warnings = fitting::fit(request, &facts, now);
        if let Some(carries) = entry.carries(&request.model) {
            fitting::carried(request, &facts, carries, &mut warnings);
        }
        if let Some(version) = entry.version_of_anthropic(&request.model, &facts) {
            fitting::fit_thoughts(request, &facts, entry.begins_with_thought(), &mut warnings);
            fitting::fit_anthropic(request, &facts, version, &mut warnings);
        }
        if entry.is_gemini(&request.model) {
            fitting::fit_gemini(request, &facts, &mut warnings);
        }
        fitting::tool_choice(request, &facts, |choice| entry.takes_choice(choice), &mut warnings);
        if request.schema.is_some()
            && let Some(mode) = entry.strict_mode(&request.model, &facts)
        {
            fitting::schema(request, mode, &mut warnings);
        }
        if entry.settings.cache == CacheMode::Auto {
            let marked = facts.cache == Some(Cache::Marked);
            request.cache = marked.then(|| request.parameters.cache_ttl.unwrap_or_default());
            request.cache_key = entry.takes_cache_key().then(|| conversation.key());
        }
        request.facts = Some(facts);
        warnings
    }

    /// Whether an answer that did not fit its schema is asked for again beside the tools of the call before.
    pub fn repairs_beside_tools(&self, provider: &str, model: &str) -> bool {
        self.entries.get(provider).is_some_and(|entry| entry.repairs_beside_tools(model, &entry.facts(model).facts))
    }

    /// What is known of a model.
    pub fn facts(&self, provider: &str, model: &str) -> models::Found {
        match self.entries.get(provider) {
            Some(entry) => entry.facts(model),
            None => models::Found { facts: Arc::default(), is_known: false },
        }
    }

    /// The kind of a provider, by which its models and prices are known.
    pub fn kind<'a>(&'a self, provider: &'a str) -> &'a str {
        self.entries.get(provider).map_or(provider, |entry| &entry.dialect)
    }

    /// The ids of all providers, with their labels.
    pub fn list(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.keys().map(|id| (id.as_str(), known(id).map_or(id.as_str(), |known| known.1)))
    }

    /// Everything that the provider needs is set.
    pub async fn is_configured(&self, provider: &str, tenant: &str) -> bool {
        let Ok(entry) = self.entry(provider) else { return false };
        if entry.family.is_wire() && entry.base_url.is_empty() {
            return false;
        }
        for name in self.config.secrets_of(provider) {
            if self.secrets.find(&name, tenant).await.is_none() {
                return false;
            }
        }
        entry.family != Family::Vertex || entry.credential.is_some()
    }

    /// Whether anything answers where a provider should: the status of its answer, or why there is none. None when it is no server.
    pub async fn reach(&self, provider: &str) -> Option<Result<u16, String>> {
        let entry = self.entries.get(provider).filter(|entry| entry.family.is_wire())?;
        Some(self.outbound.reach(&entry.base_url).await)
    }

    fn entry(&self, provider: &str) -> Result<&Entry, ProviderFailure> {
        self.entries.get(provider).ok_or_else(|| {
            let text = format!("there is no provider `{provider}`; configure `providers.{provider}`");
            ProviderFailure::new(FaultCode::ProviderBadRequest, text)
        })
    }

    /// The span that a call is made in goes along; headers that the configuration sets win.
    fn pass_trace(&self, found: &mut Found, trace: Option<&Arc<TraceContext>>) {
        let Some(trace) = trace.filter(|_| self.config.observability.propagate.reaches_models()) else { return };
        for (name, value) in trace.members() {
            let known = found.headers.iter().any(|(header, _)| header == name);
            let value = HeaderValue::from_str(&value).ok().filter(|_| !known);
            found.headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        }
    }

    /// Looks up what a call of a provider needs: its credential and the headers that hold secrets.
    async fn find(&self, entry: &Entry, credential: Option<&String>, tenant: &str) -> Result<Found, ProviderFailure> {
        let mut found = Found::default();
        if let Some(name) = credential.or(entry.credential.as_ref()) {
            found.credential = Some(self.secrets.get(name, tenant).await?);
        }
        found.secrets.extend(found.credential.clone());
        // Tenants may have keys of their own under one name. A token that is made of a key is another one each hour.
        let mut whose = DefaultHasher::new();
        found.credential.iter().for_each(|secret| secret.0.hash(&mut whose));
        self.find_in_cloud(entry, &mut found, tenant).await?;
        found.keys.iter().for_each(|keys| keys.id.0.hash(&mut whose));
        for (name, value) in &entry.settings.headers {
            let secret = if value.starts_with(PREFIX) { Some(self.secrets.get(value, tenant).await?) } else { None };
            found.headers.push(header(name, value, secret.as_ref())?);
            secret.iter().for_each(|secret| secret.0.hash(&mut whose));
            found.secrets.extend(secret);
        }
        found.key = Some(whose.finish());
        Ok(found)
    }
}

/// What was looked up for a call.
#[derive(Default)]
struct Found {
    /// What the provider knows the caller by.
    key: Option<Key>,
    credential: Option<Secret>,
    /// What requests to Bedrock are signed with.
    keys: Option<Keys>,
    headers: Vec<(HeaderName, HeaderValue)>,
    secrets: Vec<Secret>,
    /// Members of the request that the agent or the node adds.
    options: Map<String, Value>,
}

fn header(name: &str, value: &str, secret: Option<&Secret>) -> Result<(HeaderName, HeaderValue), ProviderFailure> {
    let text = secret.map_or(value, |secret| &secret.0);
    let header = HeaderName::try_from(name).ok().zip(HeaderValue::from_str(text).ok());
    let Some((name, mut value)) = header else {
        let text = format!("the configured header `{name}` is not valid");
        return Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text));
    };
    value.set_sensitive(secret.is_some());
    Ok((name, value))
}

/// A provider by its id, for the rest of the studio.
pub struct Named<'a> {
    all: &'a Providers,
    id: &'a str,
    entry: &'a Entry,
}

impl Named<'_> {
    /// Embeds texts, and says when the call is made.
    pub async fn embed_telling(&self, request: &EmbedRequest, made: Made<'_>) -> Result<Embeddings, ProviderFailure> {
        let (found, pass) = self.admitted(&request.tenant, &request.texts, request.trace.as_ref()).await?;
        made();
        let embedded = pass.noting(self.ready(&found)?.provider().embed(request).await, |embedded| embedded.tokens);
        embedded.map_err(|failure| with_masked_text(failure, &Masker::of(&found.secrets)))
    }

    /// Puts texts in order, and says when the call is made.
    pub async fn rerank_telling(&self, request: &RerankRequest, made: Made<'_>) -> Result<Ranking, ProviderFailure> {
        let (found, pass) = self.admitted(&request.tenant, &request.texts, request.trace.as_ref()).await?;
        made();
        let ranked = pass.noting(self.ready(&found)?.provider().rerank(request).await, |ranked| ranked.tokens);
        ranked.map_err(|failure| with_masked_text(failure, &Masker::of(&found.secrets)))
    }

    /// What a call with these texts needs, once there is room for it.
    async fn admitted(&self, tenant: &str, texts: &[String], trace: Option<&Arc<TraceContext>>) -> Result<(Found, Pass), ProviderFailure> {
        let mut found = self.all.find(self.entry, None, tenant).await?;
        self.all.pass_trace(&mut found, trace);
        let pass = self.entry.gate.admit(tenant, found.key, || limits::weigh_texts(texts), &|_| {}).await?;
        Ok((found, pass))
    }

    /// Tools that run at the provider are refused where there are none.
    fn must_have(&self, tools: &[NativeTool]) -> Result<(), ProviderFailure> {
        let Some(tool) = tools.first().filter(|_| !self.entry.has_native_tools()) else { return Ok(()) };
        let text = format!("the provider `{}` has no tool `{}` of its own; take the tool away or choose another provider", self.id, tool.kind);
        Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text))
    }

    /// The provider itself, with what was looked up for it.
    fn ready(&self, found: &Found) -> Result<Ready<'_>, ProviderFailure> {
        let Self { all, id, entry } = self;
        Ok(match entry.family {
            Family::OpenAi => Ready::owned(OpenAi { wire: self.wire(found)?, dialect: entry.dialect() }),
            Family::Responses => Ready::owned(Responses { wire: self.wire(found)?, strict: entry.settings.quirks.strict_schemas != Some(false) }),
            Family::Anthropic => Ready::owned(Anthropic { wire: self.wire(found)?, version: entry.settings.api_version.clone(), vertex: None }),
            Family::Gemini => Ready::owned(Gemini { wire: self.wire(found)?, vertex: None }),
            Family::Ollama => Ready::owned(Ollama { wire: self.wire(found)?, windows: entry.windows() }),
            Family::Cohere => Ready::owned(Cohere { wire: self.wire(found)? }),
            Family::Bedrock => Ready::owned(Bedrock { wire: self.wire(found)?, region: entry.region(), keys: found.keys.clone() }),
            Family::Vertex => Ready::owned(Vertex { wire: self.wire(found)?, project: entry.project(id)?, location: entry.location() }),
            Family::Script => Ready::Borrowed(&all.scripts),
            Family::Hash => Ready::Borrowed(&Hash),
            Family::Host => {
                let (door, passes_trace) = (all.host.clone(), all.config.observability.propagate.reaches_models());
                Ready::owned(HostModels { id: (*id).to_owned(), door, time_limits: entry.time_limits, passes_trace })
            }
        })
    }

    fn wire(&self, found: &Found) -> Result<Wire, ProviderFailure> {
        Ok(Wire {
            base_url: self.entry.base_url(self.id)?,
            credential: found.credential.clone(),
            headers: found.headers.clone(),
            options: found.options.clone(),
            time_limits: self.entry.time_limits,
            until: self.entry.time_limits.until(),
            outbound: Arc::clone(&self.all.outbound),
            gate: Arc::clone(&self.entry.gate),
            key: found.key,
        })
    }
}

impl Provider for Named<'_> {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(async move {
            self.must_have(&request.native_tools)?;
            let mut found = self.all.find(self.entry, request.credential.as_ref(), &request.asker.tenant).await?;
            found.options = self.entry.options(self.id, &request.parameters.provider_options);
            self.all.pass_trace(&mut found, request.asker.trace.as_ref());
            let pass = self.entry.gate.admit(&request.asker.tenant, found.key, || limits::weigh(request), deltas).await?;
            deltas(Delta::Made);
            let (ready, masker) = (self.ready(&found)?, Masker::of(&found.secrets));
            let asked = Asked { provider: ready.provider(), silent: &self.entry.silent, gate: &self.entry.gate };
            if masker.is_empty() {
                return pass.noting(ask(asked, request, deltas).await, |reply| reply.tokens).map_err(|failure| with_masked_text(failure, &masker));
            }
            let held = Held::default();
            let answer = pass.noting(ask(asked, request, &|delta| held.hear(&masker, delta, deltas)).await, |reply| reply.tokens);
            held.end(deltas);
            if let (Family::Vertex, Err(failure), Some(token)) = (self.entry.family, &answer, &found.credential)
                && failure.fault.code == FaultCode::ProviderAuth
            {
                self.entry.tokens.forget(token);
            }
            match answer {
                Ok(reply) => Ok(without_secrets(reply, &masker)),
                Err(failure) => Err(with_masked_text(failure, &masker)),
            }
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(self.embed_telling(request, &|| {}))
    }

    fn rerank<'a>(&'a self, request: &'a RerankRequest) -> BoxFuture<'a, Result<Ranking, ProviderFailure>> {
        Box::pin(self.rerank_telling(request, &|| {}))
    }
}

enum Ready<'a> {
    Borrowed(&'a dyn Provider),
    Owned(Box<dyn Provider>),
}

impl Ready<'_> {
    fn owned(provider: impl Provider + 'static) -> Self {
        Ready::Owned(Box::new(provider))
    }

    fn provider(&self) -> &dyn Provider {
        match self {
            Ready::Borrowed(provider) => *provider,
            Ready::Owned(provider) => provider.as_ref(),
        }
    }
}

impl Entry {
    fn new(id: &str, config: &Config) -> Result<Self, String> {
        let settings = config.providers.get(id).cloned().unwrap_or_default();
        let kind = settings.kind.as_deref().unwrap_or(id).to_owned();
        let known = known(&kind);
        let family = match (kind.as_str(), known) {
            (_, Some(known)) => known.2,
            ("host", None) => Family::Host,
            ("openai-compatible", None) => Family::OpenAi,
            (kind, None) => return Err(format!("providers.{id}.kind: `{kind}` is no kind of provider")),
        };
        if let Some(problem) = clouds::problem(id, family, config) {
            return Err(problem);
        }
        let usual = || clouds::base_url(family, &settings).or_else(|| known.map(|known| known.3.to_owned()));
        let base_url = settings.base_url.clone().or_else(usual).unwrap_or_default();
        let time_limits = TimeLimits {
            first_byte: Duration::from_millis(settings.timeout_ms.unwrap_or_else(|| config.model_first_byte_ms())),
            idle: Duration::from_millis(settings.timeout_ms.unwrap_or(config.timeouts.model_idle_ms)),
            total: Duration::from_millis(config.timeouts.model_total_ms),
            answer_bytes: usize::try_from(config.limits.answer_kb << 10).unwrap_or(usize::MAX),
            retries: settings.max_retries.unwrap_or(2),
        };
        let known = |model: &ModelConfig| (model.id.clone(), Arc::new(model.facts.over(&models::find(&kind, &model.id).facts)));
        let models = settings.models.iter().map(known).collect();
        let (credential, gate) = (config.credential_of(id), Gate::new(id, settings.limits, config.limits.provider_wait_ms));
        Ok(Self { family, dialect: kind, base_url, credential, time_limits, gate, silent: Silent::default(), tokens: Tokens::default(), settings, models })
    }

    fn base_url(&self, id: &str) -> Result<String, ProviderFailure> {
        if self.base_url.is_empty() {
            let key = clouds::place_of(self.family);
            let text = format!("`providers.{id}.{key}` is not set");
            return Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text));
        }
        Ok(self.base_url.clone())
    }

    fn facts(&self, model: &str) -> models::Found {
        match self.models.get(model) {
            Some(facts) => models::Found { facts: Arc::clone(facts), is_known: true },
            None => models::find(&self.dialect, model),
        }
    }

    /// What is known of a model, for a request to it: where a schema always binds it, a provider that takes no strict schemas takes none.
    fn sent_facts(&self, model: &str) -> Arc<Facts> {
        let facts = self.facts(model).facts;
        let always = matches!(self.family, Family::Anthropic | Family::Bedrock | Family::Vertex) && !self.is_gemini(model);
        if always && self.settings.quirks.strict_schemas == Some(false) {
            return Arc::new(Facts { structured: Some(Structured::None), ..Facts::clone(&facts) });
        }
        facts
    }

    /// How its models are bound to a schema token by token; none where they are not.
    fn strict_mode(&self, model: &str, facts: &Facts) -> Option<&'static Mode> {
        let takes = facts.structured() == Structured::Schema && self.settings.quirks.strict_schemas != Some(false);
        match self.family {
            Family::OpenAi => (takes && self.dialect().structure == Structure::Schema).then_some(&strict::OPENAI),
            Family::Responses => takes.then_some(&strict::OPENAI),
            Family::Anthropic | Family::Bedrock | Family::Vertex => (takes && !self.is_gemini(model)).then_some(&strict::ANTHROPIC),
            Family::Gemini | Family::Ollama | Family::Cohere | Family::Script | Family::Hash | Family::Host => None,
        }
    }

    fn has_native_tools(&self) -> bool {
        match self.family {
            Family::OpenAi => self.dialect().native_tools,
            Family::Responses | Family::Anthropic | Family::Gemini | Family::Vertex => true,
            Family::Bedrock | Family::Ollama | Family::Cohere | Family::Script | Family::Hash | Family::Host => false,
        }
    }

    fn windows(&self) -> BTreeMap<String, u64> {
        self.settings.models.iter().filter_map(|model| Some((model.id.clone(), model.facts.context_window?))).collect()
    }

    fn dialect(&self) -> Dialect {
        let mut dialect = Dialect::of(&self.dialect).with(&self.settings.quirks);
        if let Some(azure) = &mut dialect.azure {
            azure.api_version = self.settings.api_version.clone().unwrap_or_else(|| AZURE_VERSION.into());
            azure.deployments = self.settings.models.iter().filter_map(|model| Some((model.id.clone(), model.deployment.clone()?))).collect();
        }
        dialect
    }
}

/// The longest text that is kept of a failure.
const TEXT_LIMIT: usize = 600;

/// Providers repeat keys in their error texts: they are masked before the text is cut, so that no part of one stays at the edge.
fn with_masked_text(mut failure: ProviderFailure, masker: &Masker) -> ProviderFailure {
    let text = &mut failure.fault.message;
    if !masker.is_empty() {
        masker.message(text);
    }
    if let Some((end, _)) = text.char_indices().nth(TEXT_LIMIT) {
        text.truncate(end);
        text.push('…');
    }
    failure
}

#[cfg(test)]
mod makers_tests;
#[cfg(test)]
mod tests;
