"""Memory for a process that answers many events: its databases stay open from one to the next."""

from __future__ import annotations

import os
import sqlite3
import time

from memory_fabric.errors import EventRevoked
from memory_fabric.store import migrations
from memory_fabric.store.database import Database, is_suspect
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.config import Settings

# A session has a project and a user; one that moves between projects has few more.
MAX_KEPT = 4
# The key in `meta` of the last event that the server of a client has answered, and how long it is
# of use to anybody.
ANSWERED, ANSWERED_S = "answered:", 3600.0
_kept: dict[str, Database] = {}


class KeptMemory(Memory):
    """The memory of one event. Each event has its own, by its own settings; only the connections
    to databases are handed on, and those that another process has replaced or migrated are not.

    One event at a time may use it.
    """

    def close(self, *, at_ease: bool = False) -> None:
        """Keep the databases for the next event; changes that are held are undone.

        `at_ease` nobody waits: the write-ahead logs are moved into their databases, as far as no
        other process needs them.
        """
        for part in self.scoped.values():
            part.close()
        for database in self._open.values():
            if database.connection.in_transaction or database.read_only or database.newer:
                database.close()
            else:
                database.held = False
                if at_ease:
                    database.check_point()
                _kept[database.path] = database
        self._open.clear()
        while len(_kept) > MAX_KEPT:
            _kept.pop(next(iter(_kept))).close()

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        known = _kept.pop(path, None)
        if known is not None:
            if known.kind == kind and _is_usable(known):
                known.waits_for_last = False
                return known
            known.close()
        return super()._opened(path, kind, create)


class HeldMemory(KeptMemory):
    """One whose changes are committed together, so that an event is done wholly or not at all.

    Not where domains are limited: their views have connections of their own, which would not see
    what is held.
    """

    def commit(self, client: str, nonce: str) -> None:
        """Commit all changes, with the event's nonce. Raises StoreUnavailable."""
        held = sorted(self._open.values(), key=lambda database: database.kind == "project")
        held = [database for database in held if database.held_parts]
        for database in held:  # the last one has the nonce: with it all are committed
            is_last = database is held[-1]
            value = f"{int(time.time())} {nonce}"
            database.commit_held(f"{ANSWERED}{client}" if is_last else "", value)

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        database = super()._opened(path, kind, create)
        if database is not None:
            settings = self.settings
            database.held = not (settings.domain or settings.domains.configured)
        return database


def release(folder: str) -> None:
    """Close the databases in a folder."""
    for path in [path for path in _kept if path.startswith(folder + os.sep)]:
        _kept.pop(path).close()


def begun_by(nonce: str) -> type[Memory]:
    """Return the class of the memory of an event that a server had begun with this nonce.

    Opening it raises EventRevoked if the server had committed the event's changes.
    """
    answered = f"SELECT 1 FROM meta WHERE key GLOB '{ANSWERED}*' AND value GLOB '* ' || ?"

    class BegunMemory(Memory):
        @classmethod
        def open(cls, settings: Settings, *, repair: bool = False) -> Memory:
            memory = Memory.open(settings, repair=repair)
            if any(database.row(answered, (nonce,)) for database in memory.databases()):
                memory.close()
                raise EventRevoked
            return memory

    return BegunMemory


def _is_usable(database: Database) -> bool:
    if database.stopgap or not database.is_current() or is_suspect(database.path):
        return False
    try:
        (version,) = database.connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.Error:
        return False
    return bool(version == migrations.LATEST)
