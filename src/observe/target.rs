//! Owns one receiving system: its address, format, requests and counters.

use std::sync::{Arc, OnceLock};

use http::{HeaderName, HeaderValue};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::buffer::{Buffer, Counts};
use super::piece::{Piece, Request};
use super::{address, inspector, langfuse, otlp};
use crate::config::Config;
use crate::model::secret::is_reference;
use crate::providers::trust::Trust;
use crate::secrets::Secrets;
use crate::sync::Mutex;

/// What a system reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// OpenTelemetry as protobuf.
    Otlp,
    /// The same with what Langfuse wants to know besides.
    Langfuse,
    /// Inspector's own JSON.
    Inspector,
}

/// A system as the configuration names it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) name: &'static str,
    pub(super) language: Language,
    pub(super) url: String,
    /// With their values, or with `secret:NAME`.
    pub(super) headers: Vec<(String, Credential)>,
    pub(super) environment: String,
    /// It receives content: texts of models, tools and people.
    pub(super) content: bool,
}

/// What a header says.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    /// This, or the secret that it names.
    Text(String),
    /// A user name and a password.
    Basic(Option<String>, Option<String>),
    /// A key that must be set, with its name in the configuration.
    Key(&'static str, Option<String>),
}

/// One system that receives runs.
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) secrets: Secrets,
    pub(super) trust: Trust,
    pub(super) client: OnceLock<Result<reqwest::Client, String>>,
    pub(super) arrival: Notify,
    /// Send what waits, then end.
    pub(super) closing: CancellationToken,
    /// Nobody waits any more.
    pub(super) ended: CancellationToken,
    /// All was sent or given up.
    pub(super) over: CancellationToken,
    started: OnceLock<()>,
    buffer: Mutex<Buffer>,
}

/// The systems that a configuration names.
pub(super) fn configured(config: &Config) -> Vec<Place> {
    let seen = &config.observability;
    let place = |name, language, url, headers, content: Option<bool>| {
        let content = content.unwrap_or(seen.otlp.content);
        Place { name, language, url, headers, environment: config.environment.clone(), content }
    };
    let mut places = Vec::new();
    if let Some(endpoint) = &seen.otlp.endpoint {
        places.push(place("otlp", Language::Otlp, address::traces(endpoint), headers_of(config), None));
    }
    if seen.langfuse.enabled {
        let keys = Credential::Basic(seen.langfuse.public_key.clone(), seen.langfuse.secret_key.clone());
        let version = Credential::Text(langfuse::INGESTION.into());
        let headers = vec![("authorization".into(), keys), ("x-langfuse-ingestion-version".into(), version)];
        places.push(place("langfuse", Language::Langfuse, address::langfuse(seen.langfuse.host.as_deref()), headers, seen.langfuse.content));
    }
    if seen.inspector.enabled {
        let key = Credential::Key("observability.inspector.ingestion_key", seen.inspector.ingestion_key.clone());
        let version = Credential::Text(env!("CARGO_PKG_VERSION").into());
        let headers = vec![
            ("x-inspector-key".into(), key),
            ("x-inspector-version".into(), version),
            ("accept".into(), Credential::Text("application/json".into())),
        ];
        places.push(place("inspector", Language::Inspector, address::inspector(seen.inspector.url.as_deref()), headers, seen.inspector.content));
    }
    places
}

/// Where the configuration wants metrics.
pub(super) fn of_metrics(config: &Config) -> Option<Place> {
    let seen = &config.observability.otlp;
    let endpoint = seen.endpoint.as_deref().filter(|_| seen.metrics)?;
    let (url, environment) = (address::metrics(endpoint), config.environment.clone());
    Some(Place { name: "otlp_metrics", language: Language::Otlp, url, headers: headers_of(config), environment, content: false })
}

fn headers_of(config: &Config) -> Vec<(String, Credential)> {
    config.observability.otlp.headers.iter().map(|(name, value)| (name.clone(), Credential::Text(value.clone()))).collect()
}

