//! After the storm every session can be brought to the end of its turn, by nothing but what a client can do.

use std::time::Duration;

use controller::{CallContext, Host, HostError};
use futures::StreamExt;
use journal::SessionUid;
use tokio_util::sync::CancellationToken;
use wire::event::Body;
use wire::{ApproveRequest, EventKind, ExecRequest, Message, ResumeRequest, Session};

use crate::client::Cluster;
use crate::dice::Dice;
use crate::scene::Scene;

/// Steps that suffice for any session: a turn has a few gates at most.
const STEPS: usize = 100;
/// What a client waits before it asks a busy session again. Turns of clients that are gone end by then.
const PAUSE: Duration = Duration::from_secs(1);

/// Brings every session to the end of its turn.
pub async fn settle(cluster: &Cluster, dice: &Dice) {
    for session in cluster.world.witness.sessions().await {
        if let Err(stuck) = settle_one(cluster, &session, dice).await {
            cluster.world.witness.report(format!("{session} cannot be brought to an end: {stuck}"));
        }
    }
}

async fn settle_one(cluster: &Cluster, session: &SessionUid, dice: &Dice) -> Result<(), String> {
    let mut last = String::new();
    for _ in 0..STEPS {
        let Some(running) = dice.pick(&cluster.nodes).running() else { return Err("a node is down".to_owned()) };
        let step = step(cluster, &running.host, session, dice).await;
        let events = cluster.world.witness.events(session.as_str());
        match step {
            Ok(()) if has_ended(&events) => return Ok(()),
            Ok(()) => {}
            Err(error @ (HostError::Busy | HostError::Conflict | HostError::Fenced)) => {
                last = error.to_string();
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(format!("still not after {STEPS} steps; {last}"))
}

/// One call of a client that means to end the session's turn.
async fn step(cluster: &Cluster, host: &Host, session: &SessionUid, dice: &Dice) -> Result<(), HostError> {
    let state = host.get(session.as_str()).await?;
    if let Some(request) = decision(&state, session, dice) {
        return host.approve(request).await.map(drop);
    }
    let request = ResumeRequest { session: session.to_string(), ..ResumeRequest::default() };
    match host.resume(request, call()).await {
        // A fork may have cut a turn where only a new one can follow.
        Err(HostError::Log(_)) if !state.parent_uid.is_empty() => {
            cluster.world.witness.play(Scene::CutTurn);
            new_turn(host, session).await
        }
        resumed => resumed.map(drop),
    }
}

fn decision(state: &Session, session: &SessionUid, dice: &Dice) -> Option<ApproveRequest> {
    let gate = state.pending_approval.clone()?;
    Some(ApproveRequest {
        session: session.to_string(),
        execution_id: gate.execution_id,
        tool_call_id: gate.tool_call_id,
        request_seq: gate.request_seq,
        approved: Some(dice.chance(0.5)),
        ..ApproveRequest::default()
    })
}

async fn new_turn(host: &Host, session: &SessionUid) -> Result<(), HostError> {
    let request = ExecRequest {
        session: session.to_string(),
        inputs: vec![Message::text("user", "go on")],
        ..ExecRequest::default()
    };
    let mut updates = host.exec(request, call());
    while let Some(update) = updates.next().await {
        update?;
    }
    Ok(())
}

fn call() -> CallContext {
    CallContext { request_id: String::new(), deadline: None, cancelled: CancellationToken::new() }
}

/// Whether the last turn has ended, if there is one.
fn has_ended(events: &[wire::Event]) -> bool {
    let last = events.iter().rfind(|event| event.kind() != EventKind::EventLifecycle);
    last.is_none_or(|last| {
        // After an END only the report of a failure to say so can follow.
        let turn = events.iter().filter(|event| event.execution_id == last.execution_id);
        turn.filter(|event| matches!(event.body, Some(Body::End(_)))).count() == 1
    })
}
