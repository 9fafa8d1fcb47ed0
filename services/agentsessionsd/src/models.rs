//! What completes model requests, until the provider crate takes over.

use async_trait::async_trait;
use controller::ports::{Completion, DeltaSink, ModelError, ModelProvider};
use wire::{Message, ModelCall};

/// Says the text of the last message again, after `echo:`.
pub(crate) struct Echo;

#[async_trait]
impl ModelProvider for Echo {
    async fn complete(&self, call: &ModelCall, _deltas: &mut dyn DeltaSink) -> Result<Completion, ModelError> {
        let said = call.messages.last().map(Message::text_content).unwrap_or_default();
        Ok(Completion { message: Message::text("assistant", format!("echo:{said}")), streamed: false })
    }
}
