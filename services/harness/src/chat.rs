//! The harness that holds a conversation.

use sdk::{Failure, Harness, Sink, Turn, async_trait};
use serde_json::{Map, Value};
use wire::event::Body;
use wire::{Event, EventKind, HarnessDescriptor, Message, ModelCall};

use crate::describe;

/// Sends the conversation so far and the inputs to a model. The configuration of a turn may hold a `system_prompt`.
#[derive(Clone, Debug)]
pub struct Chat {
    model: String,
}

impl Chat {
    /// Its registry name and descriptor id.
    pub const NAME: &'static str = "chat";

    /// A chat with `model`.
    #[must_use]
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into() }
    }
}

#[async_trait]
impl Harness for Chat {
    fn describe(&self) -> HarnessDescriptor {
        describe::stateless(Self::NAME, &self.model)
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let prompt = system_prompt(turn.config())?;
        let messages = prompt.into_iter().chain(conversation(turn.history())).chain(turn.inputs().iter().cloned());
        let call = ModelCall { model: self.model.clone(), messages: messages.collect(), ..ModelCall::default() };
        sink.model(call).await?;
        Ok(())
    }
}

/// What was said in earlier turns.
fn conversation(history: &[Event]) -> impl Iterator<Item = Message> {
    history.iter().filter_map(|event| match (event.kind(), &event.body) {
        (EventKind::EventInput | EventKind::EventOutput, Some(Body::Message(message))) => Some(message.clone()),
        _ => None,
    })
}

/// Why a configuration is refused. The texts are part of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum InvalidConfig {
    #[error("chatagent: config must be a JSON object")]
    NotAnObject,
    #[error("chatagent: system_prompt must be a string")]
    PromptNotAString,
}

fn system_prompt(config: &[u8]) -> Result<Option<Message>, InvalidConfig> {
    if config.is_empty() {
        return Ok(None);
    }
    let mut members: Map<String, Value> = serde_json::from_slice(config).map_err(|_| InvalidConfig::NotAnObject)?;
    match members.remove("system_prompt") {
        None => Ok(None),
        Some(Value::String(prompt)) if prompt.is_empty() => Ok(None),
        Some(Value::String(prompt)) => Ok(Some(Message::text("system", prompt))),
        Some(_) => Err(InvalidConfig::PromptNotAString),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_is_nothing_or_an_object_with_a_prompt() {
        let prompt = |text| Ok(Some(Message::text("system", text)));
        let cases = [
            ("", Ok(None)),
            ("{}", Ok(None)),
            (r#"{"other":1}"#, Ok(None)),
            (r#"{"system_prompt":""}"#, Ok(None)),
            (r#"{"system_prompt":"be brief"}"#, prompt("be brief")),
            ("[]", Err(InvalidConfig::NotAnObject)),
            ("null", Err(InvalidConfig::NotAnObject)),
            (r#"{} {}"#, Err(InvalidConfig::NotAnObject)),
            ("nonsense", Err(InvalidConfig::NotAnObject)),
            (r#"{"system_prompt":1}"#, Err(InvalidConfig::PromptNotAString)),
            (r#"{"system_prompt":null}"#, Err(InvalidConfig::PromptNotAString)),
        ];
        for (config, expected) in cases {
            assert_eq!(system_prompt(config.as_bytes()), expected, "{config}");
        }
    }
}
