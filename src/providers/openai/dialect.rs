//! Owns the differences between servers with OpenAI's chat completions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::own;
use crate::config::Quirks;
use crate::model::registry::{Facts, Structured};

/// What one of them wants.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// The kind under which its models are known.
    pub kind: Cow<'static, str>,
    /// How the credential is sent.
    pub authorization: Authorization,
    /// The key of the token limit.
    pub max_tokens: Cow<'static, str>,
    /// The role of its instructions.
    pub system_role: Cow<'static, str>,
    /// A member of its messages that carries what the model thinks, beside the usual ones.
    pub reasoning_field: Option<String>,
    /// It takes schemas that bind every token.
    pub strict: bool,
    /// `[DONE]` ends an answer also where no finish reason came.
    pub ends_with_marker: bool,
    /// Usage must be asked for in streams.
    pub asks_usage: bool,
    /// How it gives structured answers.
    pub structure: Structure,
    /// It takes a form for its answer only where no tools are offered.
    pub tools_or_structure: bool,
    /// It does not stream answers that have a form.
    pub whole_structures: bool,
    /// What of its assistant messages it wants back.
    pub echo: Cow<'static, [Echo]>,
    /// Whether thoughts between tags go back; none: for the models that want them.
    pub echo_tags: Option<bool>,
    /// It takes only ids of calls that have nine letters and figures.
    pub short_ids: bool,
    /// How it makes embeddings.
    pub embedding: EmbeddingKeys,
    /// It may have tools of its own in chats.
    pub native_tools: bool,
    /// Azure: the deployments by model and the version of the interface.
    pub azure: Option<Azure>,
}

/// What of an assistant message is wanted back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Echo {
    /// A text under this key.
    Text(Cow<'static, str>),
    /// A list under this key, whose items come in pieces.
    Details(&'static str),
    /// The thinking parts of the content.
    Thinking,
}

/// How a credential is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    /// `Authorization: Bearer`.
    Bearer,
    /// `api-key`.
    ApiKey,
}

/// How a structured answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// By its JSON Schema.
    Schema,
    /// JSON of any form; the schema is part of the instructions.
    AnyJson,
    /// In words alone.
    Words,
}

/// The keys of an embeddings request beside `model` and `input`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbeddingKeys {
    /// The wanted length.
    pub dimensions: &'static str,
    /// Distinguishes queries from documents.
    pub input_type: bool,
}

/// Where Azure keeps models.
#[derive(Clone, Debug, Default)]
pub struct Azure {
    /// Deployment by model; absent ones have the model's name.
    pub deployments: BTreeMap<String, String>,
    /// The version of the interface.
    pub api_version: String,
}

impl Azure {
    /// The interface without a date, which takes what OpenAI's own takes: the base names it, or nothing else is configured.
    pub(in crate::providers) fn is_current(&self, base_url: &str) -> bool {
        self.api_version == "v1" || base_url.trim_end_matches('/').ends_with("/v1")
    }
}

const PLAIN: Dialect = Dialect {
    kind: Cow::Borrowed("openai-compatible"),
    authorization: Authorization::Bearer,
    max_tokens: Cow::Borrowed("max_tokens"),
    system_role: Cow::Borrowed("system"),
    reasoning_field: None,
    strict: true,
    ends_with_marker: false,
    asks_usage: true,
    structure: Structure::Schema,
    tools_or_structure: false,
    whole_structures: false,
    echo: Cow::Borrowed(&[]),
    echo_tags: None,
    short_ids: false,
    embedding: EmbeddingKeys { dimensions: "dimensions", input_type: false },
    native_tools: true,
    azure: None,
};

