//! Inputs: each item once, in order, as it came.

use bytes::Bytes;
use journal::Journal;
use journal::invocations::{
    Comparison, FrameItem, InputChange, InputOutcome, InputWrite, Lease, LeaseError, MAX_ITEM_BYTES, MAX_NEW_STREAMS,
    MAX_STREAMS, OutputChange, OutputWrite, Owner, Rule, StreamId, Terminal, Volume,
};
use store::counted::Counted;
use store::memory::Memory;

use super::support::*;
use crate::support::{in_memory, open};

fn refused(rule: Rule) -> InputOutcome {
    InputOutcome::Refused(rule)
}

fn introducing(stream: StreamId, first: u64, inputs: &[u128]) -> InputWrite {
    let streams = inputs.iter().map(|&provisional| input(provisional)).collect();
    InputWrite { stream, change: InputChange::Put { first, item: value("{}"), charge: 2, streams } }
}

#[tokio::test]
async fn items_are_read_back_as_they_came() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    let binary = FrameItem::Binary { data: Bytes::from_static(b"\0\xff"), mime: Some("a/b".to_owned()) };
    let empty = FrameItem::Binary { data: Bytes::new(), mime: None };
    let items = [octets("abc"), octets("d"), value("{\"a\":1}"), binary, empty];
    let mut first = 0;
    let mut writes = Vec::new();
    for item in &items {
        writes.push(put(stream, first, item.clone()));
        first += item.count();
    }
    let outcomes = journal.put_inputs(&lease, writes).await.unwrap();
    assert_eq!(outcomes, vec![stored(); items.len()]);
    let read = frames(&journal, &invocation, stream, 0).await;
    assert_eq!(read.iter().map(|frame| frame.item.clone()).collect::<Vec<_>>(), items);
    assert_eq!(read.iter().map(|frame| frame.first).collect::<Vec<_>>(), [0, 3, 4, 5, 6]);
    assert_eq!(progress(&journal, &invocation, stream).await.next, first);
    // Within a batch: the whole batch.
    assert_eq!(frames(&journal, &invocation, stream, 2).await, read);
    assert_eq!(frames(&journal, &invocation, stream, 3).await, read[1..]);
    assert_eq!(frames(&journal, &invocation, stream, first).await, []);
}

#[tokio::test]
async fn i3_an_item_is_judged_by_where_it_begins() {
    let journal = in_memory().await;
    let (_, lease, _, stream) = started(&journal).await;
    for (write, expected) in [
        (put(stream, 1, octets("b")), refused(Rule::InputGap)),
        (put(stream, 0, octets("abcd")), stored()),
        (put(stream, 5, octets("f")), refused(Rule::InputGap)),
        (put(stream, 0, octets("abcd")), stored()),
        (put(stream, 0, octets("abcx")), refused(Rule::InputConflict)),
        (put(stream, 0, octets("abc")), refused(Rule::InputConflict)),
        (put(stream, 1, octets("bcd")), refused(Rule::InputConflict)),
        (put(stream, 2, octets("cdef")), refused(Rule::InputConflict)),
        (put(stream, 0, value("abcd")), refused(Rule::InputConflict)),
        (put(stream, 4, octets("ef")), stored()),
        (put(stream, 0, octets("abcdef")), refused(Rule::InputConflict)),
    ] {
        assert_eq!(put_one(&journal, &lease, write.clone()).await, expected, "{write:?}");
    }
}

#[tokio::test]
async fn i3_a_mime_type_is_content() {
    let journal = in_memory().await;
    let (_, lease, _, stream) = started(&journal).await;
    let binary = |mime: Option<&str>| FrameItem::Binary { data: "a".into(), mime: mime.map(str::to_owned) };
    assert_eq!(put_one(&journal, &lease, put(stream, 0, binary(Some("a/b")))).await, stored());
    assert_eq!(put_one(&journal, &lease, put(stream, 0, binary(Some("a/b")))).await, stored());
    assert_eq!(put_one(&journal, &lease, put(stream, 0, binary(None))).await, refused(Rule::InputConflict));
}

#[tokio::test]
async fn i6_an_end_is_judged_by_how_many_items_there_are() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    put_one(&journal, &lease, put(stream, 0, octets("abc"))).await;
    for (items, expected) in [
        (4, refused(Rule::InputGap)),
        (2, refused(Rule::InputConflict)),
        (3, stored()),
        (3, stored()),
        (4, refused(Rule::InputConflict)),
    ] {
        assert_eq!(change(&journal, &lease, stream, InputChange::End(items)).await, expected, "{items}");
    }
    assert_eq!(progress(&journal, &invocation, stream).await.terminal, Some(Terminal::Ended));
    assert_eq!(put_one(&journal, &lease, put(stream, 3, octets("d"))).await, refused(Rule::ProtocolError));
    assert_eq!(put_one(&journal, &lease, put(stream, 0, octets("abc"))).await, refused(Rule::ProtocolError));
    let cancel = InputChange::Cancel("cancelled".to_owned());
    assert_eq!(change(&journal, &lease, stream, cancel).await, refused(Rule::InvalidChannel));
}

