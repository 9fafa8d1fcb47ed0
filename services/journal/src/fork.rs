//! Forking: children that read their parent's records through lineage instead of copying them (journal.md §8).

use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;

use futures::FutureExt;
use store::{TransactError, Transaction};
use wire::event::Body;
use wire::lifecycle::Kind;
use wire::{Event, EventKind, Lifecycle};

use crate::append::Draft;
use crate::error::{ForkError, refuse};
use crate::keys::SessionKeys;
use crate::lineage;
use crate::records::batch_of;
use crate::rows::{Head, SessionRow};
use crate::sessions::{check_size, exists, read_state, write_metadata};
use crate::{Fence, Journal, Seq, SessionState, SessionUid};

/// What a fork child does not inherit.
#[derive(Clone, Debug, Default)]
pub struct NewChild {
    /// Its uid, where something is kept under it already; a fresh one if there is none.
    pub uid: Option<SessionUid>,
    /// Display name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// A fork, shared by its attempts.
struct Plan {
    parent: SessionUid,
    at: Seq,
    children: Vec<(SessionUid, NewChild)>,
    now: i64,
}

impl Journal {
    /// Forks `parent` after its record `at`, in one transaction: all children or none. The cost does not depend on the
    /// length of the log, nor does a fork conflict with the parent's appends.
    ///
    /// # Errors
    /// [`ForkError`].
    pub async fn fork(
        &self,
        parent: &SessionUid,
        at: Seq,
        children: Vec<NewChild>,
    ) -> Result<Vec<SessionState>, ForkError> {
        let named = |child: NewChild| (child.uid.clone().unwrap_or_else(|| SessionUid::mint(&self.env)), child);
        let children = children.into_iter().map(named).collect();
        let plan = Arc::new(Plan { parent: parent.clone(), at, children, now: self.env.unix_nanos() });
        let states = self
            .store
            .transact(|transaction, attempt| {
                let plan = Arc::clone(&plan);
                async move {
                    if attempt.maybe_committed && plan.is_committed(transaction).await? {
                        return plan.read_children(transaction).await;
                    }
                    let parent = plan.read_parent(transaction).await?;
                    let head = plan.inherited_head(transaction, &parent).await?;
                    let children = plan.children(&parent, &head).map_err(refuse)?;
                    for child in &children {
                        child.write(transaction).await?;
                    }
                    Ok(children.into_iter().map(|child| child.state).collect())
                }
                .boxed()
            })
            .await?;
        Ok(states)
    }
}

impl Plan {
    async fn read_parent(&self, transaction: &mut Transaction) -> Result<SessionState, TransactError<ForkError>> {
        // Metadata never changes, so this conflicts with a deletion and with nothing else.
        if !exists(transaction, &self.parent).await? {
            return Err(refuse(ForkError::NoSession));
        }
        let parent = read_state(transaction, self.parent.clone()).await?;
        let parent = parent.ok_or_else(|| refuse(ForkError::NoSession))?;
        if self.at > parent.last_seq() { Err(refuse(ForkError::BeyondHead)) } else { Ok(parent) }
    }

    /// The head of a child before its FORK marker.
    async fn inherited_head(
        &self,
        transaction: &mut Transaction,
        parent: &SessionState,
    ) -> Result<Head, TransactError<ForkError>> {
        let head = Head { fence: Fence::FIRST, ..Head::empty(self.now) };
        let holders = lineage::stretches(&self.parent, parent.row(), self.at, self.at).map_err(refuse)?;
        let Some(holder) = holders.first().filter(|_| self.at > Seq::ZERO) else { return Ok(head) };
        let keys = SessionKeys::new(&holder.holder);
        let batch = batch_of(transaction, &keys, holder.begin, self.at).await?;
        let projection = batch.projection_at(self.at).map_err(refuse)?;
        Ok(Head { last_seq: self.at, hash: batch.hash(self.at), projection, ..head })
    }

    fn children(&self, parent: &SessionState, inherited: &Head) -> Result<Vec<Child>, ForkError> {
        let marker = fork_marker(self.at);
        let hash = wire::content_hash(&marker, self.at.next().get(), inherited.hash.as_ref())
            .expect("invariant: a marker holds nothing but a text and two enums, which have a canonical form");
        let lineage = lineage::of_child(&self.parent, parent.row(), self.at)?;
        let child = |(uid, new): &(SessionUid, NewChild)| {
            let inherited_row = SessionRow { lineage: lineage.clone(), ..parent.row().clone() };
            let row = self.child_row(inherited_row, new.clone());
            check_size(&row)?;
            let marker = Draft::lay_out(&SessionKeys::new(uid), inherited, slice::from_ref(&marker), vec![hash]);
            Ok(Child { state: SessionState::new(uid.clone(), row, marker.head().clone()), marker })
        };
        self.children.iter().map(child).collect()
    }

    fn child_row(&self, inherited: SessionRow, new: NewChild) -> SessionRow {
        SessionRow {
            name: new.name,
            labels: new.labels,
            identity: None,
            create_time: self.now,
            parent_uid: self.parent.as_str().to_owned(),
            fork_seq: self.at.get(),
            ..inherited
        }
    }

    /// Whether an earlier attempt was committed: it made all children or none.
    async fn is_committed(&self, transaction: &mut Transaction) -> Result<bool, TransactError<ForkError>> {
        match self.children.first() {
            Some((uid, _)) => exists(transaction, uid).await,
            None => Ok(true),
        }
    }

    /// The children of an earlier attempt, but for those that were deleted since.
    async fn read_children(
        &self,
        transaction: &mut Transaction,
    ) -> Result<Vec<SessionState>, TransactError<ForkError>> {
        let mut states = Vec::with_capacity(self.children.len());
        for (uid, _) in &self.children {
            states.extend(read_state(transaction, uid.clone()).await?);
        }
        Ok(states)
    }
}

/// A child, ready to be written.
struct Child {
    state: SessionState,
    marker: Draft,
}

impl Child {
    async fn write(&self, transaction: &mut Transaction) -> Result<(), TransactError<ForkError>> {
        write_metadata(transaction, self.state.uid(), self.state.row());
        lineage::pin(transaction, self.state.uid(), self.state.row())?;
        self.marker.write(transaction).await
    }
}

fn fork_marker(at: Seq) -> Event {
    let (kind, detail) = (Kind::LifecycleFork.into(), marker_detail(at));
    let lifecycle = Lifecycle { kind, detail, ..Lifecycle::default() };
    Event::new(EventKind::EventLifecycle, Body::Lifecycle(lifecycle))
}

/// What the marker of a fork at `at` says.
pub(crate) fn marker_detail(at: Seq) -> String {
    format!("parent@{at}")
}
