//! Owns the storage of files that models and tools create: which are accepted, their names, and one transaction for a file and the entry that
//! names it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::engine::drive::context::StepContext;
use crate::engine::runs::names::user_id;
use crate::model::Timestamp;
use crate::model::event::Warning;
use crate::model::parts::sniff::{self, FileType, plain_name};
use crate::model::parts::{File, HELD, NewFile};
use crate::providers::ChatReply;
use crate::store::files::attachments::{self, AttachmentRow, KeptFile};

/// Files that are not kept and have a warning each.
const MOST_NAMED: usize = 5;
/// Files that come with one answer or result.
const MOST_FILES: usize = 20;
/// Bytes of the files of one result.
const MOST_BYTES: usize = 20 << 20;
/// Within this many milliseconds the bytes of a file that comes are named by an entry, or they are removed.
const COMES: i64 = 86_400_000;

/// Files on their way into storage.
#[derive(Default)]
pub(super) struct Ready {
    /// As they are named.
    pub(super) files: Vec<File>,
    /// As they are stored with the next entry.
    kept: Vec<KeptFile>,
}

impl StepContext {
    /// Prepares generated files for storage; dropped ones become warnings.
    pub(super) async fn keep_made(&self, reply: &mut ChatReply) -> Ready {
        let mut ready = Ready::default();
        let mut keys = Vec::with_capacity(reply.files.len());
        let mut left_out = 0;
        for file in std::mem::take(&mut reply.files) {
            let file = file.playable();
            let admitted = match ready.files.len() {
                MOST_FILES => Err(format!("an answer brings at most {MOST_FILES}")),
                _ => self.admitted(&file),
            };
            keys.push(match admitted {
                Ok(found) => Some(self.add(&mut ready, file, found)),
                Err(why) => {
                    left_out += 1;
                    if left_out <= MOST_NAMED {
                        reply.warnings.push(dropped(&why));
                    }
                    None
                }
            });
        }
        if left_out > MOST_NAMED {
            reply.warnings.push(Warning::new("attachment_dropped", format!("{} more files that the model made are not kept", left_out - MOST_NAMED)));
        }
        let mut laid = self.lay_down(&mut ready).await;
        if laid.is_ok() {
            laid = self.keep_now(&mut ready).await;
        }
        if let Err(why) = laid {
            reply.warnings.push(dropped(&why));
            (ready, keys) = (Ready::default(), Vec::new());
        }
        reply.message.attachments = ready.files.iter().map(File::attached).collect();
        if let Some(blocks) = &mut reply.message.blocks {
            name_held(&mut blocks.value, &keys);
        }
        ready
    }

    /// Makes the files that came with a tool's result ready to be stored, or says why they are not taken.
    pub(super) async fn keep_given(&self, files: Vec<NewFile>) -> Result<Ready, String> {
        let mut ready = Ready::default();
        if files.len() > MOST_FILES {
            return Err(format!("there are {} of them, and a result brings at most {MOST_FILES}", files.len()));
        }
        if files.iter().map(|file| file.bytes.len()).sum::<usize>() > MOST_BYTES {
            return Err(format!("they have more than {} MiB together", MOST_BYTES >> 20));
        }
        for file in files {
            let found = self.admitted(&file)?;
            self.add(&mut ready, file, found);
        }
        self.lay_down(&mut ready).await?;
        self.keep_now(&mut ready).await?;
        Ok(ready)
    }

    /// What is ready is stored with the entry that is recorded next.
    pub(super) fn attach(&self, ready: Ready) {
        if !ready.kept.is_empty() {
            self.journal().add(|rows| rows.kept.extend(ready.kept));
        }
    }

    /// What a file is; or why it is not taken. The same limits as for files that people send.
    fn admitted(&self, file: &NewFile) -> Result<FileType, String> {
        let limit_kb = self.world().config.attachments.max_size_kb;
        let name = file.name.as_deref().and_then(plain_name).unwrap_or_else(|| "one".into());
        if file.bytes.is_empty() {
            return Err(format!("{name} is empty"));
        }
        if file.bytes.len() as u64 > limit_kb * 1024 {
            return Err(format!("{name} has more than {limit_kb} KiB (`attachments.max_size_kb`)"));
        }
        let found = sniff::sniff(&file.bytes, Some(&file.media_type), file.name.as_deref());
        found.ok_or_else(|| format!("{name} is of no type that is taken"))
    }

