//! Owns the files of a conversation: which ones a message names, how large they are, and their bytes for the provider.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::words;
use crate::engine::context::StepContext;
use crate::model::chat::{Attachment, Message};
use crate::model::event::Fault;
use crate::model::memory::image_size;
use crate::providers::Media;

/// Bytes of files that one call sends along; no provider takes more.
const MOST: usize = 64 * 1024 * 1024;

/// The files that the state names; anything that is no file is left out.
pub(super) fn attachments(value: Option<&Value>) -> Vec<Attachment> {
    let files = value.and_then(Value::as_array).into_iter().flatten();
    files.filter_map(attachment).collect()
}

fn attachment(file: &Value) -> Option<Attachment> {
    let text = |key: &str| file.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(Attachment {
        kind: text("type")?,
        mime_type: text("mime_type").unwrap_or_else(|| "application/octet-stream".into()),
        storage_key: text("storage_key")?,
        name: text("name"),
    })
}

/// Width and height of the images that messages name, as far as their files tell.
pub(super) async fn image_sizes<'m>(
    context: &StepContext,
    messages: impl Iterator<Item = &'m Message>,
) -> Result<HashMap<String, (u32, u32)>, Fault> {
    let images = messages.flat_map(|message| &message.attachments).filter(|file| file.kind == "image");
    let keys: HashSet<&str> = images.map(|file| file.storage_key.as_str()).collect();
    let mut sizes = HashMap::with_capacity(keys.len());
    for key in keys {
        let head = context.world().file_head(&context.run().tenant, key).await?;
        sizes.extend(head.and_then(|head| image_size(&head)).map(|size| (key.to_owned(), size)));
    }
    Ok(sizes)
}

/// The bytes of the files of a conversation, newest messages first. What is gone or too much is told in words instead.
pub(super) async fn load(context: &StepContext, messages: &mut [Message]) -> Result<Vec<Media>, Fault> {
    let mut loaded: Vec<Media> = Vec::new();
    let mut sent = 0;
    for message in messages.iter_mut().rev() {
        for file in std::mem::take(&mut message.attachments) {
            let known = loaded.iter().find(|media| media.storage_key == file.storage_key).map(|media| media.bytes.clone());
            let bytes = match known {
                Some(bytes) => Some(bytes),
                None => context.world().file(&context.run().tenant, &file.storage_key).await?.map(bytes::Bytes::from),
            };
            let missing = match &bytes {
                None => Some(words::file_is_gone(&file)),
                Some(bytes) if sent + bytes.len() > MOST => Some(words::file_is_too_much(&file)),
                Some(_) => None,
            };
            match (bytes, missing) {
                (Some(bytes), None) => {
                    sent += bytes.len();
                    if !loaded.iter().any(|media| media.storage_key == file.storage_key) {
                        loaded.push(media(&file, bytes));
                    }
                    message.attachments.push(file);
                }
                (_, missing) => add_line(message, &missing.unwrap_or_default()),
            }
        }
    }
    Ok(loaded)
}

fn media(file: &Attachment, bytes: bytes::Bytes) -> Media {
    Media { storage_key: file.storage_key.clone(), mime_type: file.mime_type.clone(), name: file.name.clone(), bytes }
}

fn add_line(message: &mut Message, line: &str) {
    if !message.content.is_empty() {
        message.content.push('\n');
    }
    message.content.push_str(line);
}
