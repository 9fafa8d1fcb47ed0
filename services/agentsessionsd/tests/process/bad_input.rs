//! The table of refusals (execution.md §12): every row, over the wire.

use support::{Api, NodeBuilder, text};
use tonic::{Code, Response, Status};
use wire::{
    ApproveRequest, CancelRequest, CreateSessionRequest, DeleteSessionRequest, ExecRequest, ForkRequest,
    GetSessionRequest, IdentityRef, ListSessionsRequest, ReplayRequest, ResumeRequest, Session, SuspendRequest,
};

const UNKNOWN: &str = "sess-000000000000000000000000";
const FOREIGN_TOKEN: &str = "bm90IG9uZSBvZiBvdXJz";

fn code<T>(answer: Result<Response<T>, Status>) -> Code {
    answer.err().map_or(Code::Ok, |status| status.code())
}

/// Something that is no session: empty, impossible, and simply unknown.
fn no_sessions() -> [(String, Code); 4] {
    [
        (String::new(), Code::InvalidArgument),
        (UNKNOWN.to_owned(), Code::NotFound),
        ("a\0b".to_owned(), Code::NotFound),
        ("x".repeat(100_000), Code::NotFound),
    ]
}

async fn api(directory: &tempfile::TempDir) -> (support::NodeProcess, Api) {
    let node = NodeBuilder::new(directory.path()).start().await;
    let api = node.api().await;
    (node, api)
}

#[tokio::test]
async fn calls_on_a_session_that_is_not_there_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    for (session, expected) in no_sessions() {
        let name = session.chars().take(10).collect::<String>();
        let get = GetSessionRequest { uid: session.clone() };
        assert_eq!(code(api.client.get_session(get).await), expected, "get {name:?}");
        let suspend = SuspendRequest { session: session.clone() };
        assert_eq!(code(api.client.suspend(suspend).await), expected, "suspend {name:?}");
        let resume = ResumeRequest { session: session.clone(), ..ResumeRequest::default() };
        assert_eq!(code(api.client.resume(resume).await), expected, "resume {name:?}");
        let fork = ForkRequest { session: session.clone(), ..ForkRequest::default() };
        assert_eq!(code(api.client.fork(fork).await), expected, "fork {name:?}");
        let replay = ReplayRequest { session: session.clone(), ..ReplayRequest::default() };
        let mut records = api.client.replay(replay).await.unwrap().into_inner();
        assert_eq!(records.message().await.unwrap(), None, "replay {name:?}");
        if !session.is_empty() {
            let exec = ExecRequest { session, inputs: vec![text("x")], ..ExecRequest::default() };
            let (updates, failure) = api.exec(exec).await;
            assert_eq!((updates.len(), failure.unwrap().code()), (0, Code::NotFound), "exec {name:?}");
        }
    }
}

#[tokio::test]
async fn unknown_harnesses_are_invalid_arguments_and_create_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    let harness = || "no-such-harness".to_owned();
    let session = Session { harness: harness(), ..Session::default() };
    let create = CreateSessionRequest { session: Some(session) };
    assert_eq!(code(api.client.create_session(create).await), Code::InvalidArgument);
    for session in ["", UNKNOWN] {
        let exec = ExecRequest { session: session.into(), harness: harness(), ..ExecRequest::default() };
        let (updates, failure) = api.exec(exec).await;
        assert_eq!((updates.len(), failure.unwrap().code()), (0, Code::InvalidArgument), "{session:?}");
    }
    let list = api.client.list_sessions(ListSessionsRequest::default()).await.unwrap().into_inner();
    assert_eq!(list.sessions.len(), 0);
}

#[tokio::test]
async fn operations_that_are_not_offered_say_so() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    for session in [session, UNKNOWN.to_owned(), String::new()] {
        let delete = DeleteSessionRequest { uid: session.clone(), ..DeleteSessionRequest::default() };
        assert_eq!(code(api.client.delete_session(delete).await), Code::Unimplemented);
        let cancel = CancelRequest { session, ..CancelRequest::default() };
        assert_eq!(code(api.client.cancel(cancel).await), Code::Unimplemented);
    }
}

#[tokio::test]
async fn page_tokens_of_others_are_refused_and_odd_page_sizes_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    for _ in 0..3 {
        api.create("echo").await;
    }
    let mut list = async |page_size: i32, page_token: &str, project: &str| {
        let request = ListSessionsRequest {
            project: project.into(),
            page_size,
            page_token: page_token.into(),
            ..Default::default()
        };
        api.client.list_sessions(request).await.map(Response::into_inner)
    };
    for token in [FOREIGN_TOKEN, "%", "\u{fffd}", &"A".repeat(10_000)] {
        let refused = list(1, token, "").await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{}", refused.message());
    }
    for page_size in [i32::MIN, -1, 0, i32::MAX] {
        assert_eq!(list(page_size, "", "").await.unwrap().sessions.len(), 3, "{page_size}");
    }
    assert_eq!(list(0, "", "other project").await.unwrap().sessions.len(), 0);
    let first = list(2, "", "").await.unwrap();
    assert_eq!((first.sessions.len(), first.next_page_token.is_empty()), (2, false));
    let second = list(2, &first.next_page_token, "").await.unwrap();
    assert_eq!((second.sessions.len(), second.next_page_token.is_empty()), (1, true));
}

