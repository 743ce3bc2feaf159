"""The boundary around every sentence that is read: one that cannot be read does not stop the rest.

What fails there is set aside and counted. The log names the place in the code, never the sentence.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from memory_fabric.store.memory import Memory

    T = TypeVar("T")

# What a mistake in reading raises. Store, deadline and system errors are nobody's sentence.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
MAX_PLACES = 3


class Unread:
    """What could not be read of a text: how many `sentences`, and in which `places` of the code."""

    def __init__(self) -> None:
        self.sentences = 0
        self.places: dict[str, None] = {}

    def attempt(self, default: Any, work: Callable[..., T], *given: Any) -> T:
        """Return what `work` makes of `given`; `default`, counted, where it fails."""
        try:
            return work(*given)
        except FAULTS as error:
            self.sentences += 1
            if len(self.places) < MAX_PLACES:
                self.places[_place(error)] = None
        instead: T = default
        return instead

    def tell(self, memory: Memory) -> None:
        """Name what was set aside among the memory's failures, and count it in its store."""
        if self.sentences:
            said = f"{self.sentences} set aside ({', '.join(self.places)})"
            from memory_fabric.store.health import unreadable_counts  # only where something failed

            memory.fail(f"sentences that could not be read: {said}")
            unreadable_counts.add(memory, self.sentences)
            self.sentences = 0


def _place(error: BaseException) -> str:
    """The kind of an error, and the module and line that raised it; no word of what was read."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return type(error).__name__
    module = last.tb_frame.f_globals.get("__name__", "?")
    return f"{type(error).__name__} in {module}:{last.tb_lineno}"
