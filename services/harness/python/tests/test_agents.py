"""Typed agents: what they are offered as, what goes in and out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from actors import answer, question
from agentsessions.v1 import common_pb2 as pb
from agentsessions.v1.invocation_pb2 import StreamCancel
from agentsessions_harness import (
    Agent,
    Agents,
    Binary,
    Call,
    Cancelled,
    Case,
    Err,
    Failure,
    Input,
    Method,
    Ok,
    Quantity,
    Some,
    StreamFailure,
    Text,
    schema,
)
from agentsessions_harness.schema import stream as of
from agentsessions_harness.values import Reader, Writer
from invoking import Invoker, invoke, named, node, record, string

CREDIT = 1 << 20


def test_agents_are_offered_with_their_schemas() -> None:
    method = Method("m", lambda: None, {"a": schema.u8}, schema.string, "counts")
    described = Agents("h", "1", [Agent("a", [method], {"b": schema.boolean})]).describe()
    assert described.only_invocations
    [agent] = described.agent_types
    assert agent.name == "a"
    assert json.loads(agent.constructor_schema) == {"root": schema.record(b=schema.boolean)}
    assert json.loads(agent.methods[0].parameters_schema) == {"root": schema.record(a=schema.u8)}
    assert json.loads(agent.methods[0].result_schema) == {"root": schema.string}


KINDS: list[tuple[schema.Type, Any, Any]] = [
    (schema.boolean, True, node("bool", True)),
    (schema.s8, -8, node("s8", -8)),
    (schema.s64, -64, node("s64", "-64")),
    (schema.u64, 64, node("u64", "64")),
    (schema.f64, 1.5, node("f64", 1.5)),
    (schema.f32, float("-inf"), node("f32", {"$float": "negative-infinity"})),
    (schema.char, "λ", node("char", "λ")),
    (schema.string, "", string("")),
    (schema.text, Text("ja", "de"), node("text", {"text": "ja", "language": "de"})),
    (schema.binary, Binary(b"\1\2"), node("binary", {"bytes": [1, 2]})),
    (schema.path, "/a", node("path", {"path": "/a"})),
    (schema.url, "https://a.example/", node("url", {"url": "https://a.example/"})),
    (schema.datetime, "2026-01-01T00:00:00Z", node("datetime", {"value": "2026-01-01T00:00:00Z"})),
    (schema.duration, -1, node("duration", {"nanoseconds": "-1"})),
    (
        schema.quantity("kg"),
        Quantity(25, 1, "kg"),
        node("quantity", {"mantissa": "25", "scale": 1, "unit": "kg"}),
    ),
    (schema.record(a=schema.u8), {"a": 1}, record(node("u8", 1))),
    (schema.tuple_of(schema.u8), (1,), node("tuple", {"elements": [node("u8", 1)]})),
    (schema.list_of(schema.u8), [1], node("list", {"elements": [node("u8", 1)]})),
    (schema.fixed_list_of(schema.u8, 1), [1], node("fixed-list", {"elements": [node("u8", 1)]})),
    (
        schema.map_of(schema.string, schema.u8),
        [("k", 1)],
        node("map", {"entries": [[string("k"), node("u8", 1)]]}),
    ),
    (schema.enumeration("a", "b"), "b", node("enum", {"case": 1})),
    (schema.flags("r", "w"), frozenset({"w"}), node("flags", {"bits": [False, True]})),
    (schema.variant({"a": None, "b": schema.u8}), Case("a"), node("variant", {"case": 0})),
    (
        schema.variant({"a": None, "b": schema.u8}),
        Case("b", 1),
        node("variant", {"case": 1, "payload": node("u8", 1)}),
    ),
    (schema.option(schema.u8), None, node("option", {"inner": None})),
    (schema.option(schema.u8), 1, node("option", {"inner": node("u8", 1)})),
    (
        schema.option(schema.option(schema.u8)),
        Some(None),
        node("option", {"inner": node("option", {"inner": None})}),
    ),
    (schema.result(schema.u8), Ok(1), node("result", {"tag": "ok", "value": node("u8", 1)})),
    (schema.result(schema.u8), Err(), node("result", {"tag": "err", "value": None})),
    (
        schema.union(t=(schema.string, schema.prefix("t:"))),
        Case("t", "t:1"),
        node("union", {"tag": "t", "body": string("t:1")}),
    ),
]


@pytest.mark.parametrize("kind, value, written", KINDS)
def test_values_of_every_kind_are_read_and_written(kind: schema.Type, value: Any, written: Any) -> None:
    graph = schema.graph(schema.named("it"), {"it": kind})
    assert Reader(graph, lambda name, _: name).read(graph["root"], written) == value
    assert Writer(graph, lambda _, __: "").write(graph["root"], value) == written


async def count(_: Call, lines: Input[str]) -> int:
    return len([line async for line in lines])


COUNT = Method("m", count, {"lines": of(schema.string)}, schema.u64)


def test_input_is_read_to_its_end() -> None:
    async def script(host: Invoker) -> None:
        await host.expect_silence()
        for sequence in range(3):
            host.value("in-1", sequence, string("x"))
        host.end_input("in-1")
        await host.expect_return(node("u64", "3"))
        await host.expect_completed()

    invoke(COUNT, [named("in-1")], script)


async def pass_on(_: Call, items: Input[Any]) -> AsyncIterator[Any]:
    async for item in items:
        yield item


@pytest.mark.parametrize(
    "kind, item",
    [
        (schema.string, {"value": json.dumps(string("x"), separators=(",", ":"))}),
        (schema.u8, {"octets": b"abc"}),
        (schema.binary, {"binary": {"data": b"x", "mime_type": "text/plain"}}),
    ],
)
def test_items_of_every_lane_are_passed_on(kind: schema.Type, item: dict[str, Any]) -> None:
    async def script(host: Invoker) -> None:
        await host.expect_return(named("output-1"))
        host.say("in-1", item=item)
        frame = await host.hears()
        sent = {name: getattr(frame.item, name) for name in item}
        assert frame.item.sequence == 0
        assert str(sent) == str({name: getattr(type(frame.item)(**item), name) for name in item})
        host.end_input("in-1")
        await host.expect_end("output-1")
        await host.expect_completed()

    invoke(Method("m", pass_on, {"items": of(kind)}, of(kind)), [named("in-1")], script)


def test_constructor_and_effects_are_there() -> None:
    async def greet(call: Call, first_name: str) -> str:
        await call.sink.model(question())
        return f"{call.constructor['greeting']} {first_name}"

    async def script(host: Invoker) -> None:
        await host.expect(pb.EVENT_MODEL_CALL)
        host.send(model=answer())
        await host.expect_return(string("hello Ada"))
        await host.expect_completed()

    method = Method("m", greet, {"first-name": schema.string}, schema.string)
    invoke(method, [string("Ada")], script, constructor={"greeting": schema.string}, made_from=[string("hello")])


def test_streams_in_items_are_outputs_of_their_own() -> None:
    async def inner() -> AsyncIterator[str]:
        yield "x"

    async def outer(_: Call) -> AsyncIterator[AsyncIterator[str]]:
        yield inner()

    async def script(host: Invoker) -> None:
        await host.expect_return(named("output-1"))
        await host.expect_value("output-1", 0, named("output-2"))
        said = sorted([str(await host.hears()) for _ in range(3)])
        assert [text.count("output-2") for text in said].count(1) == 2, said
        await host.expect_completed()

    invoke(Method("m", outer, {}, of(of(schema.string))), [], script)


def test_octets_are_divided_and_wait_for_credit() -> None:
    async def write(_: Call) -> AsyncIterator[bytes]:
        yield bytes(2 * CREDIT + 1)

    async def script(host: Invoker) -> None:
        await host.expect_return(named("output-1"))
        first = (await host.hears()).item
        assert len(first.octets) == CREDIT
        overdrawn = first.ByteSize() + 64 - CREDIT
        host.grant("output-1", overdrawn)
        await host.expect_silence()
        host.grant("output-1", 1)
        assert (await host.hears()).item.sequence == CREDIT
        await host.expect_silence()
        host.grant("output-1", 2 * CREDIT)
        assert (await host.hears()).item.octets == b"\0"
        await host.expect_end("output-1")
        await host.expect_completed()

    invoke(Method("m", write, {}, of(schema.u8)), [], script)


def test_reader_grants_what_it_has_consumed_in_large_steps() -> None:
    async def read(_: Call, items: Input[bytes]) -> None:
        async for _octets in items:
            pass

    async def script(host: Invoker) -> None:
        for sequence in range(0, 300_000, 100_000):
            host.octets("in-1", sequence, bytes(100_000))
        frame = await host.hears()
        assert (frame.stream, frame.credit.bytes // 100_000) == ("in-1", 3)
        host.end_input("in-1")
        await host.expect_return(None)
        await host.expect_completed()

    invoke(Method("m", read, {"items": of(schema.u8)}), [named("in-1")], script)


def test_dropped_input_is_not_wanted_and_takes_what_was_on_its_way() -> None:
    async def first(call: Call, lines: Input[str]) -> str:
        line = await anext(lines)
        lines.drop()
        await call.sink.model(question())
        return line

    async def script(host: Invoker) -> None:
        host.value("in-1", 0, string("x"))
        kinds = {}
        for event in (await host.event(), await host.event()):
            assert event is not None
            kinds[event.kind] = event
        assert kinds[pb.EVENT_STREAM].stream.cancel == StreamCancel(reason="consumer-drop")
        host.value("in-1", 1, string("y"))
        host.send(model=answer())
        await host.expect_return(string("x"))
        await host.expect_completed()

    invoke(Method("m", first, {"lines": of(schema.string)}, schema.string), [named("in-1")], script)


def test_cancelled_input_says_why() -> None:
    async def read(_: Call, lines: Input[str]) -> str:
        try:
            await anext(lines)
        except Cancelled as cancelled:
            return cancelled.reason
        return ""

    async def script(host: Invoker) -> None:
        host.cancel("in-1", "source-unavailable")
        await host.expect_return(string("source-unavailable"))
        await host.expect_completed()

    invoke(Method("m", read, {"lines": of(schema.string)}, schema.string), [named("in-1")], script)


def test_cancelled_output_is_closed_and_no_failure() -> None:
    closed = []

    async def write(_: Call) -> AsyncIterator[str]:
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    async def script(host: Invoker) -> None:
        await host.expect_return(named("output-1"))
        await host.hears()
        host.cancel("output-1", "cancelled")
        await host.expect_completed()
        assert closed == [True]

    invoke(Method("m", write, {}, of(schema.string)), [], script)


async def fail_alone(_: Call) -> AsyncIterator[str]:
    yield "x"
    raise StreamFailure("no luck")


async def fail(_: Call) -> AsyncIterator[str]:
    yield "x"
    raise Failure("out of luck")


def test_output_may_fail_alone() -> None:
    async def script(host: Invoker) -> None:
        await host.expect_return(named("output-1"))
        await host.expect_value("output-1", 0, string("x"))
        await host.expect_end("output-1", "no luck")
        await host.expect_completed()

    invoke(Method("m", fail_alone, {}, of(schema.string)), [], script)


def test_failure_of_a_writer_fails_the_invocation_and_ends_no_stream() -> None:
    async def script(host: Invoker) -> None:
        await host.expect_return(named("output-1"))
        await host.expect_value("output-1", 0, string("x"))
        assert await host.expect_failed() == "out of luck"

    invoke(Method("m", fail, {}, of(schema.string)), [], script)


@pytest.mark.parametrize(
    "frame, text",
    [
        ({"item": {"sequence": 1, "value": "{}"}}, "out of order"),
        ({"item": {"sequence": 0}}, "says nothing"),
        ({}, "says nothing"),
        ({"item": {"sequence": 0, "octets": b""}}, "no octets"),
        ({"credit": {"bytes": 1}}, "other direction"),
    ],
)
def test_host_that_breaks_the_rules_of_streams_fails_the_invocation(frame: dict[str, Any], text: str) -> None:
    async def script(host: Invoker) -> None:
        await host.expect_silence()
        host.say("in-1", **frame)
        assert text in await host.expect_failed()

    invoke(COUNT, [named("in-1")], script)


def test_items_without_credit_or_after_the_end_fail_the_invocation() -> None:
    async def overdraw(host: Invoker) -> None:
        for sequence in range(2):
            host.value("in-1", sequence, string("x" * CREDIT))
        assert "without credit" in await host.expect_failed()

    async def late(host: Invoker) -> None:
        host.end_input("in-1")
        host.value("in-1", 0, string("x"))
        assert "end of its stream" in await host.expect_failed()

    for script in (overdraw, late):
        invoke(COUNT, [named("in-1")], script)


def test_host_that_says_no_more_is_not_waited_for() -> None:
    async def script(host: Invoker) -> None:
        await host.expect_silence()
        host.run.close()
        assert "cancelled" in await host.expect_failed()

    invoke(COUNT, [named("in-1")], script)
