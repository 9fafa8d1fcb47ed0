//! Invocations of agents. The queue of an instance is driven by one node, which runs one invocation after the other until
//! none is left. Which node that is, the journal decides; a node that loses an instance to another is refused at its next
//! write.

mod attempt;
mod drives;
mod finish;
mod nodes;
mod patience;
mod queue;

use cluster::Follower;
use env::TaskKind;
use journal::SessionUid;

use super::Host;
pub(super) use drives::Drives;

impl Host {
    /// Sees to it that the queue of an instance is driven, if this node is to drive it. Returns at once; may be asked any
    /// number of times, and should be after every attempt to accept an invocation, however that went.
    pub fn drive(&self, instance: &SessionUid) {
        let Some(mut drive) = self.drives.begin(instance) else { return };
        let host = self.clone();
        self.parts.tasks.spawn("invocations", TaskKind::Request, async move {
            while drive.goes_on() {
                host.drive_queue(drive.instance()).await;
            }
        });
    }

    /// Hears what is told of a session on any node. News are hints and may be lost: who follows polls as well.
    #[must_use]
    pub fn follow(&self, session: &SessionUid) -> Follower {
        self.parts.coordinator.follow(session)
    }
}

#[cfg(test)]
mod tests;
