//! Owns exported files: below one folder, written atomically, never over another file without consent.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::error::{Error, Kind, Result};

/// A file that is longer is another one.
const MOST: u64 = 64 << 20;

/// Where a file goes.
pub(super) struct Place<'a> {
    /// The folder of all exported files.
    pub(super) root: &'a Path,
    /// Below it, with `/`.
    pub(super) path: &'a str,
    /// Another content is replaced.
    pub(super) overwrite: bool,
}

/// Writes a file; one with the same content stays.
pub(super) fn write(place: &Place<'_>, text: &str) -> Result<()> {
    let target = target(place)?;
    match there(&target)? {
        There::Same(same) if same == text => return Ok(()),
        There::Nothing => {}
        There::Folder => return Err(taken(place, "is a folder")),
        There::Same(_) | There::Other if place.overwrite => {}
        There::Same(_) | There::Other => return Err(taken(place, "is there with another content; nothing was written; `overwrite` (`--force`) replaces it")),
    }
    let beside = target.with_file_name(format!(".{}.tmp", uuid::Uuid::new_v4()));
    let done = put(&beside, text).and_then(|()| settle(&beside, &target, place.overwrite));
    if done.is_err() {
        let _is_removed_if_it_was_made = fs::remove_file(&beside);
    }
    match done {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken(place, "was made meanwhile; nothing was written")),
        done => done.map_err(|error| failed(&target, &error)),
    }
}

fn put(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Renames the finished file into place; replaces another one only with consent, also under concurrent writes.
fn settle(beside: &Path, target: &Path, overwrite: bool) -> std::io::Result<()> {
    if !overwrite {
        match fs::hard_link(beside, target) {
            Ok(()) => return fs::remove_file(beside),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            // A file system without links.
            Err(_) if fs::symlink_metadata(target).is_ok() => return Err(ErrorKind::AlreadyExists.into()),
            Err(_) => {}
        }
    }
    fs::rename(beside, target)
}

/// The whole path of a file; its folder is made, and is below the root also when links are followed.
fn target(place: &Place<'_>) -> Result<PathBuf> {
    let parts: Vec<&str> = place.path.split('/').collect();
    let plain = |part: &&str| !part.is_empty() && *part != "." && *part != ".." && !part.contains(['\\', '\0']);
    let Some((name, folders)) = parts.split_last().filter(|_| parts.iter().all(plain)) else {
        return Err(Error::internal(format!("`{}` is no path of an exported file", place.path)));
    };
    fs::create_dir_all(place.root).map_err(|error| failed(place.root, &error))?;
    let root = fs::canonicalize(place.root).map_err(|error| failed(place.root, &error))?;
    let mut folder = root.clone();
    for part in folders {
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(&folder, &error)),
            Ok(()) | Err(_) => {}
        }
        folder = fs::canonicalize(&folder).map_err(|error| failed(&folder, &error))?;
        if !folder.starts_with(&root) {
            let told = format!("`{part}` leads out of the export path by a link; nothing was written");
            return Err(Error::field("export_path", told));
        }
    }
    Ok(folder.join(name))
}

enum There {
    Nothing,
    Folder,
    /// A file with this text.
    Same(String),
    /// A link, something that is no file, a file that is no text.
    Other,
}

fn there(path: &Path) -> Result<There> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(There::Nothing),
        found => found.map_err(|error| failed(path, &error))?,
    };
    if found.is_dir() {
        return Ok(There::Folder);
    }
    if !found.is_file() || found.len() > MOST {
        return Ok(There::Other);
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
    read.map_err(|error| failed(path, &error))?;
    Ok(String::from_utf8(bytes).map_or(There::Other, There::Same))
}

fn taken(place: &Place<'_>, why: &str) -> Error {
    let path = place.path;
    Error::new(Kind::InUse, format!("`{path}` {why}")).with("used_by", json!([{"kind": "file", "id": path, "name": path}]))
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::field("export_path", format!("`{}` cannot be written: {error}; nothing was written", path.display()))
}
