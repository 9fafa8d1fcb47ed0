//! The world beyond a node: its models and its tools. Both can be slow, and fail before or after the effect.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use controller::ports::{Completion, DeltaSink, ModelError, ModelProvider, ToolError, ToolExecutor};
use journal::SessionUid;
use wire::{Message, ModelCall, ToolCall, ToolResult};

use crate::dice::Dice;
use crate::life::Life;
use crate::weather::Weather;
use crate::witness::Witness;

/// Longest time on the way to a model or a tool, and back.
const LONGEST_WAY: Duration = Duration::from_millis(300);

/// The outside as one run of a node reaches it.
#[derive(Clone)]
pub struct Outside {
    pub life: Life,
    pub dice: Dice,
    pub weather: Weather,
    pub witness: Arc<Witness>,
}

impl Outside {
    /// The way there or back; an error if what was on its way is lost.
    async fn travel(&self) -> Result<(), String> {
        tokio::time::sleep(self.dice.up_to(LONGEST_WAY)).await;
        self.life.awake().await;
        if self.weather.strikes(&self.dice) { Err("out of order".to_owned()) } else { Ok(()) }
    }
}

#[async_trait]
impl ModelProvider for Outside {
    async fn complete(&self, call: &ModelCall, deltas: &mut dyn DeltaSink) -> Result<Completion, ModelError> {
        self.travel().await.map_err(ModelError)?;
        let request = call.messages.first().map(Message::text_content).unwrap_or_default();
        let asked = self.witness.model_called(&request);
        self.travel().await.map_err(ModelError)?;
        let answer = format!("answer {asked} to {request}");
        let streamed = self.dice.chance(0.3);
        if streamed {
            deltas.text(answer.clone()).await;
        }
        Ok(Completion { message: Message::text("assistant", answer), streamed })
    }
}

#[async_trait]
impl ToolExecutor for Outside {
    async fn execute(&self, session: &SessionUid, call: &ToolCall) -> Result<ToolResult, ToolError> {
        self.travel().await.map_err(ToolError::Failed)?;
        self.witness.tool_called(session, &call.idempotency_key);
        self.travel().await.map_err(ToolError::Failed)?;
        Ok(ToolResult { error: format!("done {}", call.idempotency_key), ..ToolResult::default() })
    }
}
