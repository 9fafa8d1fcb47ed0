//! Journals, sessions and events for the tests.

use env::Env;
use futures::TryStreamExt;
use journal::{Journal, NewOn, NewSession, PageRequest, PageSize, Seq, SeqRange, SessionState, SessionUid};
use store::{Engine, Store};
use wire::event::Body;
use wire::verify::Verifier;
use wire::{ApprovalRequest, Event, EventKind, ExecutionStart, HarnessEnd, LogRecord, Mediation, Message, ToolCall};

pub async fn open(engine: impl Engine) -> Journal {
    open_seeded(engine, 1).await
}

pub async fn open_seeded(engine: impl Engine, seed: u64) -> Journal {
    let env = Env::seeded(seed);
    Journal::open(Store::new(engine, env.clone()), env).await.unwrap()
}

pub async fn in_memory() -> Journal {
    open(store::memory::Memory::default()).await
}

/// An empty subspace of the cluster that `FDB_CLUSTER_FILE` names, if it names one. What is written there stays.
#[cfg(feature = "fdb")]
pub async fn cluster() -> Option<store::fdb::Fdb> {
    let mut options = store::fdb::FdbOptions::new(std::env::var_os("FDB_CLUSTER_FILE")?);
    options.subspace = format!("test-{:016x}", Env::system().random_u64()).parse().unwrap();
    Some(store::fdb::Fdb::open(&options).await.unwrap())
}

pub fn new_session(project: &str) -> NewSession {
    NewSession {
        project: project.to_owned(),
        name: "a name".to_owned(),
        harness: "echo".to_owned(),
        harness_source: NewOn::Static,
        model: "model".to_owned(),
        labels: [("label".to_owned(), "1".to_owned())].into(),
        annotations: [("annotation".to_owned(), "2".to_owned())].into(),
        origin: None,
        identity: None,
    }
}

pub async fn create(journal: &Journal) -> SessionUid {
    journal.create(new_session("default")).await.unwrap().uid().clone()
}

/// The session as of now.
pub async fn state(journal: &Journal, uid: &SessionUid) -> SessionState {
    journal.session(uid).await.unwrap().unwrap()
}

pub fn text_event(text: impl Into<String>) -> Event {
    Event::new(EventKind::EventOutput, Body::Message(Message::text("assistant", text))).of_execution("e1")
}

pub fn start_event(execution: &str, input_count: i64) -> Event {
    let start = ExecutionStart { input_count: Some(input_count), ..ExecutionStart::default() };
    Event::new(EventKind::EventExecutionStart, Body::ExecutionStart(start)).of_execution(execution)
}

pub fn end_event(execution: &str) -> Event {
    let end = HarnessEnd { state: "COMPLETED".to_owned(), ..HarnessEnd::default() };
    Event::new(EventKind::EventEnd, Body::End(end)).of_execution(execution)
}

pub fn gated_call(execution: &str, id: &str) -> Event {
    let call = ToolCall {
        id: id.to_owned(),
        idempotency_key: "key".to_owned(),
        mediation: Mediation::RequiresApproval.into(),
        ..ToolCall::default()
    };
    Event::new(EventKind::EventToolCall, Body::Tool(call)).of_execution(execution)
}

pub fn approval_request(execution: &str, id: &str) -> Event {
    let request = ApprovalRequest { tool_call_id: id.to_owned(), ..ApprovalRequest::default() };
    Event::new(EventKind::EventApprovalRequest, Body::Approval(request)).of_execution(execution)
}

pub fn seq(number: i64) -> Seq {
    Seq::from_wire(number).unwrap()
}

pub async fn read(journal: &Journal, uid: &SessionUid, range: SeqRange) -> Vec<LogRecord> {
    journal.records(uid, range).try_collect().await.unwrap()
}

pub async fn read_all(journal: &Journal, uid: &SessionUid) -> Vec<LogRecord> {
    read(journal, uid, SeqRange::ALL).await
}

pub fn assert_verifies(records: &[LogRecord]) {
    let mut verifier = Verifier::new();
    for record in records {
        verifier.check(record).unwrap();
    }
}

/// The text of a record that [`text_event`] made.
pub fn text_of(record: &LogRecord) -> String {
    match record.event.as_ref().and_then(|event| event.body.as_ref()) {
        Some(Body::Message(message)) => message.text_content(),
        _ => String::new(),
    }
}

pub fn first_page(size: i32) -> PageRequest {
    PageRequest { size: PageSize::from_wire(size), after: None }
}

pub async fn list_all(journal: &Journal, project: &str, size: i32) -> Vec<String> {
    let mut request = first_page(size);
    let mut listed = Vec::new();
    loop {
        let page = journal.list(project, request.clone()).await.unwrap();
        listed.extend(page.sessions.iter().map(|session| session.uid().to_string()));
        match page.next {
            Some(next) => request.after = Some(next),
            None => return listed,
        }
    }
}
