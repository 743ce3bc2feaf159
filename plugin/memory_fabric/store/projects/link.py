"""Links of a folder to another project, and splits into a project of its own, by the user's choice.

A folder's own keys (its repository or path, not a remote, which others may share) are assigned to a
project and marked as settled, so they decide from then on. If no other folder has the project that
it leaves, its memory is copied along; it also stays where it was.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from memory_fabric.errors import BadInput, NotFound, StoreUnavailable
from memory_fabric.ids import is_project_id
from memory_fabric.models import Identity, Progress, Provenance, Registry
from memory_fabric.store import launch_marks
from memory_fabric.store.history import changes
from memory_fabric.store.history import undo as undoing
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import claims, copy_project, identity

REMOTE = "remote:"


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project of this home; `records` and `entities` are None if they cannot be counted.

    `pending_question`: its folder claims another project, and the user has not answered yet.
    """

    id: str
    name: str
    folders: tuple[str, ...]
    keys: tuple[str, ...]
    records: int | None
    entities: int | None
    size_bytes: int
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A planned link, split or undo: keys move to project `new`; the folder's project was `old`.

    `before` has each of these keys with the id of its project until now, or ''. `left` are projects
    that then have no folder any more. `undoes` is the saved undo information, if the plan is an
    undo.
    """

    action: str
    old: KnownProject
    new: KnownProject
    before: tuple[tuple[str, str], ...]
    left: tuple[KnownProject, ...] = ()
    undoes: Mapping[str, Any] | None = None

    @property
    def coming(self) -> int:
        """Number of records and entities that are copied from projects that are left."""
        if self.action != "link":
            return 0
        return sum((one.records or 0) + (one.entities or 0) for one in self.left)


def list_projects(home: str) -> list[KnownProject]:
    """Return all projects of this home, by name."""
    registry = identity.read_registry(home)
    ids = dict.fromkeys([*registry.keys.values(), *identity.project_ids(home)])
    return sorted(
        (_known_project(home, registry, id_) for id_ in ids), key=lambda k: (k.name, k.id)
    )


def plan(memory: Memory, action: str, wanted: str = "") -> Plan:
    """Plan `link`, `split` or `undo` of this folder. Raises NotFound, BadInput."""
    if action == "link":
        return plan_link(memory, wanted)
    return plan_split(memory) if action == "split" else plan_undo(memory)


def pending_question(memory: Memory) -> str:
    """Return the question about this folder's claim; empty if there is none."""
    if memory.project is None:
        return ""
    registry, found = _registry_and_identity(memory)
    if not any(key in registry.asked for key in found.own):
        return ""
    return claims.question(
        registry, found, identity.first_claimed(memory.settings.home, registry, found)
    )


def plan_link(memory: Memory, wanted: str) -> Plan:
    """Plan to link this folder with another project; by default with the one that it claims.

    Raises NotFound, BadInput.
    """
    registry, found = _registry_and_identity(memory)
    old = _id(memory)
    if wanted:
        new = _named(memory.settings.home, registry, wanted)
    else:
        new = _claimed(registry, found)
    own = _own(found)
    if old == new and all(registry.keys.get(key) == new for key in found.keys):
        raise BadInput("KEY-OR-PATH", f"This folder belongs to {new} already.", remedy="")
    moved = [*own, *_abandoned_claims(registry, found, own, old, new)]
    return _plan(memory, registry, "link", new, moved, found.name)


def plan_split(memory: Memory) -> Plan:
    """Plan to give this folder a project of its own.

    A folder that already has one, because its claim is not proved, keeps it.
    """
    registry, found = _registry_and_identity(memory)
    own = _own(found)
    if found.own[0] in registry.asked:
        return _plan(memory, registry, "split", _id(memory), own, found.name)
    taken = {*registry.keys.values(), *identity.project_ids(memory.settings.home)}
    new = claims.new_id(own[0], found.name, taken)
    return _plan(memory, registry, "split", new, own, found.name)


def plan_undo(memory: Memory) -> Plan:
    """Plan to undo this folder's last link or split. Raises NotFound."""
    registry, found = _registry_and_identity(memory)
    last = next((registry.undo[key] for key in _own(found) if key in registry.undo), None)
    if not _can_be_undone(last):
        raise NotFound("undo", "Nothing was linked or split here that could be taken back.")
    back = str(last.get("old", ""))
    moved = [str(key) for key in last["keys"]]
    plan = _plan(memory, registry, "undo", back, moved, found.name)
    return replace(plan, left=(), undoes=last)


