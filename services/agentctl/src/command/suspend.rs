//! `agentctl suspend`

use clap::Args;

use super::Context;
use crate::output::text::Marked;

/// Suspends a session
#[derive(Args, Debug)]
pub struct Suspend {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,
}

impl Suspend {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let session = context.client.suspend(&self.session).await?;
        Ok(context.output.line(Marked { session: &session, by: "suspend" }, &session)?)
    }
}
