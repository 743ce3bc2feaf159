"""The log that machines exchange operations through, whatever carries it.

Two carry it: the rows of a PostgreSQL (sharing.server.log), and the files of a git repository
(sharing.remote.log).
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from memory_fabric.sharing.replica.wire import Position, TeamOperation

# The role of a member who lets others in and out.
OWNER = "owner"


class Holder(NamedTuple):
    """The transaction that appends to a space and has not ended: others wait to append there.

    `pid` is None for a prepared one; `age_s` is None where this role may not see it.
    """

    pid: int | None
    user: str
    application: str
    age_s: float | None


class SpaceState(NamedTuple):
    """A space as the caller sees it; `role` is "owner" or "member", `members` their number."""

    epoch: int
    member: str
    role: str
    members: int
    held_by: Holder | None = None


class Member(NamedTuple):
    """A member of a space; `seen_at` is when he last read the log, to the hour."""

    name: str
    role: str
    added_at: datetime
    removed_at: datetime | None
    seen_at: datetime | None


class Log(Protocol):
    """The operations of one space. Every method raises TeamError."""

    # Operations in one push or pull.
    at_once: int

    def state(self) -> SpaceState:
        """Return the present state of the space."""

    def members(self) -> Sequence[Member]:
        """Return who is, or was, in the space."""

    def holds(self, position: Position) -> bool:
        """Return False if the log lacks what it had at this position: it was set back."""

    def has(self, op_ids: Collection[str]) -> set[str]:
        """Return which of these operations of the caller the log holds, or held until they were
        replaced.
        """

    def push(
        self,
        operations: Sequence[TeamOperation],
        refused: Callable[[str, str], object] | None = None,
    ) -> list[str]:
        """Append operations and return the ids that the log holds now; those that it will never
        take are reported to `refused` (id, reason).
        """

    def pull(self, position: Position, limit: int) -> tuple[list[TeamOperation], Position]:
        """Return operations after a position and the position behind them. There are no more if it
        did not move and there is no operation.
        """

    def purge(self, keys: Collection[str]) -> int:
        """Erase what was said under these keys, say so in the log, and return how many operations
        that were.
        """

    def compact(self) -> int:
        """Erase what was replaced long ago; return how many operations that were."""
