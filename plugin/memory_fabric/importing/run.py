"""One import: a source's new content, grouped by project and stored as one batch for undo."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import FabricError, StoreUnavailable
from memory_fabric.importing import items, past_sessions, runs
from memory_fabric.importing.items import Here, Item, Left, LeftOut
from memory_fabric.importing.sources import Source
from memory_fabric.models import Progress, Record, Relation
from memory_fabric.store import records, write
from memory_fabric.store.database import Database
from memory_fabric.store.memory import USER_SCOPES, Memory
from memory_fabric.store.operations.remember import is_forgotten
from memory_fabric.store.projects import file_states, identity
from memory_fabric.store.queries import graph
from memory_fabric.text import same_form

FILE = "import.json"
NO_FOLDER = "of projects without a known folder on this machine"
SEVERAL = "of projects whose name several folders have"


class Part(NamedTuple):
    """A project's share of an import; `folder` is '' for the project in which the import runs."""

    folder: str
    name: str
    records: tuple[Record, ...] = ()
    relations: tuple[Relation, ...] = ()


class Plan(NamedTuple):
    """A source's new statements by project, the omitted ones, and its `names` for this project."""

    source: Source
    path: str
    found: int
    parts: tuple[Part, ...]
    left: tuple[LeftOut, ...]
    names: tuple[str, ...] = ()

    @property
    def new(self) -> int:
        """The number of statements that will be stored."""
        return sum(len(part.records) for part in self.parts)


def new_batch() -> str:
    """Return the id of a new import's batch, which the user can pass to `undo --step`."""
    return f"import-{ids.new_id()[-8:]}"


def plan(
    memory: Memory, source: Source, path: str, here: Here, others: dict[str, list[str]]
) -> Plan:
    """Select what to store from a source; write nothing. `others` maps other projects to folders;
    if empty, statements about these are left out. Raises BadInput, StoreUnavailable, OSError.
    """
    reading = source.read(path, here._replace(whole=True) if others else here)
    left = Left(reading.left)
    groups: dict[str, list[Item]] = {"": []}
    for item in reading.items:
        name = item.project.casefold()
        if not item.project or here.is_stated(item.project) or (here.whole and not others):
            groups[""].append(item)
        elif not others:
            left.add(items.ELSEWHERE, item.project)
        elif os.path.isdir(item.project) and os.path.isabs(item.project):
            groups.setdefault(identity.worktree_of(os.path.realpath(item.project)), []).append(item)
        elif len(folders := others.get(name, others.get(name.split("/")[0], []))) == 1:
            groups.setdefault(folders[0], []).append(item)
        else:
            left.add(SEVERAL if folders else NO_FOLDER, item.project)
    now, parts = ids.timestamp(), []
    for folder, of_folder in groups.items():
        relations = () if folder else reading.relations
        with _opened(memory, folder) as opened:
            name = opened.project.name if opened.project else "the user"
            if folder and not opened.settings.writes:
                left.add("of projects in which capture is off", name, len(of_folder))
                continue
            chosen = _chosen(opened, of_folder, source.key, now, left)
            graphs = [graph.read_graph(db) for db in opened.databases()] if relations else []
        stored = {relation for one in graphs for relation in one.relations}
        unknown = tuple(relation for relation in relations if relation not in stored)
        parts.append(Part(folder, name, chosen, unknown))
    stated = (item.project for item in groups[""] if item.project)
    names = tuple(dict.fromkeys(name for name in stated if not os.path.isabs(name)))
    number = len(reading.items) + sum(one.number for one in reading.left)
    return Plan(source, path, number, tuple(parts), left.all, names)


def _chosen(
    memory: Memory, stated: Sequence[Item], source: str, now: str, left: Left
) -> tuple[Record, ...]:
    by_form: dict[tuple[str, str], Record] = {}
    for item in sorted(stated, key=lambda item: item.at or now):
        record = items.record_of(item, source, memory, now)
        key = (record.scope, same_form(record.what))
        if reason := items.worthless(record):
            left.add(reason, item.what if reason != items.SECRET else "")
        elif key in by_form:
            left.add(items.TWICE, record.what)
        else:
            by_form[key] = record
    new: list[Record] = []
    for database, some in _chunks(memory, by_form.values()):
        ids_, keys = [r.id for r in some], [records.key_of(r.what) for r in some]
        same_id = {r.id for r in records.among(database, "id", ids_)} if database else ()
        same_key = records.among(database, "key", keys) if database else ()
        current = [r for r in same_key if not (r.superseded_by or r.valid_to)]
        texts = {(r.scope, r.domain, same_form(r.what)) for r in current}
        for record in some:
            text = (record.scope, record.domain, same_form(record.what))
            if record.id in same_id or text in texts:
                left.add(items.KNOWN, record.what)
            elif database and is_forgotten(database.connection, record):
                left.add(items.FORGOTTEN)
            else:
                new.append(record)
    return tuple(sorted(new, key=lambda record: record.created_at))


