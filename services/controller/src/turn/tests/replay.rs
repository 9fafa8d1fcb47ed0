//! Controller replay of completed turns (execution.md §7).

use super::*;
use crate::log::LogError;
use wire::{ExecutionStart, ToolResult};

const ASKS: [Ask; 6] = [Ask::Model, Ask::Output, Ask::Usage(3), Ask::Report("r"), Ask::Tool("t"), Ask::Model];

fn completed(asks: &[Ask]) -> Session {
    let mut session = Session::started();
    assert_eq!(session.run(asks), TurnEnd::Completed);
    session.cut(session.events.len())
}

#[test]
fn a_completed_turn_replays_without_a_call_or_a_record() {
    let mut session = completed(&ASKS);
    let before = session.events.clone();
    assert_eq!(session.replay(&ASKS), TurnEnd::Completed);
    assert_eq!((session.model_calls, session.tool_calls.len()), (0, 0));
    assert_eq!(session.events, before);
}

#[test]
fn any_altered_effect_diverges() {
    type Alter = fn(&mut Event);
    fn other_text(event: &mut Event) {
        event.body = Of("").output("other").body;
    }
    fn other_result(event: &mut Event) {
        event.body = Some(Body::Result(ToolResult { id: "t".into(), ..ToolResult::default() }));
    }
    let table: [(usize, Alter); 7] = [
        (2, |event| event.body = Of("").model_call("other").body),
        (3, other_text),
        (4, other_text),
        (5, |event| event.body = Of("").usage(4).body),
        (7, |event| event.body = Of("").tool_call(mediated("u")).body),
        (8, other_result),
        (9, |event| event.body = Of("").model_call("other").body),
    ];
    for (position, alter) in table {
        let mut session = completed(&ASKS);
        alter(&mut session.events[position]);
        let end = session.replay(&ASKS);
        assert!(matches!(failure(end), TurnFailure::Diverged(_)), "record at {position}");
        assert_eq!((session.model_calls, session.tool_calls.len()), (0, 0));
    }
}

#[test]
fn any_missing_effect_fails_the_replay() {
    for position in 2..11 {
        let mut session = completed(&ASKS);
        session.events.remove(position);
        assert!(matches!(session.replay(&ASKS), TurnEnd::Failed(_)), "record at {position}");
        assert_eq!((session.model_calls, session.tool_calls.len()), (0, 0));
    }
}

#[test]
fn what_lies_beyond_the_record_diverges() {
    let table = [
        (Ask::Model, Asked::Model),
        (Ask::Output, Asked::Output),
        (Ask::Usage(1), Asked::Usage),
        (Ask::Report("r"), Asked::Report),
        (Ask::Tool("t"), Asked::Tool),
        (Ask::Gate("g"), Asked::Gate),
    ];
    for (ask, asked) in table {
        assert_eq!(completed(&[]).replay(&[ask]), diverged(Divergence::Exhausted(asked)));
    }
}

#[test]
fn a_call_without_result_at_the_very_end_is_missing_there_too() {
    let table = [(Ask::Model, TurnFailure::CompletionMissing), (Ask::Tool("t"), TurnFailure::ResultMissing)];
    for (ask, expected) in table {
        let mut session = completed(std::slice::from_ref(&ask));
        session.events.remove(3);
        assert_eq!(failure(session.replay(&[ask])), expected);
    }
}

#[test]
fn an_interrupted_turn_is_skipped() {
    let mut session = completed(&ASKS);
    session.events.extend([Of("e2").start(1), Of("e2").input("more"), Of("e2").model_call("x")]);
    assert_eq!(session.replay(&ASKS), TurnEnd::Completed);
}

#[test]
fn all_turns_are_checked_before_the_first_is_run() {
    let recorded = |harness: &str, version: &str| ExecutionStart {
        input_count: Some(0),
        harness: harness.into(),
        harness_version: version.into(),
        ..ExecutionStart::default()
    };
    let table = [
        (recorded("other", "1"), LogError::HarnessMismatch { start: seq(6), recorded: "other".into() }),
        (recorded("echo", "2"), LogError::VersionMismatch { start: seq(6), recorded: "2".into() }),
        (
            ExecutionStart { input_count: Some(1), ..recorded("echo", "1") },
            LogError::Invalid { seq: seq(6), rule: "a completed turn has fewer INPUT records than input_count" },
        ),
    ];
    for (start, expected) in table {
        let mut session = completed(&[Ask::Model]);
        session.events.extend([Of("e2").start_with(start), Of("e2").end()]);
        assert_eq!(session.log().completed_turns("echo", "1"), Err(expected));
    }
}

#[test]
fn turns_recorded_without_harness_or_version_replay_on_any() {
    assert_eq!(completed(&[]).log().completed_turns("echo", "1").unwrap().len(), 1);
}
