//! Owns the HTTP code that all API families share: addresses, credentials, reading an answer to its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::amazon_event_stream::Frames;
use super::limits::{Gate, Key};
use super::http_client::{Answer, Outbound, Request, Sign, TimeLimits};
use super::sse::{Events, Lines};
use super::{ChatReply, ChatRequest, Delta, Deltas, ProviderFailure, opening, refusal};
use crate::config::Secret;
use crate::json;
use crate::json::surrogates::PendingSurrogate;
use crate::model::chat::Tokens;
use crate::model::event::FaultCode;
use crate::model::usage::Picos;

/// A header of a request.
pub(super) type Header = (HeaderName, HeaderValue);

/// The way to one provider.
#[derive(Clone)]
pub struct Wire {
    /// The prefix of its paths.
    pub base_url: String,
    /// The resolved credential.
    pub credential: Option<Secret>,
    /// Further headers, resolved.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Further members of each body.
    pub options: Map<String, Value>,
    /// How long it may take.
    pub time_limits: TimeLimits,
    /// When the call that it was made for must be over.
    pub until: Instant,
    /// The way out.
    pub outbound: Arc<Outbound>,
    /// What holds its calls.
    pub gate: Arc<Gate>,
    /// What the provider knows the caller by: a `retry-after` delays all calls with the same key.
    pub key: Option<Key>,
}

impl Wire {
    /// The URL of a path below a version such as `v1`, which the configured base may name itself.
    pub(super) fn url(&self, version: &str, path: &str) -> String {
        let base = self.base_url.trim_end_matches('/');
        let last = base.rsplit('/').next().unwrap_or_default();
        let numbered = last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
        if numbered || last == version { format!("{base}/{path}") } else { format!("{base}/{version}/{path}") }
    }

    /// The header that holds the credential, when there is one.
    pub(super) fn authorization(&self, name: HeaderName, scheme: &str) -> Result<Option<Header>, ProviderFailure> {
        let Some(secret) = &self.credential else { return Ok(None) };
        let mut value = HeaderValue::from_str(&format!("{scheme}{}", secret.0))
            .map_err(|_| ProviderFailure::new(FaultCode::ProviderAuth, "the credential holds characters that no header may hold"))?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }

    /// Sends JSON, of which only the text is kept while the provider is waited for. Configured headers win over the family's own.
    pub(super) async fn post(&self, url: String, own: impl IntoIterator<Item = Header>, body: Value) -> Result<Answer, ProviderFailure> {
        let body = self.written(body)?;
        self.send(url, own, body).await
    }

    /// Sends a body that was written before.
    pub(super) async fn send(&self, url: String, own: impl IntoIterator<Item = Header>, body: Bytes) -> Result<Answer, ProviderFailure> {
        let mut headers = self.headers.clone();
        headers.extend(own.into_iter().filter(|own| !self.headers.iter().any(|configured| configured.0 == own.0)));
        self.open(Request { url, headers, body, sign: None }).await
    }

    /// Sends a body that is signed anew for each attempt; headers of the configuration win.
    pub(super) async fn send_signed(&self, url: String, sign: Sign<'_>, body: Bytes) -> Result<Answer, ProviderFailure> {
        self.open(Request { url, headers: self.headers.clone(), body, sign: Some(sign) }).await
    }

    async fn open(&self, request: Request<'_>) -> Result<Answer, ProviderFailure> {
        self.outbound.open(&request, &self.time_limits, self.until, (&self.gate, self.key)).await
    }

    /// A body with its further members, as text.
    pub(super) fn written(&self, mut body: Value) -> Result<Bytes, ProviderFailure> {
        for (name, value) in &self.options {
            merge(&mut body[name.as_str()], value);
        }
        let text = serde_json::to_vec(&body).map_err(|problem| ProviderFailure::new(FaultCode::Internal, format!("a request has no JSON form: {problem}")))?;
        Ok(Bytes::from(text))
    }
}

/// Puts a value over another: objects member by member, anything else as a whole.
pub(super) fn merge(value: &mut Value, over: &Value) {
    match (value, over) {
        (Value::Object(members), Value::Object(over)) => {
            for (name, over) in over {
                merge(members.entry(name.as_str()).or_insert(Value::Null), over);
            }
        }
        (value, over) => value.clone_from(over),
    }
}

/// How an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// As one JSON value.
    Whole,
    /// As server-sent events.
    Events,
    /// As lines of JSON.
    Lines,
    /// As Amazon's binary frames.
    Frames,
}

impl Framing {
    /// Server-sent events when a stream is wanted.
    pub(super) const fn events(request: &ChatRequest) -> Self {
        if request.stream { Self::Events } else { Self::Whole }
    }
}

/// What a family reads of an object that came: a frame of a stream, or a whole answer.
pub(super) trait Frame<'t>: Sized {
    /// Reads the text of an object.
    fn read(text: &'t str) -> serde_json::Result<Self>;
}

