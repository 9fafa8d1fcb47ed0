//! `agentctl pending`

use clap::Args;

use super::Context;
use crate::output::text::Waiting;
use crate::progress::Progress;

/// Lists the sessions of a project that wait for an approval, those first that began to wait last
#[derive(Args, Debug)]
pub struct Pending {}

impl Pending {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let progress = Progress::new("sessions", None, context.output.is_interactive());
        let mut sessions = context.client.pending(&context.common.host.project);
        while let Some(session) = sessions.next().await? {
            // A host that does not know this listing gives all sessions.
            if session.pending_approval.is_some() {
                context.output.line(Waiting(&session), &session)?;
            }
            progress.step();
        }
        Ok(())
    }
}
