"""A harness that asks for every effect once: `every_effect.py ADDRESS FILE`. Each run adds a line to FILE that shows what
the model answered, reasoning included."""

import asyncio
import pathlib
import sys

from agentsessions_harness import (
    Harness, HarnessDescriptor, Message, ModelCall, Sink, ToolCall, ToolResult, Turn, Usage, serve, text, text_of)


class EveryEffect(Harness):
    def __init__(self, seen: pathlib.Path) -> None:
        self.seen = seen

    def describe(self) -> HarnessDescriptor:
        return HarnessDescriptor(id="every-effect", version="1")

    async def run(self, turn: Turn, sink: Sink) -> None:
        answer = await sink.model(ModelCall(messages=turn.inputs))
        with self.seen.open("a") as seen:
            print(answer.SerializeToString(deterministic=True).hex(), file=seen)
        follow_up = [*turn.inputs, answer, text("user", f"history of {len(turn.history)}")]
        await sink.model(ModelCall(messages=follow_up))
        run = await sink.tool(call(turn, "t1"))
        decided = await sink.gated(call(turn, "g1"))
        await sink.usage(Usage(model="own", input_tokens=3, output_tokens=4, reasoning_tokens=5))
        await sink.report(ToolResult(id="r1", is_error=True, error="it was closed"))
        said = " / ".join(text_of(Message(parts=result.content)) for result in (run, decided.result))
        await sink.output(text("assistant", f"{said} / {decided.approved} / {decided.reason}"))


def call(turn: Turn, name: str) -> ToolCall:
    asked = ToolCall(id=name, tool="refund", idempotency_key=f"{turn.execution}/{name}")
    asked.args.update({"amount": "5", "order": name})
    return asked


if __name__ == "__main__":
    asyncio.run(serve(EveryEffect(pathlib.Path(sys.argv[2])), sys.argv[1]))
