//! `agentctl export`

mod target;

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use client::{Client, SeqRange};
use env::Env;
use node::LocalJournal;
use serde_json::json;
use wire::LogRecord;

use super::Context;
use crate::backup::{self, Manifest};
use crate::cli::Common;
use crate::output::{self, Output, OutputError};
use crate::progress::Progress;
use target::Target;

/// Writes the records of a session as lines of JSON, for `agentctl verify --file`; or a whole journal, for `agentctl import`
#[derive(Args, Debug)]
pub struct Export {
    /// Uid of the session
    #[arg(long, value_name = "UID", default_value = "", hide_default_value = true, required_unless_present = "all")]
    session: String,

    /// Everything in --journal: sessions with their records, forks and fences, registered harnesses, audit records of
    /// deletions. The journal may be in use
    #[arg(long, conflicts_with = "session")]
    pub all: bool,

    /// File to write; it appears when the export is complete, and replaces an older one. Anything else at that path, such as
    /// a device or a pipe, is written to, and a link is followed. Standard output if not given, or if it is -
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
}

impl Export {
    /// Writes a session of the host.
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        // A replay of an unknown session is empty; an export of one is a mistake.
        let session = context.client.get(&self.session).await?;
        let file = self.target();
        let beside_output = file.is_none() && context.output.is_interactive();
        let progress = Progress::new("records", u64::try_from(session.last_seq).ok(), beside_output);
        let source = Source { client: &context.client, uid: &self.session, progress };
        match file {
            None => source.each(|record| Ok(context.output.json(record)?)).await,
            Some(path) => source.write_to(path).await.with_context(|| path.display().to_string()),
        }
    }

    /// Writes everything in the journal.
    pub async fn run_all(self, common: &Common) -> anyhow::Result<()> {
        if !common.server.is_empty() {
            bail!("export --all reads --journal; leave --server out");
        }
        let (env, file) = (Env::system(), self.target());
        let mut output = Output::stdout(common.output);
        let journal = LocalJournal::open(&common.host, &env).await?;
        let progress = Progress::new("records", None, file.is_none() && output.is_interactive());
        let written = async {
            let mut target = Target::open(file)?;
            let manifest = backup::write(journal.journal(), env.unix_nanos(), &mut target, || progress.step()).await?;
            target.commit()?;
            Ok::<_, anyhow::Error>(manifest)
        };
        let written = written.await;
        drop(progress);
        journal.close().await;
        let Some(path) = file else { return written.map(drop).map_err(of_output) };
        report(path, &written.with_context(|| path.display().to_string())?, &mut output)
    }

    /// The file to write, if it is not standard output.
    fn target(&self) -> Option<&Path> {
        self.file.as_deref().filter(|path| *path != Path::new("-"))
    }
}

/// What went wrong while a backup was written to standard output.
fn of_output(error: anyhow::Error) -> anyhow::Error {
    error.downcast::<io::Error>().map_or_else(|other| other, |error| OutputError::from(error).into())
}

fn report(path: &Path, manifest: &Manifest, output: &mut Output) -> anyhow::Result<()> {
    let Manifest { sessions, records, harnesses, deleted, dropped, .. } = manifest;
    let dropped = dropped.len();
    output.line(
        format_args!(
            "ok file={} sessions={sessions} records={records} harnesses={harnesses} deleted={deleted} dropped={dropped}",
            path.display()
        ),
        &json!({ "ok": true, "manifest": manifest }),
    )?;
    Ok(output.flush()?)
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
        let mut target = Target::open(Some(path))?;
        self.each(|record| Ok(output::write_json(&mut target, record)?)).await?;
        Ok(target.commit()?)
    }
}
