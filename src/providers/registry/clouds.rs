//! Owns the settings of cloud providers besides a key: region or location, account, signing keys.

use super::{Entry, Family, Found, Providers};
use crate::config::{Config, ProviderConfig, Secret};
use crate::model::chat::Message;
use crate::model::event::FaultCode;
use crate::model::registry::Facts;
use crate::providers::anthropic::request::SAMPLING;
use crate::providers::bedrock::sign::Keys;
use crate::providers::fitting::Carries;
use crate::providers::{ProviderFailure, anthropic, bedrock, cohere, gemini, ollama, openai, responses, vertex};

/// What is wrong with the settings of a provider of a cloud, and what to do; one that is not configured is not looked at.
pub(super) fn problem(id: &str, family: Family, config: &Config) -> Option<String> {
    let settings = config.providers.get(id)?;
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-.:".contains(sign);
    let place = [("region", &settings.region), ("location", &settings.location), ("project", &settings.project)];
    let odd = place.iter().find(|(_, value)| value.as_ref().is_some_and(|text| !text.chars().all(plain)));
    if let Some((key, _)) = odd {
        return Some(format!("providers.{id}.{key}: may contain only letters, digits, `-`, `.` and `:`"));
    }
    let lacks = if family == Family::Bedrock {
        bedrock_lacks(settings, config.secrets_of(id).is_empty())
    } else if family == Family::Vertex {
        vertex_lacks(settings)
    } else {
        signs(settings).then_some("access_key_id: only providers of the kind `bedrock` sign their requests")
    };
    lacks.map(|why| format!("providers.{id}.{why}"))
}

fn is_set(value: Option<&String>) -> bool {
    value.is_some_and(|text| !text.is_empty())
}

fn signs(settings: &ProviderConfig) -> bool {
    [&settings.access_key_id, &settings.secret_access_key, &settings.session_token].into_iter().any(Option::is_some)
}

fn bedrock_lacks(settings: &ProviderConfig, keyless: bool) -> Option<&'static str> {
    let signing = signs(settings);
    if !is_set(settings.region.as_ref()) && (signing || !is_set(settings.base_url.as_ref())) {
        return Some("region: is not set; name the region of the models, such as `us-east-1`");
    }
    if signing && !(is_set(settings.access_key_id.as_ref()) && is_set(settings.secret_access_key.as_ref())) {
        let text = "access_key_id: requests are signed with `access_key_id` and `secret_access_key` together; set both, or a `credential` with an API key";
        return Some(text);
    }
    if signing && settings.credential.is_some() {
        return Some("credential: an API key and keys that sign exclude each other; take one away");
    }
    keyless.then_some("credential: is not set; name the secret with an API key, or `access_key_id` and `secret_access_key`")
}

fn vertex_lacks(settings: &ProviderConfig) -> Option<&'static str> {
    let needs = [
        (is_set(settings.project.as_ref()), "project: is not set; name the Google Cloud project"),
        (is_set(settings.location.as_ref()), "location: is not set; name the location of the models, such as `us-east5` or `global`"),
        (settings.credential.is_some(), "credential: is not set; name the secret that holds the JSON of a service account"),
    ];
    needs.into_iter().find_map(|(given, why)| (!given).then_some(why))
}

/// Where the models are, by the place that is configured.
pub(super) fn base_url(family: Family, settings: &ProviderConfig) -> Option<String> {
    let region = settings.region.as_deref().filter(|_| family == Family::Bedrock).map(bedrock::base_url);
    region.or_else(|| settings.location.as_deref().filter(|_| family == Family::Vertex).map(vertex::base_url))
}

/// The key that says where the models are.
pub(super) fn place_of(family: Family) -> &'static str {
    if family == Family::Bedrock {
        "region"
    } else if family == Family::Vertex {
        "location"
    } else {
        "base_url"
    }
}

impl Entry {
    /// The region that requests are signed for.
    pub(super) fn region(&self) -> String {
        self.settings.region.clone().unwrap_or_default()
    }

