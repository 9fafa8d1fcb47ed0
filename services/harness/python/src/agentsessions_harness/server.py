"""Serves a harness over gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import grpc.aio

from agentsessions.v1.common_pb2 import Event
from agentsessions.v1.harness_pb2 import ControllerFrame, DescribeRequest, HarnessDescriptor

from .errors import Violation
from .harness import Harness
from .run import Run
from .turn import Turn

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Largest message in either direction: histories are long."""

START_TIMEOUT = 60.0
"""Longest wait, in seconds, for the first frame of a stream. Large histories take their time."""

_SERVICE = "agentsessions.v1.Harness"
_REQUEST_ID = "x-request-id"


class Server:
    """A harness behind a socket: `host:port`, `:port` for every interface (port 0 takes a free one), or `unix:///path`."""

    def __init__(self, harness: Harness, address: str, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._harness = harness
        self._address = address
        self._server = grpc.aio.server(options=_options(max_message_bytes))
        self._server.add_generic_rpc_handlers((self._handlers(),))

    @property
    def address(self) -> str:
        """Where it is served, once it is started."""
        return self._address

    async def start(self) -> None:
        """Binds the socket and serves. Raises `RuntimeError` if the address cannot be bound."""
        every = self._address.startswith(":")
        port = self._server.add_insecure_port(f"[::]{self._address}" if every else self._address)
        if not self._address.startswith("unix:"):
            self._address = f"{self._address.rpartition(':')[0]}:{port}"
        await self._server.start()

    async def stop(self, grace: float) -> None:
        """Accepts no more turns, waits `grace` seconds for those under way, and cancels the rest: a host runs them again."""
        await self._server.stop(grace)

    async def describe(self, _: DescribeRequest, context: grpc.aio.ServicerContext[Any, Any]) -> HarnessDescriptor:
        """Harness.Describe."""
        return self._harness.describe()

    async def connect(
        self, frames: AsyncIterator[ControllerFrame], context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[Event]:
        """Harness.Connect."""
        frames = aiter(frames)
        try:
            async with asyncio.timeout(START_TIMEOUT):
                first = await anext(frames, ControllerFrame())
            run = Run(self._harness, Turn.from_frame(first, _request_id(context)))
        except Violation as violation:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(violation))
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "the start frame did not come in time")
        async with contextlib.aclosing(run.events()) as events:
            with _reading(frames, run):
                async for event in events:
                    yield event

    def _handlers(self) -> grpc.GenericRpcHandler:
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Describe": grpc.unary_unary_rpc_method_handler(
                self.describe, DescribeRequest.FromString, HarnessDescriptor.SerializeToString
            ),
            "Connect": grpc.stream_stream_rpc_method_handler(
                self.connect, ControllerFrame.FromString, Event.SerializeToString
            ),
        }
        return grpc.method_handlers_generic_handler(_SERVICE, methods)


async def serve(
    harness: Harness, address: str, *, stop: asyncio.Event | None = None, grace: float = 10.0
) -> None:
    """Serves `harness` until `stop` is set, or without one until SIGINT or SIGTERM; then lets the turns under way end for
    `grace` seconds."""
    server = Server(harness, address)
    await server.start()
    print(f"serving {harness.describe().id} on {server.address}", flush=True)
    with contextlib.nullcontext(stop) if stop else _signalled() as stopped:
        await stopped.wait()
    await server.stop(grace)


@contextlib.contextmanager
def _reading(frames: AsyncIterator[ControllerFrame], run: Run) -> Iterator[None]:
    """Delivers the frames that arrive while the events of `run` are sent."""

    async def read() -> None:
        try:
            async for frame in frames:
                run.deliver(frame)
                if not run.is_running:
                    return
        finally:
            run.close()

    reader = asyncio.create_task(read())
    try:
        yield
    finally:
        reader.cancel()


@contextlib.contextmanager
def _signalled() -> Iterator[asyncio.Event]:
    """An event that is set when the process is asked to stop."""
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, asked.set)
    try:
        yield asked
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _options(max_message_bytes: int) -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", max_message_bytes),
        # Two processes must not share a port by mistake.
        ("grpc.so_reuseport", 0),
        # A host that lost power must not leave its runs behind.
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        # Without data in flight, pings would otherwise stop after two.
        ("grpc.http2.max_pings_without_data", 0),
        # Hosts probe connections too.
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ]


def _request_id(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == _REQUEST_ID and isinstance(value, str):
            return value
    return ""
