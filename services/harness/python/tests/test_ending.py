"""How a run ends."""

import asyncio

import pytest
from actors import Act, Acts, Host, answer, call, play, question
from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.harness_pb2 import Cancel, ControllerFrame
from agentsessions_harness import Failure, HostClosed, Run, Sink, ToolResult, Turn, Usage, Violation, text


def test_effects_come_in_the_order_in_which_they_are_asked_for() -> None:
    async def act(_: Turn, sink: Sink) -> None:
        said = await sink.model(question())
        await sink.output(said)
        await sink.usage(Usage(input_tokens=3))
        await sink.report(ToolResult(id="own"))
        assert (await sink.tool(call())).error == "no"

    async def script(host: Host) -> None:
        assert (await host.expect(pb.EVENT_MODEL_CALL)).model.id == "m1"
        host.send(model=answer())
        assert (await host.expect(pb.EVENT_OUTPUT)).message == text("assistant", "yes")
        assert (await host.expect(pb.EVENT_USAGE)).usage.input_tokens == 3
        assert (await host.expect(pb.EVENT_TOOL_RESULT)).result.id == "own"
        assert (await host.expect(pb.EVENT_TOOL_CALL)).tool.idempotency_key == "k"
        host.send(tool=ToolResult(id="c1", is_error=True, error="no"))
        await host.expect_completed()

    play(act, script)


async def own_failure(_: Turn, __: Sink) -> None:
    raise Failure("out of luck")


async def chained(_: Turn, __: Sink) -> None:
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise ValueError("outer") from error


async def cancelled(_: Turn, __: Sink) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    "act, text",
    [
        (own_failure, "out of luck"),
        (chained, "ValueError: outer: KeyError: 'inner'"),
        (cancelled, "the harness was cancelled"),
    ],
)
def test_exception_ends_the_turn_as_failed_with_its_text(act: Act, text: str) -> None:
    async def script(host: Host) -> None:
        assert await host.expect_failed() == text

    play(act, script)


async def wait_for_model(_: Turn, sink: Sink) -> None:
    await sink.model(question())


def test_cancel_frame_ends_the_turn_as_failed() -> None:
    async def script(host: Host) -> None:
        await host.expect(pb.EVENT_MODEL_CALL)
        host.send(cancel=Cancel(reason="enough"))
        assert await host.expect_failed() == "canceled by the host: enough"

    play(wait_for_model, script)


def test_host_that_closes_its_side_fails_the_effect_that_waits() -> None:
    async def script(host: Host) -> None:
        await host.expect(pb.EVENT_MODEL_CALL)
        host.run.close()
        assert await host.expect_failed() == str(HostClosed())

    play(wait_for_model, script)


def test_run_that_nobody_reads_any_more_is_cancelled() -> None:
    stopped = asyncio.Event()

    async def act(_: Turn, sink: Sink) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.set()

    async def conversation() -> None:
        events = Run(Acts(act), Turn("s", "e")).events()
        reader = asyncio.create_task(anext(events))
        await asyncio.sleep(0)
        reader.cancel()
        await asyncio.wait({reader})
        await asyncio.wait_for(stopped.wait(), 5)

    asyncio.run(conversation())


@pytest.mark.parametrize(
    "first", [ControllerFrame(session="s"), ControllerFrame(session="s", execution_id="e", cancel=Cancel())]
)
def test_first_frame_must_be_a_start_with_an_execution(first: ControllerFrame) -> None:
    with pytest.raises(Violation):
        Turn.from_frame(first)
