"""An agent that takes lines and gives back their words, each with its length. docs/agents.md walks through it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from agentsessions_harness import Agent, Agents, Call, Input, Method, serve
from agentsessions_harness.schema import record, stream, string, u32


async def split(call: Call, lines: Input[str], shortest: int) -> AsyncIterator[dict[str, Any]]:
    async for line in lines:
        for word in line.split(call.constructor["separator"]):
            if len(word) >= shortest:
                yield {"word": word, "length": len(word)}


SPLIT = Method(
    "split",
    split,
    parameters={"lines": stream(string), "shortest": u32},
    returns=stream(record(word=string, length=u32)),
)
WORDS = Agent("words", [SPLIT], constructor={"separator": string})


if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9000"
    asyncio.run(serve(Agents("words", "1", [WORDS]), address))
