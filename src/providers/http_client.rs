//! Owns the HTTP clients for model providers: time limits (`timeouts.model_*`), retries and size limits.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt};
use futures_util::stream::BoxStream;
use http::{HeaderMap, HeaderName, HeaderValue};
use rustls::ClientConfig;
use tokio::time::{Instant, timeout_at};

use crate::sync::Mutex;

use super::{ProviderFailure, opening};
use super::limits::{Gate, Key};
use super::trust::Trust;
use super::refusal::{self, Refused};
use crate::clock::Clock;
use crate::model::address::without_credentials;
use crate::model::Timestamp;
use crate::model::event::FaultCode;

/// The bytes to read of an error answer.
const ERROR_LIMIT: usize = 64 << 10;
/// How long a connection may take.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// What the studio calls itself: some providers turn away who does not say what it is.
pub(super) const USER_AGENT: &str = concat!("workflow-studio/", env!("CARGO_PKG_VERSION"));
/// A longer wait that a provider asks for is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The wait before the first retry when the provider names none.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// How long the text of a refusal is waited for: its status is known by then.
const REFUSAL: Duration = Duration::from_secs(5);
/// Letters of the name of an answer that are kept.
const ID: usize = 200;
/// How long a usage report is waited for once the answer is complete.
const LINGER: Duration = Duration::from_secs(2);
/// Calls over one HTTP/2 connection at most. Servers commonly allow a hundred, and a call above that waits inside the client, unseen.
const SHARE: usize = 64;
/// How long an HTTP/2 connection with open calls may be silent before it is asked whether it is alive.
const PING: Duration = Duration::from_secs(20);
/// How long that answer may take; else its calls fail now, and none is made on it again.
const PONG: Duration = Duration::from_secs(10);

/// How long a provider may take, how much it may say, and how often it is asked again.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// To the first byte of the answer.
    pub first_byte: Duration,
    /// Between two things that it says; comments and blank lines say nothing.
    pub idle: Duration,
    /// The whole call, with its retries.
    pub total: Duration,
    /// Bytes of one answer.
    pub answer_bytes: usize,
    /// Further attempts.
    pub retries: u32,
}

impl TimeLimits {
    /// When a call that begins now must be over.
    pub fn until(&self) -> Instant {
        after(self.total)
    }
}

/// The moment after so long a wait.
fn after(wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
    Instant::now() + wait.min(FAR)
}

/// Signs an attempt at sending these bytes: the headers that say so. A signature holds for minutes only, so each attempt has its own.
pub(super) type Sign<'a> = &'a (dyn Fn(&[u8]) -> Result<Vec<(HeaderName, HeaderValue)>, ProviderFailure> + Send + Sync);

/// One request to a provider: always a POST of JSON.
pub struct Request<'a> {
    /// The whole URL.
    pub url: String,
    /// Besides the content type.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The JSON.
    pub body: Bytes,
    /// Where attempts are signed.
    pub(super) sign: Option<Sign<'a>>,
}

/// A client with connections of its own, which no other lane uses.
#[derive(Clone)]
struct Lane {
    client: reqwest::Client,
    /// Held once by the list of lanes, and by each call that is open.
    calls: Arc<()>,
}

/// The HTTP clients for configured providers. One is made at its first call, so that a process may fork before.
pub struct Outbound {
    lanes: Mutex<Vec<Lane>>,
    tls: OnceLock<Result<ClientConfig, String>>,
    clock: Arc<dyn Clock>,
    trust: Trust,
    proxies: bool,
    #[cfg(any(test, feature = "fuzzing"))]
    canned: Option<Vec<Bytes>>,
}

