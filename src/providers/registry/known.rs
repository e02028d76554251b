//! Owns the built-in providers and their API families.

/// The kinds of providers that there are. A wire family is a file of its own and a row here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    OpenAi,
    Responses,
    Anthropic,
    Gemini,
    Ollama,
    Cohere,
    Bedrock,
    Vertex,
    Script,
    Hash,
    Host,
}

impl Family {
    /// It is asked over HTTP.
    pub(super) const fn is_wire(self) -> bool {
        match self {
            Self::OpenAi | Self::Responses | Self::Anthropic | Self::Gemini | Self::Ollama | Self::Cohere | Self::Bedrock | Self::Vertex => true,
            Self::Script | Self::Hash | Self::Host => false,
        }
    }
}

/// A provider that is known by itself: id, label, family, base URL.
pub(super) struct Known(pub(super) &'static str, pub(super) &'static str, pub(super) Family, pub(super) &'static str);

pub(super) const KNOWN: [Known; 28] = [
    Known("openai", "OpenAI", Family::OpenAi, "https://api.openai.com/v1"),
    Known("openai-responses", "OpenAI Responses", Family::Responses, "https://api.openai.com/v1"),
    Known("anthropic", "Anthropic", Family::Anthropic, "https://api.anthropic.com"),
    Known("gemini", "Google Gemini", Family::Gemini, "https://generativelanguage.googleapis.com"),
    Known("ollama", "Ollama", Family::Ollama, "http://127.0.0.1:11434"),
    Known("cohere", "Cohere", Family::Cohere, "https://api.cohere.com"),
    Known("bedrock", "Amazon Bedrock", Family::Bedrock, ""),
    Known("vertex", "Google Vertex AI", Family::Vertex, ""),
    Known("azure-openai", "Azure OpenAI", Family::OpenAi, ""),
    Known("mistral", "Mistral", Family::OpenAi, "https://api.mistral.ai/v1"),
    Known("deepseek", "DeepSeek", Family::OpenAi, "https://api.deepseek.com/v1"),
    Known("xai", "xAI", Family::OpenAi, "https://api.x.ai/v1"),
    Known("groq", "Groq", Family::OpenAi, "https://api.groq.com/openai/v1"),
    Known("openrouter", "OpenRouter", Family::OpenAi, "https://openrouter.ai/api/v1"),
    Known("together", "Together AI", Family::OpenAi, "https://api.together.xyz/v1"),
    Known("fireworks", "Fireworks AI", Family::OpenAi, "https://api.fireworks.ai/inference/v1"),
    Known("cerebras", "Cerebras", Family::OpenAi, "https://api.cerebras.ai/v1"),
    Known("perplexity", "Perplexity", Family::OpenAi, "https://api.perplexity.ai"),
    Known("huggingface", "Hugging Face", Family::OpenAi, "https://router.huggingface.co/v1"),
    Known("moonshot", "Moonshot AI", Family::OpenAi, "https://api.moonshot.ai/v1"),
    Known("zai", "Z.ai", Family::OpenAi, "https://api.z.ai/api/paas/v4"),
    Known("nvidia", "NVIDIA", Family::OpenAi, "https://integrate.api.nvidia.com/v1"),
    Known("lmstudio", "LM Studio", Family::OpenAi, "http://127.0.0.1:1234/v1"),
    Known("vllm", "vLLM", Family::OpenAi, "http://127.0.0.1:8000/v1"),
    Known("voyage", "Voyage", Family::OpenAi, "https://api.voyageai.com/v1"),
    Known("jina", "Jina", Family::OpenAi, "https://api.jina.ai/v1"),
    Known("script", "Script", Family::Script, ""),
    Known("hash", "Hash", Family::Hash, ""),
];

pub(super) fn known(id: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.0 == id)
}
