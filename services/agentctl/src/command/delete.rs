//! `agentctl delete`

use clap::Args;
use wire::DeleteSessionRequest;

use super::Context;
use super::decide::Decider;
use crate::output::text::Deleted;

/// Deletes a session and its records, for good; forks of it stay whole. Prints its audit record. Needs a host that
/// grants it
#[derive(Args, Debug)]
pub struct Delete {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,

    /// Why, for the audit record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,

    #[command(flatten)]
    decider: Decider,
}

impl Delete {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let identity = self.decider.identity();
        let request = DeleteSessionRequest { uid: self.session, identity, reason: self.reason };
        let session = context.client.delete(request).await?;
        Ok(context.output.line(Deleted(&session), &session)?)
    }
}
