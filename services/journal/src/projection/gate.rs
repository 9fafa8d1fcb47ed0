//! A gated tool call, from its intent to its receipt.

use wire::event::Body;
use wire::tool_result::Code;
use wire::{Event, ToolResult};

use crate::Seq;

/// A record does not fit the ones before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Malformed;

/// What is recorded of a gated call. Seqs are 0 until their record exists.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Gate {
    #[prost(string, tag = "1")]
    pub(super) call_id: String,
    #[prost(uint64, tag = "2")]
    pub(super) call_seq: u64,
    #[prost(uint64, tag = "3")]
    pub(super) request_seq: u64,
    #[prost(uint64, tag = "4")]
    decision_seq: u64,
    #[prost(bool, tag = "5")]
    approved: bool,
    /// The receipt is recorded.
    #[prost(bool, tag = "6")]
    pub(super) settled: bool,
}

impl Gate {
    /// The TOOL_CALL.
    pub(super) fn open(seq: Seq, call_id: &str) -> Self {
        Self { call_id: call_id.to_owned(), call_seq: seq.get(), ..Self::default() }
    }

    /// The APPROVAL_REQUEST.
    pub(super) fn request(&mut self, seq: Seq, event: &Event) -> Result<(), Malformed> {
        let Some(Body::Approval(request)) = &event.body else { return Err(Malformed) };
        ensure(self.request_seq == 0 && request.tool_call_id == self.call_id)?;
        self.request_seq = seq.get();
        Ok(())
    }

    /// The APPROVAL_RESULT.
    pub(super) fn decide(&mut self, seq: Seq, event: &Event) -> Result<(), Malformed> {
        let Some(Body::ApprovalResult(decision)) = &event.body else { return Err(Malformed) };
        ensure(self.awaits_decision())?;
        ensure(decision.tool_call_id == self.call_id && same(decision.request_seq, self.request_seq))?;
        self.decision_seq = seq.get();
        self.approved = decision.approved;
        Ok(())
    }

    /// The receipt.
    pub(super) fn settle(&mut self, receipt: &ToolResult) -> Result<(), Malformed> {
        ensure(self.decision_seq != 0 && receipt.id == self.call_id)?;
        ensure(same(receipt.approval_request_seq, self.request_seq))?;
        ensure(same(receipt.approval_decision_seq, self.decision_seq))?;
        ensure(self.fits(receipt))?;
        self.settled = true;
        Ok(())
    }

    /// Whether the request is recorded and nothing answers it.
    pub(super) fn awaits_decision(&self) -> bool {
        self.request_seq != 0 && self.decision_seq == 0
    }

    fn fits(&self, receipt: &ToolResult) -> bool {
        match Code::try_from(receipt.code) {
            Ok(Code::ApprovalDenied) => !self.approved && receipt.is_error,
            Ok(Code::ExecutorError) => self.approved && receipt.is_error,
            Ok(Code::Unspecified) => self.approved && !receipt.is_error,
            Err(_) => false,
        }
    }
}

fn ensure(holds: bool) -> Result<(), Malformed> {
    if holds { Ok(()) } else { Err(Malformed) }
}

fn same(recorded: i64, seq: u64) -> bool {
    u64::try_from(recorded) == Ok(seq)
}
