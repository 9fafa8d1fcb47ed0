//! The example agents, in process and over a socket.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use controller::ports::{DESCRIBE_TIMEOUT, HarnessPlacement};
use harness::{InProcess, example_agents};
use tokio::time::timeout;
use wire::BinaryItem;
use wire::stream_item::Item;

use super::invoking::{Invoked, Invoking, record, stream, string, strings, u64, value};
use super::network;

/// Longest time that an invocation of these tests can take.
const BOUND: Duration = Duration::from_secs(120);

/// Invokes the same in process and over a socket.
async fn invoke(invoking: impl Fn() -> Invoking) -> [Invoked; 2] {
    let near = InProcess::new(example_agents());
    let far = network::remote(&network::tcp(example_agents()).await);
    let near = timeout(BOUND, invoking().on(&near)).await.expect("an end");
    [near, timeout(BOUND, invoking().on(&far)).await.expect("an end")]
}

/// A value of each kind, in the order of the cases.
const EVERYTHING: [&str; 32] = [
    r#"{"kind":"bool","value":true}"#,
    r#"{"kind":"s8","value":-8}"#,
    r#"{"kind":"s16","value":-16}"#,
    r#"{"kind":"s32","value":-32}"#,
    r#"{"kind":"s64","value":"-64"}"#,
    r#"{"kind":"u8","value":8}"#,
    r#"{"kind":"u16","value":16}"#,
    r#"{"kind":"u32","value":32}"#,
    r#"{"kind":"u64","value":"64"}"#,
    r#"{"kind":"f32","value":{"$float":"nan"}}"#,
    r#"{"kind":"f64","value":1.5}"#,
    r#"{"kind":"char","value":"λ"}"#,
    r#"{"kind":"string","value":"text"}"#,
    r#"{"kind":"text","value":{"language":"de","text":"ja"}}"#,
    r#"{"kind":"binary","value":{"bytes":[1,2]}}"#,
    r#"{"kind":"path","value":{"path":"/a/b"}}"#,
    r#"{"kind":"url","value":{"url":"https://a.example/"}}"#,
    r#"{"kind":"datetime","value":{"value":"2026-01-01T00:00:00Z"}}"#,
    r#"{"kind":"duration","value":{"nanoseconds":"-1"}}"#,
    r#"{"kind":"quantity","value":{"mantissa":"25","scale":1,"unit":"m"}}"#,
    r#"{"kind":"record","value":{"fields":[{"kind":"string","value":"Ada"},{"kind":"u8","value":36}]}}"#,
    r#"{"kind":"tuple","value":{"elements":[{"kind":"string","value":"a"},{"kind":"bool","value":false}]}}"#,
    r#"{"kind":"list","value":{"elements":[{"kind":"s32","value":1}]}}"#,
    r#"{"kind":"fixed-list","value":{"elements":[{"kind":"f64","value":0.5},{"kind":"f64","value":2.5}]}}"#,
    r#"{"kind":"map","value":{"entries":[[{"kind":"string","value":"k"},{"kind":"u64","value":"1"}]]}}"#,
    r#"{"kind":"enum","value":{"case":2}}"#,
    r#"{"kind":"flags","value":{"bits":[true,false]}}"#,
    r#"{"kind":"variant","value":{"case":1,"payload":{"kind":"string","value":"p"}}}"#,
    r#"{"kind":"option","value":{"inner":null}}"#,
    r#"{"kind":"result","value":{"tag":"err","value":{"kind":"string","value":"no"}}}"#,
    r#"{"kind":"union","value":{"body":{"kind":"string","value":"tel:112"},"tag":"phone"}}"#,
    concat!(
        r#"{"kind":"record","value":{"fields":[{"kind":"string","value":"root"},{"kind":"list","value":{"elements":["#,
        r#"{"kind":"record","value":{"fields":[{"kind":"string","value":"leaf"},"#,
        r#"{"kind":"list","value":{"elements":[]}}]}}]}}]}}"#
    ),
];

fn everything() -> Vec<String> {
    let case = |(case, payload): (usize, &&str)| {
        format!(r#"{{"kind":"variant","value":{{"case":{case},"payload":{payload}}}}}"#)
    };
    EVERYTHING.iter().enumerate().map(case).collect()
}

#[tokio::test]
async fn agents_are_offered_in_process_and_over_a_socket() {
    let near = InProcess::new(example_agents());
    let far = network::remote(&network::tcp(example_agents()).await);
    let mut offered = Vec::new();
    for placement in [&near as &dyn HarnessPlacement, &far] {
        let mut channel = placement.acquire().await.expect("a channel");
        let descriptor = timeout(DESCRIBE_TIMEOUT, channel.describe()).await.expect("an answer").expect("a descriptor");
        offered.push(descriptor.agent_types);
    }
    assert_eq!(offered[0], offered[1]);
    let names: Vec<_> = offered[0].iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["mirror", "lines", "transcoder", "fan-out", "half-way"]);
}

