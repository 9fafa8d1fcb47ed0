//! Whether a harness keeps to the contract, found out by playing its host (execution.md §6.2).
//!
//! A [`Suite`] holds one ordinary turn with the harness, and from then on knows which effects it asks for. Each of the
//! [`checks`] looks at that turn, or holds another one in which the host breaks a rule or does something rare. A check
//! that needs an effect which the harness did not ask for is skipped, and says so: inputs, configuration and model
//! answers that make the harness show it are part of the [`Plan`].
//!
//! The rules themselves are pure functions of what was said; only `conversation` talks to the harness.

mod asked;
mod conversation;
mod effect;
mod former;
mod gates;
mod outcome;
mod plan;
mod refusal;
mod replay;
mod scenario;
mod transcript;

use std::fmt;

use controller::ports::HarnessUnavailable;
use futures::future::BoxFuture;
use wire::{HarnessDescriptor, Resumability};

use crate::HarnessAddress;
use asked::Asked;
use conversation::{Conversation, Host, Turn};
use effect::Effect;
use outcome::Outcome;

pub use plan::Plan;

/// A harness under test, after its first turn.
pub struct Suite {
    host: Host,
    descriptor: HarnessDescriptor,
    first: Outcome,
}

/// One promise of a harness.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its short name.
    pub name: &'static str,
    /// What the harness must do.
    pub promise: &'static str,
    body: Body,
}

/// How a check is made.
#[derive(Clone, Copy)]
enum Body {
    /// By looking at the first turn.
    Transcript(fn(&Outcome) -> Finding),
    /// By frames that must fail a turn, sent in place of the answer to an effect.
    Refusal(Effect, fn(&Asked) -> Frames),
    /// By a conversation of its own, for which the harness must ask for an effect.
    Scenario(Option<Effect>, for<'a> fn(&'a Suite) -> BoxFuture<'a, Finding>),
    /// By a conversation of its own, with a harness that is resumed from its records.
    Replay(for<'a> fn(&'a Suite) -> BoxFuture<'a, Finding>),
}

type Frames = Vec<wire::ControllerFrame>;

/// What is wrong, if anything.
type Finding = Result<(), String>;

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The harness kept its promise.
    Passed,
    /// It did not; the text says what it did.
    Failed(String),
    /// The harness did nothing that could be checked; the text says what is missing.
    Skipped(String),
}

/// All checks, in the order in which they are best read.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    [transcript::CHECKS, scenario::CHECKS, replay::CHECKS, gates::CHECKS, refusal::CHECKS].into_iter().flatten()
}

impl Suite {
    /// Has the harness describe itself and run one turn.
    ///
    /// # Errors
    /// It cannot be reached, or does not say what it is.
    pub async fn meet(address: HarnessAddress, plan: Plan) -> Result<Self, HarnessUnavailable> {
        let host = Host::new(address, plan);
        let descriptor = host.describe().await?;
        let first = host.open(host.turn()).await?.finish().await;
        Ok(Self { host, descriptor, first })
    }

    /// What the harness says it is.
    #[must_use]
    pub fn descriptor(&self) -> &HarnessDescriptor {
        &self.descriptor
    }

    /// Makes one check.
    pub async fn run(&self, check: &Check) -> Verdict {
        let finding = match check.body {
            Body::Transcript(look) => look(&self.first),
            Body::Refusal(effect, _) | Body::Scenario(Some(effect), _) if !self.first.asks_for(effect) => {
                return Verdict::Skipped(format!("the harness made no {effect}"));
            }
            Body::Replay(_) if self.keeps_memory() => {
                return Verdict::Skipped("the harness keeps memory, so that its turns are not run again".into());
            }
            Body::Replay(scenario) => scenario(self).await,
            Body::Refusal(effect, frames) => refusal::refuses(&self.host, effect, frames).await,
            Body::Scenario(_, scenario) => scenario(self).await,
        };
        finding.map_or_else(Verdict::Failed, |()| Verdict::Passed)
    }

    /// Whether a session of the harness is more than its records.
    fn keeps_memory(&self) -> bool {
        let capabilities = self.descriptor.capabilities.as_ref();
        capabilities.map(wire::Capabilities::resumability) == Some(Resumability::RequiresMemorySnapshot)
    }

    /// Begins a turn.
    async fn open(&self, turn: Turn) -> Result<Conversation<'_>, String> {
        self.host.open(turn).await.map_err(|error| error.to_string())
    }

    /// Holds a whole turn, as a host does.
    async fn hold(&self, turn: Turn) -> Result<Outcome, String> {
        Ok(self.open(turn).await?.finish().await)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_checks_have_the_same_name() {
        let names: Vec<_> = checks().map(|check| check.name).collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
    }
}
