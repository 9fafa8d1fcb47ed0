//! The lines of registry.md §8.

use std::fmt::{self, Display, Formatter};

use wire::{ApprovalRef, ComputeState, Deletion, Event, LogRecord, ResourceMetadata, Session, event};

use super::content::Content;
use super::plain::Inline;

/// A session in a listing.
pub struct Listed<'a>(pub &'a Session);

/// A session on its own.
pub struct Described<'a>(pub &'a Session);

/// A session that was suspended or resumed.
pub struct Marked<'a> {
    pub session: &'a Session,
    /// `suspend` or `resume`.
    pub by: &'static str,
}

/// A session whose turn was to be canceled.
pub struct Stopped<'a>(pub &'a Session);

/// What is left of a deleted session.
pub struct Deleted<'a>(pub &'a Session);

/// A session that waits for an approval.
pub struct Waiting<'a>(pub &'a Session);

/// A decision, and the session once it has gone on.
pub struct Decided<'a> {
    /// The recorded decision.
    pub decision: &'a LogRecord,
    pub session: &'a Session,
}

/// A child of a fork.
pub struct Child<'a>(pub &'a Session);

/// A record of a log.
pub struct Record<'a>(pub &'a LogRecord);

/// The uid of a session.
pub fn uid(session: &Session) -> &str {
    metadata(session).map_or("", |metadata| &metadata.uid)
}

fn name(session: &Session) -> &str {
    metadata(session).map_or("", |metadata| &metadata.name)
}

fn project(session: &Session) -> &str {
    metadata(session).map_or("", |metadata| &metadata.project)
}

fn metadata(session: &Session) -> Option<&ResourceMetadata> {
    session.metadata.as_ref()
}

/// The name of the session's compute state; a number that has no name here stands for itself.
struct Compute(i32);

impl Display for Compute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match ComputeState::try_from(self.0) {
            Ok(state) => f.write_str(state.as_str_name()),
            Err(_) => self.0.fmt(f),
        }
    }
}

/// The same without its prefix.
struct ShortCompute(i32);

impl Display for ShortCompute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = Compute(self.0).to_string();
        f.write_str(name.strip_prefix("COMPUTE_").unwrap_or(&name))
    }
}

impl Display for Listed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let session = self.0;
        let (uid, name, compute) = (uid(session), Inline(name(session)), ShortCompute(session.compute_state));
        let (last_seq, harness) = (session.last_seq, Inline(&session.harness));
        write!(f, "{uid}\tlast_seq={last_seq}\tcompute={compute}\tharness={harness}\tname={name}")
    }
}

impl Display for Described<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let session = self.0;
        let (uid, name, project) = (uid(session), Inline(name(session)), Inline(project(session)));
        let (last_seq, harness) = (session.last_seq, Inline(&session.harness));
        let compute = ShortCompute(session.compute_state);
        write!(f, "session {uid} project={project} name={name} harness={harness} last_seq={last_seq} compute={compute}")
    }
}

impl Display for Marked<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { session, by } = self;
        let (uid, compute) = (uid(session), Compute(session.compute_state));
        write!(f, "session {uid} {by} compute={compute} last_seq={}", session.last_seq)
    }
}

impl Display for Stopped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let session = self.0;
        let state = session.exec_state().as_str_name();
        write!(f, "session {} cancel exec={state} last_seq={}", uid(session), session.last_seq)
    }
}

impl Display for Deleted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let session = self.0;
        let Deletion { identity, reason, head_hash, .. } = session.deletion.clone().unwrap_or_default();
        let by = identity.unwrap_or_default().principal;
        let (by, reason) = (Inline(&by), Inline(&reason));
        write!(
            f,
            "session {} deleted last_seq={} head={head_hash} by={by} reason={reason}",
            uid(session),
            session.last_seq
        )
    }
}

impl Display for Waiting<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let session = self.0;
        let pending = session.pending_approval.clone().unwrap_or_default();
        let ApprovalRef { execution_id, tool_call_id, request_seq } = pending;
        let tool_call_id = Inline(&tool_call_id);
        write!(f, "{}\texecution={execution_id}\ttool_call={tool_call_id}\trequest_seq={request_seq}", uid(session))?;
        write!(f, "\tharness={}\tname={}", Inline(&session.harness), Inline(name(session)))
    }
}

impl Display for Decided<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { decision, session } = self;
        let (uid, seq, compute) = (uid(session), decision.seq, ShortCompute(session.compute_state));
        let approved = decision.event.as_ref().is_some_and(is_approval);
        write!(f, "session {uid} decision committed seq={seq} approved={approved} compute={compute}")?;
        write!(f, " last_seq={}", session.last_seq)
    }
}

fn is_approval(event: &Event) -> bool {
    matches!(&event.body, Some(event::Body::ApprovalResult(decision)) if decision.approved)
}

impl Display for Child<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let session = self.0;
        let (uid, name) = (uid(session), Inline(name(session)));
        write!(f, "child {uid} parent={} fork_seq={} name={name}", session.parent_uid, session.fork_seq)
    }
}

impl Display for Record<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let record = self.0;
        write!(f, "seq={:<3}", record.seq)?;
        let Some(event) = &record.event else { return Ok(()) };
        write!(f, " {}", event.kind().as_str_name())?;
        event.body.as_ref().map_or(Ok(()), |body| Content(body).fmt(f))
    }
}
