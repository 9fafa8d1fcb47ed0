//! Whatever a turn does and wherever its journal is cut, recovery makes of it what the uninterrupted run made.

use proptest::prelude::*;

use super::*;
use crate::log::ResumeStep;

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        3 => Just(Ask::Model),
        1 => Just(Ask::Output),
        1 => (0..3i64).prop_map(Ask::Usage),
        1 => prop::sample::select(vec!["r", "s"]).prop_map(Ask::Report),
        2 => prop::sample::select(vec!["t", "u"]).prop_map(Ask::Tool),
        1 => Just(Ask::Gate("")),
    ]
}

fn script() -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec(ask(), 0..9).prop_map(|asks| {
        // Each gate has an id of its own.
        let mut ids = ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8"].into_iter();
        asks.into_iter()
            .map(|ask| match ask {
                Ask::Gate(_) => Ask::Gate(ids.next().unwrap()),
                other => other,
            })
            .collect()
    })
}

fn approve(id: &str) -> bool {
    !id.ends_with(['1', '4'])
}

/// A session whose turn went through without a crash: parked where it had to, decided, resumed.
fn uninterrupted(asks: &[Ask]) -> Session {
    let mut session = Session::started();
    match session.run(asks) {
        TurnEnd::Completed => {}
        TurnEnd::Parked(_) => session.events.push(lifecycle(wire::lifecycle::Kind::LifecycleSuspend)),
        other => panic!("{other:?}"),
    }
    session.settle(asks, approve);
    session
}

/// What a turn did, without what may differ between runs: markers, ids of model calls, positions.
fn deeds(events: &[Event]) -> Vec<Event> {
    let mut deeds = events.to_vec();
    deeds.retain(|event| !matches!(event.kind(), EventKind::EventLifecycle | EventKind::EventError));
    for deed in &mut deeds {
        match &mut deed.body {
            Some(Body::Model(call)) => call.id.clear(),
            Some(Body::ApprovalResult(decision)) => decision.request_seq = 0,
            Some(Body::Result(result)) => (result.approval_request_seq, result.approval_decision_seq) = (0, 0),
            _ => {}
        }
    }
    deeds
}

/// How many model requests of a journal have their completion.
fn completions(events: &[Event]) -> usize {
    let deeds = deeds(events);
    let pair =
        |pair: &&[Event]| pair[0].kind() == EventKind::EventModelCall && pair[1].kind() == EventKind::EventOutput;
    deeds.windows(2).filter(pair).count()
}

/// How many calls of a journal have their result.
fn executions(events: &[Event]) -> usize {
    let results = |event: &&Event| match &event.body {
        Some(Body::Result(result)) => !["r", "s"].contains(&result.id.as_str()) && !result.is_error,
        _ => false,
    };
    events.iter().filter(results).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn recovery_at_every_cut_does_what_was_left_once(asks in script()) {
        let whole = uninterrupted(&asks);
        for len in 2..=whole.events.len() {
            let mut session = whole.cut(len);
            session.settle(&asks, approve);
            prop_assert_eq!(deeds(&session.events), deeds(&whole.events), "cut at {}", len);
            let done = &whole.events[..len];
            prop_assert_eq!(session.model_calls, completions(&whole.events) - completions(done));
            let tool_calls: usize = session.tool_calls.values().sum();
            prop_assert_eq!(tool_calls, executions(&whole.events) - executions(done));
            prop_assert!(session.log().check_approvals().is_ok());
        }
    }

    #[test]
    fn what_recovery_leaves_replays_without_a_call(asks in script(), cut in any::<prop::sample::Index>()) {
        let whole = uninterrupted(&asks);
        let mut session = whole.cut(2 + cut.index(whole.events.len() - 1));
        session.settle(&asks, approve);
        let mut session = session.cut(session.events.len());
        prop_assert_eq!(session.replay(&asks), TurnEnd::Completed);
        prop_assert_eq!((session.model_calls, session.tool_calls.len()), (0, 0));
    }

    #[test]
    fn a_recovery_that_crashes_again_and_again_ends_the_same(
        asks in script(),
        crashes in prop::collection::vec(1..4usize, 0..12),
    ) {
        let whole = uninterrupted(&asks);
        let mut session = Session::started();
        for steps in crashes {
            let ResumeStep::Run(span) = session.resume_step() else { break };
            session.refuse = Some((session.events.len() + steps, Refusal::Lost(LostWriter::Unknown)));
            session.recover(&span, &asks);
        }
        session.refuse = None;
        session.settle(&asks, approve);
        prop_assert_eq!(deeds(&session.events), deeds(&whole.events));
    }

    #[test]
    fn a_fork_inside_a_tool_call_is_not_run_again_and_any_other_is(asks in script()) {
        let whole = uninterrupted(&asks);
        for len in 2..=whole.events.len() {
            let mut child = whole.cut(len);
            let last = deeds(&child.events).pop().unwrap().kind();
            child.events.push(fork());
            let open = matches!(
                last,
                EventKind::EventToolCall | EventKind::EventApprovalRequest | EventKind::EventApprovalResult
            );
            if open {
                prop_assert!(matches!(child.resume_step(), ResumeStep::Refuse(_)), "fork at {}", len);
            } else {
                child.settle(&asks, approve);
                prop_assert_eq!(deeds(&child.events), deeds(&whole.events), "fork at {}", len);
            }
        }
    }
}
