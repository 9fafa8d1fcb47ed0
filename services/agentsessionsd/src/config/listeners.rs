//! The listeners of a node, which must not be in each other's way.

use super::load::Problem;
use super::{Config, ListenAddr};

impl Config {
    /// Listeners that could not be bound beside each other, or must not be.
    pub(super) fn listener_problems(&self) -> Vec<Problem> {
        let registry = self.registry.addr.get().map(ListenAddr::from);
        let mut before = vec![("addr", &self.addr)];
        let mut problems = Vec::new();
        if let Some(registry) = &registry {
            // registry.md §6: whatever their hosts are.
            if registry.port() != 0 && registry.port() == self.addr.port() {
                problems.push(Problem::new("registry.addr", "must not have the port of the Sessions service"));
            }
            before.push(("registry.addr", registry));
        }
        let others = [("streams.addr", &self.streams.addr), ("telemetry.metrics_addr", &self.telemetry.metrics_addr)];
        for (key, addr) in others {
            let Some(addr) = addr.get() else { continue };
            if let Some((taken, _)) = before.iter().find(|(_, other)| addr.clashes_with(other)) {
                let message = format!("has the address of {taken}: every listener needs one of its own");
                problems.push(Problem::new(key, message));
            }
            before.push((key, addr));
        }
        problems
    }
}
