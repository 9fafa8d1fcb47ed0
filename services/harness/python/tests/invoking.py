"""The host of an invocation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

from actors import BOUND, EXECUTION, SESSION, Host
from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.invocation_pb2 import (
    Invocation,
    StreamCancel,
    StreamCredit,
    StreamEnd,
    StreamFrame,
    StreamItem,
)
from agentsessions_harness import Agent, Agents, Method, Run, Turn

Script = Callable[["Invoker"], Coroutine[Any, Any, None]]


class Invoker(Host):
    """The host's end of an invocation."""

    def say(self, name: str, **frame: Any) -> None:
        self.send(stream=StreamFrame(stream=name, **frame))

    def value(self, name: str, sequence: int, node: Any) -> None:
        self.say(name, item=StreamItem(sequence=sequence, value=json.dumps(node)))

    def octets(self, name: str, sequence: int, octets: bytes) -> None:
        self.say(name, item=StreamItem(sequence=sequence, octets=octets))

    def end_input(self, name: str) -> None:
        self.say(name, end=StreamEnd())

    def cancel(self, name: str, reason: str) -> None:
        self.say(name, cancel=StreamCancel(reason=reason))

    def grant(self, name: str, granted: int) -> None:
        self.say(name, credit=StreamCredit(bytes=granted))

    async def hears(self) -> StreamFrame:
        return (await self.expect(pb.EVENT_STREAM)).stream

    async def expect_value(self, name: str, sequence: int, node: Any) -> None:
        frame = await self.hears()
        assert (frame.stream, frame.item.sequence) == (name, sequence), frame
        assert json.loads(frame.item.value) == node

    async def expect_end(self, name: str, error: str | None = None) -> None:
        assert await self.hears() == StreamFrame(stream=name, end=StreamEnd(error=error))

    async def expect_return(self, node: Any) -> None:
        result = (await self.expect(pb.EVENT_RETURN)).returned.result
        assert (json.loads(result) if result else None) == node

    async def expect_silence(self) -> None:
        """The harness waits for something."""
        waiting = asyncio.ensure_future(self.event())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done(), waiting.result()
        self.events = _resumed(waiting, self.events)


async def _resumed(waiting: asyncio.Future[Any], events: Any) -> Any:
    yield await waiting
    async for event in events:
        yield event


def invoke(method: Method, parameters: list[Any], script: Script, **agent: Any) -> None:
    """Invokes a method, which `script` is the host of."""
    made_from = agent.pop("made_from", [])
    invocation = Invocation(
        agent_type="tested",
        method=method.name,
        constructor_parameters=json.dumps(record(*made_from)),
        method_parameters=json.dumps(record(*parameters)),
    )

    async def conversation() -> None:
        async with asyncio.timeout(BOUND):
            turn = Turn(SESSION, EXECUTION, invocation=invocation)
            host = Invoker(Run(Agents("h", "1", [Agent("tested", [method], **agent)]), turn))
            async with aclosing(host.events):
                await script(host)

    asyncio.run(conversation())


def node(kind: str, value: Any) -> dict[str, Any]:
    return {"kind": kind, "value": value}


def record(*fields: Any) -> dict[str, Any]:
    return node("record", {"fields": list(fields)})


def named(name: str) -> dict[str, Any]:
    return node("stream", {"streamToken": name})


def string(text: str) -> dict[str, Any]:
    return node("string", text)
