//! Owns the files of a message in requests: as bytes if the family accepts them, else described in words.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Media;
use crate::model::chat::{Message, Role};
use crate::model::parts::HELD;

/// Which files a family takes where they are: others go with the next message of the user.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Takes {
    /// Those of results.
    pub(super) results: bool,
    /// Those that its own model made, by the name of the family.
    pub(super) answers: Option<&'static str>,
}

/// What a message says that only brings files.
const FILES: &str = "Files of the messages above:";

/// The messages as a family takes them. Files of results and answers that it does not take there follow in the next message of the user,
/// or in one of their own behind the results.
pub(super) fn carried(messages: &[Message], takes: Takes) -> Cow<'_, [Message]> {
    let moves = |message: &Message| !message.attachments.is_empty() && !stays(message, takes);
    if !messages.iter().any(moves) {
        return messages.into();
    }
    let (mut told, mut waiting): (Vec<Message>, Vec<_>) = (Vec::with_capacity(messages.len() + 1), Vec::new());
    for message in messages {
        let mut message = message.clone();
        if message.role == Role::User {
            message.attachments.splice(0..0, waiting.drain(..));
        } else if moves(&message) {
            if message.role == Role::Tool && message.content.is_empty() {
                message.content = "The result is in the files that follow.".into();
            }
            flush(&mut told, &mut waiting, message.role);
            waiting.append(&mut message.attachments);
        } else {
            flush(&mut told, &mut waiting, message.role);
        }
        told.push(message);
    }
    flush(&mut told, &mut waiting, Role::Assistant);
    told.into()
}

/// Files of results are sent before the model's next turn.
fn flush(told: &mut Vec<Message>, waiting: &mut Vec<crate::model::chat::Attachment>, next: Role) {
    if next == Role::Assistant && !waiting.is_empty() && told.last().is_some_and(|last| last.role == Role::Tool) {
        told.push(Message { attachments: std::mem::take(waiting), ..Message::text(Role::User, FILES) });
    }
}

/// The family takes the files of a message where they are.
fn stays(message: &Message, takes: Takes) -> bool {
    match message.role {
        Role::System | Role::User => true,
        Role::Tool => takes.results,
        Role::Assistant => {
            let own = message.blocks.as_ref().filter(|own| takes.answers.is_some_and(|family| family == own.family));
            let held = own.and_then(|own| own.value.as_array()).into_iter().flatten().filter_map(|piece| piece.get(HELD)?.as_str());
            let held: Vec<&str> = held.collect();
            message.attachments.iter().all(|file| held.contains(&&*file.storage_key))
        }
    }
}

/// A file that a piece of an answer stands for, when its bytes are sent.
pub(super) fn held<'a>(piece: &serde_json::Value, message: &Message, media: &'a [Media]) -> Option<File<'a>> {
    let key = piece.get(HELD)?.as_str()?;
    message.attachments.iter().find(|file| file.storage_key == key)?;
    media.iter().find(|media| media.storage_key == key).map(File)
}

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Image,
    Audio,
    Video,
    Pdf,
    Text,
    Other,
}

/// A file whose bytes are sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct File<'a>(&'a Media);

/// The files of a message; those whose bytes are not sent are left out.
pub(super) fn of<'a>(message: &'a Message, media: &'a [Media]) -> impl Iterator<Item = File<'a>> {
    message.attachments.iter().filter_map(|file| media.iter().find(|media| media.storage_key == file.storage_key)).map(File)
}

/// The content of a message: its text, or parts if it has files.
pub(super) fn content(message: &Message, media: &[Media], text_part: fn(&str) -> Value, part: fn(File<'_>) -> Value) -> Value {
    let parts: Vec<Value> = of(message, media).map(part).collect();
    if parts.is_empty() {
        return message.content.as_str().into();
    }
    let text = (!message.content.is_empty()).then(|| text_part(&message.content));
    text.into_iter().chain(parts).collect()
}

pub(super) fn kind(file: &Media) -> Kind {
    File(file).kind()
}

impl<'a> File<'a> {
    /// Its kind by its type.
    pub(super) fn kind(self) -> Kind {
        match self.mime().split_once('/') {
            _ if self.0.refused => Kind::Other,
            Some(("image", _)) => Kind::Image,
            Some(("audio", _)) => Kind::Audio,
            Some(("video", _)) => Kind::Video,
            Some(("application", "pdf")) => Kind::Pdf,
            Some(("text", _) | ("application", "json")) => Kind::Text,
            _ => Kind::Other,
        }
    }

    /// Such as `image/png`.
    pub(super) fn mime(self) -> &'a str {
        &self.0.mime_type
    }

    pub(super) fn name(self) -> &'a str {
        self.0.name.as_deref().unwrap_or("file")
    }

    /// Its bytes in base 64.
    pub(super) fn base64(self) -> String {
        STANDARD.encode(&self.0.bytes)
    }

    /// Its bytes as a URL.
    pub(super) fn data_url(self) -> String {
        format!("data:{};base64,{}", self.mime(), self.base64())
    }

    /// Its bytes as text.
    pub(super) fn text(self) -> String {
        String::from_utf8_lossy(&self.0.bytes).into_owned()
    }

    /// It in words: a text file's text, else that it cannot be shown.
    pub(super) fn to_text(self) -> String {
        let name = self.name();
        match self.kind() {
            Kind::Text => format!("File {name}:\n{}", self.text()),
            Kind::Image | Kind::Audio | Kind::Video | Kind::Pdf | Kind::Other => {
                format!("[The file {name} of type {} cannot be shown to this model.]", self.mime())
            }
        }
    }
}
