"""The way out of a harness: every effect of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.common_pb2 import ApprovalRef, ApprovalResult, Event, Message, ModelCall, ToolCall, ToolResult, Usage
from agentsessions.v1.harness_pb2 import ControllerFrame

from . import frames
from .channels import Inbox, Outbox
from .errors import HostClosed, Overlap, Refusal, SinkError, Violation
from .streams import Streams

T = TypeVar("T")


@dataclass(frozen=True)
class Decided:
    """A gated call that was decided."""

    approved: bool
    """Whether the call was allowed to run."""
    reason: str
    """What whoever decided said about it."""
    result: ToolResult
    """The result of the call, or the receipt of the denial."""


class Sink:
    """Asks the host for effects and reports what the harness did itself. One at a time: each method is done when the host
    has answered, or, where there is no answer, when the event is on its way.

    An effect must not be abandoned before it is done (by `asyncio.timeout`): its answer could be taken for that of the
    next one, so every later effect raises `Overlap`."""

    def __init__(
        self, address: frames.Address, outbox: Outbox, inbox: Inbox, streams: Streams | None = None
    ) -> None:
        self.streams = streams
        """The streams of the invocation, if the turn is one."""
        self._address = address
        self._outbox = outbox
        self._inbox = inbox
        self._waiting = False
        self._broken: SinkError | None = None
        self._model_calls = 0

    @property
    def broken(self) -> SinkError | None:
        """Why no further effect is possible. It fails the turn, however `run` ends."""
        return self._broken

    async def model(self, call: ModelCall) -> Message:
        """Completes a model request. `call.id` may be left empty; `call.input_hash` is the host's to fill."""
        self._model_calls += 1
        asked = _copy(call)
        asked.id = asked.id or f"model-{self._model_calls}"
        reply = await self._ask(kind=pb.EVENT_MODEL_CALL, model=asked)
        return self._settle(lambda: frames.completion(asked.id, reply))

    async def output(self, message: Message) -> None:
        """Says something in the name of the assistant. The log keeps its text."""
        await self._emit(kind=pb.EVENT_OUTPUT, message=message)

    async def usage(self, usage: Usage) -> None:
        """Reports what the harness used up on its own, outside of the host's model calls."""
        await self._emit(kind=pb.EVENT_USAGE, usage=usage)

    async def report(self, result: ToolResult) -> None:
        """Reports the result of a tool that the harness ran itself."""
        numbered = result.approval_request_seq or result.approval_decision_seq
        if numbered or result.code == ToolResult.APPROVAL_DENIED:
            raise Refusal("a reported tool result cannot carry an approval")
        await self._emit(kind=pb.EVENT_TOOL_RESULT, result=result)

    async def tool(self, call: ToolCall) -> ToolResult:
        """Has the host run a tool. The idempotency key must be the same when the turn is run again."""
        reply = await self._call(call, pb.MEDIATION_CONTROLLER_MEDIATED)
        return self._settle(lambda: frames.tool_result(call.id, reply))

    async def gated(self, call: ToolCall) -> Decided:
        """Has the host run a tool once somebody has approved it.

        Until then the turn is parked: this run is cancelled here, at this await, and the turn is run again when the
        decision has been made. That run reaches this call a second time and gets the decision."""
        if not call.id:
            raise Refusal("a tool call that needs approval needs an id")
        reply = await self._call(call, pb.MEDIATION_REQUIRES_APPROVAL)
        match self._check(lambda: self._address.gate(call.id, reply)):
            case ApprovalResult() as decision:
                return await self._receipt(decision)
            case park:
                return await self._park(park)

    async def _call(self, call: ToolCall, mediation: pb.Mediation) -> ControllerFrame:
        if not call.idempotency_key:
            raise Refusal("a tool call needs an idempotency key")
        asked = _copy(call)
        asked.mediation = mediation
        return await self._ask(kind=pb.EVENT_TOOL_CALL, tool=asked)

    async def _receipt(self, decision: ApprovalResult) -> Decided:
        reply = await self._reply()
        result = self._settle(lambda: frames.receipt(decision, reply))
        return Decided(decision.approved, decision.reason, result)

    async def _park(self, request: ApprovalRef) -> Decided:
        """Acknowledges and waits for the run to be cancelled, which happens before the acknowledgement is sent."""
        self._outbox.finish(self._address.event(Event(kind=pb.EVENT_PARKED, parked=request)))
        self._broken = HostClosed()
        await asyncio.get_running_loop().create_future()
        raise self._broken

    async def _ask(self, **event: Any) -> ControllerFrame:
        self._begin()
        self._waiting = True
        await self._send(event)
        return await self._reply()

    async def _emit(self, **event: Any) -> None:
        self._begin()
        await self._send(event)

    async def _send(self, event: dict[str, Any]) -> None:
        try:
            await self._outbox.put(self._address.event(Event(**event)))
        except HostClosed as closed:
            raise self._fail(closed)

    async def _reply(self) -> ControllerFrame:
        try:
            return await self._inbox.take()
        except HostClosed as closed:
            raise self._fail(closed)

    def _begin(self) -> None:
        """Whether the next effect can begin."""
        if self._broken is not None:
            raise self._broken
        if self._waiting:
            raise self._fail(Overlap())
        early = self._inbox.waiting()
        if early is not None:
            raise self._fail(Violation(f"unexpected {frames.name(early)} frame"))

    def _settle(self, answer: Callable[[], T]) -> T:
        """The answer, if it is the one that was waited for."""
        self._waiting = False
        return self._check(answer)

    def _check(self, answer: Callable[[], T]) -> T:
        try:
            return answer()
        except Violation as violation:
            raise self._fail(violation)

    def _fail(self, error: SinkError) -> SinkError:
        self._broken = error
        return error


C = TypeVar("C", ModelCall, ToolCall)


def _copy(call: C) -> C:
    copy = type(call)()
    copy.CopyFrom(call)
    return copy
