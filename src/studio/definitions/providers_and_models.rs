//! Owns the lists of providers and of models, for pickers.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::config::{EmbeddingConfig, ModelConfig, ProviderConfig, ProviderLimits};
use crate::error::{Error, Result};
use crate::model::Timestamp;
use crate::model::prices::{Price, PriceTable};
use crate::model::registry::{self, Facts};
use crate::providers::registry::Providers;
use crate::studio::{Scope, Studio};

/// What is known of a provider beside the configuration and the table of models.
#[derive(Debug, Deserialize)]
struct KnownProvider {
    id: String,
    kind: String,
    #[serde(default)]
    models: Vec<ModelConfig>,
    #[serde(default)]
    embeddings: Vec<EmbeddingConfig>,
}

/// The table of providers; bundled, so it can be read.
fn known() -> Vec<KnownProvider> {
    serde_json::from_str(include_str!("providers.json")).unwrap_or_default()
}

/// A model of a list.
struct Listed {
    id: String,
    /// What the configuration says that it can do, when it says so.
    capabilities: Vec<String>,
    facts: Arc<Facts>,
    is_configured: bool,
    /// Something is known of it.
    is_known: bool,
}

/// Which models are wanted.
#[derive(Clone, Debug, Default)]
pub struct ModelQuery<'a> {
    /// Of this provider.
    pub provider: Option<&'a str>,
    /// That read this.
    pub input: Option<&'a str>,
    /// That make this.
    pub output: Option<&'a str>,
    /// That call tools, or do not.
    pub tools: Option<&'a str>,
    /// Whose id or label holds this text, in any case.
    pub text: Option<&'a str>,
}

/// Prices as they are today.
struct Today<'a> {
    prices: &'a PriceTable,
    now: Timestamp,
}

impl Listed {
    fn label(&self) -> &str {
        self.facts.label.as_deref().unwrap_or(&self.id)
    }

    fn capabilities(&self) -> Value {
        match (self.capabilities.is_empty(), self.is_known) {
            (true, true) => json!(self.facts.capabilities()),
            (true, false) | (false, _) => json!(self.capabilities),
        }
    }
}

impl Today<'_> {
    fn price(&self, provider: &str, model: &str) -> Option<Value> {
        self.prices.lookup(provider, model, self.now).as_ref().map(Price::shown)
    }

    fn brief(&self, provider: &str, model: &Listed) -> Value {
        json!({
            "id": model.id, "label": model.label(), "capabilities": model.capabilities(), "context_window": model.facts.context_window,
            "price": self.price(provider, &model.id),
        })
    }

    fn whole(&self, provider: &str, model: &Listed) -> Value {
        let source = if model.is_configured { "configured" } else { "bundled" };
        let named = json!({"provider": provider, "id": model.id, "label": model.label(), "capabilities": model.capabilities()});
        let mut members: Map<String, Value> = named.as_object().cloned().unwrap_or_default();
        members.extend(model.facts.json());
        members.insert("price".into(), json!(self.price(provider, &model.id)));
        members.insert("source".into(), source.into());
        Value::Object(members)
    }
}

/// Configured models first; known ones that the configuration does not name follow.
fn models_of(providers: &Providers, provider: &str, configured: Option<&ProviderConfig>, known: Option<&KnownProvider>) -> Vec<Listed> {
    let listed = |model: &ModelConfig, is_configured| {
        let found = providers.facts(provider, &model.id);
        let facts = if is_configured { found.facts } else { Arc::new(model.facts.clone()) };
        let is_known = is_configured && (model.facts != Facts::default() || registry::find(providers.kind(provider), &model.id).is_known);
        Listed { id: model.id.clone(), capabilities: model.capabilities.clone(), facts, is_configured, is_known }
    };
    let mut models: Vec<Listed> = configured.into_iter().flat_map(|provider| &provider.models).map(|model| listed(model, true)).collect();
    let beside: Vec<Listed> = known.into_iter().flat_map(|known| &known.models).map(|model| listed(model, false)).collect();
    let bundled = registry::models(providers.kind(provider)).map(|(id, facts)| Listed {
        id: id.to_owned(),
        capabilities: Vec::new(),
        facts: Arc::clone(facts),
        is_configured: false,
        is_known: true,
    });
    for model in beside.into_iter().chain(bundled) {
        if !models.iter().any(|one| one.id == model.id) {
            models.push(model);
        }
    }
    let scripts = configured.into_iter().flat_map(|provider| provider.scripts.keys());
    models.extend(scripts.map(|id| listed(&ModelConfig { id: id.clone(), ..ModelConfig::default() }, true)));
    models
}