#[tokio::test]
async fn q1_nothing_follows_a_cancel_by_the_client() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    let cancel = || InputChange::Cancel("source-unavailable".to_owned());
    assert_eq!(change(&journal, &lease, stream, cancel()).await, stored());
    let terminal = Terminal::CancelledByClient("source-unavailable".to_owned());
    assert_eq!(progress(&journal, &invocation, stream).await.terminal, Some(terminal));
    assert_eq!(change(&journal, &lease, stream, cancel()).await, refused(Rule::InvalidChannel));
    assert_eq!(put_one(&journal, &lease, put(stream, 0, octets("a"))).await, refused(Rule::ProtocolError));
    assert_eq!(change(&journal, &lease, stream, InputChange::End(0)).await, refused(Rule::ProtocolError));
}

#[tokio::test]
async fn i8_what_comes_after_the_agent_gave_an_input_up_is_dropped() {
    let journal = in_memory().await;
    let (invocation, lease, run, stream) = started(&journal).await;
    let give_up = OutputWrite { stream, change: OutputChange::Drop("consumer-drop".to_owned()) };
    journal.put_outputs(&run, invocation.id, vec![give_up.clone()]).await.unwrap();
    for change in [InputChange::End(7), InputChange::Cancel("cancelled".to_owned())] {
        let outcomes = journal.put_inputs(&lease, vec![InputWrite { stream, change }]).await.unwrap();
        assert_eq!(outcomes, [InputOutcome::Dropped]);
    }
    assert_eq!(put_one(&journal, &lease, put(stream, 0, octets("a"))).await, InputOutcome::Dropped);
    assert_eq!(frames(&journal, &invocation, stream, 0).await, []);
    journal.put_outputs(&run, invocation.id, vec![give_up]).await.unwrap();
}

#[tokio::test]
async fn n4_a_stream_has_one_place() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    let ids = |inputs: &[u128]| InputOutcome::Stored {
        streams: inputs.iter().map(|&id| StreamId::input(invocation.id, input(id).provisional)).collect(),
    };
    for (write, expected) in [
        (introducing(stream, 0, &[10, 11]), ids(&[10, 11])),
        // Exact repetition is not a second use, and introduces the same streams.
        (introducing(stream, 0, &[10, 11]), ids(&[10, 11])),
        (introducing(stream, 1, &[12, 10]), refused(Rule::StreamAlreadyConsumed)),
        (introducing(stream, 1, &[1]), refused(Rule::StreamAlreadyConsumed)),
        (introducing(stream, 1, &[12, 12]), refused(Rule::StreamAlreadyConsumed)),
        (introducing(stream, 1, &[12]), ids(&[12])),
    ] {
        assert_eq!(put_one(&journal, &lease, write.clone()).await, expected, "{write:?}");
    }
    let streams = journal.streams(&invocation.session, invocation.id).await.unwrap();
    let nested = streams.iter().find(|of| of.provisional == Some(input(11).provisional)).unwrap();
    assert_eq!(nested.owner, Owner::Item(stream, 0));
    assert_eq!(put_one(&journal, &lease, put(nested.progress.id, 0, octets("in it"))).await, stored());
}

#[tokio::test]
async fn c4_streams_are_limited_in_a_value_and_in_an_invocation() {
    let journal = in_memory().await;
    let (_, lease, _, stream) = started(&journal).await;
    let some = |from: u128, count: usize| (from..from + count as u128).collect::<Vec<_>>();
    let too_many = introducing(stream, 0, &some(100, MAX_NEW_STREAMS + 1));
    assert_eq!(put_one(&journal, &lease, too_many).await, refused(Rule::ResourceExhausted));
    let mut first = 0;
    for from in (1..MAX_STREAMS).step_by(MAX_NEW_STREAMS) {
        let inputs = some(100 + from as u128, MAX_NEW_STREAMS.min(MAX_STREAMS - from));
        let outcome = put_one(&journal, &lease, introducing(stream, first, &inputs)).await;
        assert!(matches!(outcome, InputOutcome::Stored { .. }), "{from}: {outcome:?}");
        first += 1;
    }
    assert_eq!(put_one(&journal, &lease, introducing(stream, first, &[50])).await, refused(Rule::ResourceExhausted));
    assert_eq!(put_one(&journal, &lease, introducing(stream, first, &[])).await, stored());
}

