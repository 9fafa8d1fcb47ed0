"""The syntax of single fields of stream messages (protocol.md 2.1 and 3), as checks that refuse."""

import re

from stream_json import Number, Refused, malformed

CODES = frozenset("""unsupported-subprotocol authentication-failed unauthorized not-found validation-error
    unsupported-value malformed-message unsupported-version protocol-error invalid-channel invalid-sequence
    stream-already-consumed stream-conflict idempotency-conflict attempt-conflict stale-session future-session
    invalid-attachment-state input-conflict input-gap invalid-cursor token-invalid resource-exhausted producer-error
    invocation-failed routing-miss internal-error""".split())
CLIENT_REASONS = frozenset(("cancelled", "consumer-drop", "source-unavailable"))
SERVER_REASONS = CLIENT_REASONS | {"transport-detached", "producer-deleted", "invocation-failed", "protocol-error"}
MAPPINGS = 4096
_DECIMAL = re.compile(r"(0|[1-9][0-9]*)\Z", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z")
_MIME_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+\-]+/[A-Za-z0-9!#$&^_.+\-]+\Z", re.ASCII)


def text(value):
    if not isinstance(value, str) or isinstance(value, Number):
        raise malformed("not a string")
    return value


def texts(value):
    return [text(element) for element in elements(value)]


def boolean(value):
    if not isinstance(value, bool):
        raise malformed("not true or false")
    return value


def elements(value):
    if not isinstance(value, list):
        raise malformed("not an array")
    return value


def members(value, required, optional=()):
    """An object with exactly these members."""
    if not isinstance(value, dict):
        raise malformed("not an object")
    if not set(required) <= set(value) <= set(required) | set(optional):
        raise malformed("not the members that it must have")
    return value


def decimal(value):
    if not _DECIMAL.match(text(value)):
        raise malformed("not a decimal string")
    number = int(value)
    if number >= 1 << 64:
        raise Refused("invalid-sequence", "beyond 64 bits")
    return number


def channel(value):
    """A channel in the syntax of one; 0 is refused later."""
    if not isinstance(value, Number) or not _DECIMAL.match(value) or int(value) >= 1 << 32:
        raise malformed("not a channel")
    return int(value)


def uuid(value):
    if not _UUID.match(text(value)):
        raise Refused("validation-error", "not a UUID")
    return value


def uuid4(value):
    if not _UUID4.match(text(value)):
        raise Refused("validation-error", "not a UUID of version 4")
    return value


def mime_type(value):
    if not _MIME_TYPE.match(text(value)):
        raise Refused("validation-error", "not a MIME type")
    return value


def token(value):
    """Of a text, whether it is as long as a token may be."""
    if not value:
        raise Refused("token-invalid", "an empty token")
    if len(value.encode()) > 8192:
        raise Refused("resource-exhausted", "a token that is too long")
    return value


def word(words):
    def check(value):
        if text(value) not in words:
            raise malformed("not a word that is known")
        return value
    return check


def mapping(value):
    """The shape of a mapping, without what `mappings` checks of all of them."""
    members(value, ("channel", "direction", "streamToken"), ("provisionalRef", "inputHighWater"))
    channel(value["channel"])
    word(("input", "output"))(value["direction"])
    text(value["streamToken"])
    if "provisionalRef" in value:
        uuid4(value["provisionalRef"])
    if "inputHighWater" in value:
        high_water = members(value["inputHighWater"], ("sequence", "terminal"))
        decimal(high_water["sequence"])
        boolean(high_water["terminal"])
    return value


def check_mappings(mappings):
    """M1, and the channels and tokens in them."""
    for each in mappings:
        token(each["streamToken"])
    if len(mappings) > MAPPINGS:
        raise Refused("resource-exhausted", "too many mappings")
    _distinct(mappings, "channel", "invalid-channel")
    _distinct(mappings, "streamToken", "stream-conflict")
    _distinct(mappings, "provisionalRef", "stream-conflict")
    for each in mappings:
        is_input = each["direction"] == "input"
        if is_input != ("inputHighWater" in each) or ("provisionalRef" in each and not is_input):
            raise Refused("stream-conflict", "a mapping that does not fit its direction")
        if int(each["channel"]) == 0:
            raise Refused("invalid-channel", "channel 0")


def _distinct(mappings, name, code):
    values = [each[name] for each in mappings if name in each]
    if len(values) != len(set(values)):
        raise Refused(code, f"two mappings have one {name}")
