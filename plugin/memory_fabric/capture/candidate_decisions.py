"""Decisions on candidates: keep one as a statement of the user, or drop it."""

from __future__ import annotations

from memory_fabric.capture import remember
from memory_fabric.errors import StoreUnavailable
from memory_fabric.store.history import candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memory_fabric.models import Provenance, Record
    from memory_fabric.store.memory import Memory

    Done = tuple[str, Record]

REMEMBERED, FORGOTTEN = "remembered", "forgotten"


def decision(memory: Memory, name: str, by: Provenance, *, keep: bool) -> Callable[[], Done]:
    """Return the change that keeps or drops the candidate of this id, and then says what was done.

    Raises NotFound and BadInput; the change raises StoreUnavailable.
    """
    record = candidates.named(memory, name)

    def change() -> Done:
        if not keep:
            memory.forget([record.id], by)
            return FORGOTTEN, record
        kept = remember.keep(memory, record, by)
        if kept is None:
            raise StoreUnavailable(
                "", "The candidate could not be stored.", remedy="Run memory-fabric doctor."
            )
        return REMEMBERED, kept

    return change
