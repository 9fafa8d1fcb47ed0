//! Who holds an attachment: one connection at a time, and the one before is refused.

use journal::Journal;
use journal::invocations::{
    Accepted, AttachError, Attempt, Cursor, Invocation, InvocationId, Lease, LeaseError, OutputChange, OutputWrite,
    Reattach, RunError, StreamId, Volume,
};

use super::support::*;
use crate::support::in_memory;

fn reattach(of: &Invocation, id: u128, generation: u64, takeover: bool) -> Reattach {
    Reattach {
        session: of.session.clone(),
        invocation: of.id,
        attempt: attempt(id),
        generation,
        takeover,
        holder: holder(id as u64),
        cursors: Vec::new(),
    }
}

async fn attach(journal: &Journal, reattach: Reattach) -> (Invocation, Lease) {
    match journal.attach(reattach).await.unwrap() {
        Accepted::New(invocation, lease) => (*invocation, lease),
        Accepted::Known(record) => panic!("known already: {record:?}"),
    }
}

#[tokio::test]
async fn a_takeover_shuts_the_connection_before_it_out() {
    let journal = in_memory().await;
    let (invocation, old, _, stream) = started(&journal).await;
    assert!(matches!(journal.attach(reattach(&invocation, 2, 1, false)).await, Err(AttachError::State)));
    let (taken, new) = attach(&journal, reattach(&invocation, 2, 1, true)).await;
    assert_eq!(taken.attachment.generation, 2);
    assert_eq!(taken.attachment.holder, Some((journal.incarnation(), new.holder())));

    let write = || vec![put(stream, 0, octets("abc"))];
    assert!(matches!(journal.put_inputs(&old, write()).await, Err(LeaseError::Lost)));
    assert!(matches!(journal.note_delivered(&old, &[(stream, 1)]).await, Err(LeaseError::Lost)));
    assert!(matches!(journal.cancel_output(&old, stream, "cancelled").await, Err(LeaseError::Lost)));
    assert!(!journal.detach(&old).await.unwrap(), "it is not the old one's to give up");
    assert_eq!(journal.put_inputs(&new, write()).await.unwrap(), [stored()]);
}

#[tokio::test]
async fn a_resume_needs_a_detached_invocation_and_a_takeover_an_attached_one() {
    let journal = in_memory().await;
    let (invocation, lease, ..) = started(&journal).await;
    assert!(journal.detach(&lease).await.unwrap());
    assert!(!journal.detach(&lease).await.unwrap());
    let standing = journal.standing(&invocation.session, invocation.id).await.unwrap().unwrap();
    assert_eq!((standing.attachment.holder, standing.attachment.generation), (None, 1));

    assert!(matches!(journal.attach(reattach(&invocation, 2, 1, true)).await, Err(AttachError::State)));
    assert!(matches!(journal.attach(reattach(&invocation, 2, 2, false)).await, Err(AttachError::Future)));
    let (_, lease) = attach(&journal, reattach(&invocation, 2, 1, false)).await;
    journal.detach(&lease).await.unwrap();
    assert!(matches!(journal.attach(reattach(&invocation, 3, 1, false)).await, Err(AttachError::Stale)));
    attach(&journal, reattach(&invocation, 3, 2, false)).await;
}

#[tokio::test]
async fn an_attach_that_is_known_is_answered_as_such_whatever_has_happened_since() {
    let journal = in_memory().await;
    let (invocation, lease, ..) = started(&journal).await;
    journal.detach(&lease).await.unwrap();
    let (attached, _) = attach(&journal, reattach(&invocation, 2, 1, false)).await;
    let Accepted::Known(record) = journal.attach(reattach(&invocation, 2, 1, false)).await.unwrap() else {
        panic!("attached twice")
    };
    assert_eq!((record.attachment, record.start), (attached.attachment.id, false));
    let other = Reattach { attempt: Attempt { digest: [5; 32], ..attempt(2) }, ..reattach(&invocation, 2, 2, true) };
    assert!(matches!(journal.attach(other).await, Err(AttachError::AttemptConflict)));
    let start = reattach(&invocation, 1, 2, true);
    assert!(matches!(journal.attach(start).await.unwrap(), Accepted::Known(record) if record.start));
}

