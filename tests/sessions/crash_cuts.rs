//! A turn cut at every commit by `kill -9`: Resume does what is missing, once.

use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::{Api, Failpoint, ModelServer, NodeBuilder, kinds, seeds, text};
use wire::EventKind::{self, EventEnd, EventExecutionStart, EventInput, EventLifecycle, EventModelCall, EventOutput};
use wire::{ExecRequest, LogRecord};

/// The records of an uninterrupted turn of `chat`.
const TURN: [EventKind; 5] = [EventExecutionStart, EventInput, EventModelCall, EventOutput, EventEnd];
/// Its commits: {START, INPUT}, {MODEL_CALL}, {OUTPUT}, {END}.
const COMMITS: u32 = 4;

fn node(directory: &Path, model: &ModelServer) -> NodeBuilder {
    NodeBuilder::new(directory).flag("--model", "m").flag("--model-base-url", model.base_url())
}

fn request(session: &str) -> ExecRequest {
    ExecRequest { session: session.into(), inputs: vec![text("question")], ..ExecRequest::default() }
}

/// Model calls that Resume has to make for what is recorded.
fn missing_calls(log: &[LogRecord], turn_start: usize) -> usize {
    let recorded = kinds(&log[turn_start..]);
    let unanswered = !recorded.is_empty() && !recorded.contains(&EventOutput);
    usize::from(unanswered)
}

/// Where a turn is cut, counted from the start of the node: on a journal that exists, starting commits nothing.
struct Cut {
    failpoint: Failpoint,
    earlier_turns: usize,
}

impl Cut {
    fn of_seed(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let commit = random.random_range(1..=COMMITS);
        let failpoint = if random.random() { Failpoint::BeforeCommit(commit) } else { Failpoint::AfterCommit(commit) };
        Self { failpoint, earlier_turns: random.random_range(0..3) }
    }
}

async fn prepare(builder: &NodeBuilder, turns: usize) -> (String, Vec<LogRecord>) {
    let node = builder.start().await;
    let mut api = node.api().await;
    let session = api.create("chat").await.metadata.unwrap().uid;
    for turn in 0..turns {
        api.turn(&session, &format!("earlier {turn}")).await;
    }
    let log = api.log(&session).await;
    (session, log)
}

/// Runs a turn into the failpoint and returns the records that were acknowledged before the node died.
async fn run_into(builder: NodeBuilder, cut: &Cut, session: &str) -> Vec<LogRecord> {
    let node = builder.failpoint(cut.failpoint).start().await;
    let (updates, failure) = node.api().await.exec(request(session)).await;
    assert!(failure.is_some(), "the node survived {:?}", cut.failpoint);
    let record = |update: wire::ExecUpdate| match update.update {
        Some(wire::exec_update::Update::Record(record)) => Some(record),
        _ => None,
    };
    updates.into_iter().filter_map(record).collect()
}

async fn check_resume(api: &mut Api, model: &ModelServer, session: &str, before: &[LogRecord]) {
    let cut = api.log(session).await;
    assert!(cut.starts_with(before), "earlier records are unchanged");
    let calls = model.calls();
    let resumed = api.resume(session).await.expect("an interrupted turn resumes");

    let log = api.log(session).await;
    assert!(log.starts_with(&cut), "nothing recorded is rewritten");
    let added_calls = model.calls() - calls;
    assert_eq!(added_calls, missing_calls(&cut, before.len()), "cut after {:?}", kinds(&cut).last());
    let turn = kinds(&log[before.len()..]);
    let expected: Vec<_> = if cut.len() == before.len() {
        vec![EventLifecycle]
    } else {
        TURN.into_iter().chain([EventLifecycle]).collect()
    };
    assert_eq!(turn, expected, "cut after {:?}", kinds(&cut).last());
    assert_eq!(resumed.last_seq as usize, log.len());
}

async fn cut_and_resume(seed: u64) {
    let cut = Cut::of_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let model = ModelServer::start().await;
    let builder = node(directory.path(), &model);
    let (session, before) = prepare(&builder, cut.earlier_turns).await;
    let acknowledged = run_into(builder.clone(), &cut, &session).await;

    let node = builder.start().await;
    let mut api = node.api().await;
    let log = api.log(&session).await;
    assert!(log[before.len()..].starts_with(&acknowledged), "acknowledged and lost: {:?}", kinds(&acknowledged));
    check_resume(&mut api, &model, &session, &before).await;
    api.turn(&session, "goes on").await;
}

#[tokio::test]
async fn turn_cut_at_any_commit_is_resumed_without_a_lost_or_doubled_record() {
    for seed in seeds(500) {
        println!("seed {seed}");
        cut_and_resume(seed).await;
    }
}

#[tokio::test]
async fn turn_of_one_model_call_takes_four_commits() {
    let directory = tempfile::tempdir().unwrap();
    let model = ModelServer::start().await;
    let builder = node(directory.path(), &model);
    let (session, _) = prepare(&builder, 0).await;

    let node = builder.failpoint(Failpoint::BeforeCommit(COMMITS + 1)).start().await;
    let (_, failure) = node.api().await.exec(request(&session)).await;
    assert!(failure.is_none(), "a fifth commit was made: {failure:?}");
}
