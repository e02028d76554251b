//! Owns the files of a message: inline bytes are stored, earlier uploads are referenced.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::ask::{File, NewMessage};
use crate::error::{Error, Result};
use crate::http::settings;
use crate::studio::{Scope, Studio, Upload};

/// Where files that were uploaded are read.
pub(super) const PATH: &str = "/api/attachments/file";
/// Files of one message.
const MOST: usize = 20;

/// The files of a message.
#[derive(Debug, Default)]
pub(super) struct Attached {
    /// As a run body names them.
    pub(super) named: Option<Value>,
    /// Those that were stored now.
    stored: Vec<String>,
}

impl Attached {
    /// Removes again what was stored for a post that is refused. A post that broke off may have been accepted.
    pub(super) async fn or_forget<T>(self, studio: &Studio, scope: &Scope, made: Result<T>) -> Result<T> {
        if made.as_ref().is_err_and(|error| error.kind.status() < 500) {
            for key in &self.stored {
                if let Err(error) = studio.delete_attachment(scope, key).await {
                    tracing::warn!(%error, "a file of a refused request was not deleted; `purge` deletes it as an unused file");
                }
            }
        }
        made
    }
}

/// The files of a message as a run body names them; stores what is not stored yet.
pub(super) async fn attachments(studio: &Studio, scope: &Scope, said: &NewMessage) -> Result<Attached> {
    let mut attached = Attached { named: said.attachments.clone(), stored: Vec::new() };
    if said.files.is_empty() {
        return Ok(attached);
    }
    let named = store(studio, scope, said, &mut attached.stored).await;
    match named {
        Ok(named) => Ok(Attached { named: Some(named.into()), ..attached }),
        Err(error) => attached.or_forget(studio, scope, Err(error)).await,
    }
}

async fn store(studio: &Studio, scope: &Scope, said: &NewMessage, kept: &mut Vec<String>) -> Result<Vec<Value>> {
    if said.files.len() > MOST {
        return Err(Error::field(said.field, format!("the message must have at most {MOST} files")));
    }
    let sources: Vec<Source> = said.files.iter().map(|file| source(studio, file, said.field)).collect::<Result<_>>()?;
    let mut named = Vec::with_capacity(sources.len());
    for (source, file) in sources.into_iter().zip(&said.files) {
        named.push(match source {
            Source::Kept(key) => json!({"type": "document", "storage_key": key, "name": file.name}),
            Source::Bytes { mime_type, bytes } => {
                let upload = Upload { name: file.name.clone(), mime_type, kind: None, bytes };
                let stored = studio.upload(scope, upload).await?;
                kept.extend(stored["storage_key"].as_str().map(str::to_owned));
                json!({"type": stored["type"], "storage_key": stored["storage_key"], "mime_type": stored["mime_type"], "name": stored["name"]})
            }
        });
    }
    Ok(named)
}

#[derive(Debug, PartialEq, Eq)]
enum Source {
    Kept(String),
    Bytes { mime_type: Option<String>, bytes: Bytes },
}

fn source(studio: &Studio, file: &File, field: &str) -> Result<Source> {
    let prefix = settings::studio_prefix(studio.config());
    let found = match file.url.strip_prefix("data:") {
        Some(data) => inline(data, file.mime_type.as_deref()),
        None => kept(&file.url, &prefix).map(Source::Kept),
    };
    found.ok_or_else(|| Error::field(field, "a file must come as a `data:` URL, or be the URL of an attachment of this studio"))
}

/// The storage key in the address of an attachment; nothing is fetched from there.
fn kept(url: &str, prefix: &str) -> Option<String> {
    let (path, query) = url.split_once('?')?;
    if !path.ends_with(&format!("{prefix}{PATH}")) {
        return None;
    }
    let pairs = query.split('#').next()?.split('&').filter_map(|pair| pair.split_once('='));
    let key =
        pairs.into_iter().find(|(name, _)| *name == "storage_key").map(|(_, key)| percent_decode_str(key).decode_utf8_lossy().into_owned());
    key.filter(|key| !key.is_empty())
}

/// Reads the address of a file as messages name it.
#[cfg(feature = "fuzzing")]
pub(super) fn read_any(url: &str) {
    let _source = url.strip_prefix("data:").map_or_else(|| kept(url, "/studio").map(Source::Kept), |data| inline(data, None));
}

/// What follows `data:`.
fn inline(data: &str, mime_type: Option<&str>) -> Option<Source> {
    let (head, body) = data.split_once(',')?;
    let (kind, encoded) = head.strip_suffix(";base64").map_or((head, false), |kind| (kind, true));
    let unescaped = percent_decode_str(body).collect::<Vec<u8>>();
    let bytes = if encoded { STANDARD.decode(unescaped.trim_ascii()).ok()? } else { unescaped };
    let mime_type = Some(kind).filter(|kind| !kind.is_empty()).or(mime_type).map(str::to_owned);
    Some(Source::Bytes { mime_type, bytes: bytes.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_are_read_whole_and_others_only_where_they_name_an_attachment() {
        let bytes = |kind: Option<&str>, text: &str| {
            Some(Source::Bytes { mime_type: kind.map(str::to_owned), bytes: Bytes::from(text.to_owned()) })
        };
        assert_eq!(inline("text/plain;base64,aGk=", None), bytes(Some("text/plain"), "hi"));
        assert_eq!(inline("text/plain;charset=utf-8,h%20i", None), bytes(Some("text/plain;charset=utf-8"), "h i"));
        assert_eq!(inline(",hi", Some("text/markdown")), bytes(Some("text/markdown"), "hi"));
        assert_eq!(inline("text/plain;base64,%%%", None), None);
        assert_eq!(inline("text/plain", None), None);
        let key = |url| kept(url, "/studio");
        assert_eq!(key("https://shop.example/ai/studio/api/attachments/file?storage_key=abc"), Some("abc".to_owned()));
        assert_eq!(key("/studio/api/attachments/file?x=1&storage_key=a%2Db#page"), Some("a-b".to_owned()));
        for url in [
            "https://evil.example/file.png",
            "/studio/api/attachments/file",
            "/studio/api/attachments/file?storage_key=",
            "file:///etc/passwd?storage_key=a",
        ] {
            assert_eq!(key(url), None, "{url}");
        }
    }
}
