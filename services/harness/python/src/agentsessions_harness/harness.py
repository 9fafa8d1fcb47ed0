"""What a harness is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from agentsessions.v1.harness_pb2 import HarnessDescriptor

from .sink import Sink
from .turn import Turn


class Harness(ABC):
    """An agent that a session host can run."""

    @abstractmethod
    def describe(self) -> HarnessDescriptor:
        """What this harness is. Change `version` whenever a recorded turn would no longer replay: the host refuses to
        resume a turn on another version than the one it began on."""

    @abstractmethod
    async def run(self, turn: Turn, sink: Sink) -> None:
        """Runs one turn to its end; returning ends it well, an exception ends it as failed.

        Every effect goes through `sink`, one at a time. The same turn must ask for the same effects in the same order
        when it is run again, because that is how the host resumes it after a crash; whatever is not an effect (the
        clock, randomness, files) must not decide what comes next."""
