"""The independent codec of stream sessions against the contract's vectors, and against cases of its own."""

import base64
import json
import os
import pathlib

import pytest

import stream_binary
import stream_messages
from conftest import ROOT
from stream_json import Refused, canonical, parse

VECTORS = pathlib.Path(os.environ.get("SPEC_VECTORS_DIR", ROOT.parent / "shared/spec")) / "stream-session/vectors"
READ_TEXT = {"client": stream_messages.read_client, "server": stream_messages.read_server}
SENT_BY = {"client": "input", "server": "output"}
# Well formed, and refused because of the state of a connection.
OF_STATE = "data-before-acceptance"


def vectors(file):
    """The vectors in `file`; none where they are not beside this clone."""
    path = VECTORS / file
    return json.loads(path.read_text())["vectors"] if path.exists() else []


def by_name(cases):
    return pytest.mark.parametrize("vector", cases, ids=lambda vector: vector["name"])


def code_of(read, *arguments):
    with pytest.raises(Refused) as refused:
        read(*arguments)
    return refused.value.code


@by_name(vectors("json-messages.json"))
def test_published_text_messages_are_read_and_written(vector):
    for text in {vector["canonical"], vector.get("input", vector["canonical"])}:
        assert canonical(READ_TEXT[vector["direction"]](text.encode())) == vector["canonical"]


@by_name(vectors("binary-messages.json"))
def test_published_binary_messages_are_read_and_written(vector):
    message = stream_binary.read(base64.b64decode(vector["frameBase64"]), SENT_BY[vector["direction"]])
    assert message.payload.hex() == vector["payloadHex"]
    same = [other for other in vectors("binary-messages.json") if other["name"] == vector.get("equivalentTo")]
    assert message.write() == base64.b64decode((same or [vector])[0]["frameBase64"])


def text_of(vector):
    if "input" in vector:
        return vector["input"].encode()
    if "inputBase64" in vector:
        return base64.b64decode(vector["inputBase64"])
    shape = vector["inputRepeat"]
    return (shape["prefix"] + shape["repeat"] * shape["count"] + shape["suffix"]).encode()


def frame_of(vector):
    if "inputHex" in vector:
        return bytes.fromhex(vector["inputHex"])
    shape = vector["inputShape"]
    return stream_binary.frame(shape["metadata"], bytes.fromhex(shape["payloadByteHex"]) * shape["payloadLength"])


def malformed(lane):
    return [vector for vector in vectors("malformed.json") if vector["lane"] == lane and vector["name"] != OF_STATE]


@by_name(malformed("text"))
def test_published_faults_in_text_are_refused_with_their_code(vector):
    assert code_of(READ_TEXT[vector["direction"]], text_of(vector)) == vector["expectedCode"]


@by_name(malformed("binary"))
def test_published_faults_in_binary_messages_are_refused_with_their_code(vector):
    assert code_of(stream_binary.read, frame_of(vector), SENT_BY[vector["direction"]]) == vector["expectedCode"]


def test_messages_are_written_in_canonical_form():
    assert stream_messages.item(7, 2**64 - 1, {"value": "\x01é\"", "kind": "string"}) == (
        '{"channel":7,"sequence":"18446744073709551615","type":"inputStreamItem",'
        '"value":{"kind":"string","value":"\\u0001é\\""},"version":1}')


def test_what_only_looks_like_json_is_refused():
    for text in ['{"a":1,"\\u0061":2}', '"\\ud800"', "NaN", "01", "[1,]", "1 2", "\ufeff{}", '"\t"']:
        assert code_of(parse, text.encode()) == "malformed-message", text
    assert code_of(parse, b"[" * 66 + b"]" * 66) == "resource-exhausted"
    assert code_of(parse, b"[" * 100_000) == "resource-exhausted"


def test_packed_bytes_survive_their_envelope():
    message = stream_binary.Binary("input", True, 3, 5, b"\x00\x7f\xff")
    assert stream_binary.read(message.write(), "input") == message
    assert code_of(stream_binary.read, message.write(), "output") == "invalid-channel"


def test_there_is_something_to_compare_with():
    if not VECTORS.exists():
        pytest.skip("the contract's vector files are not beside this clone; SPEC_VECTORS_DIR names them")
    assert len(vectors("malformed.json")) > 300
