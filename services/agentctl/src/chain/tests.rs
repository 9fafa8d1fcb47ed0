use wire::event::Body;
use wire::verify::Problem;
use wire::{Event, EventKind, Message};

use super::*;

/// An export of `count` records.
fn export(count: u64) -> Vec<u8> {
    let mut prev: Option<ContentHash> = None;
    let mut export = Vec::new();
    for seq in 1..=count {
        let event = Event::new(EventKind::EventInput, Body::Message(Message::text("user", format!("text {seq}"))));
        let hash = wire::content_hash(&event, seq, prev.as_ref()).unwrap();
        let record = LogRecord {
            seq: seq.try_into().unwrap(),
            prev_hash: prev.map(|hash| hash.to_string()).unwrap_or_default(),
            content_hash: hash.to_string(),
            fence: 1,
            event: Some(event),
        };
        serde_json::to_writer(&mut export, &record).unwrap();
        export.push(b'\n');
        prev = Some(hash);
    }
    export
}

fn finding(export: &[u8]) -> Finding {
    match check_export(export, || {}) {
        Err(CheckError::Finding(finding)) => finding,
        other => panic!("{other:?}"),
    }
}

fn without_line(export: &[u8], line: usize) -> Vec<u8> {
    let kept = export.split_inclusive(|byte| *byte == b'\n').enumerate().filter(|(index, _)| index + 1 != line);
    kept.flat_map(|(_, line)| line).copied().collect()
}

#[test]
fn a_good_export_is_counted_and_its_head_told() {
    let mut steps = 0;
    let verified = check_export(&*export(3), || steps += 1).unwrap();
    assert_eq!((verified.records, steps), (3, 3));
    let last = export(3).split(|byte| *byte == b'\n').nth(2).unwrap().to_vec();
    let last: LogRecord = serde_json::from_slice(&last).unwrap();
    assert_eq!(verified.to_string(), format!("records=3 head={}", last.content_hash));
}

#[test]
fn empty_lines_are_fine_and_nothing_else_is_not() {
    let spaced = [b"\n".as_slice(), &export(2), b"  \n\r\n"].concat();
    assert_eq!(check_export(&*spaced, || {}).unwrap().records, 2);
    for empty in [&b""[..], b"\n \n"] {
        assert_eq!(finding(empty).to_string(), "bad record seq=1: it is missing; the export has no record");
    }
}

/// A digit of the fence is the one thing in a record that is not hashed (journal.md §3).
#[test]
fn any_changed_byte_is_found_at_its_record_except_in_the_fence() {
    let good = export(3);
    let (start, end) = {
        let mut ends = good.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        (ends.next().unwrap() + 1, ends.next().unwrap())
    };
    let fence = start + good[start..].windows(9).position(|window| window == br#""fence":""#).unwrap() + 9;
    for at in (start..end).filter(|at| *at != fence) {
        for flip in [0x01, 0x20, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            let finding = finding(&bad);
            assert_eq!(finding.seq, 2, "byte {at} of {:?}: {finding}", String::from_utf8_lossy(&bad[start..end]));
        }
    }
}

#[test]
fn what_was_tampered_with_is_told_from_what_cannot_be_decoded() {
    let good = String::from_utf8(export(3)).unwrap();
    let tampered = finding(good.replace("text 2", "text x").as_bytes());
    assert!(matches!(tampered.fault, Fault::Tampered(Problem::ContentHash)), "{tampered}");
    let broken = finding(good.replace("{\"text\":\"text 2\"", "{\"text\":\"text 2").as_bytes());
    assert!(matches!(broken.fault, Fault::Undecodable { line: 2, .. }), "{broken}");
    assert!(broken.to_string().starts_with("bad record seq=2: line 2 cannot be decoded: "), "{broken}");
    assert!(!broken.to_string().contains("at line 1"), "{broken}");
}

#[test]
fn a_removed_repeated_or_foreign_record_is_found() {
    let removed = finding(&without_line(&export(3), 2));
    assert!(matches!((removed.seq, &removed.fault), (2, Fault::Tampered(Problem::SeqGap { found: 3 }))), "{removed}");
    let repeated = finding(&[export(2), export(2)].concat());
    assert!(matches!((repeated.seq, &repeated.fault), (3, Fault::Tampered(Problem::SeqGap { found: 1 }))));
}

#[test]
fn the_number_of_records_must_lie_between_what_the_session_said_before_and_after() {
    assert!(check_length(5, 5..=5).is_ok());
    assert!(check_length(6, 5..=7).is_ok());
    assert!(check_length(0, 0..=0).is_ok());
    let missing = check_length(4, 5..=7).unwrap_err();
    assert_eq!(missing.to_string(), "bad record seq=5: it is missing; the session has last_seq=5");
    let surplus = check_length(8, 5..=7).unwrap_err();
    assert_eq!(surplus.to_string(), "bad record seq=8: the session ends before it, with last_seq=7");
}
