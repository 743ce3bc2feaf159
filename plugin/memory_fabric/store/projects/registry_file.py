"""The registry of this home: the project of each folder, by the folder's keys.

A key is the path of a folder or of its `.git`, or a git remote (see `identity`). `registry.json`
assigns the keys to projects. Each project's folder in home has a card file, `project.json`, with a
copy of the project's keys. A lost or damaged registry is rebuilt from the cards. A git remote, or a
`.git` file whose repository does not point back, does not prove which project a folder belongs to:
an unpacked archive can contain both. If a new folder claims a known project in this way, the folder
gets a separate project, and the user is asked whether both are one (docs/decisions/0035).
"""

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import count
from typing import Any

from memory_fabric.errors import StoreUnavailable
from memory_fabric.ids import checksum, is_project_id
from memory_fabric.models import DAMAGED, LOST, SOUND, Identity, Project, Registry, Trust
from memory_fabric.store import files
from memory_fabric.store.projects import identity
from memory_fabric.store.projects.identity import LOCAL_FOLDER, folder_of
from memory_fabric.text import first_of

Cards = Mapping[str, Mapping[str, Any]]

REMOTE = "remote:"
REGISTRY, CARD = "registry.json", "project.json"
# The text in the registry file just before the checksum, which is the last field.
SUM_MARK = ',\n "sum": "'
# A prime below 2^30, the modulus of the checksum: flipping one bit always changes the remainder.
SUM_PRIME = 1_073_741_789
_NO_TRUST = Trust()


def find_project(
    home: str, folder: str, user_home: str = "", trust: Trust = _NO_TRUST
) -> Project | None:
    """Return a folder's project, None for ''. A new folder is registered if home can be written.
    The folder `user_home` gets no journal. Folders in `trust` may join a known project unasked.
    """
    if not folder:
        return None
    place = identity.identify(os.path.realpath(folder))
    before = read_registry(home)
    now = _with_keys(home, before, place, trust)
    if before.state != SOUND or now is not before:
        try:
            with registry_lock(home):
                before = read_registry(home)
                now = _with_keys(home, before, place, trust)._replace(state=SOUND)
                _write(home, before, now, place)
        except OSError:
            now = _with_keys(home, before, place, trust)
    id_ = place_owner(now, place)
    local = identity.local_tier(home, id_, place.root, user_home)
    return Project(id_, place.name, place.root, local, place.keys, claimed(now, place))


def read_registry(home: str) -> Registry:
    """Return the registry; if it is lost or damaged, rebuild it from the projects' cards."""
    path = os.path.join(home, REGISTRY)
    text = files.readable_text(path)
    page = files.parsed(text) or {}
    keys, undo = page.get("keys"), page.get("undo")
    pairs = keys.items() if isinstance(keys, dict) else ()
    owned = {str(key): str(id_) for key, id_ in pairs if is_project_id(id_)}
    head, mark, tail = text.rpartition(SUM_MARK)
    if owned and mark and tail == f'{_sum(head)}"\n}}':
        settled, asked = (files.text_list(page.get(name)) for name in ("settled", "asked"))
        return Registry(owned, settled, undo if isinstance(undo, dict) else {}, asked)
    on_cards = _read(read_cards(home))
    state = DAMAGED if os.path.lexists(path) else LOST
    return on_cards._replace(keys=on_cards.keys or owned, state=state)


def _sum(text: str) -> int:
    return int.from_bytes(text.encode("utf-8", "replace"), "little") % SUM_PRIME


def registry_stamp(home: str) -> files.Stamp:
    """Return a value that changes whenever the registry is written."""
    return files.stamp(os.path.join(home, REGISTRY))


