"""Strict JSON of stream sessions (protocol.md, J1 to J8), written against the contract alone."""

import json

DEPTH = 64
COLLECTION = 100_000
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Refused(Exception):
    """A message breaks a rule; `code` is the protocol's word for it."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")
        self.code = code


def malformed(text):
    return Refused("malformed-message", text)


class Number(str):
    """A number as it was written: no reader of it loses a digit."""


def _members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise malformed("two members have one name")
    return members


def _constant(name):
    raise malformed(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_constant, object_pairs_hook=_members)


def parse(data):
    """Reads one JSON value; numbers stay as they were written."""
    try:
        text = data.decode("utf-8")
        if text.startswith("\ufeff"):
            raise malformed("a byte order mark")
        value = _DECODER.decode(text)
    except RecursionError:
        raise Refused("resource-exhausted", "nested too deeply") from None
    except ValueError:
        raise malformed("not JSON in UTF-8") from None
    _check(value, 0)
    return value


def _check(value, depth):
    if depth > DEPTH:
        raise Refused("resource-exhausted", "nested too deeply")
    if isinstance(value, (dict, list)):
        if len(value) > COLLECTION:
            raise Refused("resource-exhausted", "too many members or elements")
        for name in value if isinstance(value, dict) else ():
            _check_text(name)
        for child in value.values() if isinstance(value, dict) else value:
            _check(child, depth + 1)
    elif isinstance(value, str):
        _check_text(value)


def _check_text(text):
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise malformed("a lone surrogate") from None


def _string(text):
    return '"' + "".join(_ESCAPES.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in text) + '"'


def canonical(value):
    """Writes a value without whitespace, names in the order of their code points (J7)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (Number, int)):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(name)}:{canonical(value[name])}" for name in sorted(value)) + "}"
    raise TypeError(f"{type(value).__name__} has no canonical form here")
