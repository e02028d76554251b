//! Owns the files of a conversation: which ones a message names, and their bytes for the provider.

use serde_json::Value;

use crate::engine::context::StepContext;
use crate::model::chat::{Attachment, Message};
use crate::model::event::Fault;
use crate::providers::Media;

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

/// The bytes of all files of a conversation. A file that was deleted since is told in words instead.
pub(super) async fn load(context: &StepContext, messages: &mut [Message]) -> Result<Vec<Media>, Fault> {
    let files: Vec<&Attachment> = messages.iter().flat_map(|message| &message.attachments).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let media = context.world().media(&context.run().tenant, &files).await?;
    messages.iter_mut().for_each(|message| tell_missing(message, &media));
    Ok(media)
}

fn tell_missing(message: &mut Message, media: &[Media]) {
    let gone = |file: &mut Attachment| media.iter().all(|media| media.storage_key != file.storage_key);
    for file in message.attachments.extract_if(.., gone) {
        let name = file.name.as_deref().unwrap_or("without a name");
        let space = if message.content.is_empty() { "" } else { "\n\n" };
        message.content.push_str(&format!("{space}[The file {name} of type {} was deleted and is missing here.]", file.mime_type));
    }
}
