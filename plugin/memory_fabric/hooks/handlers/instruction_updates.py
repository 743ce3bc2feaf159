"""SessionStart and Stop: update the records made from instruction files when these files change."""

from memory_fabric import deadline
from memory_fabric.errors import DeadlinePassed, FabricError
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import instruction_files

# Size limits at SessionStart and at Stop, for the changed files together with their imports.
MAX_BYTES, MAX_STOP_BYTES = 64 << 10, 256 << 10
# The maximum number of new records per event; later events store the remaining records.
MAX_RECORDS = 200


def at_start(memory: Memory) -> None:
    """Read changed files for this session, unless they are large: then `at_stop` reads them."""
    names = instruction_files.changed(memory)
    if names and sum(names.values()) <= MAX_BYTES:
        _update(memory, names, MAX_BYTES, is_last=False)


def at_stop(memory: Memory) -> None:
    """Read the changed files; files that could not be read are retried at the next Stop."""
    if not memory.settings.writes:
        return
    try:
        if names := instruction_files.changed(memory):
            _update(memory, names, MAX_STOP_BYTES, is_last=True)
    except DeadlinePassed:  # the next Stop reads the remaining files
        deadline.current().postpone("instruction files")
    except (FabricError, OSError) as error:
        memory.fail(f"instruction files: {error}")


def _update(memory: Memory, names: dict[str, int], most: int, *, is_last: bool) -> None:
    from memory_fabric.importing import instructions  # imported late: only after changes

    instructions.update(memory, names, most, MAX_RECORDS, is_last=is_last)