#[tokio::test]
async fn the_attachment_of_a_repeated_attempt_moves_to_the_new_connection_while_it_is_current() {
    let journal = in_memory().await;
    let (invocation, old, _, stream) = started(&journal).await;
    let record = journal.attempt("account", attempt(1).id).await.unwrap().unwrap();
    let (read, new) = journal.reclaim(&record, holder(5)).await.unwrap().unwrap();
    assert_eq!((read.attachment.generation, read.attachment.id), (1, invocation.attachment.id));
    assert!(matches!(journal.put_inputs(&old, vec![put(stream, 0, octets("a"))]).await, Err(LeaseError::Lost)));
    assert_eq!(put_one(&journal, &new, put(stream, 0, octets("a"))).await, stored());

    journal.detach(&new).await.unwrap();
    assert_eq!(journal.reclaim(&record, holder(6)).await.unwrap(), None, "detached");
    attach(&journal, reattach(&invocation, 2, 1, false)).await;
    assert_eq!(journal.reclaim(&record, holder(6)).await.unwrap(), None, "superseded");
}

#[tokio::test]
async fn cursors_name_a_place_in_the_history_of_an_output_or_the_attach_is_refused() {
    let journal = in_memory().await;
    let (invocation, lease, run, from, to) = returned(&journal).await;
    let writes = vec![emit(to, 0, octets("abc"))];
    journal.put_outputs(&run, invocation.id, writes).await.unwrap();
    journal.detach(&lease).await.unwrap();
    let with = |stream, items, ended| Reattach {
        cursors: vec![Cursor { stream, items, ended }],
        ..reattach(&invocation, 2, 1, false)
    };
    let unknown = StreamId::input(invocation.id, attempt(9).id);
    for (stream, items, ended) in [(to, 4, false), (to, 3, true), (from, 0, false), (unknown, 0, false)] {
        let refused = journal.attach(with(stream, items, ended)).await;
        assert!(matches!(refused, Err(AttachError::Cursor(of)) if of == stream), "{refused:?}");
    }
    journal.put_outputs(&run, invocation.id, vec![end_output(to)]).await.unwrap();
    assert!(matches!(journal.attach(with(to, 2, true)).await, Err(AttachError::Cursor(_))));
    attach(&journal, with(to, 3, true)).await;
    assert_eq!(progress(&journal, &invocation, to).await.delivered, 3);
}

#[tokio::test]
async fn what_was_delivered_begins_anew_with_each_attach() {
    let journal = in_memory().await;
    let (invocation, lease, run, _, to) = returned(&journal).await;
    journal.put_outputs(&run, invocation.id, vec![emit(to, 0, octets("abc"))]).await.unwrap();
    journal.note_delivered(&lease, &[(to, 2)]).await.unwrap();
    assert_eq!(progress(&journal, &invocation, to).await.delivered, 2);
    attach(&journal, reattach(&invocation, 2, 1, true)).await;
    assert_eq!(progress(&journal, &invocation, to).await.delivered, 0);
}

#[tokio::test]
async fn section_18_what_waits_for_the_agent_can_be_told_from_what_it_was_handed() {
    let journal = in_memory().await;
    let (invocation, lease, run, stream) = started(&journal).await;
    let items = [octets("abc"), octets("d"), value("{}")];
    for (item, first) in items.iter().zip([0, 3, 4]) {
        put_one(&journal, &lease, put(stream, first, item.clone())).await;
    }
    put_one(&journal, &lease, put(stream, 3, octets("d"))).await;
    let volume = Volume { entries: 3, charge: items.iter().map(charge).sum() };
    let now = progress(&journal, &invocation, stream).await;
    assert_eq!((now.volume, now.handed), (volume, Volume::default()), "a repetition counts once");

    let handed = Volume { entries: 2, charge: charge(&items[0]) + charge(&items[1]) };
    let note = || vec![OutputWrite { stream, change: OutputChange::Handed(handed) }];
    journal.put_outputs(&run, invocation.id, note()).await.unwrap();
    journal.detach(&lease).await.unwrap();
    attach(&journal, reattach(&invocation, 2, 1, false)).await;
    let now = progress(&journal, &invocation, stream).await;
    assert_eq!((now.handed, now.wish), (handed, None), "whoever is attached");
    assert_eq!(now.volume.without(now.handed), Volume::entry(charge(&items[2])));

    journal.claim_run(&invocation.session).await.unwrap().unwrap();
    assert!(matches!(journal.put_outputs(&run, invocation.id, note()).await, Err(RunError::Lost)));
}

#[tokio::test]
async fn what_is_not_there_cannot_be_attached_to() {
    let journal = in_memory().await;
    let (mut invocation, ..) = started(&journal).await;
    invocation.id = InvocationId::new(attempt(9).id);
    assert!(matches!(journal.attach(reattach(&invocation, 2, 1, false)).await, Err(AttachError::NotRetained)));
}
