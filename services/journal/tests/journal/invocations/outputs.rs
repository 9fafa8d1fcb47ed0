//! What the runner writes: in sequence, under its epoch, until everything has ended.

use journal::Journal;
use journal::invocations::{
    InputChange, Invocation, MAX_NEW_STREAMS, Outcome, OutputChange, OutputFault, OutputWrite, Owner, Returned, Run,
    RunError, StreamId, Terminal,
};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use store::memory::Memory;

use super::support::*;
use crate::support::{in_memory, open_seeded};

async fn fault(journal: &Journal, run: &Run, of: &Invocation, write: OutputWrite) -> OutputFault {
    match journal.put_outputs(run, of.id, vec![write.clone()]).await {
        Err(RunError::Fault(stream, fault)) if stream == write.stream => fault,
        other => panic!("{write:?}: {other:?}"),
    }
}

#[tokio::test]
async fn items_of_outputs_follow_each_other_until_the_end() {
    let journal = in_memory().await;
    let (invocation, _, run, from, to) = returned(&journal).await;
    journal.put_outputs(&run, invocation.id, vec![emit(to, 0, octets("abc")), emit(to, 3, octets("d"))]).await.unwrap();
    for first in [0, 3, 5] {
        assert_eq!(fault(&journal, &run, &invocation, emit(to, first, octets("e"))).await, OutputFault::OutOfSequence);
    }
    let unknown = StreamId::output(invocation.id, &Owner::Result, 1);
    assert_eq!(fault(&journal, &run, &invocation, emit(unknown, 0, octets("e"))).await, OutputFault::Absent);
    assert_eq!(fault(&journal, &run, &invocation, emit(from, 0, octets("e"))).await, OutputFault::Absent);
    let drop_output = OutputWrite { stream: to, change: OutputChange::Drop("consumer-drop".to_owned()) };
    assert_eq!(fault(&journal, &run, &invocation, drop_output).await, OutputFault::Absent);

    for _ in 0..2 {
        journal.put_outputs(&run, invocation.id, vec![end_output(to)]).await.unwrap();
    }
    let cancelled = Terminal::CancelledByClient("cancelled".to_owned());
    let other_end = OutputWrite { stream: to, change: OutputChange::End(cancelled) };
    assert_eq!(fault(&journal, &run, &invocation, other_end).await, OutputFault::Ended);
    assert_eq!(fault(&journal, &run, &invocation, emit(to, 4, octets("e"))).await, OutputFault::Ended);
    let read = frames(&journal, &invocation, to, 0).await;
    assert!(read.into_iter().map(|frame| frame.item).eq([octets("abc"), octets("d")]));
}

#[tokio::test]
async fn a_put_of_outputs_is_made_whole_or_not_at_all() {
    let journal = in_memory().await;
    let (invocation, _, run, _, to) = returned(&journal).await;
    let writes = vec![emit(to, 0, octets("abc")), emit(to, 4, octets("e"))];
    assert!(matches!(journal.put_outputs(&run, invocation.id, writes).await, Err(RunError::Fault(..))));
    assert_eq!(progress(&journal, &invocation, to).await.next, 0);
}

#[tokio::test]
async fn nested_outputs_are_made_with_their_item_and_may_be_written_in_the_same_put() {
    let journal = in_memory().await;
    let (invocation, _, run, _, to) = returned(&journal).await;
    let introducing = |first, count| OutputWrite {
        stream: to,
        change: OutputChange::Put { first, item: value("{}"), streams: vec![output(); count] },
    };
    let nested = StreamId::output(invocation.id, &Owner::Item(to, 0), 1);
    let writes = vec![introducing(0, 2), emit(nested, 0, octets("in it"))];
    journal.put_outputs(&run, invocation.id, writes).await.unwrap();
    let read = frames(&journal, &invocation, to, 0).await;
    assert_eq!(read[0].streams, [StreamId::output(invocation.id, &Owner::Item(to, 0), 0), nested]);
    assert_eq!(frames(&journal, &invocation, nested, 0).await[0].item, octets("in it"));
    let too_many = journal.put_outputs(&run, invocation.id, vec![introducing(1, MAX_NEW_STREAMS + 1)]).await;
    assert!(matches!(too_many, Err(RunError::TooManyStreams)));
}

#[tokio::test]
async fn what_a_method_returned_is_stored_once() {
    let journal = in_memory().await;
    let (invocation, _, run, _) = started(&journal).await;
    let value = "v".repeat(1 << 20);
    for _ in 0..2 {
        journal.set_returned(&run, invocation.id, Some(&value), vec![output(), output()]).await.unwrap();
    }
    for (other, streams) in [(Some("v"), 2), (Some(&value[..]), 1), (None, 2)] {
        let refused = journal.set_returned(&run, invocation.id, other, vec![output(); streams]).await;
        assert!(matches!(refused, Err(RunError::Over)));
    }
    let read = journal.invocation(&invocation.session, invocation.id).await.unwrap().unwrap();
    let streams = [0, 1].map(|index| StreamId::output(invocation.id, &Owner::Result, index)).to_vec();
    assert_eq!(read.returned, Some(Returned { value: Some(value), streams }));
}

