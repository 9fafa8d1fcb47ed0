//! Beginning turns, and finishing those that were interrupted.

use controller::HostError;
use wire::{CancelRequest, Event, EventKind, ExecRequest, LogRecord, Message, ResumeRequest};

use super::{ATTEMPTS, Client};
use crate::call::Failed;
use crate::scene::Scene;
use crate::script;
use crate::witness::{Fate, Marker};

impl Client {
    /// Has something done. A client that says which head it expects, or which id its turn shall have, can repeat an attempt
    /// of which it has heard nothing.
    pub(super) async fn exec(&mut self, session: &str) {
        self.orders += 1;
        let order = format!("{}.{}", self.name, self.orders);
        let config = script::draw(&self.dice);
        let (mut expected_last_seq, mut execution_id) = (None, String::new());
        match self.dice.below(3) {
            0 => expected_last_seq = self.read(session).await.map(|session| session.last_seq),
            1 => execution_id = format!("{:016x}", self.dice.number()),
            _ => {}
        }
        let once = expected_last_seq.is_some() || !execution_id.is_empty();
        for attempt in 0..ATTEMPTS {
            let marker = Marker { order: order.clone(), attempt, once };
            let request = ExecRequest {
                session: session.to_owned(),
                inputs: vec![Message::text("user", marker.to_string())],
                config: config.clone(),
                expected_last_seq,
                execution_id: execution_id.clone(),
                ..ExecRequest::default()
            };
            match self.try_exec(session, marker, request).await {
                // Whoever does not know whether a turn has begun looks, before beginning it again.
                Begun::Interrupted => return self.resume(session).await,
                Begun::NotHere if once => {}
                Begun::Elsewhere | Begun::Ended | Begun::NotHere => return,
            }
        }
    }

    async fn try_exec(&self, session: &str, marker: Marker, request: ExecRequest) -> Begun {
        let witness = &self.cluster.world.witness;
        let execution = request.execution_id.clone();
        let mut heard: Vec<LogRecord> = Vec::new();
        let outcome = self
            .caller
            .exec(self.any_node(), request, |record| {
                witness.acknowledged(session, &record);
                heard.push(record);
            })
            .await;
        self.note(&format!("attempts {marker} in {session}"), &outcome);
        let begun = heard.iter().any(|record| kind(record) == EventKind::EventInput);
        let fate = match &outcome {
            _ if begun => Fate::Begun,
            Err(failed) if failed.is_refusal() => Fate::Refused,
            _ => Fate::Unknown,
        };
        witness.attempted(session, marker.clone(), fate);
        self.note_loss(session, &marker, &outcome, begun);
        match outcome {
            Ok(()) => {
                self.check_end(session, &heard);
                Begun::Ended
            }
            Err(_) if begun => Begun::Interrupted,
            Err(Failed::Answer(HostError::TurnExists)) => {
                witness.begun(session, &execution);
                Begun::Interrupted
            }
            Err(Failed::Unreachable) => Begun::NotHere,
            Err(failed) if failed.is_refusal() => Begun::Elsewhere,
            Err(_) => Begun::NotHere,
        }
    }

    fn note_loss(&self, session: &str, marker: &Marker, outcome: &Result<(), Failed>, begun: bool) {
        let witness = &self.cluster.world.witness;
        match outcome {
            Err(Failed::Answer(HostError::Conflict)) if begun => witness.lost(session, marker),
            Err(Failed::Answer(HostError::Fenced)) => witness.lost(session, marker),
            Err(Failed::Answer(HostError::TurnCanceled)) => witness.play(Scene::CanceledTurn),
            Err(Failed::Answer(HostError::OutcomeUnknown)) => witness.play(Scene::UnknownOutcome),
            _ => {}
        }
    }

    /// A turn that ended well has its END or was parked, and the client has heard of that.
    fn check_end(&self, session: &str, heard: &[LogRecord]) {
        let gap = heard.windows(2).any(|two| two[1].seq != two[0].seq + 1);
        let ended = matches!(heard.last().map(kind), Some(EventKind::EventEnd | EventKind::EventLifecycle));
        if gap || !ended {
            let kinds: Vec<_> = heard.iter().map(|record| (record.seq, kind(record))).collect();
            self.cluster.world.witness.report(format!("{session}: a turn ended well with {kinds:?}"));
        }
    }

    /// Finishes what is not finished, through one node after another.
    pub(super) async fn resume(&self, session: &str) {
        for _ in 0..ATTEMPTS {
            let asked = self.cluster.world.witness.head(session);
            let request = ResumeRequest { session: session.to_owned(), ..ResumeRequest::default() };
            let resumed =
                self.caller.call(self.any_node(), |host, call| async move { host.resume(request, call).await }).await;
            self.note(&format!("resumes {session}"), &resumed);
            match resumed {
                Ok(session) => return self.cluster.world.witness.answered(&session, asked),
                Err(failed) if failed.is_refusal() && !matches!(failed, Failed::Unreachable) => return,
                Err(_) => {}
            }
        }
    }

    pub(super) async fn cancel(&self, session: &str) {
        let asked = self.cluster.world.witness.head(session);
        let request =
            CancelRequest { session: session.to_owned(), reason: "no use".to_owned(), ..CancelRequest::default() };
        let canceled = self.caller.call(self.any_node(), |host, _| async move { host.cancel(request).await }).await;
        self.note(&format!("cancels the turn of {session}"), &canceled);
        if let Ok(session) = canceled {
            self.cluster.world.witness.answered(&session, asked);
        }
    }
}

/// What became of an attempt.
enum Begun {
    /// The turn has ended, or waits at a gate.
    Ended,
    /// It began, and what became of it is not known.
    Interrupted,
    /// It did not begin, or the client has not heard of it.
    NotHere,
    /// The session is busy, or elsewhere than the client expects.
    Elsewhere,
}

fn kind(record: &LogRecord) -> EventKind {
    record.event.as_ref().map_or(EventKind::Unspecified, Event::kind)
}
