"""Write an agent ("harness") that any session host can run.

A harness is an object with two methods. `describe` says what it is. `run` runs one turn: it reads the `Turn` (inputs,
history, configuration), asks for effects through the `Sink`, and returns. The host records each effect before anybody sees
it, so a turn that is cut short by a crash is run again and gets the recorded answers until it reaches the point where it
stopped.

    class Greeter(Harness):
        def describe(self):
            return HarnessDescriptor(id="greeter", version="1")

        async def run(self, turn, sink):
            answer = await sink.model(ModelCall(messages=turn.inputs))   # recorded, then answered
            await sink.output(answer)                                    # recorded

    asyncio.run(serve(Greeter(), "127.0.0.1:9000"))

`Agents` is a harness of typed agents, whose methods are functions over asynchronous iterators (docs/agents.md).

What a harness must keep to:

* Same turn, same effects: everything that decides what comes next is in the turn or was answered by the sink.
* An idempotency key is the same each time the turn is run, and different for every call that shall happen once.
* A call that needs approval is never made by the harness itself.
* `Sink.gated` may never return: until there is a decision the turn is parked and this run is cancelled at that await.
* A run may be cancelled at any await: the client went away, or the host stops it. Do not catch `asyncio.CancelledError`
  without raising it again, and do not block the event loop: every turn of the process runs on it.
"""

from agentsessions.v1.common_pb2 import (
    MEDIATION_CONTROLLER_MEDIATED,
    MEDIATION_IN_HARNESS_REPORTED,
    MEDIATION_REQUIRES_APPROVAL,
    Event,
    Message,
    ModelCall,
    Part,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
)
from agentsessions.v1.harness_pb2 import (
    RESUMABILITY_REQUIRES_MEMORY_SNAPSHOT,
    RESUMABILITY_STATELESS_REPLAY,
    Capabilities,
    HarnessDescriptor,
    ToolSpec,
)

from . import schema
from .agents import Agent, Agents, Call, Method
from .errors import Cancelled, Failure, HostClosed, Overlap, Refusal, SinkError, StreamFailure, Violation
from .harness import Harness
from .messages import text, text_of
from .run import Run
from .server import MAX_MESSAGE_BYTES, Server, serve
from .sink import Decided, Sink
from .streams import Input
from .turn import Turn
from .values import Binary, Case, Err, Ok, Quantity, Some, Text

__all__ = [
    "MAX_MESSAGE_BYTES",
    "MEDIATION_CONTROLLER_MEDIATED",
    "MEDIATION_IN_HARNESS_REPORTED",
    "MEDIATION_REQUIRES_APPROVAL",
    "RESUMABILITY_REQUIRES_MEMORY_SNAPSHOT",
    "RESUMABILITY_STATELESS_REPLAY",
    "Agent",
    "Agents",
    "Binary",
    "Call",
    "Cancelled",
    "Capabilities",
    "Case",
    "Decided",
    "Err",
    "Event",
    "Failure",
    "Harness",
    "HarnessDescriptor",
    "HostClosed",
    "Input",
    "Message",
    "Method",
    "ModelCall",
    "Ok",
    "Overlap",
    "Part",
    "Quantity",
    "Refusal",
    "Run",
    "Server",
    "Sink",
    "SinkError",
    "Some",
    "StreamFailure",
    "Text",
    "ToolCall",
    "ToolDefinition",
    "ToolResult",
    "ToolSpec",
    "Turn",
    "Usage",
    "Violation",
    "schema",
    "serve",
    "text",
    "text_of",
]
