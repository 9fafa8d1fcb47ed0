"""Calls that need approval, and requests that are not even sent."""

import asyncio

import pytest
from actors import Host, call, decision, park, play, receipt
from agentsessions.v1 import common_pb2 as pb
from agentsessions_harness import MEDIATION_REQUIRES_APPROVAL, Decided, Refusal, Sink, SinkError, ToolCall, ToolResult, Turn


def test_park_stops_the_run_and_is_acknowledged_once_without_an_end() -> None:
    at_rest = asyncio.Event()

    async def act(_: Turn, sink: Sink) -> None:
        try:
            await sink.gated(call())
            raise AssertionError("a parked call returned")
        finally:
            at_rest.set()

    async def script(host: Host) -> None:
        asked = await host.expect(pb.EVENT_TOOL_CALL)
        assert asked.tool.mediation == MEDIATION_REQUIRES_APPROVAL
        assert not at_rest.is_set()
        host.send(park=park())
        assert (await host.expect(pb.EVENT_PARKED)).parked == park()
        assert at_rest.is_set()
        assert await host.event() is None

    play(act, script)


def test_parked_harness_that_resists_can_ask_for_nothing() -> None:
    async def act(_: Turn, sink: Sink) -> None:
        try:
            await sink.gated(call())
        except asyncio.CancelledError:
            with pytest.raises(SinkError):
                await sink.tool(call("c2"))

    async def script(host: Host) -> None:
        await host.expect(pb.EVENT_TOOL_CALL)
        host.send(park=park())
        await host.expect(pb.EVENT_PARKED)
        assert await host.event() is None

    play(act, script)


APPROVED = [receipt(), receipt(is_error=True, code=ToolResult.EXECUTOR_ERROR, error="no")]
DENIED = receipt(is_error=True, code=ToolResult.APPROVAL_DENIED)


@pytest.mark.parametrize("approved, result", [*((True, result) for result in APPROVED), (False, DENIED)])
def test_decided_call_returns_the_decision_and_the_result(approved: bool, result: ToolResult) -> None:
    async def act(_: Turn, sink: Sink) -> None:
        assert await sink.gated(call()) == Decided(approved, "so", result)

    async def script(host: Host) -> None:
        await host.expect(pb.EVENT_TOOL_CALL)
        host.send(approval=decision(approved))
        host.send(tool=result)
        await host.expect_completed()

    play(act, script)


def test_what_every_host_refuses_is_not_even_sent() -> None:
    async def act(_: Turn, sink: Sink) -> None:
        for refused in (
            sink.tool(ToolCall(id="c1", tool="t")),
            sink.gated(ToolCall(id="c1", tool="t")),
            sink.gated(ToolCall(tool="t", idempotency_key="k")),
            sink.report(ToolResult(id="c", code=ToolResult.APPROVAL_DENIED)),
            sink.report(ToolResult(id="c", approval_request_seq=1)),
            sink.report(ToolResult(id="c", approval_decision_seq=1)),
        ):
            with pytest.raises(Refusal):
                await refused

    play(act, Host.expect_completed)
