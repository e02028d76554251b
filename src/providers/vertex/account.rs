//! Owns a Google service account: its JSON, and the signed request for a token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Url;
use rustls::SignatureScheme;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::SigningKey;
use serde::Deserialize;
use serde_json::json;

use crate::model::Timestamp;

/// What a token is good for.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// How long a signed question holds, which is also the longest life of a token.
const LIFE_SECONDS: i64 = 3600;
/// Where the only kind of server is that such a key is meant for.
const GOOGLE: &str = ".googleapis.com";

/// What counts of the JSON.
#[derive(Deserialize)]
pub(super) struct Account {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    pub(super) private_key: String,
    #[serde(default)]
    private_key_id: Option<String>,
    #[serde(default)]
    token_uri: Option<String>,
}

impl Account {
    /// Parses the JSON. Errors contain nothing of it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let account: Self = serde_json::from_str(text)
            .map_err(|_| "it is not the JSON of a service account with `type`, `client_email` and `private_key`".to_owned())?;
        if account.kind != "service_account" {
            return Err("its `type` is not `service_account`; other kinds of credentials are not taken".into());
        }
        Ok(account)
    }

    /// Where tokens are asked for. The JSON may name Google's own servers only; the configuration may name any.
    pub(super) fn token_url(&self, configured: Option<&str>) -> Result<String, String> {
        if let Some(url) = configured {
            return Ok(url.to_owned());
        }
        let told = self.token_uri.as_deref().unwrap_or("https://oauth2.googleapis.com/token");
        let url = Url::parse(told).ok().filter(|url| {
            let plain = url.username().is_empty() && url.password().is_none() && url.port().is_none();
            url.scheme() == "https" && plain && url.host_str().is_some_and(|host| host.ends_with(GOOGLE))
        });
        let refused = "its `token_uri` is no https address of googleapis.com; configure `token_url` of the provider when tokens come from elsewhere";
        url.map(String::from).ok_or_else(|| refused.into())
    }

    /// A question for a token, signed with the account's key: <https://developers.google.com/identity/protocols/oauth2/service-account>.
    pub(super) fn question(&self, url: &str, now: Timestamp) -> Result<String, String> {
        let issued = now.0.div_euclid(1000);
        let head = json!({"alg": "RS256", "typ": "JWT", "kid": self.private_key_id});
        let claims = json!({"iss": self.client_email, "scope": SCOPE, "aud": url, "iat": issued, "exp": issued + LIFE_SECONDS});
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(head), part(claims));
        let signature = self.signature(signed.as_bytes())?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn signature(&self, text: &[u8]) -> Result<Vec<u8>, String> {
        let unreadable = || "its `private_key` is no RSA key in PEM of at least 2048 bits".to_owned();
        let key = PrivateKeyDer::from_pem_slice(self.private_key.as_bytes()).map_err(|_| unreadable())?;
        let key = rustls::crypto::ring::sign::RsaSigningKey::new(&key).map_err(|_| unreadable())?;
        let signer = key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]).ok_or_else(unreadable)?;
        signer.sign(text).map_err(|_| unreadable())
    }
}
