//! Owns pieces of runs in the form of Inspector: transactions and segments, a JSON array in base64, in posts of limited size.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::conventions;
use super::piece::{End, Piece, Request, Work};

/// What one post may measure before base64: it allows 65,536 bytes.
const POST: usize = 48 << 10;
/// What one entry may measure; a larger one goes without its context.
const ENTRY: usize = 16 << 10;

/// The requests that send these pieces.
pub(super) fn requests(pieces: &[Arc<Piece>], content: bool) -> Vec<Request> {
    let mut posts: Vec<(String, u64)> = Vec::new();
    for piece in pieces {
        let text = entries(piece, content);
        match posts.last_mut().filter(|(post, _)| post.len() + text.len() < POST) {
            Some((post, count)) => {
                post.push(',');
                post.push_str(&text);
                *count += 1;
            }
            None => posts.push((text, 1)),
        }
    }
    posts.into_iter().map(|(post, pieces)| Request { body: STANDARD.encode(format!("[{post}]")).into(), pieces }).collect()
}

/// A piece, and its failure as an entry of its own.
fn entries(piece: &Piece, content: bool) -> String {
    let shown = |entry: Value| {
        let text = entry.to_string();
        if text.len() <= ENTRY { text } else { without_context(entry).to_string() }
    };
    let own = shown(if piece.work == Work::Run { transaction(piece, content) } else { segment(piece, content) });
    match failure(piece, content) {
        Some(failure) => format!("{own},{}", shown(failure)),
        None => own,
    }
}

fn without_context(mut entry: Value) -> Value {
    if let Value::Object(fields) = &mut entry {
        fields.remove("context");
    }
    entry
}

fn seconds(millis: i64) -> Value {
    json!(millis as f64 / 1000.0)
}

/// The transaction of an attempt, as its segments name it.
fn hash(piece: &Piece) -> String {
    format!("{}-{}", piece.run.run, piece.run.attempt)
}

fn transaction(piece: &Piece, content: bool) -> Value {
    json!({
        "model": "transaction", "name": conventions::name(piece), "type": "process", "hash": hash(piece),
        "timestamp": seconds(piece.started.0), "duration": piece.ended.since(piece.started),
        "result": match &piece.end { End::Well => "success", End::Failed { .. } => "error", End::Cut => "cancelled" },
        "context": context(piece, content),
    })
}

fn segment(piece: &Piece, content: bool) -> Value {
    json!({
        "model": "segment", "type": kind(&piece.work), "label": conventions::name(piece),
        "timestamp": seconds(piece.started.0), "start": piece.started.since(piece.run.started),
        "duration": piece.ended.since(piece.started), "transaction": of(piece), "context": context(piece, content),
    })
}

fn failure(piece: &Piece, content: bool) -> Option<Value> {
    let (code, message) = piece.failure(content)?;
    Some(json!({
        "model": "error", "class": code, "message": message, "handled": true, "timestamp": seconds(piece.ended.0),
        "transaction": of(piece), "stack": [],
    }))
}

fn of(piece: &Piece) -> Value {
    json!({"hash": hash(piece), "timestamp": seconds(piece.run.started.0)})
}

const fn kind(work: &Work) -> &'static str {
    match work {
        Work::Run => "workflow",
        Work::Agent { .. } => "agent",
        Work::Step { .. } => "step",
        Work::Chat => "llm",
        Work::Tool => "tool",
        Work::Embedding => "embedding",
        Work::Retrieval => "rag",
        Work::Measured => "memory",
    }
}

fn context(piece: &Piece, content: bool) -> Value {
    let fields: Map<String, Value> = conventions::attributes(piece, content).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({"Studio": fields})
}