    /// Who pays.
    pub(super) fn project(&self, id: &str) -> Result<String, ProviderFailure> {
        let unset = || ProviderFailure::new(FaultCode::ProviderBadRequest, format!("`providers.{id}.project` is not set"));
        self.settings.project.clone().ok_or_else(unset)
    }

    pub(super) fn location(&self) -> String {
        self.settings.location.clone().unwrap_or_default()
    }

    /// Of models of Anthropic, whoever sells them: the version of the interface that the request is made under, when it is fixed.
    pub(super) fn version_of_anthropic(&self, model: &str, facts: &Facts) -> Option<Option<&str>> {
        let sold = (self.family == Family::Vertex && vertex::is_claude(model))
            || (self.family == Family::Bedrock && bedrock::request::is_claude(model, facts))
            || (self.dialect == "openrouter" && model.trim_start_matches('~').starts_with("anthropic/"));
        match (self.family == Family::Anthropic, sold) {
            (true, _) => Some(self.settings.api_version.as_deref()),
            (false, true) => Some(Some(SAMPLING)),
            (false, false) => None,
        }
    }
}

impl Entry {
    /// Which files its interface has a place for; none where that is not ours to say.
    pub(super) fn carries(&self, model: &str) -> Option<Carries> {
        match self.family {
            Family::OpenAi => Some(openai::request::carries),
            Family::Responses => Some(responses::items::carries),
            Family::Anthropic => Some(anthropic::blocks::carries),
            Family::Vertex if vertex::is_claude(model) => Some(anthropic::blocks::carries),
            Family::Gemini | Family::Vertex => Some(gemini::parts::carries),
            Family::Ollama => Some(ollama::request::carries),
            Family::Cohere => Some(cohere::request::carries),
            Family::Bedrock => Some(bedrock::blocks::carries),
            Family::Script | Family::Hash | Family::Host => None,
        }
    }

    /// How an answer of a model of Anthropic's shows that it began with a thought.
    pub(super) fn begins_with_thought(&self) -> fn(&Message) -> bool {
        match self.family {
            Family::Bedrock => bedrock::request::begins_with_thought,
            Family::OpenAi => openai::request::begins_with_thought,
            Family::Responses | Family::Anthropic | Family::Gemini | Family::Vertex | Family::Ollama | Family::Cohere | Family::Script | Family::Hash
            | Family::Host => anthropic::request::begins_with_thought,
        }
    }

    /// A model of Gemini's, behind its own door or Vertex AI's.
    pub(super) fn is_gemini(&self, model: &str) -> bool {
        self.family == Family::Gemini || (self.family == Family::Vertex && !vertex::is_claude(model))
    }
}

impl Providers {
    /// Looks up what a call of a cloud needs: keys that sign, or the token of the account whose JSON the credential is.
    pub(super) async fn find_in_cloud(&self, entry: &Entry, found: &mut Found, tenant: &str) -> Result<(), ProviderFailure> {
        let settings = &entry.settings;
        match (entry.family, &found.credential) {
            (Family::Bedrock, None) => {
                let (Some(id), Some(secret)) = (&settings.access_key_id, &settings.secret_access_key) else { return Ok(()) };
                let (id, secret) = (self.secrets.get(id, tenant).await?, self.secrets.get(secret, tenant).await?);
                let session: Option<Secret> = match &settings.session_token {
                    Some(name) => Some(self.secrets.get(name, tenant).await?),
                    None => None,
                };
                found.secrets.extend([secret.clone(), id.clone()].into_iter().chain(session.clone()));
                found.keys = Some(Keys { id, secret, session });
            }
            (Family::Vertex, Some(account)) => {
                let (token, key) = entry.tokens.get(account, settings.token_url.as_deref(), &self.outbound).await?;
                found.secrets.extend([token.clone(), key]);
                found.credential = Some(token);
            }
            (Family::Vertex, None) => {
                let text = "the provider `vertex` needs the JSON of a service account; name the secret that holds it as its `credential`";
                return Err(ProviderFailure::new(FaultCode::CredentialMissing, text));
            }
            _ => {}
        }
        Ok(())
    }
}
