//! Owns copies of a database in use, with the uploaded files that they name: what was at work rests in a copy, since it goes on in the original.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::store::db::sqlite::CopiedFile;
use crate::store::files::attachments;
use crate::store::files::folder::{Copied, FileRoom};
use crate::store::runs::queue;
use crate::store::{Store, StoreError, StoreSettings, db};

/// The folder of uploaded files beside a database, where the configuration names no other.
pub const FILES: &str = "attachments";
/// Files that are listed at once.
const LISTED: usize = 500;

/// What a backup holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// Queued runs, and runs at work, that rest in the copy.
    pub resting: u64,
    /// The uploaded files; none where the database holds them.
    pub files: Option<CopiedFiles>,
}

/// What became of the uploaded files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedFiles {
    /// The folder of the copies.
    pub folder: PathBuf,
    /// Those that were copied.
    pub copied: u64,
    /// Those that were there already.
    pub kept: u64,
    /// Those that were removed while the backup was made.
    pub missing: u64,
}

impl CopiedFiles {
    /// As it is told.
    pub fn json(&self) -> Value {
        json!({"path": self.folder, "copied": self.copied, "kept": self.kept, "missing": self.missing})
    }
}

impl Store {
    /// Copies the whole database into a new file, while it is in use, and the uploaded files that it names into a folder beside that file. Runs that
    /// are queued or at work rest in the copy.
    ///
    /// # Errors
    /// A path that cannot be used or is in use; a database that is no file; what the disk says.
    pub async fn backup(&self, to: &Path, files: Option<FileRoom>) -> Result<Backup, StoreError> {
        let Some(target) = to.to_str().map(str::to_owned) else {
            return Err(StoreError::Place("the path of a backup must be UTF-8".to_owned()));
        };
        if to.symlink_metadata().is_ok() {
            return Err(StoreError::Place(format!("`{target}` exists; give the backup a path of its own")));
        }
        let settings = self.0.settings.clone();
        if settings.memory {
            return Err(StoreError::Place("a database in memory has no backup".to_owned()));
        }
        #[cfg(feature = "postgres")]
        if settings.server.is_some() {
            return Err(StoreError::Place("a database on a server is backed up with its own programs, such as `pg_dump`".to_owned()));
        }
        self.read(|_| Ok(())).await?;
        let (sender, answer) = oneshot::channel();
        let make = move || {
            let _ = sender.send(make(&settings, &target, files.as_ref()));
        };
        let thread = std::thread::Builder::new().name("studio-backup".to_owned()).spawn(make);
        thread.map_err(|error| StoreError::Io(format!("no thread can be started: {error}")))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

fn make(settings: &StoreSettings, target: &str, files: Option<&FileRoom>) -> Result<Backup, StoreError> {
    db::sqlite::copy(settings, target, |copied| {
        let resting = copied.work(queue::put_to_rest)?;
        let files = files.map(|files| copy_files(copied, files, Path::new(target).with_file_name(FILES))).transpose()?;
        Ok(Backup { resting, files })
    })
}

/// Copies the files that a copy of the database names. One that is there has the same bytes: no file ever changes.
fn copy_files(database: &CopiedFile, files: &FileRoom, folder: PathBuf) -> Result<CopiedFiles, StoreError> {
    let room = FileRoom::new(folder.clone());
    let (mut told, mut after) = (CopiedFiles { folder, copied: 0, kept: 0, missing: 0 }, 0);
    loop {
        let listed = database.work(|tx| attachments::in_folder(tx, after, LISTED))?;
        let Some((last, ..)) = listed.last() else { return Ok(told) };
        after = *last;
        if files.is(&room) {
            let text = format!(
                "the uploaded files of the copy would be those of the database, in `{}`, and go with them; give the backup a folder of its own",
                told.folder.display()
            );
            return Err(StoreError::Place(text));
        }
        for (_, tenant, key) in &listed {
            let copied = files.copy(&room, tenant, key).map_err(|error| {
                let text = format!("an uploaded file could not be copied to `{}`: {error}; nothing else was changed", told.folder.display());
                StoreError::Io(text)
            })?;
            match copied {
                Copied::Now => told.copied += 1,
                Copied::Before => told.kept += 1,
                Copied::Missing => told.missing += 1,
            }
        }
    }
}