impl Outbound {
    /// A way out; nothing is opened yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, trust: Trust) -> Self {
        Self {
            lanes: Mutex::new(Vec::new()),
            tls: OnceLock::new(),
            clock,
            trust,
            proxies: true,
            #[cfg(any(test, feature = "fuzzing"))]
            canned: None,
        }
    }

    /// A way out that ignores the proxies of the environment.
    #[must_use]
    pub fn direct(clock: Arc<dyn Clock>) -> Self {
        Self { proxies: false, ..Self::new(clock, Trust::default()) }
    }

    /// A way out that leads nowhere: every request is answered with these bytes.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn canned(clock: Arc<dyn Clock>, pieces: Vec<Bytes>) -> Self {
        Self { canned: Some(pieces), ..Self::new(clock, Trust::default()) }
    }

    /// The first lane with room; a further one when none has any.
    fn lane(&self) -> Result<Lane, ProviderFailure> {
        let mut lanes = self.lanes.lock();
        if let Some(lane) = lanes.iter().find(|lane| Arc::strong_count(&lane.calls) <= SHARE) {
            return Ok(lane.clone());
        }
        let tls = self.tls.get_or_init(|| self.trust.tls()).clone();
        let client = tls.and_then(|tls| build(tls, self.proxies));
        let client = client.map_err(|problem| ProviderFailure::new(FaultCode::ProviderUnavailable, problem))?;
        let lane = Lane { client, calls: Arc::default() };
        lanes.push(lane.clone());
        Ok(lane)
    }

    /// Asks for anything at all, without a credential; any answer will do.
    pub async fn reach(&self, url: &str) -> Result<u16, String> {
        let lane = self.lane().map_err(|failure| failure.fault.message)?;
        let answer = lane.client.get(url).timeout(CONNECT).send().await;
        answer.map(|answer| answer.status().as_u16()).map_err(|error| format!("no answer from {}: {}", without_credentials(url), error.without_url()))
    }

    /// The wall clock.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Posts a form and reads a short answer: its status and its text.
    pub(super) async fn form(&self, url: &str, form: String) -> Result<(u16, Vec<u8>), String> {
        let lane = self.lane().map_err(|failure| failure.fault.message)?;
        let call = lane.client.post(url).header(http::header::CONTENT_TYPE, "application/x-www-form-urlencoded").timeout(CONNECT).body(form);
        let answer = call.send().await.map_err(|problem| cause(&problem))?;
        let (status, mut pieces, mut read) = (answer.status().as_u16(), answer.bytes_stream(), Vec::new());
        while let Some(piece) = pieces.next().await {
            read.extend_from_slice(&piece.map_err(|problem| cause(&problem))?);
            if read.len() > ERROR_LIMIT {
                return Err(format!("its answer is larger than {ERROR_LIMIT} bytes"));
            }
        }
        Ok((status, read))
    }

    /// Sends a request and waits for the beginning of its answer, again when that may help and nothing of an answer came yet.
    ///
    /// # Errors
    /// The provider refused, could not be reached or kept silent.
    pub async fn open(
        &self,
        request: &Request<'_>,
        time_limits: &TimeLimits,
        until: Instant,
        (gate, key): (&Gate, Option<Key>),
    ) -> Result<Answer, ProviderFailure> {
        #[cfg(any(test, feature = "fuzzing"))]
        if let Some(pieces) = &self.canned {
            return Ok(Answer::of(pieces.clone(), *time_limits, until));
        }
        let mut attempt = 0;
        loop {
            let refused = match self.once(request, time_limits, until).await {
                Ok(answer) => return Ok(answer),
                Err(refused) => refused,
            };
            if let (Some(key), Some(rest)) = (key, refused.wait) {
                gate.rest(key, rest);
            }
            let wait = refused.retry.then(|| self.wait(&refused, attempt)).flatten();
            let wait = wait.filter(|wait| Instant::now() + *wait < until);
            let Some(wait) = wait.filter(|_| attempt < time_limits.retries) else { return Err(refused.failure) };
            // Another call may have been told to wait longer: as long as a call waits for room, and no longer.
            let rests = gate.rests_for(key);
            if rests > wait && (rests > gate.patience() || Instant::now() + rests >= until) {
                return Err(refused.failure);
            }
            tokio::time::sleep(wait.max(rests)).await;
            gate.again();
            attempt += 1;
        }
    }

    /// None when the provider asks for a longer wait than a run should make.
    fn wait(&self, refused: &Refused, attempt: u32) -> Option<Duration> {
        if let Some(wait) = refused.wait {
            return (wait <= LONGEST_WAIT).then_some(wait);
        }
        let mut random = [0; 1];
        self.clock.random(&mut random);
        let wait = FIRST_WAIT.saturating_mul(1 << attempt.min(6));
        Some(wait.mul_f32(0.75 + f32::from(random[0]) / 512.0))
    }

    async fn once(&self, request: &Request<'_>, time_limits: &TimeLimits, until: Instant) -> Result<Answer, Refused> {
        let first_byte = after(time_limits.first_byte).min(until);
        let unanswered = |_| Refused::last(unanswered(time_limits, first_byte == until));
        let (status, headers, rest) = timeout_at(first_byte, self.head(request)).await.map_err(unanswered)??;
        let mut answer = Answer::new(rest, *time_limits, until, is_json(&headers));
        answer.is_binary = is_of_kind(&headers, "application/vnd.amazon.eventstream");
        answer.id = headers.get("x-amzn-requestid").and_then(|id| id.to_str().ok()).map(|id| id.chars().take(ID).collect());
        if !(200..300).contains(&status) {
            return Err(self.refusal(status, &headers, answer).await);
        }
        let first = timeout_at(first_byte, answer.rest.try_next()).await.map_err(unanswered)?;
        answer.first = first.map_err(|cause| broken(&cause, true))?;
        opening::look(answer, &headers, self.clock.now()).await
    }

    async fn head(&self, request: &Request<'_>) -> Result<(u16, HeaderMap, Rest), Refused> {
        let Lane { client, calls } = self.lane().map_err(Refused::last)?;
        let mut call = client.post(&request.url).header(http::header::CONTENT_TYPE, "application/json");
        for (name, value) in &request.headers {
            call = call.header(name, value);
        }
        let signed = request.sign.map(|sign| sign(&request.body)).transpose().map_err(Refused::last)?.unwrap_or_default();
        for (name, value) in signed.iter().filter(|signed| !request.headers.iter().any(|header| header.0 == signed.0)) {
            call = call.header(name, value);
        }
        let response = call.body(request.body.clone()).send().await.map_err(|problem| broken(&cause(&problem), !problem.is_builder()))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let rest = response.bytes_stream().map(move |piece| {
            let _open = &calls;
            piece.map_err(|problem| cause(&problem))
        });
        let rest = rest.boxed();
        Ok((status, headers, rest))
    }

    /// The time to wait for an error's body: the status already says what to do.
    async fn refusal(&self, status: u16, headers: &HeaderMap, mut answer: Answer) -> Refused {
        answer.left = ERROR_LIMIT;
        answer.until = answer.until.min(after(REFUSAL.min(answer.time_limits.first_byte)));
        let body = answer.read_what_is_allowed().await;
        refusal::read(status, headers, &body, self.clock.now())
    }
}

