//! Owns the response stream of a post: the translated events of its run, always with a final frame.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::event::PublishedEvent;
use super::{Protocol, Translator};
use crate::engine::{EventStream, Follow, From};
use crate::error::Result;
use crate::http::cancel_on_drop::CancelOnDrop;
use crate::http::settings;
use crate::http::sse::{self, Cut};
use crate::studio::{ListQuery, Scope, Standing, StreamSlot, Studio};

/// Messages of a page of a thread.
const PAGE: &str = "100";

/// The response stream of one run, or of several answers to one run.
pub(super) struct ResponseStream {
    studio: Studio,
    scope: Scope,
    run: String,
    translator: Translator,
    events: EventStream,
    /// Where the run continues after each further answer.
    more: Option<mpsc::Receiver<Result<From>>>,
    stage: Stage,
    /// The run is cancelled when its stream breaks.
    cancels_on_drop: bool,
}

/// The text for a reader who was too slow.
pub(super) const GOES_ON: &str = "the stream broke off before the run ended; the run goes on";
const IS_CANCELLED: &str = "the stream broke off before the run ended; the run is cancelled, as `on_disconnect` asks, unless it has ended";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    Telling,
    /// The last frame was sent; the reader was too slow for the rest.
    Cut,
    Over,
}

impl ResponseStream {
    pub(super) fn new(studio: Studio, scope: Scope, run: String, translator: Translator, events: EventStream) -> Self {
        Self { studio, scope, run, translator, events: events.cut_when_behind(), more: None, stage: Stage::Opening, cancels_on_drop: false }
    }

    /// Continues with each answer that follows the first.
    pub(super) fn behind(mut self, more: Option<mpsc::Receiver<Result<From>>>) -> Self {
        self.more = more;
        self
    }

    /// The next frames; none when there are no more.
    async fn next(mut self) -> Option<(Result<Bytes, Cut>, Self)> {
        let mut out = Vec::new();
        match self.stage {
            Stage::Over => return None,
            Stage::Cut => {
                self.stage = Stage::Over;
                return Some((Err(Cut), self));
            }
            Stage::Opening => {
                self.translator.open(&mut out);
                self.stage = Stage::Telling;
            }
            Stage::Telling => {
                while out.is_empty() && self.stage == Stage::Telling {
                    self.tell(&mut out).await;
                }
            }
        }
        let mut bytes = Vec::with_capacity(out.len() * 128);
        for frame in &out {
            bytes.extend_from_slice(b"data: ");
            bytes.extend_from_slice(frame.to_string().as_bytes());
            bytes.extend_from_slice(b"\n\n");
        }
        if self.stage != Stage::Telling {
            bytes.extend_from_slice(self.translator.farewell());
        }
        Some((Ok(bytes.into()), self))
    }

    async fn tell(&mut self, out: &mut Vec<Value>) {
        if let Some(frames) = self.events.next_batch().await {
            for frame in &frames {
                self.translator.tell(PublishedEvent::of(frame), out);
            }
            return;
        }
        if self.events.was_cut() {
            self.translator.fail("interrupted", if self.cancels_on_drop { IS_CANCELLED } else { GOES_ON });
            return self.close(Stage::Cut, out).await;
        }
        match self.follow().await {
            Ok(true) => {}
            Ok(false) => self.close(Stage::Over, out).await,
            Err(error) => {
                self.translator.fail(error.kind.code(), &error.message);
                self.close(Stage::Over, out).await;
            }
        }
    }

    /// Goes on behind the next answer, if there is one.
    async fn follow(&mut self) -> Result<bool> {
        let Some(more) = &mut self.more else { return Ok(false) };
        let Some(from) = more.recv().await else { return Ok(false) };
        let events = self.studio.events(&self.scope, &self.run, from?, Follow::Answer).await?;
        let Some(events) = events else { return Ok(false) };
        self.events = events.cut_when_behind();
        Ok(true)
    }

