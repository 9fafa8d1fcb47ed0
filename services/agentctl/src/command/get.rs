//! `agentctl get`

use clap::Args;

use super::Context;
use crate::output::text::Described;

/// Shows a session
#[derive(Args, Debug)]
pub struct Get {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,
}

impl Get {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let session = context.client.get(&self.session).await?;
        Ok(context.output.line(Described(&session), &session)?)
    }
}
