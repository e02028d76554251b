//! Owns secrets: definitions contain `secret:NAME`, values are looked up when they are used.

pub(crate) mod masking;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{Config, Secret};
use crate::host::{HostDoor, HostOp};
use crate::model::event::{Fault, FaultCode};

/// How long the host may take to find a secret.
const LIMIT: Duration = Duration::from_secs(5);
/// How long the host may take to get a token: it may have to ask others.
const TOKEN_LIMIT: Duration = Duration::from_secs(8);
/// What a reference to a secret begins with.
pub const PREFIX: &str = "secret:";

/// Where secrets are found: the host, the configuration, the environment, in this order.
#[derive(Clone)]
pub struct Secrets {
    config: Arc<Config>,
    host: HostDoor,
}

impl Secrets {
    /// Secrets of a host and of a configuration, which knows the environment.
    #[must_use]
    pub const fn new(config: Arc<Config>, host: HostDoor) -> Self {
        Self { config, host }
    }

    /// The secret of a name, with or without its `secret:`; none when nobody knows it.
    pub async fn find(&self, name: &str, tenant: &str) -> Option<Secret> {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        if let Some(found) = self.of_host(name, tenant).await {
            return Some(found);
        }
        self.config.secret(name)
    }

    async fn of_host(&self, name: &str, tenant: &str) -> Option<Secret> {
        if !self.host.answers(HostOp::SecretGet) {
            return None;
        }
        let answer = self.host.call(HostOp::SecretGet, json!({"name": name, "tenant": tenant}), LIMIT).await.ok()?;
        answer.get("value").and_then(Value::as_str).filter(|value| !value.is_empty()).map(|value| Secret(value.into()))
    }

    /// The secret of a name.
    ///
    /// # Errors
    /// `credential_missing` when nobody knows it.
    pub async fn get(&self, name: &str, tenant: &str) -> Result<Secret, Fault> {
        self.find(name, tenant).await.ok_or_else(|| {
            let name = name.strip_prefix(PREFIX).unwrap_or(name);
            let text = format!("the secret `{name}` is not set: answer `secret.get`, configure `secrets.{name}` or set the variable {name}");
            Fault::new(FaultCode::CredentialMissing, text)
        })
    }

    /// The host gives tokens to MCP servers that want authorization.
    pub fn gives_tokens(&self) -> bool {
        self.host.answers(HostOp::McpAuthorize)
    }

    /// A token for an MCP server that wants authorization.
    ///
    /// # Errors
    /// What the host says, or that it gave none.
    pub async fn token(&self, wanted: Value) -> Result<Secret, String> {
        let answer = self.host.call(HostOp::McpAuthorize, wanted, TOKEN_LIMIT).await.map_err(|failure| failure.message)?;
        let token = answer.get("token").and_then(Value::as_str).filter(|token| !token.is_empty());
        token.map(|token| Secret(token.into())).ok_or_else(|| "its answer to `mcp.authorize` has no `token`".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn unknown_and_empty_secrets_are_missing() {
        let config = Config::with(json!({"secrets": {"SET": "value", "EMPTY": ""}})).expect("a configuration");
        let secrets = Secrets::new(Arc::new(config), HostDoor::default());
        let found = async |name| secrets.find(name, "").await.map(|secret| secret.0.to_string());
        assert_eq!(found("secret:SET").await.as_deref(), Some("value"));
        assert_eq!(found("SET").await.as_deref(), Some("value"));
        assert_eq!(found("EMPTY").await, None);
        let fault = secrets.get("secret:NONE", "").await.expect_err("unknown");
        assert_eq!(fault.code, FaultCode::CredentialMissing);
    }
}
