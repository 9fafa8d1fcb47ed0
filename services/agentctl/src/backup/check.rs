//! Checking a backup as a whole, before anything of it is used.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use journal::import::{ForeignLog, ForeignName, UnfitRecord};
use journal::{Seq, SessionUid};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use thiserror::Error;
use wire::LogRecord;

use super::entry::{Entry, FORMAT, Manifest};
use super::links::{Expected, Links};
use super::write::hex;
use crate::chain::lines::{Line, LineError, Lines};

/// How a backup begins.
const BEGINNING: &[u8] = b"{\"backup\":";
/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// A backup of which every line and every chain is good.
#[derive(Debug)]
pub struct Checked {
    pub(super) path: PathBuf,
    pub manifest: Manifest,
    pub(super) dropped: HashSet<String>,
}

/// Why a backup cannot be used.
#[derive(Debug, Error)]
pub enum BadBackup {
    /// A record, or what a session says of it.
    #[error("session {session} record {seq}: {problem}")]
    Record { session: String, seq: u64, problem: String },
    /// Something else in it.
    #[error("line {line}: {problem}")]
    Line { line: u64, problem: String },
    /// It as a whole.
    #[error("{0}")]
    Whole(String),
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Whether the file at `path` begins as a backup does.
pub fn is_backup(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(path)?.take(BEGINNING.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning == BEGINNING)
}

/// Checks every line, every chain, what forks say of their ancestors, the counts and the digest. Holds a few words for each
/// fork. Calls `step` after each record.
pub fn check(path: &Path, step: impl FnMut()) -> Result<Checked, BadBackup> {
    // A gap between a fork and its ancestors may come from damage that is named better where it is.
    let (expected, gap) = links(path).map_or_else(|gap| (Expected::default(), Some(gap)), |expected| (expected, None));
    let mut check = Check { expected, counts: Manifest::default(), holder: None, step };
    let mut digest = Sha256::new();
    let mut lines = open(path)?;
    let mut manifest = None;
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return Err(check.unreadable(error)),
        };
        if manifest.is_some() {
            return Err(BadBackup::Line { line: line.number, problem: "it comes after the manifest".to_owned() });
        }
        match check.line(&line)? {
            Some(found) => manifest = Some(found),
            None => hash_line(&mut digest, line.text),
        }
    }
    let manifest = manifest.ok_or_else(|| check.cut())?;
    gap.map_or(Ok(()), Err)?;
    check.against(&manifest, &hex(&digest.finalize()))?;
    let dropped = manifest.dropped.iter().cloned().collect();
    Ok(Checked { path: path.to_owned(), manifest, dropped })
}

pub(super) fn open(path: &Path) -> io::Result<Lines<impl BufRead>> {
    Ok(Lines::new(BufReader::with_capacity(READ_BYTES, File::open(path)?)))
}

/// Reads what holders say of their ancestors. What cannot be read here is found where each line is checked.
fn links(path: &Path) -> Result<Expected, BadBackup> {
    let (mut links, mut lines) = (Links::default(), open(path)?);
    let mut dropped = HashSet::new();
    while let Ok(Some(line)) = lines.next() {
        if line.text.starts_with(b"{\"record\"") {
            continue;
        }
        match serde_json::from_slice(line.text) {
            Ok(Entry::Session(session)) => {
                session.inherited.iter().for_each(|inherited| links.note(&session.uid, inherited));
            }
            Ok(Entry::Remains(remains)) => {
                remains.inherited.iter().for_each(|inherited| links.note(&remains.uid, inherited));
            }
            Ok(Entry::Manifest(manifest)) => dropped.extend(manifest.dropped),
            _ => {}
        }
    }
    links.expected(&dropped).map_err(|(session, seq)| {
        let problem = "the ancestor that holds the record before it is missing".to_owned();
        BadBackup::Record { session, seq: seq.unsigned_abs(), problem }
    })
}

fn hash_line(digest: &mut Sha256, text: &[u8]) {
    digest.update(text);
    digest.update(b"\n");
}

struct Check<S> {
    expected: Expected,
    counts: Manifest,
    holder: Option<Holder>,
    step: S,
}

/// The session whose records come now.
struct Holder {
    uid: String,
    log: ForeignLog,
    next: Seq,
    /// The last record that it says it has, and the hash of that if it says so.
    last: i64,
    head: Option<String>,
    /// The hash of the last record so far.
    hash: String,
}

