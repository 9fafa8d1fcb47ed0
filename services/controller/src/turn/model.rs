//! Model requests (execution.md §5.1).

use std::collections::VecDeque;

use wire::event::Body;
use wire::{EventKind, Message, ModelCall, ModelResult};

use super::matching::mismatch;
use super::{Action, Asked, Effect, State, Step, Then, Turn, TurnFailure};
use crate::ports::HostFrame;

impl Turn {
    /// The harness asks for a completion.
    pub(super) fn model(&mut self, call: ModelCall, fresh_id: String) -> Step {
        let input_hash =
            wire::input_hash(&call).map_err(|invalid| TurnFailure::InvalidModelCall(invalid.to_string()))?;
        match self.next(Asked::Model)? {
            None => {
                // The request itself is not recorded, only its hash.
                let model = call.model.clone();
                let record = ModelCall { model, input_hash, id: fresh_id, ..ModelCall::default() };
                let event = self.record(EventKind::EventModelCall, Body::Model(record));
                Ok(self.append(vec![event], Then::CallModel(call)))
            }
            Some(Effect::ModelCall { input_hash: recorded }) if recorded == input_hash => self.recorded_call(call),
            Some(other) => Err(mismatch(Asked::Model, matches!(other, Effect::ModelCall { .. }))),
        }
    }

    /// Serves the completion of a recorded request.
    fn recorded_call(&mut self, call: ModelCall) -> Step {
        if self.was_cut_here() && !self.is_legacy() {
            return Ok(self.call_model(call));
        }
        match self.recorded.pop_front() {
            Some(Effect::Output(message)) => Ok(self.send(reply(message, call.id))),
            _ => Err(TurnFailure::CompletionMissing),
        }
    }

    pub(super) fn call_model(&mut self, call: ModelCall) -> Action {
        self.state = State::Completing { model_call_id: call.id.clone() };
        Action::CallModel(call)
    }

    /// The provider has answered.
    pub(super) fn completed(&mut self, message: Message, model_call_id: String) -> Action {
        let output = self.record(EventKind::EventOutput, Body::Message(message));
        let reply = match &output.body {
            Some(Body::Message(message)) => reply(message.clone(), model_call_id),
            _ => VecDeque::new(),
        };
        self.append(vec![output], Then::Reply(reply))
    }
}

fn reply(message: Message, model_call_id: String) -> VecDeque<HostFrame> {
    [HostFrame::Model(ModelResult { message: Some(message), usage: None, model_call_id })].into()
}
