"""The error boundary around each sentence: an error in one sentence does not affect other
sentences. Failures are counted. The log contains the location in the code, never the sentence.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from memory_fabric.store.memory import Memory

T = TypeVar("T")
# Errors that are caught while a sentence is parsed; store, deadline and system errors are not.
FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip
MAX_PLACES = 3


class Unread:
    """Counts the `sentences` that could not be parsed, and collects the code lines that failed."""

    def __init__(self) -> None:
        self.sentences = 0
        self.places: dict[str, None] = {}

    def attempt(self, default: Any, work: Callable[..., T], *given: Any) -> T:
        """Return `work(*given)`; on an error in FAULTS, count the sentence and return `default`."""
        try:
            return work(*given)
        except FAULTS as error:
            self.sentences += 1
            where, last = "?", error.__traceback__
            while last is not None:
                where = f"{last.tb_frame.f_globals.get('__name__', '?')}:{last.tb_lineno}"
                last = last.tb_next
            if len(self.places) < MAX_PLACES:
                self.places[f"{type(error).__name__} in {where}"] = None
        instead: T = default
        return instead

    def report(self, memory: Memory) -> None:
        """Log how many sentences could not be parsed; add the number to the database's total."""
        if self.sentences:
            summary = f"{self.sentences} set aside ({', '.join(self.places)})"
            from memory_fabric.store.queries import counts  # imported late: only after a failure

            memory.fail(f"sentences that could not be read: {summary}")
            counts.add_unread(memory, self.sentences)
            self.sentences = 0
