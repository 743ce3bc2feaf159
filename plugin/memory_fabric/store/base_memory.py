"""The databases of one project and one user, and all changes to them; see `store.memory.Memory`."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from typing import Protocol

from memory_fabric import deadline, ids
from memory_fabric.config import Settings
from memory_fabric.errors import DeadlinePassed, StoreCorrupt, StoreUnavailable
from memory_fabric.models import Json, Operation, Payload, Project, Provenance, Record
from memory_fabric.store.database import (
    Database,
    Values,
    expect_file,
    is_lost,
    is_suspect,
    mark_suspect,
    open_database,
    translated,
)
from memory_fabric.store.home import switches
from memory_fabric.store.projects import identity

KINDS = ("project", "user")


class Mirror(Protocol):
    """Interface to mirror the graph to the file $MEMORY_FILE_PATH (see store.graph_file.mirror)."""

    path: str
    behind: bool
    look_in_s: float

    def refresh(self, memory: BaseMemory) -> None: ...
    def write(self, memory: BaseMemory) -> None: ...
    def erase(self, memory: BaseMemory, is_gone: Callable[[bytes], bool]) -> None: ...


class BaseMemory:
    """The databases of one project and one user. `failures` collects messages of caught errors."""

    def __init__(self, settings: Settings, project: Project | None, *, repair: bool) -> None:
        self.settings, self.project = settings, project
        self.failures: list[str] = []
        self.messages: list[str] = []
        self.unavailable: set[str] = set()
        self.mirror: Mirror | None = None
        # The id of a batch. All changes made while this id is set are undone together.
        self.batch = ""
        # A callback that receives (steps done, steps in total) while a database is rebuilt.
        self.progress: Callable[[int, int], object] | None = None
        # Home and project id whose `memory-fabric off` and `on` switches apply to this memory.
        self.switched_by = (settings.home, project.id if project else "")
        # The domains that this memory shows; None means all domains.
        self.domains: tuple[str, ...] | None = None
        self._repair = repair
        self._open: dict[str, Database] = {}

    @property
    def whole(self) -> BaseMemory:
        """Return the unrestricted memory if this is a view of some domains, else this memory."""
        return self

    def path_of(self, kind: str) -> str:
        """Return the path of the "project" or "user" database; without a project, the user's."""
        if kind == "project" and self.project:
            return os.path.join(identity.folder_of(self.settings.home, self.project.id), "graph.db")
        return os.path.join(self.settings.home, "user.db")

    def journal_of(self, kind: str) -> str:
        """Return the path of the operations journal of the project's or the user's database."""
        return os.path.join(os.path.dirname(self.path_of(kind)), "operations.jsonl")

    def queue_folder(self, kind: str) -> str:
        """Return the folder in which changes wait while this kind of database is read-only. Only
        the user's may wait in home's, which all projects apply; "home" is the project's in home.
        """
        if kind == "project" and self.project:
            return self.project.local
        path = self.path_of("project" if kind == "home" else kind)
        return os.path.join(os.path.dirname(path), "local")

    def queue_folders(self) -> list[str]:
        """Return the folders, of the project and of the user, in which changes wait."""
        return list(dict.fromkeys(map(self.queue_folder, ("project", "home", "user"))))

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return the open database of this kind; if it is missing, `create` it or return None."""
        kind = kind if self.project else "user"
        database = self._open.get(kind)
        if database is not None and database.is_current() and not database.stopgap:
            return database
        if database is not None:
            del self._open[kind]
            # If the file was removed or replaced, but not its folder, journal its last operations.
            if not database.is_current() and os.path.isdir(os.path.dirname(database.path)):
                from memory_fabric.store import journal  # imported only if a file was removed

                try:
                    journal.rescue(database, self.journal_of(kind))
                except (StoreUnavailable, DeadlinePassed, OSError) as error:
                    self.fail(f"journal ({kind}): {error}")
            database.close()
        opened = self._opened(self.path_of(kind), kind, create)
        if opened is not None:
            self._open[kind] = opened
        return opened

    def databases(self) -> list[Database]:
        """Return readable databases, project first; add errors of unreadable ones to `failures`."""
        readable = []
        self.unavailable.clear()
        for kind in KINDS if self.project else ("user",):
            try:
                database = self.database(kind, create=False)
            except (StoreUnavailable, DeadlinePassed) as error:
                self.fail(f"graph ({kind}): {error}")
                self.unavailable.add(kind)
                continue
            if database is not None:
                readable.append(database)
        return readable

    def open_databases(self) -> list[Database]:
        """Return the databases that are already open."""
        return list(self._open.values())

    def session_database(self) -> Database:
        """Return the database that stores this project's sessions. Raises StoreUnavailable."""
        database = self.database("project", create=True)
        assert database is not None
        return database

    def fail(self, what: str) -> None:
        """Add an error message to `failures`, unless it is already listed."""
        if what not in self.failures:
            self.failures.append(what)

    def write(self, kind: str, payload: Payload, by: Provenance, *, store: str = "") -> Json:
        """Apply a change durably and return its result. If the database cannot be written, queue
        the change and return `{"queued": True, …}`. `store` is "project" or "user"; if it is empty,
        entities are changed in the database that contains them, everything else in the project's.
        Raises NotFound, BadInput; StoreUnavailable if the change cannot be queued, either.
        """
        operation = self.operation(kind, payload, by, store or KINDS[0])
        # Imported late, because recall writes nothing.
        from memory_fabric.store import write
        from memory_fabric.store.operations.kinds import KINDS as OPERATIONS

        if store or not OPERATIONS[kind].items[0]:
            return self._apply(operation)
        from memory_fabric.store.queries import graph

        whole = dict(operation.payload)
        parts, living = [("user", whole)], dict[str, set[str]]()
        if self.project:
            names = write.names_in(kind, whole)
            for db in self.databases():
                try:
                    living[db.kind] = set(graph.existing(db, names))
                except (StoreUnavailable, DeadlinePassed) as error:
                    self.fail(f"graph ({db.kind}): {error}")
                    self.unavailable.add(db.kind)
            parts = write.split(kind, whole, living, self.unavailable)
        # One undo takes back a change that was split, because its parts have a batch in common.
        batch = {"batch": ids.new_id()} if len(parts) > 1 else {}
        parts = [(part_store, batch | part) for part_store, part in parts]
        changes = (operation._replace(id=ids.new_id(), payload=p, store=s) for s, p in parts)
        known = set[str]().union(*living.values())
        return write.combine(kind, whole, list(map(self._apply, changes)), known)

    def write_now(self, kind: str, payload: Payload, by: Provenance, *, store: str) -> Json:
        """Apply a change and never queue it. Raises NotFound, BadInput, StoreUnavailable."""
        return self.apply_now(self.operation(kind, payload, by, store))

    def operation(
        self, kind: str, payload: Payload, by: Provenance, store: str = KINDS[0], stamp: bool = True
    ) -> Operation:
        """Build a sanitised operation for the database `store`. If `stamp`, fill the empty fields
        of `by`: time, author, origin, session. Raises StoreUnavailable if memory is switched off.
        """
        if not self.settings.writes:
            raise switches.off_error(self.settings)
        from memory_fabric.store import write  # imported late: recall writes nothing

        clean = write.cleaned(payload) | ({"batch": self.batch} if self.batch else {})
        by = write.cleaned_provenance(self._stamped(by) if stamp else by)
        return Operation(ids.new_id(), kind, clean, by, store if self.project else "user")

    def find_records(self, where: str, values: Values = (), limit: int = 100) -> list[Record]:
        """Return matching records of both databases, newest first; a negative limit means all."""
        from memory_fabric.store import records  # imported late: few prompts need records

        pairs = []
        for database in self.databases():
            try:
                pairs += records.find(database.connection, where, values, limit)
            except sqlite3.Error as error:
                raise translated(database.path, error) from error
        pairs.sort(key=lambda pair: pair[0].created_at, reverse=True)
        return [record for record, _ in pairs[: None if limit < 0 else limit]]

    def close(self) -> None:
        """Close the databases."""
        for database in self._open.values():
            database.close()
        self._open.clear()

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        if os.path.lexists(path):
            expect_file(path)  # a pipe or device must not be opened or rebuilt
        is_gone = is_lost(path, self.journal_of(kind))
        if self._repair and (is_gone or is_suspect(path)):
            return self._rebuilt(path, kind)
        if is_gone:
            problem = f"{path} was removed or emptied; its journal and backups are there."
            remedy = "The next session start builds it again, or memory-fabric repair."
            raise StoreUnavailable(path, problem, remedy=remedy)
        try:
            return open_database(path, kind, create=create)
        except StoreCorrupt:
            if self._repair:
                return self._rebuilt(path, kind)
            mark_suspect(path)
            raise

    def _rebuilt(self, path: str, kind: str) -> Database:
        from memory_fabric.store.upkeep import repair  # imported only if a file is damaged

        # Rebuild without the event's time limit, which would interrupt every attempt to rebuild.
        with deadline.running(deadline.Deadline()):
            database, sentence = repair.rebuild(path, kind, self.journal_of(kind), self.progress)
        if sentence:
            self.messages.append(sentence)
        return database

    def _stamped(self, by: Provenance) -> Provenance:
        own = ("author", "origin", "session")
        stated = {name: getattr(by, name) or getattr(self.settings, name) for name in own}
        return by._replace(at=by.at or ids.timestamp(), **stated)

    def _apply(self, operation: Operation) -> Json:
        try:
            return self.apply_now(operation, is_new=True)
        except (StoreUnavailable, DeadlinePassed) as error:
            if isinstance(error, StoreCorrupt):
                mark_suspect(self.path_of(operation.store))
            from memory_fabric.store import journal, write
            from memory_fabric.store.home import signing

            self.fail(f"graph ({operation.store}): {error}")
            if write.is_local(operation):  # its record is only for this session: never queue it
                raise
            # If the disk of the home folder is full, the project's disk may still have space.
            folders = [self.queue_folder(kind) for kind in (operation.store, "home", "project")]
            for folder in dict.fromkeys(folders):
                try:
                    journal.enqueue(folder, operation, signing.key_of(self.settings.home))
                    return {"queued": True, "because": str(error)}
                except (OSError, TimeoutError) as problem:
                    self.fail(f"queue {folder}: {problem}")
            path = error.path if isinstance(error, StoreUnavailable) else ""
            remedy = "Neither the memory nor its queue can be written; check disk and permissions."
            raise StoreUnavailable(path, f"Nothing was stored: {error}", remedy=remedy) from error

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> Json:
        """Apply an operation with `write.apply`, without queueing it, and return its result."""
        database = self.database(operation.store, create=True)
        assert database is not None
        from memory_fabric.store.write import apply  # imported late: recall writes nothing

        return apply(database, operation, is_new=is_new)
