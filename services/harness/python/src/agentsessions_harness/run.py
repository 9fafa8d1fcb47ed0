"""A running turn, without a transport: a stream of events that is fed with frames."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.common_pb2 import Error, Event, HarnessEnd
from agentsessions.v1.harness_pb2 import ControllerFrame

from .channels import Inbox, Outbox
from .errors import Failure, Violation, describe
from .frames import Address, name
from .harness import Harness
from .sink import Sink
from .streams import Streams
from .turn import Turn

_log = logging.getLogger(__name__)

STOP_BOUND = 5.0
"""Longest wait, in seconds, for a harness that was cancelled. One that resists can ask for nothing any more."""


class Run:
    """A harness at work on one turn. It starts when the first event is asked for, and is cancelled when nobody asks any
    more. The stream ends after an END or PARKED event."""

    def __init__(self, harness: Harness, turn: Turn) -> None:
        self._harness = harness
        self._turn = turn
        self._address = Address(turn.session, turn.execution)
        self._outbox = Outbox()
        self._inbox = Inbox()
        self._streams = None if turn.invocation is None else Streams(self._address, self._outbox)
        self._sink = Sink(self._address, self._outbox, self._inbox, self._streams)

    def deliver(self, frame: ControllerFrame) -> None:
        """Gives a frame after the first to the harness. Never waits: a host that sends more than was asked for breaks the
        protocol, which ends the run as failed. After the end of the run frames are ignored."""
        if self._outbox.is_finished:
            return
        try:
            self._address.check(frame)
            if name(frame) == "stream" and self._streams is not None:
                return self._streams.receive(frame.stream)
        except Violation as violation:
            return self._end(violation)
        if name(frame) == "cancel":
            self._end(Failure(f"canceled by the host: {frame.cancel.reason}"))
        elif not self._inbox.offer(frame):
            self._end(Violation(f"unexpected {name(frame)} frame"))

    def close(self) -> None:
        """Tells the harness that no frame will follow: an effect that waits for an answer fails, and so do a reader that waits
        for an item and a writer that waits for room."""
        self._inbox.close()
        if self._streams is not None:
            self._streams.leave()

    @property
    def is_running(self) -> bool:
        """Whether the harness is still at work."""
        return not self._outbox.is_finished

    async def events(self) -> AsyncGenerator[Event, None]:
        """Runs the harness and yields its events."""
        task = asyncio.create_task(self._drive(), name=f"turn {self._turn.execution}")
        try:
            while (event := await self._outbox.next()) is not None:
                yield event
            # A harness that was told to park, or that was cut short, must be at rest before the host is told so.
            await _stop(task)
            if self._outbox.last is not None:
                yield self._outbox.last
        finally:
            task.cancel()

    async def _drive(self) -> None:
        """An exception in a harness fails its turn and no other."""
        try:
            await self._harness.run(self._turn, self._sink)
        except asyncio.CancelledError:
            self._end(Failure("the harness was cancelled"))
            raise
        except Exception as error:
            _log.debug("turn %s failed", self._turn.execution, exc_info=True)
            self._end(error)
        else:
            # A broken protocol cannot be returned away.
            self._end(self._sink.broken)

    def _end(self, failure: BaseException | None) -> None:
        end = HarnessEnd(state="COMPLETED")
        if failure is not None:
            end = HarnessEnd(state="FAILED", error=Error(description=describe(failure)))
        self._outbox.finish(self._address.event(Event(kind=pb.EVENT_END, end=end)))


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    _, resisting = await asyncio.wait({task}, timeout=STOP_BOUND)
    if resisting:
        _log.warning("%s goes on although it was cancelled", task.get_name())
