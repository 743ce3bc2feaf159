"""The outcome of an exchange, in numbers."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """The numbers of one exchange.

    `sent` operations were appended, `refused` ones never will be; `read` ones came, of which
    `applied` changed something here. `conflicts` are keys that two of this user's machines changed
    at once, `asked` demands to erase what this user said. `again` is the reason why everything was
    sent and read again, empty if it was not.
    """

    sent: int = 0
    refused: int = 0
    read: int = 0
    applied: int = 0
    conflicts: int = 0
    asked: int = 0
    unread: int = 0
    again: str = ""

    def plus(self, other: Outcome) -> Outcome:
        """Return the sum of two outcomes."""
        numbers = {
            name: getattr(self, name) + getattr(other, name)
            for name in self._fields
            if name != "again"
        }
        return Outcome(**numbers, again=self.again or other.again)