def _can_be_undone(last: Any) -> TypeGuard[dict[str, Any]]:
    """True if the registry's undo information has the form in which it is written."""
    if not isinstance(last, dict) or not isinstance(last.get("keys"), dict):
        return False
    ids = [last.get("old"), *(owner for owner in last["keys"].values() if owner)]
    lists = (last.get(name) or [] for name in ("settled", "left", "asked"))
    return all(map(is_project_id, ids)) and all(isinstance(listed, list) for listed in lists)


def carry_out(memory: Memory, plan: Plan, by: Provenance, progress: Progress | None = None) -> int:
    """Carry out the plan and flush; return how many records and entities were copied.

    Raises StoreUnavailable (nothing has changed then), BadInput if another process changed the
    links meanwhile, OSError.
    """
    home, count = memory.settings.home, 0
    new = _memory_of(memory, plan.new.id)
    left = [one.id for one in plan.left] if plan.action == "link" else []
    known = {id_: copy_project.last_operation(_database(home, id_)) for id_ in left}
    for id_ in left:
        count += copy_project.copy_into(new, _database(home, id_), _batch(id_), by, progress)
    with identity.registry_lock(home):
        registry, found = _registry_and_identity(memory)
        if any(registry.keys.get(key, "") != owner for key, owner in plan.before):
            raise BadInput(
                "project", "Another process changed the links meanwhile.", remedy="Try again."
            )
        changed = _undone(registry, plan) if plan.undoes else _linked(registry, plan, _own(found))
        owners = {*dict(plan.before).values(), *map(changed.keys.get, dict(plan.before))}
        names = {id_: "" for id_ in owners if id_}
        names |= {one.id: one.name for one in (*plan.left, plan.old, plan.new)}
        identity.write_registry(home, changed, names)
    launch_marks.forget_places(home)
    for id_ in left:
        count += _copy_late_changes(new, id_, known[id_], by)
    if plan.undoes:
        _undo_copy(_memory_of(memory, plan.old.id), plan.undoes, by)
    new.flush()
    memory.failures += new.failures
    new.close()
    return count


def _copy_late_changes(new: Memory, id_: str, newest: int, by: Provenance) -> int:
    """Copy what a session added to a project while it was being left; return how many."""
    path = _database(new.settings.home, id_)
    try:
        return (
            copy_project.copy_into(new, path, _batch(id_), by)
            if copy_project.last_operation(path) != newest
            else 0
        )
    except StoreUnavailable as error:
        new.fail(f"{id_}: {error}")
        return 0


def _linked(registry: Registry, plan: Plan, own: list[str]) -> Registry:
    moved = [key for key, _ in plan.before]
    last: dict[str, Any] = {
        "old": plan.old.id,
        "keys": dict(plan.before),
        "settled": [key for key in moved if key in registry.settled],
        "left": [one.id for one in plan.left] if plan.action == "link" else [],
    }
    last |= {"asked": asked} if (asked := [key for key in moved if key in registry.asked]) else {}
    if own[0] in registry.undo:
        last["before"] = registry.undo[own[0]]
    keys = {**registry.keys, **dict.fromkeys(moved, plan.new.id)}
    settled = tuple(sorted({*registry.settled, *own}))
    return registry._replace(
        keys=keys,
        settled=settled,
        undo={**registry.undo, own[0]: last},
        asked=tuple(key for key in registry.asked if key not in own),
    )


def _undone(registry: Registry, plan: Plan) -> Registry:
    last = plan.undoes or {}
    moved = {key for key, _ in plan.before}
    keys = {key: owner for key, owner in registry.keys.items() if key not in moved}
    keys |= {str(key): str(owner) for key, owner in last["keys"].items() if owner}
    settled = {*registry.settled} - moved | {*map(str, last.get("settled") or ())}
    undo = {key: one for key, one in registry.undo.items() if one != last}
    if isinstance(last.get("before"), dict):
        undo |= {key: last["before"] for key, one in registry.undo.items() if one == last}
    asked = tuple(sorted({*registry.asked, *map(str, last.get("asked") or ())}))
    return registry._replace(keys=keys, settled=tuple(sorted(settled)), undo=undo, asked=asked)


def _undo_copy(there: Memory, last: Mapping[str, Any], by: Provenance) -> None:
    """Undo the copying into a project, for a folder that leaves it again."""
    for id_ in last.get("left") or ():
        copies = [c for c in changes.of_batch(there, _batch(str(id_))) if not c.undone]
        if copies:
            undoing.undo(there, copies, by)
    there.close()


def _batch(id_: str) -> str:
    return f"project {id_}"


def _plan(
    memory: Memory, registry: Registry, action: str, new: str, moved: list[str], name: str
) -> Plan:
    home, old = memory.settings.home, _id(memory)
    before = tuple((key, registry.keys.get(key, "")) for key in moved)
    staying = {owner for key, owner in registry.keys.items() if key not in moved}
    losing = dict.fromkeys([old, *(owner for _, owner in before if owner)])
    return Plan(
        action,
        _known_project(home, registry, old),
        _known_project(home, registry, new, name),
        before,
        tuple(_known_project(home, registry, id_) for id_ in losing if id_ not in {*staying, new}),
    )