impl Target {
    pub(super) fn new(place: Place, secrets: Secrets, trust: Trust) -> Self {
        let mut buffer = Buffer::default();
        buffer.counts.target = place.name;
        Self {
            place,
            secrets,
            trust,
            client: OnceLock::new(),
            arrival: Notify::new(),
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
            over: CancellationToken::new(),
            started: OnceLock::new(),
            buffer: Mutex::new(buffer),
        }
    }

    pub(super) fn take(&self, piece: &Arc<Piece>) {
        if self.buffer.lock().take(piece) {
            self.arrival.notify_one();
        }
    }

    pub(super) fn batch(&self) -> Vec<Arc<Piece>> {
        self.buffer.lock().batch()
    }

    pub(super) fn waiting(&self) -> usize {
        self.buffer.lock().len()
    }

    pub(super) fn counts(&self) -> Counts {
        let buffer = self.buffer.lock();
        Counts { waiting: buffer.len(), ..buffer.counts.clone() }
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.buffer.lock().counts);
    }

    /// Somebody sends: `finish` has something to wait for.
    pub(super) fn begin(&self) {
        let _begun_before = self.started.set(());
    }

    /// Waits until all is sent.
    pub(super) async fn finish(&self) {
        self.closing.cancel();
        if self.started.get().is_some() {
            self.over.cancelled().await;
        }
    }

    /// Nothing more is sent.
    pub(super) fn end(&self) {
        self.closing.cancel();
        self.ended.cancel();
        self.buffer.lock().shut();
    }

    /// Writes a warning about what was given up.
    pub(super) fn report(&self) {
        let counts = self.counts();
        if counts.dropped > 0 {
            tracing::warn!(target = counts.target, dropped = counts.dropped, sent = counts.sent, "spans were not delivered and are lost");
        }
    }

    /// The requests that send these pieces.
    pub(super) fn requests(&self, pieces: &[Arc<Piece>]) -> Vec<Request> {
        let about = (self.place.environment.as_str(), self.place.content);
        match self.place.language {
            Language::Otlp => otlp::requests(pieces, about, |_| Vec::new()),
            Language::Langfuse => otlp::requests(pieces, about, |piece| langfuse::attributes(piece, self.place.content)),
            Language::Inspector => inspector::requests(pieces, self.place.content),
        }
    }

    pub(super) const fn content_type(&self) -> &'static str {
        match self.place.language {
            Language::Otlp | Language::Langfuse => "application/x-protobuf",
            Language::Inspector => "application/json",
        }
    }

    /// The headers with their secrets.
    ///
    /// # Errors
    /// A secret that nobody knows; a text that is no header.
    pub(super) async fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let mut headers = Vec::new();
        for (name, credential) in &self.place.headers {
            let text = match credential {
                Credential::Text(text) => self.resolved(text).await?,
                Credential::Key(key, text) => self.resolved(text.as_deref().ok_or_else(|| format!("`{key}` is not set"))?).await?,
                Credential::Basic(user, password) => {
                    let missing = || "`observability.langfuse.public_key` and `.secret_key` must be set".to_owned();
                    let user = self.resolved(user.as_deref().ok_or_else(missing)?).await?;
                    let password = self.resolved(password.as_deref().ok_or_else(missing)?).await?;
                    address::basic(&user, &password)
                }
            };
            let wrong = || format!("the header `{name}` cannot be sent: its name or value is not one");
            let name_ = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(&text).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.push((name_, value));
        }
        Ok(headers)
    }

    async fn resolved(&self, text: &str) -> Result<String, String> {
        if !is_reference(text) {
            return Ok(text.to_owned());
        }
        let found = self.secrets.find(text, "").await;
        found.map(|secret| secret.0.to_string()).ok_or_else(|| format!("`{text}` is not set"))
    }
}
