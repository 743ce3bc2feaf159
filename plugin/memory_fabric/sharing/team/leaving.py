"""The end of a tie: what stays here, and what is deleted."""

from memory_fabric.sharing.replica import space
from memory_fabric.sharing.team import state, ties
from memory_fabric.sharing.team.ties import Tie
from memory_fabric.store import files
from memory_fabric.store.memory import Memory

# Longer than a round of another process takes.
WAIT_S = 30.0


def leave(memory: Memory, tie: Tie, *, keep: bool) -> None:
    """End a tie; unless `keep`, what other members said is removed here.

    Needs no network. Raises StoreUnavailable, OSError, TimeoutError if another process exchanges
    for too long.
    """
    home = memory.settings.home
    with files.Locked(state.lock_path(home, tie.key, state.SYNC), WAIT_S):
        ties.remove(home, tie.key)
        database = memory.database(tie.kind, create=False)
        if database is not None:
            space.end(database, keep=keep)
        state.forget(home, tie.key)
