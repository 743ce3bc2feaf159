"""Frames between the server and its readers: their length in four bytes, then values by marshal.

Both ends are one release on one interpreter, so no other format is needed.
"""

import marshal
from asyncio import StreamReader
from typing import Any, BinaryIO

HEAD_BYTES = 4


def packed(value: Any) -> bytes:
    """Return a frame with a value of numbers, texts, bytes, tuples and lists."""
    content = marshal.dumps(value)
    return len(content).to_bytes(HEAD_BYTES, "big") + content


def read(stream: BinaryIO) -> Any:
    """Return the value of the next frame; None at the end of the stream."""
    head = stream.read(HEAD_BYTES)
    content = stream.read(int.from_bytes(head, "big"))
    return marshal.loads(content) if content else None


async def receive(stream: StreamReader) -> Any:
    """Return the value of the next frame. Raises IncompleteReadError at the end of the stream."""
    head = await stream.readexactly(HEAD_BYTES)
    return marshal.loads(await stream.readexactly(int.from_bytes(head, "big")))
