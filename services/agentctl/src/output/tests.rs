use insta::assert_snapshot;
use wire::event::Body;
use wire::{
    ApprovalRef, ApprovalResult, ComputeState, Event, EventKind, FilePart, Lifecycle, LogRecord, Mediation, Message,
    Part, ResourceMetadata, Session, ToolCall, ToolResult, file_part, lifecycle, part,
};

use super::text::{Child, Decided, Described, Listed, Marked, Record, Waiting};
use super::*;

fn output(format: Format) -> Output<Vec<u8>> {
    Output { out: Vec::new(), format, interactive: false, inside_line: false }
}

fn printed(output: Output<Vec<u8>>) -> String {
    String::from_utf8(output.out).unwrap()
}

fn session() -> Session {
    let metadata = ResourceMetadata {
        project: "default".into(),
        name: "first try".into(),
        uid: "sess-00112233445566778899aabb".into(),
        ..Default::default()
    };
    Session {
        metadata: Some(metadata),
        harness: "echo".into(),
        last_seq: 12,
        parent_uid: "sess-parent".into(),
        fork_seq: 11,
        compute_state: ComputeState::ComputeCold.into(),
        ..Default::default()
    }
}

fn record(seq: i64, kind: EventKind, body: Option<Body>) -> LogRecord {
    LogRecord { seq, event: Some(Event::new(kind, body)), ..Default::default() }
}

fn input(seq: i64) -> LogRecord {
    let parts = vec![Part::text("two "), Part::data(Default::default()), Part::text("texts")];
    record(seq, EventKind::EventInput, Some(Body::Message(Message { role: "user".into(), parts })))
}

#[test]
fn a_waiting_session_names_what_it_waits_for() {
    let pending = ApprovalRef { execution_id: "e1".into(), tool_call_id: "c1".into(), request_seq: 9 };
    let session = Session { pending_approval: Some(pending), ..session() };
    assert_snapshot!(Waiting(&session), @"sess-00112233445566778899aabb	execution=e1	tool_call=c1	request_seq=9	harness=echo	name=first try");
}

#[test]
fn decisions_print_as_the_contract_says() {
    for approved in [true, false] {
        let body = Body::ApprovalResult(ApprovalResult { approved, ..Default::default() });
        let decision = record(10, EventKind::EventApprovalResult, Some(body));
        let line = Decided { decision: &decision, session: &session() }.to_string();
        let uid = "sess-00112233445566778899aabb";
        assert_eq!(
            line,
            format!("session {uid} decision committed seq=10 approved={approved} compute=COLD last_seq=12")
        );
    }
}

