//! Owns the providers that can be asked: by which key, for which model, and where.

use serde_json::{Value, json};

use super::variable;

/// One provider: id, variable of its key, model, base URL.
pub struct Speaker {
    pub id: &'static str,
    key: &'static str,
    model: &'static str,
    base: &'static str,
}

/// What it takes to ask one.
pub struct Ready {
    pub key: String,
    /// Where it is, and the path of its base URL there.
    pub origin: String,
    pub path: String,
    /// Further settings, and what of them is recorded.
    pub more: Value,
    pub shown: Value,
    /// Words that are recorded nowhere.
    pub secrets: Vec<String>,
}

const fn speaker(id: &'static str, key: &'static str, model: &'static str, base: &'static str) -> Speaker {
    Speaker { id, key, model, base }
}

/// Models that see, think, call tools and are cheap, where there are such.
pub const SPEAKERS: [Speaker; 17] = [
    speaker("openai", "OPENAI_API_KEY", "gpt-5.4-mini", "https://api.openai.com/v1"),
    speaker("openai-responses", "OPENAI_API_KEY", "gpt-5.4-mini", "https://api.openai.com/v1"),
    speaker("azure-openai", "AZURE_OPENAI_API_KEY", "gpt-5.4-mini", ""),
    speaker("anthropic", "ANTHROPIC_API_KEY", "claude-haiku-4-5", "https://api.anthropic.com"),
    speaker("gemini", "GEMINI_API_KEY", "gemini-3.5-flash", "https://generativelanguage.googleapis.com"),
    speaker("vertex", "GOOGLE_ACCOUNT", "gemini-3.5-flash", "https://aiplatform.googleapis.com"),
    speaker("bedrock", "AWS_BEARER_TOKEN_BEDROCK", "us.anthropic.claude-haiku-4-5-20251001-v1:0", "https://bedrock-runtime.us-east-1.amazonaws.com"),
    speaker("cohere", "COHERE_API_KEY", "command-a-plus-05-2026", "https://api.cohere.com"),
    speaker("mistral", "MISTRAL_API_KEY", "mistral-medium-latest", "https://api.mistral.ai/v1"),
    speaker("deepseek", "DEEPSEEK_API_KEY", "deepseek-v4-flash", "https://api.deepseek.com/v1"),
    speaker("xai", "XAI_API_KEY", "grok-4.3", "https://api.x.ai/v1"),
    speaker("groq", "GROQ_API_KEY", "openai/gpt-oss-20b", "https://api.groq.com/openai/v1"),
    speaker("openrouter", "OPENROUTER_API_KEY", "anthropic/claude-haiku-4.5", "https://openrouter.ai/api/v1"),
    speaker("cerebras", "CEREBRAS_API_KEY", "gpt-oss-120b", "https://api.cerebras.ai/v1"),
    speaker("moonshot", "MOONSHOT_API_KEY", "kimi-k2.6", "https://api.moonshot.ai/v1"),
    speaker("zai", "ZAI_API_KEY", "glm-5v-turbo", "https://api.z.ai/api/paas/v4"),
    speaker("ollama", "OLLAMA_API_KEY", "gpt-oss", "http://127.0.0.1:11434"),
];

impl Speaker {
    /// The variable of this one, such as `STUDIO_LIVE_MODEL_OPENAI`.
    fn own(&self, what: &str) -> String {
        format!("STUDIO_LIVE_{what}_{}", self.id.replace('-', "_").to_ascii_uppercase())
    }

    pub fn model(&self) -> String {
        variable(&self.own("MODEL")).unwrap_or_else(|| self.model.to_owned())
    }

    /// All that is needed, or what is missing.
    pub fn ready(&self) -> Result<Ready, String> {
        let needed = |name: &str| variable(name).ok_or_else(|| format!("{name} is not set"));
        let (key, base) = (needed(self.key)?, self.own("URL"));
        let base = variable(&base).or_else(|| (!self.base.is_empty()).then(|| self.base.to_owned())).ok_or_else(|| format!("{base} is not set"))?;
        let (scheme, rest) = base.split_once("://").ok_or_else(|| format!("`{base}` is no URL"))?;
        let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (mut secrets, mut more, mut shown) = (vec![key.clone()], json!({}), json!({}));
        if self.id == "vertex" {
            let project = needed("GOOGLE_CLOUD_PROJECT")?;
            let location = variable("GOOGLE_CLOUD_LOCATION").unwrap_or_else(|| "global".into());
            more = json!({"project": project, "location": location});
            shown = json!({"project": "***", "location": location});
            // The account may be told in parts.
            let account: Value = serde_json::from_str(&key).unwrap_or_default();
            secrets.extend(account.as_object().into_iter().flatten().filter_map(|(_, part)| part.as_str().map(str::to_owned)).filter(|part| part.len() > 20));
            secrets.push(project);
        }
        if self.id == "bedrock" {
            more = json!({"region": "us-east-1"});
            shown = more.clone();
        }
        let path = path.trim_end_matches('/').to_owned();
        Ok(Ready { key, origin: format!("{scheme}://{host}"), path, more, shown, secrets })
    }

    /// The configuration that leads to an address.
    pub fn settings(&self, base: &str, key: &str, more: &Value) -> Value {
        let mut provider = json!({"kind": self.id, "base_url": base, "credential": "secret:LIVE_KEY"});
        provider.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        json!({
            "environment": "local", "database": {"path": ":memory:"}, "secrets": {"LIVE_KEY": key},
            "tls": {"ca_file": super::recorder::authority()}, "providers": {self.id: provider},
        })
    }
}
