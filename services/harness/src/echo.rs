//! The harness that says what it was told.

use sdk::{Failure, Harness, Sink, Turn, async_trait};
use wire::{HarnessDescriptor, Message, ModelCall};

use crate::describe;

/// Sends the text of the last input to the model `echo`, and does nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

impl Echo {
    /// Its registry name, descriptor id and model.
    pub const NAME: &'static str = "echo";
}

#[async_trait]
impl Harness for Echo {
    fn describe(&self) -> HarnessDescriptor {
        describe::stateless(Self::NAME, Self::NAME)
    }

    async fn run(&self, turn: Turn, sink: &mut Sink) -> Result<(), Failure> {
        let text = turn.inputs().last().map(Message::text_content).unwrap_or_default();
        let call =
            ModelCall { model: Self::NAME.into(), messages: vec![Message::text("user", text)], ..ModelCall::default() };
        sink.model(call).await?;
        Ok(())
    }
}
