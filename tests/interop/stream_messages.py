"""Text messages of stream sessions (protocol.md 4.1, 5 and 6): read from either side, and written for a client."""

import stream_fields as field
from stream_json import Number, Refused, canonical, malformed, parse

_DECIMALS = ("sequence", "itemCount", "highestContiguousSequence")


def _any(value):
    return value


def _node(value):
    return value


def _selector(value):
    names = ("agentType", "application", "environment", "method")
    field.members(value, names + ("constructorParameters",), ("phantomId",))
    for name in names:
        field.text(value[name])
    if "phantomId" in value:
        field.uuid(value["phantomId"])
    return value


def _config(value):
    for entry in field.elements(value):
        field.members(entry, ("path", "value"))
        field.texts(entry["path"])
    return value


def _mappings(value):
    return [field.mapping(each) for each in field.elements(value)]


def _kinds(**kinds):
    """An object whose `kind` says which further members it has, each with its check."""
    def check(value):
        if not isinstance(value, dict) or value.get("kind") not in kinds or isinstance(value["kind"], Number):
            raise malformed("not of a kind that is known")
        rest = kinds[value["kind"]]
        field.members(value, ("kind", *rest))
        for name, check_member in rest.items():
            check_member(value[name])
        return value
    return check


_error = {"code": field.word(field.CODES), "message": field.text}
_server_reason = field.word(field.SERVER_REASONS)
_result = _kinds(none={}, value={"graph": _any, "value": _node})
_outcome_of_stream = _kinds(ok={}, error=_error, cancelled={"reason": _server_reason})
_outcome = _kinds(success={}, failure=_error)

_CLIENT = {
    "invocationStart": {"attemptId": field.uuid4, "config": _config, "idempotencyKey": field.text,
                        "methodParameters": _node, "selector": _selector},
    "resumeAttach": {"attemptId": field.uuid4, "operation": field.word(("resume", "takeover")),
                     "outputCursors": field.texts, "sessionToken": field.text},
    "inputStreamItem": {"channel": field.channel, "sequence": field.decimal, "value": _node},
    "inputStreamEnd": {"channel": field.channel, "sequence": field.decimal},
    "streamCancel": {"channel": field.channel, "reason": field.word(field.CLIENT_REASONS)},
}
_SERVER = {
    "invocationAccepted": {"attemptId": field.uuid4, "idempotencyKey": field.text, "mappings": _mappings,
                           "sessionToken": field.text},
    "invocationRejected": {"attemptId": field.uuid4, "code": field.word(field.CODES), "message": field.text,
                           "retryable": field.boolean},
    "invocationResult": {"mappings": _mappings, "result": _result},
    "outputStreamItem": {"channel": field.channel, "cursorToken": field.text, "mappings": _mappings,
                         "sequence": field.decimal, "value": _node},
    "outputStreamEnd": {"channel": field.channel, "cursorToken": field.text, "outcome": _outcome_of_stream,
                        "sequence": field.decimal},
    "inputStreamAck": {"channel": field.channel, "highestContiguousSequence": field.decimal, "mappings": _mappings,
                       "terminal": field.boolean},
    "streamCancel": {"channel": field.channel, "reason": _server_reason},
    "attachmentRevoked": {"reason": field.word(("replaced",))},
    "invocationFinished": {"outcome": _outcome},
}
_OPTIONAL = {"invocationRejected": ("attemptId",), "outputStreamEnd": ("cursorToken",)}


def check_version(message):
    version = message.get("version")
    if not isinstance(version, Number):
        raise malformed("no version")
    if version != "1":
        raise Refused("unsupported-version", "another version")


def check_decimals(message):
    for name in _DECIMALS:
        if name in message:
            field.decimal(message[name])


def check_channel(message):
    if int(message.get("channel", "1")) == 0:
        raise Refused("invalid-channel", "channel 0")


def read_client(data):
    """Reads a message of a client: an object, its numbers and decimal strings as they were written."""
    return _read(data, _CLIENT)


def read_server(data):
    """Reads a message of a server: an object, its numbers and decimal strings as they were written."""
    return _read(data, _SERVER)


def _read(data, types):
    message = parse(data)
    if not isinstance(message, dict):
        raise malformed("not an object")
    check_version(message)
    check_decimals(message)
    _check_uuids(message)
    kind = message.get("type")
    if not isinstance(kind, str) or isinstance(kind, Number) or kind not in types:
        raise malformed("not a type that is known")
    optional = _OPTIONAL.get(kind, ())
    field.members(message, ({"version", "type"} | set(types[kind])) - set(optional), optional)
    for name, check in types[kind].items():
        if name in message:
            check(message[name])
    _check_content(message)
    return message


def _check_uuids(message):
    def check(value, read):
        if isinstance(value, str) and not isinstance(value, Number):
            read(value)

    selector, mappings = message.get("selector"), message.get("mappings")
    check(message.get("attemptId"), field.uuid4)
    check(selector.get("phantomId") if isinstance(selector, dict) else None, field.uuid)
    for mapping in mappings if isinstance(mappings, list) else ():
        check(mapping.get("provisionalRef") if isinstance(mapping, dict) else None, field.uuid4)


def _check_content(message):
    """Steps 8 to 13 of 4.1."""
    if message["type"] == "invocationStart":
        _check_start(message)
    for name in ("sessionToken", "cursorToken"):
        if name in message:
            field.token(message[name])
    cursors = message.get("outputCursors", [])
    for cursor in cursors:
        field.token(cursor)
    if len(set(cursors)) != len(cursors):
        raise Refused("invalid-cursor", "a cursor is there twice")
    field.check_mappings(message.get("mappings", []))
    check_channel(message)


def _check_start(message):
    if not 1 <= len(message["idempotencyKey"].encode()) <= 1024:
        raise Refused("validation-error", "the length of the key")
    names = [message["selector"][name] for name in ("application", "environment", "agentType", "method")]
    paths = [entry["path"] for entry in message["config"]]
    if not all(names) or not all(path and all(path) for path in paths):
        raise Refused("validation-error", "an empty name or path")
    if any(_holds_stream(entry["value"]) for entry in message["config"]):
        raise Refused("unsupported-value", "a stream in the configuration")


def _holds_stream(value):
    if isinstance(value, list):
        return any(map(_holds_stream, value))
    if not isinstance(value, dict):
        return False
    payload = value.get("value")
    named = isinstance(payload, dict) and ("provisionalRef" in payload or "streamToken" in payload)
    return (value.get("kind") == "stream" and named) or any(map(_holds_stream, value.values()))


def write(kind, **members):
    """A message of a client, as canonical text."""
    return canonical({"type": kind, "version": 1, **members})


def start(attempt, key, selector, parameters, config=()):
    return write("invocationStart", attemptId=attempt, config=list(config), idempotencyKey=key,
                 methodParameters=parameters, selector=selector)


def attach(attempt, operation, token, cursors):
    return write("resumeAttach", attemptId=attempt, operation=operation, outputCursors=list(cursors),
                 sessionToken=token)


def item(channel, sequence, value):
    return write("inputStreamItem", channel=channel, sequence=str(sequence), value=value)


def end(channel, sequence):
    return write("inputStreamEnd", channel=channel, sequence=str(sequence))


def cancel(channel, reason):
    return write("streamCancel", channel=channel, reason=reason)
