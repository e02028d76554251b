//! Owns assistant messages that go back to their provider: its own blocks unchanged, edited parts replaced.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::model::chat::{Message, Role, ToolCall};

/// What a piece of a provider's message is to us.
pub(super) enum Sort<'a> {
    /// A piece of the text.
    Text(Cow<'a, str>),
    /// A tool call.
    Call,
    /// A file that the model made.
    File,
    /// Something of its own, such as reasoning or a signature.
    Own,
}

/// How a family writes the pieces of an assistant message.
pub(super) trait Pieces {
    /// The family's name.
    const FAMILY: &'static str;

    /// What a piece is.
    fn sort(piece: &Value) -> Sort<'_>;

    /// A piece of text; `like` is the one whose place it takes.
    fn text(text: &str, like: Option<&Value>) -> Value;

    /// A tool call; `like` is the one whose place it takes.
    fn call(call: &ToolCall, like: Option<&Value>) -> Value;
}

/// The pieces of an assistant message. None when it says nothing and asks for nothing.
pub(super) fn pieces<P: Pieces>(message: &Message) -> Vec<Value> {
    let own = message.blocks.as_ref().filter(|own| own.family == P::FAMILY).and_then(|own| own.value.as_array());
    let own = own.map_or(&[][..], Vec::as_slice);
    let told: String = own.iter().filter_map(text_of::<P>).collect();
    let rewritten = told != message.content;
    let mut text = Some(message.content.as_str()).filter(|text| rewritten && !text.trim().is_empty());
    let mut calls = message.tool_calls.iter();
    let mut pieces = Vec::new();
    for piece in own {
        match P::sort(piece) {
            Sort::Own | Sort::File => pieces.push(piece.clone()),
            Sort::Text(_) if !rewritten => pieces.push(piece.clone()),
            Sort::Text(_) => pieces.extend(text.take().map(|text| P::text(text, Some(piece)))),
            Sort::Call => pieces.extend(calls.next().map(|call| P::call(call, Some(piece)))),
        }
    }
    pieces.extend(text.map(|text| P::text(text, None)));
    pieces.extend(calls.map(|call| P::call(call, None)));
    let says = pieces.iter().any(|piece| !matches!(P::sort(piece), Sort::Own));
    if says { pieces } else { Vec::new() }
}

fn text_of<P: Pieces>(piece: &Value) -> Option<Cow<'_, str>> {
    match P::sort(piece) {
        Sort::Text(text) => Some(text),
        Sort::Call | Sort::File | Sort::Own => None,
    }
}

/// The turns of a conversation of blocks: what one side says in several messages is one turn, as are all results of a model's calls.
pub(super) fn turns(messages: &[Message], mut blocks_of: impl FnMut(&Message) -> Vec<Value>) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let role = match message.role {
            Role::System => continue,
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        let blocks = blocks_of(message);
        match turns.last_mut().filter(|last| last.0 == role) {
            Some(last) => last.1.extend(blocks),
            None if blocks.is_empty() => {}
            None => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::chat::{ProviderBlocks, Role};

    struct Plain;

    impl Pieces for Plain {
        const FAMILY: &'static str = "plain";

        fn sort(piece: &Value) -> Sort<'_> {
            match (piece.get("t"), piece.get("c")) {
                (Some(text), _) => Sort::Text(text.as_str().expect("text").into()),
                (None, Some(_)) => Sort::Call,
                (None, None) => Sort::Own,
            }
        }

        fn text(text: &str, like: Option<&Value>) -> Value {
            json!({"t": text, "like": like.is_some()})
        }

        fn call(call: &ToolCall, like: Option<&Value>) -> Value {
            json!({"c": call.id, "like": like.is_some()})
        }
    }

    fn sent(family: &str, content: &str, calls: &[&str]) -> String {
        let own = json!([{"r": "hm"}, {"t": "a"}, {"c": 1}, {"s": "sig"}, {"t": "b"}, {"c": 2}]);
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "n".into(), arguments: json!({}), invalid: None };
        let message = Message {
            tool_calls: calls.iter().map(call).collect(),
            blocks: Some(ProviderBlocks { family: family.into(), by: None, value: own }),
            ..Message::text(Role::Assistant, content)
        };
        Value::from(pieces::<Plain>(&message)).to_string()
    }

    #[test]
    fn what_changed_takes_the_place_of_what_was() {
        for (family, content, calls, wanted) in [
            ("plain", "ab", &["x", "y"][..], r#"[{"r":"hm"},{"t":"a"},{"c":"x","like":true},{"s":"sig"},{"t":"b"},{"c":"y","like":true}]"#),
            ("plain", "new", &["x"], r#"[{"r":"hm"},{"t":"new","like":true},{"c":"x","like":true},{"s":"sig"}]"#),
            ("plain", "ab", &[], r#"[{"r":"hm"},{"t":"a"},{"s":"sig"},{"t":"b"}]"#),
            ("plain", "", &[], "[]"),
            (
                "plain",
                "",
                &["x", "y", "z"],
                r#"[{"r":"hm"},{"c":"x","like":true},{"s":"sig"},{"c":"y","like":true},{"c":"z","like":false}]"#,
            ),
            ("other", "ab", &["x"], r#"[{"t":"ab","like":false},{"c":"x","like":false}]"#),
        ] {
            assert_eq!(sent(family, content, calls), wanted, "{family} {content} {calls:?}");
        }
    }
}
