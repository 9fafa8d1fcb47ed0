//! Content hashes and the verification of a chain.

use prost::Message as _;
use wire::event::Body;
use wire::verify::{BadRecord, Problem, Verifier};
use wire::{
    ApprovalResult, Capabilities, ContentHash, Event, EventKind, ExecutionStart, HarnessSpec, IdentityRef, LogRecord,
    Message, RemotePlacement, Resumability, ToolResult, harness_spec, protobuf,
};

fn first_hash(event: &Event) -> String {
    wire::content_hash(event, 1, None).unwrap().hex()
}

fn log(length: i64) -> Vec<LogRecord> {
    let mut prev = None;
    (1..=length)
        .map(|seq| {
            let event = Event::new(EventKind::EventInput, Body::Message(Message::text("user", format!("input {seq}"))));
            let hash = wire::content_hash(&event, seq as u64, prev.as_ref()).unwrap();
            let prev_hash = prev.replace(hash).map(|hash| hash.hex()).unwrap_or_default();
            LogRecord { seq, prev_hash, content_hash: hash.hex(), fence: 1, event: Some(event) }
        })
        .collect()
}

fn verify(records: &[LogRecord]) -> Result<(), BadRecord> {
    let mut verifier = Verifier::new();
    records.iter().try_for_each(|record| verifier.check(record))
}

#[test]
fn a_hash_covers_time_schema_version_and_actor() {
    let event = Event {
        execution_id: "exec-1".into(),
        schema_version: 1,
        ts: Some(protobuf::Timestamp { seconds: 1_700_000_000, nanos: 0 }),
        actor: Some(IdentityRef { principal: "agent://a".into(), issuer: "entra".into(), subject: "sub-1".into() }),
        ..Event::new(EventKind::EventOutput, Body::Message(Message::text("assistant", "hello")))
    };
    assert_eq!(first_hash(&event), "551bd146050c8d630b0c3b999a4445f3792a470db9bca443d8d4a67706283fcc");
}

#[test]
fn a_start_is_hashed_with_its_exact_integers_and_with_a_count_of_zero() {
    let hash = |execution, start| {
        first_hash(&Event::new(EventKind::EventExecutionStart, Body::ExecutionStart(start)).of_execution(execution))
    };
    let start = ExecutionStart {
        config: vec![0, 0xff, 0x20, 0x0a, 0x09],
        resume_from_seq: 9_007_199_254_740_993,
        input_count: Some(2),
        ..Default::default()
    };
    assert_eq!(hash("exec-config", start), "aa1f42a26b7a227836d32d31608ebb69c59f3b1c57eadd8537b6faf88a01c790");
    let start = ExecutionStart { input_count: Some(0), ..Default::default() };
    assert_eq!(hash("exec-default", start), "b09cbff45d5a30990c3b72be8b06af6bc509d5a29a849aab5fd42153ef10ec65");
}

#[test]
fn records_from_before_the_approval_fields_keep_their_hashes() {
    let result = Body::Result(ToolResult { id: "c1".into(), ..Default::default() });
    let approval = ApprovalResult { tool_call_id: "c1".into(), reason: "no".into(), ..Default::default() };
    let old = [
        (
            Event::new(EventKind::EventToolResult, result),
            "38055a040a026331",
            "2eddf9826b382796691c15da8ee7dd6af7b41dbab55c949f131ed2933e0b0d8e",
        ),
        (
            Event::new(EventKind::EventApprovalResult, Body::ApprovalResult(approval)),
            "38076a080a0263311a026e6f",
            "c36a909b1ea5f243536ff6b4f1770e99e47b35cb1dfb94c2e943b85a42206bea",
        ),
    ];
    for (event, bytes, hash) in old {
        assert_eq!(first_hash(&event), hash);
        assert_eq!(Event::decode(hex::decode(bytes).unwrap().as_slice()).unwrap(), event);
    }
}

