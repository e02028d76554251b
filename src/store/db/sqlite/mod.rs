//! Owns the opening of an SQLite file: refused locations, settings of a connection, the check before a write.

use std::fs;
use std::io::{ErrorKind, Write as _};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::store::db::{Tx, currency};
use crate::store::db::inspect::Found;
use crate::store::error::StoreError;
use crate::store::{StoreSettings, Synchronous};

mod like;
mod schema;
mod session;
mod threads;

pub(in crate::store) use crate::store::db::sqlite::session::Session;
pub(in crate::store) use crate::store::db::sqlite::threads::Sqlite;
#[cfg(test)]
pub(in crate::store) use crate::store::db::sqlite::schema::apply;

/// File systems on which SQLite's locks cannot be trusted.
const REMOTE: [&str; 12] =
    ["nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "coda", "ncpfs", "ceph", "lustre"];

/// Opens the database for writing: made when it is not there, brought up to date when it is older.
pub(in crate::store) fn open_writer(settings: &StoreSettings) -> Result<Session, StoreError> {
    let connection = if settings.memory {
        Connection::open_in_memory()?
    } else {
        check_place(&settings.path)?;
        make_file(&settings.path)?;
        Connection::open_with_flags(&settings.path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| explained(error, &settings.path))?
    };
    // SQLite opens a file that may not be written for reading, and says nothing.
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        return Err(StoreError::ReadOnly);
    }
    let session = settled(connection, settings).map_err(|error| seen_closer(error, &settings.path))?;
    crate::store::db::sqlite::schema::up_to_date(&session, settings).map_err(|error| seen_closer(error, &settings.path))?;
    if let Some(currency) = &settings.currency {
        currency::settle(&session, &settings.prefix, currency)?;
    }
    // What a group of jobs changes mostly stays in memory until it is committed; no more is taken than is used, and it is kept.
    // The writer puts the log into the file itself, between two transactions.
    session.connection.execute_batch("PRAGMA cache_size=-4000; PRAGMA wal_autocheckpoint=0;")?;
    Ok(session)
}

/// Opens the database for reading; it exists and is up to date.
pub(in crate::store) fn open_reader(settings: &StoreSettings) -> Result<Session, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(&settings.path, flags).map_err(|error| explained(error, &settings.path))?;
    let session = settled(connection, settings)?;
    session.connection.pragma_update(None, "query_only", true)?;
    Ok(session)
}

/// Opens a file that this process may not write; the reason why it cannot be written is `refused`.
pub(in crate::store) fn open_read_only(settings: &StoreSettings, refused: &StoreError) -> Result<Session, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let plain = Connection::open_with_flags(&settings.path, flags).map_err(StoreError::from);
    match plain.and_then(|connection| checked(connection, settings)) {
        Ok(session) => Ok(session),
        Err(_) if unwritten(&settings.path) => {
            let uri = format!("file:{}?immutable=1", percent_encoding::utf8_percent_encode(&settings.path.to_string_lossy(), percent_encoding::CONTROLS));
            let connection =
                Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI).map_err(|_| refused.clone())?;
            checked(connection, settings).map_err(|_| refused.clone())
        }
        Err(_) => Err(refused.clone()),
    }
}

/// Looks at a file without changing it; one that is not there has no schema.
pub(in crate::store) fn inspect(settings: &StoreSettings) -> Result<Found, StoreError> {
    let _guard = crate::store::db::fork::enter();
    let found = |schema| Found { engine: format!("SQLite {}", rusqlite::version()), schema, now: None };
    if settings.memory {
        return Ok(found(crate::store::db::inspect::SCHEMA));
    }
    check_place(&settings.path)?;
    if !settings.path.exists() {
        return Ok(found(0));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&settings.path, flags).map_err(|error| explained(error, &settings.path))?;
    connection.busy_timeout(settings.busy_timeout)?;
    let schema = crate::store::db::sqlite::schema::version(&connection, &settings.prefix);
    Ok(found(schema.map_err(|error| seen_closer(error, &settings.path))?))
}

/// No writer is possible: the mount is read-only and there is no write-ahead log.
fn unwritten(path: &Path) -> bool {
    let waits = fs::metadata(beside(path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    !waits && mount_of(path).is_some_and(|mount| mount.read_only)
}

fn checked(connection: Connection, settings: &StoreSettings) -> Result<Session, StoreError> {
    let session = hardened(connection, settings)?;
    crate::store::db::sqlite::schema::must_be_known(&session)?;
    Ok(session)
}

fn hardened(connection: Connection, settings: &StoreSettings) -> Result<Session, StoreError> {
    connection.busy_timeout(settings.busy_timeout)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Else a statement with `LIKE $n` is made anew each time that it is given another text.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    crate::store::db::sqlite::like::register(&connection)?;
    connection.execute_batch("PRAGMA cell_size_check=ON; PRAGMA foreign_keys=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-2000;")?;
    Ok(Session::new(connection, Arc::clone(&settings.prefix)))
}

/// What every connection that may write is set to.
fn settled(connection: Connection, settings: &StoreSettings) -> Result<Session, StoreError> {
    let session = hardened(connection, settings)?;
    if !settings.memory {
        crate::store::db::sqlite::schema::must_be_known(&session)?;
        let mode: String = session.connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err(StoreError::Place(format!(
                "the file system of `{}` cannot hold the database (no write-ahead log); choose another `database.path`",
                settings.path.display()
            )));
        }
        session.connection.execute_batch(pragma(settings.synchronous))?;
        session.connection.execute_batch("PRAGMA journal_size_limit=16777216;")?;
    }
    Ok(session)
}

pub(in crate::store) const fn pragma(synchronous: Synchronous) -> &'static str {
    match synchronous {
        Synchronous::Full => "PRAGMA synchronous=FULL;",
        Synchronous::Normal => "PRAGMA synchronous=NORMAL;",
    }
}

