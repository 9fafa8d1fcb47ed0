//! `agentctl list`

use clap::Args;

use super::Context;
use crate::output::text::Listed;
use crate::progress::Progress;

/// Lists the sessions of a project, newest first
#[derive(Args, Debug)]
pub struct List {}

impl List {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let progress = Progress::new("sessions", None, context.output.is_interactive());
        let mut sessions = context.client.list(&context.common.host.project);
        while let Some(session) = sessions.next().await? {
            context.output.line(Listed(&session), &session)?;
            progress.step();
        }
        Ok(())
    }
}
