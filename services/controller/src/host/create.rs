//! CreateSession, and the creation that an Exec without a session does (journal.md §9, execution.md §12).

use journal::{CreateError, NewOn, NewSession, SessionState};
use wire::Session;

use super::routing::resolve;
use super::{Host, HostError};
use crate::ports::HarnessSource;

impl Host {
    /// Creates a session. Only project, name, harness, model, labels, annotations, origin and identity of `session`
    /// are read.
    ///
    /// # Errors
    /// [`HostError::UnknownHarness`] and [`HostError::HarnessClosed`], or a failed journal.
    pub async fn create(&self, session: Session) -> Result<Session, HostError> {
        Ok(self.create_session(session).await?.to_wire())
    }

    pub(super) async fn create_session(&self, session: Session) -> Result<SessionState, HostError> {
        let harness = match session.harness.as_str() {
            "" => self.harnesses().default_name().to_owned(),
            _ => session.harness,
        };
        self.learn(&[&harness]).await?;
        let source = resolve(self.harnesses(), &harness)?.harness.source;
        let metadata = session.metadata.unwrap_or_default();
        let new = NewSession {
            project: self.project(&metadata.project).to_owned(),
            name: metadata.name,
            harness,
            harness_source: match source {
                HarnessSource::Static | HarnessSource::Contested => NewOn::Static,
                HarnessSource::Registered(_) => NewOn::Registered,
            },
            model: session.model,
            labels: session.labels,
            annotations: session.annotations,
            origin: session.origin,
            identity: session.identity,
        };
        self.journal().create(new).await.map_err(|error| match error {
            CreateError::HarnessNotRegistered(name) => HostError::UnknownHarness(name),
            CreateError::HarnessCollision(name) => HostError::HarnessCollision(name),
            CreateError::HarnessRetired(name) => HostError::HarnessClosed(name),
            CreateError::TooLarge(error) => HostError::Unrecordable(error.to_string()),
            CreateError::Unknown => HostError::OutcomeUnknown,
            CreateError::Journal(error) => HostError::Journal(error),
        })
    }

    /// The project meant by a request.
    pub(super) fn project<'a>(&'a self, requested: &'a str) -> &'a str {
        if requested.is_empty() { &self.parts.default_project } else { requested }
    }
}
