//! Invocations for the tests.

use bytes::Bytes;
use env::Env;
use journal::invocations::{
    Accepted, Attempt, Frame, FrameItem, Holder, InputChange, InputOutcome, InputWrite, Invocation, InvocationStart,
    Lease, NewInput, NewInvocation, NewOutput, Outcome, OutputChange, OutputWrite, Owner, Role, Run, StreamId,
    StreamProgress, Terminal,
};
use journal::{Journal, SessionUid};
use uuid::Uuid;

use crate::support::new_session;

/// What the client calls the first input of its parameters.
pub const FIRST_INPUT: Uuid = Uuid::from_u128(1);

pub fn attempt(id: u128) -> Attempt {
    Attempt { account: "account".to_owned(), id: Uuid::from_u128(id), digest: [1; 32] }
}

pub fn holder(seed: u64) -> Holder {
    Holder::mint(&Env::seeded(seed))
}

pub fn input(provisional: u128) -> NewInput {
    NewInput { provisional: Uuid::from_u128(provisional), element: "{}".to_owned(), fingerprint: [2; 32] }
}

pub fn output() -> NewOutput {
    NewOutput { element: "{}".to_owned(), fingerprint: [3; 32] }
}

/// An invocation of the same instance for every key, with one input.
pub fn new_invocation(key: &str, attempt: Attempt) -> NewInvocation {
    let start = InvocationStart {
        application: "application".to_owned(),
        agent_type: "agent".to_owned(),
        method: "method".to_owned(),
        idempotency_key: key.to_owned(),
        method_parameters: "[1]".to_owned(),
        configuration: vec![(vec!["a".to_owned(), "b".to_owned()], "true".to_owned())],
        phantom_id: Some(Uuid::from_u128(7)),
        revision: 3,
        ..InvocationStart::default()
    };
    NewInvocation {
        session: new_session("default"),
        instance: [9; 32],
        agent_id: "instance".to_owned(),
        start,
        attempt,
        holder: holder(1),
        streams: vec![input(1)],
    }
}

pub async fn accept(journal: &Journal, new: NewInvocation) -> (Invocation, Lease) {
    match journal.accept_invocation(new).await.unwrap() {
        Accepted::New(invocation, lease) => (*invocation, lease),
        Accepted::Known(record) => panic!("known already: {record:?}"),
    }
}

/// The only invocation of a new instance, its attachment, its run and its input.
pub async fn started(journal: &Journal) -> (Invocation, Lease, Run, StreamId) {
    let (invocation, lease) = accept(journal, new_invocation("key", attempt(1))).await;
    let run = journal.claim_run(&invocation.session).await.unwrap().unwrap();
    let stream = StreamId::input(invocation.id, FIRST_INPUT);
    (invocation, lease, run, stream)
}

/// Like [`started`], with one output besides, which the method has returned.
pub async fn returned(journal: &Journal) -> (Invocation, Lease, Run, StreamId, StreamId) {
    let (invocation, lease, run, from) = started(journal).await;
    journal.set_returned(&run, invocation.id, Some("{}"), vec![output()]).await.unwrap();
    let to = StreamId::output(invocation.id, &Owner::Result, 0);
    (invocation, lease, run, from, to)
}

pub fn octets(bytes: impl Into<Bytes>) -> FrameItem {
    FrameItem::Octets(bytes.into())
}

pub fn value(text: impl Into<String>) -> FrameItem {
    FrameItem::Value(text.into())
}

pub fn put(stream: StreamId, first: u64, item: FrameItem) -> InputWrite {
    let charge = charge(&item);
    InputWrite { stream, change: InputChange::Put { first, item, charge, streams: Vec::new() } }
}

/// What an item is charged, as far as these tests are concerned.
pub fn charge(item: &FrameItem) -> u64 {
    2 * item.size() as u64
}

pub fn emit(stream: StreamId, first: u64, item: FrameItem) -> OutputWrite {
    OutputWrite { stream, change: OutputChange::Put { first, item, streams: Vec::new() } }
}

pub fn end_output(stream: StreamId) -> OutputWrite {
    OutputWrite { stream, change: OutputChange::End(Terminal::Ended) }
}

pub fn stored() -> InputOutcome {
    InputOutcome::Stored { streams: Vec::new() }
}

pub async fn change(journal: &Journal, lease: &Lease, stream: StreamId, change: InputChange) -> InputOutcome {
    let mut outcomes = journal.put_inputs(lease, vec![InputWrite { stream, change }]).await.unwrap();
    assert_eq!(outcomes.len(), 1);
    outcomes.remove(0)
}

pub async fn put_one(journal: &Journal, lease: &Lease, write: InputWrite) -> InputOutcome {
    change(journal, lease, write.stream, write.change).await
}

pub async fn frames(journal: &Journal, of: &Invocation, stream: StreamId, from: u64) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    loop {
        let from = frames.last().map_or(from, Frame::end);
        let read = journal.frames(&of.session, of.id, stream, from, 1 << 20).await.unwrap();
        if read.is_empty() {
            return frames;
        }
        frames.extend(read);
    }
}

pub async fn progress(journal: &Journal, of: &Invocation, stream: StreamId) -> StreamProgress {
    let standing = journal.standing(&of.session, of.id).await.unwrap().unwrap();
    standing.streams.into_iter().find(|progress| progress.id == stream).unwrap()
}

pub async fn exists(journal: &Journal, session: &SessionUid) -> bool {
    journal.session(session).await.unwrap().is_some()
}

/// Ends all streams of an invocation, and the invocation.
pub async fn finish(journal: &Journal, run: &Run, of: &Invocation) {
    let streams = journal.streams(&of.session, of.id).await.unwrap();
    let end = |id, role| match role {
        Role::Output => end_output(id),
        Role::Input => OutputWrite { stream: id, change: OutputChange::Drop("consumer-drop".to_owned()) },
    };
    let open = streams.iter().filter(|stream| stream.progress.terminal.is_none());
    let ends = open.map(|stream| end(stream.progress.id, stream.progress.role)).collect();
    journal.put_outputs(run, of.id, ends).await.unwrap();
    journal.finish_invocation(run, of.id, Outcome::Success).await.unwrap();
}
