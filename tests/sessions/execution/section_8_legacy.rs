//! Journals from before executions had ids (execution.md §8): its rules, and all journals of release 0.1.2 in a real host.
//! Rule 6 is about controller replay, which no call of the service runs: services/controller/src/turn/tests/legacy.rs.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use support::records::{Of, marker, question, usage};
use support::{NodeBuilder, Scribe, Step, text, vectors};
use tonic::Code::{self, FailedPrecondition, Internal, Ok as Fine};
use wire::canonical::Canonical;
use wire::controller_frame::Frame;
use wire::lifecycle::Kind;
use wire::{Event, ExecRequest, LogRecord};

use super::world::{World, code, event, turn, words};

/// Rules 1 to 3
#[tokio::test]
async fn markers() {
    let world = World::new().await;
    let (old, e1) = (Of(""), Of("e1"));
    let decision = old.decision("g", 1, true);
    let table = [
        ("1. START", vec![old.start(0)], FailedPrecondition),
        ("1. APPROVAL_REQUEST", vec![old.input("a"), old.request("g")], FailedPrecondition),
        ("1. APPROVAL_RESULT", vec![old.input("a"), decision], FailedPrecondition),
        ("1. any other kind", vec![old.event(wire::EventKind::EventParked, None)], FailedPrecondition),
        ("1. allowed kinds", vec![old.input("a"), old.usage(usage(1)), old.output("x"), old.error(), old.end()], Fine),
        ("2. without id after one with", vec![e1.start(0), e1.end(), old.output("x")], FailedPrecondition),
        ("2. but LIFECYCLE", vec![e1.start(0), e1.end(), marker(Kind::LifecycleSuspend)], Fine),
        ("3. not START after an unfinished tail", vec![old.input("a"), e1.input("b")], FailedPrecondition),
        ("3. START after an unfinished tail", vec![old.input("a"), e1.start(0), e1.end()], Fine),
        ("3. START after an errored tail", vec![old.input("a"), old.error(), e1.start(0), e1.end()], Fine),
    ];
    world.harness.does([]);
    for (row, log, expected) in table {
        let session = world.recorded(log.clone()).await;
        assert_eq!(world.resume(&session).await, expected, "{row}, Resume");
        assert_eq!(world.exec(turn(&session)).await.code, expected, "{row}, Exec");
        if expected != Fine {
            assert_eq!(world.log(&session).await.len(), log.len(), "{row}: unchanged");
        }
    }
}

/// Rules 4 and 5, rule 6 as far as Resume goes, and rule 8
#[tokio::test]
async fn resume_of_the_last_legacy_turn() {
    let world = World::new().await;
    let old = Of("");
    let earlier = || [old.input("first"), old.output("x"), old.end()];
    let asked = || old.model_call(&question("a"));
    let output = |usage: i64| vec![Step::usage(usage), Step::output("x")];
    let table = [
        ("4. finished by END", vec![old.input("a"), old.end()], vec![], Fine, "RESUME"),
        ("4. finished by ERROR", vec![old.input("a"), old.error()], vec![], Fine, "RESUME"),
        ("4. effects are served", vec![old.input("a"), old.output("x")], vec![Step::output("x")], Fine, "END RESUME"),
        (
            "4. MODEL_CALL without OUTPUT",
            vec![old.input("a"), asked()],
            vec![Step::model(question("a"))],
            Internal,
            "ERROR",
        ),
        ("5. a gate", vec![old.input("a")], vec![Step::gate("g")], FailedPrecondition, "ERROR"),
        (
            "6. usage while effects are left",
            vec![old.input("a"), old.usage(usage(9)), old.output("x")],
            output(1),
            Fine,
            "END RESUME",
        ),
        (
            "6. usage past them",
            vec![old.input("a"), old.output("x")],
            vec![Step::output("x"), Step::usage(1)],
            Fine,
            "USAGE END RESUME",
        ),
        ("8. only LIFECYCLE", vec![marker(Kind::LifecycleSuspend)], vec![], Fine, "RESUME"),
    ];
    for (row, log, steps, code, appended) in table {
        let session = world.recorded(log.clone()).await;
        world.harness.does(steps);
        assert_eq!(world.resume(&session).await, code, "{row}");
        let rest = &world.log(&session).await[log.len()..];
        assert_eq!(words(rest), appended, "{row}");
        assert!(rest.iter().all(|record| event(record).execution_id.is_empty()), "{row}: appended without ids");
    }
    assert_eq!(world.model.calls(), 0);

    world.harness.does([]);
    let session = world.recorded([earlier().to_vec(), vec![old.input("second")]].concat()).await;
    assert_eq!(world.resume(&session).await, Fine);
    let run = world.harness.runs().pop().unwrap();
    let Some(Frame::Start(start)) = &run[0].frame else { panic!("no start") };
    assert_eq!(
        (start.inputs.clone(), start.history.clone()),
        (vec![text("second")], earlier().to_vec()),
        "the last INPUT only"
    );
    assert_eq!(run[0].execution_id, visible_id(&session, 4, &old.input("second")), "7");
}

