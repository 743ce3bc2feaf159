"""Questions to the user that a shared log raises: demands to erase own words, and conflicts."""

import json
from typing import NamedTuple

from memory_fabric.sharing.replica import heads
from memory_fabric.sharing.replica.heads import Head
from memory_fabric.sharing.replica.space import SEVERAL
from memory_fabric.store.database import Database


class Asked(NamedTuple):
    """The demand of a member to erase what this user said under a key; `text` is what it says."""

    key: str
    by: str
    at: str
    text: str = ""


class Conflict(NamedTuple):
    """A key on which machines of this user differ: what is shown, and what else was said.

    Empty text means that it was withdrawn; `at` is the time of the shown operation.
    """

    key: str
    shown: str
    others: tuple[str, ...]
    at: str = ""


def asked(database: Database) -> list[Asked]:
    """Return the demands that wait for the user's answer, oldest first.

    Raises StoreUnavailable, DeadlinePassed.
    """
    demands = heads.where(database.connection, "state = ? ORDER BY made_at", (heads.ASKED,))
    known = heads.of_keys(database.connection, [one.key for one in demands])
    return [
        Asked(one.key, one.author, one.made_at, text_of(_shown(known[one.key]))) for one in demands
    ]


def decline(database: Database, key: str) -> bool:
    """Keep what this user said under a key; return False if nobody demanded to erase it.

    Raises StoreUnavailable, DeadlinePassed.
    """
    with database.transaction() as c:
        answered = c.execute(
            "UPDATE team_heads SET state = ? WHERE key = ? AND state = ?",
            (heads.PAST, key, heads.ASKED),
        )
        return answered.rowcount > 0


def conflicts(database: Database) -> list[Conflict]:
    """Return the keys on which machines of this user differ, the newest first.

    A change of what is shown settles a conflict. Raises StoreUnavailable, DeadlinePassed.
    """
    rows = database.rows(
        "SELECT key FROM team_heads WHERE state IN (?, ?, ?) AND kind <> 'purge' "
        f"AND key IN ({SEVERAL}) GROUP BY key "
        "HAVING count(DISTINCT value) > 1 ORDER BY max(clock) DESC",
        heads.OWN,
    )
    known = heads.of_keys(database.connection, [key for (key,) in rows])
    found = []
    for (key,) in rows:
        own = [head for head in known[key] if head.is_own]
        shown = heads.current(own)
        assert shown is not None
        rest = dict.fromkeys(text_of(head) for head in own if head.value != shown.value)
        found.append(Conflict(key, text_of(shown), tuple(rest), shown.made_at))
    return found


def text_of(head: Head | None) -> str:
    """Return what an operation says, in short; empty if it withdraws something."""
    if head is None or not head.value:
        return ""
    value = json.loads(head.value)
    for names in (("what",), ("entity", "text"), ("from", "relationType", "to"), ("name",)):
        if all(name in value for name in names):
            return " ".join(str(value[name]) for name in names)
    return ""


def _shown(found: list[Head]) -> Head | None:
    return heads.current(head for head in found if head.is_own)
