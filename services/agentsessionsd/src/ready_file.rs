//! Tells other programs that the node serves, and where.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

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

    /// Writes `addrs` to `path`, one a line, and that of the metrics as `metrics ADDR`. Whoever sees the file sees all of
    /// it.
    pub(crate) fn write(
        path: &Path,
        addrs: impl IntoIterator<Item = SocketAddr>,
        metrics: Option<SocketAddr>,
    ) -> io::Result<Self> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".tmp");
        let metrics = metrics.map(|addr| format!("metrics {addr}\n"));
        let lines: String = addrs.into_iter().map(|addr| format!("{addr}\n")).chain(metrics).collect();
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
        let ready = ReadyFile::write(&path, [addr("127.0.0.1:80"), addr("[::1]:81")], Some(addr("[::1]:82"))).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "127.0.0.1:80\n[::1]:81\nmetrics [::1]:82\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        drop(ready);
        assert!(!path.exists());
    }
}
