"""An agent that answers the customers of a shop and pays money back once somebody has approved it.
docs/harness-python.md walks through it."""

import asyncio
import sys
from collections.abc import Iterator

from agentsessions_harness import (
    Event,
    Harness,
    HarnessDescriptor,
    Message,
    ModelCall,
    Part,
    Sink,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Turn,
    serve,
)


class Refunds(Harness):
    def describe(self) -> HarnessDescriptor:
        return HarnessDescriptor(id="refunds", version="1")

    async def run(self, turn: Turn, sink: Sink) -> None:
        messages = [*said(turn), *turn.inputs]
        while True:
            answer = await sink.model(ModelCall(messages=messages, tools=[REFUND]))
            messages.append(answer)
            calls = [part.tool_call for part in answer.parts if part.HasField("tool_call")]
            if not calls:
                return
            for call in calls:
                key = f"{turn.execution}/{call.id}"
                decided = await sink.gated(ToolCall(id=call.id, tool=call.tool, args=call.args, idempotency_key=key))
                messages.append(tool_message(decided.result))


# The tool, as the model is told of it.
REFUND = ToolDefinition(name="refund", description="Pays money back to the customer of an order.")
REFUND.input_schema.update(
    {
        "type": "object",
        "properties": {"order": {"type": "string"}, "amount": {"type": "string"}},
        "required": ["order", "amount"],
    }
)


def said(turn: Turn) -> Iterator[Message]:
    """What earlier turns mean to the model."""
    for event in turn.history:
        match event.WhichOneof("body"):
            case "message":
                yield event.message
            case "result":
                yield tool_message(event.result)


def tool_message(result: ToolResult) -> Message:
    return Message(role="tool", parts=[Part(tool_result=result)])


if __name__ == "__main__":
    asyncio.run(serve(Refunds(), sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9000"))
