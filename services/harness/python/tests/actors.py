"""A harness made of a function, and the host that talks to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.harness_pb2 import ControllerFrame, HarnessDescriptor, ModelResult
from agentsessions_harness import Event, Harness, ModelCall, Run, Sink, ToolCall, ToolResult, Turn, text

SESSION, EXECUTION = "sess-1", "e1"
BOUND = 20

Act = Callable[[Turn, Sink], Awaitable[None]]


class Acts(Harness):
    """Does what its function says."""

    def __init__(self, act: Act) -> None:
        self.act = act

    def describe(self) -> HarnessDescriptor:
        return HarnessDescriptor(id="acts", version="7")

    async def run(self, turn: Turn, sink: Sink) -> None:
        await self.act(turn, sink)


class Host:
    """The host's end of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.events = run.events()

    async def event(self) -> Event | None:
        return await anext(self.events, None)

    async def expect(self, kind: pb.EventKind) -> Event:
        event = await self.event()
        assert event is not None and (event.kind, event.execution_id) == (kind, EXECUTION)
        return event

    async def expect_completed(self) -> None:
        end = (await self.expect(pb.EVENT_END)).end
        assert (end.state, end.HasField("error")) == ("COMPLETED", False), end
        assert await self.event() is None

    async def expect_failed(self) -> str:
        end = (await self.expect(pb.EVENT_END)).end
        assert end.state == "FAILED"
        assert await self.event() is None
        return end.error.description

    def send(self, **frame: Any) -> None:
        self.run.deliver(envelope(**frame))


def play(act: Act, script: Callable[[Host], Coroutine[Any, Any, None]]) -> None:
    """Runs `act` as a harness against `script` as its host."""

    async def conversation() -> None:
        async with asyncio.timeout(BOUND):
            host = Host(Run(Acts(act), Turn(SESSION, EXECUTION)))
            async with aclosing(host.events):
                await script(host)

    asyncio.run(conversation())


def envelope(session: str = SESSION, execution: str = EXECUTION, **frame: Any) -> ControllerFrame:
    return ControllerFrame(session=session, execution_id=execution, **frame)


def question() -> ModelCall:
    return ModelCall(id="m1")


def answer(call_id: str = "m1") -> ModelResult:
    return ModelResult(message=text("assistant", "yes"), model_call_id=call_id)


def call(call_id: str = "c1") -> ToolCall:
    return ToolCall(id=call_id, tool="t", idempotency_key="k")


def park(**changes: Any) -> pb.ApprovalRef:
    return pb.ApprovalRef(**({"execution_id": EXECUTION, "tool_call_id": "c1", "request_seq": 4} | changes))


def decision(approved: bool, **changes: Any) -> pb.ApprovalResult:
    fields = {"tool_call_id": "c1", "approved": approved, "reason": "so", "request_seq": 4}
    return pb.ApprovalResult(**(fields | changes))


def receipt(**changes: Any) -> ToolResult:
    return ToolResult(**({"id": "c1", "approval_request_seq": 4, "approval_decision_seq": 5} | changes))