#[tokio::test]
async fn forks_out_of_range_are_refused_and_list_no_child() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    api.turn(&session, "x").await;
    let fork = || ForkRequest { session: session.clone(), ..ForkRequest::default() };
    let refused = [
        ForkRequest { identity: Some(IdentityRef::default()), ..fork() },
        ForkRequest { count: 129, ..fork() },
        ForkRequest { count: i32::MAX, ..fork() },
        ForkRequest { count: -1, ..fork() },
        ForkRequest { count: 2, child_names: vec!["only one".into()], ..fork() },
        ForkRequest { at_seq: 6, ..fork() },
        ForkRequest { at_seq: i64::MAX, ..fork() },
    ];
    for request in refused {
        assert_eq!(code(api.client.fork(request.clone()).await), Code::InvalidArgument, "{request:?}");
    }
    let identity = ForkRequest { identity: Some(IdentityRef::default()), ..ForkRequest::default() };
    let status = api.client.fork(identity).await.unwrap_err();
    assert_eq!(status.message(), "ForkRequest.identity is unsupported: per-child principals are not enforced");
    assert_eq!(api.client.list_sessions(ListSessionsRequest::default()).await.unwrap().get_ref().sessions.len(), 1);
}

#[tokio::test]
async fn an_expectation_that_no_head_meets_is_a_lost_race() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    for expected in [-1, 1, i64::MIN, i64::MAX] {
        let exec =
            ExecRequest { session: session.clone(), expected_last_seq: Some(expected), ..ExecRequest::default() };
        let (updates, failure) = api.exec(exec).await;
        assert_eq!((updates.len(), failure.unwrap().code()), (1, Code::Aborted), "{expected}");
    }
    let zero = ExecRequest { session: session.clone(), expected_last_seq: Some(0), ..ExecRequest::default() };
    assert!(api.exec(zero).await.1.is_none());
}

#[tokio::test]
async fn numbers_at_the_edges_of_a_replay_are_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    let all = api.turn(&session, "x").await.len();
    let cases = [(i64::MIN, 0, all), (0, i64::MAX, all), (2, 2, 1), (3, 2, 0), (i64::MAX, 0, 0), (1, 0, all)];
    for (from_seq, to_seq, expected) in cases {
        let replay = ReplayRequest { session: session.clone(), from_seq, to_seq };
        let mut records = api.client.replay(replay).await.unwrap().into_inner();
        let mut count = 0;
        while records.message().await.unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, expected, "{from_seq}..={to_seq}");
    }
}

#[tokio::test]
async fn a_past_deadline_in_the_request_ends_it_before_anything_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    let session = api.create("echo").await.metadata.unwrap().uid;
    let past = ExecRequest { session: session.clone(), deadline_unix: 1, ..ExecRequest::default() };
    assert_eq!(api.exec(past).await.1.unwrap().code(), Code::DeadlineExceeded);
    assert_eq!(api.log(&session).await.len(), 0);
    for none in [0, -1, i64::MIN] {
        let exec = ExecRequest { session: session.clone(), deadline_unix: none, ..ExecRequest::default() };
        assert!(api.exec(exec).await.1.is_none(), "{none}");
    }
}

#[tokio::test]
async fn incomplete_approvals_are_invalid_before_the_session_is_looked_for() {
    let directory = tempfile::tempdir().unwrap();
    let (_node, mut api) = api(&directory).await;
    let whole = ApproveRequest {
        session: UNKNOWN.to_owned(),
        execution_id: "e".to_owned(),
        tool_call_id: "t".to_owned(),
        request_seq: 1,
        approved: Some(true),
        ..ApproveRequest::default()
    };
    let incomplete = [
        ApproveRequest { session: String::new(), ..whole.clone() },
        ApproveRequest { execution_id: String::new(), ..whole.clone() },
        ApproveRequest { tool_call_id: String::new(), ..whole.clone() },
        ApproveRequest { request_seq: 0, ..whole.clone() },
        ApproveRequest { request_seq: i64::MIN, ..whole.clone() },
        ApproveRequest { approved: None, ..whole.clone() },
    ];
    for request in incomplete {
        assert_eq!(code(api.client.approve(request.clone()).await), Code::InvalidArgument, "{request:?}");
    }
}
