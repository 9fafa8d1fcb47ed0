"""Stream sessions as an independent client sees them, on two real nodes over one journal (protocol.md 10 to 16)."""

import asyncio
import contextlib
import uuid

import pytest

import stream_messages
from conftest import running_agents, running_node
from stream_client import Rejected, Revoked, Session

EMPTY = {"kind": "record", "value": {"fields": []}}
SUCCESS = {"kind": "success"}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """The addresses of the stream endpoints of two nodes with the example agents."""
    directory = tmp_path_factory.mktemp("streams")
    with running_agents() as agents, contextlib.ExitStack() as stack:
        flags = ("--streams-addr", "127.0.0.1:0", "--streams-development", "--model", "none", "--model-base-url",
                 "http://127.0.0.1:9", "--harness", f"agents={agents}")
        started = [stack.enter_context(running_node(directory, *flags)) for _ in range(2)]
        yield [node.streams for node in started]


def session(agent_type, method, constructor=()):
    selector = {"application": "lab", "environment": "dev", "agentType": agent_type, "method": method,
                "constructorParameters": {"kind": "record", "value": {"fields": list(constructor)}},
                "phantomId": str(uuid.uuid4())}
    return Session("anybody", selector)


def stream_of(reference):
    return {"kind": "stream", "value": {"provisionalRef": reference}}


def parameters(*fields):
    return {"kind": "record", "value": {"fields": list(fields)}}


def string(text):
    return {"kind": "string", "value": text}


async def started(address, agent_type, method, *more, constructor=()):
    """A session whose method takes a stream first, and that stream."""
    begun = session(agent_type, method, constructor)
    reference = str(uuid.uuid4())
    await begun.start(address, parameters(stream_of(reference), *more), [reference])
    return begun, begun.inputs[reference]


async def output_of(begun):
    """The output that the method returned."""
    result = await begun.returned()
    return await begun.output(result["value"]["value"]["streamToken"])


