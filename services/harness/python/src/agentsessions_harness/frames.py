"""What a frame from the host must look like at each point of an execution. Pure checks, no waiting."""

from __future__ import annotations

from dataclasses import dataclass

from agentsessions.v1.common_pb2 import ApprovalRef, ApprovalResult, Event, Message, ToolResult
from agentsessions.v1.harness_pb2 import ControllerFrame

from .errors import Violation


def name(envelope: ControllerFrame) -> str:
    """The name of a frame in error texts."""
    return envelope.WhichOneof("frame") or "empty"


@dataclass(frozen=True)
class Address:
    """Which execution of which session a stream belongs to."""

    session: str
    execution: str

    def event(self, event: Event) -> Event:
        """Makes `event` one of this execution."""
        event.execution_id = self.execution
        return event

    def check(self, envelope: ControllerFrame) -> None:
        """Checks a frame that is not the first one."""
        kind = name(envelope)
        if envelope.execution_id != self.execution:
            raise Violation(f"{_a(kind)} frame carries another execution id")
        if kind in ("empty", "start"):
            raise _unexpected(envelope)
        if kind in ("approval", "tool", "park") and envelope.session != self.session:
            raise Violation(f"{_a(kind)} frame carries another session")

    def gate(self, call_id: str, envelope: ControllerFrame) -> ApprovalRef | ApprovalResult:
        """The first answer to the gated call `call_id`: an order to park, or the decision."""
        match name(envelope):
            case "park":
                return self._park(call_id, envelope.park)
            case "approval":
                return _decision(call_id, envelope.approval)
            case _:
                raise _unexpected(envelope)

    def _park(self, call_id: str, park: ApprovalRef) -> ApprovalRef:
        if park.execution_id != self.execution:
            raise Violation("a park frame carries another execution id")
        if park.tool_call_id != call_id:
            raise _other_call("park")
        if park.request_seq <= 0:
            raise _other_request("park")
        return park


def completion(call_id: str, envelope: ControllerFrame) -> Message:
    """The answer to the model request `call_id`."""
    if name(envelope) != "model":
        raise _unexpected(envelope)
    if envelope.model.model_call_id != call_id:
        raise _other_call("model")
    if not envelope.model.HasField("message"):
        raise Violation("a model frame has no message")
    return envelope.model.message


def tool_result(call_id: str, envelope: ControllerFrame) -> ToolResult:
    """The answer to the tool call `call_id`."""
    if name(envelope) != "tool":
        raise _unexpected(envelope)
    if envelope.tool.id != call_id:
        raise _other_call("tool")
    return envelope.tool


def receipt(decision: ApprovalResult, envelope: ControllerFrame) -> ToolResult:
    """The result of a gated call after its decision."""
    result = tool_result(decision.tool_call_id, envelope)
    if result.approval_request_seq != decision.request_seq:
        raise _other_request("tool")
    if (decision.approved, result.is_error, result.code) not in _POSSIBLE:
        raise Violation("the receipt contradicts the decision")
    return result


_POSSIBLE = {
    (True, False, ToolResult.CODE_UNSPECIFIED),
    (True, True, ToolResult.EXECUTOR_ERROR),
    (False, True, ToolResult.APPROVAL_DENIED),
}
"""Approved, is_error, code."""


def _decision(call_id: str, decision: ApprovalResult) -> ApprovalResult:
    if decision.tool_call_id != call_id:
        raise _other_call("approval")
    if decision.request_seq <= 0:
        raise _other_request("approval")
    return decision


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "approval" else f"a {kind}"


def _unexpected(envelope: ControllerFrame) -> Violation:
    return Violation(f"unexpected {name(envelope)} frame")


def _other_call(kind: str) -> Violation:
    return Violation(f"{_a(kind)} frame answers another call")


def _other_request(kind: str) -> Violation:
    return Violation(f"{_a(kind)} frame names no approval request, or another one")
