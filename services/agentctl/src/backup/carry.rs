//! Carrying a checked backup into a journal.

use std::io::BufRead;

use anyhow::{Context as _, anyhow};
use journal::import::{ForeignName, Import, SessionImport, Standing};
use journal::{Journal, Seq};

use super::check::{Checked, open};
use super::entry::Entry;
use crate::chain::lines::Lines;

/// What an import has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Sessions carried over.
    pub sessions: u64,
    /// Their records.
    pub records: u64,
    /// Sessions that were in the journal already.
    pub present_sessions: u64,
}

/// Carries everything over that is not in `journal` already, or nothing at all if something there contradicts it. Each session
/// appears when it is complete. Calls `step` after each record.
pub async fn carry(checked: &Checked, journal: &Journal, mut step: impl FnMut()) -> anyhow::Result<Carried> {
    contradictions(checked, journal).await.context("nothing was imported")?;
    let import = journal.begin_import().await?;
    let mut carrying = Carrying { checked, journal, import: &import, into: None, carried: Carried::default() };
    let mut entries = entries(checked)?;
    while let Some(entry) = entries.next()? {
        if carrying.entry(entry).await? {
            step();
        }
    }
    carrying.end_holder().await?;
    Ok(carrying.carried)
}

/// The lines of a checked file.
struct Entries<R>(Lines<R>);

fn entries(checked: &Checked) -> anyhow::Result<Entries<impl BufRead>> {
    Ok(Entries(open(&checked.path)?))
}

impl<R: BufRead> Entries<R> {
    fn next(&mut self) -> anyhow::Result<Option<Entry>> {
        let changed = || anyhow!("the file was changed while it was imported");
        let line = self.0.next().map_err(|_| changed())?;
        line.map(|line| serde_json::from_slice(line.text)).transpose().map_err(|_| changed())
    }
}

/// Finds what is in the journal and is not what is to be imported.
async fn contradictions(checked: &Checked, journal: &Journal) -> anyhow::Result<()> {
    let mut entries = entries(checked)?;
    while let Some(entry) = entries.next()? {
        match entry {
            Entry::Harness(harness) => drop(journal.name_standing(&harness.into_name()).await?),
            Entry::Session(session) if !checked.dropped.contains(&session.uid) => {
                let (last, head) = (Seq::from_wire(session.last_seq).unwrap_or_default(), session.head.parse().ok());
                journal.session_standing(&session.into_session()?, last, head.as_ref()).await?;
            }
            _ => {}
        }
    }
    Ok(())
}

struct Carrying<'a> {
    checked: &'a Checked,
    journal: &'a Journal,
    import: &'a Import,
    /// Where records go.
    into: Option<SessionImport<'a>>,
    carried: Carried,
}

impl Carrying<'_> {
    /// Carries a line over; whether it was a record.
    async fn entry(&mut self, entry: Entry) -> anyhow::Result<bool> {
        if let Entry::Record(record) = entry {
            if let Some(into) = &mut self.into {
                into.push(*record).await?;
                self.carried.records += 1;
            }
            return Ok(true);
        }
        self.end_holder().await?;
        match entry {
            Entry::Harness(harness) => self.import.name(harness.into_name()).await?,
            Entry::Reserved(reserved) => self.reserve(reserved.name, reserved.time).await?,
            Entry::Session(session) if !self.checked.dropped.contains(&session.uid) => {
                let (last, head) = (Seq::from_wire(session.last_seq).unwrap_or_default(), session.head.parse().ok());
                let session = session.into_session()?;
                match self.journal.session_standing(&session, last, head.as_ref()).await? {
                    Standing::Present => self.carried.present_sessions += 1,
                    Standing::Absent => {
                        self.into = Some(self.import.session(&session)?);
                        self.carried.sessions += 1;
                    }
                }
            }
            Entry::Remains(remains) => {
                let (uid, inheritance) = remains.into_parts()?;
                // Their audit record comes after them.
                if !self.journal.is_buried(&uid).await? {
                    self.into = Some(self.import.remains(&uid, &inheritance));
                }
            }
            Entry::Deleted(deleted) => self.import.bury(deleted.into_buried()?).await?,
            Entry::Session(_) | Entry::Record(_) | Entry::Backup(_) | Entry::Manifest(_) => {}
        }
        Ok(false)
    }

    /// A name that a host of this journal has reserved, too, is reserved.
    async fn reserve(&self, name: String, time: i64) -> anyhow::Result<()> {
        Ok(self.import.name(ForeignName::Reserved { name, time }).await?)
    }

    async fn end_holder(&mut self) -> anyhow::Result<()> {
        match self.into.take() {
            Some(complete) => Ok(complete.finish().await?),
            None => Ok(()),
        }
    }
}
