"""The projects of this home, for the page and for commands. Reading a project changes nothing: no
folder is registered, and a database of an older release is neither migrated nor repaired.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

from memory_fabric.config import Settings
from memory_fabric.errors import FabricError, NotFound, StoreUnavailable
from memory_fabric.models import Project, Registry
from memory_fabric.store import files
from memory_fabric.store.database import Database, is_lost, open_to_look, open_to_show
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import identity, registry_file

Stamps = tuple[files.Stamp, files.Stamp]


class Summary(NamedTuple):
    """A project as listed by `summaries`. `readable` is False if its database could not be read."""

    id: str
    name: str
    folder: str = ""
    records: int = 0
    changed_at: str = ""
    readable: bool = True


class ShownMemory(Memory):
    """The memory of any project of this home; its databases are read-only until a change."""

    def __init__(self, settings: Settings, project: Project) -> None:
        super().__init__(settings, project, repair=False)
        # Stamps of each database's files when it was opened, to notice that a copy is outdated.
        self._copied: dict[str, Stamps] = {}

    def has_moved(self) -> bool:
        """Return True if the project's folder, name or other fields changed in the registry."""
        stamp = registry_file.registry_stamp(self.settings.home)
        if self.project is None or stamp == self._registered:
            return False
        self._registered = stamp
        registry = registry_file.read_registry(self.settings.home)
        return _project(self.settings, registry, self.project.id) != self.project

    def database(self, kind: str, *, create: bool) -> Database | None:
        """Return the database. First reopen an outdated copy, or for `create`, a read-only one."""
        database = self._open.get(kind)
        if database is not None and database.read_only:
            is_outdated = database.is_copy and self._copied.get(kind) != _stamps(database.path)
            if create or is_outdated:
                self._open.pop(kind).close()
        return super().database(kind, create=create)

    def limited_to(self, domains: Sequence[str]) -> Memory | None:
        """Return None: use `ScopedMemory`. Raises StoreUnavailable for data of an older release."""
        for database in self.databases():
            if database.is_copy:
                remedy = "Start a session in its project once."
                problem = "This memory is of an older release."
                raise StoreUnavailable(database.path, problem, remedy=remedy)
        return None

    def _opened(self, path: str, kind: str, create: bool) -> Database | None:
        if create or is_lost(path, self.journal_of(kind)):
            return super()._opened(path, kind, create)
        self._copied[kind] = _stamps(path)
        return open_to_show(path, kind)


def _stamps(path: str) -> Stamps:
    return files.stamp(path), files.stamp(path + "-wal")


def memory_of(settings: Settings, project_id: str) -> Memory:
    """Return the memory of a project of this home. Raises NotFound if the id is unknown."""
    registry = registry_file.read_registry(settings.home)
    if project_id not in registry_file.project_ids(settings.home, registry):
        problem = f"There is no project {project_id[:40]!r} in this home."
        raise NotFound("project", problem, remedy="memory-fabric project list shows all.")
    project = _project(settings, registry, project_id)
    folder = project.root if os.path.isdir(project.root) else ""
    memory = ShownMemory(settings._replace(project_dir=folder), project)
    memory.follow_switches()
    return memory


def summaries(home: str, domain: str = "") -> list[Summary]:
    """Return the projects with memories (in `domain`, if given), most recently changed first."""
    registry = registry_file.read_registry(home)
    where, values = ("domain = ?", (domain,)) if domain else ("1", ())
    listed = []
    for id_ in registry_file.project_ids(home, registry):
        name = str(registry_file.read_card(home, id_).get("name") or id_)
        folder = next(iter(registry_file.folders_of(registry, id_)), "")
        path = os.path.join(identity.folder_of(home, id_), "graph.db")
        try:
            database = open_to_look(path, "project") if files.size_of(path) else None
            if database is None:
                continue
            with closing(database):
                [(records, entities, stated_at, changed_at)] = database.rows(
                    "SELECT (SELECT count(*) FROM records WHERE status <> 'candidate' AND "
                    f"{where}), (SELECT count(*) FROM entities WHERE {where}), "
                    f"(SELECT max(created_at) FROM records WHERE {where}), "
                    "(SELECT created_at FROM operations ORDER BY seq DESC LIMIT 1)",
                    values * 3,
                )
        except (FabricError, sqlite3.Error):
            listed += [] if domain else [Summary(id_, name, folder, readable=False)]
            continue
        changed_at = (stated_at if domain else changed_at) or ""
        if records or entities:
            listed.append(Summary(id_, name, folder, records, changed_at))
    return sorted(listed, key=lambda summary: (summary.changed_at, summary.name), reverse=True)


def _project(settings: Settings, registry: Registry, id_: str) -> Project:
    name = str(registry_file.read_card(settings.home, id_).get("name") or id_)
    in_home = os.path.join(identity.folder_of(settings.home, id_), "local")
    folders = registry_file.folders_of(registry, id_)
    for folder in filter(os.path.isdir, folders):
        place = identity.identify(os.path.realpath(folder))
        if registry_file.place_owner(registry, place) == id_:
            local = identity.local_tier(settings.home, id_, place.root, settings.user_home)
            return Project(id_, place.name, place.root, local, place.keys)
    return Project(id_, name, folders[0] if folders else in_home, in_home, ())


def as_json(summary: Summary, user_home: str) -> dict[str, Any]:
    """Return the summary for JSON output; a folder in the user's home is written as `~/…`."""
    folder = summary.folder
    if user_home and folder.startswith(os.path.join(user_home, "")):
        folder = "~" + folder[len(user_home.rstrip(os.sep)) :]
    return {**summary._asdict(), "folder": folder}
