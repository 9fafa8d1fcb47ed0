//! Whether a client may go on with a session (protocol.md 14.3).

use std::collections::HashSet;
use std::time::Duration;

use auth::{Caller, Wanted};
use journal::SessionUid;
use journal::invocations::{Accepted, AttachError, Attempt, Cursor, Holder, InvocationId, Reattach};
use stream_session::message::{Attach, Operation};
use stream_session::token::{self, CursorClaims, KeyRing, SessionClaims, Verified};
use stream_session::{ErrorCode, Refusal};
use uuid::Uuid;

use super::evaluate::{Admitted, Refused, internal, not_retained};
use super::identity::AgentIdentity;
use super::{Endpoint, descriptor, tokens};

/// How often an attach is tried that may or may not have succeeded.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(200);

impl Endpoint {
    /// Evaluates a resume or a takeover.
    ///
    /// # Errors
    /// [`Refused`], with the code of the first check that fails.
    pub(super) async fn attach(&self, caller: &Caller, attach: &Attach) -> Result<Admitted, Refused> {
        let ring = self.security.rings.current();
        let presented = token::Caller { account: &caller.account, principal: &caller.principal };
        let Verified { claims: session, key_id, .. } =
            ring.verify::<SessionClaims>(&attach.session_token, presented)?;
        // Tokens of its streams could not be made again (K3).
        if !ring.holds(session.stream_key.as_ref().unwrap_or(&key_id)) {
            return Err(not_retained().into());
        }
        let cursors = cursors(&ring, presented, attach, session.invocation)?;
        let agent = AgentIdentity::decode(&session.agent)?;
        self.authorize(
            caller,
            &Wanted {
                application: &session.application,
                environment: &session.environment,
                agent_type: &agent.agent_type,
                method: &agent.method,
            },
        )?;
        let reattach = Reattach {
            session: SessionUid::parse(&agent.agent_id).map_err(|_| not_retained())?,
            invocation: InvocationId::new(session.invocation),
            attempt: Attempt {
                account: caller.account.clone(),
                id: attach.attempt,
                digest: descriptor::of_attach(attach),
            },
            generation: session.generation,
            takeover: attach.operation == Operation::Takeover,
            holder: Holder::mint(&self.env),
            cursors: cursors.clone(),
        };
        match self.reattach(reattach).await? {
            Accepted::New(invocation, lease) => {
                let joined = self.joined(attach.attempt, false, *invocation, Some(lease.clone()), &cursors).await;
                self.keep(&lease, joined).await
            }
            Accepted::Known(record) => self.replay(caller, attach.attempt, &record, &cursors).await,
        }
    }

    /// Steps 6 to 12. Whether an attach happened that is not known to have shows when it is tried again.
    async fn reattach(&self, reattach: Reattach) -> Result<Accepted, Refused> {
        for _ in 1..ATTEMPTS {
            match self.host.journal().attach(reattach.clone()).await {
                Err(AttachError::Unknown) => tokio::time::sleep(PAUSE).await,
                settled => return settled.map_err(|error| refusal(&error).into()),
            }
        }
        self.host.journal().attach(reattach).await.map_err(|error| refusal(&error).into())
    }
}

/// What the client has of the outputs of an invocation (steps 3 and 4).
fn cursors(
    ring: &KeyRing,
    caller: token::Caller<'_>,
    attach: &Attach,
    invocation: Uuid,
) -> Result<Vec<Cursor>, Refusal> {
    let verified = attach.output_cursors.iter().map(|cursor| ring.verify::<CursorClaims>(cursor, caller));
    let claims = verified.map(|verified| verified.map(|verified| verified.claims)).collect::<Result<Vec<_>, _>>()?;
    let mut streams = HashSet::new();
    if !claims.iter().all(|claims| claims.invocation == invocation && streams.insert(claims.stream)) {
        return Err(Refusal::new(
            ErrorCode::InvalidCursor,
            "a cursor is of another session, or there are two of a stream",
        ));
    }
    claims.iter().map(tokens::position).collect()
}

fn refusal(error: &AttachError) -> Refusal {
    match error {
        AttachError::NotRetained => not_retained(),
        AttachError::AttemptConflict => {
            Refusal::new(ErrorCode::AttemptConflict, "the attempt is known with other content")
        }
        AttachError::Stale => {
            Refusal::new(ErrorCode::StaleSession, "the session was attached since the token was issued")
        }
        AttachError::Future => Refusal::new(ErrorCode::FutureSession, "the token is of a generation that never was"),
        AttachError::State => Refusal::new(
            ErrorCode::InvalidAttachmentState,
            "a resume needs a detached session, a takeover an attached one",
        ),
        AttachError::Cursor(_) => {
            Refusal::new(ErrorCode::InvalidCursor, "a cursor is beyond the history of its stream")
        }
        AttachError::Unknown | AttachError::TooLarge(_) | AttachError::Journal(_) => internal(error),
    }
}
