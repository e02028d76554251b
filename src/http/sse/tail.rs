//! Owns the tail of a run: its stream for one more reader, from the position that the reader names.

use axum::response::Response;

use crate::engine::Follow;
use crate::error::Result;
use crate::http::call::Call;
use crate::http::sse::position::Position;
use crate::http::{answer, sse};

/// Streams a run to one more reader.
pub(in crate::http) async fn tail(call: Call) -> Result<Response> {
    let position = Position::of(&call)?;
    let slot = call.studio.stream_slot()?;
    let events = call.studio.events(&call.scope, call.part("run"), position.not_before(0), Follow::Tail).await?;
    let Some(events) = events else { return Ok(answer::nothing()) };
    Ok(sse::answer(events, slot, None, sse::pace(&call.studio)?))
}
