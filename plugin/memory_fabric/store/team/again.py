"""Own operations made anew, though their rows did not change: to give them a proof."""

from __future__ import annotations

from memory_fabric.store.team import heads, space
from memory_fabric.store.team.wire import PURGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.database import Database

# The value of a head that no row has.
_OUTDATED = "{}"


def say_again(database: Database) -> None:
    """Have `settle` make new operations of everything that was sent, which replace those.

    Operations that were sent before this user had a key bear no proof, so other machines of the
    user take them for another's. Raises StoreUnavailable, DeadlinePassed.
    """
    with database.transaction() as c:
        c.execute(
            "UPDATE team_heads SET value = ? WHERE state = ? AND kind <> ? AND value <> ''",
            (_OUTDATED, heads.SENT, PURGE),
        )
        space.mark_all(c)
