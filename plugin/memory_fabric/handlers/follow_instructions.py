"""SessionStart and Stop: records of instruction files follow changes of these files."""

from __future__ import annotations

from memory_fabric.errors import FabricError
from memory_fabric.store import instruction_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory

# Bytes of changed files that a start reads; the next Stop reads larger ones.
MAX_BYTES = 64 << 10


def at_start(memory: Memory) -> None:
    """Read changed files unless they are large: the session is told what they say now."""
    names = instruction_files.changed(memory)
    if names and sum(names.values()) <= MAX_BYTES:
        _update(memory, names)


def at_stop(memory: Memory) -> None:
    """Read the changed files; one that fails is read again the next time."""
    if not memory.settings.writes:
        return
    try:
        names = instruction_files.changed(memory)
        if names:
            _update(memory, names)
    except (FabricError, OSError) as error:
        memory.fail(f"instruction files: {error}")


def _update(memory: Memory, names: dict[str, int]) -> None:
    from memory_fabric.importing import follow  # late: such files seldom change

    follow.update(memory, names)