async def resumed(begun, address):
    """Resumes as soon as the server has noticed that the last connection is gone."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await begun.attach(address)
            except Rejected as rejected:
                assert rejected.code == "invalid-attachment-state"
            await asyncio.sleep(0.05)


def run(scenario, *arguments):
    asyncio.run(scenario(*arguments))


def test_a_method_without_streams_returns(nodes):
    async def scenario():
        begun = session("mirror", "nothing")
        await begun.start(nodes[0], EMPTY)
        assert await begun.returned() == {"kind": "none"}
        assert await begun.finished() == SUCCESS
        assert begun.close_code == 1000
    run(scenario)


def test_bytes_are_streamed_and_survive_a_disconnect_to_another_node(nodes):
    async def scenario():
        begun, upload = await started(nodes[0], "mirror", "bytes")
        await upload.octets(b"before ")
        await upload.acknowledged_all()
        output = await output_of(begun)
        taken = b""
        while len(taken) < 7:
            taken += await output.take()
        await begun.drop()
        await resumed(begun, nodes[1])
        assert upload.acknowledged == 7
        await upload.octets(b"after")
        await upload.end()
        assert taken + b"".join(await output.all()) == b"before after"
        assert await begun.finished() == SUCCESS
        assert (output.outcome, upload.terminal) == ({"kind": "ok"}, "ended")
    run(scenario)


def test_values_are_streamed_with_nested_outputs(nodes):
    async def scenario():
        begun, lines = await started(nodes[0], "fan-out", "split", constructor=[string(",")])
        for line in ("a,b", "c"):
            await lines.value(string(line))
        await lines.end()
        parts = []
        for item in await (await output_of(begun)).all():
            line, nested = item["value"]["fields"]
            inner = await begun.output(nested["value"]["streamToken"])
            parts.append((line["value"], [each["value"] for each in await inner.all()]))
        assert parts == [("a,b", ["a", "b"]), ("c", ["c"])]
        assert await begun.finished() == SUCCESS
    run(scenario)


def test_binary_items_keep_their_mime_type(nodes):
    async def scenario():
        begun, upload = await started(nodes[0], "mirror", "binaries")
        items = [(b"", None), (b"abc", "image/png"), (bytes(100_000), None)]
        for payload, mime_type in items:
            await upload.binary(payload, mime_type)
        await upload.end()
        assert await (await output_of(begun)).all() == items
        assert await begun.finished() == SUCCESS
    run(scenario)


def test_a_takeover_revokes_the_first_connection(nodes):
    async def scenario():
        begun, lines = await started(nodes[0], "lines", "count-strings")
        await lines.value(string("one"))
        await lines.acknowledged_all()
        other = Session(begun.credential, begun.selector, begun.key)
        other.inputs = {reference: type(lines)(other, reference) for reference in begun.inputs}
        for mine, theirs in zip(other.inputs.values(), begun.inputs.values()):
            mine.token, mine.sequence = theirs.token, theirs.sequence
        with pytest.raises(Rejected) as refused:
            await other.attach(nodes[1], "resume", token=begun.token)
        assert refused.value.code == "invalid-attachment-state"
        await other.attach(nodes[1], "takeover", token=begun.token)
        assert isinstance(await begun.failure(), Revoked)
        assert begun.close_code == 1000
        with pytest.raises(Rejected) as stale:
            await begun.attach(nodes[0], "takeover")
        assert stale.value.code == "stale-session"
        [mine] = other.inputs.values()
        await mine.value(string("two"))
        await mine.end()
        assert (await other.returned())["value"] == {"kind": "u64", "value": "2"}
        assert await other.finished() == SUCCESS
    run(scenario)


def test_duplicate_input_is_acknowledged_again_and_conflicting_input_refused(nodes):
    async def scenario():
        begun, lines = await started(nodes[0], "lines", "count-strings")
        await lines.value(string("one"))
        await lines.acknowledged_all()
        await begun.send(stream_messages.item(lines.channel, 0, string("one")))
        await begun.until(lambda: lines.acks == [1, 1])
        await begun.send(stream_messages.item(lines.channel, 0, string("another")))
        refused = await begun.failure()
        assert (refused.code, refused.retryable, begun.close_code) == ("input-conflict", False, 1002)
        await resumed(begun, nodes[1])
        await begun.send(stream_messages.item(lines.channel, 5, string("too far")))
        assert (await begun.failure()).code == "input-gap"
        await resumed(begun, nodes[0])
        await lines.end()
        assert (await begun.returned())["value"] == {"kind": "u64", "value": "1"}
        assert await begun.finished() == SUCCESS
    run(scenario)


def test_an_exact_retry_finds_the_session_and_another_key_makes_another(nodes):
    async def scenario():
        begun, lines = await started(nodes[0], "lines", "count-strings")
        await lines.value(string("one"))
        await lines.acknowledged_all()
        await begun.again(nodes[1])
        assert lines.acknowledged == 1
        try:
            await lines.end()
            await begun.returned()
        except Revoked:
            # The server had noticed the loss before the retry came (R3, K12).
            await resumed(begun, nodes[1])
        assert (await begun.returned())["value"] == {"kind": "u64", "value": "1"}
        assert await begun.finished() == SUCCESS
        other = Session(begun.credential, begun.selector, begun.key)
        reference = str(uuid.uuid4())
        with pytest.raises(Rejected) as refused:
            await other.start(nodes[0], parameters(stream_of(reference)), [reference])
        assert refused.value.code == "idempotency-conflict"
    run(scenario)


def test_cancelled_streams_end_with_the_reason_of_the_client(nodes):
    async def scenario():
        begun, upload = await started(nodes[0], "mirror", "bytes")
        await upload.octets(b"some")
        output = await output_of(begun)
        await output.cancel("consumer-drop")
        await begun.until(lambda: output.outcome is not None)
        assert output.outcome == {"kind": "cancelled", "reason": "consumer-drop"}

        begun, lines = await started(nodes[0], "lines", "count-strings")
        await lines.value(string("one"))
        await lines.acknowledged_all()
        await lines.cancel("source-unavailable")
        assert await lines.ended() == "source-unavailable"
        outcome = await begun.finished()
        assert outcome["kind"] in ("success", "failure")
    run(scenario)


def test_an_invocation_that_fails_ends_its_streams_first(nodes):
    async def scenario():
        begun, lines = await started(nodes[0], "half-way", "fail", {"kind": "u64", "value": "1"})
        await lines.value(string("one"))
        await lines.value(string("two"))
        output = await output_of(begun)
        assert await output.all() == [string("one")]
        assert output.outcome == {"kind": "cancelled", "reason": "invocation-failed"}
        assert (await begun.finished())["code"] == "invocation-failed"
    run(scenario)


def test_a_client_that_closes_leaves_the_session_detached(nodes):
    async def scenario():
        begun, lines = await started(nodes[0], "lines", "count-strings")
        await begun.close()
        await resumed(begun, nodes[1])
        await lines.end()
        assert await begun.finished() == SUCCESS
    run(scenario)
