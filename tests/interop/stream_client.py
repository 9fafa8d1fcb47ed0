"""A client of stream sessions over the `websockets` package, written from protocol.md alone (sections 10 to 16 and 20).

It is explicit where the product's client is automatic: a test says when it connects, where, and with which operation.
"""

import asyncio
import dataclasses
import uuid

import websockets

import stream_binary
import stream_messages
from stream_json import Refused

PATH = "/v1/agents/invoke-agent-session"
SUBPROTOCOL = "golem.agent-invocation.v1"
MESSAGE_BYTES = 32 << 20
UNACKNOWLEDGED_BYTES = 16 << 20
BOUND = 60


class Rejected(Exception):
    """The server rejected the attempt, or what was sent after it."""

    def __init__(self, message):
        super().__init__(f"{message['code']}: {message['message']}")
        self.code = message["code"]
        self.attempt = message.get("attemptId")
        self.retryable = message["retryable"]


class Revoked(Exception):
    """Another connection has the session."""


class Lost(Exception):
    """The connection ended without a last word."""


def protocol_error(text):
    return Refused("protocol-error", text)


async def open_socket(address, credential, **options):
    """A socket to the node at `address`; compression is offered, and must not be taken (H2)."""
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    socket = await websockets.connect(
        f"ws://{address}{PATH}", additional_headers=headers, subprotocols=[SUBPROTOCOL], max_size=MESSAGE_BYTES,
        open_timeout=BOUND, ping_interval=1, ping_timeout=20, **options)
    assert socket.subprotocol == SUBPROTOCOL
    assert "Sec-WebSocket-Extensions" not in socket.response.headers
    return socket


@dataclasses.dataclass(frozen=True)
class _Unit:
    """What was sent at once on an input: an item, a batch of bytes, or the end."""

    sequence: int
    count: int
    size: int
    write: object


class Input:
    """An input of a session. What was not acknowledged is kept, and sent again on the next connection (K4)."""

    def __init__(self, session, reference):
        self.reference = reference
        self.token = None
        self.channel = None
        self.sequence = 0
        self.acknowledged = 0
        self.terminal = None
        self.sent_end = False
        self.acks = []
        self._session = session
        self._kept = []

    async def value(self, node):
        sequence = self.sequence
        await self._send(_Unit(sequence, 1, len(str(node)),
                               lambda channel: stream_messages.item(channel, sequence, node)))

    async def octets(self, payload):
        """One batch of bytes, each an item."""
        await self._send(self._packed(self.sequence, payload))

    async def binary(self, payload, mime_type=None):
        sequence = self.sequence

        def write(channel):
            return stream_binary.Binary("input", False, channel, sequence, payload, mime_type).write()
        await self._send(_Unit(sequence, 1, len(payload), write))

    async def end(self):
        sequence = self.sequence
        self.sent_end = True
        await self._send(_Unit(sequence, 0, 0, lambda channel: stream_messages.end(channel, sequence)))

    async def cancel(self, reason="cancelled"):
        self._kept = []
        await self._session.send(stream_messages.cancel(self.channel, reason))

    async def acknowledged_all(self):
        await self._session.until(lambda: self.acknowledged == self.sequence and not self._kept)

    async def ended(self):
        """Waits for the terminal, and says what it was."""
        await self._session.until(lambda: self.terminal is not None)
        return self.terminal

    @staticmethod
    def _packed(sequence, payload):
        def write(channel):
            return stream_binary.Binary("input", True, channel, sequence, payload).write()
        return _Unit(sequence, len(payload), len(payload), write)

    async def _send(self, unit):
        await self._session.until(lambda: self._session.unacknowledged() < UNACKNOWLEDGED_BYTES)
        await self._session.until(lambda: self.channel is not None or not self._session.connected)
        self.sequence += unit.count
        self._kept.append(unit)
        if self._session.connected:
            await self._session.send(unit.write(self.channel))

    def kept_bytes(self):
        return sum(unit.size for unit in self._kept)

    def bind(self, mapping):
        self.token, self.channel = mapping["streamToken"], int(mapping["channel"])
        self._through(int(mapping["inputHighWater"]["sequence"]))
        if mapping["inputHighWater"]["terminal"]:
            self._end("ended")

    async def resend(self):
        for unit in self._kept:
            await self._session.send(unit.write(self.channel))

    def ack(self, message):
        through = int(message["highestContiguousSequence"])
        if through > self.sequence:
            raise protocol_error("more is acknowledged than was sent")
        self.acks.append(through)
        self._through(through)
        if message["terminal"]:
            self._end("ended")

    def cancelled(self, reason):
        self._kept = []
        self.terminal = reason

    def _end(self, terminal):
        self._kept = []
        self.terminal = self.terminal or (terminal if self.sent_end else "cancelled")

    def _through(self, high_water):
        self.acknowledged = max(self.acknowledged, high_water)
        self._kept = [unit for unit in self._kept if unit.count == 0 or unit.sequence + unit.count > high_water]