    async fn close(&mut self, stage: Stage, out: &mut Vec<Value>) {
        let usage = if self.translator.tells_usage() { usage(&self.studio, &self.scope, &self.run).await } else { Vec::new() };
        self.translator.close(&usage, out);
        self.stage = stage;
    }

    fn into_stream(self) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
        stream::unfold(self, Self::next)
    }
}

/// The response that streams a run.
pub(super) fn answer(mut response_stream: ResponseStream, protocol: Protocol, slot: StreamSlot, cancel_on_drop: Option<CancelOnDrop>) -> Result<Response> {
    response_stream.cancels_on_drop = cancel_on_drop.is_some();
    let silence = sse::Silence::new(settings::heartbeat(response_stream.studio.config()), response_stream.studio.runtime()?);
    let body = Body::new(sse::EventBody::new(Box::pin(response_stream.into_stream()), slot, cancel_on_drop, silence));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    let cache = match protocol {
        Protocol::Vercel => "no-cache",
        Protocol::AgUi => "no-cache, no-transform",
    };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    if protocol == Protocol::Vercel {
        headers.insert("x-vercel-ai-ui-message-stream", HeaderValue::from_static("v1"));
    }
    Ok(response)
}

/// The published events of a run up to a number.
pub(super) async fn past(studio: &Studio, scope: &Scope, run: &str, until: u64) -> Result<Vec<PublishedEvent>> {
    let (mut told, mut from) = (Vec::new(), From::default());
    while from.after < until {
        let Some(mut events) = studio.events(scope, run, from, Follow::Answer).await? else { break };
        let before = from.after;
        while let Some(frames) = events.next_batch().await {
            from.after = frames.last().map_or(from.after, crate::model::telling::Frame::number);
            told.extend(frames.iter().filter(|frame| frame.number() <= until).map(PublishedEvent::of));
            if from.after > until {
                break;
            }
        }
        // The entry that says that the run rests stands between two parts.
        from.after = from.after.max(before) + 1;
    }
    Ok(told)
}

/// Messages of the run's thread that other runs added.
pub(super) async fn older_messages(studio: &Studio, scope: &Scope, run: &Standing) -> Result<Vec<Value>> {
    let (mut found, mut cursor) = (Vec::new(), None::<String>);
    let own = json!(run.run.to_string());
    loop {
        let pairs = [("limit", PAGE), ("include", "tools")].into_iter().chain(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let query = ListQuery::parse(pairs)?;
        let page = studio.messages_around(scope, run, query).await?;
        found.extend(page.data.into_iter().filter(|message| message["trace_id"] != own));
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(found),
        }
    }
}

/// Tokens of a run's calls, model by model.
async fn usage(studio: &Studio, scope: &Scope, run: &str) -> Vec<Value> {
    const NAMES: [(&str, &str); 6] = [
        ("inputTokens", "prompt_tokens"),
        ("outputTokens", "completion_tokens"),
        ("totalTokens", "total_tokens"),
        ("reasoningTokens", "reasoning_tokens"),
        ("cachedInputTokens", "cached_tokens"),
        ("cacheWriteInputTokens", "cache_write_tokens"),
    ];
    let Ok(told) = studio.usage_run(scope, run).await else { return Vec::new() };
    let mut models: Vec<Value> = Vec::new();
    for span in told["spans"].as_array().into_iter().flatten() {
        let same = |model: &&mut Value| model["provider"] == span["provider"] && model["model"] == span["model"];
        let sums = NAMES.iter().map(|(name, from)| (*name, span[*from].as_u64().unwrap_or(0)));
        match models.iter_mut().find(same) {
            Some(model) => sums.for_each(|(name, more)| model[name] = json!(model[name].as_u64().unwrap_or(0) + more)),
            None => {
                let mut model = json!({"provider": span["provider"], "model": span["model"]});
                sums.for_each(|(name, tokens)| model[name] = json!(tokens));
                models.push(model);
            }
        }
    }
    models
}
