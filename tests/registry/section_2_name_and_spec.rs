//! Every row of registry.md §2.

use prost::Message;
use support::{Operator, remote_spec};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Status};
use tonic_prost::ProstCodec;
use wire::harness_spec::Placement;
use wire::{
    Capabilities, HarnessSpec, RegisterHarnessRequest, RegisterHarnessResponse, Resumability, SubstratePlacement,
};

use crate::world::{World, refused};

fn substrate(atespace: &str, template: &str) -> HarnessSpec {
    let placement = SubstratePlacement { atespace: atespace.into(), template: template.into() };
    HarnessSpec { placement: Some(Placement::Substrate(placement)), ..remote_spec("") }
}

fn resumability(number: i32) -> Option<Capabilities> {
    Some(Capabilities { resumability: number, ..Capabilities::default() })
}

/// RegisterHarnessRequest with a spec as bytes, which looks the same on the wire.
#[derive(Clone, PartialEq, Message)]
struct RawRequest {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", tag = "2")]
    spec: Vec<u8>,
    #[prost(bool, tag = "3")]
    new_option: bool,
}

/// A message of which only one field is known to anyone.
#[derive(Clone, PartialEq, Message)]
struct Future {
    #[prost(string, tag = "99")]
    zone: String,
}

async fn register_raw(operator: &Operator, request: RawRequest) -> Result<RegisterHarnessResponse, Status> {
    let mut grpc = Grpc::new(operator.channel.clone());
    grpc.ready().await.unwrap();
    let path = PathAndQuery::from_static("/agentsessions.v1.HarnessRegistry/RegisterHarness");
    let codec = ProstCodec::<RawRequest, RegisterHarnessResponse>::new();
    grpc.unary(tonic::Request::new(request), path, codec).await.map(tonic::Response::into_inner)
}

#[tokio::test]
async fn a_name_has_1_to_63_characters_of_a_to_z_0_to_9_and_dash() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    for good in ["a", "7", "a-b--c", &"a".repeat(63)] {
        operator.create(good, remote_spec("h:1")).await;
    }
    for bad in ["", "-", "-a", "a-", "A", "a_b", "a.b", "a b", "ä", &"a".repeat(64)] {
        assert_eq!(refused(operator.register(bad, remote_spec("h:1")).await), Code::InvalidArgument, "{bad:?}");
    }
}

#[tokio::test]
async fn get_and_retire_only_need_a_name() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    assert_eq!(refused(operator.get("").await), Code::InvalidArgument);
    assert_eq!(refused(operator.retire("", "").await), Code::InvalidArgument);
    for odd in ["NOT a name", &"h".repeat(20_000)] {
        assert_eq!(refused(operator.get(odd).await), Code::NotFound);
        assert_eq!(refused(operator.retire(odd, "").await), Code::NotFound);
    }
}

#[tokio::test]
async fn a_spec_must_be_there_and_say_what_it_must() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let missing = RegisterHarnessRequest { name: "h".into(), spec: None };
    assert_eq!(refused(operator.client.register_harness(missing).await), Code::InvalidArgument);

    let good = remote_spec("h:1");
    let bad = [
        ("no placement", HarnessSpec { placement: None, ..good.clone() }),
        ("remote.address empty", remote_spec("")),
        ("substrate.atespace empty", substrate("", "t")),
        ("substrate.template empty", substrate("a", "")),
        ("no capabilities", HarnessSpec { capabilities: None, ..good.clone() }),
        ("resumability unspecified", HarnessSpec { capabilities: resumability(0), ..good.clone() }),
        ("enum number without a name", HarnessSpec { capabilities: resumability(9), ..good.clone() }),
        ("enum number below zero", HarnessSpec { capabilities: resumability(-1), ..good.clone() }),
    ];
    for (row, spec) in bad {
        assert_eq!(refused(operator.register("h", spec).await), Code::InvalidArgument, "{row}");
    }
    let memory = resumability(Resumability::RequiresMemorySnapshot.into());
    operator.create("h", HarnessSpec { capabilities: memory, ..good }).await;
}

