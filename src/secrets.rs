//! Owns secrets: they are named `secret:NAME` everywhere and looked up only when they are used.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::host::{HostDoor, HostOp};
use crate::model::event::{Fault, FaultCode};
use crate::providers::Secret;

/// How long the host may take to find a secret.
const LIMIT: Duration = Duration::from_secs(5);
/// What a reference to a secret begins with.
pub const PREFIX: &str = "secret:";

/// Where secrets are found: the host, the configuration, the environment, in this order.
#[derive(Clone)]
pub struct Secrets {
    configured: Arc<BTreeMap<String, Secret>>,
    environment: Arc<dyn Fn(&str) -> Option<String> + Send + Sync>,
    host: HostDoor,
}

impl Secrets {
    /// Secrets of a configuration, the process's environment and a host.
    #[must_use]
    pub fn new(configured: BTreeMap<String, Secret>, host: HostDoor) -> Self {
        Self::with_environment(configured, host, |name| std::env::var(name).ok())
    }

    /// The same with another environment.
    #[must_use]
    pub fn with_environment(
        configured: BTreeMap<String, Secret>,
        host: HostDoor,
        environment: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self { configured: Arc::new(configured), environment: Arc::new(environment), host }
    }

    /// The secret of a name, with or without its `secret:`; none when nobody knows it.
    pub async fn find(&self, name: &str, tenant: &str) -> Option<Secret> {
        let name = name.strip_prefix(PREFIX).unwrap_or(name);
        if let Some(found) = self.of_host(name, tenant).await {
            return Some(found);
        }
        let own = self.configured.get(name).cloned();
        own.or_else(|| (self.environment)(name).map(|value| Secret(value.into()))).filter(|secret| !secret.0.is_empty())
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn configuration_wins_over_environment_and_empty_is_missing() {
        let configured = BTreeMap::from([("A".to_owned(), Secret("from config".into()))]);
        let environment = |name: &str| match name {
            "A" | "B" => Some("from env".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let secrets = Secrets::with_environment(configured, HostDoor::default(), environment);
        let found = async |name| secrets.find(name, "").await.map(|secret| secret.0.to_string());
        assert_eq!(found("secret:A").await.as_deref(), Some("from config"));
        assert_eq!(found("B").await.as_deref(), Some("from env"));
        assert_eq!(found("EMPTY").await, None);
        let fault = secrets.get("secret:NONE", "").await.expect_err("unknown");
        assert_eq!(fault.code, FaultCode::CredentialMissing);
    }
}
