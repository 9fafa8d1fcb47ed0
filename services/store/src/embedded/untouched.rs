//! Looking into a file that may belong to another program, without leaving a trace.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// What SQLite keeps beside a file that somebody has open, or left in the middle of something.
const SIDE_FILES: [&str; 2] = ["-wal", "-journal"];

/// Opens an SQLite file for reading only, and changes nothing in it. Where nobody has the file open, nothing appears
/// beside it either, so that a file in a directory without write permission can be read.
///
/// # Errors
/// What SQLite says. That the file is no SQLite file shows only when it is read.
pub fn open_untouched(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if SIDE_FILES.iter().any(|suffix| beside(path, suffix).exists()) {
        // What they hold is part of the content, and to read it SQLite has to share memory with whoever writes.
        return Connection::open_with_flags(path, flags);
    }
    Connection::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

/// The path as a URI which says that nobody writes to the file: SQLite then needs neither locks nor shared memory.
fn immutable(path: &Path) -> String {
    let mut uri = String::from("file:");
    // Two slashes at the beginning would be read as the name of a machine.
    if path.is_absolute() {
        uri.push_str("//");
    }
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(directory: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_look_into_a_file_at_rest_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("odd % name?.db");
        let owner = Connection::open(&path).unwrap();
        owner.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (7);").unwrap();
        drop(owner);
        let before = names(directory.path());
        let looked: i64 = open_untouched(&path).unwrap().query_row("SELECT x FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!((looked, names(directory.path())), (7, before));
    }

    #[test]
    fn what_is_still_in_the_write_ahead_log_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("busy.db");
        let owner = Connection::open(&path).unwrap();
        owner.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (7);").unwrap();
        let looked: i64 = open_untouched(&path).unwrap().query_row("SELECT x FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(looked, 7);
    }
}
