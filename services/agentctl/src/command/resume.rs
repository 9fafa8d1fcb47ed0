//! `agentctl resume`

use clap::Args;

use super::Context;
use crate::output::text::Marked;

/// Finishes an interrupted turn, if there is one, and makes the session live
#[derive(Args, Debug)]
pub struct Resume {
    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: String,
}

impl Resume {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let session = context.client.resume(&self.session).await?;
        Ok(context.output.line(Marked { session: &session, by: "resume" }, &session)?)
    }
}