#[tokio::test]
async fn an_invocation_ends_once_and_only_after_its_streams() {
    let journal = in_memory().await;
    let (invocation, lease, run, from, to) = returned(&journal).await;
    journal.put_outputs(&run, invocation.id, vec![end_output(to)]).await.unwrap();
    let refused = journal.finish_invocation(&run, invocation.id, Outcome::Success).await;
    assert!(matches!(refused, Err(RunError::Fault(of, OutputFault::Open)) if of == from));
    change(&journal, &lease, from, InputChange::End(0)).await;
    for _ in 0..2 {
        assert!(
            !journal.finish_invocation(&run, invocation.id, Outcome::Success).await.unwrap(),
            "it was the last one"
        );
    }
    let failure = Outcome::Failure { code: "invocation-failed".to_owned(), message: "it failed".to_owned() };
    let refused = journal.finish_invocation(&run, invocation.id, failure).await;
    assert!(matches!(refused, Err(RunError::Over)));
    let standing = journal.standing(&invocation.session, invocation.id).await.unwrap().unwrap();
    assert_eq!((standing.returned, standing.outcome), (true, Some(Outcome::Success)));
    // Nobody drives an empty queue, and the next invocation makes its node do so.
    assert_eq!(journal.claim_run(&invocation.session).await.unwrap(), None);
    assert_eq!(journal.due_runs(None).await.unwrap(), []);
    accept(&journal, new_invocation("next", attempt(2))).await;
    assert_eq!(journal.due_runs(None).await.unwrap(), vec![invocation.session.clone()]);
    assert!(matches!(journal.next_invocation(&run).await, Err(RunError::Lost)));
}

#[tokio::test]
async fn a_wish_of_the_client_reaches_the_runner_and_an_end_that_was_there_first_stays() {
    let journal = in_memory().await;
    let (invocation, lease, run, _, to) = returned(&journal).await;
    journal.cancel_output(&lease, to, "consumer-drop").await.unwrap();
    assert_eq!(progress(&journal, &invocation, to).await.wish.as_deref(), Some("consumer-drop"));
    journal.put_outputs(&run, invocation.id, vec![end_output(to)]).await.unwrap();
    journal.cancel_output(&lease, to, "cancelled").await.unwrap();
    let stream = progress(&journal, &invocation, to).await;
    assert_eq!((stream.wish.as_deref(), stream.terminal), (Some("consumer-drop"), Some(Terminal::Ended)));
}

#[tokio::test]
async fn a_claim_shuts_out_the_one_before_it() {
    let journal = in_memory().await;
    let (invocation, _, old, _, to) = returned(&journal).await;
    let new = journal.claim_run(&invocation.session).await.unwrap().unwrap();
    let refused = journal.put_outputs(&old, invocation.id, vec![emit(to, 0, octets("a"))]).await;
    assert!(matches!(refused, Err(RunError::Lost)));
    assert!(matches!(journal.next_invocation(&old).await, Err(RunError::Lost)));
    assert!(matches!(journal.release_run(&old).await, Err(RunError::Lost)));
    let refused = journal.set_returned(&old, invocation.id, Some("{}"), vec![output()]).await;
    assert!(matches!(refused, Err(RunError::Lost)));
    let refused = journal.finish_invocation(&old, invocation.id, Outcome::Success).await;
    assert!(matches!(refused, Err(RunError::Lost)));
    journal.put_outputs(&new, invocation.id, vec![emit(to, 0, octets("a"))]).await.unwrap();
}

#[tokio::test]
async fn a_queue_that_was_released_is_any_nodes() {
    let engine = Memory::default();
    let (one, other) = (open_seeded(engine.clone(), 1).await, open_seeded(engine, 2).await);
    let (invocation, _, run, _) = started(&one).await;
    let uid = &invocation.session;
    assert_eq!(other.claim_run(uid).await.unwrap(), None, "it is another node's");
    assert_eq!(other.due_runs(None).await.unwrap(), []);
    one.release_run(&run).await.unwrap();
    for journal in [&one, &other] {
        assert_eq!(journal.due_runs(None).await.unwrap(), vec![uid.clone()]);
        assert_eq!(journal.due_runs(Some(uid)).await.unwrap(), []);
    }
    let taken = other.claim_run(uid).await.unwrap().unwrap();
    assert!(matches!(one.next_invocation(&run).await, Err(RunError::Lost)));
    assert_eq!(other.next_invocation(&taken).await.unwrap(), Some(invocation.id));
    assert_eq!(one.due_runs(None).await.unwrap(), []);
}

#[tokio::test]
async fn bytes_of_streams_are_measured_by_their_role() {
    let measured = |role: &str| {
        let mut registry = Registry::default();
        journal::metrics::register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let sample = format!("stream_bytes_total{{role=\"{role}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&sample)?.parse::<u64>().ok()).unwrap()
    };
    let journal = in_memory().await;
    let (invocation, lease, run, from, to) = returned(&journal).await;
    let before = ["input", "output"].map(measured);
    put_one(&journal, &lease, put(from, 0, octets(vec![0; 1 << 20]))).await;
    journal.put_outputs(&run, invocation.id, vec![emit(to, 0, octets(vec![0; 2 << 20]))]).await.unwrap();
    let after = ["input", "output"].map(measured);
    // Other tests of the same process may put, too.
    assert!(after[0] >= before[0] + (1 << 20) && after[1] >= before[1] + (2 << 20), "{before:?} {after:?}");
}
