//! Listing sessions, newest first (journal.md §10).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::FutureExt;
use prost::Message;
use store::{Isolation, KeyRange, RangeRead, TransactError, Transaction};
use thiserror::Error;

use super::{MAX_PROJECT_BYTES, SessionState, read_state};
use crate::error::{Corrupt, JournalError, refuse};
use crate::keys::{Listed, Listing};
use crate::{Journal, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "session list" };
const MAX_UTF8_BYTES: usize = 4;
/// Bytes of sessions after which a page ends early: with the one that made it so many it is below the 4 MiB that clients of gRPC
/// take by default.
const PAGE_BYTES: usize = 3 << 20;

/// How many sessions a page holds at most. One whose sessions are several MiB together holds fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize(usize);

impl PageSize {
    const DEFAULT: i32 = 50;
    const MAX: i32 = 500;

    /// Reads a request's `page_size`: 0 and less stand for 50, more than 500 for 500.
    #[must_use]
    pub fn from_wire(size: i32) -> Self {
        let size = if size <= 0 { Self::DEFAULT } else { size.min(Self::MAX) };
        Self(usize::try_from(size).unwrap_or_default())
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> usize {
        self.0
    }
}

/// Where a page of a listing starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListToken(Listed);

/// A text is not the token of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("page_token is not one that a listing returned")]
pub struct InvalidPageToken;

impl ListToken {
    /// Reads a token that a caller sent back. Any position will do, whether a session is there or not.
    ///
    /// # Errors
    /// [`InvalidPageToken`].
    pub fn decode(token: &str) -> Result<Self, InvalidPageToken> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| InvalidPageToken)?;
        let nul = bytes.iter().position(|&byte| byte == 0).ok_or(InvalidPageToken)?;
        let time = str::from_utf8(&bytes[..nul]).ok().and_then(|text| text.parse().ok());
        let mut uid = String::from_utf8_lossy(&bytes[nul + 1..]).into_owned();
        // No session has so long a uid, so what is cut off decides nothing, and the position always fits into a key.
        uid.truncate(uid.floor_char_boundary(SessionUid::MAX_BYTES + MAX_UTF8_BYTES));
        Ok(Self(Listed { time: time.ok_or(InvalidPageToken)?, uid }))
    }

    /// The token as callers see it.
    #[must_use]
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}\0{}", self.0.time, self.0.uid))
    }
}

/// Which page of a listing is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Its size.
    pub size: PageSize,
    /// The end of the page before it, if it is not the first.
    pub after: Option<ListToken>,
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    /// The sessions, newest first.
    pub sessions: Vec<SessionState>,
    /// Where the next page starts, if there is one.
    pub next: Option<ListToken>,
}

impl Journal {
    /// A page of the sessions of `project`.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn list(&self, project: &str, page: PageRequest) -> Result<SessionPage, JournalError> {
        self.page(Listing::All, project, page).await
    }

    /// A page of the sessions of `project` that wait for an approval, those first that began to wait last.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn list_pending(&self, project: &str, page: PageRequest) -> Result<SessionPage, JournalError> {
        self.page(Listing::Pending, project, page).await
    }

    async fn page(&self, listing: Listing, project: &str, page: PageRequest) -> Result<SessionPage, JournalError> {
        if project.len() > MAX_PROJECT_BYTES {
            return Ok(SessionPage { sessions: Vec::new(), next: None });
        }
        let range = listing.range(project, page.after.as_ref().map(|token| &token.0));
        let page = self
            .store
            .transact(|transaction, _| {
                let range = range.clone();
                async move { read_page(transaction, range, page.size.0).await }.boxed()
            })
            .await?;
        Ok(page)
    }
}

async fn read_page(
    transaction: &mut Transaction,
    range: KeyRange,
    size: usize,
) -> Result<SessionPage, TransactError<JournalError>> {
    let places = read_places(transaction, range, size + 1).await?;
    let (mut sessions, mut bytes) = (Vec::with_capacity(places.len().min(size)), 0);
    for place in places.iter().take(size) {
        if bytes > PAGE_BYTES {
            break;
        }
        let uid = SessionUid::parse(&place.uid).map_err(|_| refuse(CORRUPT))?;
        let state = read_state(transaction, uid.clone()).await?;
        let state = state.ok_or_else(|| refuse(JournalError::CorruptSession(uid, CORRUPT)))?;
        bytes += state.to_wire().encoded_len();
        sessions.push(state);
    }
    let last = sessions.len().checked_sub(1).filter(|_| places.len() > sessions.len());
    let next = last.and_then(|last| places.get(last)).cloned().map(ListToken);
    Ok(SessionPage { sessions, next })
}

async fn read_places(
    transaction: &mut Transaction,
    range: KeyRange,
    count: usize,
) -> Result<Vec<Listed>, TransactError<JournalError>> {
    let page = transaction.get_range(&RangeRead::forward(range).limit(count), Isolation::Snapshot).await?;
    page.rows.iter().map(|row| Listed::decode(&row.key).ok_or_else(|| refuse(CORRUPT))).collect()
}

#[cfg(test)]
mod tests;
