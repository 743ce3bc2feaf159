"""Sessions and their injections, as the databases have them, for health checks."""

import os
from collections.abc import Iterable

from memory_fabric.store.database import Database

# A past session that was only read in (store.operations.learn_effects): no hook ran in it.
_ONLY_LEARNED = (
    "(loaded_at = '' AND prompts = 0 AND id IN (SELECT json_extract(value, '$[0]') FROM meta "
    "WHERE key >= 'learned ' AND key < 'learned!' AND instr(key, ' session ') > 0 "
    "AND json_extract(value, '$[1]') = -1))"
)
_SPAN = f"SELECT min(started_at), max(seen_at) FROM sessions WHERE NOT {_ONLY_LEARNED}"


def ledger(databases: Iterable[Database], since: str) -> list[tuple[str, str, str, str]]:
    """Return injections into main conversations since then: session, memory, channel, time.

    Injections that a forked session copied from its parent are left out: another transcript has
    them.
    """
    return [
        (session, memory, channel, at)
        for database in databases
        for session, memory, channel, at in database.rows(
            "SELECT i.session, i.memory, i.channel, i.created_at FROM injections AS i "
            "JOIN sessions AS s ON s.id = i.session WHERE i.agent = '' AND i.created_at >= ? "
            "AND i.created_at >= s.started_at ORDER BY i.created_at",
            (since,),
        )
    ]


def sessions(databases: Iterable[Database]) -> set[str]:
    """Return ids of all sessions in which a hook ran."""
    query = f"SELECT id FROM sessions WHERE NOT {_ONLY_LEARNED}"
    return {row[0] for database in databases for row in database.rows(query)}


def span(databases: Iterable[Database]) -> tuple[str, str]:
    """Return the times at which a hook first and last ran here; empty if none ever has."""
    found = [row for database in databases if (row := database.row(_SPAN)) and row[0]]
    first = min((row[0] for row in found), default="")
    return first, max((row[1] for row in found), default="")


def transcript_folders(databases: Iterable[Database]) -> list[str]:
    """Return folders in which the client keeps transcripts of these sessions, as it reported."""
    paths = [
        row[0]
        for database in databases
        for row in database.rows("SELECT DISTINCT transcript FROM sessions WHERE transcript <> ''")
    ]
    return list(dict.fromkeys(os.path.dirname(path) for path in paths))
