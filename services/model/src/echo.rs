//! The built-in echo model.

use async_trait::async_trait;
use controller::ports::{Completion, DeltaSink, ModelError, ModelProvider};
use wire::{Message, ModelCall};

use crate::ECHO;

/// Says the text of the last message again, after `echo:`. It answers no other model: a harness that asks for a real one
/// must not take an echo for its answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo;

#[async_trait]
impl ModelProvider for Echo {
    async fn complete(&self, call: &ModelCall, _deltas: &mut dyn DeltaSink) -> Result<Completion, ModelError> {
        if !matches!(call.model.as_str(), "" | ECHO) {
            return Err(ModelError("echo: only model echo is served here; configure a model provider".into()));
        }
        let said = call.messages.last().map(Message::text_content).unwrap_or_default();
        Ok(Completion { message: Message::text("assistant", format!("echo:{said}")), streamed: false })
    }
}
