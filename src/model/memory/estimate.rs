//! Owns the token estimate of messages: a quarter of the characters, whole CJK characters, files by type and size.

use super::super::chat::{Attachment, Message};
use super::image_dimensions;
use super::pages::pages;

/// An image whose size is not known.
const UNKNOWN_IMAGE: u64 = 765;
/// A file that is neither an image nor text nor a PDF.
const OTHER_MEDIA: u64 = 200;
/// A page of a PDF.
const PAGE: u64 = 1500;
/// Quarters of a token.
const WHOLE: u64 = 4;
/// The side of an image's tile.
const TILE: u32 = 512;

/// Tokens of a text, rounded up.
pub fn text_tokens(text: &str) -> u64 {
    quarters(text).div_ceil(WHOLE)
}

/// Quarters of tokens of a text.
fn quarters(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().map(quarters_of).sum() }
}

/// Quarters of tokens of a character: models read Chinese, Japanese and Korean by the character.
pub fn quarters_of(letter: char) -> u64 {
    let whole = matches!(letter, '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}');
    if whole { WHOLE } else { 1 }
}

/// Tokens of a message with its calls and files. `weigh` gives the tokens of a file.
pub fn estimate(message: &Message, weigh: impl Fn(&Attachment) -> u64) -> u64 {
    let calls = message.tool_calls.iter().filter_map(|call| serde_json::to_string(call).ok());
    let text = quarters(&message.content) + calls.map(|call| quarters(&call)).sum::<u64>();
    text.div_ceil(WHOLE) + message.attachments.iter().map(weigh).sum::<u64>()
}

/// What the tokens of a file depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Its beginning.
    Head,
    /// All of it.
    Whole,
    /// Its kind alone.
    Kind,
}

/// What the tokens of a file depend on, by its kind and its type.
pub fn measure(kind: &str, mime: &str) -> Measure {
    match (kind, mime) {
        ("image", _) => Measure::Head,
        (_, "application/pdf") => Measure::Whole,
        _ if is_text(mime) => Measure::Whole,
        _ => Measure::Kind,
    }
}

/// Models receive such files as text.
fn is_text(mime: &str) -> bool {
    mime.starts_with("text/") || mime == "application/json"
}

/// Tokens of a file: of an image by its tiles, of text by its text, of a PDF by its pages.
pub fn file_tokens(kind: &str, mime: &str, bytes: &[u8]) -> u64 {
    match kind {
        "image" => media_tokens(kind, image_dimensions(bytes)),
        _ if mime == "application/pdf" => pages(bytes).saturating_mul(PAGE),
        _ if is_text(mime) => text_tokens(&String::from_utf8_lossy(bytes)),
        _ => media_tokens(kind, None),
    }
}

/// Tokens of a file of a kind.
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
        let many = [("漢字", 2), ("ひらがな", 4), ("한국어", 3), ("漢a", 2), ("漢abcd", 2), ("（）", 2), ("«éé»", 1)];
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("éééé", 1), ("👩‍👩‍👧", 2)].into_iter().chain(many) {
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
    fn files_weigh_by_what_is_in_them() {
        let long = "x".repeat(400_000);
        for (kind, mime, bytes, tokens) in [
            ("document", "text/csv", long.as_bytes(), 100_000),
            ("document", "application/json", "漢字".as_bytes(), 2),
            ("document", "application/pdf", b"%PDF-1.4 /Type /Pages /Count 3 /Type/Page /Type /Page /Type /Page".as_slice(), 4500),
            ("document", "application/pdf", b"%PDF-1.7", 1500),
            ("document", "application/zip", long.as_bytes(), 200),
            ("image", "image/png", b"".as_slice(), 765),
        ] {
            assert_eq!(file_tokens(kind, mime, bytes), tokens, "{kind} {mime}");
        }
        assert_eq!(["image/png", "text/plain", "application/pdf", "audio/wav"].map(|mime| measure(if mime == "image/png" { "image" } else { "document" }, mime)),
            [Measure::Head, Measure::Whole, Measure::Whole, Measure::Kind]);
    }

    #[test]
    fn calls_weigh_as_compact_json() {
        let mut message = Message::text(Role::Assistant, "abc");
        message.tool_calls = vec![ToolCall { id: "1".into(), name: "t".into(), arguments: json!({"a": [1, 2]}), invalid: None }];
        let call = r#"{"id":"1","name":"t","arguments":{"a":[1,2]}}"#;
        assert_eq!(estimate(&message, |_| 0), (3 + call.len() as u64).div_ceil(4));
        message.parts = vec![Part::reasoning("what it thinks weighs nothing")];
        assert_eq!(estimate(&message, |_| 0), (3 + call.len() as u64).div_ceil(4));
    }
}
