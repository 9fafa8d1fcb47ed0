//! Going on from what an earlier process has left (checkpoint.md section 4).

use stream_session::checkpoint::Checkpoint;
use stream_session::client::{Action, Client, Resumption, Start};
use stream_session::message::{self, Attach, ClientMessage, Node, Operation};
use stream_session::value::StreamPolicy;
use uuid::Uuid;

use super::{Call, ResumeError, call};

/// The client that goes on with `left`, and what it does first. `attempt` is fresh. The call must be the one that the
/// checkpoint was written for; its own stream references count for nothing.
pub(super) fn resume(
    call: &Call,
    left: &Checkpoint,
    operation: Operation,
    attempt: Uuid,
) -> Result<(Client, Vec<Action>), ResumeError> {
    check_same(call, left)?;
    let pending = left.pending.as_ref().map(|text| ClientMessage::decode(text.as_bytes()));
    match pending.transpose().map_err(|undecodable| undecodable.refusal)? {
        Some(ClientMessage::Start(start)) => match operation {
            Operation::Resume => Ok(Client::start(start_again(call, left, &start)?)),
            Operation::Takeover => Err(ResumeError::NoSession),
        },
        Some(ClientMessage::Attach(attach)) => attach_again(call, left, operation, &attach).map(Client::attach),
        Some(_) => Err(ResumeError::Contradictory),
        None => resumption(call, left, operation, attempt).map(Client::attach),
    }
}

/// L1
fn check_same(call: &Call, left: &Checkpoint) -> Result<(), ResumeError> {
    let same = [
        ("selector", call.selector() == left.selector),
        ("schema", call.method.evidence() == left.schema_evidence),
        ("idempotency key", call.idempotency_key == left.idempotency_key),
    ];
    match same.into_iter().find(|(_, same)| !same) {
        Some((what, _)) => Err(ResumeError::Other(what)),
        None => Ok(()),
    }
}

/// The start that was not answered, with its own references.
fn start_again(call: &Call, left: &Checkpoint, start: &message::Start<'_>) -> Result<Start, ResumeError> {
    let Node::Json(parameters) = &start.method_parameters else { return Err(ResumeError::Contradictory) };
    let inputs = call::inputs(&call.method.parameters, parameters, StreamPolicy::Provisional)?;
    let Start { inputs: own, text, .. } = call.start(start.attempt)?;
    let same_streams = own.len() == inputs.len();
    // References are random: nothing else in the text is spelt like them.
    let text = own
        .iter()
        .zip(&inputs)
        .fold(text, |text, ((own, _), (stored, _))| text.replace(&own.to_string(), &stored.to_string()));
    if !same_streams || left.pending.as_ref() != Some(&text) {
        return Err(ResumeError::Other("call"));
    }
    Ok(Start { attempt: start.attempt, idempotency_key: left.idempotency_key.clone(), text, inputs, in_doubt: true })
}

/// The attach that was not answered: the very message again.
fn attach_again(
    call: &Call,
    left: &Checkpoint,
    operation: Operation,
    attach: &Attach,
) -> Result<Resumption, ResumeError> {
    if attach.operation != operation {
        return Err(ResumeError::InFlight);
    }
    let rebuilt = resumption(call, left, operation, attach.attempt)?;
    let cursors: Vec<_> = rebuilt.cursors.iter().map(|(_, cursor)| cursor).collect();
    if attach.session_token != rebuilt.session_token || !attach.output_cursors.iter().eq(cursors) {
        return Err(ResumeError::Contradictory);
    }
    Ok(Resumption { in_doubt: true, ..rebuilt })
}

fn resumption(call: &Call, left: &Checkpoint, operation: Operation, attempt: Uuid) -> Result<Resumption, ResumeError> {
    let inputs = call.check()?;
    if inputs.len() > 1 {
        return Err(ResumeError::SeveralInputs);
    }
    Ok(Resumption {
        attempt,
        operation,
        idempotency_key: left.idempotency_key.clone(),
        session_token: left.session_token.clone().ok_or(ResumeError::Contradictory)?,
        cursors: left.delivered_output_cursors.clone().into_iter().collect(),
        inputs: inputs.into_iter().map(|(_, element)| element).collect(),
        in_doubt: false,
    })
}
