//! Owns the result of a call: structured content as JSON, else texts, with other content described.

use crate::model::parts::NewFile;
use crate::model::parts::sniff::sniff;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// The files of a result that may be kept; others are only described.
pub(super) fn files_of(result: &CallToolResult) -> Vec<NewFile> {
    let files = result.content.iter().filter_map(|block| match block {
        ContentBlock::Image(image) => NewFile::of_base64(None, &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => NewFile::of_base64(None, &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => {
            let ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } = &embedded.resource else { return None };
            let name = uri.rsplit('/').next().filter(|name| !name.is_empty());
            NewFile::of_base64(name, mime_type.as_deref().unwrap_or_default(), blob)
        }
        ContentBlock::Text(_) | ContentBlock::ResourceLink(_) | _ => None,
    });
    files.filter(|file| sniff(&file.bytes, Some(&file.media_type), file.name.as_deref()).is_some()).collect()
}

/// Base64 needs four letters for three bytes.
const fn bytes_of(base64: &str) -> usize {
    base64.len() / 4 * 3
}

pub(super) fn text_of(result: &CallToolResult) -> String {
    if let Some(value) = result.structured_content.as_ref().filter(|value| !value.is_null()) {
        return value.to_string();
    }
    result.content.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image {}, {} bytes]", image.mime_type, bytes_of(&image.data)),
        ContentBlock::Audio(audio) => format!("[audio {}, {} bytes]", audio.mime_type, bytes_of(&audio.data)),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        ContentBlock::ResourceLink(link) => format!("[resource {} at {}]", link.name, link.uri),
        _ => "[content of an unknown kind]".to_owned(),
    }
}

fn resource(resource: &ResourceContents) -> String {
    match resource {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.as_deref().unwrap_or("of unknown type");
            format!("[resource {uri}, {kind}, {} bytes]", bytes_of(blob))
        }
        _ => "[resource of an unknown kind]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn reply_text(result: Value) -> String {
        text_of(&serde_json::from_value(result).expect("a result"))
    }

    #[test]
    fn structured_content_wins_and_other_content_is_described() {
        assert_eq!(reply_text(json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"sum": 3}})), r#"{"sum":3}"#);
        let content = json!([
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "demo://t", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "demo://b", "mimeType": "x/y", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "demo://l", "name": "link"},
        ]);
        let lines = "one\n[image image/png, 3 bytes]\n[audio audio/wav, 6 bytes]\ninside\n[resource demo://b, x/y, 3 bytes]\n[resource link at demo://l]";
        assert_eq!(reply_text(json!({ "content": content })), lines);
        assert_eq!(reply_text(json!({"content": []})), "");
    }
}
