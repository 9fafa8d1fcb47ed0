//! The id of a turn, chosen by its caller.

use futures::TryStreamExt;
use wire::ExecRequest;

use crate::testing::host::{World, call};
use crate::{Classified, ErrorClass, HostError};

fn request(world: &World, execution_id: &str) -> ExecRequest {
    ExecRequest { session: world.session.to_string(), execution_id: execution_id.into(), ..ExecRequest::default() }
}

async fn exec(world: &World, execution_id: &str) -> Result<(), HostError> {
    world.host.exec(request(world, execution_id), call(None)).try_for_each(async |_| Ok(())).await
}

#[tokio::test]
async fn the_records_of_a_turn_carry_the_id_that_its_caller_chose() {
    let world = World::new().await;
    exec(&world, "0123456789abcdef").await.unwrap();
    let log = world.log(&world.session).await;
    assert!(!log.is_empty() && log.iter().all(|event| event.execution_id == "0123456789abcdef"), "{log:?}");
}

#[tokio::test]
async fn a_turn_that_the_session_has_does_not_begin_again_and_is_not_disturbed() {
    let world = World::new().await;
    exec(&world, "0123456789abcdef").await.unwrap();
    let state = world.journal.session(&world.session).await.unwrap().unwrap();
    let writer = world.journal.mint(state.uid()).await.unwrap();
    let refused = exec(&world.beside().await, "0123456789abcdef").await.unwrap_err();
    assert_eq!(refused.class(), ErrorClass::AlreadyExists);
    assert!(world.is_unfenced(writer).await, "who writes to the session goes on");
}

#[tokio::test]
async fn an_id_that_no_host_would_choose_is_refused_before_anything_is_done() {
    let world = World::new().await;
    for id in ["0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdeg"] {
        assert_eq!(exec(&world, id).await.unwrap_err().class(), ErrorClass::InvalidArgument, "{id}");
    }
    assert!(world.log(&world.session).await.is_empty());
}
