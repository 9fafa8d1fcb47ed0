//! Streams of invocations: order, ends, and who may send how much (invocation.proto).

use sdk::schema::{self, record as fields, stream as of};
use sdk::{Bytes, Call, Cancelled, Failure, Input, Method, Outlet, Output, StreamFault, Violation};
use wire::event::Body;
use wire::stream_frame::Frame as Said;
use wire::stream_item::Item;
use wire::{EventKind, StreamCredit};

use super::actors::Host;
use super::invoking::{cancel, cost, credit, end, end_with, invoke, item, number, record, stream, string, value_item};

const CREDIT: i64 = StreamCredit::INITIAL;
const MIB: usize = 1 << 20;

/// Counts the strings of an input.
fn counting() -> Host {
    let count = Method::new("m", fields([("in", of(schema::string()))]), async |mut call| {
        let mut input: Input<String> = call.parameter("in")?;
        let mut count = 0_u64;
        while let Some(item) = input.next().await {
            item?;
            count += 1;
        }
        Ok(count)
    });
    invoke(count, &record(&[&stream("in-1")]))
}

/// Writes an output in a certain way.
fn writing<F>(write: impl Fn(Output<Bytes>) -> F + Send + Sync + 'static) -> Host
where
    F: Future<Output = Result<(), Cancelled>> + Send + 'static,
{
    let method = Method::new("m", fields([]), move |call: Call| {
        let (outlet, output) = call.output();
        call.beside(write(output));
        async { Ok(outlet) }
    });
    invoke(method, &record(&[]))
}

fn violation(fault: StreamFault) -> String {
    Violation::from(fault).to_string()
}

#[tokio::test]
async fn input_is_read_to_its_end() {
    let mut host = counting();
    host.expect_silence();
    for sequence in 0..3 {
        host.value("in-1", sequence, &string("x"));
    }
    host.expect_silence();
    host.end_input("in-1");
    host.expect_return(&number("u64", r#""3""#)).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn frames_of_an_input_may_come_before_it_is_named() {
    let method = Method::new("m", fields([("in", of(of(schema::string())))]), async |mut call| {
        let mut outer: Input<Input<String>> = call.parameter("in")?;
        let mut inner = outer.next().await.ok_or_else(|| Failure::new("nothing"))??;
        Ok(inner.next().await.transpose()?)
    });
    let mut host = invoke(method, &record(&[&stream("outer")]));
    host.value("inner", 0, &string("x"));
    host.end_input("inner");
    host.value("outer", 0, &stream("inner"));
    host.end_input("outer");
    host.expect_return(&format!(r#"{{"kind":"option","value":{{"inner":{}}}}}"#, string("x"))).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn output_is_sent_after_its_method_has_returned() {
    let mut host = writing(async |mut output: Output<Bytes>| {
        output.send(Bytes::from_static(b"ab")).await?;
        output.send(Bytes::new()).await?;
        output.send(Bytes::from_static(b"c")).await?;
        output.end();
        Ok(())
    });
    host.expect_return(&stream("output-1")).await;
    host.expect_said("output-1", item(0, Item::Octets(b"ab".into()))).await;
    host.expect_said("output-1", item(2, Item::Octets(b"c".into()))).await;
    host.expect_said("output-1", end()).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn octets_are_divided_and_wait_for_credit() {
    let mut host = writing(async |mut output: Output<Bytes>| {
        output.send(vec![7; 2 * MIB + 1].into()).await?;
        output.end();
        Ok(())
    });
    host.expect_return(&stream("output-1")).await;
    let (_, first) = host.hears().await;
    assert!(cost(&first) > CREDIT, "it is sent as long as there is any credit");
    assert!(matches!(&first, Said::Item(item) if item.sequence == 0));
    host.say("output-1", credit(cost(&first) - CREDIT));
    host.expect_silence();
    host.say("output-1", credit(1));
    let (_, second) = host.hears().await;
    assert!(matches!(&second, Said::Item(item) if item.sequence == CREDIT), "{second:?}");
    host.expect_silence();
    host.say("output-1", credit(2 * CREDIT));
    host.expect_said("output-1", item(2 * CREDIT, Item::Octets(vec![7]))).await;
    host.expect_said("output-1", end()).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn reader_grants_what_it_has_consumed_in_large_steps() {
    let method = Method::new("m", fields([("in", of(schema::u8()))]), async |mut call| {
        let mut input: Input<Bytes> = call.parameter("in")?;
        while let Some(octets) = input.next().await {
            octets?;
        }
        Ok(())
    });
    let mut host = invoke(method, &record(&[&stream("in-1")]));
    let octets = [0; 100_000];
    let cost = cost(&item(0, Item::Octets(octets.into())));
    for at in [0, 100_000] {
        host.octets("in-1", at, &octets);
        host.expect_silence();
    }
    host.octets("in-1", 200_000, &octets);
    // The cost of an item depends a little on its sequence.
    let (stream, Said::Credit(granted)) = host.hears().await else { panic!("no credit") };
    assert_eq!(stream, "in-1");
    assert!((3 * cost..3 * cost + 12).contains(&granted.bytes), "{granted:?}");
    for at in [300_000, 400_000, 500_000] {
        host.octets("in-1", at, &octets);
    }
    host.end_input("in-1");
    host.expect_return("").await;
    host.expect_completed().await;
}

#[tokio::test]
async fn input_that_is_let_go_of_is_dropped_and_takes_what_was_on_its_way() {
    let method = Method::new("m", fields([("in", of(schema::string()))]), async |mut call| {
        let mut input: Input<String> = call.parameter("in")?;
        let first = input.next().await.ok_or_else(|| Failure::new("nothing"))??;
        drop(input);
        call.sink().model(super::actors::question()).await?;
        Ok(first)
    });
    let mut host = invoke(method, &record(&[&stream("in-1")]));
    host.value("in-1", 0, &string("x"));
    host.value("in-1", 1, &string("y"));
    let (one, other) = (host.event().await.expect("an event"), host.event().await.expect("an event"));
    let mut kinds = [one.kind(), other.kind()];
    kinds.sort_by_key(|kind| *kind as i32);
    let mut expected = [EventKind::EventModelCall, EventKind::EventStream];
    expected.sort_by_key(|kind| *kind as i32);
    assert_eq!(kinds, expected);
    let said = [one, other].into_iter().find_map(|event| match event.body {
        Some(Body::Stream(frame)) => frame.frame,
        _ => None,
    });
    assert_eq!(said, Some(cancel("consumer-drop")));
    host.value("in-1", 2, &string("z"));
    host.end_input("in-1");
    host.send(super::actors::answer("m1"));
    host.expect_return(&string("x")).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn input_that_was_never_taken_is_left_to_the_host() {
    let method = Method::new("m", fields([("in", of(schema::string()))]), async |_| Ok(()));
    let mut host = invoke(method, &record(&[&stream("in-1")]));
    host.value("in-1", 0, &string("x"));
    host.expect_return("").await;
    host.expect_completed().await;
}

#[tokio::test]
async fn cancelled_input_ends_with_its_reason() {
    let method = Method::new("m", fields([("in", of(schema::string()))]), async |mut call| {
        let mut input: Input<String> = call.parameter("in")?;
        let cancelled = input.next().await.and_then(Result::err).ok_or_else(|| Failure::new("no end"))?;
        assert_eq!(input.next().await, None, "once");
        Ok(cancelled.reason)
    });
    let mut host = invoke(method, &record(&[&stream("in-1")]));
    host.say("in-1", cancel("source-unavailable"));
    host.expect_return(&string("source-unavailable")).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn cancelled_output_is_no_failure_and_nothing_more_is_sent_of_it() {
    let mut host = writing(async |mut output: Output<Bytes>| {
        loop {
            output.send(Bytes::from_static(b"x")).await?;
        }
    });
    host.expect_return(&stream("output-1")).await;
    host.hears().await;
    host.say("output-1", cancel("cancelled"));
    host.say("output-1", credit(1));
    host.expect_completed().await;
}

#[tokio::test]
async fn output_that_is_given_up_ends_with_an_error() {
    let mut host = writing(async |mut output: Output<Bytes>| output.send(Bytes::from_static(b"x")).await);
    host.expect_return(&stream("output-1")).await;
    host.hears().await;
    host.expect_said("output-1", end_with("the agent gave the stream up")).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn output_may_fail_alone() {
    let mut host = writing(async |output: Output<Bytes>| {
        output.fail("no luck");
        Ok(())
    });
    host.expect_return(&stream("output-1")).await;
    host.expect_said("output-1", end_with("no luck")).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn failure_of_the_invocation_ends_no_stream_by_itself() {
    let method = Method::new("m", fields([("in", of(schema::string()))]), async |mut call| {
        let _input: Input<String> = call.parameter("in")?;
        let (outlet, mut output) = call.output();
        let streams = call.streams().clone();
        call.beside(async move {
            output.send("x").await?;
            streams.fail(Failure::new("out of luck"));
            Ok(())
        });
        Ok(outlet)
    });
    let mut host = invoke(method, &record(&[&stream("in-1")]));
    host.expect_return(&stream("output-1")).await;
    host.expect_said("output-1", value_item(0, &string("x"))).await;
    assert_eq!(host.expect_failed().await, "out of luck");
}

#[tokio::test]
async fn streams_in_items_are_outputs_of_their_own() {
    let method = Method::new("m", fields([]), async |call| {
        let (outlet, mut outer) = call.output::<Outlet<&str>>();
        let streams = call.streams().clone();
        call.beside(async move {
            let (inner, mut writer) = streams.output();
            outer.send(inner).await?;
            outer.end();
            streams.beside(async move {
                writer.send("x").await?;
                writer.end();
                Ok(())
            });
            Ok(())
        });
        Ok(outlet)
    });
    let mut host = invoke(method, &record(&[]));
    host.expect_return(&stream("output-1")).await;
    host.expect_said("output-1", value_item(0, &stream("output-2"))).await;
    host.expect_said("output-1", end()).await;
    host.expect_said("output-2", value_item(0, &string("x"))).await;
    host.expect_said("output-2", end()).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn one_output_that_waits_holds_up_no_other() {
    let method = Method::new("m", fields([]), async |call| {
        let (slow, mut slow_output) = call.output::<Bytes>();
        let (fast, mut fast_output) = call.output::<&str>();
        call.beside(async move {
            loop {
                slow_output.send(vec![0; MIB].into()).await?;
            }
        });
        call.beside(async move {
            for _ in 0..100 {
                fast_output.send("x").await?;
            }
            fast_output.end();
            Ok(())
        });
        Ok((slow, fast))
    });
    let mut host = invoke(method, &record(&[]));
    host.expect(EventKind::EventReturn).await;
    let mut of_fast = 0;
    loop {
        let (stream, said) = host.hears().await;
        of_fast += usize::from(stream == "output-2");
        if said == end() {
            break;
        }
    }
    assert_eq!(of_fast, 101);
    host.expect_silence();
    host.say("output-1", cancel("cancelled"));
    host.expect_completed().await;
}

#[tokio::test]
async fn harness_is_never_far_ahead_of_whoever_reads_it() {
    let mut host = writing(async |mut output: Output<Bytes>| {
        loop {
            output.send(Bytes::from_static(b"x")).await?;
        }
    });
    host.expect_return(&stream("output-1")).await;
    let mut before = 0;
    for _ in 0..1_000 {
        host.hears().await;
        before += 1;
    }
    host.say("output-1", cancel("cancelled"));
    // What was ahead is thrown away, so the end comes at once.
    host.expect_completed().await;
    assert_eq!(before, 1_000);
}

#[tokio::test]
async fn host_that_breaks_the_rules_of_streams_fails_the_invocation() {
    let octets = |bytes: usize| item(0, Item::Octets(vec![0; bytes]));
    let empty = Said::Item(wire::StreamItem::default());
    let cases: [(&str, Said, StreamFault); 7] = [
        ("in-1", value_item(1, &string("x")), StreamFault::Sequence),
        ("in-1", empty, StreamFault::Empty),
        ("in-1", octets(0), StreamFault::Octets),
        ("in-1", octets(MIB + 1), StreamFault::Octets),
        ("in-1", credit(1), StreamFault::Direction),
        ("output-1", credit(0), StreamFault::Credit),
        ("output-1", value_item(0, &string("x")), StreamFault::Direction),
    ];
    for (stream_name, said, fault) in cases {
        let method = Method::new("m", fields([("in", of(schema::string()))]), async |mut call| {
            let mut input: Input<String> = call.parameter("in")?;
            let (_outlet, _output) = call.output::<&str>();
            input.next().await.transpose()?;
            Ok(())
        });
        let mut host = invoke(method, &record(&[&stream("in-1")]));
        host.expect_silence();
        host.say(stream_name, said);
        assert_eq!(host.expect_failed().await, violation(fault), "{fault:?}");
    }
}

#[tokio::test]
async fn items_without_credit_or_after_the_end_fail_the_invocation() {
    let mut overdrawn = counting();
    let large = string(&"x".repeat(MIB));
    overdrawn.value("in-1", 0, &large);
    overdrawn.value("in-1", 1, &large);
    assert_eq!(overdrawn.expect_failed().await, violation(StreamFault::Overdrawn));

    let mut late = counting();
    late.end_input("in-1");
    late.value("in-1", 0, &string("x"));
    assert_eq!(late.expect_failed().await, violation(StreamFault::AfterEnd));
}

#[tokio::test]
async fn items_of_another_type_fail_the_invocation() {
    let mut host = counting();
    host.value("in-1", 0, &number("u8", "1"));
    host.expect_failed().await;
    let mut host = counting();
    host.octets("in-1", 0, b"x");
    host.expect_failed().await;
}

#[tokio::test]
async fn host_that_says_no_more_is_not_waited_for() {
    let mut reading = counting();
    reading.value("in-1", 0, &string("x"));
    reading.run.close();
    assert!(reading.expect_failed().await.contains("cancelled"));

    let mut host = writing(async |mut output: Output<Bytes>| output.send(vec![0; 2 * MIB].into()).await);
    host.expect_return(&stream("output-1")).await;
    host.hears().await;
    host.run.close();
    host.expect_said("output-1", end_with("the agent gave the stream up")).await;
    host.expect_completed().await;
}

#[tokio::test]
async fn stream_frames_of_a_plain_turn_fail_it() {
    let mut host = Host::running(|_, sink| {
        Box::pin(async move {
            drop(sink.model(super::actors::question()).await);
            Ok(())
        })
    });
    host.expect(EventKind::EventModelCall).await;
    host.value("in-1", 0, &string("x"));
    assert_eq!(host.expect_failed().await, Violation::Unexpected("stream").to_string());
}