/// Rule 7
fn visible_id(session: &str, seq: i64, anchor: &Event) -> String {
    let event = anchor.canonical_json().unwrap();
    let text = format!(r#"{{"session_uid":"{session}","seq":"{seq}","event":{event}}}"#);
    format!("legacy-{}", hex::encode(Sha256::digest(text)))
}

/// What a host does with an old journal.
struct Row {
    name: &'static str,
    resumed: Code,
    /// What Resume appends.
    appended: &'static str,
    /// The journal whose records the log begins with after Resume, byte for byte, and how many of them.
    becomes: (&'static str, usize),
}

const ROWS: [Row; 9] = [
    Row { name: "completed", resumed: Fine, appended: "RESUME", becomes: ("completed", 4) },
    // The MODEL_CALL gets an id of its own.
    Row {
        name: "crashed-input",
        resumed: Fine,
        appended: "MODEL_CALL OUTPUT END RESUME",
        becomes: ("crashed-input", 1),
    },
    Row { name: "crashed-model", resumed: Internal, appended: "ERROR", becomes: ("crashed-model", 2) },
    Row { name: "crashed-output", resumed: Fine, appended: "END RESUME", becomes: ("upgraded-resume", 4) },
    Row { name: "mixed-completed", resumed: Fine, appended: "RESUME", becomes: ("mixed-completed", 9) },
    Row { name: "mixed-interrupted", resumed: Fine, appended: "END RESUME", becomes: ("mixed-interrupted", 8) },
    Row { name: "multi-turn", resumed: Fine, appended: "RESUME", becomes: ("multi-turn", 8) },
    Row {
        name: "multi-turn-crashed-output",
        resumed: Fine,
        appended: "END RESUME",
        becomes: ("multi-turn-crashed-output", 7),
    },
    Row { name: "upgraded-resume", resumed: Fine, appended: "RESUME", becomes: ("upgraded-resume", 4) },
];

/// Hashes, which cover all that a record says but its fence.
fn hashes(records: &[LogRecord]) -> Vec<&str> {
    records.iter().map(|record| record.content_hash.as_str()).collect()
}

#[tokio::test]
async fn journals_of_release_0_1_2_are_replayed_recovered_or_refused() {
    let journals: BTreeMap<String, Vec<LogRecord>> = vectors::old_journals().into_iter().collect();
    if journals.is_empty() {
        return;
    }
    let names: Vec<_> = ROWS.iter().map(|row| row.name).collect();
    assert_eq!(journals.keys().map(String::as_str).collect::<Vec<_>>(), names, "no journal is left out");
    // The built-in harness and model are those that wrote the journals.
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let node = builder.start().await;
    let (mut api, scribe) = (node.api().await, Scribe::open(&builder).await);
    for Row { name, resumed, appended, becomes } in &ROWS {
        let journal = &journals[*name];
        let session = scribe.copy("echo", journal).await;
        assert_eq!(api.log(&session).await, *journal, "{name}: Replay");

        assert_eq!(code(api.resume(&session).await), *resumed, "{name}: Resume");
        let log = api.log(&session).await;
        assert_eq!(log[..journal.len()], journal[..], "{name}: what was recorded stays");
        assert_eq!(words(&log[journal.len()..]), *appended, "{name}: Resume");
        let (other, count) = *becomes;
        assert_eq!(hashes(&log[..count]), hashes(&journals[other][..count]), "{name}: as in {other}");

        let exec =
            |session: &str| ExecRequest { session: session.into(), inputs: vec![text("new")], ..Default::default() };
        let (_, failure) = api.exec(exec(&session)).await;
        assert!(failure.is_none(), "{name}: Exec after Resume: {failure:?}");
        let untouched = scribe.copy("echo", journal).await;
        let (updates, failure) = api.exec(exec(&untouched)).await;
        assert!(failure.is_none(), "{name}: a START supersedes the tail: {failure:?}");
        let records: Vec<_> = updates.into_iter().filter_map(support::record).collect();
        assert_eq!(words(&records), "START INPUT MODEL_CALL OUTPUT END", "{name}");
        assert_eq!(input_hash(&records[2]), input_hash(&journals["mixed-completed"][6]), "{name}");
        assert_eq!(event(&records[3]).body, event(&journals["mixed-completed"][7]).body, "{name}");
    }
}

fn input_hash(record: &LogRecord) -> &str {
    match &event(record).body {
        Some(wire::event::Body::Model(call)) => &call.input_hash,
        other => panic!("no MODEL_CALL: {other:?}"),
    }
}

#[tokio::test]
async fn the_journal_cut_after_its_input_becomes_the_completed_one_but_for_an_id() {
    let journals: BTreeMap<String, Vec<LogRecord>> = vectors::old_journals().into_iter().collect();
    let (Some(cut), Some(completed)) = (journals.get("crashed-input"), journals.get("completed")) else { return };
    let directory = tempfile::tempdir().unwrap();
    let builder = NodeBuilder::new(directory.path());
    let node = builder.start().await;
    let session = Scribe::open(&builder).await.copy("echo", cut).await;
    let mut api = node.api().await;
    api.resume(&session).await.unwrap();
    let log = api.log(&session).await;
    assert_eq!(input_hash(&log[1]), input_hash(&completed[1]));
    for at in [0, 2, 3] {
        assert_eq!(event(&log[at]), event(&completed[at]));
    }
}