/// The bytes of an answer as they come from the connection.
type Rest = BoxStream<'static, Result<Bytes, String>>;

/// The bytes of an answer while they come. Dropping it ends the request.
pub struct Answer {
    first: Option<Bytes>,
    rest: Rest,
    time_limits: TimeLimits,
    /// When the whole call must be over.
    until: Instant,
    /// When the provider has been silent for too long.
    silent_at: Instant,
    /// Until when usage is waited for behind the end of the answer, whatever else comes.
    lingers_until: Option<Instant>,
    left: usize,
    is_json: bool,
    is_binary: bool,
    /// What its head calls it; most families name an answer in its body.
    id: Option<String>,
}

impl Answer {
    fn new(rest: Rest, time_limits: TimeLimits, until: Instant, is_json: bool) -> Self {
        let (silent_at, left) = (after(time_limits.idle), time_limits.answer_bytes);
        Self { first: None, rest, time_limits, until, silent_at, lingers_until: None, left, is_json, is_binary: false, id: None }
    }

    /// An answer of these bytes, without a connection.
    #[cfg(any(test, feature = "fuzzing"))]
    fn of(pieces: Vec<Bytes>, time_limits: TimeLimits, until: Instant) -> Self {
        let rest = futures_util::stream::iter(pieces.into_iter().map(Ok)).boxed();
        Self::new(rest, time_limits, until, false)
    }

    /// What it may measure, and so any part of it.
    pub(super) const fn limit(&self) -> usize {
        self.time_limits.answer_bytes
    }

    /// The provider said something: its silence is counted from here.
    pub(super) fn said(&mut self) {
        self.silent_at = after(self.time_limits.idle);
    }

    /// All that counts may have been said: what follows is waited for only a little, unless there was text in it (`more`).
    pub(super) fn lingers(&mut self, more: bool) {
        self.time_limits.idle = self.time_limits.idle.min(LINGER);
        self.lingers_until.take_if(|_| more);
        self.silent_at = *self.lingers_until.get_or_insert_with(|| after(self.time_limits.idle));
    }

    /// It is one JSON value, whatever was asked for: it says so, or it begins like one.
    pub(super) fn is_one_value(&self) -> bool {
        let begins = |bytes: &Bytes| bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        self.is_json || !self.is_binary && self.first.as_ref().is_some_and(begins)
    }

    /// It says that it is one JSON value, whatever was asked for.
    pub(super) const fn is_json(&self) -> bool {
        self.is_json
    }