class Output:
    """An output of a session. Its cursor moves when the application has taken an item (K7)."""

    def __init__(self, session, token):
        self.token = token
        self.cursor = None
        self.outcome = None
        self.next = 0
        self.received = []
        self._session = session
        self._ended_at = None
        self._waiting = []

    def begin(self):
        """A new connection: what was not taken comes again."""
        self._waiting = []
        self._expected = self.next

    def arrive(self, sequence, count, cursor, payload):
        if sequence != self._expected or self._ended_at is not None:
            raise protocol_error("an item out of its sequence")
        self._expected += count
        self._waiting.append((sequence, count, cursor, payload))

    def end(self, sequence, cursor, outcome):
        # What was produced and not sent before a cancel is dropped (Q3).
        if sequence < self._expected or (sequence > self._expected and outcome["kind"] != "cancelled"):
            raise protocol_error("an end out of its sequence")
        self._ended_at, self.outcome, self._last_cursor = sequence, outcome, cursor

    async def take(self):
        """The next item, or batch of bytes; `None` after the last one."""
        await self._session.until(lambda: self._waiting or self._ended_at is not None)
        if not self._waiting:
            self.cursor = self._last_cursor or self.cursor
            return None
        sequence, count, self.cursor, payload = self._waiting.pop(0)
        self.next = sequence + count
        return payload

    async def all(self):
        """Every item that is still to come."""
        taken = []
        while (item := await self.take()) is not None:
            taken.append(item)
        return taken

    async def cancel(self, reason="consumer-drop"):
        await self._session.send(stream_messages.cancel(self._session.channel_of(self), reason))


