//! Example agents: one for each thing that methods can do with streams.

mod fan_out;
mod half_way;
mod lines;
mod mirror;
mod transcoder;

use sdk::Agents;

/// Id of the harness of the example agents.
const ID: &str = "agents";

/// The harness of the example agents (docs/agents.md).
#[must_use]
pub fn example_agents() -> Agents {
    let agents = [mirror::agent(), lines::agent(), transcoder::agent(), fan_out::agent(), half_way::agent()];
    Agents::new(ID, "1", agents).expect("invariant: the agents are constants, and a test offers them")
}
