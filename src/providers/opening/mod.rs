//! Owns the beginning of an answer: an error before any content is a refusal, whatever the status is.

use bytes::BytesMut;
use http::HeaderMap;
use serde_json::Value;

use super::amazon_event_stream::Frames;
use super::http_client::Answer;
use super::refusal::{self, Refused};
use super::sse::Lines;
use crate::model::Timestamp;

/// A longer first frame, or a longer answer in one value, is not an error.
const LIMIT: usize = 64 << 10;
/// Frames that say nothing of an answer.
const QUIET: [&str; 4] = ["ping", "response.created", "response.queued", "response.in_progress"];
/// The paths of an error.
const ERRORS: [&str; 3] = ["/error", "/x_groq/error", "/response/error"];
/// The paths of usage: after it, a retry would be charged twice.
const USAGES: [&str; 6] = ["/usage", "/x_groq/usage", "/response/usage", "/message/usage", "/usageMetadata", "/meta/billed_units"];

/// What a frame at the beginning is.
enum Frame {
    /// Nothing yet.
    Quiet,
    /// An error, before anything else.
    Error(Value),
    /// The answer has begun.
    Answer,
}

/// Looks at the beginning of an answer, and gives the answer back as it was.
///
/// # Errors
/// It begins with an error, or it ended before anything else.
pub(super) async fn look(mut answer: Answer, headers: &HeaderMap, now: Timestamp) -> Result<Answer, Refused> {
    let (mut seen, mut lines, is_json) = (BytesMut::new(), Lines::new(LIMIT), answer.is_json());
    let (mut said, mut frames) = (false, answer.is_binary().then(|| Frames::new(LIMIT)));
    loop {
        let piece = answer.next().await.map_err(Refused::last)?;
        seen.extend_from_slice(piece.as_deref().unwrap_or_default());
        let frame = match (&piece, &mut frames) {
            (Some(piece), Some(frames)) => first_binary(frames, piece, &mut said),
            (None, Some(_)) => Frame::Answer,
            (piece, None) => match piece {
                Some(_) if is_json && seen.len() <= LIMIT => Frame::Quiet,
                Some(_) if is_json => Frame::Answer,
                None if is_json => whole(&seen),
                Some(piece) => first(&mut lines, piece, &mut said),
                // The last line may lack its end.
                None => first(&mut lines, b"\n", &mut said),
            },
        };
        if std::mem::take(&mut said) || (is_json && piece.as_ref().is_some_and(|piece| !piece.trim_ascii().is_empty())) {
            answer.said();
        }
        match frame {
            Frame::Error(frame) => return Err(refusal::read_opening(error_of(&frame).unwrap_or(&frame), headers, now)),
            Frame::Quiet if piece.is_some() => {}
            Frame::Quiet | Frame::Answer => break,
        }
    }
    answer.unread(seen.freeze());
    Ok(answer)
}

/// An answer in one value is read when it is complete.
fn whole(answer: &[u8]) -> Frame {
    let tells = std::str::from_utf8(answer).is_ok_and(|text| text.contains("\"error\""));
    let frame = if tells { serde_json::from_slice(answer).ok() } else { None };
    match frame.map(read) {
        Some(Frame::Error(frame)) => Frame::Error(frame),
        Some(Frame::Quiet | Frame::Answer) | None => Frame::Answer,
    }
}

/// The first frame with content, of events and JSON lines alike. `said`: there was a frame at all.
fn first(lines: &mut Lines, piece: &[u8], said: &mut bool) -> Frame {
    let Ok(found) = lines.feed(piece) else { return Frame::Answer };
    for line in found {
        let line = line.trim_start_matches('\u{feff}').trim();
        let data = line.strip_prefix("data:").map_or(line, str::trim);
        let is_field = ["event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field));
        if data.is_empty() || is_field {
            continue;
        }
        *said = true;
        match serde_json::from_str(data).map_or(Frame::Answer, read) {
            Frame::Quiet => {}
            frame @ (Frame::Error(_) | Frame::Answer) => return frame,
        }
    }
    Frame::Quiet
}

/// The first binary frame; an incomplete one is not checked yet, and a broken one fails when it is read.
fn first_binary(frames: &mut Frames, piece: &[u8], said: &mut bool) -> Frame {
    let (found, broken) = frames.feed(piece);
    *said |= !found.is_empty();
    let first = found.first().and_then(|text| serde_json::from_str(text).ok());
    match first.map(read) {
        Some(frame) => frame,
        None if broken.is_some() || !found.is_empty() => Frame::Answer,
        None => Frame::Quiet,
    }
}

fn read(frame: Value) -> Frame {
    let kind = frame.get("type").and_then(Value::as_str).unwrap_or_default();
    if USAGES.iter().any(|place| frame.pointer(place).is_some_and(|usage| !usage.is_null())) {
        Frame::Answer
    } else if error_of(&frame).is_some() {
        Frame::Error(frame)
    } else if QUIET.contains(&kind) {
        Frame::Quiet
    } else {
        Frame::Answer
    }
}

/// The object or the text of an error; some frames are an error themselves.
pub(super) fn error_of(frame: &Value) -> Option<&Value> {
    let told = ERRORS.iter().filter_map(|place| frame.pointer(place)).find(|error| !error.is_null());
    let itself = ["type", "object"].iter().any(|key| frame.get(key).is_some_and(|kind| kind == "error"));
    told.or_else(|| itself.then_some(frame)).filter(|_| frame.get("choices").is_none_or(|choices| choices.as_array().is_some_and(Vec::is_empty)))
}

#[cfg(test)]
mod tests;
