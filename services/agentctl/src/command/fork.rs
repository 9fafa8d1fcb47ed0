//! `agentctl fork`

use clap::Args;
use wire::ForkRequest;

use super::Context;
use crate::output::text::Child;

/// Creates sessions that share a session's log up to a record
#[derive(Args, Debug)]
pub struct Fork {
    /// Uid of the session to fork
    #[arg(long, value_name = "UID")]
    session: String,

    /// Seq of the last record to share; 0 is the newest one
    #[arg(long, value_name = "SEQ", default_value_t = 0, allow_negative_numbers = true)]
    at: i64,

    /// Number of children; one, or as many as there are names, if not given
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    count: Option<i32>,

    /// Names of the children, separated by commas
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    names: Vec<String>,
}

impl Fork {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let count = match self.count {
            Some(count) => count,
            None => i32::try_from(self.names.len().max(1))?,
        };
        let request = ForkRequest {
            session: self.session,
            at_seq: self.at,
            count,
            child_names: self.names,
            ..Default::default()
        };
        for child in context.client.fork(request).await? {
            context.output.line(Child(&child), &child)?;
        }
        Ok(())
    }
}
