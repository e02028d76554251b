//! Owns the sending of batches: retried while that can help, then dropped. Runs never wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};

use super::buffer::BATCH;
use super::piece::Request;
use super::target::{Language, Target};
use super::otlp;
use crate::providers::http_client;
use crate::providers::trust::Trust;

/// How long pieces wait for others to go with them.
const LINGER: Duration = Duration::from_secs(1);
/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The wait before the first retry; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// No wait is longer, whatever the other side asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// Tries of one batch.
const TRIES: u32 = 6;
/// What is read of an answer.
const ANSWER: usize = 64 << 10;

/// Why a batch was not taken.
struct Refused {
    why: String,
    /// It may be taken later; after this wait, if the other side said so.
    again: bool,
    wait: Option<Duration>,
}

impl Refused {
    fn passing(why: String) -> Self {
        Self { why, again: true, wait: None }
    }

    fn last(why: String) -> Self {
        Self { why, again: false, wait: None }
    }
}

/// Sends what comes, until the target closes and nothing waits.
pub(super) async fn work(target: Arc<Target>) {
    let mut failing = false;
    loop {
        let batch = next(&target).await;
        if batch.is_empty() {
            break;
        }
        for request in target.requests(&batch) {
            deliver(&target, request, &mut failing).await;
        }
    }
    target.over.cancel();
}

/// The next batch; empty when there will be none.
async fn next(target: &Target) -> Vec<Arc<super::Piece>> {
    loop {
        if target.closing.is_cancelled() || target.waiting() >= BATCH {
            return target.batch();
        }
        if target.waiting() > 0 {
            let linger = tokio::time::sleep(LINGER);
            tokio::pin!(linger);
            while target.waiting() < BATCH {
                tokio::select! {
                    () = &mut linger => return target.batch(),
                    () = target.arrival.notified() => {}
                    () = target.closing.cancelled() => return target.batch(),
                }
            }
            continue;
        }
        tokio::select! {
            () = target.arrival.notified() => {}
            () = target.closing.cancelled() => {}
        }
    }
}

/// Sends one request, again when that may help; counts what became of it.
async fn deliver(target: &Target, request: Request, failing: &mut bool) {
    let mut tried = 0;
    let refused = loop {
        let refused = match once(target, request.body.clone()).await {
            Ok(rejected) => {
                let rejected = rejected.min(request.pieces);
                target.count(|counts| (counts.sent, counts.dropped) = (counts.sent + request.pieces - rejected, counts.dropped + rejected));
                if std::mem::replace(failing, false) {
                    tracing::info!(target = target.place.name, "spans are delivered again");
                }
                return;
            }
            Err(refused) => refused,
        };
        target.count(|counts| (counts.failures, counts.last_error) = (counts.failures + 1, Some(refused.why.clone())));
        if !std::mem::replace(failing, true) {
            tracing::warn!(target = target.place.name, why = refused.why, "spans could not be delivered; runs continue without them");
        }
        tried += 1;
        if !refused.again || tried >= TRIES || target.closing.is_cancelled() {
            break refused;
        }
        let wait = refused.wait.unwrap_or(FIRST_WAIT * (1 << (tried - 1))).min(LONGEST_WAIT);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = target.closing.cancelled() => {}
        }
    };
    target.count(|counts| counts.dropped += request.pieces);
    tracing::debug!(target = target.place.name, why = refused.why, pieces = request.pieces, "a batch was given up");
}

/// Sends a message once; failures are sent again later. Returns whether it was accepted.
pub(super) async fn tell(target: &Target, body: Bytes) -> bool {
    let refused = once(target, body).await.err();
    target.count(|counts| match &refused {
        None => counts.sent += 1,
        Some(refused) => (counts.failures, counts.last_error) = (counts.failures + 1, Some(refused.why.clone())),
    });
    refused.is_none()
}

/// One try; how many pieces were not accepted of a batch that was.
async fn once(target: &Target, body: Bytes) -> Result<u64, Refused> {
    tokio::select! {
        () = target.ended.cancelled() => Err(Refused::last("the studio was closed before it was sent".into())),
        answer = tokio::time::timeout(PATIENCE, post(target, body)) => answer.unwrap_or_else(|_| {
            Err(Refused::passing(format!("no answer within {} s", PATIENCE.as_secs())))
        }),
    }
}

async fn post(target: &Target, body: Bytes) -> Result<u64, Refused> {
    let client = target.client.get_or_init(|| client(&target.trust)).as_ref().map_err(|why| Refused::last(why.clone()))?;
    let mut call = client.post(&target.place.url).header(CONTENT_TYPE, target.content_type());
    for (name, value) in target.headers().await.map_err(Refused::last)? {
        call = call.header(name, value);
    }
    let answer = call.body(body).send().await.map_err(|problem| {
        let why = format!("it could not be reached: {}", http_client::cause(&problem));
        Refused { why, again: !problem.is_builder(), wait: None }
    })?;
    let status = answer.status();
    if !status.is_success() {
        let wait = answer.headers().get(RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.trim().parse().ok()).map(Duration::from_secs);
        return Err(Refused { why: format!("it answered {}", status.as_u16()), again: passes(status), wait });
    }
    let told = read(answer).await;
    Ok(if target.place.language == Language::Inspector { 0 } else { otlp::rejected(&told) })
}

fn client(trust: &Trust) -> Result<reqwest::Client, String> {
    let made = http_client::builder(trust)?.pool_max_idle_per_host(1).build();
    made.map_err(|problem| format!("the HTTP client could not be made: {}", http_client::cause(&problem)))
}

/// The answers after which OpenTelemetry lets a client try again.
fn passes(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 502 | 503 | 504)
}

/// The beginning of an answer; it is not needed, so that its end may be missing.
async fn read(answer: reqwest::Response) -> Vec<u8> {
    let mut pieces = answer.bytes_stream();
    let mut told = Vec::new();
    while let Some(Ok(piece)) = pieces.next().await {
        if told.len() + piece.len() > ANSWER {
            break;
        }
        told.extend_from_slice(&piece);
    }
    told
}
