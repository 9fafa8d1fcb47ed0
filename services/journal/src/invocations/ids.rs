//! What invocations, streams and connections are told apart by.

use std::fmt;

use env::Env;
use uuid::Uuid;

use super::Owner;

macro_rules! uuid_id {
    ($name:ident) => {
        impl $name {
            /// An id that was made before.
            #[must_use]
            pub fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID.
            #[must_use]
            pub fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

/// The id of an invocation: follows from its instance and its idempotency key (tokens.md, field 20).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvocationId(Uuid);

/// The id of a stream: follows from its invocation and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(Uuid);

uuid_id!(InvocationId);
uuid_id!(StreamId);

impl InvocationId {
    /// That of the invocation which `key` names for the instance `agent_id`, made as `incarnation`.
    pub(crate) fn derive(agent_id: &str, key: &str, incarnation: Uuid) -> Self {
        let name = format!("{agent_id}\0{key}\0{incarnation}");
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()))
    }
}

impl StreamId {
    /// The input that the client of an invocation calls `provisional`.
    #[must_use]
    pub fn input(invocation: InvocationId, provisional: Uuid) -> Self {
        Self(Uuid::new_v5(&invocation.0, format!("input\0{provisional}").as_bytes()))
    }

    /// The output at a place, from 0, among the streams of the value that is its owner, in document order.
    #[must_use]
    pub fn output(invocation: InvocationId, owner: &Owner, index: usize) -> Self {
        Self(Uuid::new_v5(&invocation.0, format!("output\0{owner}\0{index}").as_bytes()))
    }
}

/// A connection that holds an attachment, or may come to: a random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder(u64);

impl Holder {
    /// Draws one.
    #[must_use]
    pub fn mint(env: &Env) -> Self {
        Self(env.random_u64())
    }

    pub(super) fn stored(number: u64) -> Self {
        Self(number)
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_what_they_name_and_tell_everything_else_apart() {
        let incarnation = Uuid::from_u128(1);
        let id = InvocationId::derive("agent", "key", incarnation);
        assert_eq!(id, InvocationId::derive("agent", "key", incarnation));
        assert_ne!(id, InvocationId::derive("agent", "other", incarnation));
        assert_ne!(id, InvocationId::derive("other", "key", incarnation));
        assert_ne!(id, InvocationId::derive("agent", "key", Uuid::from_u128(2)));
        let name = ["agent", "key", "00000000-0000-0000-0000-000000000001"].join("\0");
        assert_eq!(id.as_uuid(), Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()));

        let input = StreamId::input(id, Uuid::from_u128(3));
        assert_ne!(input, StreamId::input(id, Uuid::from_u128(4)));
        let outputs = [
            StreamId::output(id, &Owner::Result, 0),
            StreamId::output(id, &Owner::Result, 1),
            StreamId::output(id, &Owner::Item(input, 0), 0),
            StreamId::output(id, &Owner::Item(input, 1), 0),
        ];
        for (place, output) in outputs.iter().enumerate() {
            assert!(!outputs[..place].contains(output) && *output != input);
        }
    }
}
