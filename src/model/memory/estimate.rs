//! Owns what messages weigh in tokens, roughly: a quarter of their characters, images by their size.

use super::super::chat::{Attachment, Message};

/// An image whose size is not known.
const UNKNOWN_IMAGE: u64 = 765;
/// A file that is no image.
const OTHER_MEDIA: u64 = 200;
/// The side of an image's tile.
const TILE: u32 = 512;

/// Tokens of a text: a quarter of its characters, rounded up.
#[must_use]
pub fn text_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// Tokens of a message with its calls and files. `size` gives the pixels of an image, when they are known.
pub fn estimate(message: &Message, size: impl Fn(&Attachment) -> Option<(u32, u32)>) -> u64 {
    let calls = message.tool_calls.iter().filter_map(|call| serde_json::to_string(call).ok());
    let characters = message.content.chars().count() + calls.map(|call| call.chars().count()).sum::<usize>();
    let media = message.attachments.iter().map(|file| media_tokens(&file.kind, size(file))).sum::<u64>();
    (characters as u64).div_ceil(4) + media
}

/// Tokens of a file of a kind.
#[must_use]
pub fn media_tokens(kind: &str, size: Option<(u32, u32)>) -> u64 {
    match (kind, size) {
        ("image", Some((width, height))) if width > 0 && height > 0 => {
            85 + 170 * u64::from(width.div_ceil(TILE)) * u64::from(height.div_ceil(TILE))
        }
        ("image", _) => UNKNOWN_IMAGE,
        _ => OTHER_MEDIA,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::chat::{Role, ToolCall};
    use super::super::super::parts::Part;
    use super::*;

    #[test]
    fn texts_weigh_a_quarter_of_their_characters() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éééé", 1), ("👩‍👩‍👧", 2)] {
            assert_eq!(text_tokens(text), tokens, "{text}");
        }
    }

    #[test]
    fn files_weigh_by_their_kind_and_tiles() {
        for (kind, size, tokens) in [
            ("image", Some((1, 1)), 255),
            ("image", Some((512, 512)), 255),
            ("image", Some((513, 512)), 425),
            ("image", Some((1024, 1024)), 765),
            ("image", Some((0, 5)), 765),
            ("image", None, 765),
            ("audio", None, 200),
            ("document", Some((9, 9)), 200),
        ] {
            assert_eq!(media_tokens(kind, size), tokens, "{kind} {size:?}");
        }
        let huge = media_tokens("image", Some((u32::MAX, u32::MAX)));
        assert_eq!(huge, 85 + 170 * (1 << 46), "even what no image has is counted");
    }

    #[test]
    fn calls_weigh_as_compact_json() {
        let mut message = Message::text(Role::Assistant, "abc");
        message.tool_calls = vec![ToolCall { id: "1".into(), name: "t".into(), arguments: json!({"a": [1, 2]}), invalid: None }];
        let call = r#"{"id":"1","name":"t","arguments":{"a":[1,2]}}"#;
        assert_eq!(estimate(&message, |_| None), (3 + call.len() as u64).div_ceil(4));
        message.parts = vec![Part::reasoning("what it thinks weighs nothing")];
        assert_eq!(estimate(&message, |_| None), (3 + call.len() as u64).div_ceil(4));
    }
}
