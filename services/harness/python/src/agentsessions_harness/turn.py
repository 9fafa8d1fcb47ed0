"""What a harness is told about the turn it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsessions.v1.common_pb2 import Event, Message
from agentsessions.v1.harness_pb2 import ControllerFrame
from agentsessions.v1.invocation_pb2 import Invocation

from .errors import Violation
from .frames import name


@dataclass(frozen=True)
class Turn:
    """One turn (execution) of one session."""

    session: str
    """The uid of the session."""
    execution: str
    """The id of this execution; the same when the turn is resumed."""
    history: Sequence[Event] = ()
    """Every event of the session's log before this turn, of all kinds, in order."""
    inputs: Sequence[Message] = ()
    """The messages that this turn is about."""
    config: bytes = b""
    """Opaque bytes from the client, meant for the harness."""
    resume_from_seq: int = 0
    """A cursor from the client, meant for the harness."""
    request_id: str = ""
    """Ties log lines of client, host and harness together; empty if the host sent none."""
    invocation: Invocation | None = None
    """What is invoked, if this turn is the invocation of a typed agent."""

    @classmethod
    def from_frame(cls, first: ControllerFrame, request_id: str = "") -> Turn:
        """Reads the first frame of a stream. Raises `Violation` if it is not a start frame or names no execution."""
        if name(first) != "start":
            raise Violation(f"the first frame is {name(first)}, not start")
        if not first.execution_id:
            raise Violation("the start frame has no execution id")
        start = first.start
        return cls(
            session=first.session,
            execution=first.execution_id,
            history=tuple(start.history),
            inputs=tuple(start.inputs),
            config=start.config,
            resume_from_seq=start.resume_from_seq,
            request_id=request_id,
            invocation=start.invocation if start.HasField("invocation") else None,
        )
