//! Learning what was registered through other hosts (registry.md §5).

use std::time::Duration;

use env::{TaskKind, Tasks};
use journal::{JournalError, Registration};

use super::Registry;
use crate::metrics::METRICS;

/// Registrations read at once.
const PAGE: usize = 500;

impl Registry {
    /// Looks for registrations made elsewhere every `period`, and when another host says that there is something to see,
    /// until background tasks are stopped. A journal that cannot be read is asked again: what is known stays served.
    pub fn follow(&self, tasks: &Tasks, period: Duration) {
        let registry = self.clone();
        let stop = tasks.cancelled(TaskKind::Background);
        tasks.spawn("registry", TaskKind::Background, async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = registry.keep_refreshing(period) => {}
            }
        });
    }

    async fn keep_refreshing(&self, period: Duration) {
        let mut failing = false;
        loop {
            // What others say may be lost.
            let _ = tokio::time::timeout(period, self.parts.coordinator.registry_change()).await;
            let refreshed = self.refresh().await;
            if refreshed.is_err() {
                METRICS.registry_refresh_failures.inc();
            }
            // One line when it begins, not one for every time.
            if let (Err(error), false) = (&refreshed, failing) {
                tracing::warn!(%error, "cannot look for registered harnesses");
            }
            failing = refreshed.is_err();
        }
    }

    /// Looks at every registration that is new to this host. Reads one small row if there is none.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn refresh(&self) -> Result<(), JournalError> {
        // Counted before the reading: what changes during it is read again.
        let changes = self.journal().registry_changes().await?;
        if self.with_verdicts(|verdicts| verdicts.seen == Some(changes)) {
            return Ok(());
        }
        let mut after: Option<String> = None;
        loop {
            let page = self.journal().registrations(after.as_deref(), PAGE, true).await?;
            for registration in &page {
                self.look_at(registration);
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.name.clone()),
                _ => break,
            }
        }
        self.with_verdicts_mut(|verdicts| verdicts.seen = Some(changes));
        Ok(())
    }

    /// Looks at a registration. Returns why this host cannot serve it, if so.
    pub(super) fn look_at(&self, registration: &Registration) -> Option<String> {
        let own = self.is_static(&registration.name);
        self.with_verdicts_mut(|verdicts| {
            if own {
                verdicts.note_contested(&registration.name);
                return None;
            }
            verdicts.look_at(registration, &*self.parts.placements)
        })
    }
}
