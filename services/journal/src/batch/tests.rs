use proptest::prelude::*;
use store::{KeyValue, limits};
use wire::event::Body;
use wire::{EventKind, Hasher, Message as WireMessage};

use super::*;
use crate::SessionUid;
use crate::keys::SessionKeys;

const WRITER: WriterToken = WriterToken::NOBODY;

fn event(size: usize) -> Event {
    Event::new(EventKind::EventOutput, Body::Message(WireMessage::text("assistant", "x".repeat(size))))
}

/// The rows of one append, and the records that they must read back as.
fn pack(sizes: &[usize]) -> (Vec<KeyValue>, Vec<LogRecord>) {
    let keys = SessionKeys::new(&SessionUid::parse("sess-1").unwrap());
    let mut packer = Packer::new(&keys, Fence::stored(7), WRITER);
    let mut hasher = Hasher::default();
    let mut projection = Projection::default();
    let mut previous: Option<ContentHash> = None;
    let mut records = Vec::new();
    for (seq, size) in (1..).zip(sizes) {
        let (seq, event) = (Seq::stored(seq), event(*size));
        let hash = hasher.content_hash(&event, seq.get(), previous.as_ref()).unwrap();
        packer.push(seq, &hash, &event, &projection);
        projection.apply(seq, &event);
        let prev_hash = previous.map_or_else(String::new, |hash| hash.hex());
        previous = Some(hash);
        records.push(LogRecord {
            seq: seq.to_wire(),
            prev_hash,
            content_hash: hash.hex(),
            fence: 7,
            event: Some(event),
        });
    }
    (packer.finish(), records)
}

fn assemble(rows: Vec<KeyValue>) -> Vec<Batch> {
    let mut assembler = Assembler::default();
    rows.into_iter().filter_map(|row| assembler.push(row).unwrap()).collect()
}

fn read(batches: Vec<Batch>, from: u64, to: u64) -> Vec<LogRecord> {
    let (mut view, mut records) = (View::default(), Vec::new());
    for batch in batches {
        batch.read(Seq::stored(from), Seq::stored(to), &mut view, &mut records).unwrap();
    }
    records
}

/// Sizes around those at which an event alone fills a value, and small ones.
fn size() -> impl Strategy<Value = usize> {
    let value = limits::VALUE_BYTES;
    prop_oneof![6 => 0..300_usize, 2 => value / 3..value / 2, 2 => value - 200..value + 20, 1 => 2 * value - 200..3 * value]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn batches_read_back_whatever_the_sizes(sizes in proptest::collection::vec(size(), 1..12)) {
        let (rows, records) = pack(&sizes);
        prop_assert!(rows.iter().all(|row| row.value.len() <= limits::VALUE_BYTES));
        prop_assert!(rows.is_sorted_by(|one, next| one.key < next.key));
        let batches = assemble(rows);
        prop_assert_eq!(batches[0].first(), Seq::FIRST);
        prop_assert!(batches.windows(2).all(|pair| pair[0].last().next() == pair[1].first()));
        prop_assert_eq!(read(batches, 1, u64::MAX), records);
    }

    #[test]
    fn a_range_inside_of_batches_reads_as_the_part_of_the_whole(
        sizes in proptest::collection::vec(0..60_000_usize, 1..9),
        from in 1..9_u64,
        to in 0..9_u64,
    ) {
        let (rows, records) = pack(&sizes);
        let expected: Vec<_> = records.into_iter().filter(|r| (from..=to).contains(&(r.seq as u64))).collect();
        prop_assert_eq!(read(assemble(rows), from, to), expected);
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(batch) = Batch::decode(Seq::FIRST, bytes.into()) {
            let _ = batch.projection_at(batch.last());
            let _ = batch.read(Seq::FIRST, batch.last(), &mut View::default(), &mut Vec::new());
        }
    }
}

#[test]
fn a_small_append_is_one_value() {
    assert_eq!(pack(&[10, 200, 3_000]).0.len(), 1);
}

#[test]
fn the_last_size_that_fits_is_one_value_and_the_next_is_two_pieces() {
    let values = |size| pack(&[size]).0.len();
    let fits = (99_000..100_000).rev().find(|size| values(*size) == 1).unwrap();
    assert_eq!(pack(&[fits]).0[0].value.len(), limits::VALUE_BYTES);
    assert_eq!(values(fits + 1), 2);
}

#[test]
fn the_first_piece_of_a_divided_batch_tells_its_writer_and_hash() {
    let (rows, records) = pack(&[250_000]);
    assert_eq!(rows.len(), 3);
    let batch = Batch::decode(Seq::FIRST, rows[0].value.clone()).unwrap();
    assert!(batch.is_by(WRITER));
    assert_eq!(batch.hash(Seq::FIRST).unwrap().hex(), records[0].content_hash);
    assert_eq!(batch.hash(Seq::FIRST.next()), None);
}

#[test]
fn missing_repeated_and_foreign_pieces_are_corrupt() {
    let (rows, _) = pack(&[250_000]);
    let fails = |order: &[usize]| {
        let mut assembler = Assembler::default();
        order.iter().any(|index| assembler.push(rows[*index].clone()).is_err())
    };
    assert!(fails(&[1]) && fails(&[0, 2]) && fails(&[0, 0]));
    assert!(!fails(&[0, 1, 2]));
}

#[test]
fn a_fork_point_inside_of_a_batch_has_its_own_projection() {
    let keys = SessionKeys::new(&SessionUid::parse("sess-1").unwrap());
    let mut packer = Packer::new(&keys, Fence::FIRST, WRITER);
    let events = ["e1", "e2", "e3"].map(|id| event(1).of_execution(id));
    let mut projection = Projection::default();
    let mut expected = Vec::new();
    for (seq, event) in (1..).map(Seq::stored).zip(&events) {
        packer.push(seq, &ContentHash::from_bytes([1; 32]), event, &projection);
        projection.apply(seq, event);
        expected.push(projection.clone());
    }
    let batch = assemble(packer.finish()).remove(0);
    for (seq, projection) in (1..).map(Seq::stored).zip(expected) {
        assert_eq!(batch.projection_at(seq), Ok(projection));
    }
}
