//! A listing, read page by page.

use std::vec;

use futures::Stream;
use wire::{ListSessionsRequest, Session};

use crate::{Client, Error};

/// Sessions per page: as many as a host gives at once.
const PAGE_SIZE: i32 = 500;

/// The sessions of a project that a listing holds, newest first. The next page is asked for when the last one has been taken.
pub struct SessionPages {
    client: Client,
    page: vec::IntoIter<Session>,
    /// What asks for the next page; `None` after the last one.
    next: Option<ListSessionsRequest>,
}

impl SessionPages {
    pub(crate) fn new(client: Client, project: &str, pending_only: bool) -> Self {
        let project = project.to_owned();
        let first = ListSessionsRequest { project, page_size: PAGE_SIZE, pending_only, ..Default::default() };
        Self { client, page: Vec::new().into_iter(), next: Some(first) }
    }

    /// The next session; `None` after the last.
    ///
    /// # Errors
    /// [`Error`]; calling again repeats the page that failed.
    pub async fn next(&mut self) -> Result<Option<Session>, Error> {
        loop {
            if let Some(session) = self.page.next() {
                return Ok(Some(session));
            }
            let Some(request) = &mut self.next else { return Ok(None) };
            let answer = self.client.list_page(request).await?;
            request.page_token = answer.next_page_token;
            if request.page_token.is_empty() {
                self.next = None;
            }
            self.page = answer.sessions.into_iter();
        }
    }

    /// The same as a stream. It ends after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Session, Error>> + Send + 'static {
        futures::stream::try_unfold(
            self,
            |mut pages| async move { Ok(pages.next().await?.map(|session| (session, pages))) },
        )
    }
}
