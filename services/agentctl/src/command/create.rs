//! `agentctl create`

use clap::Args;
use wire::{ResourceMetadata, Session};

use super::Context;
use crate::output::text;

/// Creates a session and prints its uid; --model is kept as its label
#[derive(Args, Debug)]
pub struct Create {
    /// Name to show in listings
    #[arg(long, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
    name: String,

    /// Harness that runs the session's turns; the host's default if not given
    #[arg(long, default_value = "", hide_default_value = true)]
    harness: String,
}

impl Create {
    pub async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        let host = &context.common.host;
        let metadata = ResourceMetadata { project: host.project.clone(), name: self.name, ..Default::default() };
        let session = Session {
            metadata: Some(metadata),
            harness: self.harness,
            model: host.model.name.clone(),
            ..Default::default()
        };
        let created = context.client.create(session).await?;
        Ok(context.output.line(text::uid(&created), &created)?)
    }
}