impl Dialect {
    /// The dialect of a provider by its kind; unknown kinds get the plain dialect.
    #[must_use]
    pub fn of(kind: &str) -> Self {
        let completion = Cow::Borrowed("max_completion_tokens");
        let dialect = match kind {
            "openai" => Self { max_tokens: completion, native_tools: false, ..PLAIN },
            "azure-openai" => {
                let azure = Some(Azure::default());
                Self { authorization: Authorization::ApiKey, max_tokens: completion, native_tools: false, azure, ..PLAIN }
            }
            "groq" => Self {
                max_tokens: completion,
                tools_or_structure: true,
                whole_structures: true,
                ..PLAIN
            },
            "deepseek" => {
                Self { structure: Structure::AnyJson, echo: Cow::Borrowed(&[Echo::Text(Cow::Borrowed("reasoning_content"))]), native_tools: false, ..PLAIN }
            }
            "moonshot" | "zai" => {
                let echo = Cow::Borrowed(&[Echo::Text(Cow::Borrowed("reasoning_content"))][..]);
                Self { structure: Structure::AnyJson, echo, native_tools: kind == "zai", ..PLAIN }
            }
            "cerebras" => Self { max_tokens: completion, tools_or_structure: true, native_tools: false, ..PLAIN },
            "nvidia" => Self { structure: Structure::Words, native_tools: false, ..PLAIN },
            "perplexity" | "huggingface" => Self { native_tools: false, ..PLAIN },
            "openrouter" => Self { echo: Cow::Borrowed(&[Echo::Details("reasoning_details")]), ..PLAIN },
            "mistral" => Self {
                asks_usage: false,
                echo: Cow::Borrowed(&[Echo::Thinking]),
                short_ids: true,
                embedding: EmbeddingKeys { dimensions: "output_dimension", input_type: false },
                native_tools: false,
                ..PLAIN
            },
            "voyage" => Self { embedding: EmbeddingKeys { dimensions: "output_dimension", input_type: true }, ..PLAIN },
            _ => PLAIN,
        };
        Self { kind: kind.to_owned().into(), ..dialect }
    }

    /// Its servers may have no parser of their own for what a model thinks, and leave it at the beginning of the text.
    pub fn may_tag_thoughts(&self) -> bool {
        matches!(
            &*self.kind,
            "openai-compatible" | "vllm" | "lmstudio" | "groq" | "huggingface" | "together" | "fireworks" | "cerebras" | "nvidia"
        )
    }

    /// A thought that stood between tags in the text of a model goes back in the same form.
    pub fn echoes_tags(&self, model: &str) -> bool {
        self.may_tag_thoughts() && self.echo_tags.unwrap_or_else(|| wants_tags(model))
    }

    /// It with what the configuration says of its server.
    #[must_use]
    pub fn with(mut self, quirks: &Quirks) -> Self {
        self.asks_usage = quirks.stream_usage.unwrap_or(self.asks_usage);
        self.strict = quirks.strict_schemas.unwrap_or(self.strict);
        self.ends_with_marker = quirks.end_marker.unwrap_or(self.ends_with_marker);
        if let Some(role) = quirks.system_role {
            self.system_role = role.as_str().into();
        }
        if let Some(name) = &quirks.max_tokens_name {
            self.max_tokens = name.clone().into();
        }
        self.reasoning_field.clone_from(&quirks.reasoning_field);
        self.echo_tags = quirks.echo_reasoning.or(self.echo_tags);
        match (&quirks.reasoning_field, quirks.echo_reasoning) {
            (_, Some(false)) => self.echo = Cow::Borrowed(&[]),
            (Some(name), _) => self.echo = vec![Echo::Text(name.clone().into())].into(),
            (None, Some(true)) if self.echo.is_empty() => self.echo = vec![Echo::Text("reasoning_content".into())].into(),
            (None, Some(true) | None) => {}
        }
        self
    }

    /// The name under which a model is asked: on Azure that of its deployment.
    pub fn name<'a>(&'a self, model: &'a str) -> &'a str {
        self.azure.as_ref().and_then(|azure| azure.deployments.get(model)).map_or(model, String::as_str)
    }

    /// How an answer of a model is given its form, with or without tools beside it.
    pub fn structure(&self, facts: &Facts, tools: bool) -> Structure {
        match (self.structure, facts.structured()) {
            (Structure::Words, _) | (_, Structured::None) => Structure::Words,
            (Structure::Schema | Structure::AnyJson, _) if tools && self.tools_or_structure => Structure::Words,
            (Structure::AnyJson, _) | (_, Structured::Json) => Structure::AnyJson,
            (Structure::Schema, Structured::Schema) => Structure::Schema,
        }
    }

