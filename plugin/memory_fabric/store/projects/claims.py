"""Folders that are new to this home: the project of each, and the notice about it.

The remote of a repository, and a repository that a `.git` file points at, are only claims: an
unpacked archive can make them, too. If a claimed project is known already, the folder gets a
project of its own and the user is asked (docs/decisions/0035).
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from memory_fabric.ids import checksum
from memory_fabric.models import Identity, Registry, Trust


def assign(
    home: str, local: str, known: Registry, found: Identity, trust: Trust
) -> tuple[Registry, str]:
    """Return the registry and the id of the project that a new folder joins or begins.

    `local` is the path of the local tier within a folder.
    """
    back = _moved(home, local, known, found)
    if back:
        return back
    owners = [known.keys[key] for key in (*found.claims, found.pointer) if key in known.keys]
    if owners and _is_trusted(found, trust):
        return known, owners[0]
    taken = {*known.keys.values()}
    if not owners:
        return known, new_id(found.keys[0], found.name, taken)
    # Settled, so that releases that trusted claims leave the folder alone, too.
    settled = tuple(sorted({*known.settled, *found.own}))
    asked = tuple(sorted({*known.asked, found.own[0]}))
    id_ = new_id(found.own[0], found.name, taken)
    return known._replace(settled=settled, asked=asked), id_


def leave_notice(
    home: str, known: Registry, now: Registry, found: Identity, id_: str, other: tuple[str, str]
) -> None:
    """Leave a notice for the next session in a folder that makes a claim or was moved.

    `id_` is the project of the folder; for `other` see `question`. Raises OSError.
    """
    from memory_fabric.store import notices  # only needed with a notice

    missing = [key for key in known.keys if key not in now.keys]
    if {*now.asked} - {*known.asked}:
        text = question(now, found, other)
    elif missing:
        text = (
            f"This folder was {folder_in(missing[0])}: it is still that project, with its memory."
        )
    else:
        return
    notices.add(home, text, place=id_)


def question(known: Registry, found: Identity, other: tuple[str, str]) -> str:
    """Return the question about a folder that claims another project; '' if it claims none.

    `other` is the id and name of that project.
    """
    other_id, name = other
    if not other_id:
        return ""
    key = next(
        (k for k in (*found.claims, found.pointer) if known.keys.get(k) == other_id), other_id
    )
    kind, _, stated = key.partition(":")
    says = "states the remote" if kind == "remote" else "points at the repository"
    return (
        f"{found.root} {says} {stated} of the project {name}, which proves nothing: it has a "
        f"memory of its own. If both are one, type /memory-fabric:project link {other_id} (or "
        f"run memory-fabric project link {other_id} in a terminal); project undo takes it back."
    )


def new_id(key: str, name: str, taken: Collection[str]) -> str:
    """Return a readable id from the name and a checksum of the key; the same for the same key."""
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower())
    slug = "-".join(plain.split())[:40] or "project"
    salt = 0
    while True:
        id_ = f"{slug}-{checksum(f'{key}{salt or str()}'):08x}"
        if id_ not in taken:
            return id_
        salt += 1


def folder_in(key: str) -> str:
    """Return the folder that a key names."""
    kind, _, path = key.partition(":")
    own = kind == "git" and os.path.basename(path) == ".git"
    return os.path.dirname(path) if own else path


def _is_trusted(found: Identity, trust: Trust) -> bool:
    if trust.everywhere:
        return True
    roots = [os.path.realpath(root) for root in trust.roots]
    return any(found.root.startswith(os.path.join(root, "")) for root in roots)


def _moved(home: str, local: str, known: Registry, found: Identity) -> tuple[Registry, str] | None:
    """Return the registry with the new path of a folder that was moved here, and its project.

    The folder's file of own lines proves it: signed with the key of this home for this very folder
    (its inode, which a copy does not have), at a path that no longer exists.
    """
    from memory_fabric.store.projects import own_lines

    head = own_lines.header(home, os.path.join(found.root, local))
    if head is None or head.project not in known.keys.values():
        return None
    if head.inode != own_lines.inode_of(found.root):
        return None
    if head.root != found.root and os.path.lexists(head.root):
        return None
    return _renamed(known, head.project, head.root, found.root), head.project


def _renamed(known: Registry, id_: str, old: str, new: str) -> Registry:
    """Return the registry with the project's keys at or below `old` moved to `new`."""
    names = {
        key: f"{kind}:{new}{path[len(old) :]}"
        for key, owner in known.keys.items()
        for kind, _, path in (key.partition(":"),)
        if owner == id_ and kind != "remote" and f"{path}{os.sep}".startswith(f"{old}{os.sep}")
    }
    return known._replace(
        keys={names.get(key, key): owner for key, owner in known.keys.items()},
        settled=tuple(sorted(names.get(key, key) for key in known.settled)),
        asked=tuple(sorted(names.get(key, key) for key in known.asked)),
        earlier=tuple(sorted(names.get(key, key) for key in known.earlier)),
        undo=_with_names(known.undo, names),
    )


def _with_names(value: Any, names: dict[str, str]) -> Any:
    """Replace keys in the saved undo information."""
    if isinstance(value, dict):
        return {names.get(k, k): _with_names(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_names(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value
