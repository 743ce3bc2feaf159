"""Refresh an open memory before the next call."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory


def renew(memory: Memory) -> None:
    """Clear the failures of earlier calls, and read the current switches and domains."""
    memory.failures.clear()
    memory.follow_settings()


def told(memory: Memory) -> list[str]:
    """Return messages about the opening of the memory, such as a rebuild, once each."""
    sentences = list(memory.messages)
    memory.messages.clear()
    for sentence in sentences:
        print(f"memory-fabric: {sentence}", file=sys.stderr)  # noqa: T201
    return sentences
