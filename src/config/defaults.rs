//! Owns the defaults that depend on other keys or on secrets: the provider and the model, embeddings, a model's first byte.

use super::{Config, Source};

impl Config {
    /// How long a model may be silent before its answer begins: as long as in it, unless its own key says otherwise.
    pub fn model_first_byte_ms(&self) -> u64 {
        if self.is_set("timeouts.model_ms") { self.timeouts.model_ms } else { self.timeouts.model_idle_ms }
    }

    /// The window of conversations, when somebody set it.
    pub fn own_context_window(&self) -> Option<u64> {
        self.is_set("chat_history_context_window").then_some(self.chat_history_context_window)
    }

    fn is_set(&self, wanted: &str) -> bool {
        self.origin.iter().any(|(key, _, source)| *key == wanted && *source != Source::Default)
    }

    /// Provider and model where none is given; `resolves` says whether a secret has a value, the host's answer included.
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
    pub fn effective_embeddings(&self, resolves: impl Fn(&str) -> bool) -> (String, String) {
        let openai = self.rag.embeddings_provider.is_none() && resolves("OPENAI_API_KEY");
        let provider =
            self.rag.embeddings_provider.clone().unwrap_or_else(|| (if openai { "openai" } else { "hash" }).to_owned());
        let usual = if provider == "hash" { "hash-256" } else { "text-embedding-3-small" };
        let model = self.rag.embeddings_model.clone().unwrap_or_else(|| usual.to_owned());
        (provider, model)
    }
}
