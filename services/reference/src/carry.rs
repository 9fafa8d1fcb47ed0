//! Carrying a checked file over.

use journal::Journal;
use journal::import::{ForeignSession, Import, Standing};
use wire::ContentHash;

use crate::{CarryError, CheckError, Checked};

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

impl Checked<'_> {
    /// Carries everything over that is not in `journal` already, or nothing at all if something there contradicts it.
    /// Each session appears when it is complete. Calls `step` after each record.
    ///
    /// # Errors
    /// [`CarryError`].
    pub async fn carry(&self, journal: &Journal, mut step: impl FnMut()) -> Result<Carried, CarryError> {
        self.check_standing(journal).await.map_err(|error| match error {
            CarryError::Import(conflict) => CarryError::Conflict(conflict),
            error => error,
        })?;
        let import = journal.begin_import().await?;
        // Before the sessions, so that none is ever on a harness that is missing.
        for name in &self.names {
            import.name(name.clone()).await?;
        }
        let mut carried = Carried::default();
        let mut after = None;
        while let Some(session) = self.next_session(after.as_deref())? {
            match self.standing(journal, &session).await? {
                Standing::Present => carried.present_sessions += 1,
                Standing::Absent => {
                    carried.records += self.carry_session(&import, &session, &mut step).await?;
                    carried.sessions += 1;
                }
            }
            after = Some(session.uid.to_string());
        }
        Ok(carried)
    }

    async fn check_standing(&self, journal: &Journal) -> Result<(), CarryError> {
        for name in &self.names {
            journal.name_standing(name).await?;
        }
        let mut after = None;
        while let Some(session) = self.next_session(after.as_deref())? {
            self.standing(journal, &session).await?;
            after = Some(session.uid.to_string());
        }
        Ok(())
    }

    async fn standing(&self, journal: &Journal, session: &ForeignSession) -> Result<Standing, CarryError> {
        let (last_seq, hash) = self.file.head_of(&session.uid).map_err(CheckError::from)?;
        let head: Option<ContentHash> = hash.and_then(|hash| hash.parse().ok());
        Ok(journal.session_standing(session, last_seq, head.as_ref()).await?)
    }

    async fn carry_session(
        &self,
        import: &Import,
        session: &ForeignSession,
        step: &mut impl FnMut(),
    ) -> Result<u64, CarryError> {
        let mut writing = import.session(session)?;
        let mut records = self.file.records_of(&session.uid);
        let mut count = 0;
        loop {
            let page = records.next_page()?;
            if page.is_empty() {
                writing.finish().await?;
                return Ok(count);
            }
            for record in page {
                writing.push(record).await?;
                count += 1;
                step();
            }
        }
    }

    fn next_session(&self, after: Option<&str>) -> Result<Option<ForeignSession>, CheckError> {
        Ok(self.file.next_session(after, self.project)?.map(|stored| stored.session))
    }
}
