//! Owns what providers of clouds need beside a key: a place, an account, keys that sign.

use super::{Entry, Family, Found, Providers};
use crate::config::{Config, ProviderConfig, Secret};
use crate::model::event::FaultCode;
use crate::model::registry::Facts;
use crate::providers::anthropic::request::SAMPLING;
use crate::providers::bedrock::sign::Keys;
use crate::providers::{ProviderFailure, bedrock, vertex};

/// What is wrong with the settings of a provider of a cloud, and what to do; one that is not configured is not looked at.
pub(super) fn problem(id: &str, family: Family, config: &Config) -> Option<String> {
    let settings = config.providers.get(id)?;
    let is_set = |value: &Option<String>| value.as_ref().is_some_and(|text| !text.is_empty());
    let odd = |value: &Option<String>| value.as_ref().is_some_and(|text| !text.chars().all(|sign| sign.is_ascii_alphanumeric() || "-.:".contains(sign)));
    let signing = [&settings.access_key_id, &settings.secret_access_key, &settings.session_token].into_iter().any(Option::is_some);
    let place = [("region", &settings.region), ("location", &settings.location), ("project", &settings.project)];
    if let Some((key, _)) = place.iter().find(|(_, value)| odd(value)) {
        return Some(format!("providers.{id}.{key}: holds other signs than letters, digits, `-`, `.` and `:`"));
    }
    let why = match family {
        Family::Bedrock if !is_set(&settings.region) && (!is_set(&settings.base_url) || signing) => "region: is not set; name the region of the models, such as `us-east-1`",
        Family::Bedrock if signing && (!is_set(&settings.access_key_id) || !is_set(&settings.secret_access_key)) => {
            "access_key_id: requests are signed with `access_key_id` and `secret_access_key` together; set both, or a `credential` with an API key"
        }
        Family::Bedrock if signing && settings.credential.is_some() => "credential: an API key and keys that sign exclude each other; take one away",
        Family::Bedrock if config.secrets_of(id).is_empty() => {
            "credential: is not set; name the secret with an API key, or `access_key_id` and `secret_access_key`"
        }
        Family::Vertex if !is_set(&settings.project) => "project: is not set; name the Google Cloud project",
        Family::Vertex if !is_set(&settings.location) => "location: is not set; name the location of the models, such as `us-east5` or `global`",
        Family::Vertex if settings.credential.is_none() => "credential: is not set; name the secret that holds the JSON of a service account",
        Family::Bedrock | Family::Vertex => return None,
        _ if signing => "access_key_id: only providers of the kind `bedrock` sign their requests",
        _ => return None,
    };
    Some(format!("providers.{id}.{why}"))
}

/// Where the models are, by the place that is configured.
pub(super) fn base_url(family: Family, settings: &ProviderConfig) -> Option<String> {
    match family {
        Family::Bedrock => settings.region.as_deref().map(bedrock::base_url),
        Family::Vertex => settings.location.as_deref().map(vertex::base_url),
        _ => None,
    }
}

/// The key that says where the models are.
pub(super) const fn place_of(family: Family) -> &'static str {
    match family {
        Family::Bedrock => "region",
        Family::Vertex => "location",
        _ => "base_url",
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
        match self.family {
            Family::Anthropic => Some(self.settings.api_version.as_deref()),
            Family::Vertex => vertex::is_claude(model).then_some(Some(SAMPLING)),
            Family::Bedrock => bedrock::request::is_claude(model, facts).then_some(Some(SAMPLING)),
            _ => None,
        }
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
