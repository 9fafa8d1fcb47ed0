"""The example agents behind a socket, and a plain gRPC client that is their host."""

from __future__ import annotations

import base64
import json
import pathlib
import sys
from typing import Any

import grpc.aio
import pytest
from actors import envelope
from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.harness_pb2 import ControllerFrame, Start
from agentsessions.v1.invocation_pb2 import Invocation, StreamCredit, StreamEnd, StreamFrame, StreamItem
from invoking import named, node, record, string
from test_server import connect, with_host

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples"))

import agents  # noqa: E402
import words  # noqa: E402

CREDIT = 1 << 20


def told(name: str, **frame: Any) -> ControllerFrame:
    return envelope(stream=StreamFrame(stream=name, **frame))


class Invoked:
    """What comes out of an invocation."""

    def __init__(self) -> None:
        self.result = ""
        self.items: dict[str, list[StreamItem]] = {}
        self.ends: dict[str, StreamEnd] = {}
        self.state = ""

    async def play(self, call: Any, items: list[StreamItem], room: int) -> None:
        """Sends the items of the input as there is credit, and reads to the end. The first output has `room` for so many bytes
        beyond what it begins with."""
        credit, sequence, ended = CREDIT, 0, False
        while True:
            while credit > 0 and not ended:
                if not items:
                    await call.write(told("in", end=StreamEnd()))
                    ended = True
                    break
                item = items.pop(0)
                item.sequence = sequence
                sequence += len(item.octets) or 1
                credit -= item.ByteSize() + 64
                await call.write(told("in", item=item))
            event = await call.read()
            match event.kind:
                case pb.EVENT_RETURN:
                    self.result = event.returned.result
                    if room:
                        await call.write(told("output-1", credit=StreamCredit(bytes=room)))
                case pb.EVENT_STREAM if event.stream.HasField("item"):
                    self.items.setdefault(event.stream.stream, []).append(event.stream.item)
                case pb.EVENT_STREAM if event.stream.HasField("end"):
                    self.ends[event.stream.stream] = event.stream.end
                case pb.EVENT_STREAM if event.stream.HasField("credit"):
                    credit += event.stream.credit.bytes
                case pb.EVENT_STREAM:
                    ended = True
                case pb.EVENT_END:
                    self.state = event.end.state
                    return


def invoke(
    harness: Any,
    agent: str,
    method: str,
    parameters: list[Any],
    items: list[StreamItem],
    constructor: Any = record(),
    room: int = 0,
) -> Invoked:
    invoked = Invoked()
    invocation = Invocation(
        agent_type=agent,
        method=method,
        constructor_parameters=json.dumps(constructor),
        method_parameters=json.dumps(record(*parameters)),
    )

    async def script(channel: grpc.aio.Channel) -> None:
        call = connect(channel)()
        await call.write(envelope(start=Start(invocation=invocation)))
        await invoked.play(call, items, room)

    with_host(harness, "127.0.0.1:0", script)
    return invoked


def values(*nodes: Any) -> list[StreamItem]:
    return [StreamItem(value=json.dumps(node)) for node in nodes]


def read(items: list[StreamItem]) -> list[Any]:
    return [json.loads(item.value) for item in items]


@pytest.mark.parametrize("division", [1_000_000, 10_007])
def test_transcoder_takes_megabytes_in_any_division(division: int) -> None:
    data = bytes(at % 251 for at in range(3_000_001))
    items = [StreamItem(octets=data[at : at + division]) for at in range(0, len(data), division)]
    invoked = invoke(agents.AGENTS, "transcoder", "encode", [named("in")], items, room=1 << 30)
    assert b"".join(item.octets for item in invoked.items["output-1"]) == base64.b64encode(data)
    assert (invoked.ends["output-1"], invoked.state) == (StreamEnd(), "COMPLETED")


def test_mirror_gives_back_what_it_is_given() -> None:
    given = node("variant", {"case": list(agents.KINDS).index("u64"), "payload": node("u64", "7")})
    assert json.loads(invoke(agents.AGENTS, "mirror", "value", [given], []).result) == given
    invoked = invoke(agents.AGENTS, "mirror", "values", [named("in")], values(given, given))
    assert read(invoked.items["output-1"]) == [given, given]
    assert invoke(agents.AGENTS, "mirror", "nothing", [], []).result == ""


def test_lines_are_counted() -> None:
    invoked = invoke(agents.AGENTS, "lines", "count", [named("in")], [StreamItem(octets=b"a\nb\n")])
    assert json.loads(invoked.result) == record(node("u64", "2"), node("u64", "4"))
    invoked = invoke(agents.AGENTS, "lines", "count-strings", [named("in")], values(string("a"), string("b")))
    assert json.loads(invoked.result) == node("u64", "2")


def test_fan_out_makes_a_stream_of_each_item() -> None:
    lines = values(string("a,b"), string("c"))
    invoked = invoke(agents.AGENTS, "fan-out", "split", [named("in")], lines, record(string(",")))
    first = read(invoked.items["output-1"])[0]["value"]["fields"]
    assert first[0] == string("a,b")
    assert read(invoked.items[first[1]["value"]["streamToken"]]) == [string("a"), string("b")]
    assert invoked.state == "COMPLETED"


@pytest.mark.parametrize("method, state, ends", [("fail", "FAILED", 0), ("break", "COMPLETED", 1)])
def test_half_way_fails_the_invocation_or_the_output(method: str, state: str, ends: int) -> None:
    lines = values(string("a"), string("b"))
    invoked = invoke(agents.AGENTS, "half-way", method, [named("in"), node("u64", "1")], lines)
    assert read(invoked.items["output-1"]) == [string("a")]
    assert (invoked.state, len(invoked.ends)) == (state, ends)


def test_words_come_with_their_lengths() -> None:
    harness = words.Agents("words", "1", [words.WORDS])
    parameters = [named("in"), node("u32", 2)]
    invoked = invoke(harness, "words", "split", parameters, values(string("a bc")), record(string(" ")))
    assert read(invoked.items["output-1"]) == [record(string("bc"), node("u32", 2))]
