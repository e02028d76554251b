//! Owns uploaded files: storing and reading them, and who may read them.

use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::error::{Error, Kind, Result};
use crate::model::Timestamp;
use crate::model::chat::Attachment;
use crate::model::parts::sniff::{self, FileType, plain_name};
use crate::store::files::attachments as table;
use crate::store::files::attachments::AttachmentRow;
use crate::store::files::folder::FileRoom;
use crate::store::{StoreError, Tx};
use crate::studio::reach::{Refusal, user_id};
use crate::studio::runs::requests::AttachmentInput;
use crate::studio::{Scope, Studio};

/// Within this many milliseconds the bytes of a file that comes are a file, or they are removed.
const COMES: i64 = 86_400_000;
/// Runs and threads that a refusal names.
const USERS: usize = 20;

/// A file as it was sent.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The name that it had.
    pub name: Option<String>,
    /// What the client says that it is.
    pub mime_type: Option<String>,
    /// `image`, `audio`, `video` or `document`, when the client says so.
    pub kind: Option<String>,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A file as it is kept.
#[derive(Clone, Debug)]
pub struct StoredFile {
    /// Such as `image/png`.
    pub mime_type: String,
    /// The name that it had.
    pub name: Option<String>,
    /// How many bytes it has.
    pub size: u64,
    /// Those that were asked for.
    pub bytes: Bytes,
}

/// Which bytes of a file are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// None: what is known of the file is enough.
    None,
    /// All.
    Whole,
    /// So many behind so many others.
    Part {
        /// Those before them.
        skipped: u64,
        /// How many.
        count: u64,
    },
}

/// What a file is, or why it is not taken.
fn admit(upload: &Upload, limit_kb: u64) -> Result<FileType> {
    if upload.bytes.is_empty() {
        return Err(Error::field("file", "file is empty"));
    }
    if upload.bytes.len() as u64 > limit_kb * 1024 {
        let text = format!("the file has more than {limit_kb} KiB; nothing was stored");
        return Err(Error::new(Kind::AttachmentTooLarge, text).with("limit_kb", limit_kb));
    }
    let found = sniff::sniff(&upload.bytes, upload.mime_type.as_deref(), upload.name.as_deref());
    let Some(found) = found else {
        let text = "files of this type are not taken; send JPEG, PNG, GIF, WebP, MP3, WAV, Ogg, MP4, WebM, PDF, text, Markdown or CSV";
        return Err(Error::new(Kind::UnsupportedMediaType, text));
    };
    match upload.kind.as_deref() {
        Some(kind) if kind != found.kind => Err(Error::field("type", format!("type must be {}, which the file is", found.kind))),
        Some(_) | None => Ok(found),
    }
}

/// A file of this tenant that this user may read: the uploader, and anyone once a run or message refers to it.
fn readable(tx: &mut Tx<'_>, tenant: &str, user: Option<&str>, key: &str) -> Result<AttachmentRow, Refusal> {
    let row = table::get(tx, tenant, key)?;
    row.filter(|row| row.readable(user))
        .ok_or_else(|| Error::not_found("attachment", key).into())
}

/// The files that a message names, as they are kept; an unknown one is a field error.
pub fn known_files(tx: &mut Tx<'_>, scope: &Scope, given: &[AttachmentInput]) -> Result<Result<Vec<Attachment>>, StoreError> {
    let user = user_id(scope);
    let mut files = Vec::with_capacity(given.len());
    for (at, input) in given.iter().enumerate() {
        let row = match readable(tx, &scope.tenant, user.as_deref(), &input.storage_key) {
            Ok(row) => row,
            Err(Refusal::Store(error)) => return Err(error),
            Err(Refusal::Refused(_)) => {
                let path = format!("attachments.{at}.storage_key");
                return Ok(Err(Error::field(&path, format!("{path} is not the key of a file"))));
            }
        };
        files.push(Attachment {
            kind: row.kind,
            mime_type: row.mime_type,
            storage_key: row.storage_key,
            name: input.name.clone().or(row.name),
            size: None,
        });
    }
    Ok(Ok(files))
}

