//! Owns which secrets a provider uses, and their values in the configuration and the environment.

use super::{Config, Secret};

impl Config {
    /// The value of a secret: from `secrets`, else the environment. The host is asked before, by others.
    pub fn secret(&self, name: &str) -> Option<Secret> {
        let found = self.secrets.get(name).or_else(|| self.environment.get(name));
        found.filter(|value| !value.is_empty()).map(|value| Secret(value.as_str().into()))
    }

    /// The name of the secret that a provider uses.
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
    pub fn secrets_of(&self, provider: &str) -> Vec<String> {
        let configured = self.providers.get(provider);
        let signing = configured.into_iter().flat_map(|provider| [&provider.access_key_id, &provider.secret_access_key, &provider.session_token]);
        let signing = signing.flatten().filter_map(|name| name.strip_prefix("secret:")).map(str::to_owned);
        self.credential_of(provider).into_iter().chain(signing).collect()
    }
}
