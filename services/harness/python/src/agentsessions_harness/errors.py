"""What can go wrong between a harness and its host."""


class Failure(Exception):
    """Raise it from `run` to fail the turn with a text of your own. Any other exception fails the turn too, with its type
    and text. The host records the text."""


class StreamFailure(Exception):
    """Raise it while an output is read to end that stream with an error, whose text the client is shown. The invocation goes
    on."""


class Cancelled(Exception):
    """The client cancelled a stream. The reason is one of the protocol's, such as `cancelled` or `source-unavailable`."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the stream was cancelled: {reason}")
        self.reason = reason


class SinkError(Exception):
    """Why an effect has no result."""


class Refusal(SinkError):
    """The request is one that every host refuses. Nothing was sent, and the harness may go on."""


class Violation(SinkError):
    """The host broke the protocol. Every later effect fails too, and so does the turn, even if the harness ignores this."""


class HostClosed(SinkError):
    """The host closed its side of the stream, or the run is over."""

    def __init__(self) -> None:
        super().__init__("the host ended the execution")


class Overlap(SinkError):
    """An earlier effect has no answer yet, so answers could no longer be told apart: it was abandoned (by a timeout), or
    two effects were started at the same time."""

    def __init__(self) -> None:
        super().__init__("an earlier effect has no answer yet")


def describe(error: BaseException) -> str:
    """The text that the host records for an exception, with its causes."""
    own = isinstance(error, (Failure, SinkError, Cancelled))
    text = str(error) if own else ": ".join(part for part in (type(error).__name__, str(error)) if part)
    return text if error.__cause__ is None else f"{text}: {describe(error.__cause__)}"