impl Studio {
    /// Works in the folder of files, on a thread for that.
    async fn at_files<T: Send + 'static>(&self, work: impl FnOnce(&FileRoom) -> io::Result<T> + Send + 'static) -> Result<io::Result<T>> {
        self.runtime()?;
        Ok(self.world().at_files(work).await)
    }

    /// Takes a file in: `{storage_key, mime_type, name, type, size_bytes}`.
    pub async fn upload(&self, scope: &Scope, upload: Upload) -> Result<Value> {
        let world = self.world();
        let found = admit(&upload, world.config.attachments.max_size_kb)?;
        let mut key = [0; 32];
        world.clock.random(&mut key);
        let row = AttachmentRow {
            storage_key: URL_SAFE_NO_PAD.encode(key),
            user_id: user_id(scope),
            kind: found.kind.to_owned(),
            mime_type: found.mime.to_owned(),
            name: upload.name.as_deref().and_then(plain_name),
            size: upload.bytes.len() as u64,
            created_at: world.clock.now(),
            used: false,
        };
        let answer = json!({"storage_key": row.storage_key, "mime_type": row.mime_type, "name": row.name, "type": row.kind, "size_bytes": row.size});
        self.keep(&scope.tenant, row, upload.bytes).await?;
        Ok(answer)
    }

    /// Stores the bytes first, then what is known of them. Until then they are noted to be removed, so that they do not stay where it comes to nothing.
    async fn keep(&self, tenant: &Arc<str>, row: AttachmentRow, bytes: Bytes) -> Result<()> {
        if self.world().files.is_none() {
            let tenant = Arc::clone(tenant);
            return self.writing(move |tx| Ok(table::insert(tx, &tenant, &row, Some(&bytes))?)).await;
        }
        let (owner, key, due) = (Arc::clone(tenant), row.storage_key.clone(), Timestamp(row.created_at.0.saturating_add(COMES)));
        self.writing(move |tx| Ok(table::to_remove(tx, &owner, &key, due)?)).await?;
        let (folder, key) = (Arc::clone(tenant), row.storage_key.clone());
        let put = self.at_files(move |room| room.put(&folder, &key, &bytes)).await?.map_err(unwritten);
        let (owner, key) = (Arc::clone(tenant), row.storage_key.clone());
        let stored = match put {
            Ok(()) => self.writing(move |tx| Ok(table::insert(tx, &owner, &row, None)?)).await,
            Err(error) => Err(error),
        };
        if stored.is_err() {
            remove_files(self, tenant, vec![key]).await;
        }
        stored
    }

    /// A file's bytes.
    pub async fn attachment(&self, scope: &Scope, key: &str) -> Result<StoredFile> {
        self.attachment_part(scope, key, |_| Section::Whole).await
    }

    /// A part of a file's bytes, chosen by how many there are.
    pub async fn attachment_part(&self, scope: &Scope, key: &str, section: impl Fn(u64) -> Section + Send + 'static) -> Result<StoredFile> {
        let (tenant, user, name) = (Arc::clone(&scope.tenant), user_id(scope), key.to_owned());
        let found = self.reading(move |tx| {
            let row = readable(tx, &tenant, user.as_deref(), &name)?;
            let section = section(row.size);
            let kept = match section {
                Section::None => Some(Vec::new()),
                Section::Whole => table::content(tx, &tenant, &name)?,
                Section::Part { skipped, count } => table::part(tx, &tenant, &name, skipped, count)?,
            };
            Ok((row, section, kept))
        });
        let (row, section, kept) = found.await?;
        let bytes = match kept {
            Some(kept) => kept,
            None => self.lying(scope, key, section).await?,
        };
        Ok(StoredFile { mime_type: row.mime_type, name: row.name, size: row.size, bytes: bytes.into() })
    }

    /// The bytes of a file in its folder; none if another process has deleted them.
    async fn lying(&self, scope: &Scope, key: &str, section: Section) -> Result<Vec<u8>> {
        let (tenant, name) = (Arc::clone(&scope.tenant), key.to_owned());
        let read = self.at_files(move |room| match section {
            Section::None | Section::Whole => room.get(&tenant, &name),
            Section::Part { skipped, count } => {
                let bytes = room.part(&tenant, &name, skipped, count)?;
                if bytes.len() as u64 == count { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
            }
        });
        read.await?.map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return Error::not_found("attachment", key);
            }
            let text = format!("the file could not be read: {error}; check the folder of `attachments.path` and its disk");
            Error::new(Kind::StoreUnavailable, text).caused_by(error)
        })
    }

    /// Deletes a file that nothing refers to.
    pub async fn delete_attachment(&self, scope: &Scope, key: &str) -> Result<()> {
        let (tenant, user, name) = (Arc::clone(&scope.tenant), user_id(scope), key.to_owned());
        self.writing(move |tx| {
            readable(tx, &tenant, user.as_deref(), &name)?;
            let users = table::used_by(tx, &tenant, &name, USERS)?;
            if !users.is_empty() {
                let text = "a run or a message refers to this file; delete that first";
                let told: Vec<Value> = users.into_iter().map(|(kind, id)| json!({"kind": kind, "id": id, "name": null})).collect();
                return Err(Error::new(Kind::InUse, text).with("used_by", told).into());
            }
            Ok(table::delete(tx, &tenant, &name)?)
        })
        .await?;
        remove_files(self, &scope.tenant, vec![key.to_owned()]).await;
        Ok(())
    }
}

/// Removes the bytes of files whose rows are gone. What cannot be removed stays noted, and the next purge tries again.
pub(crate) async fn remove_files(studio: &Studio, tenant: &Arc<str>, keys: Vec<String>) {
    let files = keys.into_iter().map(|key| (tenant.to_string(), key)).collect();
    if let Err(error) = remove_noted(studio, files).await {
        tracing::warn!(%error, "unused files were not deleted; the next `purge` tries again");
    }
}

/// Removes bytes of files from their folder, by tenant and storage key, and the notes of those that are gone.
pub(in crate::studio) async fn remove_noted(studio: &Studio, files: Vec<(String, String)>) -> Result<()> {
    if studio.world().files.is_none() || files.is_empty() {
        return Ok(());
    }
    let removed = studio.at_files(move |room| {
        let mut gone = files;
        gone.retain(|(tenant, key)| match room.remove(tenant, key) {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, "an unused file was not deleted; the next `purge` tries again");
                false
            }
        });
        Ok(gone)
    });
    let gone = removed.await?.map_err(|error| {
        let text = format!("files that nothing refers to were not removed: {error}; check the folder of `attachments.path` and its disk");
        Error::new(Kind::StoreUnavailable, text).caused_by(error)
    })?;
    if gone.is_empty() {
        return Ok(());
    }
    studio.writing(move |tx| Ok(gone.iter().try_for_each(|(tenant, key)| table::removed(tx, tenant, key))?)).await
}

fn unwritten(error: io::Error) -> Error {
    let text = format!("the file could not be stored: {error}; check the folder of `attachments.path` and its disk");
    Error::new(Kind::StoreUnavailable, text).caused_by(error)
}