    /// Gives a file a key and a name, without anything in it that is masked.
    fn add(&self, ready: &mut Ready, file: NewFile, found: FileType) -> String {
        let mut key = [0; 32];
        self.world().clock.random(&mut key);
        let storage_key = URL_SAFE_NO_PAD.encode(key);
        let given = file.name.as_deref().and_then(plain_name);
        let mut name = given.unwrap_or_else(|| format!("{}-{}.{}", found.kind, ready.files.len() + 1, found.extension()));
        self.journal().masking().mask(|masks| masks.text(&mut name));
        let size = file.bytes.len() as u64;
        let row = AttachmentRow {
            storage_key: storage_key.clone(),
            user_id: self.run().user.as_ref().and_then(user_id),
            kind: found.kind.to_owned(),
            mime_type: found.mime.to_owned(),
            name: Some(name.clone()),
            size,
            created_at: self.world().clock.now(),
            used: false,
        };
        ready.kept.push(KeptFile { row, content: Some(file.bytes) });
        ready.files.push(File { storage_key: storage_key.clone(), name, media_type: found.mime.to_owned(), size });
        storage_key
    }

    /// Writes bytes that do not lie in the database. They are noted to be removed until their entry is stored, so that they do not stay
    /// where it never is.
    async fn lay_down(&self, ready: &mut Ready) -> Result<(), String> {
        if self.world().files.is_none() || ready.kept.is_empty() {
            return Ok(());
        }
        let due = Timestamp(self.world().clock.now().0.saturating_add(COMES));
        let tenant = Arc::clone(&self.run().tenant);
        let bytes = ready.kept.iter_mut().map(|file| (file.row.storage_key.clone(), file.content.take().unwrap_or_default()));
        let bytes: Vec<_> = bytes.collect();
        let (owner, keys) = (Arc::clone(&tenant), bytes.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>());
        let note = self.world().store.write(move |tx| keys.iter().try_for_each(|key| attachments::to_remove(tx, &owner, key, due)));
        note.await.map_err(|error| unwritten(&error))?;
        let put = self.world().at_files(move |room| bytes.iter().try_for_each(|(key, bytes)| room.put(&tenant, key, bytes)));
        put.await.map_err(|error| unwritten(&error))
    }

    /// Where runs are not stored, files are like uploads that nothing refers to: they go after a day.
    async fn keep_now(&self, ready: &mut Ready) -> Result<(), String> {
        if !self.world().keeps_nothing() || ready.kept.is_empty() {
            return Ok(());
        }
        let (tenant, kept) = (Arc::clone(&self.run().tenant), std::mem::take(&mut ready.kept));
        let stored = self.world().store.write(move |tx| kept.iter().try_for_each(|file| attachments::insert(tx, &tenant, &file.row, file.content.as_deref())));
        stored.await.map_err(|error| unwritten(&error))
    }
}

fn unwritten(error: &impl std::fmt::Display) -> String {
    format!("they could not be stored: {error}; check the folder of `attachments.path` and its disk")
}

fn dropped(why: &str) -> Warning {
    Warning::new("attachment_dropped", format!("a file that the model made is not kept: {why}"))
}

/// Files are named by their keys in the provider's own pieces, whose places are known; pieces of what was not kept are left out.
fn name_held(pieces: &mut Value, keys: &[Option<String>]) {
    let Some(pieces) = pieces.as_array_mut() else { return };
    pieces.retain_mut(|piece| {
        let Some(held) = piece.get_mut(HELD) else { return true };
        let key = held.as_u64().and_then(|at| keys.get(usize::try_from(at).ok()?)?.clone());
        key.is_some_and(|key| {
            *held = key.into();
            true
        })
    });
}
