//! Owns the result of a webhook's answer, or an error that names the status.

use serde_json::value::RawValue;

use super::sending::Answer;
use crate::config::Secret;
use crate::secrets::masking;
use crate::tools::{ToolReply, parts};

/// What is kept of an answer with an error.
const ERROR: usize = 4 << 10;

/// 2xx: the text is the result, JSON without its blanks. Everything else is an error. A 2xx answer that cannot be taken is one of which
/// it is not known what the call did.
pub(super) fn reply(answer: &Answer) -> ToolReply {
    let reply = read(answer);
    ToolReply { unanswered: reply.unanswered || (reply.is_error && answer.unsure), ..reply }
}

fn read(answer: &Answer) -> ToolReply {
    if !answer.status.is_success() {
        let reason = answer.status.canonical_reason().unwrap_or_default();
        let status = format!("the webhook answered {} {reason}", answer.status.as_u16());
        let body = String::from_utf8_lossy(&answer.body);
        let body = if body.contains('\0') { "" } else { body.trim() };
        return ToolReply::error(if body.is_empty() { status.trim().to_owned() } else { format!("{}: {body}", status.trim()) });
    }
    if answer.body.contains(&0) {
        let kind = if answer.content_type.is_empty() { "unknown type" } else { &answer.content_type };
        return ToolReply::unanswered(format!("the webhook answered with {} bytes of {kind}, which are no text", answer.body.len()));
    }
    let text = String::from_utf8_lossy(&answer.body);
    let text = text.trim_start_matches('\u{feff}');
    if parts::begins(text.as_bytes()) {
        match crate::json::read::<serde_json::Value>(text.as_bytes()) {
            Ok(value) => {
                if let Some(reply) = parts::read(&value) {
                    return reply;
                }
            }
            Err(_) => return ToolReply::unanswered(format!("the webhook's `{}` are no whole JSON, or too large; nothing of them was kept", parts::MEMBER)),
        }
    }
    let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
    ToolReply { text: if is_json { compact(text) } else { text.to_owned() }, ..ToolReply::default() }
}

/// JSON without the blanks between its parts; every number stays as it was written.
fn compact(json: &str) -> String {
    let (mut out, mut quoted, mut escaped) = (String::with_capacity(json.len()), false, false);
    for letter in json.chars() {
        if quoted {
            (quoted, escaped) = (escaped || letter != '"', !escaped && letter == '\\');
        } else if letter.is_ascii_whitespace() {
            continue;
        } else {
            quoted = letter == '"';
        }
        out.push(letter);
    }
    out
}

/// A server may send back what it was sent: masked before it is cut, so that no part of a secret stays at the edge.
pub(super) fn masked(mut reply: ToolReply, secrets: &[Secret]) -> ToolReply {
    let told = |text: &str| masking::masked(text, secrets.iter().map(|secret| &*secret.0));
    reply.text = told(&reply.text);
    reply.files.iter_mut().filter_map(|file| file.name.as_mut()).for_each(|name| *name = told(name));
    if reply.is_error && reply.text.len() > ERROR {
        let end = reply.text.floor_char_boundary(ERROR);
        reply.text.truncate(end);
    }
    reply
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn reply_text(status: u16, content_type: &str, body: &'static [u8]) -> String {
        let status = StatusCode::from_u16(status).expect("a status");
        let reply = reply(&Answer { status, content_type: content_type.into(), body: body.into(), unsure: false });
        format!("{}{}", if reply.is_error { "error: " } else { "" }, reply.text)
    }

    #[test]
    fn answers_are_results_or_errors() {
        assert_eq!(reply_text(200, "application/json", b" {\"a b\": [1, 12345678901234567890123, 1.10, \"\\\" , \\\\\" ] }\n"),
            "{\"a b\":[1,12345678901234567890123,1.10,\"\\\" , \\\\\"]}");
        assert_eq!(reply_text(201, "text/plain", b"two  words { x"), "two  words { x");
        assert_eq!(reply_text(204, "", b""), "");
        assert_eq!(reply_text(404, "text/plain", b" gone \n"), "error: the webhook answered 404 Not Found: gone");
        assert_eq!(reply_text(599, "", b""), "error: the webhook answered 599");
        assert_eq!(reply_text(200, "image/png", b"\x89PNG\0\0"), "error: the webhook answered with 6 bytes of image/png, which are no text");
        assert_eq!(reply_text(200, "text/plain", b"caf\xe9"), "caf\u{fffd}");
    }

    #[test]
    fn secrets_that_come_back_are_masked() {
        let secrets = [Secret("s3cret-value".into()), Secret("a".into())];
        let reply = masked(ToolReply::error("401: bad token s3cret-value, a"), &secrets);
        assert_eq!(reply.text, "401: bad token ***, a");
        let reply = masked(ToolReply::error(format!("{}s3cret-value", "x".repeat(ERROR - 6))), &secrets);
        assert!(reply.text.len() <= ERROR && !reply.text.contains("s3c"), "{}", &reply.text[ERROR - 20..]);
    }
}
