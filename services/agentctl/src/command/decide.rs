//! `agentctl approve` and `agentctl deny` (registry.md §8.1)

use anyhow::Context as _;
use clap::Args;
use client::Client;
use wire::{ApprovalRef, ApproveRequest, ApproveResponse, IdentityRef, Session};

use super::Context;
use crate::output::text::{Decided, uid};

/// What is decided, by whom and why
#[derive(Args, Debug)]
pub struct Decide {
    /// Uid of the session
    #[arg(value_name = "UID", required_unless_present = "session", conflicts_with = "session")]
    uid: Option<String>,

    /// Uid of the session
    #[arg(long, value_name = "UID")]
    session: Option<String>,

    #[command(flatten)]
    call: Option<Call>,

    /// Why, for the record and for the harness
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,

    #[command(flatten)]
    decider: Decider,

    /// Prints the answer as JSON; the same as --output json
    #[arg(long)]
    json: bool,
}

/// A certain call, instead of the one that the session waits for; all three or none.
#[derive(Args, Debug)]
struct Call {
    /// The turn of the call; give --tool-call and --request-seq too
    #[arg(long, value_name = "ID", requires_all = ["tool_call", "request_seq"], required = false)]
    execution: String,

    /// The call
    #[arg(long, value_name = "ID", requires_all = ["execution", "request_seq"], required = false)]
    tool_call: String,

    /// The record that asks for the approval
    #[arg(long, value_name = "SEQ", requires_all = ["execution", "tool_call"], required = false)]
    request_seq: i64,
}

/// Who decides.
#[derive(Args, Debug)]
pub(super) struct Decider {
    /// Who decides
    #[arg(long, value_name = "PRINCIPAL", default_value = "", hide_default_value = true)]
    actor: String,

    /// Who vouches for that
    #[arg(long, value_name = "ISSUER", default_value = "", hide_default_value = true)]
    identity_issuer: String,

    /// Their name for who decides
    #[arg(long, value_name = "SUBJECT", default_value = "", hide_default_value = true)]
    identity_subject: String,
}

impl Decide {
    pub async fn run(self, approved: bool, context: &mut Context) -> anyhow::Result<()> {
        if self.json {
            context.output.use_json();
        }
        let request = self.request(approved, &context.client).await?;
        let again = Again(&request).to_string();
        let ApproveResponse { decision, session } = context.client.approve(request).await?;
        let decision = decision.context("the host has answered without a decision")?;
        let session = session.unwrap_or_default();
        let session = resume(&context.client, &session).await.with_context(|| {
            let (uid, seq) = (uid(&session), decision.seq);
            format!("the decision is committed at seq {seq} for session {uid}, but Resume failed; {again}")
        })?;
        let response = ApproveResponse { decision: Some(decision.clone()), session: Some(session.clone()) };
        Ok(context.output.line(Decided { decision: &decision, session: &session }, &response)?)
    }

    async fn request(self, approved: bool, client: &Client) -> anyhow::Result<ApproveRequest> {
        let session = self.uid.or(self.session).unwrap_or_default();
        let ApprovalRef { execution_id, tool_call_id, request_seq } = match self.call {
            Some(call) => call.into(),
            None => pending(client, &session).await?,
        };
        let reason = self.reason;
        let identity = self.decider.identity();
        let approved = Some(approved);
        Ok(ApproveRequest { session, execution_id, tool_call_id, request_seq, approved, reason, identity })
    }
}

async fn pending(client: &Client, session: &str) -> anyhow::Result<ApprovalRef> {
    let found = client.get(session).await?.pending_approval;
    found.with_context(|| format!("session {session} waits for no approval"))
}

async fn resume(client: &Client, decided: &Session) -> Result<Session, client::Error> {
    client.resume(uid(decided)).await
}

impl From<Call> for ApprovalRef {
    fn from(Call { execution, tool_call, request_seq }: Call) -> Self {
        Self { execution_id: execution, tool_call_id: tool_call, request_seq }
    }
}

impl Decider {
    /// Nobody, if nobody is named.
    pub(super) fn identity(self) -> Option<IdentityRef> {
        let identity =
            IdentityRef { principal: self.actor, issuer: self.identity_issuer, subject: self.identity_subject };
        (identity != IdentityRef::default()).then_some(identity)
    }
}

/// How to repeat a decision: it names the call, so that no other one is decided by it.
struct Again<'a>(&'a ApproveRequest);

impl std::fmt::Display for Again<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ApproveRequest { execution_id, tool_call_id, request_seq, .. } = self.0;
        write!(f, "try again, it is safe, with --execution {execution_id}")?;
        write!(f, " --tool-call {tool_call_id} --request-seq {request_seq}")
    }
}
