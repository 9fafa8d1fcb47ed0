//! Writing a backup.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use anyhow::bail;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use journal::backup::Holding;
use journal::import::{ForeignName, Inheritance};
use journal::{Journal, JournalError, Seq, SessionUid};
use sha2::{Digest, Sha256};
use wire::LogRecord;

use super::entry::{
    DeletedEntry, Entry, FORMAT, HarnessEntry, Header, Manifest, RemainsEntry, ReservedEntry, SessionEntry,
};

/// Registrations read at once.
const PAGE: usize = 500;

/// Writes everything that is in `journal` to `out`, and says what that was. Holds one window of records, and a few words for
/// each session. Calls `step` after each record.
pub async fn write(journal: &Journal, time: i64, out: impl Write, step: impl Fn()) -> anyhow::Result<Manifest> {
    if journal.has_unknown_rows().await? {
        bail!("the journal holds what only a newer version can copy; use that one");
    }
    let mut backup = Backup {
        out,
        digest: Sha256::new(),
        manifest: Manifest::default(),
        ends: HashMap::new(),
        forks: Vec::new(),
        step,
    };
    backup.line(&Entry::Backup(Header { format: FORMAT, version: env!("CARGO_PKG_VERSION").to_owned(), time }))?;
    backup.names(journal).await?;
    backup.holders(journal).await?;
    backup.deleted(journal).await?;
    backup.finish()
}

struct Backup<W, S> {
    out: W,
    digest: Sha256,
    manifest: Manifest,
    /// The last record that was written of each holder.
    ends: HashMap<SessionUid, End>,
    /// Who reads of whom.
    forks: Vec<(SessionUid, Inheritance)>,
    step: S,
}

#[derive(Clone, Copy)]
struct End {
    seq: Seq,
    is_session: bool,
}

impl<W: Write, S: Fn()> Backup<W, S> {
    fn line(&mut self, entry: &Entry) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.digest.update(&line);
        Ok(self.out.write_all(&line)?)
    }

    async fn names(&mut self, journal: &Journal) -> anyhow::Result<()> {
        let mut after: Option<String> = None;
        loop {
            let page = journal.registrations(after.as_deref(), PAGE, true).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.name.clone());
            for registration in page {
                self.manifest.harnesses += 1;
                self.line(&Entry::Harness(HarnessEntry::of(registration)))?;
            }
        }
        let mut after: Option<String> = None;
        while let Some(ForeignName::Reserved { name, time }) = journal.next_reserved_name(after.as_deref()).await? {
            after = Some(name.clone());
            self.manifest.reserved_names += 1;
            self.line(&Entry::Reserved(ReservedEntry { name, time }))?;
        }
        Ok(())
    }

    async fn holders(&mut self, journal: &Journal) -> anyhow::Result<()> {
        let mut after = None;
        while let Some(uid) = journal.next_holder(after.as_ref()).await? {
            self.holder(journal, &uid).await?;
            after = Some(uid);
        }
        Ok(())
    }

    async fn holder(&mut self, journal: &Journal, uid: &SessionUid) -> anyhow::Result<()> {
        let (end, inheritance, records) = match journal.holding(uid).await {
            Ok(Holding::Nothing) | Err(JournalError::Deleted) => return Ok(()),
            Ok(Holding::Session(session, end)) => {
                self.manifest.sessions += 1;
                self.line(&Entry::Session(Box::new(SessionEntry::of(&session, &end))))?;
                let records = journal.own_records(&session, &end);
                (End { seq: end.seq, is_session: true }, session.inheritance, records)
            }
            Ok(Holding::Remains(remains)) => {
                self.manifest.remains += 1;
                let entry = RemainsEntry::of(&remains.uid, &remains.inheritance, remains.last);
                self.line(&Entry::Remains(entry))?;
                let records = journal.remaining_records(&remains);
                (End { seq: remains.last, is_session: false }, remains.inheritance, records)
            }
            Err(error) => return Err(error.into()),
        };
        match self.records(records).await? {
            Whole::Yes => drop(self.ends.insert(uid.clone(), end)),
            Whole::Deleted => self.manifest.dropped.push(uid.to_string()),
        }
        if !inheritance.lineage.is_empty() {
            self.forks.push((uid.clone(), inheritance));
        }
        Ok(())
    }

    async fn records(
        &mut self,
        mut records: BoxStream<'static, Result<LogRecord, JournalError>>,
    ) -> anyhow::Result<Whole> {
        loop {
            match records.try_next().await {
                Ok(None) => return Ok(Whole::Yes),
                Ok(Some(record)) => {
                    self.manifest.records += 1;
                    self.line(&Entry::Record(Box::new(record)))?;
                    (self.step)();
                }
                Err(JournalError::Deleted) => return Ok(Whole::Deleted),
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn deleted(&mut self, journal: &Journal) -> anyhow::Result<()> {
        let mut after = None;
        while let Some(buried) = journal.next_buried(after.as_ref()).await? {
            // One that was a session when it was read is one in the backup.
            if !self.ends.get(&buried.uid).is_some_and(|end| end.is_session) {
                self.manifest.deleted += 1;
                self.line(&Entry::Deleted(DeletedEntry::of(&buried)))?;
            }
            after = Some(buried.uid);
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<Manifest> {
        self.drop_forks();
        self.manifest.sha256 = hex(&self.digest.clone().finalize());
        let manifest = self.manifest.clone();
        self.line(&Entry::Manifest(self.manifest.clone()))?;
        self.out.flush()?;
        Ok(manifest)
    }

    /// Drops forks that read what was not written of their ancestors, and forks of those.
    fn drop_forks(&mut self) {
        let mut dropped: HashSet<String> = self.manifest.dropped.drain(..).collect();
        loop {
            let before = dropped.len();
            let (ends, forks) = (&self.ends, &self.forks);
            let lacks = |(holder, up_to): &(SessionUid, Seq), dropped: &HashSet<String>| {
                dropped.contains(holder.as_str()) || ends.get(holder).is_none_or(|end| end.seq < *up_to)
            };
            for (uid, inheritance) in forks {
                if inheritance.lineage.iter().any(|held| lacks(held, &dropped)) {
                    dropped.insert(uid.to_string());
                }
            }
            if dropped.len() == before {
                break;
            }
        }
        self.manifest.dropped.extend(dropped);
        self.manifest.dropped.sort();
    }
}

/// Whether all records of a holder were there.
enum Whole {
    Yes,
    Deleted,
}

/// Bytes as lowercase hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