def write_registry(home: str, registry: Registry, names: Mapping[str, str]) -> None:
    """Write the registry and the card files of the projects in `names`, which maps ids to names (''
    keeps the present name). Raises OSError.
    """
    lists = {"settled": registry.settled, "asked": registry.asked}
    page: dict[str, Any] = {"keys": dict(registry.keys)}
    page |= {name: sorted(keys) for name, keys in lists.items() if keys}
    page |= {"undo": dict(registry.undo)} if registry.undo else {}
    head = files.pretty_json(page).decode().removesuffix("\n}")
    files.write_atomic(os.path.join(home, REGISTRY), f'{head}{SUM_MARK}{_sum(head)}"\n}}'.encode())
    for id_, name in names.items():
        name = name or str(read_card(home, id_).get("name", ""))
        keys = [key for key, owner in registry.keys.items() if owner == id_]
        card: dict[str, Any] = {"id": id_, "name": name, "keys": keys}
        for field in ("settled", "asked"):
            mine = [key for key in keys if key in lists[field]]
            card |= {field: mine} if mine else {}
        files.write_atomic(os.path.join(folder_of(home, id_), CARD), files.pretty_json(card))


def registry_lock(home: str) -> files.Locked:
    """Return the lock to be held while the registry is read and changed."""
    return files.Locked(os.path.join(home, REGISTRY + ".lock"))


def read_card(home: str, id_: str) -> dict[str, Any]:
    """Return a project's card file (its id, name and folders' keys); {} if the file is missing."""
    return files.read_json(os.path.join(folder_of(home, id_), CARD))


def read_cards(home: str) -> dict[str, dict[str, Any]]:
    """Return the card files of all projects of this home, by project id."""
    return {id_: read_card(home, id_) for id_ in project_ids(home)}


def has_lost_card(home: str, id_: str) -> bool:
    """Return True if a registered project lacks the card file that its registration wrote."""
    card = os.path.join(folder_of(home, id_), CARD)
    return not os.path.exists(card) and os.path.exists(os.path.join(home, REGISTRY))


def owner_of(registry: Registry, keys: Sequence[str]) -> str:
    """Return the project of the first registered key, or ''. Keys in `registry.settled` win."""
    known_keys = [key for key in keys if key in registry.keys]
    deciding = [key for key in known_keys if key in registry.settled] or known_keys
    return registry.keys[deciding[0]] if deciding else ""


def claimed(registry: Registry, folder: Identity) -> tuple[str, ...]:
    """Return the ids of the projects that the folder claims: those with a key or the `pointer` of
    the folder, except its own project. Return () if the user has chosen its project.
    """
    id_ = place_owner(registry, folder)
    is_asked = any(key in registry.asked for key in folder.own)
    if not is_asked and any(key in registry.settled for key in folder.keys):
        return ()
    parts = inside(registry, folder) if is_asked else ()
    owners = [registry.keys.get(key, "") for key in (*folder.keys, folder.pointer, *parts)]
    return tuple(dict.fromkeys(owner for owner in owners if owner not in ("", id_)))


def place_owner(registry: Registry, folder: Identity) -> str:
    """Return the project that has the folder's path or `.git`, or ''. Git remotes are ignored."""
    keys = registry.keys
    if owner := owner_of(registry, folder.own):
        return owner
    pointed_key = folder.pointer or (folder.claims[-1] if folder.claims else "")
    if folder.place and keys.get(folder.place) == keys.get(pointed_key, "none"):
        return keys[folder.place]  # git pruned this worktree, but its path is still registered
    return next((keys[key] for key in folder.also if key in keys), "")


def _with_keys(home: str, registry: Registry, folder: Identity, trust: Trust) -> Registry:
    """Return the registry with this folder's keys added; the same object if nothing changes."""
    id_, is_asked = place_owner(registry, folder), False
    if not id_ and (moved := _moved(home, registry, folder)):
        registry, id_ = moved
    if not id_:
        claims = (*folder.claims, folder.pointer)
        id_ = next((registry.keys[key] for key in claims if key in registry.keys), "")
        roots = tuple(os.path.join(os.path.realpath(root), "") for root in trust.roots)
        if not (id_ and (trust.everywhere or folder.root.startswith(roots))):
            # If the folder claims project `id_` without proof, keep it apart, and ask the user.
            is_asked = id_ != ""
            owners = {*registry.keys.values()}
            id_ = new_id(folder.own[0] if is_asked else folder.keys[0], folder.name, owners)
    new = {key: id_ for key in folder.keys if key not in registry.keys}
    if folder.own[-1] in new:
        is_asked |= any(registry.keys[k] != id_ for k in inside(registry, folder, home))
    if is_asked:
        settled, asked = {*registry.settled, *folder.own}, {*registry.asked, folder.own[0]}
        registry = registry._replace(settled=tuple(sorted(settled)), asked=tuple(sorted(asked)))
    if folder.place and folder.own[-1].startswith("git:"):
        new |= {folder.place: id_} if registry.keys.get(folder.place) != id_ else {}
    return registry._replace(keys={**registry.keys, **new}) if new else registry


