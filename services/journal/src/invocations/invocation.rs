//! One invocation.

use uuid::Uuid;

use super::{Holder, InvocationId, Owner, StreamId, StreamProgress};
use crate::rows::{
    AttachmentRow, AttemptRow, EntryRow, OutcomeRow, ReturnedRow, StartRow, decode_digest, decode_optional_uuid,
    decode_uuid,
};
use crate::{Corrupt, Incarnation, SessionUid};

const CORRUPT: Corrupt = Corrupt { what: "invocation" };

/// A start, resume or takeover that a client asks for, frozen in content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Whose it is: attempts of different accounts have nothing to do with each other (A1).
    pub account: String,
    /// Names it.
    pub id: Uuid,
    /// Digest of the whole decoded descriptor (14.1).
    pub digest: [u8; 32],
}

/// An attempt that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// The session of the invocation.
    pub session: SessionUid,
    /// The invocation.
    pub invocation: InvocationId,
    /// Digest of the descriptor.
    pub digest: [u8; 32],
    /// Whether it started the invocation.
    pub start: bool,
    /// The attachment that it made.
    pub attachment: Uuid,
}

/// What an invocation is started with, kept as it is. Values are texts in normal form, in which the client's provisional
/// references stand literally.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InvocationStart {
    /// Part of the name of the instance, as are the next four.
    pub application: String,
    /// See `application`.
    pub environment: String,
    /// See `application`.
    pub agent_type: String,
    /// See `application`.
    pub constructor_parameters: String,
    /// See `application`.
    pub phantom_id: Option<Uuid>,
    /// The method.
    pub method: String,
    /// Names the invocation for its instance.
    pub idempotency_key: String,
    /// The arguments.
    pub method_parameters: String,
    /// The client's settings: paths and JSON values.
    pub configuration: Vec<(Vec<String>, String)>,
    /// Schema graph of the parameters, as JSON.
    pub parameters_schema: String,
    /// Schema graph of the result, as JSON; empty if there is none.
    pub result_schema: String,
    /// Account binding of tokens.
    pub account: String,
    /// Principal binding of tokens.
    pub principal: String,
    /// Unix seconds.
    pub issued_at: u64,
    /// The key that tokens of streams are signed with.
    pub stream_key_id: String,
    /// The component that the agent is of.
    pub component: Uuid,
    /// Its revision.
    pub revision: u64,
}

/// An invocation as of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// Its id.
    pub id: InvocationId,
    /// The session that is its instance.
    pub session: SessionUid,
    /// Drawn when the instance was made.
    pub incarnation: Uuid,
    /// Canonical text of the instance.
    pub agent_id: String,
    /// The attempt that started it.
    pub attempt: Uuid,
    /// What it was started with.
    pub start: InvocationStart,
    /// Who may drive it.
    pub attachment: Attachment,
    /// What the method returned, if it has.
    pub returned: Option<Returned>,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
}

/// What changes of an invocation, as of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Who may drive it.
    pub attachment: Attachment,
    /// Whether the method has returned.
    pub returned: bool,
    /// How it ended, if it did.
    pub outcome: Option<Outcome>,
    /// How far its streams are, in the order of their ids.
    pub streams: Vec<StreamProgress>,
}

/// The durable right of one connection to drive an invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Another one for each attach.
    pub id: Uuid,
    /// How many attaches there were, the start included.
    pub generation: u64,
    /// The node and its connection; `None` if detached.
    pub holder: Option<(Incarnation, Holder)>,
}

/// What a method returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// A value in normal form, in which a stream is named by its [`StreamId`]; `None` if the method has no output type.
    pub value: Option<String>,
    /// Its streams, in document order.
    pub streams: Vec<StreamId>,
}

/// How an invocation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Success,
    /// It failed.
    Failure {
        /// One of the protocol's error codes.
        code: String,
        /// In words.
        message: String,
    },
}

/// The right of a connection to write inputs, for as long as nobody else attaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(super) session: SessionUid,
    pub(super) invocation: InvocationId,
    pub(super) holder: Holder,
}

impl Lease {
    /// The session.
    #[must_use]
    pub fn session(&self) -> &SessionUid {
        &self.session
    }

    /// The invocation.
    #[must_use]
    pub fn invocation(&self) -> InvocationId {
        self.invocation
    }

