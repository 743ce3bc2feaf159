"""The counts of one week in a project, which a person is told at most once in seven days."""

from __future__ import annotations

import time
from typing import NamedTuple

from memory_fabric.config import SDK, Settings
from memory_fabric.ids import timestamp
from memory_fabric.models import INGEST, OTHERS
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from memory_fabric.store.schema import CURRENT

DAY_S = 24 * 3600
WEEK_S = 7 * DAY_S
# The starts of a session at which it is told.
SOURCES = ("startup", "clear")
# The row of `meta` with the time at which a week was last told (ISO 8601).
TOLD_AT = "week told at"
# Notes of this user: no session summaries, nothing of others, nothing that programs brought.
_OWN = (
    f"type <> 'session' AND scope <> 'local' AND source NOT IN ('{OTHERS}', 'import', '{INGEST}')"
)
_NOTED = f"status = 'active' AND {_OWN} AND created_at >= ?1"
_WAITING = f"status = 'candidate' AND {CURRENT} AND scope <> 'local'"
_COUNTS = (
    f"SELECT coalesce(sum({_NOTED}), 0), coalesce(sum({_OWN} AND superseded_by <> '' AND "
    f"valid_to >= ?1), 0), coalesce(sum({_WAITING}), 0) FROM records"
)
# By the index of times: the oldest record, and any own one since a time.
_OLDEST = "SELECT created_at FROM records ORDER BY created_at LIMIT 1"
_ANY = f"SELECT 1 FROM records WHERE created_at >= ? AND {_OWN} LIMIT 1"
_TAKE = (
    "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2 WHERE value < ?3"
)


class Week(NamedTuple):
    """Records that were noted and replaced in seven days, and candidates that wait now."""

    noted: int = 0
    replaced: int = 0
    to_review: int = 0


def due(memory: Memory, source: str, agent_type: str, now_s: float | None = None) -> Week:
    """Return the week to tell at this start, and note that it was told; empty if there is none.

    There is none in a session without a person, in a week without anything noted or heard, within
    seven days of the last one, and on the day of a project's first record. Only the records of the
    project count. Raises StoreUnavailable, DeadlinePassed.
    """
    settings = memory.settings
    if source not in SOURCES or agent_type or not _has_reader(settings):
        return Week()
    now_s = time.time() if now_s is None else now_s
    since = timestamp(now_s - WEEK_S)
    database = memory.database("project", create=False) if memory.project else None
    if database is None or not _is_due(database, since, timestamp(now_s - DAY_S)):
        return Week()
    row = database.rows(_COUNTS, (since,))[0]
    week = Week(*row)
    return week if any(row) and _take(memory, since, timestamp(now_s)) else Week()


def _has_reader(settings: Settings) -> bool:
    """Return True if a person sees the notices of this session, and wants this one."""
    is_wanted = settings.weekly and settings.notices == "all"
    is_alone = settings.ci or not settings.attended or settings.entrypoint.startswith(SDK)
    return is_wanted and settings.writes and not is_alone


def _is_due(database: Database, since: str, yesterday: str) -> bool:
    """Return True if nothing was told since, and there is something to tell; by indexes only."""
    row = database.row("SELECT value FROM meta WHERE key = ?", (TOLD_AT,))
    if row and str(row[0]) >= since:
        return False
    oldest = database.row(_OLDEST)
    return bool(oldest and oldest[0] < yesterday and database.row(_ANY, (since,)))


def _take(memory: Memory, since: str, now: str) -> bool:
    """Note that the week is told; False if another session was faster or nothing can be written."""
    database = memory.whole.session_database()
    if database.read_only or database.newer:
        return False
    with database.transaction() as connection:
        return connection.execute(_TAKE, (TOLD_AT, now, since)).rowcount > 0
