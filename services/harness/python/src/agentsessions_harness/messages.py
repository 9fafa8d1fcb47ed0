"""Small helpers for messages."""

from agentsessions.v1.common_pb2 import Message, Part, TextPart


def text(role: str, content: str) -> Message:
    """A message of one text part."""
    return Message(role=role, parts=[Part(text=TextPart(text=content))])


def text_of(message: Message) -> str:
    """The text parts of a message, joined."""
    return "".join(part.text.text for part in message.parts if part.HasField("text"))
