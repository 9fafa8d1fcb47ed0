"""The agents of docs/agents.md: one for each thing that methods can do with streams.

    python examples/agents.py 127.0.0.1:9000
"""

import asyncio
import base64
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

from agentsessions_harness import Agent, Agents, Call, Failure, Input, Method, StreamFailure, serve
from agentsessions_harness import schema as s

T = TypeVar("T")

KINDS: Mapping[str, s.Type] = {
    "bool": s.boolean,
    "s8": s.s8,
    "s16": s.s16,
    "s32": s.s32,
    "s64": s.s64,
    "u8": s.u8,
    "u16": s.u16,
    "u32": s.u32,
    "u64": s.u64,
    "f32": s.f32,
    "f64": s.f64,
    "char": s.char,
    "string": s.string,
    "text": s.text,
    "binary": s.binary,
    "path": s.path,
    "url": s.url,
    "datetime": s.datetime,
    "duration": s.duration,
    "quantity": s.quantity("m"),
    "record": s.record(name=s.string, age=s.u8),
    "tuple": s.tuple_of(s.string, s.boolean),
    "list": s.list_of(s.s32),
    "fixed-list": s.fixed_list_of(s.f64, 2),
    "map": s.map_of(s.string, s.u64),
    "enum": s.enumeration("red", "green", "blue"),
    "flags": s.flags("read", "write"),
    "variant": s.variant({"none": None, "some": s.string}),
    "option": s.option(s.string),
    "result": s.result(s.u32, s.string),
    "union": s.union(mail=(s.string, s.prefix("mailto:")), phone=(s.string, s.prefix("tel:"))),
    "ref": s.named("tree"),
}
TREE = s.record(name=s.string, children=s.list_of(s.named("tree")))
EVERYTHING = {"everything": s.variant(KINDS), "tree": TREE}
ITEM = s.named("everything")


async def value(_: Call, value: object) -> object:
    return value


async def pass_on(_: Call, items: Input[T]) -> AsyncIterator[T]:
    async for item in items:
        yield item


async def nothing(_: Call) -> None:
    pass


MIRROR = Agent(
    "mirror",
    [
        Method("value", value, {"value": ITEM}, ITEM, types=EVERYTHING),
        Method("values", pass_on, {"items": s.stream(ITEM)}, s.stream(ITEM), types=EVERYTHING),
        Method("bytes", pass_on, {"items": s.stream(s.u8)}, s.stream(s.u8)),
        Method("binaries", pass_on, {"items": s.stream(s.binary)}, s.stream(s.binary)),
        Method("nothing", nothing),
    ],
    description="Gives back what it is given.",
)


async def count(_: Call, text: Input[bytes]) -> dict[str, int]:
    lines = size = 0
    async for octets in text:
        lines, size = lines + octets.count(b"\n"), size + len(octets)
    return {"lines": lines, "bytes": size}


async def count_strings(_: Call, lines: Input[str]) -> int:
    return len([None async for _line in lines])


async def first(_: Call, lines: Input[str]) -> str | None:
    line = await anext(lines, None)
    lines.drop()
    return line


LINES = Agent(
    "lines",
    [
        Method("count", count, {"text": s.stream(s.u8)}, s.record(lines=s.u64, bytes=s.u64)),
        Method("count-strings", count_strings, {"lines": s.stream(s.string)}, s.u64),
        Method("first", first, {"lines": s.stream(s.string)}, s.option(s.string)),
    ],
    description="Counts lines.",
)


async def encode(_: Call, data: Input[bytes]) -> AsyncIterator[bytes]:
    """The same bytes come out however those that come in are divided."""
    waiting = b""
    async for octets in data:
        waiting += octets
        whole = len(waiting) - len(waiting) % 3
        yield base64.b64encode(waiting[:whole])
        waiting = waiting[whole:]
    yield base64.b64encode(waiting)


TRANSCODER = Agent(
    "transcoder",
    [Method("encode", encode, {"data": s.stream(s.u8)}, s.stream(s.u8))],
    description="Turns bytes into base64.",
)


async def split(call: Call, lines: Input[str]) -> AsyncIterator[dict[str, Any]]:
    async def parts(line: str) -> AsyncIterator[str]:
        for part in line.split(call.constructor["separator"]):
            yield part

    async for line in lines:
        yield {"line": line, "parts": parts(line)}


async def join(call: Call, parts: Input[Input[str]]) -> AsyncIterator[str]:
    async for some in parts:
        yield call.constructor["separator"].join([part async for part in some])


LINE = s.record(line=s.string, parts=s.stream(s.string))
FAN_OUT = Agent(
    "fan-out",
    [
        Method("split", split, {"lines": s.stream(s.string)}, s.stream(LINE)),
        Method("join", join, {"parts": s.stream(s.stream(s.string))}, s.stream(s.string)),
    ],
    {"separator": s.string},
    "Splits lines into streams of their parts, and joins such streams.",
)


def stopping(failure: Exception) -> Any:
    """Passes as many lines on as it is told to, if there are as many, and then stops."""

    async def act(_: Call, lines: Input[str], after: int) -> AsyncIterator[str]:
        for _passed in range(after):
            line = await anext(lines, None)
            if line is None:
                return
            yield line
        raise failure

    return act


TEXT = "failed half-way, as asked"
HALF: Mapping[str, s.Type] = {"lines": s.stream(s.string), "after": s.u64}
HALF_WAY = Agent(
    "half-way",
    [
        Method("fail", stopping(Failure(TEXT)), HALF, s.stream(s.string)),
        Method("break", stopping(StreamFailure(TEXT)), HALF, s.stream(s.string)),
    ],
    description="Passes some lines on, and then fails.",
)

AGENTS = Agents("agents", "1", [MIRROR, LINES, TRANSCODER, FAN_OUT, HALF_WAY])

if __name__ == "__main__":
    asyncio.run(serve(AGENTS, sys.argv[1]))
