//! `agentctl verify`

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use client::{Client, SeqRange};
use serde_json::json;
use wire::verify::Verifier;

use super::Context;
use crate::chain::{self, CheckError, Finding, Verified};
use crate::output::Output;
use crate::progress::Progress;

/// Recomputes the hash chain of a session and names the first record that does not fit
#[derive(Args, Debug)]
pub struct Verify {
    /// Uid of the session to read from the host
    #[arg(long, value_name = "UID", default_value = "", hide_default_value = true, required_unless_present = "file")]
    session: String,

    /// Export to read instead, written by `agentctl export`; - is standard input
    #[arg(long, value_name = "PATH", conflicts_with = "session")]
    pub file: Option<PathBuf>,
}

/// What was checked.
enum Subject<'a> {
    Session(&'a str),
    File(&'a Path),
}

impl Verify {
    /// Checks a session of the host.
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let checked = match check_session(&context.client, &self.session).await {
            Ok(verified) => Ok(verified),
            Err(error) => Err(error.downcast::<Finding>()?),
        };
        report(&Subject::Session(&self.session), checked, &mut context.output)
    }
}

/// Checks an export.
pub fn offline(path: &Path, mut output: Output) -> anyhow::Result<()> {
    let progress = Progress::new("records", None, false);
    let step = || progress.step();
    let checked = if path == Path::new("-") {
        chain::check_export(io::stdin().lock(), step)
    } else {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        chain::check_export(BufReader::with_capacity(READ_BYTES, file), step)
    };
    drop(progress);
    let checked = match checked {
        Ok(verified) => Ok(verified),
        Err(CheckError::Finding(finding)) => Err(finding),
        Err(CheckError::Read(error)) => return Err(error).with_context(|| path.display().to_string()),
    };
    report(&Subject::File(path), checked, &mut output)
}

/// Bytes read from an export at once.
const READ_BYTES: usize = 256 << 10;

/// The session may grow while it is read: what it says before and after bounds how many records there must be.
async fn check_session(client: &Client, uid: &str) -> anyhow::Result<Verified> {
    let before = client.get(uid).await?.last_seq;
    let progress = Progress::new("records", u64::try_from(before).ok(), false);
    let mut verifier = Verifier::new();
    let mut records = client.replay(uid, SeqRange::ALL);
    loop {
        let so_far = || format!("after {} records that fit", Verified::from(&verifier).records);
        let Some(record) = records.next().await.with_context(so_far)? else { break };
        verifier.check(&record).map_err(Finding::from)?;
        progress.step();
    }
    let after = client.get(uid).await?.last_seq;
    let verified = Verified::from(&verifier);
    chain::check_length(verified.records, before..=after)?;
    Ok(verified)
}

fn report(subject: &Subject<'_>, checked: Result<Verified, Finding>, output: &mut Output) -> anyhow::Result<()> {
    match checked {
        Ok(verified) => {
            let head = verified.head.map(|head| head.to_string()).unwrap_or_default();
            output.line(
                format_args!("ok {subject} {verified}"),
                &json!({ "ok": true, "records": verified.records, "head": head }),
            )?;
            Ok(output.flush()?)
        }
        Err(finding) => {
            let json = json!({ "ok": false, "seq": finding.seq, "problem": finding.fault.to_string() });
            // Whether anybody reads that or not, the command has failed.
            let _ = output.line(&finding, &json).and_then(|()| output.flush());
            bail!("{subject} does not verify")
        }
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(uid) => write!(f, "session={uid}"),
            Self::File(path) => write!(f, "file={}", path.display()),
        }
    }
}
