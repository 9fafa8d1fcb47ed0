//! Operations that only read: GetSession, ListSessions, Replay. They take no guard.

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use journal::{ListToken, PageRequest, PageSize, Seq, SeqRange, SessionState, SessionUid};
use wire::{ListSessionsRequest, ListSessionsResponse, LogRecord, ReplayRequest, Session};

use super::{Host, HostError};

impl Host {
    /// The session named `uid`.
    ///
    /// # Errors
    /// [`HostError::EmptySession`], [`HostError::UnknownSession`], or a failed journal.
    pub async fn get(&self, uid: &str) -> Result<Session, HostError> {
        Ok(self.session(uid).await?.to_wire())
    }

    /// One page of a project's sessions, newest first (journal.md §10), or of those among them that wait for an approval.
    ///
    /// # Errors
    /// [`HostError::PageToken`], or a failed journal.
    pub async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, HostError> {
        let after = match request.page_token.as_str() {
            "" => None,
            token => Some(ListToken::decode(token).map_err(|_| HostError::PageToken)?),
        };
        let page = PageRequest { size: PageSize::from_wire(request.page_size), after };
        let project = self.project(&request.project);
        let page = match request.pending_only {
            true => self.journal().list_pending(project, page).await?,
            false => self.journal().list(project, page).await?,
        };
        Ok(ListSessionsResponse {
            sessions: page.sessions.iter().map(SessionState::to_wire).collect(),
            next_page_token: page.next.as_ref().map(ListToken::encode).unwrap_or_default(),
        })
    }

    /// The records of a session in a range, exactly as stored (journal.md §11). An unknown session has none.
    #[must_use]
    pub fn replay(&self, request: &ReplayRequest) -> BoxStream<'static, Result<LogRecord, HostError>> {
        match (SessionUid::parse(&request.session), replay_range(request)) {
            (Ok(uid), Some(range)) => self.journal().records(&uid, range).map_err(HostError::from).boxed(),
            _ => stream::empty().boxed(),
        }
    }
}

/// `None` for a range that cannot hold a record.
fn replay_range(request: &ReplayRequest) -> Option<SeqRange> {
    let from = Seq::from_wire(request.from_seq).unwrap_or_default().max(Seq::FIRST);
    let to = match request.to_seq {
        0 => None,
        to => Some(Seq::from_wire(to)?),
    };
    Some(SeqRange { from, to })
}