impl Frame<'_> for Value {
    fn read(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

/// An answer of one family, as far as it came.
pub(super) trait Reading: Send {
    /// What is read of each piece.
    type Frame<'t>: Frame<'t>;

    /// Takes one frame of a stream.
    fn take(&mut self, frame: &Self::Frame<'_>, deltas: Deltas<'_>) -> Result<(), ProviderFailure>;

    /// Takes an answer that came whole.
    fn take_whole(&mut self, body: &Self::Frame<'_>, deltas: Deltas<'_>) -> Result<(), ProviderFailure>;

    /// Takes `[DONE]`, the end marker that is no JSON.
    fn take_done(&mut self, _: Deltas<'_>) {}

    /// The last thing was said; what follows does not count.
    fn over(&self) -> bool;

    /// The answer is complete if nothing follows: it said why it ended, or it is over.
    fn may_end(&self) -> bool {
        self.over()
    }

    /// How many bytes of arguments of tool calls came so far, of families whose pieces of calls may come behind the end.
    fn call_bytes(&self) -> usize {
        0
    }

    /// The last usage report.
    fn tokens(&self) -> Option<Tokens>;

    /// What it costs in dollars, as the last report says.
    fn cost(&self) -> Option<Picos> {
        None
    }

    /// The whole answer.
    fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure>;
}

/// Reads an answer to its end. A failure takes along what was reported before it.
pub(super) async fn read<R: Reading>(answer: Answer, framing: Framing, mut reading: R, deltas: Deltas<'_>) -> Result<R, ProviderFailure> {
    let outcome = match framing {
        Framing::Whole => whole(answer, &mut reading, deltas).await,
        // Some servers do not stream though they were asked to, and gateways send their errors in this form.
        Framing::Events if answer.is_one_value() => whole(answer, &mut reading, deltas).await,
        Framing::Events => events(answer, &mut reading, deltas).await,
        Framing::Lines => lines(answer, &mut reading, deltas).await,
        Framing::Frames if answer.is_one_value() => whole(answer, &mut reading, deltas).await,
        Framing::Frames => frames(answer, &mut reading, deltas).await,
    };
    match outcome {
        Ok(()) => Ok(reading),
        Err(failure) => Err(with_report(failure, (reading.tokens(), reading.cost()))),
    }
}

/// The receiver of the text of an answer; of a whole answer only a receiver of streamed text.
pub(super) fn listeners<'a>(framing: Framing, request: &ChatRequest, deltas: Deltas<'a>) -> Deltas<'a> {
    if framing == Framing::Whole && !request.live { &|_| {} } else { deltas }
}

/// Reads an answer to its end and puts it together.
pub(super) async fn reply<R: Reading>(
    answer: Answer,
    framing: Framing,
    reading: R,
    request: &ChatRequest,
    deltas: Deltas<'_>,
) -> Result<ChatReply, ProviderFailure> {
    let reading = read(answer, framing, reading, listeners(framing, request, deltas)).await?;
    let report = (reading.tokens(), reading.cost());
    reading.end(request).map_err(|failure| with_report(failure, report))
}

async fn whole<R: Reading>(answer: Answer, reading: &mut R, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
    let body = answer.whole().await?;
    let text = String::from_utf8_lossy(&body);
    match object(&text) {
        Ok(object) => reading.take_whole(&object, deltas),
        Err(failure) => match PendingSurrogate::default().mend(&text) {
            Some(mended) => reading.take_whole(&object(&mended)?, deltas),
            None => Err(failure),
        },
    }
}

async fn events<R: Reading>(mut answer: Answer, reading: &mut R, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
    let (mut events, mut surrogate) = (Events::new(answer.limit()), PendingSurrogate::default());
    while !reading.over() {
        let piece = answer.next().await;
        let Some(piece) = complete_or(piece, reading)?.flatten() else {
            if let Some(event) = events.rest().map_err(|long| malformed(&long.to_string()))? {
                take(&event.data, &mut surrogate, reading, deltas)?;
            }
            take_stray(&mut events, &mut surrogate, reading, deltas)?;
            return ended(reading);
        };
        let found = events.feed(&piece).map_err(|long| malformed(&long.to_string()));
        let Some(found) = complete_or(found, reading)? else { return Ok(()) };
        take_all(found.iter().map(|event| event.data.as_str()), &mut answer, &mut surrogate, reading, deltas)?;
        take_stray(&mut events, &mut surrogate, reading, deltas)?;
    }
    ended(reading)
}

/// An error outside of any event ends the answer like one inside of it.
fn take_stray<R: Reading>(events: &mut Events, surrogate: &mut PendingSurrogate, reading: &mut R, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
    let Some(line) = events.stray().filter(|_| !reading.may_end()) else { return Ok(()) };
    let frame: Option<Value> = object(&line).ok();
    let Some(error) = frame.as_ref().and_then(opening::error_of) else { return Ok(()) };
    take(&line, surrogate, reading, deltas)?;
    Err(refusal::read_inside(error))
}

