//! What agents are called: the text of an instance, and what tokens say of an agent (tokens.md, fields 18 and 20).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use stream_session::json::Writer;
use stream_session::{ErrorCode, Refusal};
use uuid::Uuid;

/// What the text of an identity begins with.
const PREFIX: &str = "v1.";
/// The only version of its content.
const VERSION: u8 = 1;

/// What names an agent instance (A2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance<'i> {
    pub(super) application: &'i str,
    pub(super) environment: &'i str,
    pub(super) agent_type: &'i str,
    /// In normal form.
    pub(super) constructor_parameters: &'i str,
    pub(super) phantom: Option<Uuid>,
}

impl Instance<'_> {
    /// The same for two instances exactly if they are one.
    pub(super) fn digest(&self) -> [u8; 32] {
        let mut to = Writer::default();
        to.open('{');
        to.text_member("agentType", self.agent_type);
        to.text_member("application", self.application);
        to.name("constructorParameters");
        to.raw(self.constructor_parameters);
        to.text_member("environment", self.environment);
        if let Some(phantom) = self.phantom {
            to.text_member("phantomId", &phantom.to_string());
        }
        to.close('}');
        Sha256::digest(to.finish()).into()
    }
}

/// What a token says of the agent that a session is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AgentIdentity {
    pub(super) component: Uuid,
    pub(super) revision: u64,
    pub(super) agent_type: String,
    /// The uid of the session that is the instance.
    pub(super) agent_id: String,
    pub(super) method: String,
}

impl AgentIdentity {
    pub(super) fn encode(&self) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(self.component.as_bytes());
        bytes.extend_from_slice(&self.revision.to_be_bytes());
        for text in [&self.agent_type, &self.agent_id, &self.method] {
            bytes.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// # Errors
    /// `token-invalid`.
    pub(super) fn decode(text: &str) -> Result<Self, Refusal> {
        let invalid = || Refusal::new(ErrorCode::TokenInvalid, "the token is not valid here");
        let bytes = text.strip_prefix(PREFIX).and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        bytes.as_deref().and_then(read).ok_or_else(invalid)
    }
}

fn read(bytes: &[u8]) -> Option<AgentIdentity> {
    let (&[VERSION], rest) = bytes.split_first_chunk()? else { return None };
    let (component, rest) = rest.split_first_chunk()?;
    let (revision, rest) = rest.split_first_chunk()?;
    let (agent_type, rest) = text(rest)?;
    let (agent_id, rest) = text(rest)?;
    let (method, rest) = text(rest)?;
    rest.is_empty().then(|| AgentIdentity {
        component: Uuid::from_bytes(*component),
        revision: u64::from_be_bytes(*revision),
        agent_type,
        agent_id,
        method,
    })
}

fn text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    Some((str::from_utf8(text).ok()?.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> AgentIdentity {
        AgentIdentity {
            component: Uuid::from_u128(7),
            revision: 3,
            agent_type: "probe".into(),
            agent_id: "sess-1".into(),
            method: "echo".into(),
        }
    }

    #[test]
    fn an_identity_is_read_as_it_was_written() {
        let text = identity().encode();
        assert_eq!(AgentIdentity::decode(&text), Ok(identity()));
    }

    #[test]
    fn nothing_else_is_an_identity() {
        let text = identity().encode();
        let bytes = URL_SAFE_NO_PAD.decode(&text[3..]).unwrap();
        let mut bad: Vec<String> = (0..bytes.len()).map(|length| URL_SAFE_NO_PAD.encode(&bytes[..length])).collect();
        bad.push(URL_SAFE_NO_PAD.encode([&bytes[..], &[0]].concat()));
        bad.push(URL_SAFE_NO_PAD.encode([&[2], &bytes[1..]].concat()));
        for bad in bad.into_iter().map(|bad| format!("v1.{bad}")).chain([text[3..].to_owned()]) {
            assert_eq!(AgentIdentity::decode(&bad).unwrap_err().code, ErrorCode::TokenInvalid, "{bad}");
        }
    }

    #[test]
    fn instances_differ_in_each_of_their_five_parts() {
        let one = Instance {
            application: "a",
            environment: "b",
            agent_type: "c",
            constructor_parameters: "{}",
            phantom: None,
        };
        let others = [
            Instance { application: "x", ..one },
            Instance { environment: "x", ..one },
            Instance { agent_type: "x", ..one },
            Instance { constructor_parameters: "[]", ..one },
            Instance { phantom: Some(Uuid::from_u128(1)), ..one },
        ];
        for other in others {
            assert_ne!(other.digest(), one.digest(), "{other:?}");
        }
        assert_eq!(one.digest(), one.digest());
    }
}
