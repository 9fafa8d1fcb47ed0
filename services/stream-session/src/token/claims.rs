//! What the three kinds of tokens say (tokens.md section 2).

use uuid::Uuid;

use super::fields::{Fields, Payload};
use super::invalid;
use crate::Refusal;

/// What one kind of token says. Only the kinds of this module exist.
#[allow(private_bounds, reason = "sealed: the fields are this module's own business")]
pub trait Claims: Coded {}

pub(super) trait Coded: Sized {
    /// The kind byte.
    const KIND: u8;
    /// The kind word in what is signed.
    const WORD: &'static str;

    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal>;
    fn write(&self, payload: &mut Payload);
}

/// The right to attach to a session, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionClaims {
    /// The application.
    pub application: String,
    /// The environment.
    pub environment: String,
    /// Stands for agent type, agent and method.
    pub agent: String,
    /// The key with which the session was started.
    pub idempotency_key: String,
    /// The session.
    pub invocation: Uuid,
    /// The attachment that this token was given to.
    pub attachment: Uuid,
    /// The generation that the next attach must find (T4).
    pub generation: u64,
    /// The run of the agent.
    pub incarnation: Uuid,
    /// The key that signs the session's stream tokens; absent in tokens older than the field.
    pub stream_key: Option<String>,
}

/// Which way a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// From the client to the agent.
    Input,
    /// From the agent to the client.
    Output,
}

/// Names a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamClaims {
    /// The session that it belongs to.
    pub invocation: Uuid,
    /// The stream.
    pub stream: Uuid,
    /// Who produces it.
    pub producer: String,
    /// The run of the producer.
    pub producer_incarnation: Uuid,
    /// The revision of the agent's component.
    pub revision: u64,
    /// The fingerprint of its element type.
    pub element: [u8; 32],
    /// Which way it goes.
    pub role: Role,
    /// Its place in the session.
    pub mapping: Uuid,
}

/// A position in the history of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorClaims {
    /// The session.
    pub invocation: Uuid,
    /// The output.
    pub stream: Uuid,
    /// What was observed last; never empty.
    pub position: Vec<u8>,
}

impl Claims for SessionClaims {}
impl Claims for StreamClaims {}
impl Claims for CursorClaims {}

impl Coded for SessionClaims {
    const KIND: u8 = 1;
    const WORD: &'static str = "session";

    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            application: fields.text(16)?,
            environment: fields.text(17)?,
            agent: fields.text(18)?,
            idempotency_key: fields.text(19)?,
            invocation: fields.uuid(20)?,
            attachment: fields.uuid(21)?,
            generation: fields.number(22)?,
            incarnation: fields.uuid(23)?,
            stream_key: fields.text_if_any(24)?,
        })
    }

    fn write(&self, payload: &mut Payload) {
        payload.text(16, &self.application);
        payload.text(17, &self.environment);
        payload.text(18, &self.agent);
        payload.text(19, &self.idempotency_key);
        payload.uuid(20, self.invocation);
        payload.uuid(21, self.attachment);
        payload.number(22, self.generation);
        payload.uuid(23, self.incarnation);
        if let Some(key) = &self.stream_key {
            payload.text(24, key);
        }
    }
}

impl Coded for StreamClaims {
    const KIND: u8 = 2;
    const WORD: &'static str = "stream";

    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            invocation: fields.uuid(32)?,
            stream: fields.uuid(33)?,
            producer: fields.text(34)?,
            producer_incarnation: fields.uuid(35)?,
            revision: fields.number(36)?,
            element: fields.array(37)?,
            role: match fields.array(38)? {
                [1] => Role::Input,
                [2] => Role::Output,
                _ => return Err(invalid()),
            },
            mapping: fields.uuid(39)?,
        })
    }

    fn write(&self, payload: &mut Payload) {
        payload.uuid(32, self.invocation);
        payload.uuid(33, self.stream);
        payload.text(34, &self.producer);
        payload.uuid(35, self.producer_incarnation);
        payload.number(36, self.revision);
        payload.bytes(37, &self.element);
        payload.bytes(38, &[self.role.byte()]);
        payload.uuid(39, self.mapping);
    }
}

impl Coded for CursorClaims {
    const KIND: u8 = 3;
    const WORD: &'static str = "cursor";

    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self { invocation: fields.uuid(48)?, stream: fields.uuid(49)?, position: fields.bytes(50)?.to_vec() })
    }

    fn write(&self, payload: &mut Payload) {
        payload.uuid(48, self.invocation);
        payload.uuid(49, self.stream);
        payload.bytes(50, &self.position);
    }
}

impl Role {
    /// As mappings write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    /// Reads what mappings write.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Input, Self::Output].into_iter().find(|role| role.as_str() == text)
    }

    /// As tokens write it.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Input => 1,
            Self::Output => 2,
        }
    }
}
