//! Which nodes live: each gives a sign of life in the journal, and takes over what nodes had that give none.

mod sign;
mod vigil;

use std::time::Duration;

use env::TaskKind;
use journal::JournalError;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::host::Host;
use crate::metrics::METRICS;
use vigil::Vigil;

/// How often a node gives a sign of life, and looks for the others'.
const BEAT: Duration = Duration::from_secs(2);

impl Host {
    /// Gives signs of life, takes over what dead nodes had, and drives the queues that this node is to drive, or that
    /// nobody does, until the node shuts down. To be called once, when the node starts.
    pub fn run_invocations(&self) {
        let (host, stop) = (self.clone(), self.parts.tasks.cancelled(TaskKind::Background));
        self.parts.tasks.spawn("heartbeats", TaskKind::Background, async move {
            let mut beats = interval(BEAT);
            beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let (sign, mut vigil) = (host.sign(), Vigil::default());
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => break,
                    _ = beats.tick() => {}
                }
                if let Err(error) = host.beat(&sign, &mut vigil).await {
                    tracing::warn!(%error, "this node cannot give a sign of life");
                }
            }
            if let Err(error) = host.journal().farewell().await {
                tracing::warn!(%error, "this node cannot say farewell");
            }
        });
    }

    async fn beat(&self, sign: &str, vigil: &mut Vigil) -> Result<(), JournalError> {
        let journal = self.journal();
        journal.beat(sign).await?;
        for dead in vigil.look(&journal.beats().await?, journal.incarnation(), Instant::now()) {
            let instances = journal.reap(dead).await?;
            METRICS.taken_over(instances.len());
            tracing::info!(node = %dead, instances = instances.len(), "took over what a dead node had");
            vigil.forget(dead);
        }
        self.drive_due().await
    }

    /// What this node says of itself when it gives a sign of life.
    fn sign(&self) -> String {
        // In a simulation the nodes die, and the process lives on.
        let mark = if self.parts.env.is_real() { env::process_mark() } else { None };
        sign::write(&self.parts.coordinator.node().name, mark.as_deref())
    }

    async fn drive_due(&self) -> Result<(), JournalError> {
        let journal = self.journal();
        let mut after = None;
        loop {
            let due = journal.due_runs(after.as_ref()).await?;
            due.iter().for_each(|instance| self.drive(instance));
            match due.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return Ok(()),
            }
        }
    }
}
