"""The memory of one project and its user: both databases, journals, queues and MEMORY.md.

Reading opens only databases that exist; the first write creates the others. If one of these parts
fails, `failures` lists the error, and the others continue. One `Memory` serves one process; if the
process answers many events, `KeptMemory` keeps the databases open between the events.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import DeadlinePassed, EventRevoked, StoreUnavailable
from memory_fabric.models import CANDIDATE_FROM, Project, Provenance, Record, Trust
from memory_fabric.store import files, schema
from memory_fabric.store.base_memory import KINDS, BaseMemory
from memory_fabric.store.database import Database, is_suspect
from memory_fabric.store.home import switches
from memory_fabric.store.projects import registry_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.store.queries.reader import Reader

__all__ = ["KINDS", "Memory"]
USER_SCOPES = frozenset(("user", "global"))
# The maximum number of databases kept open: a session uses two, or more if it changes projects.
MAX_KEPT = 4
# Prefix of a client's key in the table `meta`; the value names the client's last answered event.
ANSWERED = "answered:"
_SAID_BY = ("trust", "source", "session", "agent", "author", "origin")
_kept: dict[str, Database] = {}


class Memory(BaseMemory):
    """The databases and files of one project and one user; `open` creates an instance."""

    def __init__(self, settings: Settings, project: Project | None, *, repair: bool) -> None:
        super().__init__(settings, project, repair=repair)
        self._stated = (settings.reads, settings.writes, settings.notes)
        # The file stamp of config.toml when last read; the first value differs from any file's.
        self._configured: files.Stamp = (0, 0, 0)
        # Views of this memory that are limited to some domains (store.scoped_memory).
        self.scoped: dict[tuple[bool, tuple[str, ...]], Memory] = {}
        # The file stamp of the registry when last read; the first value differs from any file's.
        self._registered: files.Stamp = (0, 0, 0)

    @classmethod
    def open(cls, settings: Settings, *, repair: bool = False) -> Memory:
        """Return the memory for these settings; with `repair`, a damaged database is rebuilt."""
        memory = cls(settings, _project_of(settings), repair=repair)
        memory.follow_switches()
        return memory

    @property
    def whole(self) -> Memory:
        """Return the whole memory: this one, or for a view of some domains, the one behind it."""
        return self

    def follow_switches(self) -> None:
        """Apply the current `memory-fabric off` switches, which may change while a server runs."""
        here = switches.state(*self.switched_by)
        reads, writes, notes = self._stated
        reads, writes = reads and here["read"], writes and here["write"]
        notes = notes if here[switches.NOTES] else "off"
        self.settings = self.settings._replace(reads=reads, writes=writes, notes=notes)

    def follow_settings(self) -> None:
        """Apply the current switches and domains, and config.toml if it has changed."""
        home = self.switched_by[0]
        stamp = files.stamp(os.path.join(home, switches.NAME))
        if stamp != self._configured:
            self._configured = stamp
            self.settings = switches.follow(self.settings, home)
            self._stated = (self.settings.reads, self.settings.writes, self._stated[2])
        self.follow_switches()

    def has_moved(self) -> bool:
        """Return True if the folder belongs to another project now; rereads a changed registry."""
        stamp = registry_file.registry_stamp(self.settings.home)
        if self.project is None or stamp == self._registered:
            return False
        if not os.path.isdir(self.settings.project_dir):
            return False  # a folder that was moved or deleted belongs to no other project
        self._registered = stamp
        project = _project_of(self.settings)
        return project is not None and project.id != self.project.id

    def readers(self) -> list[Reader]:
        """Return the readers for recall, one for each readable database."""
        from memory_fabric.store.queries.reader import Reader  # imported late: only for searches

        return [Reader(database) for database in self.databases()]

    def limited_to(self, domains: Sequence[str]) -> Memory | None:
        """Return this type's own view of these domains, or None to use a `ScopedMemory` instead."""
        return None

    def remember(
        self,
        record: Record,
        by: Provenance,
        supersedes: Sequence[str] = (),
        *,
        echo: bool = False,
        at: str = "",
    ) -> Record | None:
        """Store a record and return it, or the stored record that it repeats. Return None if its
        confidence is too low, or if it was forgotten before. Supersede the records with the ids
        `supersedes`, if `models.may_close` permits. With `echo`, a repetition is not counted as a
        new statement. `at` is the time of a statement from an old session. Raises StoreUnavailable.
        """
        if record.confidence < CANDIDATE_FROM:
            return None
        by = self._stamped(by)
        record = record._replace(
            **{name: getattr(by, name) for name in _SAID_BY},
            id=record.id or ids.new_id(),
            evidence={**record.evidence, **self.settings.client.mark},
            domain=record.domain if record.domain != "general" else by.domain,
            project=record.project or (self.project.name if self.project else ""),
            created_at=at or by.at,
            valid_from=record.valid_from or at or by.at,
        )
        if record.scope == "global":
            # Imported late, because global records are rare, and a prompt never stores one.
            from memory_fabric.store.tiers.anonymise import anonymised

            record = anonymised(record, self)
            by = by._replace(author="", origin="", session="", agent="")
        store = "user" if record.scope in USER_SCOPES else "project"
        from memory_fabric.store import records  # imported late: recall stores no records

        options = {"supersedes": list(supersedes), "echo": echo, "past": bool(at)}
        payload: dict[str, Any] = {"record": records.as_object(record)}
        payload |= {name: value for name, value in options.items() if value}
        result = self._apply(self.operation("remember", payload, by, store, stamp=False))
        if result.get("queued"):
            return record
        stored = result.get("record")
        return records.from_object(stored) if stored else None

    def forget(self, record_ids: list[str], by: Provenance) -> int:
        """Forget the records with these ids in both databases; return the count of those found."""
        count, stored = 0, "SELECT 1 FROM records WHERE id = ?"
        for database in self.databases():
            if ids_stored := [id_ for id_ in record_ids if database.row(stored, (id_,))]:
                result = self.write("forget", {"ids": ids_stored}, by, store=database.kind)
                count += int(result.get("deleted", 0))
        return count

    def refresh(self) -> None:
        """Import changes that others made to the mirrored graph file. Raises StoreUnavailable."""
        if self.mirror is not None:
            self.mirror.refresh(self)

    def flush(self) -> None:
        """Apply the queues, and write journals and MEMORY.md; add errors to `failures`."""
        from memory_fabric.store.tiers import sync  # imported late: not used for prompts

        sync.flush(self)

    def native_ids(self, session_started_at: str) -> frozenset[str]:
        """Return ids of records that were already in the client's MEMORY.md at session start."""
        is_shown = self.settings.client.memory_file and not self.settings.memory_md_off
        if self.project is None or not is_shown:
            return frozenset()
        try:
            database = self.database("project", create=False)
        except StoreUnavailable as error:
            self.fail(f"graph (project): {error}")
            return frozenset()
        promoted = "SELECT record FROM promoted WHERE root = ? AND since < ?"
        values = (self.project.root, session_started_at)
        return frozenset(row[0] for row in (database.rows(promoted, values) if database else ()))

    def shown_ids(self, session_started_at: str) -> frozenset[str]:
        """Return ids of records that the client loads, in MEMORY.md or instruction files."""
        from memory_fabric.store.projects import instruction_files  # imported late: rarely needed

        read_by_client = instruction_files.shown(self, self.settings.client.instructions)
        return self.native_ids(session_started_at) | read_by_client

    def close(self) -> None:
        """Close the databases, including those of scoped views."""
        for part in self.scoped.values():
            part.close()
        super().close()


