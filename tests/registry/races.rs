//! Hosts that race: registrations against each other, retirements against new sessions.

use futures::future::join_all;
use support::{Api, Operator, remote_spec, rounds};
use tonic::{Code, Status};
use wire::{
    CreateSessionRequest, ListSessionsRequest, RegisterHarnessResponse, RegisterOutcome, ResourceMetadata, Session,
};

use crate::world::{World, refused, with_model};

/// A session on `harness`, in a project of the same name.
async fn create(mut api: Api, harness: &str) -> Result<String, Status> {
    let metadata = ResourceMetadata { project: harness.into(), ..ResourceMetadata::default() };
    let session = Session { metadata: Some(metadata), harness: harness.into(), ..Session::default() };
    let created = api.client.create_session(CreateSessionRequest { session: Some(session) }).await?;
    Ok(created.into_inner().metadata.unwrap().uid)
}

async fn sessions(api: &mut Api, harness: &str) -> Vec<String> {
    let request = ListSessionsRequest { project: harness.into(), page_size: 500, ..Default::default() };
    let sessions = api.client.list_sessions(request).await.unwrap().into_inner().sessions;
    let mut uids: Vec<_> = sessions.into_iter().map(|session| session.metadata.unwrap().uid).collect();
    uids.sort();
    uids
}

fn outcome(result: &Result<RegisterHarnessResponse, Status>) -> Result<RegisterOutcome, Code> {
    result.as_ref().map(RegisterHarnessResponse::outcome).map_err(Status::code)
}

/// Both hosts register the name at once, with the same spec or with another.
async fn race_registrations(one: &mut Operator, other: &mut Operator, name: &str, same: bool) {
    let here = remote_spec("h:1");
    let there = remote_spec(if same { "h:1" } else { "h:2" });
    let (first, second) = tokio::join!(one.register(name, here), other.register(name, there));
    let mut outcomes = [outcome(&first), outcome(&second)];
    outcomes.sort_by_key(|outcome| *outcome != Ok(RegisterOutcome::Created));
    let loser = if same { Ok(RegisterOutcome::Unchanged) } else { Err(Code::AlreadyExists) };
    assert_eq!(outcomes, [Ok(RegisterOutcome::Created), loser], "{name}");
}

#[tokio::test]
async fn one_of_racing_registrations_creates_and_no_session_begins_after_a_retirement() {
    let world = World::new().await;
    let elsewhere = with_model(&world.directory).start().await;
    let (mut one, mut other) = (world.operator.clone(), elsewhere.operator().await);
    let (here, there) = (world.node.api().await, elsewhere.api().await);
    let (mut begun, mut refusals) = (0, 0);
    for round in 0..rounds(1_000) {
        let name = format!("h{round}");
        race_registrations(&mut one, &mut other, &name, round % 2 == 0).await;

        let mut reader = here.clone();
        let retirement = async {
            // At some point between the first creation and the last.
            for _ in 0..round % 4 {
                sessions(&mut reader, &name).await;
            }
            one.retire(&name, "").await.unwrap();
            sessions(&mut reader, &name).await
        };
        let creations = join_all([&here, &there].repeat(3).into_iter().map(|api| create(api.clone(), &name)));
        let (at_retirement, creations) = tokio::join!(retirement, creations);
        let mut created = Vec::new();
        for creation in creations {
            match creation {
                Ok(uid) => created.push(uid),
                Err(status) => {
                    assert_eq!(status.code(), Code::FailedPrecondition, "{name}: {status:?}");
                    refusals += 1;
                }
            }
        }
        created.sort();
        assert_eq!(at_retirement, created, "{name}: what was created was there when RetireHarness returned");
        for api in [&here, &there] {
            assert_eq!(refused(create(api.clone(), &name).await), Code::FailedPrecondition);
        }
        assert_eq!(sessions(&mut here.clone(), &name).await, created, "{name}: a session came later");
        begun += created.len();
    }
    println!("{begun} sessions were created, {refusals} refused");
}

#[tokio::test]
async fn reactivation_and_retirement_race_to_one_of_the_two_states() {
    let world = World::new().await;
    let elsewhere = with_model(&world.directory).start().await;
    let (mut one, mut other) = (world.operator.clone(), elsewhere.operator().await);
    let spec = remote_spec("h:1");
    one.create("h", spec.clone()).await;
    for round in 0..rounds(1_000) {
        let (registered, retired) = tokio::join!(one.register("h", spec.clone()), other.retire("h", "race"));
        let outcome = registered.unwrap().outcome();
        assert_ne!(outcome, RegisterOutcome::Created, "round {round}");
        let retired = retired.unwrap();
        let now = one.get("h").await.unwrap();
        assert_eq!(now, other.get("h").await.unwrap(), "both hosts see the same");
        assert_eq!(now.retire_time.is_some(), now.state() == wire::HarnessState::Retired);
        assert_eq!(retired.metadata.unwrap().uid, now.metadata.unwrap().uid);
    }
}