def inside(registry: Registry, folder: Identity, home: str = "") -> list[str]:
    """Return the keys of projects' folders that `.git` has made parts of this folder since then;
    with `home`, only of projects that remember something.
    """
    below = [key for key in registry.keys if key.startswith(f"folder:{folder.root}{os.sep}")]
    parts = [key for key in below if identity.worktree_of(folder_in(key)) == folder.root]
    return [key for key in parts if not home or counts_of(home, registry.keys[key]) != (0, 0)]


def counts_of(home: str, id_: str) -> tuple[int | None, int | None]:
    """Return the counts of a project's records and entities; None if they are unreadable."""
    from memory_fabric.store.database import open_to_look  # imported late: rarely needed

    try:
        if database := open_to_look(os.path.join(folder_of(home, id_), "graph.db"), "project"):
            with closing(database):
                query = "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM entities)"
                [counts] = database.rows(query)
                return counts[0], counts[1]
    except StoreUnavailable:
        return None, None
    return 0, 0


def _write(home: str, former: Registry, now: Registry, folder: Identity) -> None:
    """Replace the registry `former` by `now`; log a notice of a claim or move. Raises OSError."""
    before = former.keys
    changed = {before.get(key, "") for key, owner in now.keys.items() if before.get(key) != owner}
    names = dict.fromkeys(sorted(filter(None, changed)), "")
    names[place_owner(now, folder)] = folder.name
    if former.state != SOUND:
        _set_aside(home, os.path.join(home, REGISTRY), former)
        cards = read_cards(home)
        for id_ in {*now.keys.values()} - {*names}:
            keys = {key for key, owner in now.keys.items() if owner == id_}
            if keys != {*files.text_list(cards.get(id_, {}).get("keys"))}:
                names[id_] = ""  # '' keeps the card's name
    write_registry(home, now, names)
    # Imported late: rarely needed. Create the key now to sign queued changes if home is read-only.
    from memory_fabric.store.home import signing

    signing.key_of(home)
    missing = [key for key in former.keys if key not in now.keys]
    text = ""
    if {*now.asked} - {*former.asked}:
        text = question(home, now, folder)
    elif missing:
        was = folder_in(missing[0])
        text = f"This folder was {was}: it is still that project, with its memory."
    if text:
        from memory_fabric.store.home import log  # imported late: only for a notice

        log.add(home, text, place=place_owner(now, folder))


def project_ids(home: str, registry: Registry | None = None) -> list[str]:
    """Return the ids of the projects that have a folder in home, or that the registry lists."""
    ids = (*(registry.keys.values() if registry else ()), *files.names_in(folder_of(home, "")))
    return list(filter(is_project_id, dict.fromkeys(ids)))


def _read(cards: Cards) -> Registry:
    """Build a registry. If cards share a key, one with it in `settled` wins, else the first."""
    keys: dict[str, str] = {}
    settled: set[str] = set()
    asked_keys: set[str] = set()
    for id_, card in cards.items():
        own = files.text_list(card.get("settled"))
        stated = files.text_list(card.get("keys"))
        keys |= {key: id_ for key in stated if key in own or key not in keys}
        settled.update(own)
        asked_keys.update(files.text_list(card.get("asked")))
    return Registry(keys, tuple(sorted(settled)), {}, tuple(sorted(asked_keys)))


def missing_keys(cards: Cards, registry: Registry) -> list[str]:
    """Return keys on projects' cards that the registry lacks or assigns to a different project."""
    return [key for key, id_ in _read(cards).keys.items() if registry.keys.get(key) != id_]