#[tokio::test]
async fn a_put_ends_with_the_change_that_is_refused() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    let writes = vec![
        put(stream, 0, octets("ab")),
        // A repetition within one put.
        put(stream, 0, octets("ab")),
        put(stream, 3, octets("d")),
        put(stream, 2, octets("c")),
    ];
    let outcomes = journal.put_inputs(&lease, writes).await.unwrap();
    assert_eq!(outcomes, [stored(), stored(), refused(Rule::InputGap)]);
    assert_eq!(progress(&journal, &invocation, stream).await.next, 2);
}

#[tokio::test]
async fn a_note_of_what_the_agent_was_handed_does_not_read_the_input() {
    let counted = Counted::new(Memory::default());
    let journal = open(counted.clone()).await;
    let (invocation, _, run, stream) = started(&journal).await;
    let write = OutputWrite { stream, change: OutputChange::Handed(Volume::entry(1)) };
    let before = counted.reads();
    journal.put_outputs(&run, invocation.id, vec![write]).await.unwrap();
    let requests = counted.reads().requests - before.requests;
    assert_eq!(requests, 1, "who drives the queue: a put of the client conflicts with nothing");
}

#[tokio::test]
async fn only_inputs_can_be_written_by_the_holder() {
    let journal = in_memory().await;
    let (invocation, lease, _, _, to) = returned(&journal).await;
    let unknown = StreamId::input(invocation.id, attempt(9).id);
    for stream in [to, unknown] {
        assert_eq!(put_one(&journal, &lease, put(stream, 0, octets("a"))).await, refused(Rule::InvalidChannel));
    }
}

#[tokio::test]
async fn what_is_below_the_high_water_can_be_compared() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    journal.put_inputs(&lease, vec![introducing(stream, 0, &[10]), put(stream, 1, octets("abc"))]).await.unwrap();
    let compare = async |first, item| {
        journal.compare_input(&invocation.session, invocation.id, stream, first, &item).await.unwrap()
    };
    let nested = StreamId::input(invocation.id, input(10).provisional);
    assert_eq!(compare(0, value("{}")).await, Comparison::Same(vec![nested]));
    assert_eq!(compare(1, octets("abc")).await, Comparison::Same(Vec::new()));
    for (first, item) in [(0, value("[]")), (1, octets("ab")), (2, octets("bc")), (3, octets("cd")), (4, octets("e"))] {
        assert_eq!(compare(first, item).await, Comparison::Different);
    }
}

async fn assert_takes(journal: &Journal, lease: &Lease, stream: StreamId, first: u64, item: FrameItem) -> u64 {
    let end = first + item.count();
    assert_eq!(put_one(journal, lease, put(stream, first, item)).await, stored());
    end
}

#[tokio::test]
async fn items_of_every_size_are_read_back_up_to_the_largest() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    let mut next = 0;
    let mut items = Vec::new();
    for size in [1, 99_990, 100_000, 100_001, 1 << 20, 4 << 20, (4 << 20) + 1, 16 << 20] {
        let item = FrameItem::Binary { data: vec![size as u8; size].into(), mime: None };
        next = assert_takes(&journal, &lease, stream, next, item.clone()).await;
        items.push(item);
    }
    let read = frames(&journal, &invocation, stream, 0).await;
    assert!(read.into_iter().map(|frame| frame.item).eq(items.iter().cloned()));
    // A large one is repeated like any other.
    let last = items.len() as u64 - 1;
    assert_takes(&journal, &lease, stream, last, items.pop().unwrap()).await;
    let too_large = put(stream, next, octets(vec![0; MAX_ITEM_BYTES + 1]));
    let refused = journal.put_inputs(&lease, vec![too_large]).await;
    assert!(matches!(refused, Err(LeaseError::TooLarge(_))));
}

#[tokio::test]
async fn many_items_are_put_at_once_whatever_they_take_together() {
    let journal = in_memory().await;
    let (invocation, lease, _, stream) = started(&journal).await;
    let item = || octets(vec![5; 900_000]);
    let writes = (0..20).map(|index| put(stream, index * 900_000, item())).collect();
    let outcomes = journal.put_inputs(&lease, writes).await.unwrap();
    assert_eq!(outcomes, vec![stored(); 20]);
    assert!(
        frames(&journal, &invocation, stream, 0).await.into_iter().map(|frame| frame.item).eq((0..20).map(|_| item()))
    );
}

#[tokio::test]
async fn small_items_share_rows_and_a_put_reads_two() {
    let engine = Counted::new(Memory::default());
    let journal = open(engine.clone()).await;
    let (invocation, lease, _, stream) = started(&journal).await;
    let before = engine.reads();
    let writes = (0..1_000).map(|index| put(stream, index, value("{\"kind\":\"u64\",\"value\":\"1\"}"))).collect();
    journal.put_inputs(&lease, writes).await.unwrap();
    let written = engine.reads();
    assert_eq!(written.requests - before.requests, 2, "the attachment and the stream");
    assert_eq!(frames(&journal, &invocation, stream, 0).await.len(), 1_000);
    assert!(engine.reads().rows - written.rows < 5);
}