fn embeddings_of(configured: Option<&ProviderConfig>, known: Option<&KnownProvider>) -> Vec<EmbeddingConfig> {
    let mut embeddings = configured.map(|provider| provider.embeddings.clone()).unwrap_or_default();
    for model in known.into_iter().flat_map(|known| &known.embeddings) {
        if !embeddings.iter().any(|one| one.id == model.id) {
            embeddings.push(model.clone());
        }
    }
    embeddings
}

/// The values of `input` and `output`.
const MEDIA: [&str; 5] = ["text", "image", "audio", "video", "pdf"];

impl ModelQuery<'_> {
    fn check(&self) -> Result<()> {
        let unknown = |value: Option<&str>, known: &[&str]| value.is_some_and(|value| !known.contains(&value));
        let wrong = [
            ("input", unknown(self.input, &MEDIA), "must be one of text, image, audio, video, pdf"),
            ("output", unknown(self.output, &MEDIA[..3]), "must be one of text, image, audio"),
            ("tools", unknown(self.tools, &["true", "false"]), "must be true or false"),
        ];
        let wrong: Vec<_> =
            wrong.into_iter().filter(|(_, wrong, _)| *wrong).map(|(name, _, text)| (name.to_owned(), text.to_owned())).collect();
        if wrong.is_empty() { Ok(()) } else { Err(Error::fields(wrong)) }
    }

    /// The model is known to read what is wanted.
    fn reads(&self, facts: &Facts) -> bool {
        let wanted = self.input.and_then(|input| serde_json::from_value(input.into()).ok());
        wanted.is_none_or(|medium| facts.is_known_to_read(medium))
    }

    fn wants(&self, model: &Value) -> bool {
        let holds = |name: &str, value: Option<&str>| {
            value.is_none_or(|value| model[name].as_array().is_some_and(|list| list.iter().any(|one| one == value)))
        };
        let tools = self.tools.is_none_or(|tools| model["tools"] == (tools == "true"));
        let text = self.text.map(str::to_lowercase);
        let named = |name: &str, text: &str| model[name].as_str().is_some_and(|name| name.to_lowercase().contains(text));
        holds("output", self.output)
            && tools
            && text.is_none_or(|text| named("id", &text) || named("label", &text))
    }
}

impl Studio {
    /// Every provider with its models and prices, and what is used where none is named; never a secret. Models that do not answer any
    /// more are left out, unless the configuration names them.
    pub async fn providers(&self, scope: &Scope) -> Result<Value> {
        let (world, table) = (self.world(), known());
        let today = Today { prices: &world.prices, now: world.clock.now() };
        let mut data = Vec::new();
        for (id, label) in world.providers.list() {
            let configured = world.config.providers.get(id);
            let known = table.iter().find(|known| known.id == id);
            let kind = configured.and_then(|provider| provider.kind.as_deref()).or_else(|| known.map(|known| known.kind.as_str()));
            let label = configured.and_then(|provider| provider.label.as_deref()).unwrap_or(label);
            let models = models_of(&world.providers, id, configured, known);
            let models = models.iter().filter(|model| model.is_configured || !model.facts.is_retired(today.now));
            let mut listed = json!({
                "id": id, "label": label, "kind": kind.unwrap_or("openai-compatible"),
                "configured": world.providers.is_configured(id, &scope.tenant).await,
                "models": models.map(|model| today.brief(id, model)).collect::<Vec<_>>(), "embeddings": embeddings_of(configured, known),
            });
            let limits = configured.map(|provider| provider.limits).filter(|limits| *limits != ProviderLimits::default());
            if let (Some(limits), Some(members)) = (limits, listed.as_object_mut()) {
                members.insert("limits".into(), json!(limits));
            }
            data.push(listed);
        }
        let (provider, model) = self.asked_catalog(&scope.tenant).await.default_model();
        Ok(json!({"data": data, "default_provider": provider, "default_model": model}))
    }

    /// What is known of models, those that do not answer any more included.
    ///
    /// # Errors
    /// A filter that cannot be meant.
    pub fn models(&self, query: &ModelQuery<'_>) -> Result<Value> {
        query.check()?;
        let (world, table) = (self.world(), known());
        let today = Today { prices: &world.prices, now: world.clock.now() };
        let mut data = Vec::new();
        for (id, _) in world.providers.list().filter(|(id, _)| query.provider.is_none_or(|wanted| wanted == *id)) {
            let known = table.iter().find(|known| known.id == id);
            let models = models_of(&world.providers, id, world.config.providers.get(id), known);
            let read = models.iter().filter(|model| query.reads(&model.facts));
            data.extend(read.map(|model| today.whole(id, model)).filter(|model| query.wants(model)));
        }
        Ok(json!({"data": data, "updated": registry::updated()}))
    }
}