    /// The connection.
    #[must_use]
    pub fn holder(&self) -> Holder {
        self.holder
    }
}

impl AttemptRecord {
    pub(super) fn to_row(&self) -> AttemptRow {
        AttemptRow {
            session: self.session.as_str().to_owned(),
            invocation: self.invocation.as_uuid().into_bytes().to_vec(),
            digest: self.digest.to_vec(),
            start: self.start,
            attachment: self.attachment.into_bytes().to_vec(),
        }
    }

    pub(super) fn read(row: &AttemptRow) -> Result<Self, Corrupt> {
        const CORRUPT: Corrupt = Corrupt { what: "attempt" };
        Ok(Self {
            session: SessionUid::parse(&row.session).map_err(|_| CORRUPT)?,
            invocation: InvocationId::new(decode_uuid(CORRUPT.what, &row.invocation)?),
            digest: decode_digest(CORRUPT.what, &row.digest)?,
            start: row.start,
            attachment: decode_uuid(CORRUPT.what, &row.attachment)?,
        })
    }
}

impl InvocationStart {
    pub(super) fn to_row(&self, agent_id: &str, attempt: Uuid) -> StartRow {
        let start = self.clone();
        StartRow {
            application: start.application,
            environment: start.environment,
            agent_type: start.agent_type,
            method: start.method,
            constructor_parameters: start.constructor_parameters,
            phantom_id: start.phantom_id.map_or_else(Vec::new, |id| id.into_bytes().to_vec()),
            idempotency_key: start.idempotency_key,
            method_parameters: start.method_parameters,
            configuration: start.configuration.into_iter().map(|(path, value)| EntryRow { path, value }).collect(),
            parameters_schema: start.parameters_schema,
            result_schema: start.result_schema,
            account: start.account,
            principal: start.principal,
            issued_at: start.issued_at,
            stream_key_id: start.stream_key_id,
            component: start.component.into_bytes().to_vec(),
            revision: start.revision,
            agent_id: agent_id.to_owned(),
            attempt: attempt.into_bytes().to_vec(),
        }
    }

    pub(super) fn read(row: StartRow) -> Result<Self, Corrupt> {
        Ok(Self {
            application: row.application,
            environment: row.environment,
            agent_type: row.agent_type,
            constructor_parameters: row.constructor_parameters,
            phantom_id: decode_optional_uuid(CORRUPT.what, &row.phantom_id)?,
            method: row.method,
            idempotency_key: row.idempotency_key,
            method_parameters: row.method_parameters,
            configuration: row.configuration.into_iter().map(|entry| (entry.path, entry.value)).collect(),
            parameters_schema: row.parameters_schema,
            result_schema: row.result_schema,
            account: row.account,
            principal: row.principal,
            issued_at: row.issued_at,
            stream_key_id: row.stream_key_id,
            component: decode_uuid(CORRUPT.what, &row.component)?,
            revision: row.revision,
        })
    }
}

impl Attachment {
    pub(super) fn read(row: &AttachmentRow) -> Result<Self, Corrupt> {
        let holder = Incarnation::from_number(row.node).map(|node| (node, Holder::stored(row.holder)));
        Ok(Self { id: decode_uuid("attachment", &row.id)?, generation: row.generation, holder })
    }

    /// Writes itself over what is stored.
    pub(super) fn put_into(&self, row: &mut AttachmentRow) {
        row.id = self.id.into_bytes().to_vec();
        row.generation = self.generation;
        row.node = self.holder.map_or(0, |(node, _)| node.number());
        row.holder = self.holder.map_or(0, |(_, holder)| holder.number());
    }
}

impl Returned {
    pub(super) fn read(invocation: InvocationId, row: ReturnedRow, value: Option<String>) -> Self {
        let stream = |index| StreamId::output(invocation, &Owner::Result, index);
        Self { value, streams: (0..row.streams as usize).map(stream).collect() }
    }
}

impl Outcome {
    pub(super) fn to_row(&self) -> OutcomeRow {
        match self.clone() {
            Self::Success => OutcomeRow::default(),
            Self::Failure { code, message } => OutcomeRow { code, message },
        }
    }

    pub(super) fn read(OutcomeRow { code, message }: OutcomeRow) -> Self {
        if code.is_empty() { Self::Success } else { Self::Failure { code, message } }
    }
}
