"""Links of a folder to another project, and splits into a new project, as the user decides.

A folder's own keys (its repository or path, but not a remote, which other folders may share) are
assigned to a project and marked as settled by the user. They then determine the folder's project.
If the former project has no other folder, its current memory is copied, and the original is kept.
The copies are logged operations, so an undo can remove them.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import is_project_id
from memory_fabric.models import OTHERS, Identity, Progress, Provenance, Registry
from memory_fabric.store import files, records
from memory_fabric.store.database import Database, open_database
from memory_fabric.store.history import changes
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.home import launch_marks
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import rows
from memory_fabric.store.projects import identity, registry_file

CHUNK, MAX_RECORDS = 500, 1 << 40
# Kinds of keys that alone make no folder a project's: a worktree's repository has a key of its own.
_ADDED = (registry_file.REMOTE, "worktree:")


class KnownProject(NamedTuple):
    """A project of this home. If `asked`, a question to the user about its folder is unanswered."""

    id: str
    name: str
    folders: tuple[str, ...]
    keys: tuple[str, ...]
    records: int | None
    entities: int | None
    size_bytes: int
    asked: bool = False


class Plan(NamedTuple):
    """A planned link, split or undo: the folder leaves project `old`, and its keys move to `new`.
    `before` pairs each of these keys with its present project ('' for none). `left` lists projects
    that this leaves without a folder. For an undo, `undoes` is the saved change to reverse.
    """

    action: str
    old: KnownProject
    new: KnownProject
    before: tuple[tuple[str, str], ...]
    left: tuple[KnownProject, ...] = ()
    undoes: Mapping[str, Any] | None = None

    @property
    def coming(self) -> int:
        """Return how many records and entities a link copies from `left`; 0 for a split or undo."""
        if self.action != "link":
            return 0
        return sum((left.records or 0) + (left.entities or 0) for left in self.left)


def list_projects(home: str) -> list[KnownProject]:
    """Return all projects of this home, sorted by name."""
    registry = registry_file.read_registry(home)
    ids = registry_file.project_ids(home, registry)
    projects = (_known_project(home, registry, id_) for id_ in ids)
    return sorted(projects, key=lambda project: (project.name, project.id))


def plan(memory: Memory, action: str, wanted: str = "") -> Plan:
    """Plan a `link`, `split` or `undo` for this folder. Raises NotFound, BadInput."""
    registry, place = _registry_and_identity(memory)
    old, own, home = _id(memory), _own(place), memory.settings.home
    if action == "undo":
        return _plan_undo(memory, registry, place)
    if action == "split":
        # A folder with an open question about its claim already has a project of its own: use that.
        if place.own[0] not in registry.asked:
            used_ids = registry_file.project_ids(home, registry)
            old = registry_file.new_id(own[0], place.name, used_ids)
        return _plan(memory, registry, "split", old, own, place.name)
    new, *others = registry_file.claimed(registry, place) or ("",)
    if wanted:
        new = _named(home, registry, wanted)
    elif others or not new:
        several = f"This folder claims several projects: {', '.join((new, *others))}."
        problem = several if others else "This folder claims no other project."
        raise BadInput("KEY-OR-PATH", problem, remedy="memory-fabric project list shows all.")
    if old == new and all(registry.keys.get(key) == new for key in place.keys):
        raise BadInput("KEY-OR-PATH", f"This folder belongs to {new} already.", remedy="")
    others_of_old = {key for key, id_ in registry.keys.items() if id_ == old}
    own += [key for key in registry_file.inside(registry, place) if key in others_of_old]
    others_of_old -= {*own, *place.claims}
    # If the old project has no other folder, this folder's claims are moved, too.
    if old != new and all(key.startswith(_ADDED) for key in others_of_old):
        own += [key for key in place.claims if registry.keys.get(key) == old]
    return _plan(memory, registry, "link", new, own, place.name)


def pending_question(memory: Memory) -> str:
    """Return the unanswered question about the project that this folder claims, or ''."""
    if memory.project is None:
        return ""
    registry, place = _registry_and_identity(memory)
    is_asked = any(key in registry.asked for key in place.own)
    return registry_file.question(memory.settings.home, registry, place) if is_asked else ""


def _plan_undo(memory: Memory, registry: Registry, place: Identity) -> Plan:
    last = next((registry.undo[key] for key in _own(place) if key in registry.undo), None)
    last = last if isinstance(last, dict) else {}  # registry.json may have been edited by hand
    keys = last.get("keys")
    owners = filter(None, keys.values()) if isinstance(keys, dict) else [""]
    is_whole = all(map(is_project_id, [*owners, last.get("old")]))
    lists = (last.get(name) or [] for name in ("settled", "left", "asked"))
    if not (is_whole and all(isinstance(listed, list) for listed in lists)):
        raise NotFound("undo", "Nothing was linked or split here that could be taken back.")
    moved = [str(key) for key in last["keys"]]
    plan = _plan(memory, registry, "undo", str(last.get("old", "")), moved, place.name)
    return plan._replace(left=(), undoes=last)


def carry_out(memory: Memory, plan: Plan, by: Provenance, progress: Progress | None = None) -> int:
    """Apply the plan and flush; return the count of copied records and entities. Raises OSError,
    BadInput if another process changed the links, or (before a link moves keys) StoreUnavailable.
    """
    from memory_fabric.store.tiers import sync  # imported late: only for a change of links

    home, count = memory.settings.home, 0
    sync.drain(memory)  # what waits belongs to the project that the folder leaves
    new = _memory_of(memory, plan.new.id)
    left = [project.id for project in plan.left] if plan.action == "link" else []
    last_seqs = {id_: _last_operation(_database(home, id_)) for id_ in left}
    for id_ in left:
        count += copy_into(new, _database(home, id_), f"project {id_}", by, progress)
    with registry_file.registry_lock(home):
        registry, place = _registry_and_identity(memory)
        if any(registry.keys.get(key, "") != owner for key, owner in plan.before):
            problem = "Another process changed the links meanwhile."
            raise BadInput("project", problem, remedy="Try again.")
        changed = _undone(registry, plan) if plan.undoes else _linked(registry, plan, _own(place))
        owners = {*dict(plan.before).values(), *map(changed.keys.get, dict(plan.before))}
        names = {id_: "" for id_ in owners if id_}
        names |= {project.id: project.name for project in (*plan.left, plan.old, plan.new)}
        registry_file.write_registry(home, changed, names)
    launch_marks.forget_places(home)
    for id_ in left:  # copy records that sessions have added since the first copy
        path = _database(home, id_)
        try:
            if _last_operation(path) != last_seqs[id_]:
                count += copy_into(new, path, f"project {id_}", by)
        except StoreUnavailable as error:
            new.fail(f"{id_}: {error}")
    if plan.undoes:  # remove the copies that the link made in the project that the folder leaves
        project_memory = _memory_of(memory, plan.old.id)
        for id_ in plan.undoes.get("left") or ():
            copies = [c for c in changes.of_batch(project_memory, f"project {id_}") if not c.undone]
            if copies:
                undoing.undo(project_memory, copies, by)
        project_memory.close()
    new.flush()
    memory.failures += new.failures
    new.close()
    return count


def _linked(registry: Registry, plan: Plan, own: list[str]) -> Registry:
    moved = [key for key, _ in plan.before]
    last: dict[str, Any] = {
        "old": plan.old.id,
        "keys": dict(plan.before),
        "settled": [key for key in moved if key in registry.settled],
        "left": [project.id for project in plan.left] if plan.action == "link" else [],
    }
    asked_keys = [key for key in moved if key in registry.asked]
    last |= {"asked": asked_keys} if asked_keys else {}
    last |= {"before": registry.undo[own[0]]} if own[0] in registry.undo else {}
    return registry._replace(
        keys={**registry.keys, **dict.fromkeys(moved, plan.new.id)},
        settled=tuple(sorted({*registry.settled, *own})),
        undo={**registry.undo, own[0]: last},
        asked=tuple(key for key in registry.asked if key not in own),
    )


def _undone(registry: Registry, plan: Plan) -> Registry:
    last = plan.undoes or {}
    moved = {key for key, _ in plan.before}
    keys = {key: owner for key, owner in registry.keys.items() if key not in moved}
    keys |= {str(key): str(owner) for key, owner in last["keys"].items() if owner}
    settled = {*registry.settled} - moved | {*map(str, last.get("settled") or ())}
    undo = {key: step for key, step in registry.undo.items() if step != last}
    if isinstance(last.get("before"), dict):
        undo |= {key: last["before"] for key, step in registry.undo.items() if step == last}
    asked_keys = tuple(sorted({*registry.asked, *map(str, last.get("asked") or ())}))
    return registry._replace(keys=keys, settled=tuple(sorted(settled)), undo=undo, asked=asked_keys)


def _plan(
    memory: Memory, registry: Registry, action: str, new: str, moved: list[str], name: str
) -> Plan:
    home, old = memory.settings.home, _id(memory)
    before = tuple((key, registry.keys.get(key, "")) for key in moved)
    staying = {registry.keys[k] for k in {*registry.keys} - {*moved} if not k.startswith(_ADDED)}
    losing = dict.fromkeys([old, *(owner for _, owner in before if owner)])
    left = [id_ for id_ in losing if id_ not in {*staying, new}]
    former, *others = (_known_project(home, registry, id_) for id_ in (old, *left))
    return Plan(action, former, _known_project(home, registry, new, name), before, tuple(others))


def _own(place: Identity) -> list[str]:
    """Return the keys that only this folder and its linked worktrees have."""
    return [*place.own, place.place] if place.place else [*place.own]


def _registry_and_identity(memory: Memory) -> tuple[Registry, Identity]:
    if memory.project is None:
        raise NotFound("project", "There is no project here, only the user's memory.")
    folder = os.path.realpath(memory.settings.project_dir)
    return registry_file.read_registry(memory.settings.home), identity.identify(folder)


def _id(memory: Memory) -> str:
    assert memory.project is not None
    return memory.project.id


def _named(home: str, registry: Registry, wanted: str) -> str:
    if wanted in registry_file.project_ids(home, registry):
        return wanted
    keys: Sequence[str] = (wanted,)
    if os.path.isdir(wanted):
        keys = (wanted, *identity.identify(os.path.realpath(wanted)).keys)
    elif os.path.isabs(wanted):  # a deleted folder: try the keys that it may have had
        keys = f"git:{os.path.join(wanted, '.git')}", f"folder:{wanted}", f"worktree:{wanted}"
    if owner := registry_file.owner_of(registry, keys):
        return owner
    ids_named = [project.id for project in list_projects(home) if project.name == wanted]
    if len(ids_named) == 1:
        return ids_named[0]
    if ids_named:
        several = f"{wanted!r} is the name of several projects: {', '.join(ids_named)}."
        raise BadInput("KEY-OR-PATH", several, remedy="")
    remedy = "memory-fabric project list shows ids, keys and folders."
    raise NotFound(wanted, f"No project is known by {wanted!r}.", remedy=remedy)


def _known_project(home: str, registry: Registry, id_: str, name: str = "") -> KnownProject:
    keys = tuple(key for key, owner in registry.keys.items() if owner == id_)
    folders = tuple(registry_file.folders_in(keys))
    path, counts = _database(home, id_), registry_file.counts_of(home, id_)
    stated = str(registry_file.read_card(home, id_).get("name") or name or id_)
    size = sum(files.size_of(path + ending) for ending in ("", "-wal"))
    is_asked = any(key in registry.asked for key in keys)
    return KnownProject(id_, stated, folders, keys, *counts, size, is_asked)


def _memory_of(memory: Memory, id_: str) -> Memory:
    """Return the memory of project `id_`, opened as if the folder of `memory` belonged to it."""
    assert memory.project is not None
    project = memory.project._replace(id=id_, others=())
    if memory.project.local.startswith(identity.folder_of(memory.settings.home, "")):
        local = os.path.join(identity.folder_of(memory.settings.home, id_), "local")
        project = project._replace(local=local)
    return Memory(memory.settings, project, repair=False)


def _database(home: str, id_: str) -> str:
    return os.path.join(identity.folder_of(home, id_), "graph.db")


def copy_into(
    memory: Memory, path: str, batch: str, by: Provenance, progress: Progress | None = None
) -> int:
    """Copy this user's memories and the unprocessed texts in the database at `path` into this
    project, as one `batch`. Returns the count of records and entities. Raises StoreUnavailable.
    """
    source, count = open_database(path, "project", create=False), 0
    if source is None:
        return count
    with closing(source):
        steps = list(_steps(source))
        for number, (kind, payload) in enumerate(steps, start=1):
            result = memory.write_now(kind, {**payload, "batch": batch}, by, store="project")
            count += bool(result.get("record")) if kind == "put_record" else 0
            count += len(payload.get("entities", ()))
            if progress is not None:
                progress(number, len(steps))
    return count


def _last_operation(path: str) -> int:
    source = open_database(path, "project", create=False)
    if source is None:
        return 0
    with closing(source):
        [(last,)] = source.rows("SELECT coalesce(max(seq), 0) FROM operations")
        return int(last)


def _steps(source: Database) -> Iterator[tuple[str, dict[str, Any]]]:
    c = source.connection
    stored = records.find(c, "scope <> 'local' AND source <> ?", (OTHERS,), MAX_RECORDS)
    # Copy newer records first: a copy keeps its link to a successor only if the successor exists.
    for record, sessions in stored:
        claimed = rows.claimed(c, record.id)
        payload = {"record": records.as_object(record), "seen_in": sessions}
        yield "put_record", payload | {"rows": {t: _plain(r) for t, r in claimed.items()}}
    copied = {record.id for record, _ in stored}
    for table in rows.nothing():
        # Skip rows that a copied record added or states (`claims`): they were copied with it.
        unclaimed = (row for row in rows.own(c, table) if row["record"] not in copied)
        some = [row for row in unclaimed if copied.isdisjoint(row.get("claims") or ())]
        for at in range(0, len(some), CHUNK):
            yield "restore", {**rows.nothing(), table: _plain(some[at : at + CHUNK])}
    for id_, body in source.rows("SELECT id, body FROM intake WHERE state <> 'done' ORDER BY seq"):
        yield "ingest", {"id": id_, "ingest": json.loads(body)}


def _plain(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows without row ids; the database into which they are copied assigns new ids."""
    return [{**row, "id": None} for row in listed]
