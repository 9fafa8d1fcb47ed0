"""The bounded queues between a harness and its host. Each has one reader."""

from __future__ import annotations

import asyncio
from collections import deque

from agentsessions.v1.common_pb2 import Event
from agentsessions.v1.harness_pb2 import ControllerFrame

from .errors import HostClosed

ITEMS_AHEAD = 16
"""Items of all streams together that may be ahead of whoever reads the events."""

FRAMES_AHEAD = 2
"""Frames that can wait for the harness: a decision and its receipt."""


class Outbox:
    """Events on their way to the host. It holds one effect, and a second waits until that is read: a harness that is further
    ahead would go on after the host told it to park. What is said of streams goes beside it; neither keeps the other
    waiting. The last event follows whatever was emitted before it."""

    def __init__(self) -> None:
        self.last: Event | None = None
        self._event: Event | None = None
        self._of_streams: deque[Event] = deque()
        self._items = asyncio.Semaphore(ITEMS_AHEAD)
        self._stream_is_next = False
        self._finished = False
        self._room = asyncio.Event()
        self._ready = asyncio.Event()

    async def put(self, event: Event) -> None:
        """Waits for room. Raises `HostClosed` once there is a last event."""
        while self._event is not None and not self._finished:
            self._room.clear()
            await self._room.wait()
        if self._finished:
            raise HostClosed
        self._event = event
        self._ready.set()

    def finish(self, last: Event) -> None:
        """Makes `last` the last event, unless there is one."""
        if not self._finished:
            self._finished, self.last = True, last
            self._room.set()
            self._ready.set()

    @property
    def is_finished(self) -> bool:
        """Whether there is a last event."""
        return self._finished

    async def room_for_item(self) -> None:
        """Waits until another item of a stream may be added."""
        await self._items.acquire()

    def add(self, event: Event) -> None:
        """Adds what is said of streams. For an item there must be room."""
        self._of_streams.append(event)
        self._ready.set()

    def discard_items(self, stream: str) -> None:
        """The items of a stream need not be sent any more."""
        kept = [event for event in self._of_streams if not (_is_item(event) and event.stream.stream == stream)]
        for _ in range(len(self._of_streams) - len(kept)):
            self._items.release()
        self._of_streams = deque(kept)

    async def next(self) -> Event | None:
        """The next event that was emitted; `None` when only the last event is left."""
        while self._event is None and not self._of_streams and not self._finished:
            self._ready.clear()
            await self._ready.wait()
        self._stream_is_next = not self._stream_is_next
        if self._of_streams and (self._stream_is_next or self._event is None):
            event = self._of_streams.popleft()
            if _is_item(event):
                self._items.release()
            return event
        effect, self._event = self._event, None
        self._room.set()
        return effect


def _is_item(event: Event) -> bool:
    return event.stream.HasField("item")


class Inbox:
    """Frames on their way to the harness."""

    def __init__(self) -> None:
        self._frames: deque[ControllerFrame] = deque()
        self._closed = False
        self._ready = asyncio.Event()

    def offer(self, frame: ControllerFrame) -> bool:
        """Never waits: false if the harness has more frames than any effect is answered with."""
        if len(self._frames) == FRAMES_AHEAD:
            return False
        self._frames.append(frame)
        self._ready.set()
        return True

    def close(self) -> None:
        """No frame will follow."""
        self._closed = True
        self._ready.set()

    async def take(self) -> ControllerFrame:
        """The next frame. Raises `HostClosed` if there will be none."""
        while not self._frames:
            if self._closed:
                raise HostClosed
            self._ready.clear()
            await self._ready.wait()
        return self._frames.popleft()

    def waiting(self) -> ControllerFrame | None:
        """The next frame, if it is there already."""
        return self._frames[0] if self._frames else None
