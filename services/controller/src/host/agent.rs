//! The agents that can be invoked on this host.

use env::TaskKind;

use super::Host;
use crate::agents::{Agent, Found};

impl Host {
    /// The method of an agent type that a harness of this host offers, typed or the one of every plain harness. The first
    /// harness in the order of their names has an agent type that several offer. What is not known is asked for, and so is,
    /// in the background, what was known a few seconds ago.
    pub async fn agent(&self, agent_type: &str, method: &str) -> Option<Agent> {
        match self.agents.find(agent_type, method) {
            Found::Fresh(agent) => return Some(agent),
            Found::Old(agent) => {
                self.refresh_agents();
                return Some(agent);
            }
            Found::Missing => self.agents.refresh(self.harnesses()).await,
        }
        match self.agents.find(agent_type, method) {
            Found::Fresh(agent) | Found::Old(agent) => Some(agent),
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
