//! Listings, page by page.

use futures::TryStreamExt;
use wire::Session;

use crate::script::Script;

fn session(model: &str) -> Session {
    Session { model: model.into(), ..Default::default() }
}

#[tokio::test]
async fn all_pages_are_read_in_order() {
    let script = Script::new(|state| state.sessions = ["a", "b", "c", "d", "e"].map(session).into());
    let listed: Vec<_> = script.client().list("").into_stream().try_collect().await.unwrap();
    assert_eq!(listed.iter().map(|session| session.model.as_str()).collect::<String>(), "abcde");
    assert_eq!(script.with(|state| state.pages), 3);
}

#[tokio::test]
async fn a_page_is_asked_for_only_when_it_is_needed() {
    let script = Script::new(|state| state.sessions = ["a", "b", "c"].map(session).into());
    let mut pages = script.client().list("");
    assert_eq!(script.with(|state| state.pages), 0);
    pages.next().await.unwrap();
    pages.next().await.unwrap();
    assert_eq!(script.with(|state| state.pages), 1);
}

#[tokio::test]
async fn an_empty_listing_ends_at_once() {
    assert_eq!(Script::default().client().list("p").next().await.unwrap(), None);
}
