//! `agentctl cancel`

use clap::Args;
use wire::CancelRequest;

use super::Context;
use crate::output::text::Stopped;

/// Ends the turn of a session for good: it stops if it runs, and cannot be resumed. Needs a host that grants it
#[derive(Args, Debug)]
pub struct Cancel {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,

    /// The turn, which must then not have ended otherwise; by default the last one, if it has not ended
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    execution: String,

    /// Why, for the record and for the harness
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl Cancel {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let request = CancelRequest { session: self.session, execution_id: self.execution, reason: self.reason };
        let session = context.client.cancel(request).await?;
        Ok(context.output.line(Stopped(&session), &session)?)
    }
}
