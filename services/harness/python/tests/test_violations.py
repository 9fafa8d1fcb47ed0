"""A host that breaks the protocol fails the turn, whatever the harness makes of it."""

import asyncio
import contextlib

import pytest
from actors import Host, answer, call, decision, envelope, park, play, question, receipt
from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.harness_pb2 import Cancel, ControllerFrame, ModelResult, Start
from agentsessions_harness import Overlap, Sink, SinkError, ToolResult, Turn, Violation

APPROVED, DENIED = decision(True), decision(False)

ONE_FRAME = [
    ("model", envelope(model=answer("m2")), "a model frame answers another call"),
    ("model", envelope(model=ModelResult(model_call_id="m1")), "a model frame has no message"),
    ("model", envelope(tool=ToolResult(id="m1")), "unexpected tool frame"),
    ("model", envelope(), "unexpected empty frame"),
    ("model", envelope(execution="e2", model=answer()), "a model frame carries another execution id"),
    ("model", envelope(execution="e2", cancel=Cancel()), "a cancel frame carries another execution id"),
    ("tool", envelope(tool=ToolResult(id="c2")), "a tool frame answers another call"),
    ("tool", envelope(model=answer("c1")), "unexpected model frame"),
    ("tool", envelope(park=park()), "unexpected park frame"),
    ("tool", envelope(session="s2", tool=ToolResult(id="c1")), "a tool frame carries another session"),
    ("gated", envelope(tool=receipt()), "unexpected tool frame"),
    ("gated", envelope(approval=decision(True, tool_call_id="c2")), "an approval frame answers another call"),
    ("gated", envelope(approval=decision(True, request_seq=0)), "an approval frame names no approval request, or another one"),
    ("gated", envelope(session="s2", approval=APPROVED), "an approval frame carries another session"),
    ("gated", envelope(start=Start()), "unexpected start frame"),
    ("gated", envelope(session="s2", park=park()), "a park frame carries another session"),
    ("gated", envelope(park=park(execution_id="e2")), "a park frame carries another execution id"),
    ("gated", envelope(park=park(tool_call_id="c2")), "a park frame answers another call"),
    ("gated", envelope(park=park(request_seq=0)), "a park frame names no approval request, or another one"),
]

CONTRADICTION = "the receipt contradicts the decision"
RECEIPTS = [
    (APPROVED, receipt(approval_request_seq=3), "a tool frame names no approval request, or another one"),
    (APPROVED, receipt(id="c2"), "a tool frame answers another call"),
    (APPROVED, receipt(code=ToolResult.EXECUTOR_ERROR), CONTRADICTION),
    (APPROVED, receipt(is_error=True, code=ToolResult.APPROVAL_DENIED), CONTRADICTION),
    (APPROVED, receipt(is_error=True), CONTRADICTION),
    (DENIED, receipt(), CONTRADICTION),
    (DENIED, receipt(is_error=True, code=ToolResult.EXECUTOR_ERROR), CONTRADICTION),
]


def expect_violation(effect: str, frames: list[ControllerFrame], violation: str) -> None:
    async def ask(_: Turn, sink: Sink) -> None:
        """Asks for one effect and ignores what comes of it."""
        with contextlib.suppress(SinkError):
            match effect:
                case "model":
                    await sink.model(question())
                case "tool":
                    await sink.tool(call())
                case "gated":
                    await sink.gated(call())

    async def script(host: Host) -> None:
        assert await host.event() is not None
        for frame in frames:
            host.run.deliver(frame)
        assert await host.expect_failed() == violation

    play(ask, script)


@pytest.mark.parametrize("effect, frame, violation", ONE_FRAME)
def test_frame_that_answers_nothing_fails_the_turn(effect: str, frame: ControllerFrame, violation: str) -> None:
    expect_violation(effect, [frame], violation)


@pytest.mark.parametrize("decided, result, violation", RECEIPTS)
def test_receipt_that_does_not_follow_from_the_decision_fails_the_turn(
    decided: pb.ApprovalResult, result: ToolResult, violation: str
) -> None:
    expect_violation("gated", [envelope(approval=decided), envelope(tool=result)], violation)


def test_more_frames_than_any_effect_has_fail_the_turn() -> None:
    expect_violation("model", [envelope(model=answer())] * 3, "unexpected model frame")


def test_second_answer_fails_the_next_effect() -> None:
    async def act(_: Turn, sink: Sink) -> None:
        await sink.model(question())
        with pytest.raises(Violation):
            await sink.model(question())

    async def script(host: Host) -> None:
        await host.expect(pb.EVENT_MODEL_CALL)
        host.send(model=answer())
        host.send(model=answer())
        assert await host.expect_failed() == "unexpected model frame"

    play(act, script)


def test_effect_after_an_abandoned_one_is_refused() -> None:
    async def act(_: Turn, sink: Sink) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await sink.model(question())
        with pytest.raises(Overlap):
            await sink.model(question())

    async def script(host: Host) -> None:
        event = await host.event()
        if event is not None and event.kind == pb.EVENT_MODEL_CALL:
            event = await host.event()
        assert event is not None and event.end.state == "FAILED"

    play(act, script)


def test_two_effects_at_once_are_refused() -> None:
    async def act(_: Turn, sink: Sink) -> None:
        first = asyncio.create_task(sink.model(question()))
        await asyncio.sleep(0)
        with pytest.raises(Overlap):
            await sink.tool(call())
        await first

    async def script(host: Host) -> None:
        await host.expect(pb.EVENT_MODEL_CALL)
        host.send(model=answer())
        assert await host.expect_failed() == str(Overlap())

    play(act, script)
