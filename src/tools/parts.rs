//! Owns results with files, as hosts and webhooks return them.

use serde_json::Value;

use super::ToolReply;
use crate::model::parts::NewFile;

/// The only member of such a result.
pub const MEMBER: &str = "studio_parts";

/// The result of a value.
pub fn reply(value: &Value) -> ToolReply {
    read(value).unwrap_or_else(|| ToolReply::value(value))
}

/// The result of a value that holds parts; none when it is any other.
pub fn read(value: &Value) -> Option<ToolReply> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    Some(parts(object.get(MEMBER)?).unwrap_or_else(|why| {
        ToolReply::unanswered(format!("the tool ran, but its `{MEMBER}` cannot be read: {why}; nothing of them was kept"))
    }))
}

/// A text that begins such a result: an object whose first member is that one.
pub fn begins(text: &[u8]) -> bool {
    let after = |text: &'_ [u8], what: &[u8]| text.trim_ascii_start().strip_prefix(what).map(<[u8]>::to_vec);
    let head = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let head = &head[..head.len().min(256)];
    after(head, b"{").and_then(|rest| after(&rest, b"\"studio_parts\"")).is_some()
}

fn parts(value: &Value) -> Result<ToolReply, String> {
    let parts = value.as_array().ok_or("they are no list")?;
    let (mut texts, mut files) = (Vec::new(), Vec::new());
    for (at, part) in parts.iter().enumerate() {
        let wrong = |what: &str| format!("part {} {what}", at + 1);
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        match text("type") {
            Some("text") => texts.push(text("text").ok_or_else(|| wrong("has no `text`"))?),
            Some("file") => {
                let data = text("data").ok_or_else(|| wrong("has no `data`"))?;
                let file = NewFile::of_base64(text("name"), text("media_type").unwrap_or_default(), data);
                files.push(file.ok_or_else(|| wrong("has `data` that is not base64"))?);
            }
            Some(_) | None => return Err(wrong("is neither `text` nor `file`")),
        }
    }
    Ok(ToolReply { text: texts.join("\n"), files, ..ToolReply::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_one_form_is_parts() {
        let told = |value: Value| {
            let reply = reply(&value);
            let files = reply.files.iter().map(|file| format!(" {}:{}:{}", file.name.as_deref().unwrap_or("-"), file.media_type, file.bytes.len()));
            format!("{}{}{}", if reply.is_error { "error: " } else { "" }, reply.text, files.collect::<String>())
        };
        let file = json!({"type": "file", "name": "a.png", "media_type": "image/png", "data": "aGk="});
        assert_eq!(told(json!({"studio_parts": [{"type": "text", "text": "a"}, file, {"type": "text", "text": "b"}]})), "a\nb a.png:image/png:2");
        assert_eq!(told(json!({"studio_parts": [{"type": "file", "data": "aG k"}]})), " -::2");
        assert_eq!(told(json!({"studio_parts": []})), "");
        assert_eq!(told(json!({"studio_parts": [], "more": 1})), r#"{"studio_parts":[],"more":1}"#);
        for (parts, why) in [
            (json!(3), "they are no list"),
            (json!([{"type": "text", "text": 1}]), "part 1 has no `text`"),
            (json!([{"type": "file", "name": "a"}]), "part 1 has no `data`"),
            (json!([{"type": "text", "text": ""}, {"type": "file", "data": "%%"}]), "part 2 has `data` that is not base64"),
            (json!([{"type": "image"}]), "part 1 is neither `text` nor `file`"),
        ] {
            let wanted = format!("error: the tool ran, but its `studio_parts` cannot be read: {why}; nothing of them was kept");
            assert_eq!(told(json!({ "studio_parts": parts })), wanted);
        }
        assert!(begins(b" \n{ \"studio_parts\": [") && !begins(b"{\"a\":1,\"studio_parts\"") && !begins(b"studio_parts"));
    }
}
