//! Mappings (protocol.md section 3, M1).

use std::collections::HashSet;

use super::decode::{check_channel, check_token, decimal, uuid, word};
use super::{Mapping, Way};
use crate::json::members::{boolean, integer, many, object, optional, required, string};
use crate::json::{Json, Members, Writer};
use crate::token::Role;
use crate::{ErrorCode, Refusal, limits};

/// A mapping as it stands in the message: what belongs to the other direction is not yet refused.
struct Read {
    mapping: Mapping,
    conflict: bool,
}

/// Mappings that have been read and not yet been checked.
pub(super) struct Unchecked(Vec<Read>);

/// Step 7.
pub(super) fn read(members: &Members<'_>) -> Result<Unchecked, Refusal> {
    many(members, "mappings", one).map(Unchecked)
}

fn one(json: &Json<'_>) -> Result<Read, Refusal> {
    let members = object(json)?;
    members.expect(&["channel", "direction", "streamToken"], &["provisionalRef", "inputHighWater"])?;
    let role = required(members, "direction", word(Role::parse))?;
    let provisional = optional(members, "provisionalRef", uuid)?;
    let high_water = optional(members, "inputHighWater", high_water)?;
    let conflict = match role {
        Role::Input => high_water.is_none(),
        Role::Output => high_water.is_some() || provisional.is_some(),
    };
    let (high_water, terminal) = high_water.unwrap_or_default();
    let way = match role {
        Role::Input => Way::Input { provisional, high_water, terminal },
        Role::Output => Way::Output,
    };
    let channel = required(members, "channel", integer)?;
    let stream_token = required(members, "streamToken", string)?;
    Ok(Read { mapping: Mapping { channel, stream_token, way }, conflict })
}

fn high_water(json: &Json<'_>) -> Result<(u64, bool), Refusal> {
    let members = object(json)?;
    members.expect(&["sequence", "terminal"], &[])?;
    Ok((required(members, "sequence", decimal)?, required(members, "terminal", boolean)?))
}

impl Unchecked {
    /// Steps 12 and 13.
    pub(super) fn check(self) -> Result<Vec<Mapping>, Refusal> {
        if self.0.len() > limits::MAPPINGS {
            return Err(Refusal::exhausted("a message has too many mappings"));
        }
        let (mut channels, mut tokens, mut references) = (HashSet::new(), HashSet::new(), HashSet::new());
        for Read { mapping, conflict } in &self.0 {
            if !channels.insert(mapping.channel) {
                return Err(Refusal::new(ErrorCode::InvalidChannel, "a channel is mapped twice"));
            }
            check_token(&mapping.stream_token)?;
            let reference = match mapping.way {
                Way::Input { provisional, .. } => provisional,
                Way::Output => None,
            };
            let distinct =
                tokens.insert(&mapping.stream_token) && reference.is_none_or(|reference| references.insert(reference));
            if *conflict || !distinct {
                return Err(Refusal::new(ErrorCode::StreamConflict, "mappings contradict each other"));
            }
        }
        self.0.iter().try_for_each(|read| check_channel(read.mapping.channel))?;
        Ok(self.0.into_iter().map(|read| read.mapping).collect())
    }
}

/// Writes the member `mappings`.
pub(super) fn write(to: &mut Writer, mappings: &[Mapping]) {
    to.name("mappings");
    to.array(mappings, |to, mapping| {
        to.open('{');
        to.number_member("channel", mapping.channel);
        to.text_member("direction", mapping.role().as_str());
        if let Way::Input { provisional, high_water, terminal } = &mapping.way {
            to.name("inputHighWater");
            to.open('{');
            to.text_member("sequence", &high_water.to_string());
            to.bool_member("terminal", *terminal);
            to.close('}');
            if let Some(provisional) = provisional {
                to.text_member("provisionalRef", &provisional.to_string());
            }
        }
        to.text_member("streamToken", &mapping.stream_token);
        to.close('}');
    });
}
