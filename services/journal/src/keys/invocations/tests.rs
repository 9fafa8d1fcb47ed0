//! Keys of invocations read back, in their order.

use proptest::prelude::*;

use super::*;

fn uid(text: &str) -> SessionUid {
    SessionUid::parse(text).unwrap()
}

fn invocation(number: u128) -> InvocationId {
    InvocationId::new(Uuid::from_u128(number))
}

fn stream(number: u128) -> StreamId {
    StreamId::new(Uuid::from_u128(number))
}

fn node(number: u64) -> Incarnation {
    Incarnation::from_number(number).unwrap()
}

#[test]
fn rows_of_an_instance_lie_beyond_those_of_its_log_and_within_their_range() {
    let keys = SessionKeys::new(&uid("sess-a"));
    let id = invocation(1);
    let rows = [keys.instance(), keys.runner(), keys.queue_end(), keys.queued(7), keys.used(id)];
    for key in rows.iter().chain([&keys.invocation(id).start(None)]) {
        assert!(keys.instance_rows().contains(key) && !keys.state().contains(key));
        assert_eq!(crate::keys::decode_holder(key).as_ref(), Some(keys.uid()));
    }
    assert!(keys.queue().contains(&keys.queued(0)) && !keys.queue().contains(&keys.queue_end()));
    assert!(!keys.instance_rows().contains(&keys.head()) && !keys.instance_rows().contains(&keys.metadata()));
    assert_eq!(decode_invocation(&keys.invocation(id).progress()), Some(id));
    assert!(keys.invocations().contains(&keys.invocation(id).progress()));
}

#[test]
fn what_nobody_drives_is_no_nodes() {
    let (free, driven) = (run(None, &uid("sess-a")), run(Some(node(1)), &uid("sess-a")));
    assert!(runs(None, None).contains(&free) && !runs(None, None).contains(&driven));
    let [driving, _] = busy_nodes();
    assert!(driving.contains(&driven) && !driving.contains(&free));
    assert_eq!(decode_run(&free), Some(uid("sess-a")));
}

proptest! {
    #[test]
    fn ranges_of_frames_hold_what_begins_in_them(at: u64, from: u64, to: u64, of in 0..3_u128) {
        let keys = SessionKeys::new(&uid("sess-a")).invocation(invocation(1));
        let piece = Some(Piece { index: 1, count: 2 });
        for key in [keys.frames(stream(of), at, None), keys.frames(stream(of), at, piece)] {
            let within = from <= to && keys.frames_within(stream(1), from, to).contains(&key);
            prop_assert_eq!(within, of == 1 && from <= at && at < to);
            prop_assert_eq!(keys.frames_from(stream(1), from).contains(&key), of == 1 && from <= at);
            prop_assert_eq!(keys.frames_up_to(stream(1), to).contains(&key), of == 1 && at <= to);
            prop_assert!(keys.all().contains(&key) && !keys.stream_progress().contains(&key));
        }
    }

    #[test]
    fn keys_of_invocations_read_back(id: u128, of: u128, first: u64, index in 0..400_u64, number in 1..u64::MAX) {
        let (session, id) = (uid("sess-\u{1}"), invocation(id));
        let keys = SessionKeys::new(&session).invocation(id);
        let piece = Some(Piece { index, count: index + 2 });
        for piece in [None, piece] {
            prop_assert_eq!(FramesKey::decode(&keys.frames(stream(of), first, piece)), Some(FramesKey { first, piece }));
            prop_assert_eq!(decode_value_piece(&keys.start(piece)), Some(piece));
            prop_assert!(keys.start_rows().contains(&keys.start(piece)));
            prop_assert!(keys.result_rows().contains(&keys.result(piece)));
        }
        for (key, row) in [
            (keys.stream_state(stream(of)), OfStream::State),
            (keys.reader(stream(of)), OfStream::Reader),
            (keys.delivered(stream(of)), OfStream::Delivered),
        ] {
            prop_assert!(keys.stream_progress().contains(&key));
            prop_assert_eq!(OfStream::decode(&key), Some((row, stream(of))));
        }
        prop_assert_eq!(decode_stream(&keys.stream(stream(of))), Some(stream(of)));
        prop_assert_eq!(decode_attempt(&keys.attempt(Uuid::from_u128(of))), Some(Uuid::from_u128(of)));
        let (node, key) = (node(number), held(node(number), &session, id));
        prop_assert_eq!((decode_node(&key), decode_held(&key)), (Some(node), Some((session.clone(), id))));
        prop_assert!(held_by(node, None).contains(&key) && !held_by(node, Some((session, id))).contains(&key));
        prop_assert!(after_node(&key).unwrap() > key && decode_node(&heartbeat(node)) == Some(node));
    }

    #[test]
    fn what_has_finished_is_in_the_order_of_time(time in 0..u64::MAX, before: u64, id: u128) {
        let finished = Finished { time, session: uid("sess-a"), invocation: invocation(id) };
        prop_assert_eq!(Finished::decode(&finished.key()), Some(finished.clone()));
        let listed = (0..FINISHED_SHARDS).filter(|shard| Finished::before(*shard, before).contains(&finished.key()));
        prop_assert_eq!(listed.count(), usize::from(time < before));
    }
}
