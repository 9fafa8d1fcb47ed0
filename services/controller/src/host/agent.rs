//! The agents that can be invoked on this host.

use env::TaskKind;

use super::{Host, HostError};
use crate::agents::{Agent, AgentCatalog, Found};

impl Host {
    /// The method of an agent type that a harness of this host offers, typed or the one of every plain harness. The first
    /// harness in the order of their names has an agent type that several offer. What is not known is asked for, and so is,
    /// in the background, what was known a few seconds ago.
    pub async fn agent(&self, agent_type: &str, method: &str) -> Option<Agent> {
        self.look_for(|agents| agents.find(agent_type, method)).await
    }

    /// An agent type that a harness of this host offers, found in the same way, as callers are told of it.
    ///
    /// # Errors
    /// [`HostError::UnknownAgentType`].
    pub async fn describe_agent(&self, agent_type: &str) -> Result<wire::AgentType, HostError> {
        let found = self.look_for(|agents| agents.find_type(agent_type)).await;
        found.map(|found| found.to_wire()).ok_or_else(|| HostError::UnknownAgentType(agent_type.to_owned()))
    }

    async fn look_for<T>(&self, find: impl Fn(&AgentCatalog) -> Found<T>) -> Option<T> {
        match find(&self.agents) {
            Found::Fresh(found) => return Some(found),
            Found::Old(found) => {
                self.refresh_agents();
                return Some(found);
            }
            Found::Missing => self.agents.refresh(self.harnesses()).await,
        }
        match find(&self.agents) {
            Found::Fresh(found) | Found::Old(found) => Some(found),
            Found::Missing => None,
        }
    }

    fn refresh_agents(&self) {
        let (host, stop) = (self.clone(), self.parts.tasks.cancelled(TaskKind::Background));
        self.parts.tasks.spawn("agents", TaskKind::Background, async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = host.agents.refresh(host.harnesses()) => {}
            }
        });
    }
}
