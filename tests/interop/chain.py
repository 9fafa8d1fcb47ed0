"""RFC 8785 canonical JSON and the record hash, written against the contract alone."""

import hashlib
import math

from google.protobuf import json_format

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _string(text):
    out = ['"']
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char < " ":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    out.append('"')
    return "".join(out)


def _number(value):
    """ECMAScript's Number::toString over Python's shortest round-trip digits."""
    if isinstance(value, int):
        value = float(value)
    if not math.isfinite(value):
        raise ValueError("no JSON form")
    if value == 0:
        return "0"
    sign, value = ("-", -value) if value < 0 else ("", value)
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0)
    if whole == "0":
        point -= len(fraction) - len(fraction.lstrip("0")) + 1
    digits = digits.rstrip("0") or "0"
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        power = point - 1
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + "e" + ("+" if power > 0 else "-") + str(abs(power))
    return sign + text


def canonical(value):
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    members = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(_string(name) + ":" + canonical(item) for name, item in members) + "}"


def content_hash(event, seq, prev_hash):
    """The content hash of a record, from the event as it came over the wire."""
    form = json_format.MessageToDict(event, preserving_proto_field_name=True)
    text = canonical({"event": form, "prev_hash": prev_hash, "seq": str(seq)})
    return hashlib.sha256(text.encode()).hexdigest()


def check_chain(records, first_seq=1, prev_hash=""):
    """Asserts that the records form one gapless, untampered chain."""
    for offset, record in enumerate(records):
        assert record.seq == first_seq + offset
        assert record.prev_hash == prev_hash, f"seq {record.seq} does not follow its predecessor"
        assert record.content_hash == content_hash(record.event, record.seq, prev_hash), f"seq {record.seq}"
        prev_hash = record.content_hash
