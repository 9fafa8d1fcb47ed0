//! The agent type of a harness that describes none: its method takes messages and streams what the turn says. The harness
//! knows nothing of it: it runs a plain turn, which the host translates.

mod channel;
mod connection;
mod conversation;
#[cfg(test)]
mod tests;

use wire::HarnessDescriptor;

use crate::ports::HarnessChannel;
use channel::Channel;

/// Name of the only method.
const METHOD: &str = "turn";
/// Nothing tells instances of a plain harness apart but the phantom id.
const CONSTRUCTOR: &str = r#"{"root":{"kind":"record","value":{"fields":[]}}}"#;
/// What the user says.
const PARAMETERS: &str = r#"{"root":{"kind":"record","value":{"fields":[{"body":{"kind":"list","value":{"element":{"kind":"string","value":{}}}},"name":"messages"}]}}}"#;
/// One item for each OUTPUT.
const RESULT: &str = r#"{"root":{"kind":"stream","value":{"inner":{"kind":"string","value":{}}}}}"#;

/// The agent type, called as the harness is.
pub(super) fn described(harness: &str) -> wire::AgentType {
    let turn = wire::AgentMethod {
        name: METHOD.to_owned(),
        description: "Runs a turn on the messages and streams each output of it.".to_owned(),
        parameters_schema: PARAMETERS.to_owned(),
        result_schema: RESULT.to_owned(),
    };
    wire::AgentType {
        name: harness.to_owned(),
        description: String::new(),
        constructor_schema: CONSTRUCTOR.to_owned(),
        methods: vec![turn],
    }
}

/// A channel to the harness that described itself so, over which it can be given whatever it offers.
pub(crate) fn translated(descriptor: &HarnessDescriptor, channel: Box<dyn HarnessChannel>) -> Box<dyn HarnessChannel> {
    if descriptor.agent_types.is_empty() { Box::new(Channel::new(channel)) } else { channel }
}
