//! Owns files that models and tools create: as received, and as stored references.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::chat::{Attachment, Message, Role};

/// The member that stands for a file in a provider's own piece of a message: its place among the files of an answer, then its storage key.
/// The bytes are never kept there.
pub const HELD: &str = "studio_file";

/// A file as a model or a tool gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its name, when it has one.
    pub name: Option<String>,
    /// What it is said to be. What it is, its bytes say.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Bytes,
}

const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent));

impl NewFile {
    /// A file whose bytes come in base 64; none when they are not.
    #[must_use]
    pub fn of_base64(name: Option<&str>, media_type: &str, data: &str) -> Option<Self> {
        let blank = data.bytes().any(|byte| byte.is_ascii_whitespace());
        let decoded = if blank { BASE64.decode(data.split_ascii_whitespace().collect::<String>()) } else { BASE64.decode(data) };
        let (name, media_type) = (name.map(str::to_owned), media_type.to_owned());
        Some(Self { name, media_type, bytes: decoded.ok()?.into() })
    }

    /// A file that comes as a `data:` URL; none when it is another kind of URL.
    #[must_use]
    pub fn of_data_url(url: &str) -> Option<Self> {
        let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
        Self::of_base64(None, media_type, data)
    }

    /// The same as a file that players know: some models give bare samples.
    #[must_use]
    pub fn playable(self) -> Self {
        let declared = self.media_type.to_ascii_lowercase();
        let bare = ["audio/l16", "audio/pcm"].iter().any(|kind| declared.starts_with(kind));
        if !bare || self.bytes.starts_with(b"RIFF") {
            return self;
        }
        let rate = declared.split_once("rate=").and_then(|(_, rate)| rate.split(';').next()?.trim().parse().ok()).unwrap_or(24_000_u32);
        Self { bytes: wave(&self.bytes, rate), media_type: "audio/wav".into(), name: self.name }
    }
}

/// Samples of 16 bits of one channel with the head of a WAV file.
fn wave(samples: &[u8], rate: u32) -> Bytes {
    let size = u32::try_from(samples.len()).unwrap_or(u32::MAX);
    let mut file = Vec::with_capacity(samples.len() + 44);
    file.extend_from_slice(b"RIFF");
    file.extend_from_slice(&size.saturating_add(36).to_le_bytes());
    file.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    file.extend_from_slice(&rate.to_le_bytes());
    file.extend_from_slice(&rate.saturating_mul(2).to_le_bytes());
    file.extend_from_slice(b"\x02\0\x10\0data");
    file.extend_from_slice(&size.to_le_bytes());
    file.extend_from_slice(samples);
    file.into()
}

/// A stored file that a model or a tool made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Where its bytes are kept.
    pub storage_key: String,
    /// How it is called.
    pub name: String,
    /// Such as `image/png`.
    pub media_type: String,
    /// Its bytes.
    pub size: u64,
}

impl File {
    /// The files of a list as a state has it.
    pub fn listed(files: &[Self]) -> Value {
        serde_json::to_value(files).unwrap_or_default()
    }

    /// As messages name it.
    pub fn attached(&self) -> Attachment {
        let kind = match self.media_type.split_once('/') {
            Some((kind @ ("image" | "audio" | "video"), _)) => kind,
            Some(_) | None => "document",
        };
        Attachment {
            kind: kind.into(),
            mime_type: self.media_type.clone(),
            storage_key: self.storage_key.clone(),
            name: Some(self.name.clone()),
            size: Some(self.size),
        }
    }

    /// The files that the model made in these messages.
    #[must_use]
    pub fn made_in(messages: &[Message]) -> Vec<Self> {
        let answers = messages.iter().filter(|message| message.role == Role::Assistant);
        answers.flat_map(|message| &message.attachments).map(Self::from).collect()
    }
}

impl From<&Attachment> for File {
    fn from(file: &Attachment) -> Self {
        Self {
            storage_key: file.storage_key.clone(),
            name: file.name.clone().unwrap_or_else(|| file.mime_type.clone()),
            media_type: file.mime_type.clone(),
            size: file.size.unwrap_or_default(),
        }
    }
}
