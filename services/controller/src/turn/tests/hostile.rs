//! Whatever comes in, in whatever order: no panic, no record after the end, no reading of a log that lies.

use proptest::prelude::*;

use super::*;
use crate::log::{Log, ResumeStep};
use wire::{ApprovalRef, HarnessEnd};

fn body() -> impl Strategy<Value = Option<Body>> {
    let bodies = vec![
        None,
        Some(Body::Message(Message::text("assistant", "x"))),
        Some(Body::Model(request(&[]))),
        Of("").model_call("h").body,
        Some(Body::Tool(mediated("t"))),
        Some(Body::Tool(gated("t"))),
        Some(Body::Tool(gated("g"))),
        Some(Body::Result(result("t"))),
        Some(Body::Result(receipt("g", 3, 4))),
        Of("").request("g").body,
        Of("").decision("g", 3, true).body,
        Some(Body::Usage(usage(1))),
        Some(Body::End(HarnessEnd { state: "COMPLETED".into(), error: None })),
        Some(Body::End(HarnessEnd::default())),
        fork().body,
        Of("").start(1).body,
        Some(Body::Parked(ApprovalRef { execution_id: "e1".into(), tool_call_id: "g".into(), request_seq: 4 })),
    ];
    prop::sample::select(bodies)
}

fn event() -> impl Strategy<Value = Event> {
    (prop::sample::select(vec!["", "e1", "e1", "e1", "e2"]), -1..16i32, body()).prop_map(|(id, kind, body)| Event {
        execution_id: id.into(),
        kind,
        body,
        ..Event::default()
    })
}

fn outcome() -> impl Strategy<Value = Input> {
    let others = vec![
        Input::Closed,
        Input::Emit(Message::text("assistant", "x")),
        Input::Failed(TurnFailure::Violation("it sent an item out of sequence")),
        Input::HarnessFailed("reset".into()),
        Input::Exceeded(Excess::Events(9)),
        Input::Sent,
        Input::Appended(seq(3)),
        Input::Refused(Refusal::Failed("full".into())),
        Input::Refused(Refusal::Lost(LostWriter::Fenced)),
        Input::ModelAnswered(Message::default()),
        Input::ModelFailed("500".into()),
        Input::ToolAnswered(result("t")),
        Input::ToolFailed("gone".into()),
        Input::NoToolExecutor("search".into()),
        Input::Interrupted(Interruption::Deadline),
    ];
    prop_oneof![event().prop_map(|event| Input::Event { event, fresh_id: "f".into() }), prop::sample::select(others),]
}

proptest! {
    #[test]
    fn a_turn_that_is_over_stays_over(outcomes in prop::collection::vec(outcome(), 0..12)) {
        let mut turn = Turn::live(ExecutionId::new("e1"), Resumability::StatelessReplay);
        turn.start();
        let mut over = false;
        for outcome in outcomes {
            let action = turn.on(outcome);
            prop_assert!(!over || matches!(action, Action::Finish(TurnEnd::Failed(_))));
            over |= matches!(action, Action::Finish(_));
        }
    }

    #[test]
    fn any_log_is_indexed_and_what_it_lets_run_can_be_read_or_is_refused(
        events in prop::collection::vec(event(), 0..14),
    ) {
        let log = Log::of(&events);
        prop_assert_eq!(log.head(), seq(events.len() as u64));
        let _ = (log.check_start(), log.plan_exec(true), log.plan_exec(false), log.open_gate_harness());
        for span in log.completed_turns("", "").unwrap_or_default() {
            let _ = span.read(&uid(), &events);
        }
        if let Ok(ResumeStep::Run(span)) = log.plan_resume().map(|plan| plan.step)
            && let Ok(turn) = span.read(&uid(), &events)
        {
            prop_assert!(turn.history_len < events.len());
        }
    }

    #[test]
    fn a_recovery_of_any_log_ends(
        events in prop::collection::vec(event(), 1..10),
        asks in prop::collection::vec(body(), 0..4),
    ) {
        let mut session = Session::new(events);
        let Ok(ResumeStep::Run(span)) = session.log().plan_resume().map(|plan| plan.step) else { return Ok(()) };
        if span.read(&uid(), &session.events).is_ok() {
            let own = |body: Option<Body>| raw(EventKind::EventUsage, body);
            session.recover(&span, &asks.into_iter().map(own).collect::<Vec<_>>());
        }
    }
}
