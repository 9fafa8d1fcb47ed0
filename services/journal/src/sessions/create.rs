//! Creating a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use store::{TransactError, Transaction};
use wire::{IdentityRef, Origin};

use super::{SessionState, check_size, exists, write_metadata};
use crate::error::{Corrupt, CreateError, refuse};
use crate::keys::{self, SessionKeys};
use crate::registry::check_name;
use crate::rows::{self, HarnessRow, HarnessState, Head, SessionRow};
use crate::{Journal, SessionUid};

/// A session to be created. Nothing in it is optional: defaults are the caller's.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Tenant or namespace.
    pub project: String,
    /// Display name.
    pub name: String,
    /// The harness's registry name.
    pub harness: String,
    /// Where that harness is defined.
    pub harness_source: NewOn,
    /// Label only.
    pub model: String,
    /// Free.
    pub labels: BTreeMap<String, String>,
    /// Free, inherited by forks.
    pub annotations: BTreeMap<String, String>,
    /// Not stored if it says nothing.
    pub origin: Option<Origin>,
    /// Not stored if it names nobody.
    pub identity: Option<IdentityRef>,
}

/// Where the harness of a new session is defined, hence which registration must or must not exist (registry.md §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewOn {
    /// In this host's configuration: refused if the name is registered as well.
    Static,
    /// In the registry: refused unless the registration exists and is active.
    Registered,
}

impl Journal {
    /// Creates a session. That its harness may take it is checked in the same transaction.
    ///
    /// # Errors
    /// [`CreateError`].
    pub async fn create(&self, new: NewSession) -> Result<SessionState, CreateError> {
        let uid = SessionUid::mint(&self.env);
        let now = self.env.unix_nanos();
        let source = new.harness_source;
        let row = new.into_row(now);
        check_size(&row)?;
        check_name(&row.harness)?;
        let state = Arc::new(SessionState::new(uid, row, Head::empty(now)));
        self.store
            .transact(|transaction, attempt| {
                let state = Arc::clone(&state);
                async move {
                    if attempt.maybe_committed && exists(transaction, state.uid()).await? {
                        return Ok(());
                    }
                    check_harness(transaction, state.harness(), source).await?;
                    write_metadata(transaction, state.uid(), state.row());
                    transaction.set(&SessionKeys::new(state.uid()).head(), &state.head().encode());
                    Ok(())
                }
                .boxed()
            })
            .await?;
        Ok(Arc::unwrap_or_clone(state))
    }
}

impl NewSession {
    pub(crate) fn into_row(self, now: i64) -> SessionRow {
        SessionRow {
            project: self.project,
            name: self.name,
            harness: self.harness,
            model: self.model,
            labels: self.labels,
            annotations: self.annotations,
            origin: self.origin.filter(|origin| *origin != Origin::default()),
            identity: self.identity.filter(|identity| !identity.is_empty()),
            create_time: now,
            ..SessionRow::default()
        }
    }
}

/// Whether a harness takes new sessions, read so that a change of its registration conflicts.
pub(crate) async fn check_harness<E: From<CreateError> + From<Corrupt>>(
    transaction: &mut Transaction,
    name: &str,
    source: NewOn,
) -> Result<(), TransactError<E>> {
    let Some(value) = transaction.get(&keys::harness(name)).await? else {
        return match source {
            NewOn::Static => Ok(()),
            NewOn::Registered => Err(refuse(CreateError::HarnessNotRegistered(name.to_owned()))),
        };
    };
    if source == NewOn::Static {
        return Err(refuse(CreateError::HarnessCollision(name.to_owned())));
    }
    let row: HarnessRow = rows::decode("harness", &value).map_err(refuse)?;
    match row.state() {
        HarnessState::Active => Ok(()),
        HarnessState::Retired | HarnessState::Unspecified => Err(refuse(CreateError::HarnessRetired(name.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use env::Env;
    use prost::Message;
    use store::Store;
    use store::memory::Memory;

    use super::*;

    async fn with_registration(state: HarnessState) -> Journal {
        let env = Env::seeded(1);
        let store = Store::new(Memory::default(), env.clone());
        let row = HarnessRow { state: state.into(), ..HarnessRow::default() }.encode_to_vec();
        let registered = store.transact::<_, CreateError, _>(|transaction, _| {
            transaction.set(&keys::harness("h"), &row);
            async { Ok(()) }.boxed()
        });
        registered.await.unwrap();
        Journal::open(store, env).await.unwrap()
    }

    fn new_on(harness_source: NewOn) -> NewSession {
        NewSession {
            project: "p".to_owned(),
            name: String::new(),
            harness: "h".to_owned(),
            harness_source,
            model: String::new(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            origin: None,
            identity: None,
        }
    }

    #[tokio::test]
    async fn an_active_registration_takes_sessions_of_hosts_that_loaded_it_and_of_no_others() {
        let journal = with_registration(HarnessState::Active).await;
        journal.create(new_on(NewOn::Registered)).await.unwrap();
        let refused = journal.create(new_on(NewOn::Static)).await;
        assert!(matches!(refused, Err(CreateError::HarnessCollision(name)) if name == "h"));
    }

    #[tokio::test]
    async fn a_retired_registration_takes_no_sessions() {
        let journal = with_registration(HarnessState::Retired).await;
        let refused = journal.create(new_on(NewOn::Registered)).await;
        assert!(matches!(refused, Err(CreateError::HarnessRetired(name)) if name == "h"));
        let refused = journal.create(new_on(NewOn::Static)).await;
        assert!(matches!(refused, Err(CreateError::HarnessCollision(_))));
    }
}
