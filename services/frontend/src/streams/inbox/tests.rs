use bytes::Bytes;
use journal::invocations::{Role, StreamProgress};
use uuid::Uuid;

use super::*;

fn stream(number: u128) -> StreamId {
    StreamId::new(Uuid::from_u128(number))
}

/// An item of one byte, or of many, that is charged so much.
fn item(stream: StreamId, first: u64, charge: u64) -> Request {
    let change = InputChange::Put { first, item: FrameItem::Octets(Bytes::from_static(b"x")), charge, streams: vec![] };
    let told = Told::Item { through: first + 1, nested: Vec::new() };
    Request::Change(Change { write: InputWrite { stream, change }, told })
}

fn handed(entries: u64, charge: u64) -> Volume {
    Volume { entries, charge }
}

/// The streams and the beginnings of the items that can be stored now.
fn admitted(inbox: &mut Inbox) -> Vec<(StreamId, u64)> {
    let first = |request: Request| match request {
        Request::Change(Change { write: InputWrite { stream, change: InputChange::Put { first, .. } }, .. }) => {
            Some((stream, first))
        }
        _ => None,
    };
    inbox.waiting.drain(..).filter_map(first).collect()
}

#[tokio::test(start_paused = true)]
async fn section_18_at_most_256_entries_of_an_input_wait_for_the_agent() {
    let mut inbox = Inbox::default();
    (0..300).for_each(|first| inbox.push(item(stream(1), first, 2)));
    assert_eq!(admitted(&mut inbox).len(), 256);
    inbox.push(item(stream(2), 0, 2));
    assert_eq!(admitted(&mut inbox), [(stream(2), 0)], "another input has a queue of its own");
    inbox.hand(stream(1), handed(3, 6));
    assert_eq!(admitted(&mut inbox), [256, 257, 258].map(|first| (stream(1), first)));
}

#[tokio::test(start_paused = true)]
async fn section_18_at_most_16_mib_of_an_input_wait_for_the_agent_or_one_item() {
    let mut inbox = Inbox::default();
    for first in 0..4 {
        inbox.push(item(stream(1), first, 6 << 20));
    }
    inbox.push(item(stream(1), 4, 16 << 20));
    assert_eq!(admitted(&mut inbox).len(), 2);
    inbox.hand(stream(1), handed(1, 6 << 20));
    assert_eq!(admitted(&mut inbox).len(), 1);
    inbox.hand(stream(1), handed(3, 18 << 20));
    assert_eq!(admitted(&mut inbox).len(), 1, "what is larger than the room waits for all of it");
    inbox.hand(stream(1), handed(4, 24 << 20));
    assert_eq!(admitted(&mut inbox), [(stream(1), 4)]);
}

#[tokio::test(start_paused = true)]
async fn what_was_accepted_before_the_connection_waits_too() {
    let mut queues = Queues::default();
    queues.place(&StreamProgress {
        id: stream(1),
        role: Role::Input,
        next: 1_000,
        volume: handed(1_000, 2_000),
        handed: handed(745, 1_490),
        terminal: None,
        wish: None,
        delivered: 0,
    });
    let mut inbox = Inbox::new(queues);
    (1_000..1_010).for_each(|first| inbox.push(item(stream(1), first, 2)));
    assert_eq!(admitted(&mut inbox), [(stream(1), 1_000)]);
    inbox.hand(stream(1), handed(745, 1_490));
    assert_eq!(admitted(&mut inbox), []);
}

#[tokio::test(start_paused = true)]
async fn q1_a_cancel_is_not_held_back_and_releases_what_is() {
    let mut inbox = Inbox::default();
    (0..300).for_each(|first| inbox.push(item(stream(1), first, 2)));
    inbox.push(Request::Change(Change::end(stream(1), 300)));
    assert!(inbox.held_since().is_some());
    inbox.waiting.clear();
    inbox.push(Request::Change(Change::cancel(stream(1), ClientReason::Cancelled)));
    assert!(inbox.held_since().is_none());
    assert_eq!(inbox.waiting.len(), 1, "neither items nor the end");
}

#[tokio::test(start_paused = true)]
async fn l6_what_is_held_back_is_staged_up_to_64_mib_and_the_client_is_heard_meanwhile() {
    let mut inbox = Inbox::default();
    (0..17).for_each(|first| inbox.push(item(stream(1), first, 1 << 20)));
    assert!(inbox.held_since().is_some());
    let mut sent = 17;
    while !inbox.is_full() {
        inbox.push(item(stream(1), sent, 1 << 20));
        sent += 1;
    }
    assert_eq!(sent, 64, "16 of them are not held back");
    inbox.drop_held(stream(1));
    assert!(inbox.is_full(), "as much as may be unacknowledged is on its way to the journal");
    let mut small = Inbox::default();
    let mut sent = 0;
    while !small.is_full() {
        small.push(item(stream(1), sent, 2));
        sent += 1;
    }
    assert!(sent < 1 << 18, "items that are charged next to nothing take room, too");
}

#[tokio::test(start_paused = true)]
async fn l6_an_item_waits_from_when_it_is_the_next_one() {
    let mut inbox = Inbox::default();
    (0..258).for_each(|first| inbox.push(item(stream(1), first, 2)));
    let begun = Instant::now();
    assert_eq!(inbox.held_since(), Some(begun));
    tokio::time::advance(Duration::from_secs(20)).await;
    inbox.hand(stream(1), handed(1, 2));
    assert_eq!(inbox.held_since(), Some(begun + Duration::from_secs(20)));
    inbox.hand(stream(1), handed(2, 4));
    assert_eq!(inbox.held_since(), None);
}