async fn lines<R: Reading>(mut answer: Answer, reading: &mut R, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
    let (mut lines, mut surrogate) = (Lines::new(answer.limit()), PendingSurrogate::default());
    while let Some(piece) = answer.next().await? {
        let found = lines.feed(&piece).map_err(|long| malformed(&long.to_string()))?;
        take_all(found.iter().map(String::as_str), &mut answer, &mut surrogate, reading, deltas)?;
        if reading.over() {
            return Ok(());
        }
    }
    if let Some(line) = lines.rest() {
        take(&line, &mut surrogate, reading, deltas)?;
    }
    ended(reading)
}

async fn frames<R: Reading>(mut answer: Answer, reading: &mut R, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
    let (mut frames, mut surrogate) = (Frames::new(answer.limit()), PendingSurrogate::default());
    while !reading.over() {
        let piece = answer.next().await;
        let Some(piece) = complete_or(piece, reading)?.flatten() else {
            let whole = if frames.is_between() || reading.may_end() { Ok(()) } else { Err(malformed("it ends inside a frame")) };
            return whole.and_then(|()| ended(reading));
        };
        let (found, broken) = frames.feed(&piece);
        take_all(found.iter().map(String::as_str), &mut answer, &mut surrogate, reading, deltas)?;
        if let Some(problem) = broken {
            return if reading.may_end() { Ok(()) } else { Err(malformed(&problem)) };
        }
    }
    ended(reading)
}

/// Whatever goes wrong behind a complete answer is its end: none.
fn complete_or<T, R: Reading>(found: Result<T, ProviderFailure>, reading: &R) -> Result<Option<T>, ProviderFailure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(_) if reading.may_end() => Ok(None),
        Err(failure) => Err(failure),
    }
}

fn take_all<'t, R: Reading>(
    texts: impl Iterator<Item = &'t str>,
    answer: &mut Answer,
    surrogate: &mut PendingSurrogate,
    reading: &mut R,
    deltas: Deltas<'_>,
) -> Result<(), ProviderFailure> {
    let (mut said, more) = (false, AtomicBool::new(false));
    let calls = if reading.may_end() { reading.call_bytes() } else { 0 };
    let hear = |delta: Delta| {
        more.fetch_or(matches!(delta, Delta::Text(_) | Delta::Reasoning(_)), Ordering::Relaxed);
        deltas(delta);
    };
    for text in texts {
        said |= !text.trim_ascii().is_empty();
        take(text, surrogate, reading, &hear)?;
    }
    match (said, reading.may_end()) {
        (true, true) => answer.lingers(more.into_inner() || reading.call_bytes() > calls),
        (true, false) => answer.said(),
        (false, _) => {}
    }
    Ok(())
}

fn take<R: Reading>(text: &str, surrogate: &mut PendingSurrogate, reading: &mut R, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
    let text = text.trim();
    if reading.over() || text.is_empty() {
        return Ok(());
    }
    if text == "[DONE]" {
        reading.take_done(deltas);
        return Ok(());
    }
    let complete = reading.may_end();
    let taken = match object(text) {
        Ok(frame) => take_frame(&frame, reading, deltas),
        Err(failure) => match surrogate.mend(text) {
            Some(mended) => take_frame(&object(&mended)?, reading, deltas),
            None => Err(failure),
        },
    };
    if complete { Ok(()) } else { taken }
}

fn take_frame<R: Reading>(frame: &R::Frame<'_>, reading: &mut R, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
    let before = reading.tokens();
    reading.take(frame, deltas)?;
    if let Some(tokens) = reading.tokens().filter(|tokens| before != Some(*tokens)) {
        deltas(Delta::Spent(tokens));
    }
    Ok(())
}

fn object<'t, F: Frame<'t>>(text: &'t str) -> Result<F, ProviderFailure> {
    let broken = |problem: serde_json::Error| malformed(&problem.to_string());
    if json::is_heavy(text.as_bytes()) {
        return Err(malformed("it has too many values"));
    }
    if !text.trim_ascii_start().starts_with('{') {
        serde_json::from_str::<IgnoredAny>(text).map_err(broken)?;
        return Err(malformed("it is no JSON object"));
    }
    F::read(text).map_err(broken)
}

fn ended<R: Reading>(reading: &R) -> Result<(), ProviderFailure> {
    if reading.may_end() { Ok(()) } else { Err(cut_off()) }
}

/// The failure of an unreadable answer.
pub(super) fn malformed(text: &str) -> ProviderFailure {
    ProviderFailure::new(FaultCode::ProviderProtocol, format!("the provider's answer is malformed: {text}"))
}

fn cut_off() -> ProviderFailure {
    ProviderFailure::new(FaultCode::ProviderProtocol, "the provider's answer ended before it was complete: it gave no finish reason and no end event")
}

/// The failure of an answer, with what was reported of it.
pub(super) fn with_report(failure: ProviderFailure, (tokens, cost): (Option<Tokens>, Option<Picos>)) -> ProviderFailure {
    ProviderFailure { tokens: failure.tokens.or(tokens), cost: failure.cost.or(cost), cut: true, ..failure }
}

/// A name as one segment of a URL.
pub(super) fn segment(name: &str) -> String {
    const KEPT: percent_encoding::AsciiSet =
        percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':').remove(b'@');
    percent_encoding::utf8_percent_encode(name, &KEPT).to_string()
}

#[cfg(test)]
mod tests;
