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

/// The bytes of all files of a conversation.
pub(super) async fn load(context: &StepContext, messages: &[Message]) -> Result<Vec<Media>, Fault> {
    let files: Vec<&Attachment> = messages.iter().flat_map(|message| &message.attachments).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    context.world().media(&context.run().tenant, &files).await
}
