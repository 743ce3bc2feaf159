"""Counts for the status line, which is always visible; reading them neither writes nor waits."""

import os
import sqlite3
import time
from collections.abc import Iterable
from typing import NamedTuple

from memory_fabric.store.files import as_address
from memory_fabric.store.schema import ACTIVE_CURRENT, CURRENT

# The time is checked after this many instructions of SQLite's virtual machine.
STEPS_PER_CHECK = 10_000
_RECORDS = (
    f"SELECT coalesce(sum({ACTIVE_CURRENT}), 0), "
    f"coalesce(sum(status = 'candidate' AND {CURRENT}), 0) FROM records "
    "WHERE scope <> 'local' AND type <> 'session'"
)
_TOLD = "SELECT count(DISTINCT memory) FROM told WHERE session = ? AND memory <> ''"


class Counts(NamedTuple):
    """Counts of current records, of memories shown to a session, and of candidates to review."""

    known: int = 0
    told: int = 0
    to_review: int = 0


def of(paths: Iterable[str], session: str, max_s: float) -> Counts | None:
    """Return the counts summed over all databases; None if one cannot be read within `max_s`."""
    ends_s = time.monotonic() + max_s
    total = Counts()
    try:
        for path in filter(os.path.isfile, paths):
            # Without a write-ahead log, the database file is complete, so it is read without locks.
            try:
                has_log = os.path.getsize(path + "-wal") > 0
            except OSError:
                has_log = False
            mode = "mode=ro" if has_log else "mode=ro&immutable=1"
            connection = sqlite3.connect(f"file:{as_address(path)}?{mode}", uri=True, timeout=0)
            try:
                connection.set_progress_handler(lambda: time.monotonic() >= ends_s, STEPS_PER_CHECK)
                records, to_review = connection.execute(_RECORDS).fetchone()
                (shown,) = connection.execute(_TOLD, (session,)).fetchone()
            finally:
                connection.close()
            total = Counts(total.known + records, total.told + shown, total.to_review + to_review)
    except (sqlite3.Error, OSError):
        return None
    return total