def _chunks(
    memory: Memory, chosen: Iterable[Record], *, create: bool = False
) -> Iterator[tuple[Database | None, list[Record]]]:
    stores: dict[str, list[Record]] = {}
    for record in chosen:
        store = "user" if record.scope in USER_SCOPES else "project"
        stores.setdefault(store, []).append(record)
    for store, some in stores.items():
        database = memory.database(store, create=create)
        for start in range(0, len(some), records.CHUNK):
            yield database, some[start : start + records.CHUNK]


def store(
    memory: Memory, plans: Sequence[Plan], batch: str, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Store all plans as one batch; return one result for each plan: the numbers of stored
    `records` and `relations`, and the id of the `batch`. Raises StoreUnavailable.
    """
    due = [[part for part in plan.parts if part.records or part.relations] for plan in plans]
    own = memory.settings.project_dir
    if folders := {part.folder or own: part.folder or own for parts in due for part in parts}:
        run = runs.Run(batch, ids.timestamp(), folders, state="done")
        runs.save(memory.settings.home, run, FILE)
    results = []
    for parts in due:
        count = related = 0
        for part in parts:
            with _opened(memory, part.folder) as opened:
                new = _store(opened, part, batch, progress)
                memory.failures += opened.failures if part.folder else []
            count, related = count + new[0], related + new[1]
        results.append({"records": count, "relations": related, "batch": batch})
    return results


def _store(memory: Memory, part: Part, batch: str, progress: Progress | None) -> tuple[int, int]:
    by, settings = items.provenance(memory), memory.settings
    # Store records before relations, so that their entities are created with the right types.
    steps: list[tuple[Database | None, list[tuple[str, dict[str, Any]]]]] = []
    for database, some in _chunks(memory, part.records, create=True):
        objects = (
            records.as_object(record._replace(author=settings.author, origin=settings.origin))
            for record in some
        )
        steps.append((database, [("remember", {"record": o, "past": True}) for o in objects]))
    if part.relations:
        database = memory.database("project" if memory.project else "user", create=True)
        steps.append((database, list(write.create_operations(part.relations))))
    count = related = number = 0
    for database, named in steps:
        assert database is not None
        payloads = ((name, {**payload, "batch": batch}) for name, payload in named)
        operations = [memory.operation(n, p, by, database.kind) for n, p in payloads]
        try:
            results = write.apply_all(database, operations)
        except FabricError as error:
            text = f"{count} of {len(part.records)} memories were imported: {error}"
            remedy = f"Run it again for the rest, or memory-fabric undo --step {batch}."
            raise StoreUnavailable(database.path, text, remedy=remedy) from error
        count += sum(bool(r.get("record")) and not r.get("repeated") for r in results)
        related += sum(len(r.get("relations", ())) for r in results)
        number += len(operations)
        if progress:
            progress(number, len(part.records) + 2)
    if (project := memory.database("project", create=False)) is not None:
        file_states.drop_due(project, batch)
    memory.flush()
    return count, related


@contextmanager
def _opened(memory: Memory, folder: str) -> Iterator[Memory]:
    """Yield the memory of a folder's project and close it afterwards; for '', yield `memory`."""
    if not folder:
        yield memory
        return
    opened = Memory.open(memory.settings._replace(project_dir=folder))
    opened.batch = memory.batch
    try:
        yield opened
    finally:
        opened.close()


def folders_by_name(settings: Settings, roots: dict[str, str]) -> dict[str, list[str]]:
    """Map each name of a project with sessions on this machine to the project's folders."""
    folders: dict[str, list[str]] = {}
    for root, names in _places(settings, roots).items():
        for name in names:
            folders.setdefault(name, []).append(root)
    return folders or {"": []}


def twins(memory: Memory, here: Here, plans: Sequence[Plan], roots: dict[str, str]) -> list[str]:
    """Return folders of other projects that have a name by which a source calls this project."""
    if not (stated := {name.casefold().split("/")[0] for plan in plans for name in plan.names}):
        return []
    places = _places(memory.settings, roots, without=memory.project.id if memory.project else "")
    same = (root for root, names in places.items() if names & stated)
    return sorted(root for root in same if root not in here.roots)


def _places(settings: Settings, roots: dict[str, str], without: str = "") -> dict[str, set[str]]:
    """Map the root of each project with sessions to its names; skip the project id `without`."""
    names: dict[str, set[str]] = {}
    for session in past_sessions.make(settings, roots, time.time()):
        place = session.place
        if place.gone or (without and place.id == without) or not os.path.isdir(place.root):
            continue
        own = {place.name.casefold(), os.path.basename(place.root).casefold()}
        names.setdefault(place.root, set()).update(own)
    return names
