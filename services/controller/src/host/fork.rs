//! Fork: children that share their parent's log up to a record (execution.md §11).

mod memory;

use std::sync::Arc;

use journal::{ForkError, NewChild, Seq, SessionState, SessionUid};
use wire::{ForkRequest, ForkResponse, Resumability};

use super::admission::{describe, resumability};
use super::routing::route;
use super::{CallContext, Host, HostError, InvalidFork};
use memory::MemoryFork;

/// Most children of one fork.
const MAX_CHILDREN: i32 = 128;

impl Host {
    /// Forks a session. The parent of a stateless harness is neither touched nor fenced and may be running; that of a
    /// memory harness is suspended.
    ///
    /// # Errors
    /// [`HostError::Fork`] for a request that cannot be met, what routing and admission refuse, a lost race for the
    /// parent, a failed runtime, or a failed journal.
    pub async fn fork(&self, request: ForkRequest, call: CallContext) -> Result<ForkResponse, HostError> {
        if request.identity.is_some() {
            return Err(InvalidFork::Identity.into());
        }
        let parent = self.session(&request.session).await?;
        self.learn(&[parent.harness()]).await?;
        let route = route(self.harnesses(), parent.harness(), "")?;
        let at = fork_point(&parent, request.at_seq)?;
        let children = new_children(request)?;
        let descriptor = describe(&route, &self.bounds(&call)).await?;

        let children = if resumability(&descriptor) == Resumability::RequiresMemorySnapshot {
            let fork = MemoryFork { parent, at, children, runtime: Arc::clone(&route.harness.runtime) };
            // What has been made is taken down even if the caller goes away.
            let work = |host: Self, call| async move { host.fork_memory(fork, &host.bounds(&call)).await };
            self.detached("fork", call, work).await?
        } else {
            self.fork_log(parent.uid(), at, children).await?
        };
        Ok(ForkResponse { children: children.iter().map(SessionState::to_wire).collect() })
    }

    /// Makes the children in the journal, all or none.
    async fn fork_log(
        &self,
        parent: &SessionUid,
        at: Seq,
        children: Vec<NewChild>,
    ) -> Result<Vec<SessionState>, HostError> {
        self.journal().fork(parent, at, children).await.map_err(|error| match error {
            ForkError::NoSession => HostError::UnknownSession,
            // The head never moves back, and it was there before.
            ForkError::BeyondHead => HostError::Conflict,
            ForkError::TooLarge(error) => HostError::Unrecordable(error.to_string()),
            ForkError::Unknown => HostError::OutcomeUnknown,
            ForkError::Journal(error) => HostError::Journal(error),
        })
    }
}

/// Zero and negative positions mean the head.
fn fork_point(parent: &SessionState, at_seq: i64) -> Result<Seq, InvalidFork> {
    let head = parent.last_seq();
    match Seq::from_wire(at_seq) {
        None | Some(Seq::ZERO) => Ok(head),
        Some(at) if at <= head => Ok(at),
        Some(_) => Err(InvalidFork::BeyondHead { at: at_seq, head }),
    }
}

/// Zero children mean one: a client cannot tell zero from unset.
fn new_children(request: ForkRequest) -> Result<Vec<NewChild>, InvalidFork> {
    let count = match request.count {
        0 => 1,
        count @ 1..=MAX_CHILDREN => count as usize,
        count => return Err(InvalidFork::Count(count)),
    };
    let mut names = request.child_names;
    if names.is_empty() {
        names.resize(count, String::new());
    } else if names.len() != count {
        return Err(InvalidFork::Names { names: names.len(), count });
    }
    Ok(names.into_iter().map(|name| NewChild { uid: None, name, labels: request.labels.clone() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(count: i32, names: &[&str]) -> ForkRequest {
        ForkRequest { count, child_names: names.iter().map(|&name| name.into()).collect(), ..Default::default() }
    }

    #[test]
    fn zero_children_are_one_and_more_than_128_are_refused() {
        assert_eq!(new_children(request(0, &[])).unwrap().len(), 1);
        assert_eq!(new_children(request(128, &[])).unwrap().len(), 128);
        for count in [129, -1, i32::MIN, i32::MAX] {
            assert!(matches!(new_children(request(count, &[])), Err(InvalidFork::Count(_))), "{count}");
        }
    }

    #[test]
    fn children_have_a_name_each_or_none() {
        let named = new_children(request(2, &["a", "b"])).unwrap();
        assert_eq!(named[1].name, "b");
        assert!(matches!(new_children(request(2, &["a"])), Err(InvalidFork::Names { names: 1, count: 2 })));
        assert!(matches!(new_children(request(0, &["a", "b"])), Err(InvalidFork::Names { names: 2, count: 1 })));
    }
}