def _abandoned_claims(
    registry: Registry, found: Identity, own: list[str], old: str, new: str
) -> list[str]:
    """Return the folder's claims on its project, if no other folder belongs to that project."""
    others = [
        key
        for key, id_ in registry.keys.items()
        if id_ == old and not key.startswith(REMOTE) and key not in (*own, *found.claims)
    ]
    if others or old == new:
        return []
    return [key for key in found.claims if registry.keys.get(key) == old]


def _own(found: Identity) -> list[str]:
    """Return the keys that belong to this folder and its linked worktrees alone."""
    return [*found.own, found.place] if found.place else [*found.own]


def _registry_and_identity(memory: Memory) -> tuple[Registry, Identity]:
    if memory.project is None:
        raise NotFound("project", "There is no project here, only the user's memory.")
    folder = os.path.realpath(memory.settings.project_dir)
    return identity.read_registry(memory.settings.home), identity.identify(folder)


def _id(memory: Memory) -> str:
    assert memory.project is not None
    return memory.project.id


def _claimed(registry: Registry, found: Identity) -> str:
    """Return the one project that a folder claims. Raises NotFound, BadInput."""
    others = identity.claimed(registry, found)
    if len(others) == 1:
        return others[0]
    several = f"This folder claims several projects: {', '.join(others)}."
    text = several if others else "This folder claims no other project."
    raise BadInput("KEY-OR-PATH", text, remedy="memory-fabric project list shows all.")


def _named(home: str, registry: Registry, wanted: str) -> str:
    """Return the id of a project by id, key, path of a folder, or a name that only one has."""
    ids = {*registry.keys.values(), *identity.project_ids(home)}
    if wanted in ids:
        return wanted
    if wanted in registry.keys:
        return registry.keys[wanted]
    owner = identity.owner_of(registry, _keys_of(wanted))
    if owner:
        return owner
    named = [one.id for one in list_projects(home) if one.name == wanted]
    if len(named) == 1:
        return named[0]
    if named:
        raise BadInput(
            "KEY-OR-PATH",
            f"{wanted!r} is the name of several projects: {', '.join(named)}.",
            remedy="",
        )
    raise NotFound(
        wanted,
        f"No project is known by {wanted!r}.",
        remedy="memory-fabric project list shows ids, keys and folders.",
    )


def _keys_of(path: str) -> Sequence[str]:
    """Return the keys of a folder; if it is gone, those that it may have had."""
    if os.path.isdir(path):
        return identity.identify(os.path.realpath(path)).keys
    if not os.path.isabs(path):
        return ()
    return f"git:{os.path.join(path, '.git')}", f"folder:{path}", f"worktree:{path}"


def _known_project(home: str, registry: Registry, id_: str, name: str = "") -> KnownProject:
    keys = tuple(key for key, owner in registry.keys.items() if owner == id_)
    folders = [claims.folder_in(key) for key in keys if not key.startswith(REMOTE)]
    path = os.path.join(identity.folder_of(home, id_), "graph.db")
    records, entities = _counts(path)
    stated = str(identity.read_card(home, id_).get("name") or name or id_)
    size = sum(_size(path + ending) for ending in ("", "-wal"))
    folders = [folder for folder in dict.fromkeys(folders) if os.path.isabs(folder)]
    asked = any(key in registry.asked for key in keys)
    return KnownProject(id_, stated, tuple(folders), keys, records, entities, size, asked)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _counts(path: str) -> tuple[int | None, int | None]:
    """Count the records and entities of a database, read-only; (None, None) if that fails."""
    if not os.path.exists(path):
        return 0, 0
    try:
        connection = sqlite3.connect(path)
        try:
            connection.execute("PRAGMA query_only = 1")
            count = "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM entities)"
            records, entities = connection.execute(count).fetchone()
            return int(records), int(entities)
        finally:
            connection.close()
    except sqlite3.Error:
        return None, None


def _memory_of(memory: Memory, id_: str) -> Memory:
    """Return the memory of another project with this folder as its place."""
    assert memory.project is not None
    project = memory.project._replace(id=id_, others=())
    if memory.project.local.startswith(identity.folder_of(memory.settings.home, "")):
        local = os.path.join(identity.folder_of(memory.settings.home, id_), "local")
        project = project._replace(local=local)
    return Memory(memory.settings, project, repair=False)


def _database(home: str, id_: str) -> str:
    return os.path.join(identity.folder_of(home, id_), "graph.db")
