//! Owns the places that follow from the keys: the database file, the queue, the folder of attachments.

use std::path::{Path, PathBuf};

use super::Keys;

impl Keys {
    /// The database's file; none when it is in memory or on a server.
    pub fn database_file(&self) -> Option<&Path> {
        let path = match self.database.url.as_deref() {
            Some(url) => url.strip_prefix("sqlite:")?,
            None => &self.database.path,
        };
        (path != ":memory:").then(|| Path::new(path))
    }

    /// Whether the queue is in the main database, whatever the spelling.
    pub fn queues_in_database(&self) -> bool {
        let file = |path: &str| format!("sqlite:{path}");
        let main = self.database.url.clone().unwrap_or_else(|| file(&self.database.path));
        self.queue_connection.as_ref().is_none_or(|queue| *queue == main)
    }

    /// Where uploaded files are kept; none = in the database.
    pub fn attachments_folder(&self) -> Option<PathBuf> {
        let on_a_server = self.database.url.as_deref().is_some_and(|url| !url.starts_with("sqlite:"));
        match self.attachments.path.as_deref().filter(|_| !on_a_server) {
            Some("") => None,
            Some(path) => Some(PathBuf::from(path)),
            None => self.database_file().map(|file| file.with_file_name("attachments")),
        }
    }
}