    /// The published id of a call.
    pub(super) fn id<'a>(&self, id: &'a str) -> Cow<'a, str> {
        if self.short_ids { own::short_id(id).into() } else { id.into() }
    }

    /// The URL of a path for a model. Azure's dated interfaces name the deployment there.
    pub fn url(&self, base_url: &str, path: &str, model: &str) -> String {
        let base = base_url.trim_end_matches('/');
        match &self.azure {
            Some(azure) if azure.is_current(base) => {
                let base = base.strip_suffix("/v1").unwrap_or(base);
                format!("{}/openai/v1/{path}", base.strip_suffix("/openai").unwrap_or(base))
            }
            Some(azure) => {
                let base = base.strip_suffix("/openai").unwrap_or(base);
                let deployment = percent_encoding::utf8_percent_encode(self.name(model), percent_encoding::NON_ALPHANUMERIC);
                format!("{base}/openai/deployments/{deployment}/{path}?api-version={}", azure.api_version)
            }
            None => format!("{base}/{path}"),
        }
    }
}

/// A model that goes on from its thoughts of earlier calls: MiniMax M2 and later, <https://platform.minimax.io/docs/guides/text-m2-function-call>.
fn wants_tags(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    let version = name.split_once("minimax-m").map(|(_, rest)| rest.split(|sign: char| !sign.is_ascii_digit()).next().unwrap_or_default());
    version.and_then(|version| version.parse::<u32>().ok()).is_some_and(|version| version >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_between_tags_go_back_to_models_that_want_them() {
        let echoes = |kind: &str, model: &str, echo: Option<bool>| {
            let quirks = Quirks { echo_reasoning: echo, ..Quirks::default() };
            Dialect::of(kind).with(&quirks).echoes_tags(model)
        };
        for model in ["MiniMax-M2", "MiniMaxAI/MiniMax-M2.5", "accounts/fireworks/models/minimax-m2", "minimax-m3-highspeed"] {
            assert!(echoes("openai-compatible", model, None) && !echoes("openai-compatible", model, Some(false)), "{model}");
            assert!(!echoes("openrouter", model, Some(true)), "its server has a parser");
        }
        for model in ["MiniMax-M1", "MiniMax-Text-01", "minimax-m", "qwen3"] {
            assert!(!echoes("vllm", model, None) && echoes("vllm", model, Some(true)), "{model}");
        }
    }

    #[test]
    fn urls_are_the_base_and_the_path() {
        let plain = Dialect::of("openai");
        assert_eq!(plain.url("https://api.openai.com/v1/", "chat/completions", "m"), "https://api.openai.com/v1/chat/completions");
        let deployments = BTreeMap::from([("gpt-4o".to_owned(), "my deployment".to_owned())]);
        let azure = Azure { deployments, api_version: "2024-10-21".into() };
        let azure = Dialect { azure: Some(azure), ..Dialect::of("azure-openai") };
        assert_eq!(
            azure.url("https://x.example", "embeddings", "gpt-4o"),
            "https://x.example/openai/deployments/my%20deployment/embeddings?api-version=2024-10-21"
        );
        assert_eq!(azure.url("https://x.example/openai/v1", "embeddings", "m"), "https://x.example/openai/v1/embeddings");
        assert_eq!(
            azure.url("https://x.example/openai/", "chat/completions", "m"),
            "https://x.example/openai/deployments/m/chat/completions?api-version=2024-10-21"
        );
        let current = Dialect { azure: Some(Azure { api_version: "v1".into(), ..Azure::default() }), ..Dialect::of("azure-openai") };
        for base in ["https://x.example", "https://x.example/openai", "https://x.example/openai/v1/"] {
            assert_eq!(current.url(base, "chat/completions", "m"), "https://x.example/openai/v1/chat/completions");
        }
        assert_eq!((azure.name("gpt-4o"), azure.name("other")), ("my deployment", "other"));
    }
}
