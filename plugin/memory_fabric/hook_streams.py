"""Standard input and output of a hook, unbuffered and by number."""

from __future__ import annotations

import os

MAX_INPUT_BYTES = 8 << 20
# Input above the limit is read and dropped, so that the client's pipe does not break.
MAX_DRAINED_BYTES = 64 << 20
STDIN, STDOUT = 0, 1


def read_input() -> bytes:
    """Read stdin up to one byte more than the limit; the rest is read and dropped."""
    chunks: list[bytes] = []
    kept = drained = 0
    while drained < MAX_DRAINED_BYTES and (chunk := os.read(STDIN, 1 << 16)):
        drained += len(chunk)
        if kept <= MAX_INPUT_BYTES:
            kept += len(chunk)
            chunks.append(chunk)
    return b"".join(chunks)


def write_output(output: bytes) -> None:
    """Write the reply; nothing that a handler prints by mistake joins it. Raises OSError."""
    while output:
        output = output[os.write(STDOUT, output) :]