/// Refuses symbolic links, things that are no files, and file systems of other machines.
fn check_place(path: &Path) -> Result<(), StoreError> {
    if let Ok(found) = fs::symlink_metadata(path) {
        if found.file_type().is_symlink() {
            return Err(place(path, "is a symbolic link; give the path of the file itself"));
        }
        if !found.is_file() {
            return Err(place(path, "is not a file; choose another `database.path`"));
        }
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(place(path, "is in a folder that does not exist; make the folder or choose another `database.path`"));
    }
    if let Some(mount) = mount_of(path).filter(|mount| REMOTE.contains(&mount.kind.as_str())) {
        let why = format!("is on a network file system (`{}`), where locks cannot be trusted; use a local disk or PostgreSQL", mount.kind);
        return Err(place(path, &why));
    }
    Ok(())
}

fn place(path: &Path, why: &str) -> StoreError {
    StoreError::Place(format!("the database `{}` {why}", path.display()))
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Makes the file so that only its owner can read it; SQLite gives its companions the same mode.
fn make_file(path: &Path) -> Result<(), StoreError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(of_io(&error, path)),
    }
}

fn of_io(error: &std::io::Error, path: &Path) -> StoreError {
    let kind = error.kind();
    if matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
        StoreError::Full
    } else if matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) {
        StoreError::ReadOnly
    } else {
        StoreError::Io(format!("`{}`: {error}", path.display()))
    }
}

/// Why a file cannot be opened. It is not opened to see that: closing it again would end the locks that SQLite holds on it for this process.
fn explained(error: rusqlite::Error, path: &Path) -> StoreError {
    if error.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return error.into();
    }
    match fs::metadata(path) {
        Err(cause) => of_io(&cause, path),
        Ok(found) if is_denied(&found) => StoreError::ReadOnly,
        Ok(_) => error.into(),
    }
}

/// Whether this process certainly may not read and write a file.
#[cfg(not(unix))]
fn is_denied(found: &fs::Metadata) -> bool {
    found.permissions().readonly()
}

/// Whether this process certainly may not read and write a file.
#[cfg(unix)]
fn is_denied(found: &fs::Metadata) -> bool {
    let Ok(own) = fs::metadata("/proc/self") else { return false };
    let may = |bits: u32| found.mode() & bits == bits;
    match own.uid() {
        0 => false,
        user if user == found.uid() => !may(0o600),
        _ => !may(0o060) && !may(0o006),
    }
}

/// SQLite sometimes reports a full disk or a read-only place as an I/O error, so this checks for itself.
pub(in crate::store) fn seen_closer(error: StoreError, path: &Path) -> StoreError {
    let StoreError::Io(_) = error else { return error };
    let probe = folder_of(path).join(format!(".studio-{}.probe", std::process::id()));
    let tried = fs::File::create(&probe).and_then(|mut file| file.write_all(&[0; 65_536]));
    let _ = fs::remove_file(&probe);
    match tried {
        Ok(()) => error,
        Err(cause) => Some(of_io(&cause, path)).filter(|known| !matches!(known, StoreError::Io(_))).unwrap_or(error),
    }
}

struct Mount {
    kind: String,
    read_only: bool,
}

/// The mount of a path, if the system knows it.
fn mount_of(path: &Path) -> Option<Mount> {
    let folder = fs::canonicalize(folder_of(path)).ok()?;
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    table.lines().filter_map(|line| mount_line(line, &folder)).max_by_key(|(length, _)| *length).map(|(_, mount)| mount)
}