#[tokio::test]
async fn mirror_gives_back_values_of_every_kind() {
    for value in everything() {
        for invoked in invoke(|| Invoking::new("mirror", "value", &[&value])).await {
            assert_eq!(invoked.result(), value);
        }
    }
    let items = everything();
    let all = || Invoking::new("mirror", "values", &[&stream("in")]).input("in", items.iter().map(|item| value(item)));
    for invoked in invoke(all).await {
        assert_eq!(invoked.values(), items);
    }
    for invoked in invoke(|| Invoking::new("mirror", "nothing", &[])).await {
        assert_eq!(invoked.result(), "");
    }
}

#[tokio::test]
async fn mirror_gives_back_items_of_every_lane() {
    let binary =
        |data: &[u8], mime_type: &str| Item::Binary(BinaryItem { data: data.into(), mime_type: mime_type.into() });
    let binaries = vec![binary(b"x", "text/plain"), binary(b"", "")];
    let all = || Invoking::new("mirror", "binaries", &[&stream("in")]).input("in", binaries.clone());
    for invoked in invoke(all).await {
        assert_eq!(invoked.only_output(), binaries);
    }
    let octets = || Invoking::new("mirror", "bytes", &[&stream("in")]).input("in", [Item::Octets(b"abc".into())]);
    for invoked in invoke(octets).await {
        assert_eq!(invoked.octets(), b"abc");
    }
}

#[tokio::test]
async fn lines_are_counted() {
    let octets = |text: &str| Item::Octets(text.as_bytes().into());
    let count = || Invoking::new("lines", "count", &[&stream("in")]).input("in", [octets("a\nb"), octets("\n\nc")]);
    for invoked in invoke(count).await {
        assert_eq!(invoked.result(), record(&[&u64(3), &u64(6)]));
    }
    let count = || Invoking::new("lines", "count-strings", &[&stream("in")]).input("in", strings(["a", "b"]));
    for invoked in invoke(count).await {
        assert_eq!(invoked.result(), u64(2));
    }
    // More than is sent without being read: the rest stays with the sender.
    let long = "x".repeat(100_000);
    let many = || Invoking::new("lines", "first", &[&stream("in")]).input("in", strings([long.as_str(); 20]));
    for invoked in invoke(many).await {
        assert_eq!(invoked.dropped, ["in"]);
        assert_eq!(invoked.result(), format!(r#"{{"kind":"option","value":{{"inner":{}}}}}"#, string(&long)));
    }
}

/// More than both sides may have on their way, and not a round number.
#[tokio::test]
async fn transcoder_takes_megabytes_in_any_division() {
    let bytes: Vec<u8> = (0..8_000_001_u32).map(|at| u8::try_from(at % 251).expect("small")).collect();
    let expected = BASE64_STANDARD.encode(&bytes).into_bytes();
    for division in [1_000_000, 10_007] {
        let chunks = || bytes.chunks(division).map(|chunk| Item::Octets(chunk.into()));
        let encode = || Invoking::new("transcoder", "encode", &[&stream("in")]).input("in", chunks());
        for invoked in invoke(encode).await {
            assert!(invoked.octets() == expected, "{division}");
        }
    }
}

#[tokio::test]
async fn fan_out_makes_a_stream_of_each_item_and_joins_such_streams() {
    let by_comma = |invoking| Invoking { constructor: record(&[&string(",")]), ..invoking };
    let split = || by_comma(Invoking::new("fan-out", "split", &[&stream("in")]).input("in", strings(["a,b", "c"])));
    for invoked in invoke(split).await {
        let line = |text: &str, name: &str| record(&[&string(text), &stream(name)]);
        assert_eq!(invoked.values(), [line("a,b", "output-2"), line("c", "output-3")]);
        assert_eq!((&invoked.outputs["output-2"], &invoked.ends["output-2"]), (&strings(["a", "b"]), &None));
        assert_eq!((&invoked.outputs["output-3"], &invoked.ends["output-3"]), (&strings(["c"]), &None));
    }
    let join = || {
        let outer = Invoking::new("fan-out", "join", &[&stream("in")]);
        let inner = [value(&stream("first")), value(&stream("second"))];
        by_comma(outer.input("in", inner).input("second", strings(["c"])).input("first", strings(["a", "b"])))
    };
    for invoked in invoke(join).await {
        assert_eq!(invoked.values(), [string("a,b"), string("c")]);
    }
}

#[tokio::test]
async fn half_way_fails_the_invocation_or_the_output() {
    let asked = |method| {
        move || Invoking::new("half-way", method, &[&stream("in"), &u64(2)]).input("in", strings(["a", "b", "c"]))
    };
    for invoked in invoke(asked("fail")).await {
        assert_eq!(invoked.failure(), "failed half-way, as asked");
        assert_eq!((&invoked.outputs["output-1"], invoked.ends.len()), (&strings(["a", "b"]), 0));
    }
    for invoked in invoke(asked("break")).await {
        assert_eq!(invoked.end.state, "COMPLETED");
        assert_eq!(invoked.ends["output-1"].as_deref(), Some("failed half-way, as asked"));
        assert_eq!(invoked.outputs["output-1"], strings(["a", "b"]));
    }
}
