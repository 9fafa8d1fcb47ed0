//! What happens to a harness sooner or later: cancelled turns, hosts that die, turns side by side, long histories.

use futures::FutureExt;
use wire::controller_frame::Frame;
use wire::{Cancel, ControllerFrame, Resumability};

use super::conversation::Step;
use super::effect::Effect;
use super::outcome::Ending;
use super::{Body, Check, Finding, Suite, former};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "describe",
        promise: "says what it is: an id and a known resumability, the same each time",
        body: Body::Scenario(None, |suite| describes(suite).boxed()),
    },
    Check {
        name: "first-frame",
        promise: "refuses a stream that does not begin with start",
        body: Body::Scenario(None, |suite| needs_a_start(suite).boxed()),
    },
    Check {
        name: "start-without-execution",
        promise: "refuses a start without execution id",
        body: Body::Scenario(None, |suite| needs_an_execution(suite).boxed()),
    },
    Check {
        name: "history",
        promise: "takes a history with records of every kind",
        body: Body::Scenario(None, |suite| takes_history(suite, 0).boxed()),
    },
    Check {
        name: "long-history",
        promise: "takes a history of 8 MiB, twice what gRPC libraries take by default",
        body: Body::Scenario(None, |suite| takes_history(suite, 8 << 20).boxed()),
    },
    Check {
        name: "two-turns",
        promise: "keeps two turns apart that run at the same time",
        body: Body::Scenario(None, |suite| runs_two_turns(suite).boxed()),
    },
    Check {
        name: "cancel",
        promise: "ends a turn on a cancel frame",
        body: Body::Scenario(Some(Effect::Any), |suite| is_cancelled(suite).boxed()),
    },
    Check {
        name: "dead-host",
        promise: "runs another turn after a host has gone away in the middle of one",
        body: Body::Scenario(Some(Effect::Any), |suite| survives_a_host(suite).boxed()),
    },
];

async fn describes(suite: &Suite) -> Finding {
    let descriptor = suite.descriptor();
    if descriptor.id.is_empty() {
        return Err("the descriptor has no id".into());
    }
    let resumability = descriptor.capabilities.unwrap_or_default().resumability;
    if Resumability::try_from(resumability).is_err() {
        return Err(format!("{resumability} is no resumability"));
    }
    match suite.host.describe().await {
        Ok(again) if again == *descriptor => Ok(()),
        Ok(_) => Err("asked again, it answers with another descriptor".into()),
        Err(error) => Err(error.to_string()),
    }
}

async fn needs_a_start(suite: &Suite) -> Finding {
    let turn = suite.host.turn();
    let cancel = turn.frame(Some(Frame::Cancel(Cancel::default())));
    let conversation = suite.host.begin(turn, cancel).await.map_err(|error| error.to_string())?;
    conversation.aftermath().await.fails_at_once()
}

async fn needs_an_execution(suite: &Suite) -> Finding {
    let turn = suite.host.turn();
    let start = ControllerFrame { execution_id: String::new(), ..suite.host.start(&turn, Vec::new()) };
    let conversation = suite.host.begin(turn, start).await.map_err(|error| error.to_string())?;
    conversation.aftermath().await.fails_at_once()
}

/// What the harness makes of a history is its own affair, but it must come to an end of the turn.
async fn takes_history(suite: &Suite, bytes: usize) -> Finding {
    let turn = suite.host.turn();
    let start = suite.host.start(&turn, former::history(bytes));
    let conversation = suite.host.begin(turn, start).await.map_err(|error| error.to_string())?;
    conversation.finish().await.completes()
}

async fn runs_two_turns(suite: &Suite) -> Finding {
    let (one, two) = (suite.host.turn(), suite.host.turn());
    let (mut one, mut two) = (suite.open(one).await?, suite.open(two).await?);
    // Both are led to where they wait for an answer before either gets one.
    let (first, second) = (one.step().await, two.step().await);
    for (conversation, step) in [(&mut two, &second), (&mut one, &first)] {
        if let Step::Asked(asked) = step {
            conversation.answer(asked).await;
        }
    }
    for (conversation, step) in [(two, second), (one, first)] {
        let outcome = match step {
            Step::Ended(ending) => conversation.ended(ending),
            Step::Asked(_) | Step::Said => conversation.finish().await,
        };
        outcome.completes()?;
        super::transcript::execution_ids(&outcome)?;
    }
    Ok(())
}

async fn is_cancelled(suite: &Suite) -> Finding {
    let mut conversation = suite.open(suite.host.turn()).await?;
    let asked = conversation.until(Effect::Any).await?;
    let cancel = Cancel { reason: "conformance".into() };
    conversation.send(vec![asked.frame(Frame::Cancel(cancel))]).await;
    let aftermath = conversation.aftermath().await;
    match (&aftermath.ending, aftermath.events.is_empty()) {
        // A harness that stops without a word has stopped.
        (Ending::Closed, true) => Ok(()),
        _ => aftermath.fails_at_once(),
    }
}

async fn survives_a_host(suite: &Suite) -> Finding {
    let mut conversation = suite.open(suite.host.turn()).await?;
    conversation.until(Effect::Any).await?;
    drop(conversation);
    suite.hold(suite.host.turn()).await?.completes()
}