/// `36 35 98:0 /root /mounted/at rw,noatime - ext4 /dev/sda rw`
fn mount_line(line: &str, folder: &Path) -> Option<(usize, Mount)> {
    let (left, right) = line.split_once(" - ")?;
    let mut fields = left.split(' ').skip(4);
    let point = fields.next()?.replace("\\040", " ");
    let options = fields.next()?;
    let mut rest = right.split(' ');
    let kind = rest.next()?.to_owned();
    let super_options = rest.nth(1).unwrap_or_default();
    let read_only = [options, super_options].iter().any(|list| list.split(',').any(|option| option == "ro"));
    if folder.starts_with(&point) { Some((point.len(), Mount { kind, read_only })) } else { None }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Remembers which files are open, to notice when others stand in their place.
#[derive(Debug)]
pub(in crate::store) struct Watch {
    main: PathBuf,
    wal: PathBuf,
    seen: Option<[(u64, u64); 2]>,
}

impl Watch {
    pub(in crate::store) fn new(path: &Path) -> Self {
        Self { main: path.to_path_buf(), wal: beside(path, "-wal"), seen: None }
    }

    /// Before a write: the files are those that were opened.
    pub(in crate::store) fn unchanged(&mut self) -> Result<(), StoreError> {
        let found = identity(&self.main).zip(identity(&self.wal)).map(|(main, wal)| [main, wal]);
        match (self.seen, found) {
            (Some(seen), found) if found != Some(seen) => Err(StoreError::Replaced),
            (None, found) => {
                self.seen = found;
                Ok(())
            }
            (Some(_), _) => Ok(()),
        }
    }
}

/// Where files have no number, the time of creation distinguishes them.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    let made = fs::metadata(path).ok()?.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((made.as_secs(), u64::from(made.subsec_nanos())))
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// So many steps of SQLite's machine lie between two looks whether somebody wants to fork.
const STEPS: i32 = 1000;

/// Copies the database, as it is at one moment, into a new file that only its owner can read, and finishes the copy. The file appears when it is
/// whole, and never in place of another one.
pub(in crate::store) fn copy<T>(
    settings: &StoreSettings,
    target: &str,
    finish: impl FnOnce(&CopiedFile) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let growing = format!("{target}.{}.tmp", uuid::Uuid::new_v4());
    let made = make_copy(settings, &growing)
        .and_then(|()| CopiedFile::open(settings, &growing))
        .and_then(|copied| finish(&copied))
        .and_then(|finished| put_in_place(Path::new(&growing), Path::new(target)).map(|()| finished));
    // Where it was put in place under its other name, this is the name that is left; else nothing of it is wanted.
    let _ = fs::remove_file(&growing);
    made
}

fn make_copy(settings: &StoreSettings, target: &str) -> Result<(), StoreError> {
    make_file(Path::new(target))?;
    let guard = Arc::new(crate::store::db::fork::enter());
    let mut session = open_reader_for_copy(settings)?;
    // A copy takes as long as the database is large: forks do not wait for its end.
    let held = Arc::clone(&guard);
    session.connection.progress_handler(
        STEPS,
        Some(move || {
            crate::store::db::fork::give_way(&held);
            false
        }),
    )?;
    let made = session.connection.execute("VACUUM INTO ?1", [target]).map_err(StoreError::from).map(drop);
    drop(session);
    made.map_err(|error| seen_closer(error, Path::new(target)))
}

/// A copy of a database that nobody else knows yet.
pub(in crate::store) struct CopiedFile(Option<Session>);

impl CopiedFile {
    fn open(settings: &StoreSettings, path: &str) -> Result<Self, StoreError> {
        let _guard = crate::store::db::fork::enter();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        // Its companions would stay behind under another name than its own.
        connection.execute_batch("PRAGMA journal_mode=MEMORY;")?;
        hardened(connection, settings).map(|session| Self(Some(session)))
    }

    /// Works on it in one transaction.
    pub(in crate::store) fn work<T>(&self, work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let _guard = crate::store::db::fork::enter();
        let Some(session) = &self.0 else { return Err(StoreError::Closed) };
        session.run("BEGIN IMMEDIATE")?;
        let worked = work(&mut Tx::new(crate::store::db::Connection::Sqlite(session)));
        session.run(if worked.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        worked
    }
}

impl Drop for CopiedFile {
    fn drop(&mut self) {
        let _guard = crate::store::db::fork::enter();
        self.0 = None;
    }
}

/// Gives a file its name, unless there is one of that name.
fn put_in_place(file: &Path, target: &Path) -> Result<(), StoreError> {
    let is_there = || StoreError::Place(format!("`{}` exists; give the backup a path of its own", target.display()));
    match fs::hard_link(file, target) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(is_there()),
        // A file system without links.
        Err(_) if target.symlink_metadata().is_ok() => Err(is_there()),
        Err(_) => fs::rename(file, target).map_err(|error| of_io(&error, target)),
    }
}

fn open_reader_for_copy(settings: &StoreSettings) -> Result<Session, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&settings.path, flags).map_err(|error| explained(error, &settings.path))?;
    settled(connection, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_opened_is_told_with_the_cause_that_the_system_gives() {
        let folder = tempfile::tempdir().unwrap();
        let failed = |code: i32| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let path = folder.path().join("none.sqlite");
        let told = explained(failed(rusqlite::ffi::SQLITE_CANTOPEN), &path);
        assert!(matches!(&told, StoreError::Io(text) if text.contains("none.sqlite")), "{told:?}");
        fs::write(&path, "").unwrap();
        let told = explained(failed(rusqlite::ffi::SQLITE_CANTOPEN), &path);
        assert_eq!(told, failed(rusqlite::ffi::SQLITE_CANTOPEN).into(), "it may be read and written");
        let told = explained(failed(rusqlite::ffi::SQLITE_BUSY), &path);
        assert_eq!(told, failed(rusqlite::ffi::SQLITE_BUSY).into());
    }
}
