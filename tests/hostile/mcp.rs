//! What MCP servers write and send, and how they are defined.

use serde_json::json;
use wfstudio::fuzzing::{definition, events, lines_once};

use crate::trial::{each, trial, trials};

/// Half of what a worker thread of the host has.
const STACK: usize = 1 << 20;
/// The longest message.
const MESSAGE: usize = 8 << 20;

fn full_of(piece: &str, bytes: usize) -> String {
    piece.repeat(bytes / piece.len())
}

/// Messages of almost the longest length that hold this over and over.
fn messages(piece: &str) -> Vec<String> {
    let many = format!("[{}0]", full_of(piece, MESSAGE - 500));
    vec![
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":[],\"structuredContent\":{many}}}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":{many}}}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":{many}}}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"data\":{many}}}}}"),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"message\":\"\",\"data\":{many}}}}}"),
        many,
    ]
}

#[test]
fn messages_of_very_many_values_are_not_read() {
    trial("mcp::messages_of_very_many_values_are_not_read", STACK, || {
        for piece in ["0,", "[],", "{},", "{\"\":0},", "{\"type\":\"text\",\"text\":\"\"},", "{\"name\":\"\",\"inputSchema\":{}},", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"},"] {
            for message in messages(piece) {
                lines_once(message.as_bytes());
            }
        }
    });
}

#[test]
fn the_most_values_that_are_read_fit() {
    const NAME: &str = "mcp::the_most_values_that_are_read_fit";
    trials(NAME, STACK, || {
        for (piece, count) in [("0,", 600_000), ("[],", 300_000), ("{},", 180_000), ("{\"\":0},", 120_000), ("{\"type\":\"text\",\"text\":\"\"},", 70_000), ("\"\",", 600_000)] {
            let many = format!("[{}0]", piece.repeat(count));
            for body in [format!("\"content\":[],\"structuredContent\":{many}"), format!("\"content\":{many}"), format!("\"x\":{many}")] {
                let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{{body}}}}}");
                each(NAME, || lines_once(line.as_bytes()));
            }
        }
    });
}

#[test]
fn very_many_lines_that_are_no_messages_are_left_out() {
    trial("mcp::very_many_lines_that_are_no_messages_are_left_out", STACK, || {
        for piece in ["\n", "x\n", "{\n", "{}\n", "[\n", "[]\n", "1\n", "\"a\"\n", " \r\n"] {
            lines_once(full_of(piece, 64 << 10).as_bytes());
        }
    });
}

#[test]
fn events_of_any_shape_are_read_in_their_length() {
    const NAME: &str = "mcp::events_of_any_shape_are_read_in_their_length";
    trials(NAME, STACK, || {
        for piece in ["\n", "data:\n", "data: x\n\n", "data: {}\n\n", "event: a\n", ":\n", "\r", "id: 1\nretry: 1\n\n", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"] {
            let all = full_of(piece, MESSAGE);
            each(NAME, || events(all.as_bytes()));
        }
        for message in messages("0,").into_iter().chain(messages("{},")) {
            let event = format!("data: {message}\n\n");
            each(NAME, || events(event.as_bytes()));
        }
    });
}

#[test]
fn definitions_of_very_many_words_are_read() {
    trial("mcp::definitions_of_very_many_words_are_read", STACK, || {
        let words: Vec<String> = (0..60_000).map(|n| format!("A{n}")).collect();
        let map: serde_json::Map<_, _> = words.iter().map(|word| (word.clone(), json!("secret:x"))).collect();
        let body = json!({"slug": "s", "command": "x", "args": words, "env": map, "only": words, "exclude": words});
        for _ in 0..4 {
            definition(&body);
        }
        definition(&json!({"slug": "a".repeat(1 << 20), "url": "http://x/".to_owned() + &"a".repeat(1 << 20), "headers": {"x": "y".repeat(1 << 20)}}));
    });
}
