//! Every rule of registry.md §3.3 and of the harness column of journal.md §10.

use support::{Operator, remote_spec};
use tonic::Code;
use wire::{HarnessRegistration, HarnessSource, ListHarnessesRequest};

use crate::world::{World, name, refused};

fn page(page_size: i32, page_token: &str, include_retired: bool) -> ListHarnessesRequest {
    ListHarnessesRequest { page_size, page_token: page_token.into(), include_retired }
}

fn names(harnesses: &[HarnessRegistration]) -> Vec<&str> {
    harnesses.iter().map(name).collect()
}

/// The names on each page.
async fn pages(operator: &mut Operator, page_size: i32, include_retired: bool) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut token = String::new();
    loop {
        let response = operator.list(page(page_size, &token, include_retired)).await.unwrap();
        pages.push(names(&response.harnesses).into_iter().map(str::to_owned).collect());
        token = response.next_page_token;
        if token.is_empty() {
            return pages;
        }
    }
}

#[tokio::test]
async fn static_and_registered_harnesses_are_merged_in_the_order_of_names() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    for name in ["zz", "a", "cz", "d-1", "e"] {
        operator.create(name, remote_spec("h:1")).await;
    }
    operator.retire("cz", "").await.unwrap();
    let listed = operator.list(page(0, "", false)).await.unwrap();
    assert_eq!(names(&listed.harnesses), ["a", "chat", "d-1", "e", "echo", "zz"]);
    let sources = listed.harnesses.iter().filter(|harness| harness.source() == HarnessSource::Static);
    assert_eq!(sources.map(name).collect::<Vec<_>>(), ["chat", "echo"]);
    assert_eq!(listed.next_page_token, "");

    let all = ["a", "chat", "cz", "d-1", "e", "echo", "zz"];
    for size in 1..=8 {
        let expected: Vec<Vec<_>> = all.chunks(size).map(<[_]>::to_vec).collect();
        assert_eq!(pages(&mut operator, size as i32, true).await, expected, "pages of {size}");
    }
}

#[tokio::test]
async fn retired_harnesses_are_hidden_unless_asked_for_and_static_ones_never() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    operator.create("h", remote_spec("h:1")).await;
    operator.retire("h", "").await.unwrap();
    assert_eq!(pages(&mut operator, 0, false).await, [["chat", "echo"]]);
    assert_eq!(pages(&mut operator, 1, false).await, [["chat"], ["echo"]], "a hidden row makes no empty page");
    assert_eq!(pages(&mut operator, 0, true).await, [["chat", "echo", "h"]]);
}

#[tokio::test]
async fn page_sizes_and_tokens() {
    let world = World::new().await;
    let mut operator = world.operator.clone();
    for n in 0..52 {
        operator.create(&format!("h{n:02}"), remote_spec("h:1")).await;
    }
    assert_eq!(refused(operator.list(page(-1, "", false)).await), Code::InvalidArgument);
    let default = operator.list(page(0, "", false)).await.unwrap();
    assert_eq!(default.harnesses.len(), 50);
    // Unpadded base64url of the last name: `h47`, after `chat` and `echo`.
    assert_eq!(default.next_page_token, "aDQ3");
    assert_eq!(operator.list(page(501, "", false)).await.unwrap().harnesses.len(), 54);
    for bad in ["*", "aDQ3=", "_w", "a"] {
        assert_eq!(refused(operator.list(page(0, bad, false)).await), Code::InvalidArgument, "{bad}");
    }
    // After `h9`, `z` and a name of 20,000 bytes, none of which exists.
    let long = "eno6".repeat(5_000);
    for (token, rest) in [("aDUwMA", vec!["h51"]), ("eg", vec![]), (&*long, vec![])] {
        let response = operator.list(page(0, token, false)).await.unwrap();
        assert_eq!(names(&response.harnesses), rest, "a position need not be a name");
        assert_eq!(response.next_page_token, "");
    }
}
