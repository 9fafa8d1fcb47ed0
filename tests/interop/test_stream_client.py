"""The independent client against a scripted server: what it keeps, sends again and asks for after a loss."""

import asyncio
import contextlib

import websockets

import stream_binary
import stream_messages
from stream_client import SUBPROTOCOL, Lost, Session
from stream_json import canonical

REFERENCE = "0dff1c71-f12f-4bb1-996c-23d693bdc825"
SELECTOR = {"application": "lab", "environment": "dev", "agentType": "probe", "method": "echo",
            "constructorParameters": {"kind": "record", "value": {"fields": []}}}
PARAMETERS = {"kind": "record", "value": {"fields": [{"kind": "stream", "value": {"provisionalRef": REFERENCE}}]}}


def say(kind, **members):
    return canonical({"type": kind, "version": 1, **members})


def input_mapping(channel, high_water, **members):
    return {"channel": channel, "direction": "input", "streamToken": "in",
            "inputHighWater": {"sequence": str(high_water), "terminal": False}, **members}


def output_mapping(channel):
    return {"channel": channel, "direction": "output", "streamToken": "out"}


def accepted(first, token, *mappings):
    return say("invocationAccepted", attemptId=first["attemptId"], idempotencyKey="k", mappings=list(mappings),
               sessionToken=token)


def octets(channel, sequence, payload, cursor):
    return stream_binary.Binary("output", True, channel, sequence, payload, cursor=cursor).write()


@contextlib.asynccontextmanager
async def serving(*connections):
    """A server whose n-th connection is answered by the n-th script."""
    scripts = iter(connections)

    async def serve(socket):
        first = stream_messages.read_client((await socket.recv()).encode())
        await next(scripts)(socket, first)
        socket.transport.abort()
    async with websockets.serve(serve, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL], compression=None) as server:
        yield "127.0.0.1:%d" % server.sockets[0].getsockname()[1]


def test_after_a_loss_it_resumes_with_its_token_and_cursor_and_sends_what_was_not_acknowledged():
    async def first_connection(socket, first):
        assert first["type"] == "invocationStart"
        await socket.send(accepted(first, "t1", input_mapping(1, 0, provisionalRef=REFERENCE)))
        for sequence in (0, 2):
            batch = stream_binary.read(await socket.recv(), "input")
            assert (batch.channel, batch.sequence, batch.count) == (1, sequence, 2)
        await socket.send(say("inputStreamAck", channel=1, highestContiguousSequence="2", mappings=[], terminal=False))
        await socket.send(say("invocationResult", mappings=[output_mapping(2)], result={"kind": "none"}))
        await socket.send(octets(2, 0, b"ab", "c2"))
        await socket.send(octets(2, 2, b"cd", "c4"))

    async def second_connection(socket, first):
        assert (first["type"], first["operation"]) == ("resumeAttach", "resume")
        assert (first["sessionToken"], first["outputCursors"]) == ("t1", ["c2"])
        await socket.send(accepted(first, "t2", input_mapping(9, 2), output_mapping(7)))
        again = stream_binary.read(await socket.recv(), "input")
        assert (again.channel, again.sequence, again.payload) == (9, 2, b"CD")
        await socket.send(say("invocationResult", mappings=[output_mapping(7)], result={"kind": "none"}))
        await socket.send(octets(7, 2, b"cde", "c5"))
        await socket.send(say("inputStreamAck", channel=9, highestContiguousSequence="4", mappings=[], terminal=False))
        assert stream_messages.read_client((await socket.recv()).encode())["sequence"] == "4"
        await socket.send(say("inputStreamAck", channel=9, highestContiguousSequence="4", mappings=[], terminal=True))
        await socket.send(say("outputStreamEnd", channel=7, cursorToken="c6", outcome={"kind": "ok"}, sequence="5"))
        await socket.send(say("invocationFinished", outcome={"kind": "success"}))
        await socket.close(1000)

    async def run():
        async with serving(first_connection, second_connection) as address:
            session = Session("secret", SELECTOR, key="k")
            await session.start(address, PARAMETERS, [REFERENCE])
            upload = session.inputs[REFERENCE]
            await upload.octets(b"AB")
            await upload.octets(b"CD")
            output = await session.output("out")
            assert await output.take() == b"ab"
            assert isinstance(await session.failure(), Lost)
            await session.attach(address)
            await upload.end()
            assert await output.all() == [b"cde"]
            assert await session.finished() == {"kind": "success"}
            assert (upload.acks, upload.terminal, session.close_code) == ([2, 4, 4], "ended", 1000)
    asyncio.run(run())
