//! Owns reasoning in the pieces of an answer, as parts that all families share.

use serde_json::Value;

use super::reply::text;
use crate::model::chat::{Message, Role};
use crate::model::parts::Part;

/// Between two summaries of one piece of thinking.
pub(super) const BETWEEN: &str = "\n\n";

/// A thought that came as text; none where nothing came.
pub(super) fn reasoning_parts(thought: &str) -> Vec<Part> {
    if thought.is_empty() { Vec::new() } else { vec![Part::reasoning(thought)] }
}

/// Whether the last turn began as `thinks` says, so that it can be gone on with by thinking: a turn is all answers between which only tools
/// spoke, and a model that thinks by a budget thinks before the first of them.
pub(super) fn may_go_on(messages: &[Message], thinks: impl FnOnce(&Message) -> bool) -> bool {
    let turn = messages.iter().rev().skip_while(|message| message.role != Role::Assistant);
    let mut said = turn.take_while(|message| matches!(message.role, Role::Assistant | Role::Tool)).filter(|message| message.role == Role::Assistant);
    let Some(last) = said.next() else { return true };
    last.tool_calls.is_empty() || thinks(said.last().unwrap_or(last))
}

/// Of Anthropic's blocks: thinking, whose text may be left out, and what was redacted.
pub(super) fn of_blocks(blocks: &[Value]) -> Vec<Part> {
    let thought = |block: &Value| match text(block, "type") {
        "thinking" => Some(Part::reasoning(text(block, "thinking"))),
        "redacted_thinking" => Some(Part::reasoning("")),
        _ => None,
    };
    blocks.iter().filter_map(thought).collect()
}

/// Of the items of a response: their summaries, else what the model thought itself; encrypted ones have neither.
pub(super) fn of_items(items: &[Value]) -> Vec<Part> {
    let reasoning = items.iter().filter(|item| text(item, "type") == "reasoning");
    reasoning.map(|item| Part::reasoning(of_item(item))).collect()
}

/// The text of an item; of one that is no reasoning, nothing.
pub(super) fn of_item(item: &Value) -> String {
    if text(item, "type") != "reasoning" {
        return String::new();
    }
    let texts = |key: &str| {
        let parts = item.get(key).and_then(Value::as_array).into_iter().flatten();
        parts.map(|part| text(part, "text")).filter(|text| !text.is_empty()).collect::<Vec<_>>()
    };
    let summaries = texts("summary");
    if summaries.is_empty() { texts("content").concat() } else { summaries.join(BETWEEN) }
}

/// What `reasoning_details` of a message or of a piece of it say, and whether any of it is encrypted.
pub(super) fn of_details(details: Option<&Value>) -> (String, bool) {
    let details = details.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let said = |detail: &Value| match text(detail, "type") {
        "reasoning.summary" => text(detail, "summary").to_owned(),
        "reasoning.text" => text(detail, "text").to_owned(),
        _ => String::new(),
    };
    (details.iter().map(said).collect(), details.iter().any(|detail| text(detail, "type") == "reasoning.encrypted"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_encrypted_or_redacted_is_there_without_a_text() {
        let blocks = [
            json!({"type": "thinking", "thinking": "Hm.", "signature": "s"}),
            json!({"type": "redacted_thinking", "data": "x"}),
            json!({"type": "thinking", "thinking": "", "signature": "t"}),
            json!({"type": "text", "text": "Yes"}),
        ];
        assert_eq!(of_blocks(&blocks), ["Hm.", "", ""].map(Part::reasoning));
        let items = [
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "A"}, {"type": "summary_text", "text": "B"}], "encrypted_content": "x"}),
            json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "C"}]}),
            json!({"type": "reasoning", "summary": [], "encrypted_content": "y"}),
            json!({"type": "message", "content": []}),
        ];
        assert_eq!(of_items(&items), ["A\n\nB", "C", ""].map(Part::reasoning));
        let details = json!([{"type": "reasoning.summary", "summary": "A"}, {"type": "reasoning.text", "text": "B"}, {"type": "reasoning.encrypted", "data": "x"}]);
        assert_eq!(of_details(Some(&details)), ("AB".into(), true));
        assert_eq!(of_details(None), (String::new(), false));
    }
}
