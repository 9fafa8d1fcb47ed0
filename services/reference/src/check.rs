//! Checking a file as a whole, before anything of it is carried over.

use std::collections::BTreeSet;

use journal::import::{ForeignLog, ForeignName, ForeignSession, UnfitRecord, VerifiedLog};
use journal::{Seq, SessionUid};
use wire::event::Body;
use wire::{ComputeState, LogRecord};

use crate::error::{RecordFault, SessionFault};
use crate::file::{EVENTS, SESSIONS};
use crate::names::fault;
use crate::{CheckError, ReferenceFile};

/// A file in which everything is sound.
pub struct Checked<'a> {
    pub(crate) file: &'a ReferenceFile,
    /// Where sessions belong that name no project.
    pub(crate) project: &'a str,
    pub(crate) names: Vec<ForeignName>,
    contents: Contents,
}

/// How much there is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Sessions.
    pub sessions: u64,
    /// Records of all sessions.
    pub records: u64,
    /// Registered harnesses.
    pub registrations: u64,
    /// Reserved harness names.
    pub reserved_names: u64,
    /// Sessions whose records say something else than the file about their compute state.
    pub recomputed: Vec<Recomputed>,
}

/// A projection that does not follow from the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recomputed {
    /// The session.
    pub session: SessionUid,
    /// What the file says.
    pub stored: ComputeState,
    /// What follows from the records, and is kept.
    pub recomputed: ComputeState,
}

/// A check under way.
struct Check<'a, S> {
    file: &'a ReferenceFile,
    contents: Contents,
    /// Harnesses that sessions of an older file ran on: nobody may register them (journal.md §12).
    used_harnesses: BTreeSet<String>,
    step: S,
}

impl ReferenceFile {
    /// Checks every chain, every fork and every name, and writes nothing. Sessions that name no project belong to
    /// `project`. Calls `step` after each record.
    ///
    /// # Errors
    /// [`CheckError`], for the first thing that is wrong.
    pub fn check<'a>(&'a self, project: &'a str, step: impl FnMut()) -> Result<Checked<'a>, CheckError> {
        let (contents, used_harnesses) = (Contents::default(), BTreeSet::new());
        let mut check = Check { file: self, contents, used_harnesses, step };
        check.sessions(project)?;
        let names = check.names()?;
        check.nothing_is_lost()?;
        Ok(Checked { file: self, project, names, contents: check.contents })
    }
}

impl Checked<'_> {
    /// How much there is.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        &self.contents
    }
}

impl<S: FnMut()> Check<'_, S> {
    fn sessions(&mut self, project: &str) -> Result<(), CheckError> {
        let mut after: Option<SessionUid> = None;
        while let Some(stored) = self.file.next_session(after.as_ref().map(SessionUid::as_str), project)? {
            let session = stored.session;
            let log = self.log(&session)?;
            self.parent(&session)?;
            self.used_harnesses.insert(session.harness);
            let recomputed = log.projection().compute_state();
            if let Some(stored) = stored.compute_state.filter(|stored| *stored != recomputed) {
                self.contents.recomputed.push(Recomputed { session: session.uid.clone(), stored, recomputed });
            }
            self.contents.sessions += 1;
            after = Some(session.uid);
        }
        Ok(())
    }

    fn log(&mut self, session: &ForeignSession) -> Result<VerifiedLog, CheckError> {
        let mut log = ForeignLog::new(session).map_err(|error| CheckError::Session {
            session: session.uid.to_string(),
            fault: SessionFault::from(error),
        })?;
        let mut records = self.file.records_of(&session.uid);
        loop {
            let page = records.next_page()?;
            if page.is_empty() {
                return log.finish().map_err(|unfit| unfit_record(&session.uid, unfit));
            }
            for record in page {
                self.note_harness(&record);
                log.push(record).map_err(|unfit| unfit_record(&session.uid, unfit))?;
                self.contents.records += 1;
                (self.step)();
            }
        }
    }

    fn note_harness(&mut self, record: &LogRecord) {
        if let Some(Body::ExecutionStart(start)) = record.event.as_ref().and_then(|event| event.body.as_ref())
            && !self.used_harnesses.contains(&start.harness)
        {
            self.used_harnesses.insert(start.harness.clone());
        }
    }

    /// A fork has its parent's log up to where it was forked. Both chains are checked, so one hash stands for all.
    fn parent(&self, session: &ForeignSession) -> Result<(), CheckError> {
        let Some(fork) = &session.fork else { return Ok(()) };
        let at = |seq: Seq, fault| CheckError::Record { session: session.uid.to_string(), seq: seq.to_wire(), fault };
        let parent = fork.parent.to_string();
        if !self.file.has_session(&fork.parent)? {
            return Err(at(fork.at.next(), RecordFault::NoParent { parent }));
        }
        if self.file.hash_at(&session.uid, fork.at)? != self.file.hash_at(&fork.parent, fork.at)? {
            return Err(at(fork.at, RecordFault::OtherParent { parent }));
        }
        Ok(())
    }

    fn names(&mut self) -> Result<Vec<ForeignName>, CheckError> {
        let mut names = self.file.names()?;
        if self.file.is_older() {
            let used = self.used_harnesses.iter().filter(|name| !name.is_empty());
            names.extend(used.map(|name| ForeignName::Reserved { name: name.clone(), time: 0 }));
        }
        let mut seen = BTreeSet::new();
        for name in &names {
            let is_registration = matches!(name, ForeignName::Registered(_));
            let count =
                if is_registration { &mut self.contents.registrations } else { &mut self.contents.reserved_names };
            *count += 1;
            if !seen.insert(name.name()) {
                return Err(fault(name.name(), "it is both registered and reserved"));
            }
        }
        Ok(names)
    }

    fn nothing_is_lost(&self) -> Result<(), CheckError> {
        if let Some((session, seq)) = self.file.stray_record()? {
            return Err(CheckError::Record { session, seq, fault: RecordFault::NoSession });
        }
        for (table, read) in [(&SESSIONS, self.contents.sessions), (&EVENTS, self.contents.records)] {
            let counted = self.file.count(table)?;
            if counted != read {
                return Err(CheckError::Lost { table: table.name, counted, read });
            }
        }
        Ok(())
    }
}

fn unfit_record(session: &SessionUid, UnfitRecord { seq, reason }: UnfitRecord) -> CheckError {
    CheckError::Record { session: session.to_string(), seq: seq.to_wire(), fault: reason.into() }
}