    /// What its head calls it.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// It comes as Amazon's binary frames.
    pub(super) const fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// The connection broke, the provider kept silent or sent too much.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ProviderFailure> {
        let piece = match self.first.take() {
            Some(first) => first,
            None => match timeout_at(self.silent_at.min(self.until), self.rest.try_next()).await {
                Err(_) => return Err(self.silent()),
                Ok(Err(cause)) => return Err(cut(&cause)),
                Ok(Ok(None)) => return Ok(None),
                Ok(Ok(Some(bytes))) => bytes,
            },
        };
        self.left = self.left.checked_sub(piece.len()).ok_or_else(|| too_much(self.limit()))?;
        Ok(Some(piece))
    }

    /// Gives bytes back that were read, to be read again.
    pub(super) fn unread(&mut self, bytes: Bytes) {
        self.left += bytes.len();
        self.first = (!bytes.is_empty()).then_some(bytes);
    }

    /// The whole answer.
    pub async fn whole(mut self) -> Result<Bytes, ProviderFailure> {
        let mut whole = BytesMut::new();
        while let Some(piece) = self.next().await? {
            if !piece.trim_ascii().is_empty() {
                self.said();
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    fn silent(&self) -> ProviderFailure {
        if self.until <= self.silent_at {
            return too_long(&self.time_limits);
        }
        let text = format!("the provider said nothing more for {} ms", self.time_limits.idle.as_millis());
        ProviderFailure::cut(FaultCode::ProviderTimeout, text)
    }

    async fn read_what_is_allowed(mut self) -> Bytes {
        let mut whole = BytesMut::new();
        while let Ok(Some(piece)) = self.next().await {
            whole.extend_from_slice(&piece);
        }
        whole.freeze()
    }
}

fn unanswered(time_limits: &TimeLimits, whole: bool) -> ProviderFailure {
    if whole {
        return too_long(time_limits);
    }
    let text = format!("the provider sent nothing within {} ms", time_limits.first_byte.as_millis());
    ProviderFailure::cut(FaultCode::ProviderTimeout, text)
}

fn too_long(time_limits: &TimeLimits) -> ProviderFailure {
    let text = format!("the call took longer than {} ms in all (`timeouts.model_total_ms`) and was ended", time_limits.total.as_millis());
    ProviderFailure::cut(FaultCode::ProviderTimeout, text)
}

pub(super) fn too_much(limit: usize) -> ProviderFailure {
    let text = format!("the provider's answer is larger than {limit} bytes (`limits.answer_kb`)");
    ProviderFailure::cut(FaultCode::ProviderProtocol, text)
}

fn cut(cause: &str) -> ProviderFailure {
    ProviderFailure::cut(FaultCode::ProviderProtocol, format!("the provider's answer was cut off: {cause}"))
}

/// Nothing of an answer came.
fn broken(cause: &str, retry: bool) -> Refused {
    let text = format!("the provider could not be reached: {cause}");
    Refused { failure: ProviderFailure::new(FaultCode::ProviderUnavailable, text), retry, wait: None }
}

fn is_json(headers: &HeaderMap) -> bool {
    is_of_kind(headers, "application/json")
}

fn is_of_kind(headers: &HeaderMap, wanted: &str) -> bool {
    let kind = headers.get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.and_then(|kind| kind.split(';').next()).is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted))
}

/// The innermost cause: it never names the URL, which may hold a key.
pub(crate) fn cause(problem: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = problem;
    while let Some(next) = cause.source() {
        cause = next;
    }
    if std::ptr::addr_eq(cause, problem) { "the request could not be sent".into() } else { cause.to_string() }
}

/// What every client of the studio has: its own TLS, a limit to connect, no redirects that it follows by itself.
pub(crate) fn builder(trust: &Trust) -> Result<reqwest::ClientBuilder, String> {
    Ok(of_tls(trust.tls()?))
}

fn of_tls(tls: ClientConfig) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls).connect_timeout(CONNECT);
    builder.user_agent(USER_AGENT).redirect(reqwest::redirect::Policy::none())
}

fn build(tls: ClientConfig, proxies: bool) -> Result<reqwest::Client, String> {
    let builder = of_tls(tls).http2_keep_alive_interval(PING).http2_keep_alive_timeout(PONG);
    let builder = if proxies { builder } else { builder.no_proxy() };
    builder.build().map_err(|problem| format!("the HTTP client could not be made: {}", cause(&problem)))
}
