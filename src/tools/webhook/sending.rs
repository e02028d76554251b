//! Owns the request of a webhook: redirects checked one by one, answers read up to a limit.

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, Method, StatusCode};
use reqwest::{Response, Url};

use crate::tools::{ToolReply, parts};
use crate::tools::guard::{self, GuardedClient};

/// Redirects that are followed.
const REDIRECTS: usize = 5;
/// What is read of an answer; the rest is cut.
const ANSWER: usize = 8 << 20;
/// What is read of an answer that holds files, which are not kept as text.
const FILES: usize = 32 << 20;
/// What is read of an answer with an error; less of it is kept once secrets are masked.
const ERROR: usize = 16 << 10;

pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    /// Those that were configured: they go to the origin of the URL only.
    pub(super) own: HeaderMap,
    /// Those that go wherever the request goes.
    pub(super) common: HeaderMap,
    /// JSON.
    pub(super) body: Option<Bytes>,
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    pub(super) body: Bytes,
    /// The call may have done its work, whatever the answer says, so it is not made again: the answer is that of a GET which followed the
    /// call (303), or of a gateway that heard nothing of the server behind it.
    pub(super) unsure: bool,
}

/// Statuses by which a gateway says that it has no answer of the server, which may have received the request: 502, 504, and those of
/// Cloudflare.
fn is_of_a_gateway(status: StatusCode) -> bool {
    matches!(status.as_u16(), 502 | 504 | 520 | 522 | 524)
}

/// How a failure is reported: with `sent`, a call that may change something was already answered, and its effect is unknown.
fn failed(sent: bool, text: String) -> ToolReply {
    if sent { ToolReply::unanswered(text) } else { ToolReply::error(text) }
}

/// Sends a request and reads its answer.
///
/// # Errors
/// The failure that is reported if there is no answer: refused by the guard, not reachable, redirected somewhere it must not go; or the
/// connection broke, or a call that may change something was answered with a redirect that leads nowhere, and nobody knows what became
/// of the request.
pub(super) async fn send(client: &GuardedClient, mut request: Request) -> Result<Answer, ToolReply> {
    let changes = !matches!(request.method, Method::GET | Method::HEAD);
    for _ in 0..=REDIRECTS {
        // 307 and 308 say that nothing was done: a call that is sent again and reaches nobody did not happen.
        let after = changes && request.method == Method::GET;
        client.check(&request.url).map_err(|refusal| failed(after, refusal.0))?;
        let response = once(client, &request, after).await?;
        match target(&response, &request).map_err(|text| failed(changes, text))? {
            Some(url) => follow(&mut request, url, response.status()),
            None => {
                let unsure = after || (changes && is_of_a_gateway(response.status()));
                return read(response, unsure).await;
            }
        }
    }
    Err(failed(changes, format!("the webhook was redirected more than {REDIRECTS} times")))
}

async fn once(client: &GuardedClient, request: &Request, after: bool) -> Result<Response, ToolReply> {
    let mut headers = request.common.clone();
    headers.extend(request.own.clone());
    let mut call = client.client().map_err(|text| failed(after, text))?.request(request.method.clone(), request.url.clone()).headers(headers);
    if let Some(body) = &request.body {
        call = call.body(body.clone());
    }
    call.send().await.map_err(|problem| {
        let text = format!("the webhook could not be called: {}", guard::why(&problem));
        let unsent = problem.is_connect() || problem.is_builder();
        failed(after || !unsent, text)
    })
}

/// Where an answer sends us; none when it is the last one. What is to change something is not made a request that only reads: 301 and
/// 302 are followed for GET and HEAD alone, 307 and 308 repeat the request, 303 says itself that the work is done.
fn target(response: &Response, request: &Request) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let status = response.status().as_u16();
    if matches!(status, 301 | 302) && !matches!(request.method, Method::GET | Method::HEAD) {
        let method = &request.method;
        return Err(format!(
            "the webhook answered {method} with a redirect ({status}), which was not followed: it is not known whether the call did its work; use the address that it redirects to"
        ));
    }
    let target = location.to_str().ok().and_then(|location| request.url.join(location).ok());
    let target = target.ok_or("the webhook was redirected to something that is no URL")?;
    if request.url.scheme() == "https" && target.scheme() != "https" {
        return Err("the webhook was redirected from https to http, which is not followed".into());
    }
    Ok(Some(target))
}

fn follow(request: &mut Request, url: Url, status: StatusCode) {
    if status == StatusCode::SEE_OTHER {
        request.method = Method::GET;
        request.body = None;
        request.own.remove(CONTENT_TYPE);
        request.common.remove(CONTENT_TYPE);
    }
    if url.origin() != request.url.origin() {
        request.own.clear();
        request.common.remove(AUTHORIZATION);
        request.common.remove(super::IDEMPOTENCY_KEY);
    }
    request.url = url;
}

async fn read(mut response: Response, unsure: bool) -> Result<Answer, ToolReply> {
    let status = response.status();
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    let mut most = if status.is_success() { ANSWER } else { ERROR };
    let mut body = BytesMut::new();
    while body.len() < most {
        match response.chunk().await {
            Ok(Some(piece)) => {
                body.extend_from_slice(&piece[..piece.len().min(most - body.len())]);
                if most == ANSWER && parts::begins(&body) {
                    most = FILES;
                }
            }
            Ok(None) => break,
            Err(_) if !status.is_success() => break,
            Err(problem) => return Err(ToolReply::unanswered(format!("the webhook's answer was cut off: {}", guard::why(&problem)))),
        }
    }
    Ok(Answer { status, content_type, body: body.freeze(), unsure })
}
