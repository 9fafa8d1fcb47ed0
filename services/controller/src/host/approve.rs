//! Approve: records a person's decision on a gated call (execution.md §9.4). It runs nothing and describes no harness.

use futures::TryStreamExt;
use journal::{ExecutionId, Seq, SeqRange, SessionState};
use wire::{ApprovalRef, ApprovalResult, ApproveRequest, ApproveResponse, LogRecord};

use super::{Host, HostError, InvalidDecision};
use crate::log::{DecisionPlan, decision, is_same_decision};

impl Host {
    /// Records a decision. Repeating one that is recorded answers with its record and writes nothing.
    ///
    /// # Errors
    /// [`HostError::Decision`] for a tuple that is incomplete or not pending, [`HostError::Busy`], broken evidence, or a
    /// lost race.
    pub async fn approve(&self, request: ApproveRequest) -> Result<ApproveResponse, HostError> {
        let (reference, approved) = decision_of(&request)?;
        let known = self.session(&request.session).await?;
        let _guard = self.take(&known).await?;
        let state = self.state(known.uid()).await?;
        let log = self.logs.load(&state).await?;
        log.index.check_approvals().map_err(HostError::Evidence)?;
        let plan = log.index.plan_decision(&reference).map_err(InvalidDecision::Undecidable)?;

        let decision = match plan {
            DecisionPlan::Decided(seq) => self.recorded_decision(&state, seq, approved, &request).await?,
            DecisionPlan::Decide => self.record_decision(&state, reference, approved, request).await?,
        };
        let session = self.state(state.uid()).await?.to_wire();
        Ok(ApproveResponse { session: Some(session), decision: Some(decision) })
    }

    async fn recorded_decision(
        &self,
        state: &SessionState,
        seq: Seq,
        approved: bool,
        request: &ApproveRequest,
    ) -> Result<LogRecord, HostError> {
        let range = SeqRange { from: seq, to: Some(seq) };
        let recorded = self.journal().records(state.uid(), range).try_next().await?.unwrap_or_default();
        let same = recorded
            .event
            .as_ref()
            .is_some_and(|event| is_same_decision(event, approved, &request.reason, request.identity.as_ref()));
        if same { Ok(recorded) } else { Err(InvalidDecision::DecidedOtherwise.into()) }
    }

    async fn record_decision(
        &self,
        state: &SessionState,
        reference: ApprovalRef,
        approved: bool,
        request: ApproveRequest,
    ) -> Result<LogRecord, HostError> {
        let result = ApprovalResult {
            tool_call_id: reference.tool_call_id,
            approved,
            reason: request.reason,
            request_seq: reference.request_seq,
        };
        let execution = ExecutionId::new(&reference.execution_id);
        let event = decision(&execution, result, request.identity, self.parts.env.unix_time());
        let (_, records) = self.journal().take_over(state, vec![event]).await?;
        Ok(records.into_iter().next().unwrap_or_default())
    }
}

/// The gate and the decision that a request names.
fn decision_of(request: &ApproveRequest) -> Result<(ApprovalRef, bool), HostError> {
    let approved = request.approved.ok_or(InvalidDecision::Missing("approved"))?;
    if request.session.is_empty() {
        return Err(HostError::EmptySession);
    }
    let missing = [
        (request.execution_id.is_empty(), "execution_id"),
        (request.tool_call_id.is_empty(), "tool_call_id"),
        (request.request_seq <= 0, "request_seq"),
    ];
    if let Some((_, field)) = missing.into_iter().find(|(missing, _)| *missing) {
        return Err(InvalidDecision::Missing(field).into());
    }
    let reference = ApprovalRef {
        execution_id: request.execution_id.clone(),
        tool_call_id: request.tool_call_id.clone(),
        request_seq: request.request_seq,
    };
    Ok((reference, approved))
}
