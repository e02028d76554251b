//! Owns the access tokens of service accounts: one request for all waiting calls, cached, renewed before they expire.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::account::Account;
use crate::config::Secret;
use crate::model::Timestamp;
use crate::model::event::FaultCode;
use crate::providers::ProviderFailure;
use crate::providers::http_client::Outbound;
use crate::secrets::masking::Masker;
use crate::sync::Mutex;

/// How long before its end a token is replaced.
const BEFORE_MS: i64 = 5 * 60 * 1000;
/// Accounts whose tokens are kept.
const MOST: usize = 1024;
const GRANT: &str = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";

/// The tokens of a provider's accounts.
#[derive(Default)]
pub struct Tokens(Mutex<HashMap<[u8; 32], Arc<TokenSlot>>>);

/// The token of one account; the holder of the lock requests it, the others wait.
#[derive(Default)]
struct TokenSlot(tokio::sync::Mutex<Kept>);

#[derive(Default)]
struct Kept {
    token: Option<Held>,
    /// What the last question was refused with, and when.
    refused: Option<(Instant, ProviderFailure)>,
}

/// A token, when it ends, and when it came.
struct Held {
    token: Secret,
    end: Timestamp,
    came: Instant,
}

impl Kept {
    /// The old token where no new one could be had: it still holds for a while.
    fn old(&self, now: Timestamp, failure: &ProviderFailure) -> Option<Secret> {
        let held = self.token.as_ref().filter(|held| held.end > now && failure.fault.code == FaultCode::ProviderUnavailable);
        held.map(|held| held.token.clone())
    }
}

/// Letters of what a token server says that are passed on.
const TEXT: usize = 600;

/// What a token server answers.
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: u64,
}

#[derive(Deserialize)]
struct Denied {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Tokens {
    /// The token of an account, and what is secret beside it. `url`: where the configuration says that tokens come from.
    ///
    /// # Errors
    /// The account cannot be read, or there is no token for it.
    pub async fn get(&self, account: &Secret, url: Option<&str>, outbound: &Outbound) -> Result<(Secret, Secret), ProviderFailure> {
        let read = Account::read(&account.0).map_err(|why| unusable(&why))?;
        let key = Secret(read.private_key.trim().into());
        let (asked, slot) = (Instant::now(), self.slot_of(account));
        let mut kept = slot.0.lock().await;
        let now = outbound.now();
        // One that came while this call waited is taken however short it lives.
        let fresh = |held: &&Held| held.end.0 - now.0 > BEFORE_MS || (held.came >= asked && held.end > now);
        if let Some(held) = kept.token.as_ref().filter(fresh) {
            return Ok((held.token.clone(), key));
        }
        // Who waited while it was refused is refused with it: asking again would not be another answer.
        if let Some((_, failure)) = kept.refused.as_ref().filter(|(at, _)| *at >= asked) {
            return kept.old(now, failure).map(|token| (token, key)).ok_or_else(|| failure.clone());
        }
        match ask(&read, account, url, outbound, now).await {
            Ok((token, end)) => {
                kept.token = Some(Held { token: token.clone(), end, came: Instant::now() });
                Ok((token, key))
            }
            Err(failure) => {
                kept.refused = Some((Instant::now(), failure.clone()));
                kept.old(now, &failure).map(|token| (token, key)).ok_or(failure)
            }
        }
    }

    /// A token that was refused is not used again: the next call asks for another one. Where one is being asked for already, nothing is to be done.
    pub fn forget(&self, token: &Secret) {
        for slot in self.0.lock().values() {
            let Ok(mut kept) = slot.0.try_lock() else { continue };
            if kept.token.as_ref().is_some_and(|held| held.token.0 == token.0) {
                kept.token = None;
            }
        }
    }

    fn slot_of(&self, account: &Secret) -> Arc<TokenSlot> {
        let mut slots = self.0.lock();
        if slots.len() >= MOST {
            // Accounts with waiting calls stay.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(Sha256::digest(account.0.as_bytes()).into()).or_default())
    }
}

fn unusable(why: &str) -> ProviderFailure {
    ProviderFailure::new(FaultCode::ProviderAuth, format!("the credential of the provider cannot be used: {why}"))
}

async fn ask(account: &Account, secret: &Secret, url: Option<&str>, outbound: &Outbound, now: Timestamp) -> Result<(Secret, Timestamp), ProviderFailure> {
    let url = account.token_url(url).map_err(|why| unusable(&why))?;
    let question = account.question(&url, now).map_err(|why| unusable(&why))?;
    let unavailable = |why: String| ProviderFailure::new(FaultCode::ProviderUnavailable, format!("no token for the service account: {why}"));
    let masker = Masker::of(&[secret.clone(), Secret(account.private_key.trim().into()), Secret(question.as_str().into())]);
    let (status, body) = outbound.form(&url, format!("grant_type={GRANT}&assertion={question}")).await.map_err(unavailable)?;
    if (200..300).contains(&status) {
        let granted: Granted = serde_json::from_slice(&body).map_err(|_| unavailable("the answer of the token server holds no `access_token`".into()))?;
        let life = i64::try_from(granted.expires_in.min(24 * 3600)).unwrap_or(0) * 1000;
        return Ok((Secret(granted.access_token.into()), Timestamp(now.0 + life)));
    }
    let mut text = match serde_json::from_slice::<Denied>(&body) {
        Ok(denied) => format!("{}: {}", denied.error, denied.error_description),
        Err(_) => String::new(),
    };
    masker.message(&mut text);
    let text: String = text.chars().take(TEXT).collect();
    let text = text.trim_end_matches([':', ' ']);
    let text = if text.is_empty() { format!("the token server answered {status}") } else { format!("the token server answered {status}: {text}") };
    Err(match status {
        400..=499 if status != 429 && status != 408 => {
            let text = format!("{text}; check that the service account exists, that its key is current and that the clock of this machine is right");
            ProviderFailure::new(FaultCode::ProviderAuth, text)
        }
        _ => unavailable(text),
    })
}
