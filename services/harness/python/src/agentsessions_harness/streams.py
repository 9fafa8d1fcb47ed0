"""The streams of an invocation: what has come, what is to go, and who may send how much (invocation.proto)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.common_pb2 import Event
from agentsessions.v1.invocation_pb2 import (
    MethodReturn,
    StreamCancel,
    StreamCredit,
    StreamEnd,
    StreamFrame,
    StreamItem,
)

from .channels import Outbox
from .errors import Cancelled, Violation
from .frames import Address

T = TypeVar("T")

CREDIT = 1 << 20
"""What a stream begins with, in bytes."""

GRANT = 256 << 10
"""Least credit that is given back at once. Far less than a writer begins with, so that it never stops while everything that
it sent was consumed."""

MOST_OCTETS = 1 << 20
"""Most bytes in an item."""

MOST_STREAMS = 4096
"""Most inputs of an invocation."""

_ITEM_COST = 64

_OVER = "the run is over"


def cost(item: StreamItem) -> int:
    """What an item costs its writer."""
    return item.ByteSize() + _ITEM_COST


def count(item: StreamItem) -> int:
    """How many items it is: of octets, each is one."""
    return len(item.octets) if item.WhichOneof("item") == "octets" else 1


@dataclass
class _Incoming:
    next: int = 0
    credit: int = CREDIT
    consumed: int = 0
    items: deque[StreamItem] = field(default_factory=deque)
    ended: bool = False
    cancelled: Cancelled | None = None
    dropped: bool = False
    arrived: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class _Outgoing:
    give_up: Callable[[], object]
    next: int = 0
    credit: int = CREDIT
    cancelled: Cancelled | None = None
    granted: asyncio.Event = field(default_factory=asyncio.Event)


class Streams:
    """The streams of one invocation."""

    def __init__(self, address: Address, outbox: Outbox) -> None:
        self._address = address
        self._outbox = outbox
        self._inputs: dict[str, _Incoming] = {}
        self._outputs: dict[str, _Outgoing] = {}
        self._opened = 0
        self._left = False

    def receive(self, frame: StreamFrame) -> None:
        """Takes a frame of the host. Raises `Violation`."""
        match frame.WhichOneof("frame"):
            case "item":
                self._take(self._input(frame.stream), frame.item)
            case "end":
                self._end_input(self._input(frame.stream), None)
            case "cancel" if self._is_output(frame.stream):
                self._cancel_output(frame.stream, Cancelled(frame.cancel.reason))
            case "cancel":
                self._end_input(self._input(frame.stream), Cancelled(frame.cancel.reason))
            case "credit":
                self._grant(frame.stream, frame.credit.bytes)
            case _:
                raise Violation("a stream frame says nothing")

    def leave(self) -> None:
        """The host says nothing more: who waits for an item or for credit waits in vain."""
        self._left = True
        for arrived in [stream.arrived for stream in self._inputs.values()]:
            arrived.set()
        for granted in [stream.granted for stream in self._outputs.values()]:
            granted.set()

    async def next_item(self, name: str) -> StreamItem | None:
        """The next item of an input, `None` at its end. Raises `Cancelled`."""
        stream = self._input(name)
        while not stream.items:
            if stream.cancelled is not None:
                raise stream.cancelled
            if stream.ended or stream.dropped:
                return None
            if self._left:
                raise Cancelled(_OVER)
            stream.arrived.clear()
            await stream.arrived.wait()
        item = stream.items.popleft()
        self._consume(name, stream, cost(item))
        return item

    def drop(self, name: str) -> None:
        """Nobody wants the rest of an input."""
        stream = self._input(name)
        if not stream.dropped:
            stream.dropped = True
            stream.items.clear()
            stream.arrived.set()
            if not stream.ended:
                self._say(name, cancel=StreamCancel(reason="consumer-drop"))

    def open_output(self, give_up: Callable[[], object]) -> str:
        """The name of a new output. `give_up` is called when nobody wants it any more."""
        self._opened += 1
        name = f"output-{self._opened}"
        self._outputs[name] = _Outgoing(give_up)
        return name

    async def send(self, name: str, item: StreamItem) -> None:
        """Sends an item as soon as there is room for it. Raises `Cancelled`."""
        stream = self._outputs[name]
        while stream.credit <= 0 and stream.cancelled is None:
            if self._left:
                raise Cancelled(_OVER)
            stream.granted.clear()
            await stream.granted.wait()
        await self._outbox.room_for_item()
        if stream.cancelled is not None:
            raise stream.cancelled
        item.sequence = stream.next
        stream.next += count(item)
        stream.credit -= cost(item)
        self._say(name, item=item)

    def end(self, name: str, error: str | None = None) -> None:
        """Ends an output, unless nobody wants to know."""
        if self._outputs.pop(name).cancelled is None:
            self._say(name, end=StreamEnd(error=error))

    def returned(self, result: str) -> None:
        """The method has returned."""
        self._add(Event(kind=pb.EVENT_RETURN, returned=MethodReturn(result=result)))

    def _say(self, name: str, **frame: Any) -> None:
        self._add(Event(kind=pb.EVENT_STREAM, stream=StreamFrame(stream=name, **frame)))

    def _add(self, event: Event) -> None:
        self._outbox.add(self._address.event(event))

    def _input(self, name: str) -> _Incoming:
        if self._is_output(name):
            raise Violation("a stream frame is for a stream of the other direction")
        if name not in self._inputs and len(self._inputs) == MOST_STREAMS:
            raise Violation("a stream frame is of one stream too many")
        return self._inputs.setdefault(name, _Incoming())

    def _is_output(self, name: str) -> bool:
        """Whether there is or was an output of this name."""
        prefix, _, number = name.rpartition("-")
        return prefix == "output" and number.isdecimal() and 1 <= int(number) <= self._opened

    def _take(self, stream: _Incoming, item: StreamItem) -> None:
        kind = item.WhichOneof("item")
        if stream.ended:
            raise Violation("a stream frame follows the end of its stream")
        if item.sequence != stream.next:
            raise Violation("a stream frame carries an item out of order")
        if kind is None:
            raise Violation("a stream frame says nothing")
        if kind == "octets" and not 1 <= len(item.octets) <= MOST_OCTETS:
            raise Violation("a stream frame carries no octets, or too many")
        stream.next += count(item)
        if stream.dropped:
            return
        if stream.credit <= 0:
            raise Violation("a stream frame carries an item without credit")
        stream.credit -= cost(item)
        stream.items.append(item)
        stream.arrived.set()

    def _end_input(self, stream: _Incoming, cancelled: Cancelled | None) -> None:
        if stream.ended:
            raise Violation("a stream frame follows the end of its stream")
        stream.ended, stream.cancelled = True, cancelled
        stream.arrived.set()

    def _consume(self, name: str, stream: _Incoming, consumed: int) -> None:
        stream.consumed += consumed
        if stream.consumed >= GRANT and not stream.ended:
            self._say(name, credit=StreamCredit(bytes=stream.consumed))
            stream.credit, stream.consumed = stream.credit + stream.consumed, 0

    def _cancel_output(self, name: str, cancelled: Cancelled) -> None:
        stream = self._outputs.get(name)
        if stream is not None and stream.cancelled is None:
            stream.cancelled = cancelled
            self._outbox.discard_items(name)
            stream.granted.set()
            stream.give_up()

    def _grant(self, name: str, granted: int) -> None:
        if not self._is_output(name):
            raise Violation("a stream frame is for a stream of the other direction")
        if granted <= 0:
            raise Violation("a stream frame grants impossible credit")
        stream = self._outputs.get(name)
        if stream is not None:
            stream.credit += granted
            stream.granted.set()


class Input(AsyncIterator[T], Generic[T]):
    """An input of an invocation: its items, in order, as they come. Raises `Cancelled` once if the client cancels it.

    The host sends on as items are read; what a client has sent meanwhile waits in the journal. `drop` it when the rest is
    not wanted."""

    def __init__(self, streams: Streams, name: str, decode: Callable[[StreamItem], T]) -> None:
        self._streams = streams
        self._name = name
        self._decode = decode
        self._over = False

    async def __anext__(self) -> T:
        if self._over:
            raise StopAsyncIteration
        try:
            item = await self._streams.next_item(self._name)
        except Cancelled:
            self._over = True
            raise
        if item is None:
            self._over = True
            raise StopAsyncIteration
        return self._decode(item)

    def drop(self) -> None:
        """Tells the client that nobody wants the rest."""
        self._over = True
        self._streams.drop(self._name)
