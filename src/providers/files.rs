//! Owns how the files of a message are shown to models: as bytes where a family takes them, else in words.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Media;
use crate::model::chat::Message;

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

/// The kind of a file.
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

    /// Its name.
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
    pub(super) fn told(self) -> String {
        let name = self.name();
        match self.kind() {
            Kind::Text => format!("File {name}:\n{}", self.text()),
            Kind::Image | Kind::Audio | Kind::Video | Kind::Pdf | Kind::Other => {
                format!("[The file {name} of type {} cannot be shown to this model.]", self.mime())
            }
        }
    }
}
