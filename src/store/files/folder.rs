//! Owns the folder of uploaded files: one file per key under opaque names, one folder per tenant, and the threads that work in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// What the name of a file ends with while it is written.
const COMING: &str = "coming";

/// Threads that work in the folder at once.
const AT_ONCE: usize = 8;
/// How long work waits for one of them.
const PATIENCE: Duration = Duration::from_secs(30);

/// What became of a file that should be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// It was.
    Now,
    /// It was there already.
    Before,
    /// There are no bytes to copy.
    Missing,
}

/// The folder.
#[derive(Clone, Debug)]
pub struct FileRoom {
    path: PathBuf,
    places: Arc<Semaphore>,
}

impl FileRoom {
    /// At a path; made with the first file.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Works in it on a thread for that: a disk that stands still holds up nothing but files.
    ///
    /// # Errors
    /// What the disk says; `TimedOut` when nothing was done because so much else waits for the disk.
    pub async fn work<T: Send + 'static>(&self, runtime: &Handle, work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let room = self.clone();
        let worked = runtime.spawn(async move {
            let Ok(Ok(place)) = timeout(PATIENCE, Arc::clone(&room.places).acquire_owned()).await else {
                let text = format!("{AT_ONCE} reads and writes wait for the disk, and this one was not begun within {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            };
            let worked = spawn_blocking(move || {
                let worked = work(&room);
                drop(place);
                worked
            });
            worked.await.unwrap_or_else(|error| Err(io::Error::other(error)))
        });
        worked.await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Whether another one is the same folder, by whatever path.
    pub fn is(&self, other: &Self) -> bool {
        let [one, two] = [self, other].map(|room| fs::canonicalize(&room.path).ok());
        self.path == other.path || (one.is_some() && one == two)
    }

    fn folder(&self, tenant: &str) -> PathBuf {
        self.path.join(&hex(tenant)[..32])
    }

    fn path(&self, tenant: &str, key: &str) -> PathBuf {
        self.folder(tenant).join(hex(key))
    }

    /// Keeps bytes under a key, whole or not at all.
    pub fn put(&self, tenant: &str, key: &str, bytes: &[u8]) -> io::Result<()> {
        self.put_by_way_of(tenant, key, COMING, bytes)
    }

    /// The same; until it is whole, the name of the file ends with `coming`.
    fn put_by_way_of(&self, tenant: &str, key: &str, coming: &str, bytes: &[u8]) -> io::Result<()> {
        let folder = self.folder(tenant);
        make_folder(&folder)?;
        let path = self.path(tenant, key);
        let coming = path.with_extension(coming);
        let written = write(&coming, bytes).and_then(|()| fs::rename(&coming, &path)).and_then(|()| File::open(&folder)?.sync_all());
        if written.is_err() {
            drop(fs::remove_file(&coming));
        }
        written
    }

    /// The bytes of a key.
    pub fn get(&self, tenant: &str, key: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path(tenant, key))
    }

    /// So many bytes of a key, or as many as there are, behind so many others.
    pub fn part(&self, tenant: &str, key: &str, skipped: u64, most: u64) -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (File::open(self.path(tenant, key))?, Vec::new());
        if skipped > 0 {
            file.seek(SeekFrom::Start(skipped))?;
        }
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Copies the bytes of a key into another folder, where they are not there yet.
    pub fn copy(&self, other: &Self, tenant: &str, key: &str) -> io::Result<Copied> {
        let size = match fs::metadata(self.path(tenant, key)) {
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Copied::Missing),
            Err(error) => return Err(error),
        };
        if fs::metadata(other.path(tenant, key)).is_ok_and(|found| found.len() == size) {
            return Ok(Copied::Before);
        }
        match self.get(tenant, key) {
            // Other processes may copy it into the same folder now; an earlier copy may have been interrupted.
            Ok(bytes) => other.put_by_way_of(tenant, key, &format!("{}.{COMING}", uuid::Uuid::new_v4()), &bytes).map(|()| Copied::Now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Copied::Missing),
            Err(error) => Err(error),
        }
    }

    /// Forgets a key, also one that was not stored to its end; there may be nothing to forget.
    pub fn remove(&self, tenant: &str, key: &str) -> io::Result<()> {
        let path = self.path(tenant, key);
        gone(fs::remove_file(path.with_extension(COMING)))?;
        gone(fs::remove_file(path))
    }
}

/// What is not there is gone.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn make_folder(path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &std::path::Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// A new file that only its owner reads, on the disk when this returns.
fn write(path: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_are_made_at_the_same_time_do_not_disturb_each_other() {
        let home = tempfile::tempdir().expect("a folder");
        let (room, other) = (FileRoom::new(home.path().join("files")), FileRoom::new(home.path().join("copies")));
        let keys: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        for key in &keys {
            room.put("t", key, key.repeat(20_000).as_bytes()).expect("stored");
        }
        let copy = || keys.iter().try_for_each(|key| room.copy(&other, "t", key).map(drop));
        let copied = std::thread::scope(|scope| [(); 3].map(|()| scope.spawn(copy)).map(|copies| copies.join().expect("no panic")));
        assert!(copied.iter().all(Result::is_ok), "{copied:?}");
        assert!(keys.iter().all(|key| other.get("t", key).is_ok_and(|bytes| bytes == key.repeat(20_000).as_bytes())));
        assert_eq!(fs::read_dir(other.folder("t")).expect("a folder").count(), keys.len(), "nothing else is left");
    }

    #[test]
    fn files_are_kept_apart_by_tenant_and_by_key() {
        let home = tempfile::tempdir().expect("a folder");
        let room = FileRoom::new(home.path().join("deep/files"));
        room.put("a", "k", b"one").expect("stored");
        room.put("b", "k", b"two").expect("stored");
        assert_eq!(room.get("a", "k").expect("there"), b"one");
        assert_eq!(room.get("b", "k").expect("there"), b"two");
        assert_eq!(room.part("b", "k", 1, 9).expect("there"), b"wo");
        assert!(room.get("a", "../../etc/passwd").is_err());
        fs::write(room.path("a", "k").with_extension(COMING), b"on").expect("written");
        room.remove("a", "k").expect("removed");
        room.remove("a", "k").expect("nothing to remove");
        assert_eq!(fs::read_dir(room.folder("a")).expect("a folder").count(), 0);
        assert!(room.get("a", "k").is_err() && room.get("b", "k").is_ok());
        let left = fs::read_dir(room.folder("b")).expect("a folder").count();
        assert_eq!(left, 1, "no half written file is left");
    }
}
