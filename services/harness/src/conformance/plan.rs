//! What the suite tells the harness.

use std::time::Duration;

use wire::Message;

/// The turn that is held again and again, and how the host behaves in it. Choose one in which the harness asks for a model,
/// a tool and an approved tool, if it ever does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Inputs of the turn.
    pub inputs: Vec<Message>,
    /// Configuration of the turn.
    pub config: Vec<u8>,
    /// Answers to the model requests of a turn, in order; the last one answers all that follow.
    pub answers: Vec<Message>,
    /// How long the harness may take to say the next thing.
    pub patience: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            inputs: vec![Message::text("user", "hello")],
            config: Vec::new(),
            answers: Vec::new(),
            patience: Duration::from_secs(10),
        }
    }
}

impl Plan {
    /// The answer to the n-th model request of a turn, counted from 0.
    pub(super) fn answer(&self, n: usize) -> Message {
        let planned = self.answers.get(n).or(self.answers.last());
        planned.cloned().unwrap_or_else(|| Message::text("assistant", "understood"))
    }
}
