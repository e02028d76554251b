//! Owns the list of providers with their models, for pickers.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Scope, Studio};
use crate::config::{EmbeddingConfig, ModelConfig, ProviderConfig};
use crate::error::Result;
use crate::model::Timestamp;
use crate::model::prices::{Price, PriceTable};

/// What is known of a provider's models beside the configuration.
#[derive(Debug, Deserialize)]
struct KnownProvider {
    id: String,
    kind: String,
    models: Vec<ModelConfig>,
    embeddings: Vec<EmbeddingConfig>,
}

/// The table of models; bundled, so it can be read.
fn known() -> Vec<KnownProvider> {
    serde_json::from_str(include_str!("providers.json")).unwrap_or_default()
}

/// Prices as they are today.
struct Today<'a> {
    prices: &'a PriceTable,
    now: Timestamp,
}

impl Today<'_> {
    fn model(&self, provider: &str, model: &ModelConfig) -> Value {
        let label = model.label.as_deref().unwrap_or(&model.id);
        let price = self.prices.lookup(provider, &model.id, self.now).as_ref().map(Price::shown);
        json!({"id": model.id, "label": label, "capabilities": model.capabilities, "context_window": model.context_window, "price": price})
    }
}

/// Configured models first; known ones that the configuration does not name follow.
fn models_of<'a>(configured: Option<&'a ProviderConfig>, known: Option<&'a KnownProvider>) -> Vec<ModelConfig> {
    let mut models = configured.map(|provider| provider.models.clone()).unwrap_or_default();
    for model in known.into_iter().flat_map(|known| &known.models) {
        if !models.iter().any(|one| one.id == model.id) {
            models.push(model.clone());
        }
    }
    let scripts = configured.into_iter().flat_map(|provider| provider.scripts.keys());
    models.extend(scripts.map(|id| ModelConfig { id: id.clone(), ..ModelConfig::default() }));
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

impl Studio {
    /// Every provider with its models and prices, and what is used where none is named; never a secret.
    pub async fn providers(&self, scope: &Scope) -> Result<Value> {
        let (world, table) = (self.world(), known());
        let today = Today { prices: &world.prices, now: world.clock.now() };
        let mut data = Vec::new();
        for (id, label) in world.providers.list() {
            let configured = world.config.providers.get(id);
            let known = table.iter().find(|known| known.id == id);
            let kind = configured.and_then(|provider| provider.kind.as_deref()).or_else(|| known.map(|known| known.kind.as_str()));
            let label = configured.and_then(|provider| provider.label.as_deref()).unwrap_or(label);
            let models: Vec<Value> = models_of(configured, known).iter().map(|model| today.model(id, model)).collect();
            data.push(json!({
                "id": id, "label": label, "kind": kind.unwrap_or("openai-compatible"),
                "configured": world.providers.is_configured(id, &scope.tenant).await,
                "models": models, "embeddings": embeddings_of(configured, known),
            }));
        }
        let (provider, model) = self.asked_catalog(&scope.tenant).await.default_model();
        Ok(json!({"data": data, "default_provider": provider, "default_model": model}))
    }
}
