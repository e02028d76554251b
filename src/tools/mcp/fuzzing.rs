//! Owns the entry points of fuzzing to messages and definitions of MCP servers.

use std::sync::LazyLock;

use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use serde_json::Value;

use super::program::Line;
use super::server::Server;
use super::server_call::{self, Form};
use super::{content, wire};
use crate::config::{Config, ConfigSources};
use crate::providers::sse::Events;
use crate::tools::schema;

fn heard(messages: &[ServerJsonRpcMessage]) {
    for message in messages {
        let JsonRpcMessage::Response(response) = message else { continue };
        if let ServerResult::CallToolResult(result) = &response.result {
            let _text = content::text_of(result);
        }
        if let ServerResult::InputRequiredResult(wanted) = &response.result {
            for (_, params) in server_call::wanted(wanted).unwrap_or_default() {
                if let Some(form) = Form::of(params).filter(Form::fits) {
                    let _filled = schema::filled(&form.schema, serde_json::Map::new());
                }
            }
        }
    }
}

/// What a program writes, line by line and in pieces.
///
/// # Panics
/// What is read depends on the pieces.
pub fn lines(bytes: &[u8], piece: usize) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let (mut whole, mut cut) = (Line::default(), Line::default());
        whole.add(line);
        line.chunks(piece.max(1)).for_each(|piece| cut.add(piece));
        let messages = whole.take();
        heard(&messages);
        assert_eq!(format!("{messages:?}"), format!("{:?}", cut.take()), "what is read does not depend on the pieces");
    }
}

/// What a program writes, read once.
pub fn lines_once(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        let mut whole = Line::default();
        whole.add(line);
        heard(&whole.take());
    }
}

/// What a server sends as events, as it comes.
pub fn events(bytes: &[u8]) {
    let mut events = Events::new(wire::MESSAGE_LIMIT);
    for piece in bytes.chunks(64 << 10) {
        let Ok(found) = events.feed(piece) else { return };
        for event in found {
            heard(&crate::json::read(event.data.as_bytes()).into_iter().collect::<Vec<_>>());
        }
    }
}

/// The definition of a server: its command, arguments, environment, headers.
pub fn definition(body: &Value) {
    static CONFIG: LazyLock<Option<Config>> = LazyLock::new(|| {
        let local = Some(serde_json::json!({"environment": "local"}));
        Config::load(ConfigSources { json: local, ..ConfigSources::default() }).ok()
    });
    let Some(config) = &*CONFIG else { return };
    if let Ok(server) = Server::read(config, body) {
        let _may = (server.may_start(config).is_ok(), server.offers("a"));
    }
}