impl<S: FnMut()> Check<S> {
    /// Checks a line; returns the manifest if it is that.
    fn line(&mut self, line: &Line<'_>) -> Result<Option<Manifest>, BadBackup> {
        let entry = Entry::deserialize(&mut serde_json::Deserializer::from_slice(line.text))
            .map_err(|error| self.undecodable(line.number, &error.to_string()))?;
        if self.counts == Manifest::default() && line.number == 1 && !matches!(entry, Entry::Backup(_)) {
            return Err(BadBackup::Line { line: 1, problem: "it does not say what the file is".to_owned() });
        }
        if !matches!(entry, Entry::Record(_)) {
            self.end_holder()?;
        }
        let bad = |error: anyhow::Error| BadBackup::Line { line: line.number, problem: format!("{error:#}") };
        match entry {
            Entry::Backup(header) if line.number == 1 && header.format == FORMAT => {}
            Entry::Backup(header) => {
                let problem =
                    format!("backup format {}; this version reads format {FORMAT}, in the first line", header.format);
                return Err(BadBackup::Line { line: line.number, problem });
            }
            Entry::Harness(harness) => {
                self.counts.harnesses += 1;
                check_name(&harness.into_name()).map_err(bad)?;
            }
            Entry::Reserved(reserved) => {
                self.counts.reserved_names += 1;
                check_name(&ForeignName::Reserved { name: reserved.name, time: reserved.time }).map_err(bad)?;
            }
            Entry::Session(session) => {
                self.counts.sessions += 1;
                let (uid, last, head) = (session.uid.clone(), session.last_seq, Some(session.head.clone()));
                let session = session.into_session().map_err(bad)?;
                let log = ForeignLog::new(&session).map_err(|error| bad(error.into()))?;
                self.begin(uid, log, (&session.inheritance.last, session.inheritance.hash), (last, head));
            }
            Entry::Remains(remains) => {
                self.counts.remains += 1;
                let (uid, last) = (remains.uid.clone(), remains.last_seq);
                let (parsed, inheritance): (SessionUid, _) = remains.into_parts().map_err(bad)?;
                let log = ForeignLog::remaining(&parsed, &inheritance);
                self.begin(uid, log, (&inheritance.last, inheritance.hash), (last, None));
            }
            Entry::Record(record) => self.record(*record, line.number)?,
            Entry::Deleted(deleted) => {
                self.counts.deleted += 1;
                deleted.into_buried().map_err(bad)?;
            }
            Entry::Manifest(manifest) => return Ok(Some(manifest)),
        }
        Ok(None)
    }

    fn begin(
        &mut self,
        uid: String,
        log: ForeignLog,
        (inherited, hash): (&Seq, Option<wire::ContentHash>),
        (last, head): (i64, Option<String>),
    ) {
        let hash = hash.as_ref().map_or_else(String::new, wire::ContentHash::hex);
        self.holder = Some(Holder { uid, log, next: inherited.next(), last, head, hash });
    }

    fn record(&mut self, record: LogRecord, line: u64) -> Result<(), BadBackup> {
        let Some(holder) = &mut self.holder else {
            return Err(BadBackup::Line { line, problem: "a record that belongs to no session".to_owned() });
        };
        self.counts.records += 1;
        let (seq, hash) = (record.seq, record.content_hash.clone());
        holder.log.push(record).map_err(|UnfitRecord { seq, reason }| holder.bad(seq, reason.to_string()))?;
        if let Some(fork) = self.expected.meet(&holder.uid, seq, &hash) {
            return Err(holder.bad(holder.next, format!("it is not the one that session {fork} was forked after")));
        }
        (holder.next, holder.hash) = (holder.next.next(), hash);
        (self.step)();
        Ok(())
    }

    /// The records of the present holder are over.
    fn end_holder(&mut self) -> Result<(), BadBackup> {
        let Some(holder) = self.holder.take() else { return Ok(()) };
        if holder.next.to_wire() <= holder.last {
            return Err(holder.bad(holder.next, format!("it is missing; the session has last_seq={}", holder.last)));
        }
        match &holder.head {
            Some(head) if *head != holder.hash || holder.next.to_wire() - 1 != holder.last => {
                Err(holder.bad(holder.next, "the log does not end as the session says".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn against(&self, manifest: &Manifest, sha256: &str) -> Result<(), BadBackup> {
        if let Some((session, seq)) = self.expected.unmet() {
            let problem = format!("session {session} was forked after it, and it is missing");
            return Err(BadBackup::Record { session: session.to_owned(), seq: seq.unsigned_abs(), problem });
        }
        let (dropped, digest) = (manifest.dropped.clone(), manifest.sha256.clone());
        let counted = Manifest { dropped, sha256: digest, ..self.counts.clone() };
        if counted != *manifest {
            return Err(BadBackup::Whole("the file does not have in it what its manifest counts".to_owned()));
        }
        if sha256 == manifest.sha256 {
            Ok(())
        } else {
            Err(BadBackup::Whole("the digest of the file is not that of its manifest".to_owned()))
        }
    }

    fn undecodable(&self, line: u64, problem: &str) -> BadBackup {
        match &self.holder {
            Some(holder) => holder.bad(holder.next, format!("line {line} cannot be decoded: {problem}")),
            None => BadBackup::Line { line, problem: format!("it cannot be decoded: {problem}") },
        }
    }

    fn unreadable(&self, error: LineError) -> BadBackup {
        match error {
            LineError::Io(error) => error.into(),
            LineError::TooLong { number, limit } => {
                self.undecodable(number, &format!("it is longer than {limit} bytes"))
            }
        }
    }

    /// The file ends without a manifest.
    fn cut(&self) -> BadBackup {
        let problem = "the file ends here, without its manifest: it was cut".to_owned();
        match &self.holder {
            Some(holder) => holder.bad(holder.next, problem),
            None => BadBackup::Whole(problem),
        }
    }
}

impl Holder {
    fn bad(&self, seq: Seq, problem: String) -> BadBackup {
        BadBackup::Record { session: self.uid.clone(), seq: seq.get(), problem }
    }
}

fn check_name(name: &ForeignName) -> anyhow::Result<()> {
    Ok(name.check_size()?)
}
