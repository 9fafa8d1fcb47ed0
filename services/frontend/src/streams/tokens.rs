//! The tokens of one session (tokens.md section 5). All of them follow from what is durable, so none is kept.

use std::sync::Arc;

use auth::KeyRings;
use journal::invocations::{Attachment, Cursor, Invocation, StreamId};
use stream_session::token::{Binding, CursorClaims, Role, SessionClaims, StreamClaims};
use stream_session::{ErrorCode, Refusal};
use uuid::Uuid;

use super::identity::AgentIdentity;

/// Who produces inputs.
const EXTERNAL_CLIENT: &str = "external-client";
/// Bytes of a position.
const POSITION_BYTES: usize = 24;

/// Makes the tokens of a session.
pub(super) struct SessionTokens {
    rings: Arc<KeyRings>,
    binding: Binding,
    session: SessionClaims,
    revision: u64,
    stream_key: String,
}

impl SessionTokens {
    pub(super) fn new(rings: Arc<KeyRings>, invocation: &Invocation) -> Self {
        let start = &invocation.start;
        let agent = AgentIdentity {
            component: start.component,
            revision: start.revision,
            agent_type: start.agent_type.clone(),
            agent_id: invocation.session.as_str().to_owned(),
            method: start.method.clone(),
        };
        let session = SessionClaims {
            application: start.application.clone(),
            environment: start.environment.clone(),
            agent: agent.encode(),
            idempotency_key: start.idempotency_key.clone(),
            invocation: invocation.id.as_uuid(),
            attachment: invocation.attachment.id,
            generation: invocation.attachment.generation,
            incarnation: invocation.incarnation,
            stream_key: Some(start.stream_key_id.clone()),
        };
        let binding =
            Binding { account: start.account.clone(), principal: start.principal.clone(), issued_at: start.issued_at };
        Self { rings, binding, session, revision: start.revision, stream_key: start.stream_key_id.clone() }
    }

    /// For the next attach, which must find this attachment.
    pub(super) fn session(&self, attachment: &Attachment) -> String {
        let claims =
            SessionClaims { attachment: attachment.id, generation: attachment.generation, ..self.session.clone() };
        self.rings.current().sign(&self.binding, &claims)
    }

    /// Always the same text (T2).
    ///
    /// # Errors
    /// `token-invalid`, if the key that signs it is gone (K3).
    pub(super) fn stream(&self, stream: StreamId, role: Role, element: [u8; 32]) -> Result<String, Refusal> {
        let stream = stream.as_uuid();
        let place = [&stream.as_bytes()[..], &[role.byte()]].concat();
        let producer = match role {
            Role::Input => EXTERNAL_CLIENT.to_owned(),
            Role::Output => self.session.agent.clone(),
        };
        let claims = StreamClaims {
            invocation: self.session.invocation,
            stream,
            producer,
            producer_incarnation: self.session.incarnation,
            revision: self.revision,
            element,
            role,
            mapping: Uuid::new_v5(&self.session.invocation, &place),
        };
        self.rings.current().sign_with(&self.stream_key, &self.binding, &claims)
    }

    /// Stands for what a client has of an output.
    pub(super) fn cursor(&self, cursor: Cursor) -> String {
        let Cursor { stream, items, ended } = cursor;
        let mut position = vec![0; POSITION_BYTES];
        position[..8].copy_from_slice(&items.to_be_bytes());
        position[8] = ended.into();
        let claims = CursorClaims { invocation: self.session.invocation, stream: stream.as_uuid(), position };
        self.rings.current().sign(&self.binding, &claims)
    }
}

/// What the position of a cursor says.
///
/// # Errors
/// `invalid-cursor`.
pub(super) fn position(claims: &CursorClaims) -> Result<Cursor, Refusal> {
    let read = || {
        let position: &[u8; POSITION_BYTES] = claims.position.as_slice().try_into().ok()?;
        let (items, rest) = position.split_first_chunk()?;
        let ended = match rest.split_first()? {
            (0, rest) if rest.iter().all(|&byte| byte == 0) => false,
            (1, rest) if rest.iter().all(|&byte| byte == 0) => true,
            _ => return None,
        };
        Some(Cursor { stream: StreamId::new(claims.stream), items: u64::from_be_bytes(*items), ended })
    };
    read().ok_or_else(|| Refusal::new(ErrorCode::InvalidCursor, "a cursor stands for no position"))
}
