//! Two hundred turns with tools in a small window.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{SUMMARISER, spans, whole};
use crate::support::story::Story;

const WINDOW: u64 = 3000;

/// What a prompt weighs, counted again.
fn weight(messages: &[Value]) -> u64 {
    let characters = |message: &Value| {
        let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| call.to_string().chars().count());
        message["content"].as_str().map_or(0, |text| text.chars().count()) + calls.sum::<usize>()
    };
    messages.iter().map(|message| (characters(message) as u64).div_ceil(4)).sum()
}

/// Every result follows the call that asked for it.
fn no_orphans(messages: &[Value]) {
    let mut open = HashSet::new();
    for message in messages {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.map(|call| call["id"].as_str().expect("an id").to_owned()));
        if message["role"] == "tool" {
            assert!(open.remove(message["tool_call_id"].as_str().expect("an id")), "an orphan: {message}");
        }
    }
    assert!(open.is_empty(), "a call without its result: {open:?}");
}

#[tokio::test]
async fn two_hundred_turns_keep_to_the_window() {
    let long = "It was said at length, with many a detail. ".repeat(30);
    let replies = json!([
        {"times": 0, "match": {"system_contains": SUMMARISER}, "text": long},
        {"times": 0, "match": {"regex": "^look"}, "tool_calls": [{"name": "look", "arguments": {"what": "y".repeat(120)}}, {"name": "look", "arguments": {}}]},
        {"times": 0, "text": "The answer is: {{last_user}}"}]);
    let story = Story::with(json!({"chat_history_context_window": WINDOW}), replies);
    let body = json!({"name": "Helper", "provider": "script", "model": "m", "tools": [{"ref": "host:look"}], "instructions": "Be kind.", "memory_config": {"summarization_enabled": true}});
    let agent = story.bench.agent(body).await;
    let mut turn = json!({"message": "begin"});
    let (mut summaries, mut most) = (0, 0);
    for n in 0..200_usize {
        let what = if n % 3 == 1 { "look" } else { "talk" };
        turn["message"] = format!("{what} {n} {}", "x".repeat(n * 37 % 230)).into();
        let run = story.bench.chat(&agent, turn.clone()).await;
        let trace = whole(&story, &run).await;
        turn["thread_id"] = trace["trace"]["thread_id"].clone();
        let of = |name: &str| spans(&trace).iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
        assert!(of("summarize").len() <= 1, "turn {n}");
        summaries += of("summarize").len();
        for call in of("chat") {
            let sent = call["input"].as_array().expect("messages");
            no_orphans(sent);
            most = most.max(weight(sent));
        }
        for call in of("chat").iter().take(1) {
            assert!(weight(call["input"].as_array().expect("messages")) <= WINDOW, "turn {n}");
        }
    }
    assert!(summaries > 1 && summaries < 40, "{summaries} summaries");
    assert!(most > WINDOW / 2, "the window is used: {most}");
    let thread = turn["thread_id"].as_str().expect("a thread").to_owned();
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let query = wfstudio::studio::ListQuery { limit: 100, after: cursor, ..Default::default() };
        let page = story.bench.studio.chat_messages(&story.bench.scope, wfstudio::model::event::EntityKind::Agent, &agent, &thread, query).await.expect("a page");
        all.extend(page["messages"].as_array().expect("messages").clone());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(wfstudio::studio::lists::open(next).expect("a cursor")),
            None => break,
        }
    }
    assert_eq!(all.iter().filter(|message| message["role"] == "user").count(), 200, "every message is still there");
    assert_eq!(all.iter().filter(|message| message["meta"]["studio_kind"] == "summary").count(), summaries);
    assert_eq!(all.iter().filter(|message| message["meta"]["studio_kind"] == "summary" && message["meta"]["summarized"].is_null()).count(), 1);
}
