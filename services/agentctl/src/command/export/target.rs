//! Where an export goes: never is there a part of one under its name.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Stdout, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Where an export is written.
pub enum Target {
    /// Standard output.
    Stdout(BufWriter<Stdout>),
    /// What is there and is no file, or the file that a link names and that is not there yet.
    Stream(BufWriter<File>),
    /// A file beside the one that it will be.
    File(BufWriter<NamedTempFile>, PathBuf),
}

impl Target {
    /// Begins to write to `path`, or to standard output.
    pub fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self::Stdout(BufWriter::new(io::stdout()))) };
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        match (fs::metadata(path), fs::canonicalize(path)) {
            (Ok(found), Ok(target)) if found.is_file() => Self::beside(&target),
            (Err(_), _) if !is_link => Self::beside(path),
            _ => {
                let there = File::options().write(true).create(true).truncate(false).open(path)?;
                Ok(Self::Stream(BufWriter::new(there)))
            }
        }
    }

    fn beside(path: &Path) -> io::Result<Self> {
        Ok(Self::File(BufWriter::new(new_file(directory(path))?), path.to_owned()))
    }

    /// Ends the export: it appears under its name.
    pub fn commit(self) -> io::Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush(),
            Self::Stream(mut out) => out.flush(),
            Self::File(out, path) => {
                let file = out.into_inner()?;
                file.as_file().sync_all()?;
                file.persist(&path)?;
                File::open(directory(&path))?.sync_all()
            }
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Stream(out) => out.write(bytes),
            Self::File(out, _) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Stream(out) => out.flush(),
            Self::File(out, _) => out.flush(),
        }
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file as the shell's `>` would create it, which is deleted unless it is given its name.
fn new_file(directory: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".export-").permissions(Permissions::from_mode(0o666)).tempfile_in(directory)
}
