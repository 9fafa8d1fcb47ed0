//! `agentctl import`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use env::Env;
use node::LocalJournal;
use reference::{Carried, CheckError, Checked, ReferenceFile};
use serde_json::json;

use super::or_interrupted;
use crate::backup::{self, BadBackup};
use crate::cli::Common;
use crate::output::Output;
use crate::progress::Progress;

/// Carries a journal into --journal, unchanged: a backup that `agentctl export --all` wrote, or a journal of the reference host
///
/// Everything is checked first, and if anything is wrong nothing is imported. An import that was cut is finished by
/// running it again.
#[derive(Args, Debug)]
pub struct Import {
    /// The backup; or the reference host's journal, which is only read: stop the host first
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Import {
    pub fn run(self, common: &Common) -> anyhow::Result<()> {
        if !common.server.is_empty() {
            bail!("import writes to --journal itself; leave --server out");
        }
        let path = &self.file;
        if common.host.journal.file().is_some_and(|journal| is_same_file(path, journal)) {
            bail!("{} cannot be imported into itself; name a new file with --journal", path.display());
        }
        check_file(path).with_context(|| path.display().to_string())?;
        let mut output = Output::stdout(common.output);
        if backup::is_backup(path).unwrap_or_default() {
            return restore(path, common, &mut output);
        }
        let file = ReferenceFile::open(path).with_context(|| path.display().to_string())?;
        let records = file.records();
        let progress = Progress::new("records checked", records, false);
        let checked = file.check(&common.host.project, || progress.step());
        drop(progress);
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => return refuse(path, &error, &mut output),
        };
        report_recomputed(&checked, &mut output)?;
        let progress = Progress::new("records imported", records, false);
        let carrying = carry(&checked, common, &progress);
        let carried = tokio::runtime::Runtime::new()?.block_on(or_interrupted(carrying))?;
        drop(progress);
        report(path, &checked, carried, &mut output)
    }
}

/// Refuses what cannot be read from its beginning more than once.
fn check_file(path: &Path) -> anyhow::Result<()> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        bail!("it is a directory");
    }
    if !found.is_file() {
        bail!("it is not a file, and all of it is checked before any of it is imported; save it as a file first");
    }
    Ok(())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Carries a backup over.
fn restore(path: &Path, common: &Common, output: &mut Output) -> anyhow::Result<()> {
    let progress = Progress::new("records checked", None, false);
    let checked = backup::check(path, || progress.step());
    drop(progress);
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => return refuse_backup(path, &error, output),
    };
    let progress = Progress::new("records imported", Some(checked.manifest.records), false);
    let carrying = async {
        let journal = LocalJournal::open(&common.host, &Env::system()).await?;
        let carried = backup::carry(&checked, journal.journal(), || progress.step()).await;
        journal.close().await;
        carried
    };
    let carried = tokio::runtime::Runtime::new()?.block_on(or_interrupted(carrying))?;
    drop(progress);
    let backup::Carried { sessions, records, present_sessions } = carried;
    output.line(
        format_args!("ok file={} sessions={sessions} records={records} present={present_sessions}", path.display()),
        &json!({ "ok": true, "sessions": sessions, "records": records, "present_sessions": present_sessions }),
    )?;
    Ok(output.flush()?)
}

fn refuse_backup(path: &Path, error: &BadBackup, output: &mut Output) -> anyhow::Result<()> {
    let (session, seq) = match error {
        BadBackup::Record { session, seq, .. } => (Some(session), Some(seq)),
        _ => (None, None),
    };
    let json = json!({ "ok": false, "session": session, "seq": seq, "problem": error.to_string() });
    // Whether anybody reads that or not, the command has failed.
    let _ = output.line(format_args!("bad backup {error}"), &json).and_then(|()| output.flush());
    Err(anyhow!("{} cannot be imported; nothing was", path.display()))
}

async fn carry(checked: &Checked<'_>, common: &Common, progress: &Progress) -> anyhow::Result<Carried> {
    let journal = LocalJournal::open(&common.host, &Env::system()).await?;
    let carried = checked.carry(journal.journal(), || progress.step()).await;
    journal.close().await;
    Ok(carried?)
}

fn refuse(path: &Path, error: &CheckError, output: &mut Output) -> anyhow::Result<()> {
    let (session, seq) = match error {
        CheckError::Session { session, .. } => (Some(session), None),
        CheckError::Record { session, seq, .. } => (Some(session), Some(seq)),
        _ => (None, None),
    };
    let json = json!({ "ok": false, "session": session, "seq": seq, "problem": error.to_string() });
    // Whether anybody reads that or not, the command has failed.
    let _ = output.line(format_args!("bad journal {error}"), &json).and_then(|()| output.flush());
    Err(anyhow!("{} cannot be imported; nothing was", path.display()))
}

fn report_recomputed(checked: &Checked<'_>, output: &mut Output) -> anyhow::Result<()> {
    for session in &checked.contents().recomputed {
        let (stored, recomputed) = (session.stored.as_str_name(), session.recomputed.as_str_name());
        let uid = session.session.as_str();
        output.line(
            format_args!("recomputed session={uid} compute={recomputed} stored={stored}"),
            &json!({ "session": uid, "compute_state": recomputed, "stored": stored }),
        )?;
    }
    Ok(())
}

fn report(path: &Path, checked: &Checked<'_>, carried: Carried, output: &mut Output) -> anyhow::Result<()> {
    let (contents, Carried { sessions, records, present_sessions }) = (checked.contents(), carried);
    let (registrations, reserved) = (contents.registrations, contents.reserved_names);
    output.line(
        format_args!(
            "ok file={} sessions={sessions} records={records} present={present_sessions} harnesses={registrations} \
             reserved={reserved}",
            path.display()
        ),
        &json!({
            "ok": true,
            "sessions": sessions,
            "records": records,
            "present_sessions": present_sessions,
            "harnesses": registrations,
            "reserved_names": reserved,
        }),
    )?;
    Ok(output.flush()?)
}
