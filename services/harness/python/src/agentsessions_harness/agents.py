"""Agents: methods with schemas, which can be invoked."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentsessions.v1.harness_pb2 import RESUMABILITY_STATELESS_REPLAY, Capabilities, HarnessDescriptor
from agentsessions.v1.invocation_pb2 import AgentMethod, AgentType, BinaryItem, Invocation, StreamItem

from . import schema
from .errors import Cancelled, Failure, StreamFailure
from .harness import Harness
from .schema import Graph, Type
from .sink import Sink
from .streams import MOST_OCTETS, Input, Streams
from .turn import Turn
from .values import Binary, Reader, Writer


@dataclass(frozen=True)
class Call:
    """One invocation of a method, beside its parameters."""

    turn: Turn
    """What is invoked, by whom, with what settings."""
    sink: Sink
    """Where to ask for models and tools."""
    constructor: Mapping[str, Any]
    """What the instance was made from."""


@dataclass(frozen=True)
class Method:
    """Something that can be invoked on an agent.

    `act` is called with a `Call` and the parameters by their names, `-` written as `_`. It is an asynchronous function that
    returns its result, or an asynchronous generator if its result is a stream. Streams in the parameters are `Input`s; a
    stream in the result, or in an item, is any asynchronous iterable, which is read as far as the client lets it.

    An exception in `act`, or while a stream is read, fails the invocation. `StreamFailure` ends only its stream."""

    name: str
    act: Callable[..., Any]
    parameters: Mapping[str, Type] = field(default_factory=dict)
    returns: Type | None = None
    description: str = ""
    types: Mapping[str, Type] = field(default_factory=dict)
    """The types that parameters and result name."""

    def describe(self) -> AgentMethod:
        """As it stands in the descriptor."""
        result = None if self.returns is None else schema.graph(self.returns, self.types)
        return AgentMethod(
            name=self.name,
            description=self.description,
            parameters_schema=_text(self.graph),
            result_schema="" if result is None else _text(result),
        )

    @property
    def graph(self) -> Graph:
        """The schema of the parameters."""
        return schema.graph(schema.record(self.parameters), self.types)


@dataclass(frozen=True)
class Agent:
    """An agent: what instances of it are made from, and what can be invoked on them."""

    name: str
    methods: Sequence[Method]
    constructor: Mapping[str, Type] = field(default_factory=dict)
    description: str = ""

    def describe(self) -> AgentType:
        """As it stands in the descriptor."""
        return AgentType(
            name=self.name,
            description=self.description,
            constructor_schema=_text(schema.graph(schema.record(self.constructor))),
            methods=[method.describe() for method in self.methods],
        )


class Agents(Harness):
    """A harness of typed agents. Change `version` whenever a recorded invocation would no longer replay."""

    def __init__(self, id: str, version: str, agents: Sequence[Agent]) -> None:
        self._id = id
        self._version = version
        self._agents = agents

    def describe(self) -> HarnessDescriptor:
        """What it is."""
        return HarnessDescriptor(
            id=self._id,
            version=self._version,
            capabilities=Capabilities(resumability=RESUMABILITY_STATELESS_REPLAY),
            agent_types=[agent.describe() for agent in self._agents],
            only_invocations=True,
        )

    async def run(self, turn: Turn, sink: Sink) -> None:
        """Runs one invocation to its end."""
        if turn.invocation is None or sink.streams is None:
            raise Failure("this harness takes invocations alone")
        agent, method = self._find(turn.invocation)
        try:
            async with asyncio.TaskGroup() as work:
                await _Invoking(method, sink.streams, work).invoke(agent, turn, sink, turn.invocation)
        except ExceptionGroup as group:
            raise group.exceptions[0]

    def _find(self, invocation: Invocation) -> tuple[Agent, Method]:
        for agent in self._agents:
            for method in agent.methods:
                if (agent.name, method.name) == (invocation.agent_type, invocation.method):
                    return agent, method
        raise Failure("there is no such agent or method")


class _Invoking:
    """A method at work, and the streams that it writes."""

    def __init__(self, method: Method, streams: Streams, work: asyncio.TaskGroup) -> None:
        self._method = method
        self._streams = streams
        self._work = work
        self._graph = method.graph
        self._reader = Reader(self._graph, self._open_input)
        self._writer = Writer(self._graph, self._open_output)

    async def invoke(self, agent: Agent, turn: Turn, sink: Sink, invocation: Invocation) -> None:
        made_from = Reader(schema.graph({}), self._open_input)
        constructor = made_from.read(schema.record(agent.constructor), json.loads(invocation.constructor_parameters))
        parameters = self._reader.read(self._graph["root"], json.loads(invocation.method_parameters))
        named = {name.replace("-", "_"): value for name, value in parameters.items()}
        result = self._method.act(Call(turn, sink, constructor), **named)
        if inspect.isawaitable(result):
            result = await result
        returns = self._method.returns
        self._streams.returned("" if returns is None else _text(self._writer.write(returns, result)))

    def _open_input(self, name: str, of: Type) -> Input[Any]:
        return Input(self._streams, name, lambda item: self._decode(of, item))

    def _open_output(self, of: Type, source: AsyncIterable[Any]) -> str:
        # It is cancelled by its name, and has one only when there is something to cancel.
        task: asyncio.Task[None] | None = None
        name = self._streams.open_output(lambda: task is not None and task.cancel())
        task = self._work.create_task(self._write(name, of, source))
        return name

    async def _write(self, name: str, of: Type, source: AsyncIterable[Any]) -> None:
        try:
            async for value in source:
                for item in self._encode(of, value):
                    await self._streams.send(name, item)
            self._streams.end(name)
        except StreamFailure as failure:
            self._streams.end(name, str(failure))
        except Cancelled:
            # That of the output itself, which needs no end, or of an input that it is made from.
            self._streams.end(name, "the agent gave the stream up")
        finally:
            if inspect.isasyncgen(source):
                await source.aclose()

    def _decode(self, of: Type, item: StreamItem) -> Any:
        match item.WhichOneof("item"):
            case "octets":
                return item.octets
            case "binary":
                return Binary(item.binary.data, item.binary.mime_type or None)
            case _:
                return self._reader.read(of, json.loads(item.value))

    def _encode(self, of: Type, value: Any) -> list[StreamItem]:
        match schema.resolve(of, self._graph)["kind"]:
            case "u8":
                pieces = range(0, len(value), MOST_OCTETS)
                return [StreamItem(octets=value[at : at + MOST_OCTETS]) for at in pieces]
            case "binary":
                return [StreamItem(binary=BinaryItem(data=value.data, mime_type=value.mime_type or ""))]
            case _:
                return [StreamItem(value=_text(self._writer.write(of, value)))]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True)
