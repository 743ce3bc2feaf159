"""Counts over a memory's databases: its tables, unread sentences, and what sessions were told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from memory_fabric.errors import DeadlinePassed, StoreUnavailable
from memory_fabric.store.conversations.worth import RECORD, often_told_never_used
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory

TABLES = ("entities", "observations", "relations", "records", "episodes")
LAST_CHANGE = "SELECT max(created_at) FROM operations"
LAST_READ = (
    "SELECT max(at) FROM (SELECT max(created_at) AS at FROM injections "
    "UNION ALL SELECT max(loaded_at) FROM sessions)"
)
UNREAD = "unread sentences"
# The kind of records that no database has any more.
FORGOTTEN = "forgotten"
CHARS_PER_TOKEN = 4


def rows_of(databases: Sequence[Database]) -> dict[str, int]:
    """Return the number of rows of each table, and of candidates, in all databases together."""
    queries = {name: f"SELECT count(*) FROM {name}" for name in TABLES}
    queries["candidates"] = "SELECT count(*) FROM records WHERE status = 'candidate'"
    return {
        name: sum(int(row[0]) for db in databases if (row := db.row(query)))
        for name, query in (queries.items() if databases else ())
    }


def newest(databases: Sequence[Database], query: str) -> str:
    """Return the newest time that LAST_CHANGE or LAST_READ finds; '' for never."""
    return max((row[0] for db in databases if (row := db.row(query)) and row[0]), default="")


def add_unread(memory: Memory, number: int) -> None:
    """Count sentences that could not be read and were set aside, in the project's database.

    If the store cannot be written, only the log has them.
    """
    try:
        with memory.whole.session_database().transaction() as connection:
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) "
                "DO UPDATE SET value = CAST(value AS INTEGER) + ?2",
                (UNREAD, number),
            )
    except (DeadlinePassed, StoreUnavailable) as error:
        memory.fail(f"graph: {error}")


def unread(memory: Memory) -> int:
    """Return how many sentences were set aside so far."""
    try:
        database = memory.whole.database("project", create=False)
        row = database and database.row("SELECT value FROM meta WHERE key = ?", (UNREAD,))
    except (DeadlinePassed, StoreUnavailable):
        return 0
    return int(row[0]) if row else 0


def times_rules_told(memory: Memory) -> dict[str, int]:
    """Return in how many sessions of this project each rule was told, by its id."""
    database = memory.database("project", create=False)
    sql = "SELECT memory, count(*) FROM injections WHERE memory LIKE 'rule:%' GROUP BY memory"
    rows = database.rows(sql) if database else []
    return {str(name).removeprefix("rule:"): int(count) for name, count in rows}


def has_turn(memory: Memory, words: str) -> bool:
    """Return True if a user's turn with these words is kept."""
    turn = "SELECT 1 FROM episodes WHERE role = 'user' AND instr(text, ?)"
    return any(db.row(turn, (words,)) for db in memory.databases())


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


def told_since(memory: Memory, since: str) -> Summary:
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
    never_used = often_told_never_used(memory)
    records = database.rows(
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
        tuple(ToldRecord(*row) for row in records if row[0] in never_used),
    )


def _sorted(shares: Mapping[str, Iterable[Share]]) -> tuple[Share, ...]:
    sums = [_joined(name, parts) for name, parts in shares.items()]
    return tuple(sorted(sums, key=lambda share: (-share.chars, share.name)))


def _joined(name: str, shares: Iterable[Share]) -> Share:
    columns = list(zip(*(share[1:] for share in shares), strict=True))
    return Share(name, *map(sum, columns)) if columns else Share(name)


def _types(memory: Memory, ids: set[str]) -> dict[str, str]:
    """Return the types of records that are not in the database of the sessions."""
    return {
        f"{RECORD}{id_}": str(kind)
        for database in memory.databases()
        for id_, kind in database.rows(
            "SELECT r.id, r.type FROM json_each(?) AS j JOIN records AS r ON r.id = j.value",
            (json.dumps(sorted(ids)),),
        )
    }
