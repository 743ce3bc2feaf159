"""A memory that lives long, made ready for the next question."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory


def renew(memory: Memory) -> None:
    """Forget what failed for others, and follow switches and rooms as they are now."""
    memory.failures.clear()
    memory.follow_settings()


def told(memory: Memory) -> list[str]:
    """What happened to the memory itself while it was opened, once: it was rebuilt, say."""
    sentences = list(memory.told)
    memory.told.clear()
    for sentence in sentences:
        print(f"memory-fabric: {sentence}", file=sys.stderr)  # noqa: T201
    return sentences
