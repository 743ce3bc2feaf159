"""The sums of what sessions were told, by kind and by channel, and how much of it was used."""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memory_fabric.store.conversations.worth import RECORD, often_told_never_used
from memory_fabric.store.memory import Memory

# The kind of records that no database has any more.
FORGOTTEN = "forgotten"
CHARS_PER_TOKEN = 4


class Share(NamedTuple):
    """The items of one kind or channel: their number and characters, those judged, those used."""

    name: str
    items: int = 0
    chars: int = 0
    judged: int = 0
    used: int = 0


class ToldRecord(NamedTuple):
    """A record that was told: in how many sessions, with how many characters in all."""

    id: str
    sessions: int
    chars: int


class Summary(NamedTuple):
    """Totals of what the sessions of a project were told since a time (ISO 8601).

    `kinds` and `channels` are sorted by characters, most first; `unused` are the records told in
    OFTEN_SESSIONS sessions or more and never seen as used, by characters.
    """

    since: str
    sessions: int = 0
    kinds: tuple[Share, ...] = ()
    channels: tuple[Share, ...] = ()
    unused: tuple[ToldRecord, ...] = ()

    @property
    def total(self) -> Share:
        """All items together."""
        return _joined("", self.kinds)


def tokens(chars: int) -> int:
    """Return the tokens of so many characters: a quarter, rounded, as prose has on average."""
    return round(chars / CHARS_PER_TOKEN)


def summary(memory: Memory, since: str) -> Summary:
    """Return what was told since a time, and how much of it was used. Raises StoreUnavailable."""
    database = memory.session_database()
    rows = database.rows(
        "SELECT channel, kind, memory, count(*), sum(chars), count(used), coalesce(sum(used), 0), "
        "count(DISTINCT session) FROM told WHERE created_at >= ? GROUP BY channel, kind, memory",
        (since,),
    )
    types = _types(memory, {str(row[2])[len(RECORD) :] for row in rows if not row[1]})
    shares = [(row[0], Share(row[1] or types.get(row[2], FORGOTTEN), *row[3:7])) for row in rows]
    kinds: dict[str, list[Share]] = {}
    channels: dict[str, list[Share]] = {}
    for channel, share in shares:
        kinds.setdefault(share.name, []).append(share)
        channels.setdefault(channel, []).append(share)
    never = often_told_never_used(memory)
    unused = database.rows(
        "SELECT substr(memory, 8), count(DISTINCT session), sum(chars) FROM told "
        "WHERE created_at >= ? AND substr(memory, 1, 7) = ? GROUP BY memory ORDER BY 3 DESC, 1",
        (since, RECORD),
    )
    count = database.row("SELECT count(DISTINCT session) FROM told WHERE created_at >= ?", (since,))
    return Summary(
        since,
        count[0] if count else 0,
        _sorted(kinds),
        _sorted(channels),
        tuple(ToldRecord(*row) for row in unused if row[0] in never),
    )


def _sorted(shares: Mapping[str, Iterable[Share]]) -> tuple[Share, ...]:
    found = [_joined(name, some) for name, some in shares.items()]
    return tuple(sorted(found, key=lambda share: (-share.chars, share.name)))


def _joined(name: str, shares: Iterable[Share]) -> Share:
    columns = list(zip(*(share[1:] for share in shares), strict=True))
    return Share(name, *map(sum, columns)) if columns else Share(name)


def _types(memory: Memory, ids: set[str]) -> dict[str, str]:
    """Return the types of records that are not in the database of the sessions."""
    found = {}
    for database in memory.databases():
        for id_, kind in database.rows(
            "SELECT r.id, r.type FROM json_each(?) AS j JOIN records AS r ON r.id = j.value",
            (json.dumps(sorted(ids)),),
        ):
            found[f"{RECORD}{id_}"] = str(kind)
    return found