def _set_aside(home: str, path: str, registry: Registry) -> None:
    rebuilt = f"it was rebuilt from the cards of {len({*registry.keys.values()})} projects"
    if registry.state == DAMAGED and files.is_own_file(path):
        aside = f"{path}.damaged-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"
        os.replace(path, aside)
        text = f"{path} was damaged; {rebuilt}, and the damaged file was kept as {aside}."
    elif registry.state in (DAMAGED, LOST) and registry.keys:
        text = f"{path} was {registry.state}; {rebuilt}."
    else:
        return
    from memory_fabric.store.home import log  # imported late: only for a notice

    log.add(home, text)


def question(home: str, registry: Registry, folder: Identity) -> str:
    """Return the question about a folder that claims another project; '' if it claims none."""
    parts = inside(registry, folder, home)
    empty = {registry.keys[key] for key in inside(registry, folder) if key not in parts}
    other_id = next((id_ for id_ in claimed(registry, folder) if id_ not in empty), "")
    if not other_id:
        return ""
    claims = (*folder.claims, folder.pointer, *parts)
    key = next((k for k in claims if registry.keys.get(k) == other_id), other_id)
    kind, _, stated = key.partition(":")
    name = read_card(home, other_id).get("name") or other_id
    says = "states the remote" if kind == "remote" else "points at the repository"
    says += f" {stated} of the project {name}, which proves nothing: it has a memory of its own"
    if kind == "folder":
        says = f"is a git repository now, with {first_of(folders_in(parts), 3)} in it: what was "
        says += "remembered there is not used any more"
    return (
        f"{folder.root} {says}. If both are one, type /memory-fabric:project link {other_id} (or "
        f"run memory-fabric project link {other_id} in a terminal); project undo takes it back."
    )


def new_id(key: str, name: str, used_ids: Collection[str]) -> str:
    """Return a readable id that is not in use, made from the name and a checksum of the key."""
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower())
    slug = "-".join(plain.split())[:40] or "project"
    ids = (f"{slug}-{checksum(f'{key}{salt or str()}'):08x}" for salt in count())
    return next(id_ for id_ in ids if id_ not in used_ids)


def folder_in(key: str) -> str:
    """Return the folder to which a key refers: the key's path, or the parent of a `.git` folder."""
    kind, _, path = key.partition(":")
    return os.path.dirname(path) if kind == "git" and os.path.basename(path) == ".git" else path


def folders_of(registry: Registry, id_: str) -> list[str]:
    """Return the registered folders of a project."""
    return folders_in(key for key, owner in registry.keys.items() if owner == id_)


def folders_in(keys: Iterable[str]) -> list[str]:
    """Return the folders to which these keys refer, each once. A remote's key has no folder."""
    folders = (folder_in(key) for key in keys if not key.startswith(REMOTE))
    return list(filter(os.path.isabs, dict.fromkeys(folders)))


def _moved(home: str, former: Registry, folder: Identity) -> tuple[Registry, str] | None:
    """Return the registry with a moved folder's new path, and its project; None without proof of a
    move. The proof is an own.jsonl whose header, signed by this home, has the folder's inode (a
    copy has a different one) and an old path that no longer exists.
    """
    from memory_fabric.store.projects import own_lines

    head = own_lines.header(home, os.path.join(folder.root, LOCAL_FOLDER))
    if head is None or head.project not in former.keys.values():
        return None
    is_elsewhere = head.root != folder.root and os.path.lexists(head.root)
    if is_elsewhere or head.inode != own_lines.inode_of(folder.root):
        return None
    names, below = {}, head.root + os.sep
    for key in [key for key, owner in former.keys.items() if owner == head.project]:
        kind, _, path = key.partition(":")
        if kind != "remote" and f"{path}{os.sep}".startswith(below):
            names[key] = f"{kind}:{folder.root}{path[len(head.root) :]}"
    settled = tuple(sorted(names.get(key, key) for key in former.settled))
    asked = tuple(sorted(names.get(key, key) for key in former.asked))
    keys = {names.get(key, key): owner for key, owner in former.keys.items()}
    undo = _with_names(former.undo, names)
    return former._replace(keys=keys, settled=settled, asked=asked, undo=undo), head.project


def _with_names(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {names.get(k, k): _with_names(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_names(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value
