//! Owns the walk through folders of files to import: limited, in a fixed order, never out of the folder by a link.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Bytes of one file.
const BYTES: u64 = 2 << 20;
/// Bytes of all files that are read at once.
const TOTAL: u64 = 64 << 20;
/// Entries that are looked at, of whatever kind.
const ENTRIES: usize = 20_000;
/// Folders inside each other.
const DEPTH: usize = 32;

/// Below `export_path`, exports of each tenant but the unnamed one have a folder of their own here. Nobody else's are looked at.
const TENANTS: &str = "tenants.exported";

/// The folder of a tenant's exports below `export_path`; none for the unnamed tenant.
pub(super) fn own_folder(tenant: &str) -> Option<String> {
    (!tenant.is_empty()).then(|| format!("{TENANTS}/{}", name_of(tenant)))
}

/// Whether a path leads to what the tenant who looks exported.
pub(super) fn is_own(path: &str) -> bool {
    path.split('/').any(|part| part == TENANTS)
}

/// A path as it would be without the folder that keeps the exports of tenants apart.
pub(super) fn without_own(path: &str) -> &str {
    let own = path.split_once(TENANTS).and_then(|(_, own)| own.strip_prefix('/')?.split_once('/'));
    own.map_or(path, |(_, rest)| rest)
}

/// A tenant may have any name; this one is a folder's everywhere.
fn name_of(tenant: &str) -> String {
    Sha256::digest(tenant).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// A folder that is looked through.
pub(super) struct Folder {
    /// Without links.
    root: PathBuf,
}

impl Folder {
    /// None where there is no such folder.
    pub(super) fn at(path: &str) -> Option<Self> {
        let root = fs::canonicalize(path).ok().filter(|root| root.is_dir())?;
        Some(Self { root })
    }
}

/// How much has been looked at.
#[derive(Default)]
pub(super) struct Files {
    entries: usize,
    bytes: u64,
    /// The folder of the tenant who looks.
    own: Option<String>,
}

impl Files {
    pub(super) fn of(tenant: &str) -> Self {
        Self { own: (!tenant.is_empty()).then(|| name_of(tenant)), ..Self::default() }
    }

    /// The files below a folder with an extension that is wanted: where each is, and its path below the folder with `/`.
    pub(super) fn below(&mut self, folder: &Folder, wanted: &dyn Fn(&str) -> bool) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        let mut seen = HashSet::from([folder.root.clone()]);
        let mut open = vec![(folder.root.clone(), String::new(), 0)];
        while let Some((at, shown, depth)) = open.pop() {
            let is_shared = at.file_name().is_some_and(|name| name == TENANTS);
            for (name, path) in self.entries_of(&at) {
                if is_shared && self.own.as_ref() != Some(&name) {
                    continue;
                }
                let shown = if shown.is_empty() { name } else { format!("{shown}/{name}") };
                // A link leads to something of this folder or nowhere.
                let Some(path) = fs::canonicalize(&path).ok().filter(|path| path.starts_with(&folder.root)) else { continue };
                if path.is_dir() {
                    if depth < DEPTH && seen.insert(path.clone()) {
                        open.push((path, shown, depth + 1));
                    }
                } else if path.is_file() && path.extension().and_then(|end| end.to_str()).is_some_and(wanted) && seen.insert(path.clone()) {
                    found.push((path, shown));
                }
            }
        }
        found.sort_by(|one, other| one.1.cmp(&other.1));
        found
    }

    /// What is in a folder, by name; what is hidden or has a name that is no text is not looked at.
    fn entries_of(&mut self, folder: &Path) -> Vec<(String, PathBuf)> {
        let room = ENTRIES.saturating_sub(self.entries);
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut all: Vec<(String, PathBuf)> = entries
            .take(room)
            .flatten()
            .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
            .filter(|(name, _)| !name.starts_with('.'))
            .collect();
        self.entries += all.len();
        all.sort();
        all
    }

    /// The text of a file that is not too long.
    pub(super) fn text(&mut self, path: &Path) -> Option<String> {
        // What is no file, such as a pipe, is not opened: that could wait for ever.
        let long = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        if long > BYTES || self.bytes + long > TOTAL {
            return None;
        }
        let mut bytes = Vec::new();
        let read = File::open(path).ok()?.take(BYTES + 1).read_to_end(&mut bytes).ok()? as u64;
        self.bytes += read;
        String::from_utf8(bytes).ok().filter(|_| read <= BYTES).map(|text| text.trim_start_matches('\u{feff}').to_owned())
    }
}
