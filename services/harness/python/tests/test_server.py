"""The harness behind a socket, and a plain gRPC client as its host."""

import asyncio
import pathlib
from collections.abc import Awaitable, Callable

import grpc
import grpc.aio
import pytest
from actors import BOUND, Acts, answer, envelope, question
from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.harness_pb2 import ControllerFrame, DescribeRequest, HarnessDescriptor, Start
from agentsessions_harness import Event, Harness, Server, Sink, Turn, serve, text

Connect = grpc.aio.StreamStreamMultiCallable[ControllerFrame, Event]


def with_host(harness: Harness, address: str, script: Callable[[grpc.aio.Channel], Awaitable[None]]) -> None:
    async def conversation() -> None:
        async with asyncio.timeout(BOUND):
            server = Server(harness, address)
            await server.start()
            async with grpc.aio.insecure_channel(server.address) as channel:
                await script(channel)
            await server.stop(0)

    asyncio.run(conversation())


def connect(channel: grpc.aio.Channel) -> Connect:
    return channel.stream_stream(
        "/agentsessions.v1.Harness/Connect", ControllerFrame.SerializeToString, Event.FromString
    )


async def ask_and_say(turn: Turn, sink: Sink) -> None:
    said = await sink.model(question())
    await sink.output(text("assistant", f"{turn.request_id} {len(turn.history)} {said.role}"))


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_turn_with_a_long_history_runs_over_a_socket(kind: str, tmp_path: pathlib.Path) -> None:
    address = "127.0.0.1:0" if kind == "tcp" else f"unix://{tmp_path}/harness.sock"

    async def script(channel: grpc.aio.Channel) -> None:
        describe = channel.unary_unary(
            "/agentsessions.v1.Harness/Describe", DescribeRequest.SerializeToString, HarnessDescriptor.FromString
        )
        assert (await describe(DescribeRequest())).version == "7"
        call = connect(channel)(metadata=[("x-request-id", "r-1")])
        history = [Event(kind=pb.EVENT_OUTPUT, message=text("assistant", "x" * 1024))] * 8192
        await call.write(envelope(start=Start(history=history)))
        assert (await call.read()).kind == pb.EVENT_MODEL_CALL
        await call.write(envelope(model=answer()))
        assert (await call.read()).message == text("assistant", "r-1 8192 assistant")
        assert (await call.read()).end.state == "COMPLETED"
        assert await call.read() is grpc.aio.EOF

    with_host(Acts(ask_and_say), address, script)


def test_stream_without_a_start_is_an_invalid_argument() -> None:
    async def script(channel: grpc.aio.Channel) -> None:
        call = connect(channel)()
        await call.write(envelope(model=answer()))
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await call.read()
        assert failure.value.code() == grpc.StatusCode.INVALID_ARGUMENT

    with_host(Acts(ask_and_say), "127.0.0.1:0", script)


def test_host_that_goes_away_cancels_the_run() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def act(_: Turn, sink: Sink) -> None:
        try:
            started.set()
            await sink.model(question())
        finally:
            stopped.set()

    async def script(channel: grpc.aio.Channel) -> None:
        call = connect(channel)()
        await call.write(envelope(start=Start()))
        await started.wait()
        call.cancel()
        await stopped.wait()

    with_host(Acts(act), "127.0.0.1:0", script)


def test_stop_lets_a_turn_under_way_end(tmp_path: pathlib.Path) -> None:
    address = f"unix://{tmp_path}/harness.sock"

    async def conversation() -> None:
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(Acts(ask_and_say), address, stop=stop))
        async with grpc.aio.insecure_channel(address) as channel:
            call = connect(channel)(wait_for_ready=True)
            await call.write(envelope(start=Start()))
            await call.read()
            stop.set()
            await asyncio.sleep(0)
            await call.write(envelope(model=answer()))
            await call.read()
            assert (await call.read()).end.state == "COMPLETED"
        await serving

    asyncio.run(asyncio.wait_for(conversation(), BOUND))


def test_port_that_is_taken_is_an_error() -> None:
    async def conversation() -> None:
        first = Server(Acts(ask_and_say), "127.0.0.1:0")
        await first.start()
        with pytest.raises(RuntimeError):
            await Server(Acts(ask_and_say), first.address).start()
        await first.stop(0)

    asyncio.run(conversation())
