//! `agentctl export`

use std::fs::{self, File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use client::{Client, SeqRange};
use tempfile::NamedTempFile;
use wire::LogRecord;

use super::Context;
use crate::output;
use crate::progress::Progress;

/// Writes the records of a session as lines of JSON, for `agentctl verify --file`
#[derive(Args, Debug)]
pub struct Export {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,

    /// File to write; it appears when the export is complete, and replaces an older one. Anything else at that path, such as
    /// a device or a pipe, is written to, and a link is followed. Standard output if not given, or if it is -
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

impl Export {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        // A replay of an unknown session is empty; an export of one is a mistake.
        let session = context.client.get(&self.session).await?;
        let file = self.file.as_deref().filter(|path| *path != Path::new("-"));
        let beside_output = file.is_none() && context.output.is_interactive();
        let progress = Progress::new("records", u64::try_from(session.last_seq).ok(), beside_output);
        let source = Source { client: &context.client, uid: &self.session, progress };
        match file {
            None => source.each(|record| Ok(context.output.json(record)?)).await,
            Some(path) => source.write_to(path).await.with_context(|| path.display().to_string()),
        }
    }
}

/// Records to export.
struct Source<'a> {
    client: &'a Client,
    uid: &'a str,
    progress: Progress,
}

impl Source<'_> {
    async fn each(self, mut write: impl FnMut(&LogRecord) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut records = self.client.replay(self.uid, SeqRange::ALL);
        while let Some(record) = records.next().await? {
            write(&record)?;
            self.progress.step();
        }
        Ok(())
    }

    async fn write_to(self, path: &Path) -> anyhow::Result<()> {
        let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        match (fs::metadata(path), fs::canonicalize(path)) {
            (Ok(found), Ok(target)) if found.is_file() => self.write_file(&target).await,
            (Err(_), _) if !is_link => self.write_file(path).await,
            _ => self.write_stream(path).await,
        }
    }

    /// Writes to what is there and is no file, or to the file that a link names and that is not there yet.
    async fn write_stream(self, path: &Path) -> anyhow::Result<()> {
        let mut out = BufWriter::new(File::options().write(true).create(true).truncate(false).open(path)?);
        self.each(|record| Ok(output::write_json(&mut out, record)?)).await?;
        Ok(out.flush()?)
    }

    /// Writes beside `path` and renames, so that `path` never holds a part of an export.
    async fn write_file(self, path: &Path) -> anyhow::Result<()> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut out = BufWriter::new(new_file(directory)?);
        self.each(|record| Ok(output::write_json(&mut out, record)?)).await?;
        let file = out.into_inner()?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(File::open(directory)?.sync_all()?)
    }
}

/// A file as the shell's `>` would create it, which is deleted unless it is given its name.
fn new_file(directory: &Path) -> std::io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".export-").permissions(Permissions::from_mode(0o666)).tempfile_in(directory)
}
