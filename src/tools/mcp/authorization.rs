//! Owns the OAuth tokens of a server: requested from the host with the server's challenge, then reused.

use std::sync::Arc;

use serde_json::json;

use crate::config::Secret;
use crate::secrets::Secrets;
use crate::sync::Mutex;

/// One request asks for this many tokens at most: to be known, and to be allowed more.
pub(super) const TOKENS: usize = 2;
/// Tokens that are still masked; the last one is in use.
const KEPT: usize = 8;

/// The authorization for one server, shared by all who speak to it over one connection.
#[derive(Clone)]
pub(super) struct Authorization(Arc<Shared>);

struct Shared {
    secrets: Secrets,
    server: String,
    url: String,
    tenant: String,
    given: Mutex<Vec<Secret>>,
    /// Only one asks; others use what it got.
    asking: tokio::sync::Mutex<()>,
}

impl Authorization {
    pub(super) fn new(secrets: &Secrets, server: &str, url: &str, tenant: &str) -> Self {
        let (server, url, tenant) = (server.to_owned(), url.to_owned(), tenant.to_owned());
        let (given, asking) = Default::default();
        Self(Arc::new(Shared { secrets: secrets.clone(), server, url, tenant, given, asking }))
    }

    /// The token that the host gave last.
    pub(super) fn current(&self) -> Option<String> {
        self.0.given.lock().last().map(|token| token.0.to_string())
    }

    /// Values that must not be shown.
    pub(super) fn hidden(&self) -> Vec<Arc<str>> {
        self.0.given.lock().iter().map(|token| Arc::clone(&token.0)).collect()
    }

    /// Another token than the one that was refused; none when the host gives no tokens.
    ///
    /// # Errors
    /// What the host says, as a sentence's end.
    pub(super) async fn renewed(&self, refused: Option<&str>, status: u16, challenge: &str) -> Option<Result<String, String>> {
        if !self.0.secrets.gives_tokens() {
            return None;
        }
        let _turn = self.0.asking.lock().await;
        if let Some(token) = self.current().filter(|token| Some(token.as_str()) != refused) {
            return Some(Ok(token));
        }
        let wanted = json!({
            "server": self.0.server, "url": self.0.url, "tenant": self.0.tenant, "status": status, "challenge": challenge,
        });
        let token = match self.0.secrets.token(wanted).await {
            Ok(token) => token,
            Err(why) => return Some(Err(format!("wants authorization ({status}), and the application gave none: {why}"))),
        };
        let told = token.0.to_string();
        let mut given = self.0.given.lock();
        if given.len() >= KEPT {
            given.remove(0);
        }
        given.push(token);
        drop(given);
        Some(Ok(told))
    }
}
