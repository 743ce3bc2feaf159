"""The memory of one project and its user: both databases and the tiers beside them.

One `Memory` serves one process. Reading opens only what exists; the first write creates the rest. A
tier that fails is named in `failures`, and the others go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memory_fabric import deadline, ids
from memory_fabric.config import Settings
from memory_fabric.errors import DeadlinePassed, FabricError, StoreCorrupt, StoreUnavailable
from memory_fabric.models import CANDIDATE_FROM, Operation, Project, Provenance, Record, Trust
from memory_fabric.store import files, switches
from memory_fabric.store.database import (
    Database,
    expect_file,
    is_lost,
    is_suspect,
    mark_suspect,
    open_database,
)
from memory_fabric.store.projects import identity
from memory_fabric.store.settings_file import Stamp

if TYPE_CHECKING:
    from memory_fabric.store.protocols import Mirror, Reader

KINDS = ("project", "user")
USER_SCOPES = frozenset(("user", "global"))


class Memory:
    """Databases and tiers of one project and one user; see `open`."""

    def __init__(
        self,
        settings: Settings,
        project: Project | None,
        *,
        repair: bool,
    ) -> None:
        self.settings, self.project = settings, project
        self.failures: list[str] = []
        self.messages: list[str] = []
        self.unavailable: set[str] = set()
        self.mirror: Mirror | None = None
        # Changes made while it is set are undone together.
        self.batch = ""
        # Called with the number of steps done and of all steps while a database is rebuilt.
        self.progress: Callable[[int, int], object] | None = None
        # Home and project whose switches apply, and what is allowed while they are on.
        self.switched_by = (settings.home, project.id if project else "")
        # The only domains that can be read; None for all.
        self.domains: tuple[str, ...] | None = None
        self._stated = (settings.reads, settings.writes)
        # Stamp of the config.toml that was read last.
        self._configured: Stamp | None = None
        self._repair = repair
        self._open: dict[str, Database] = {}
        # Views of it that are limited to some domains (store.domains.scoped_memory).
        self.scoped: dict[tuple[bool, tuple[str, ...]], Memory] = {}
        self._registered: tuple[int, int] | None = None

    @classmethod
    def open(cls, settings: Settings, *, repair: bool = False) -> Memory:
        """Return the memory for these settings; only the project's registration is written to disk.

        With `repair`, a damaged database is set aside and rebuilt; otherwise using it raises an
        error. Queries and changes after the current deadline raise DeadlinePassed.
        """
        project = _project_of(settings)
        memory = cls(settings, project, repair=repair)
        memory.follow_switches()
        return memory

    @property
    def whole(self) -> Memory:
        """The unrestricted memory behind this one; itself if all domains are visible."""
        return self

    def follow_switches(self) -> None:
        """Apply `memory-fabric off` and `on` as they are now; a server runs for a long time."""
        here = switches.state(*self.switched_by)
        reads, writes = self._stated
        self.settings = self.settings._replace(
            reads=reads and here["read"],
            writes=writes and here["write"],
            notes=self.settings.notes if here[switches.NOTES] else "off",
        )

    def follow_settings(self) -> None:
        """Apply the switches and domains as config.toml, `memory-fabric off` and `on` have them
        now.

        The file is read again only if it has changed.
        """
        from memory_fabric.store import settings_file  # only servers follow changes

        home = self.switched_by[0]
        stamp = settings_file.stamp(home)
        if stamp != self._configured:
            self._configured = stamp
            self.settings = settings_file.follow(self.settings, home)
            self._stated = (self.settings.reads, self.settings.writes)
        self.follow_switches()

    def has_moved(self) -> bool:
        """True if the folder was linked with another project or split off since; servers ask.

        The registry is read again only if it has changed.
        """
        stamp = identity.registry_stamp(self.settings.home)
        if self.project is None or stamp == self._registered:
            return False
        if not os.path.isdir(self.settings.project_dir):
            # moved away or deleted, which does not mean that it belongs to another project
            return False
        self._registered = stamp
        found = _project_of(self.settings)
        return found is not None and found.id != self.project.id

    def path_of(self, kind: str) -> str:
        """Return the path of the database of a kind; without a project always the user's."""
        if kind == "project" and self.project:
            return os.path.join(identity.folder_of(self.settings.home, self.project.id), "graph.db")
        return os.path.join(self.settings.home, "user.db")

    def journal_of(self, kind: str) -> str:
        """Return the path of a database's operations journal."""
        return os.path.join(os.path.dirname(self.path_of(kind)), "operations.jsonl")

    def queue_folder(self, kind: str) -> str:
        """Return the folder in which operations wait while the database of this kind cannot be
        written.
        """
        if kind == "project" and self.project:
            return self.project.local
        return os.path.join(self.settings.home, "local")

    def memory_md_lock(self, path: str) -> str:
        """Return the lock file for a MEMORY.md, in home: nothing may be added to the client's
        folder.
        """
        return files.lock_path(self.settings.home, path)

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return the open database of a kind; None if it does not exist and `create` is not set.

        Raises StoreUnavailable and its subclasses.
        """
        kind = kind if self.project else "user"
        known = self._open.get(kind)
        if known is not None and known.is_current() and not known.stopgap:
            return known
        if known is not None:
            self._release(kind)
        path = self.path_of(kind)
        opened = self._opened(path, kind, create)
        if opened is not None:
            self._open[kind] = opened
        return opened

    def databases(self) -> list[Database]:
        """Return the readable databases, the project's first; `failures` names the others."""
        found = []
        self.unavailable.clear()
        for kind in KINDS if self.project else ("user",):
            try:
                database = self.database(kind, create=False)
            except (StoreUnavailable, DeadlinePassed) as error:
                self.fail(f"graph ({kind}): {error}")
                self.unavailable.add(kind)
                continue
            if database is not None:
                found.append(database)
        return found

    def readers(self) -> list[Reader]:
        """Return what recall reads: one reader for each of the `databases`."""
        from memory_fabric.store.reader import DatabaseReader  # writers never load it

        return [DatabaseReader(database) for database in self.databases()]

    def limited_to(self, domains: Sequence[str]) -> Memory | None:
        """Return a view of these domains if this kind of memory has its own; see scoped_memory."""
        return None

    def open_databases(self) -> list[Database]:
        """Return the databases that are open already."""
        return list(self._open.values())

    def session_database(self) -> Database:
        """Return the database of this project's sessions, ledger and tasks. Raises
        StoreUnavailable.
        """
        database = self.database("project", create=True)
        assert database is not None
        return database

    def fail(self, what: str) -> None:
        """Add a failure, unless it is known."""
        if what not in self.failures:
            self.failures.append(what)

    def write(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str = ""
    ) -> dict[str, Any]:
        """Apply a change durably and return its result; `{"queued": True}` if it had to be queued.

        `store` names the database ("project", "user"); without it, entities are changed where they
        are stored. Raises NotFound, BadInput (nothing changed), StoreUnavailable (not even queued).
        """
        return self._write(kind, payload, self._stamped(provenance), store)

    def write_now(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, *, store: str
    ) -> dict[str, Any]:
        """Apply a change to one database that would be wrong later, and return its result.

        Raises NotFound, BadInput, StoreUnavailable, DeadlinePassed; then nothing has changed.
        """
        return self.apply_now(self._operation(kind, payload, self._stamped(provenance), store))

    def operation(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, store: str = KINDS[0]
    ) -> Operation:
        """Return a change for the caller to apply. Raises StoreUnavailable if memory is switched
        off.
        """
        return self._operation(kind, payload, self._stamped(provenance), store)

    def _write(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, store: str
    ) -> dict[str, Any]:
        operation = self._operation(kind, payload, provenance, store or KINDS[0])
        if store or kind in ("remember", "put_record", "forget", "add_episodes"):
            return self._apply(operation)
        return self._apply_where_it_lives(kind, dict(operation.payload), operation.provenance)

    def _operation(
        self, kind: str, payload: Mapping[str, Any], provenance: Provenance, store: str
    ) -> Operation:
        """Return the change as it may be stored. Raises StoreUnavailable if memory is off."""
        if not self.settings.writes:
            raise switches.off_error(self.settings)
        from memory_fabric.store import write  # recall alone never loads it

        payload, provenance = write.cleaned(payload), write.cleaned_provenance(provenance)
        payload |= {"batch": self.batch} if self.batch else {}
        return Operation(ids.new_id(), kind, payload, provenance, store)

    def remember(
        self,
        record: Record,
        by: Provenance,
        supersedes: Sequence[str] = (),
        *,
        echo: bool = False,
        at: str = "",
    ) -> Record | None:
        """Store a record and return it, or the known one that it repeats; None below the candidate
        limit.

        Fills in id, times and provenance, and closes the records (ids) that it `supersedes`, if
        allowed. An `echo` does not count as an occurrence. `at` is the time at which it was said,
        if an old session is read. Raises StoreUnavailable if it could not even be queued.
        """
        if record.confidence < CANDIDATE_FROM:
            return None
        by = self._stamped(by)
        record = record._replace(
            id=record.id or ids.new_id(),
            trust=by.trust,
            source=by.source,
            session=by.session,
            agent=by.agent,
            author=by.author,
            origin=by.origin,
            evidence={**record.evidence, **self.settings.client.mark},
            domain=record.domain if record.domain != "general" else by.domain,
            project=record.project or (self.project.name if self.project else ""),
            created_at=at or by.at,
            valid_from=record.valid_from or at or by.at,
        )
        if record.scope == "global":
            # late: rare, and never on a prompt
            from memory_fabric.store.tiers.anonymise import anonymised

            record = anonymised(record, self)
            by = by._replace(author="", origin="", session="", agent="")
        store = "user" if record.scope in USER_SCOPES else "project"
        from memory_fabric.store import records  # recall alone never loads it

        payload: dict[str, Any] = {"record": records.as_object(record)}
        payload |= {"supersedes": list(supersedes)} if supersedes else {}
        payload |= {"echo": True} if echo else {}
        payload |= {"past": True} if at else {}
        result = self._write("remember", payload, by, store)
        if result.get("queued"):
            return record
        stored = result.get("record")
        return records.from_object(stored) if stored else None

    def forget(self, record_ids: list[str], provenance: Provenance) -> int:
        """Forget these records in either database; return how many there were."""
        gone, known = 0, "SELECT 1 FROM records WHERE id = ?"
        for database in self.databases():
            here = [id_ for id_ in record_ids if database.row(known, (id_,))]
            if here:
                result = self.write("forget", {"ids": here}, provenance, store=database.kind)
                gone += int(result.get("deleted", 0))
        return gone

    def find_records(self, where: str, values: tuple[Any, ...] = (), limit: int = 100) -> list[Any]:
        """Return records of both databases that meet an SQL condition on their columns, newest
        first.

        Columns: id, type, scope, domain, session, status, pinned, confidence, trust, created_at …
        """
        from memory_fabric.store import records  # few prompts need whole records

        return records.find_in(self.databases(), where, values, limit)

    def refresh(self) -> None:
        """Import changes that others made to the mirrored graph file, if there is one.

        Raises StoreUnavailable.
        """
        if self.mirror is not None:
            self.mirror.refresh(self)

    def flush(self) -> None:
        """Update tiers 2 and 3: apply queues, write journals, refresh MEMORY.md.

        A part that fails is named in `failures` and is done next time; the others go on.
        """
        from memory_fabric.store.tiers import sync  # not on the prompt path

        sync.flush(self)

    def native_ids(self, session_started_at: str) -> frozenset[str]:
        """Return the ids of records that this project's MEMORY.md already had when the session
        began; none where the client does not show that file.
        """
        is_shown = self.settings.client.memory_file and not self.settings.memory_md_off
        if self.project is None or not is_shown:
            return frozenset()
        try:
            database = self.database("project", create=False)
        except StoreUnavailable as error:
            self.fail(f"graph (project): {error}")
            return frozenset()
        if database is None:
            return frozenset()
        shown = database.rows(
            "SELECT record FROM promoted WHERE root = ? AND since < ?",
            (self.project.root, session_started_at),
        )
        return frozenset(row[0] for row in shown)

    def shown_ids(self, session_started_at: str) -> frozenset[str]:
        """Return the ids of records that the client shows its model by itself: those of MEMORY.md,
        and of the instruction files that it reads.
        """
        from memory_fabric.store import instruction_files  # not on the path of every command

        read_by_client = instruction_files.shown(self, self.settings.client.instructions)
        return self.native_ids(session_started_at) | read_by_client

    def close(self) -> None:
        """Close the databases."""
        for part in self.scoped.values():
            part.close()
        for database in self._open.values():
            database.close()
        self._open.clear()

    def _release(self, kind: str) -> None:
        """Close a database whose file was removed or replaced, or that is to be opened again.

        Operations that are not in the journal yet are appended first, since the open file can still
        be read; unless the whole folder was deleted, which is assumed to be intended.
        """
        known = self._open.pop(kind)
        folder = os.path.dirname(known.path)
        if not known.is_current() and os.path.isdir(folder):
            from memory_fabric.store import journal  # only for a removed file

            try:
                journal.rescue(known, self.journal_of(kind))
            except (StoreUnavailable, DeadlinePassed, OSError) as error:
                self.fail(f"journal ({kind}): {error}")
        known.close()

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        if os.path.lexists(path):
            expect_file(path)  # a pipe or device can be neither opened nor rebuilt
        if self._repair and is_suspect(path):
            return self._rebuilt(path, kind)
        if is_lost(path, self.journal_of(kind)):
            if self._repair:
                return self._rebuilt(path, kind)
            raise StoreUnavailable(
                path,
                f"{path} was removed or emptied; its journal and backups are there.",
                remedy="The next session start builds it again, or memory-fabric repair.",
            )
        try:
            return open_database(path, kind, create=create)
        except StoreCorrupt:
            if self._repair:
                return self._rebuilt(path, kind)
            mark_suspect(path)
            raise

    def _rebuilt(self, path: str, kind: str) -> Database:
        from memory_fabric.store.health import repair  # only for a damaged file

        # without a limit, as half a rebuild would be repeated every time
        with deadline.running(deadline.Deadline()):
            database, sentence = repair.rebuild(path, kind, self.journal_of(kind), self.progress)
        if sentence:
            self.messages.append(sentence)
        return database

    def _stamped(self, provenance: Provenance) -> Provenance:
        return provenance._replace(
            at=provenance.at or ids.timestamp(),
            author=provenance.author or self.settings.author,
            origin=provenance.origin or self.settings.origin,
            session=provenance.session or self.settings.session,
        )

    def _apply(self, operation: Operation) -> dict[str, Any]:
        try:
            return self.apply_now(operation, is_new=True)
        except (StoreUnavailable, DeadlinePassed) as error:
            if isinstance(error, StoreCorrupt):
                mark_suspect(self.path_of(operation.store))
            self._enqueue(operation, error)
            return {"queued": True, "because": str(error)}

    def apply_now(self, operation: Operation, *, is_new: bool = False) -> dict[str, Any]:
        """Apply an operation to its database; see `write.apply`.

        Raises StoreUnavailable, NotFound.
        """
        database = self.database(operation.store, create=True)
        assert database is not None
        from memory_fabric.store.write import apply  # recall alone never loads it

        return apply(database, operation, is_new=is_new)

    def _enqueue(self, operation: Operation, error: FabricError) -> None:
        # only if the graph cannot be written
        from memory_fabric.store import journal, write

        self.fail(f"graph ({operation.store}): {error}")
        if write.is_local(operation):  # a file would keep it beyond its session
            raise error
        # The project's disk may have space when home's has none, also for changes of the user's
        # database.
        folders = [self.queue_folder(kind) for kind in (operation.store, "user", "project")]
        if journal.enqueue_in_first(folders, operation, self.settings.home, self.fail):
            return
        raise StoreUnavailable(
            error.path if isinstance(error, StoreUnavailable) else "",
            f"Nothing was stored: {error}",
            remedy="Neither the memory nor its queue can be written; check disk and permissions.",
        ) from error

    def _apply_where_it_lives(
        self, kind: str, payload: dict[str, Any], provenance: Provenance
    ) -> dict[str, Any]:
        from memory_fabric.store import routing  # only graph tools, never a prompt

        parts = routing.split(self, kind, payload)
        results = [
            self._apply(Operation(ids.new_id(), kind, part, provenance, store))
            for store, part in parts
        ]
        return routing.combine(kind, payload, results)


def _project_of(settings: Settings) -> Project | None:
    trust = Trust(settings.claims == "trust", settings.trusted_roots)
    return identity.find_project(settings.home, settings.project_dir, settings.user_home, trust)