#[test]
fn sessions_print_as_the_contract_says() {
    let session = session();
    let lines = format!(
        "{}\n{}\n{}\n{}",
        Listed(&session),
        Described(&session),
        Marked { session: &session, by: "suspend" },
        Child(&session)
    );
    assert_snapshot!(lines, @r"
    sess-00112233445566778899aabb	last_seq=12	compute=COLD	harness=echo	name=first try
    session sess-00112233445566778899aabb project=default name=first try harness=echo last_seq=12 compute=COLD
    session sess-00112233445566778899aabb suspend compute=COMPUTE_COLD last_seq=12
    child sess-00112233445566778899aabb parent=sess-parent fork_seq=11 name=first try
    ");
}

#[test]
fn a_session_without_anything_prints_too() {
    assert_snapshot!(Described(&Session::default()), @"session  project= name= harness= last_seq=0 compute=STATE_UNSPECIFIED");
    let newer = Session { compute_state: 77, ..Session::default() };
    assert_snapshot!(Marked { session: &newer, by: "resume" }, @"session  resume compute=77 last_seq=0");
}

#[test]
fn records_print_in_columns_with_the_text_of_messages() {
    let mut output = output(Format::Text);
    for record in [record(1, EventKind::EventExecutionStart, None), input(22), input(4444)] {
        output.line(Record(&record), &record).unwrap();
    }
    assert_snapshot!(printed(output), @r"
    seq=1   EVENT_EXECUTION_START
    seq=22  EVENT_INPUT  user: two texts
    seq=4444 EVENT_INPUT  user: two texts
    ");
}

#[test]
fn records_say_what_a_person_has_to_know_who_decides() {
    let arguments = serde_json::from_value(serde_json::json!({ "to": "a\nb", "amount": 5 })).unwrap();
    let call = ToolCall {
        id: "c1".into(),
        tool: "pay".into(),
        args: Some(arguments),
        mediation: Mediation::RequiresApproval.into(),
        ..Default::default()
    };
    let decision = ApprovalResult { tool_call_id: "c1".into(), reason: "no".into(), ..Default::default() };
    let refused = ToolResult { id: "c1".into(), is_error: true, error: "denied".into(), ..Default::default() };
    let fork = Lifecycle { kind: lifecycle::Kind::LifecycleFork.into(), detail: "p@3".into(), ..Default::default() };
    let error = wire::Error { description: "model failed".into(), ..Default::default() };
    let bodies = [
        (EventKind::EventToolCall, Body::Tool(call)),
        (EventKind::EventApprovalResult, Body::ApprovalResult(decision)),
        (EventKind::EventToolResult, Body::Result(refused)),
        (EventKind::EventLifecycle, Body::Lifecycle(fork)),
        (EventKind::EventError, Body::Error(error)),
    ];
    let lines: Vec<_> =
        bodies.into_iter().map(|(kind, body)| Record(&record(3, kind, Some(body))).to_string()).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    seq=3   EVENT_TOOL_CALL  c1: pay {"amount":5,"to":"a\nb"} (needs approval)
    seq=3   EVENT_APPROVAL_RESULT  c1: denied no
    seq=3   EVENT_TOOL_RESULT  c1: failed: denied
    seq=3   EVENT_LIFECYCLE  FORK p@3
    seq=3   EVENT_ERROR  model failed
    "#);
}

#[test]
fn records_of_invocations_say_what_was_invoked_and_what_it_came_to() {
    let data = |data: serde_json::Value| Part::data(serde_json::from_value(data).unwrap());
    let invoked = serde_json::json!({
        "agentType": "lines", "method": "count", "methodParameters": "{\"text\":\"a\\nb\"}", "idempotencyKey": "k\u{1b}"
    });
    let source = Some(file_part::Source::Uri("stream:00000001".into()));
    let stream = part::Part::File(FilePart { name: "input".into(), source, ..Default::default() });
    let messages = [
        (EventKind::EventInput, "user", vec![data(invoked)]),
        (EventKind::EventOutput, "assistant", vec![data(serde_json::json!({ "result": "{\"lines\":2}" }))]),
        (EventKind::EventOutput, "assistant", vec![stream.into(), data(serde_json::json!({ "itemCount": "2" }))]),
        (EventKind::EventOutput, "assistant", vec![data(serde_json::json!({ "of": { "a": [1, null] }, "to": true }))]),
    ];
    let line = |(kind, role, parts): (EventKind, &str, Vec<Part>)| {
        Record(&record(3, kind, Some(Body::Message(Message { role: role.into(), parts })))).to_string()
    };
    assert_snapshot!(messages.map(line).join("\n"), @r#"
    seq=3   EVENT_INPUT  user: agentType=lines idempotencyKey=k\u{1b} method=count methodParameters={"text":"a\nb"}
    seq=3   EVENT_OUTPUT  assistant: result={"lines":2}
    seq=3   EVENT_OUTPUT  assistant: input=stream:00000001 itemCount=2
    seq=3   EVENT_OUTPUT  assistant: of={"a":[1,null]} to=true
    "#);
}

#[test]
fn text_from_elsewhere_cannot_move_the_cursor_or_forge_a_line() {
    let metadata = ResourceMetadata { name: "n\u{1b}[31m7\nX\tY\u{202e}".into(), ..Default::default() };
    let session = Session { metadata: Some(metadata), ..Session::default() };
    let line = Listed(&session).to_string();
    assert!(line.ends_with(r"name=n\u{1b}[31m7\nX\tY\u{202e}"), "{line}");

    let message = Message { role: "user".into(), parts: vec![Part::text("a\nseq=9 EVENT_END\u{7}")] };
    let forged = record(1, EventKind::EventInput, Some(Body::Message(message)));
    assert_eq!(Record(&forged).to_string(), "seq=1   EVENT_INPUT  user: a\n        seq=9 EVENT_END\\u{7}");
}

#[test]
fn streamed_text_is_raw_unless_it_goes_to_a_terminal() {
    for (interactive, expected) in [(false, "a\u{1b}[2J\tb\nc"), (true, "a\\u{1b}[2J\tb\nc")] {
        let mut output = Output { interactive, ..output(Format::Text) };
        output.streamed("a\u{1b}[2J\tb\nc").unwrap();
        assert_eq!(printed(output), expected);
    }
}

#[test]
fn json_is_one_object_per_line_with_the_names_of_the_proto_files() {
    let mut output = output(Format::Json);
    output.line("", &input(2)).unwrap();
    output.line("", &session()).unwrap();
    assert_snapshot!(printed(output), @r#"
    {"event":{"kind":"EVENT_INPUT","message":{"parts":[{"text":{"text":"two "}},{"data":{"data":{}}},{"text":{"text":"texts"}}],"role":"user"}},"seq":"2"}
    {"compute_state":"COMPUTE_COLD","fork_seq":"11","harness":"echo","last_seq":"12","metadata":{"name":"first try","project":"default","uid":"sess-00112233445566778899aabb"},"parent_uid":"sess-parent"}
    "#);
}

#[test]
fn a_line_after_streamed_text_starts_on_its_own() {
    let mut output = output(Format::Text);
    for chunk in ["hel", "", "lo"] {
        output.streamed(chunk).unwrap();
    }
    output.line("next", &()).unwrap();
    output.streamed("ends itself\n").unwrap();
    output.line("last", &()).unwrap();
    assert_eq!(printed(output), "hello\nnext\nends itself\nlast\n");
}

#[test]
fn a_reader_that_went_away_is_told_from_a_full_disk() {
    let error = |kind| OutputError::from(io::Error::from(kind));
    assert!(error(io::ErrorKind::BrokenPipe).is_closed());
    assert!(!error(io::ErrorKind::StorageFull).is_closed());
}
