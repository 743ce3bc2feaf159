"""The interface of a log through which machines exchange operations, independent of its storage.

There are two implementations: rows of a PostgreSQL database (sharing.server.log), and files of a
git repository (sharing.remote.log).
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from memory_fabric.sharing.replica.wire import Position, TeamOperation

# The role of a member who may add and remove members.
OWNER = "owner"


class Holder(NamedTuple):
    """An unfinished transaction that writes to a space and blocks other writers. `pid` is None if
    the transaction is prepared, `age_s` if this role may not see its age.
    """

    pid: int | None
    user: str
    application: str
    age_s: float | None


class SpaceState(NamedTuple):
    """A space as the caller sees it. `role` is "owner" or "member"; `members` counts both."""

    epoch: int
    member: str
    role: str
    members: int
    held_by: Holder | None = None


class Member(NamedTuple):
    """A member of a space; `seen_at` is the hour in which the member last read the log."""

    name: str
    role: str
    added_at: datetime
    removed_at: datetime | None
    seen_at: datetime | None


class Log(Protocol):
    """The operations of one space. Every method raises TeamError."""

    # The maximum number of operations in one push or pull.
    at_once: int

    def state(self) -> SpaceState:
        """Return the present state of the space."""

    def members(self) -> Sequence[Member]:
        """Return the current and former members of the space."""

    def holds(self, position: Position) -> bool:
        """Return False if the log lacks what was read up to this position, because it was reset."""

    def has(self, op_ids: Collection[str]) -> set[str]:
        """Return those of the ids whose operations the log has, or had until they were replaced."""

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        """Append operations; return the ids of those that the log now has. `refused` is called with
        (id, reason) for each operation that the log will never accept.
        """

    def pull(self, position: Position, limit: int) -> tuple[list[TeamOperation], Position]:
        """Return operations after a position, and the new position. An unchanged position without
        operations means that the end of the log was reached.
        """

    def purge(self, keys: Collection[str]) -> int:
        """Erase the statements under these keys, and log the purge; return how many were erased."""

    def compact(self) -> int:
        """Erase operations that were replaced long ago; return their number."""
