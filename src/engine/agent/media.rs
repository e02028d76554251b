//! Owns the files of a conversation: which ones a message refers to, their sizes, and their bytes for the provider.

use std::collections::HashMap;

use serde_json::Value;

use super::words;
use super::turns::Conversation;
use crate::engine::drive::context::{StepContext, lost};
use crate::engine::log::journal::Lost;
use crate::engine::runs::names::user_id;
use crate::model::chat::{Attachment, Message, Role};
use crate::model::event::Fault;
use crate::model::parts::File;
use crate::model::memory::{Measure, file_tokens, measure};
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
    let mut made = File {
        storage_key: text("storage_key")?,
        name: String::new(),
        media_type: text("mime_type").or_else(|| text("media_type")).unwrap_or_else(|| "application/octet-stream".into()),
        size: 0,
    }
    .attached();
    // What a model made is listed without a kind, which its type says.
    made.kind = text("type").or_else(|| file.get("media_type").map(|_| made.kind))?;
    (made.name, made.size) = (text("name"), None);
    Some(made)
}

/// Adds the tokens of the files that a message names.
pub(super) async fn weigh(context: &StepContext, message: &Message, known: &mut HashMap<String, u64>) -> Result<(), Fault> {
    for file in &message.attachments {
        if known.contains_key(&file.storage_key) {
            continue;
        }
        let bytes = match measure(&file.kind, &file.mime_type) {
            Measure::Head => context.world().file_head(&context.run().tenant, &file.storage_key).await?.unwrap_or_default().into(),
            Measure::Whole => read(context, file).await?.map(|media| media.bytes).unwrap_or_default(),
            Measure::Kind => bytes::Bytes::new(),
        };
        known.insert(file.storage_key.clone(), file_tokens(&file.kind, &file.mime_type, &bytes));
    }
    Ok(())
}

/// The files of a conversation.
#[derive(Default)]
pub(super) struct Files {
    /// Those that are sent.
    pub(super) media: Vec<Media>,
    /// Storage keys of those that are not there for this user.
    pub(super) gone: Vec<String>,
}

/// The bytes of the files of a conversation, newest messages first. For deleted files, and beyond the limit, a note in words is sent instead.
pub(super) async fn load(context: &StepContext, messages: &mut [Message]) -> Result<Files, Fault> {
    let Files { media: mut loaded, mut gone } = Files::default();
    let mut sent = 0;
    for message in messages.iter_mut().rev() {
        for file in std::mem::take(&mut message.attachments) {
            let known = loaded.iter().find(|media| media.storage_key == file.storage_key);
            let is_new = known.is_none();
            let media = match known {
                Some(media) => Some(media.clone()),
                None => read(context, &file).await?,
            };
            match media {
                None => {
                    add_line(message, &words::file_is_gone(&file));
                    gone.push(file.storage_key);
                }
                Some(media) if sent + media.bytes.len() > MOST => add_line(message, &words::file_is_too_much(&file)),
                Some(media) => {
                    sent += media.bytes.len();
                    loaded.extend(is_new.then_some(media));
                    message.attachments.push(file);
                }
            }
        }
    }
    Ok(Files { media: loaded, gone })
}

/// Adds the bytes of the files that came since the last call. Beyond the limit, which includes files already sent, a note in words is sent instead.
pub(super) async fn add(context: &StepContext, conversation: &mut Conversation) -> Result<(), Fault> {
    context.journal().durable().await.map_err(|Lost| lost())?;
    let mut sent: usize = conversation.media.iter().map(|media| media.bytes.len()).sum();
    let results = conversation.sent.iter().rev().take_while(|message| message.role == Role::Tool).count();
    let from = conversation.sent.len().saturating_sub(results + 1);
    for message in &mut conversation.sent[from..] {
        for file in std::mem::take(&mut message.attachments) {
            if conversation.media.iter().any(|media| media.storage_key == file.storage_key) {
                message.attachments.push(file);
                continue;
            }
            match read(context, &file).await? {
                None => add_line(message, &words::file_is_gone(&file)),
                Some(media) if sent + media.bytes.len() > MOST => add_line(message, &words::file_is_too_much(&file)),
                Some(media) => {
                    sent += media.bytes.len();
                    conversation.media.push(media);
                    message.attachments.push(file);
                }
            }
        }
    }
    Ok(())
}

/// A file that the run's user may read, as what it was when it was uploaded.
async fn read(context: &StepContext, file: &Attachment) -> Result<Option<Media>, Fault> {
    let run = context.run();
    let user = run.user.as_ref().and_then(user_id);
    let found = context.world().file(&run.tenant, user, &file.storage_key).await?;
    Ok(found.map(|(row, bytes)| Media { storage_key: row.storage_key, mime_type: row.mime_type, name: file.name.clone().or(row.name), bytes: bytes.into(), refused: false }))
}

fn add_line(message: &mut Message, line: &str) {
    if !message.content.is_empty() {
        message.content.push('\n');
    }
    message.content.push_str(line);
}
