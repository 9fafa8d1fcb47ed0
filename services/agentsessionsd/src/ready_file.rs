//! Tells other programs that the node serves, and where.

use std::iter::once;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Where a node serves.
pub(crate) struct Addresses {
    pub(crate) sessions: SocketAddr,
    pub(crate) registry: Option<SocketAddr>,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) streams: Option<SocketAddr>,
}

/// A file that holds the bound addresses while the node serves. Dropping it removes the file.
pub(crate) struct ReadyFile {
    path: PathBuf,
}

impl ReadyFile {
    /// Removes what a node that crashed has left at `path`.
    pub(crate) fn clear(path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes `addresses` to `path`, one a line: those of Sessions and HarnessRegistry bare, then the metrics as `metrics
    /// ADDR` and stream sessions as `streams ADDR`. Whoever sees the file sees all of it.
    pub(crate) fn write(path: &Path, addresses: &Addresses) -> io::Result<Self> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".tmp");
        let Addresses { sessions, registry, metrics, streams } = addresses;
        let line = |name: &str, addr: &Option<SocketAddr>| addr.map(|addr| format!("{name}{addr}\n"));
        let named = [line("", registry), line("metrics ", metrics), line("streams ", streams)];
        let lines: String = once(format!("{sessions}\n")).chain(named.into_iter().flatten()).collect();
        fs::write(&unfinished, lines)?;
        fs::rename(&unfinished, path)?;
        Ok(Self { path: path.to_owned() })
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        if let Err(error) = Self::clear(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove the ready file");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_there_while_the_node_serves() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ready");
        ReadyFile::clear(&path).unwrap();
        let addr = |text: &str| text.parse().unwrap();
        let addresses = Addresses {
            sessions: addr("127.0.0.1:80"),
            registry: Some(addr("[::1]:81")),
            metrics: Some(addr("[::1]:82")),
            streams: Some(addr("[::1]:83")),
        };
        let ready = ReadyFile::write(&path, &addresses).unwrap();
        let expected = "127.0.0.1:80\n[::1]:81\nmetrics [::1]:82\nstreams [::1]:83\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        drop(ready);
        assert!(!path.exists());
    }
}