#[test]
fn a_spec_digest_covers_the_address_as_written() {
    let digest = |address: &str, descriptor_id: &str| {
        let placement = harness_spec::Placement::Remote(RemotePlacement { address: address.into() });
        let capabilities = Capabilities { resumability: Resumability::StatelessReplay.into(), ..Default::default() };
        wire::spec_digest(&HarnessSpec {
            placement: Some(placement),
            capabilities: Some(capabilities),
            descriptor_id: descriptor_id.into(),
        })
        .unwrap()
    };
    let echo = digest("127.0.0.1:9000", "echo");
    assert_eq!(echo, "sha256:f0c96c8b67d5dc75be557f64ccd59496eaf9cfb102754ee54e9d4c571eb2eafc");
    assert_ne!(echo, digest("dns:///127.0.0.1:9000", "echo"));
}

#[test]
fn a_hash_is_64_lowercase_hex_digits() {
    let hash = ContentHash::from_bytes([0xab; 32]);
    assert_eq!(hash.to_string(), "ab".repeat(32));
    assert_eq!(hash.hex().parse(), Ok(hash));
    assert!("AB".repeat(32).parse::<ContentHash>().is_err());
    assert!("ab".repeat(31).parse::<ContentHash>().is_err());
    assert!("zz".repeat(32).parse::<ContentHash>().is_err());
    assert_eq!(ContentHash::parse_prev(""), Ok(None));
    assert_eq!(ContentHash::parse_prev(&hash.hex()), Ok(Some(hash)));
}

#[test]
fn an_untouched_log_verifies_whole_and_from_any_point() {
    let records = log(5);
    verify(&records).unwrap();
    let mut verifier = Verifier::after(3, records[2].content_hash.parse().ok());
    records[3..].iter().for_each(|record| verifier.check(record).unwrap());
    assert_eq!(verifier.last_seq(), 5);
    assert_eq!(verifier.head().map(ContentHash::hex), Some(records[4].content_hash.clone()));
}

#[test]
fn the_first_bad_record_is_named_with_what_is_wrong() {
    let tampered = |change: fn(&mut Vec<LogRecord>)| {
        let mut records = log(4);
        change(&mut records);
        verify(&records).unwrap_err()
    };
    let at_three = |problem| BadRecord { seq: 3, problem };

    let bad = tampered(|records| records[2].event.as_mut().unwrap().execution_id.push('x'));
    assert_eq!(bad, at_three(Problem::ContentHash));
    let bad = tampered(|records| records[2].content_hash = records[1].content_hash.clone());
    assert_eq!(bad, at_three(Problem::ContentHash));
    let bad = tampered(|records| records[2].prev_hash = records[2].content_hash.clone());
    assert_eq!(bad, at_three(Problem::PrevHash));
    let bad = tampered(|records| records[2].prev_hash.clear());
    assert_eq!(bad, at_three(Problem::PrevHash));
    let bad = tampered(|records| drop(records.remove(2)));
    assert_eq!(bad, at_three(Problem::SeqGap { found: 4 }));
    let bad = tampered(|records| records[2].seq = -3);
    assert_eq!(bad, at_three(Problem::SeqGap { found: -3 }));
    let bad = tampered(|records| records[2].event = None);
    assert_eq!(bad, at_three(Problem::NoEvent));
    let bad = tampered(|records| {
        records[2].event.as_mut().unwrap().ts = Some(protobuf::Timestamp { seconds: i64::MAX, nanos: 0 });
    });
    assert_eq!(bad, at_three(Problem::NotCanonical(wire::NotCanonical::Timestamp)));
    assert_eq!(bad.to_string().lines().count(), 1);
}

#[test]
fn a_rewritten_record_breaks_the_link_after_it() {
    let mut records = log(4);
    let first = records[0].content_hash.parse().unwrap();
    let event = records[1].event.as_mut().unwrap();
    event.execution_id = "forged".into();
    let hash = wire::content_hash(event, 2, Some(&first)).unwrap();
    records[1].content_hash = hash.hex();
    assert_eq!(verify(&records), Err(BadRecord { seq: 3, problem: Problem::PrevHash }));
}

#[test]
fn a_fence_is_not_covered() {
    let mut records = log(2);
    records[1].fence = 99;
    verify(&records).unwrap();
}