class Session:
    """A session as its client knows it, over any number of connections."""

    def __init__(self, credential, selector, key=None):
        self.credential = credential
        self.selector = selector
        self.key = key or str(uuid.uuid4())
        self.token = None
        self.inputs = {}
        self.outputs = {}
        self.result = None
        self.outcome = None
        self.close_code = None
        self._first = None
        self._failure = None
        self._socket = None
        self._reader = None
        self._channels = {}
        self._changed = asyncio.Condition()

    @property
    def connected(self):
        return self._socket is not None and self._failure is None

    async def start(self, address, parameters, references=(), config=()):
        """Starts the invocation; `references` are the streams in `parameters`, in any order."""
        for reference in references:
            self.inputs[reference] = Input(self, reference)
        first = stream_messages.start(str(uuid.uuid4()), self.key, self.selector, parameters, config)
        await self.connect(address, first)

    async def attach(self, address, operation="resume", cursors=None, token=None):
        """Goes on with the session on the node at `address`."""
        if cursors is None:
            cursors = [output.cursor for output in self.outputs.values() if output.cursor]
        await self.connect(address, stream_messages.attach(
            str(uuid.uuid4()), operation, token or self.token, cursors))

    async def again(self, address):
        """Sends the last first message again, as it was (K1)."""
        await self.connect(address, self._first)

    async def connect(self, address, first):
        await self.drop()
        self._first, self._failure, self._channels = first, None, {}
        self._socket = await open_socket(address, self.credential)
        await self.send(first)
        try:
            await self._accepted(await asyncio.wait_for(self._next(), BOUND))
        except BaseException:
            await self.drop()
            raise
        self._reader = asyncio.create_task(self._read())

    async def drop(self):
        """Cuts the connection, without a word."""
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            self._socket.transport.abort()
        self._reader = self._socket = None

    async def close(self):
        """Closes the connection as WebSocket clients do; the session goes on."""
        socket = self._socket
        if socket is not None:
            await socket.close()
        await self.drop()

    async def send(self, message):
        try:
            await self._socket.send(message)
        except websockets.ConnectionClosed:
            await self.until(lambda: self._failure is not None)

    async def returned(self):
        await self.until(lambda: self.result is not None)
        return self.result

    async def finished(self):
        await self.until(lambda: self.outcome is not None)
        return self.outcome

    async def output(self, token):
        await self.until(lambda: token in self.outputs)
        return self.outputs[token]

    async def failure(self):
        """Waits for the connection to end, and says how."""
        try:
            await self.until(lambda: False)
        except (Rejected, Revoked, Lost) as failure:
            return failure

    async def until(self, holds):
        """Waits until `holds`, or raises what ended the connection."""
        async def wait():
            async with self._changed:
                while not holds():
                    if self._failure is not None:
                        raise self._failure
                    await self._changed.wait()
        await asyncio.wait_for(wait(), BOUND)

    def unacknowledged(self):
        return sum(each.kept_bytes() for each in self.inputs.values())

    def channel_of(self, end):
        return next(channel for channel, bound in self._channels.items() if bound is end)

    async def _next(self):
        try:
            data = await self._socket.recv()
        except websockets.ConnectionClosed as closed:
            self.close_code = closed.rcvd.code if closed.rcvd else None
            raise Lost(f"closed with {self.close_code}") from None
        if isinstance(data, bytes):
            return stream_binary.read(data, "output")
        return stream_messages.read_server(data.encode())

    async def _accepted(self, message):
        kind = message["type"] if isinstance(message, dict) else "binary"
        if kind == "invocationRejected":
            await self._last_close()
            raise Rejected(message)
        if kind != "invocationAccepted":
            raise protocol_error(f"{kind} before acceptance")
        if message["attemptId"] not in self._first or message["idempotencyKey"] != self.key:
            raise protocol_error("another attempt or key was accepted")
        self.token = message["sessionToken"]
        for output in self.outputs.values():
            output.begin()
        self._bind(message["mappings"])
        missing = [each for each in (*self.inputs.values(), *self.outputs.values())
                   if each not in self._channels.values()]
        if any(isinstance(each, Output) or each.token or '"invocationStart"' in self._first for each in missing):
            raise protocol_error("a stream is not mapped")
        for each in self.inputs.values():
            if each not in missing and each.terminal is None:
                await each.resend()

    def _bind(self, mappings):
        for mapping in mappings:
            channel = int(mapping["channel"])
            end = self._input(mapping) if mapping["direction"] == "input" else self._output(mapping["streamToken"])
            if self._channels.setdefault(channel, end) is not end:
                raise Refused("stream-conflict", "a channel is bound otherwise")
            if isinstance(end, Input):
                end.bind(mapping)

    def _input(self, mapping):
        for known in self.inputs.values():
            if known.token == mapping["streamToken"] or (
                    known.token is None and known.reference == mapping.get("provisionalRef")):
                return known
        raise protocol_error("an input that was never sent is mapped")

    def _output(self, token):
        if token not in self.outputs:
            self.outputs[token] = Output(self, token)
            self.outputs[token].begin()
        return self.outputs[token]

    async def _read(self):
        try:
            while self._failure is None:
                message = await self._next()
                async with self._changed:
                    await self._handle(message)
                    self._changed.notify_all()
        except (Lost, Refused) as failure:
            await self._fail(failure)

    async def _fail(self, failure):
        async with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    async def _handle(self, message):
        if not isinstance(message, dict):
            output = self._at(message.channel, Output)
            payload = message.payload if message.packed else (message.payload, message.mime_type)
            output.arrive(message.sequence, message.count, message.cursor, payload)
            return
        self._bind(message.get("mappings", []))
        await getattr(self, "_" + message["type"])(message)

    def _at(self, channel, of):
        end = self._channels.get(int(channel))
        if not isinstance(end, of):
            raise protocol_error("a channel that is not bound")
        return end

    async def _invocationResult(self, message):
        if self.result is not None and self.result != message["result"]:
            raise protocol_error("another result")
        self.result = message["result"]

    async def _outputStreamItem(self, message):
        output = self._at(message["channel"], Output)
        output.arrive(int(message["sequence"]), 1, message["cursorToken"], message["value"])

    async def _outputStreamEnd(self, message):
        output = self._at(message["channel"], Output)
        output.end(int(message["sequence"]), message.get("cursorToken"), message["outcome"])

    async def _inputStreamAck(self, message):
        self._at(message["channel"], Input).ack(message)

    async def _streamCancel(self, message):
        end = self._at(message["channel"], (Input, Output))
        if isinstance(end, Input):
            end.cancelled(message["reason"])
        else:
            end.end(end.next, None, {"kind": "cancelled", "reason": message["reason"]})

    async def _attachmentRevoked(self, _message):
        await self._last_close()
        self._failure = Revoked()

    async def _invocationRejected(self, message):
        await self._last_close()
        self._failure = Rejected(message)

    async def _invocationFinished(self, message):
        if message["outcome"]["kind"] == "success" and self.result is None:
            raise protocol_error("success without a result")
        if any(output.outcome is None for output in self.outputs.values()):
            raise protocol_error("an output is still open")
        await self._last_close()
        self.outcome = message["outcome"]

    async def _last_close(self):
        """Nothing follows a last message but the close (V6)."""
        try:
            await asyncio.wait_for(self._socket.recv(), BOUND)
        except websockets.ConnectionClosed as closed:
            self.close_code = closed.rcvd.code if closed.rcvd else None
        else:
            raise protocol_error("something follows the last message")