def _project_of(settings: Settings) -> Project | None:
    trust = Trust(settings.claims == "trust", settings.trusted_roots)
    folders = settings.home, settings.project_dir, settings.user_home
    return registry_file.find_project(*folders, trust)


class KeptMemory(Memory):
    """A memory for one event; its open databases are reused by later events of the process."""

    def close(self, *, at_ease: bool = False) -> None:
        """Keep databases open for the next event; if `at_ease` (nobody waits), checkpoint them."""
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
        database = _kept.pop(path, None)
        if database is not None:
            try:
                is_current = database.is_current() and not is_suspect(path)
                is_current = is_current and database.row("PRAGMA user_version") == (schema.LATEST,)
            except (StoreUnavailable, DeadlinePassed):
                is_current = False
            if is_current and database.kind == kind and not database.stopgap:
                database.waits_for_last = False
                return database
            database.close()
        return super()._opened(path, kind, create)


class HeldMemory(KeptMemory):
    """A memory that commits all changes of an event together when the event ends. If domains are
    configured, it commits each change at once: views of a domain read only committed changes.
    """

    def commit(self, client: str, nonce: str) -> None:
        """Commit all changes and mark the event `nonce` as answered. Raises StoreUnavailable."""
        databases = sorted(self._open.values(), key=lambda database: database.kind == "project")
        databases = [database for database in databases if database.held_parts]
        for database in databases:  # the last commit also records that the event is answered
            mark = f"{ANSWERED}{client}" if database is databases[-1] else ""
            database.commit_held(mark, f"{int(time.time())} {nonce}")

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        database = super()._opened(path, kind, create)
        if database is not None:
            database.held = not (self.settings.domain or self.settings.domains.configured)
        return database


def release(folder: str) -> None:
    """Close all databases in a folder that were kept open for later events."""
    for path in [path for path in _kept if path.startswith(folder + os.sep)]:
        _kept.pop(path).close()


def begun_by(nonce: str) -> type[Memory]:
    """Return a Memory type whose `open` raises EventRevoked if a server answered event `nonce`."""
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
