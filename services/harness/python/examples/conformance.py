"""A harness that does what the configuration of its turn says, one step after the other. `agentctl conformance` runs every
check on it:

    python examples/conformance.py 127.0.0.1:9000
    agentctl conformance --harness 127.0.0.1:9000

The configuration is a JSON array of steps; without one all kinds of effects are shown once.

    {"model": "text of the user"}   {"tool": "id"}    {"output": "text"}   {"usage": tokens}
    {"gated": "id"}                 {"report": "id"}  {"fail": "text"}
"""

import asyncio
import json
import sys

from agentsessions_harness import (
    RESUMABILITY_STATELESS_REPLAY,
    Capabilities,
    Failure,
    Harness,
    HarnessDescriptor,
    ModelCall,
    Sink,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    serve,
    text,
)

EVERYTHING = [{"model": "hello"}, {"tool": "t1"}, {"gated": "g1"}, {"usage": 3}, {"report": "r1"}, {"output": "done"}]


class Conformance(Harness):
    def describe(self) -> HarnessDescriptor:
        stateless = Capabilities(resumability=RESUMABILITY_STATELESS_REPLAY, fork_safe=True)
        return HarnessDescriptor(id="conformance", version="1", capabilities=stateless)

    async def run(self, turn: Turn, sink: Sink) -> None:
        steps = json.loads(turn.config) if turn.config else EVERYTHING
        for step in steps:
            await self.take(step, turn, sink)

    async def take(self, step: object, turn: Turn, sink: Sink) -> None:
        match step:
            case {"model": str(question)}:
                await sink.model(ModelCall(model="any", messages=[text("user", question)]))
            case {"tool": str(call_id)}:
                await sink.tool(call(turn, call_id))
            case {"gated": str(call_id)}:
                await sink.gated(call(turn, call_id))
            case {"output": str(said)}:
                await sink.output(text("assistant", said))
            case {"usage": int(tokens)}:
                await sink.usage(Usage(model="own", input_tokens=tokens))
            case {"report": str(call_id)}:
                await sink.report(ToolResult(id=call_id))
            case {"fail": str(why)}:
                raise Failure(why)
            case _:
                raise Failure("a step has one member: model, tool, gated, output, usage, report or fail")


def call(turn: Turn, call_id: str) -> ToolCall:
    """The key names the call in its turn: it is the same whenever the turn is run again."""
    return ToolCall(id=call_id, tool="any", idempotency_key=f"{turn.execution}/{call_id}")


if __name__ == "__main__":
    asyncio.run(serve(Conformance(), sys.argv[1]))
