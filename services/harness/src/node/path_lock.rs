//! A Unix socket whose path belongs to one process at a time (registry.md §9).
//!
//! Beside the socket lies `<path>.lock`. Whoever holds its lock owns the path, and the file says which socket the last
//! owner made there, so that a socket left behind by a crash can be told from one that belongs to somebody else. The
//! lock file itself is never removed: a process could be about to lock it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;
use thiserror::Error;
use tokio::net::UnixListener;

/// The right to a path, held until it is dropped; then the socket is removed.
#[derive(Debug)]
pub struct PathLock {
    socket: PathBuf,
    made: Inode,
    _lock: File,
}

/// Why a path cannot be taken.
#[derive(Debug, Error)]
pub enum SocketError {
    /// The lock is held.
    #[error("another process serves {}", .0.display())]
    Busy(PathBuf),
    /// The lock file could be a trap.
    #[error("{} must be a regular file of this user, with mode 0600 and one name", .0.display())]
    UnsafeLock(PathBuf),
    /// Something is at the path that the last owner did not put there.
    #[error("{} exists and was not made by an earlier run; remove it if nobody uses it", .0.display())]
    NotOurs(PathBuf),
    /// The last owner's socket is at the path and somebody answers.
    #[error("{} is the socket of an earlier run and still answers", .0.display())]
    Alive(PathBuf),
    /// The file system refused.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The identity of a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Inode {
    device: u64,
    number: u64,
}

impl PathLock {
    /// Takes `socket` and listens on it. A socket that an earlier run left there is removed; anything else is not.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn bind(socket: &Path) -> Result<(UnixListener, Self), SocketError> {
        let lock_path = lock_path(socket);
        let mut lock = lock_file(&lock_path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(SocketError::Busy(socket.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(at(&lock_path)(error)),
        }
        check_lock(&lock, &lock_path)?;
        let recorded = recorded(&mut lock).map_err(at(&lock_path))?;
        clear(socket, recorded)?;
        let listener = UnixListener::bind(socket).map_err(at(socket))?;
        let made = Inode::of(&fs::symlink_metadata(socket).map_err(at(socket))?);
        record(&mut lock, made).map_err(at(&lock_path))?;
        Ok((listener, Self { socket: socket.to_owned(), made, _lock: lock }))
    }
}

impl Drop for PathLock {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.socket).is_ok_and(|found| Inode::of(&found) == self.made);
        if ours && let Err(error) = fs::remove_file(&self.socket) {
            tracing::warn!(%error, path = %self.socket.display(), "cannot remove the socket");
        }
    }
}

fn lock_path(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn lock_file(path: &Path) -> Result<File, SocketError> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path);
    match opened {
        // What open says of a symlink under O_NOFOLLOW.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            Err(SocketError::UnsafeLock(path.to_owned()))
        }
        opened => opened.map_err(at(path)),
    }
}

/// Whether the locked file is safe, and still the one at its path: it could have been replaced before it was locked.
fn check_lock(lock: &File, path: &Path) -> Result<(), SocketError> {
    let locked = lock.metadata().map_err(at(path))?;
    let at_path = fs::symlink_metadata(path).map_err(at(path))?;
    let private = locked.is_file() && is_own(&locked) && locked.mode() & 0o7777 == 0o600;
    if private && Inode::of(&locked) == Inode::of(&at_path) {
        Ok(())
    } else {
        Err(SocketError::UnsafeLock(path.to_owned()))
    }
}

/// Removes what an earlier run left at `socket`.
fn clear(socket: &Path, recorded: Option<Inode>) -> Result<(), SocketError> {
    let found = match fs::symlink_metadata(socket) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(at(socket))?,
    };
    if !found.file_type().is_socket() || !is_own(&found) || recorded != Some(Inode::of(&found)) {
        return Err(SocketError::NotOurs(socket.to_owned()));
    }
    match UnixStream::connect(socket) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(socket).map_err(at(socket)),
        Err(error) => Err(at(socket)(error)),
        Ok(_) => Err(SocketError::Alive(socket.to_owned())),
    }
}

fn is_own(file: &Metadata) -> bool {
    file.uid() == geteuid().as_raw() && file.nlink() == 1
}

fn recorded(lock: &mut File) -> io::Result<Option<Inode>> {
    let mut text = String::new();
    // More than two numbers were not written by us.
    lock.take(64).read_to_string(&mut text)?;
    Ok(Inode::parse(&text))
}

fn record(lock: &mut File, made: Inode) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{} {}", made.device, made.number)?;
    lock.sync_all()
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SocketError {
    let path = path.to_owned();
    move |source| SocketError::Io { path, source }
}

impl Inode {
    fn of(file: &Metadata) -> Self {
        Self { device: file.dev(), number: file.ino() }
    }

    fn parse(text: &str) -> Option<Self> {
        let (device, number) = text.trim_end().split_once(' ')?;
        Some(Self { device: device.parse().ok()?, number: number.parse().ok()? })
    }
}

#[cfg(test)]
mod tests;