#[tokio::test]
async fn no_unknown_field_at_any_depth_of_a_spec_is_accepted() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let zone = Future { zone: "b".into() }.encode_to_vec();
    let good = remote_spec("h:1").encode_to_vec();
    let inside = |field: u32| {
        let mut bytes = Vec::new();
        prost::encoding::bytes::encode(field, &zone, &mut bytes);
        bytes
    };
    let request = |extra: Vec<u8>| RawRequest { name: "h".into(), spec: [&*good, &*extra].concat(), new_option: false };
    for (row, extra) in [("spec", zone.clone()), ("remote", inside(1)), ("capabilities", inside(3))] {
        let status = register_raw(&operator, request(extra)).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{row}");
        assert!(status.message().contains("99"), "{row}: {}", status.message());
    }
    assert_eq!(refused(operator.get("h").await), Code::NotFound);

    // A field beside the spec is not part of what is digested.
    let beside = RawRequest { new_option: true, ..request(Vec::new()) };
    assert_eq!(register_raw(&operator, beside).await.unwrap().outcome(), wire::RegisterOutcome::Created);
}

#[tokio::test]
async fn bytes_that_are_no_request_are_the_callers_fault() {
    let world = World::new().await;
    let truncated = RawRequest { name: "h".into(), spec: b"\x0a\x7f".to_vec(), new_option: false };
    assert_eq!(refused(register_raw(&world.operator, truncated).await), Code::InvalidArgument);
    let wrong_type = RawRequest { name: "h".into(), spec: b"\x08\x01".to_vec(), new_option: false };
    assert_eq!(refused(register_raw(&world.operator, wrong_type).await), Code::InvalidArgument);
}

#[tokio::test]
async fn the_canonical_form_has_at_most_4096_bytes() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let with = |id: usize| HarnessSpec { descriptor_id: "x".repeat(id), ..remote_spec("h:1") };
    let frame = r#"{"capabilities":{"resumability":"RESUMABILITY_STATELESS_REPLAY"},"descriptor_id":"","remote":{"address":"h:1"}}"#;
    let longest = 4_096 - frame.len();
    assert_eq!(refused(operator.register("h", with(longest + 1)).await), Code::InvalidArgument);
    assert_eq!(refused(operator.register("h", with(1_000_000)).await), Code::InvalidArgument);
    operator.create("h", with(longest)).await;
}

#[tokio::test]
async fn the_digest_is_that_of_the_canonical_form_with_the_address_as_it_is_written() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let echo = HarnessSpec { descriptor_id: "echo".into(), ..remote_spec("127.0.0.1:9000") };
    let registered = operator.create("h", echo.clone()).await;
    assert_eq!(registered.spec_digest, "sha256:f0c96c8b67d5dc75be557f64ccd59496eaf9cfb102754ee54e9d4c571eb2eafc");
    let same_place = remote_spec("dns:///127.0.0.1:9000").placement;
    let other = operator.register("h", HarnessSpec { placement: same_place, ..echo }).await;
    assert_eq!(refused(other), Code::AlreadyExists);
}

#[tokio::test]
async fn a_placement_that_this_host_cannot_serve_is_not_stored() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    let addresses = [
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:http",
        ":80",
        "dns:80",
        "unix:",
        "http://h:1",
        "dns://h:1",
        "xds:///h",
        "[::1]",
        "h h:1",
    ];
    for address in addresses {
        assert_eq!(refused(operator.register("h", remote_spec(address)).await), Code::FailedPrecondition, "{address}");
    }
    assert_eq!(refused(operator.register("h", substrate("a", "t")).await), Code::FailedPrecondition);
    assert_eq!(refused(operator.get("h").await), Code::NotFound, "nothing was stored");

    let node = world.node_without_model().await;
    let mut without_model = node.operator().await;
    assert_eq!(refused(without_model.register("h", remote_spec("h:1")).await), Code::FailedPrecondition);

    let good = ["127.0.0.1:1", "[::1]:65535", "h.example:1", "dns:///h:1", "dns://8.8.8.8/h:1", "unix:s", "unix:///s"];
    for (n, address) in good.into_iter().enumerate() {
        operator.create(&format!("good-{n}"), remote_spec(address)).await;
    }
}
