"""The project of a folder: keys read from its files, and the registry that assigns them.

A project is known by the real path of its git common directory, or of a folder without git; these
are proved by the folder itself. A normalised git remote, and a repository that a `.git` file names
without being named in return, are claims, which an unpacked archive can make, too: they count if no
other project has them or the user trusts them (docs/decisions/0035). No subprocess is started, and
a basename alone never decides.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from memory_fabric.ids import is_project_id
from memory_fabric.models import SOUND, Identity, Project, Registry, Trust
from memory_fabric.store import files

# Names of the file for all projects in home, and of the one in each project's folder.
REGISTRY, CARD = "registry.json", "project.json"
LOCAL_FOLDER = os.path.join(".claude", "memory")
# Part of the path where a repository keeps its submodules' repositories.
MODULES = f"{os.sep}modules{os.sep}"
# Limits for git's files in general, and for those that only hold a path.
MAX_TEXT_BYTES, MAX_POINTER_BYTES = 1 << 20, 4 << 10
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp")
# No system supports longer paths.
MAX_PATH_CHARS = 4096
# Text before the checksum of a registry, which is its last field.
SUM_MARK = ',\n "sum": "'
# A prime below 2^30: flipping a single bit always changes the remainder, and no module is needed,
# whereas zlib would have to be imported.
SUM_PRIME = 1_073_741_789


_NO_TRUST = Trust()


def find_project(
    home: str, folder: str, user_home: str = "", trust: Trust = _NO_TRUST
) -> Project | None:
    """Return the project of a folder, registered in home on first sight; None without a folder.

    Raises nothing if home cannot be read or written: the id is then derived from the keys.
    """
    if not folder:
        return None
    found = identify(os.path.realpath(folder))
    id_, others = _registered(home, found, trust)
    local = local_tier(home, id_, found.root, user_home)
    return Project(id_, found.name, found.root, local, found.keys, others)


def local_tier(home: str, project_id: str, root: str, user_home: str) -> str:
    """Return the folder of a project's local tier: in its root, or in home if that is unsuitable or
    the folder is a link to elsewhere.
    """
    local = os.path.join(root, LOCAL_FOLDER)
    if _unsuitable(root, user_home) or os.path.realpath(local) != local:
        return os.path.join(folder_of(home, project_id), "local")
    return local


def folder_of(home: str, project_id: str) -> str:
    """Return the folder of a project's database."""
    return os.path.join(home, "projects", project_id)


def normalised_remote(url: str, root: str = "") -> str:
    """Return `host/owner/name` of a git URL in lower case, without user, port, scheme, `.git`."""
    url = url.strip()
    if not url.lower().startswith("file:"):
        host, path = _host_and_path(url)
        if host:
            return f"{host}/{_plain(path)}".lower()
    elif url[5:7] == "//":
        url = url[7 + len(url[7:].partition("/")[0]) :]
    return "path:" + _plain(os.path.realpath(os.path.join(root, url)), keep_root=True)


def _host_and_path(url: str) -> tuple[str, str]:
    """Split `scheme://user@host:port/path` and `user@host:path`; both parts empty for anything
    else.
    """
    scheme, marked, rest = url.partition("://")
    if marked:
        authority, slash, path = rest.partition("/")
        host, colon, port = authority.rpartition("@")[2].partition(":")
        fits = scheme[:1].isalpha() and slash and (port.isdigit() or not colon)
        return (host, path) if fits else ("", "")
    # The short form of ssh; one letter before the colon is a drive.
    place, colon, path = url.partition(":")
    host = place.rpartition("@")[2]
    fits = colon and len(host) > 1 and not ("/" in place or any(map(str.isspace, place)))
    return (host, path) if fits else ("", "")


def identify(folder: str) -> Identity:
    """Read the identity of a folder (its real path) from its files."""
    top = _up_to_git(folder)
    deleted: tuple[str, ...] = () if os.path.isdir(folder) else (_key("worktree", folder),)
    if top is None:
        own = deleted or (_key("folder", folder),)
        before = (_key("git", os.path.join(folder, ".git")), _key("folder", folder))
        return Identity(own, folder, os.path.basename(folder) or "root", also=before)
    common, is_proved, stated = _repository(top)
    if not is_proved:
        return _unproved(top, deleted, common, stated)
    is_main = os.path.basename(common) == ".git"
    root = os.path.dirname(common) if is_main else top
    name = os.path.basename(root) if is_main else _name_of_bare(common, top)
    remote = stated["url"]
    claims: tuple[str, ...] = ()
    if remote:
        normal = normalised_remote(remote, root)
        claims, name = (_key("remote", normal),), normal.rsplit("/", 1)[-1]
    is_linked = MODULES not in common and os.path.isfile(os.path.join(top, ".git"))
    place = _key("worktree", top) if is_linked else ""
    also = () if is_linked else (_key("folder", top),)
    name = name.removesuffix(".git") or "root"
    return Identity((*deleted, _key("git", common)), root, name, claims, also=also, place=place)


def _unproved(
    top: str, deleted: tuple[str, ...], common: str, stated: Mapping[str, str]
) -> Identity:
    """Return the identity of a folder whose `.git` names a repository that does not name the
    folder.

    A repository in another place than its only folder (`--separate-git-dir`) records that folder
    nowhere: it belongs to the first folder that names it. All others get their own projects.
    """
    key = _key("git", common)
    is_apart = not (
        os.path.basename(common) == ".git" or MODULES in common or stated["bare"] == "true"
    )
    is_git = os.path.isfile(os.path.join(common, "HEAD"))
    claims: tuple[str, ...] = (key,) if is_apart and is_git else ()
    name = os.path.basename(top)
    if claims and stated["url"]:
        normal = normalised_remote(stated["url"], top)
        claims, name = (_key("remote", normal), key), normal.rsplit("/", 1)[-1]
    return Identity(
        (*deleted, _key("folder", top)),
        top,
        name.removesuffix(".git") or "root",
        claims,
        pointer="" if claims else key,
        also=(_key("git", os.path.join(top, ".git")),),
        place=_key("worktree", top),
    )


def _key(kind: str, path: str) -> str:
    """Return a key as text; a path that is not UTF-8 is escaped to a form no other path has."""
    try:
        path.encode()
    except UnicodeEncodeError:
        path = path.encode("utf-8", "backslashreplace").decode()
    return f"{kind}:{path}"


def _repository(top: str) -> tuple[str, bool, dict[str, str]]:
    """Return a folder's git common directory, whether it is proved, and the repository's settings.

    A `.git` folder is part of the place. If a file or link points elsewhere, the target must point
    back: with `<git directory>/gitdir` of a linked worktree, which is in the repository's own
    `worktrees`, or with `core.worktree` of a submodule.
    """
    dot_git = os.path.join(top, ".git")
    own = "" if os.path.isdir(dot_git) else git_directory(dot_git)
    common = _common(dot_git, own)
    stated = _settings(os.path.join(common, "config"))
    real = os.path.realpath(own or dot_git)
    if os.path.islink(dot_git) or real.startswith(top + os.sep):
        return common, common.startswith(top + os.sep), stated
    if real != common:
        back = git_text(os.path.join(own, "gitdir"), MAX_POINTER_BYTES).strip()
        inside = os.path.dirname(real) == os.path.join(common, "worktrees")
        return common, inside and _is_at(os.path.join(own, back), dot_git), stated
    back = stated["worktree"]
    if not back:  # with worktree-specific settings
        back = _settings(os.path.join(common, "config.worktree"))["worktree"]
    return common, bool(back) and _is_at(os.path.join(common, back, ".git"), dot_git), stated


def _is_at(path: str, place: str) -> bool:
    """True if both name the same `.git` in the same folder."""
    if len(path) > 2 * MAX_PATH_CHARS or os.path.basename(path) != ".git":
        return False
    return os.path.realpath(os.path.dirname(path)) == os.path.dirname(place)


def _name_of_bare(common: str, top: str) -> str:
    """Return a name for a repository that is not `.git` in its worktree: bare ones, submodules."""
    if MODULES in common:
        return os.path.basename(top)
    name = os.path.basename(common)
    return os.path.basename(os.path.dirname(common)) if name.startswith(".") else name


def worktree_of(folder: str) -> str:
    """Return the top folder of the worktree that a folder is in; the folder itself without one."""
    return _up_to_git(folder) or folder


def _up_to_git(folder: str) -> str | None:
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def common_directory(dot_git: str) -> str:
    """Return the real path of the folder that all worktrees of a repository share, from one's
    `.git`.
    """
    return _common(dot_git, "" if os.path.isdir(dot_git) else git_directory(dot_git))


def _common(dot_git: str, own: str) -> str:
    if not own:
        return os.path.realpath(dot_git)
    shared = git_text(os.path.join(own, "commondir"), MAX_POINTER_BYTES).strip()
    if not shared or len(shared) > MAX_PATH_CHARS:
        # Pruned but still named: a worktree's git directory is two levels below the shared one.
        shared = "../.." if os.path.basename(os.path.dirname(own)) == "worktrees" else "."
    return os.path.realpath(os.path.join(own, shared))


def git_directory(dot_git: str) -> str:
    """Return the git directory that a `.git` file names; empty if it names none."""
    pointer = git_text(dot_git, MAX_POINTER_BYTES).strip()
    if not pointer.startswith("gitdir:") or len(pointer) > MAX_PATH_CHARS:
        return ""
    return os.path.join(os.path.dirname(dot_git), pointer.removeprefix("gitdir:").strip())


def git_text(path: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the text of a git file; empty if there is none or it is not text."""
    try:
        text = files.read_text(path, max_bytes) or ""
    except files.Refused as error:
        files.note_refused(error)
        return ""
    except OSError:
        return ""
    return "" if "\0" in text else text


def _settings(path: str) -> dict[str, str]:
    """Read a git configuration file: `url` of `origin` or the first remote; `worktree`, `bare` of
    core.

    Missing settings are empty.
    """
    urls: dict[str, str] = {}
    core = {"worktree": "", "bare": ""}
    section = ""
    for line in git_text(path).splitlines():
        line = line.strip()
        if line.startswith("["):
            head, _, rest = line.partition('"')
            kind = head.lower().split()
            section = rest.rpartition('"]')[0] if kind == ["[remote"] else ""
            section = "[core]" if kind == ["[core]"] else section
        elif section and "=" in line:
            stated, _, value = line.partition("=")
            name, value = stated.strip().lower(), value.strip().strip('"')
            if section == "[core]":
                core |= {name: value} if name in core else {}
            elif name == "url":
                urls.setdefault(section, value)
    return core | {"url": urls.get("origin") or next(iter(urls.values()), "")}


def read_registry(home: str) -> Registry:
    """Return the registry; if it is lost or damaged, the one that the projects' cards give."""
    try:
        text = files.read_text(os.path.join(home, REGISTRY))
    except files.Refused as error:
        files.note_refused(error)
        text = ""
    except OSError:
        text = ""
    if text is not None and _is_as_written(text):
        page = files.parsed(text) or {}
        found = page.get("keys")
        listed = {str(k): str(v) for k, v in found.items() if is_project_id(v)} if found else {}
        if listed:
            undo = page.get("undo")
            return Registry(
                listed,
                files.text_list(page.get("settled")),
                undo if isinstance(undo, dict) else {},
                files.text_list(page.get("asked")),
                files.text_list(page.get("earlier")),
            )
    # only needed for a registry that is lost, damaged or old
    from memory_fabric.store.projects import cards

    return cards.rebuild_registry(read_cards(home), text)


def _is_as_written(text: str) -> bool:
    """True if a registry ends with the checksum of the text before it."""
    head, mark, tail = text.rpartition(SUM_MARK)
    return bool(mark) and tail == f'{_sum(head)}"\n}}'


def _sum(text: str) -> int:
    return int.from_bytes(text.encode("utf-8", "replace"), "little") % SUM_PRIME


def registry_stamp(home: str) -> tuple[int, int]:
    """Return a value that changes with every write of the registry."""
    try:
        found = os.stat(os.path.join(home, REGISTRY))
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def write_registry(home: str, registry: Registry, names: Mapping[str, str]) -> None:
    """Write the registry, and the cards of the projects with these `names` by id.

    With an empty name the card keeps its own. The caller holds `registry_lock`. Raises OSError.
    """
    page: dict[str, Any] = {"keys": dict(registry.keys)}
    page |= {"settled": sorted(registry.settled)} if registry.settled else {}
    page |= {"asked": sorted(registry.asked)} if registry.asked else {}
    page |= {"earlier": sorted(registry.earlier)} if registry.earlier else {}
    page |= {"undo": dict(registry.undo)} if registry.undo else {}
    head = files.pretty_json(page).decode().removesuffix("\n}")
    text = f'{head}{SUM_MARK}{_sum(head)}"\n}}'
    files.write_atomic(os.path.join(home, REGISTRY), text.encode())
    for id_, name in names.items():
        name = name or str(read_card(home, id_).get("name", ""))
        keys = [key for key, owner in registry.keys.items() if owner == id_]
        card: dict[str, Any] = {"id": id_, "name": name, "keys": keys}
        for field, listed in (("settled", registry.settled), ("asked", registry.asked)):
            mine = [key for key in keys if key in listed]
            card |= {field: mine} if mine else {}
        files.write_atomic(os.path.join(folder_of(home, id_), CARD), files.pretty_json(card))


def registry_lock(home: str) -> files.Locked:
    """Return the lock under which the registry is read, changed and written."""
    return files.Locked(os.path.join(home, REGISTRY + ".lock"))


def read_card(home: str, id_: str) -> dict[str, Any]:
    """Return a project's card: id, name, keys; empty without one."""
    return files.read_json(os.path.join(folder_of(home, id_), CARD))


def read_cards(home: str) -> dict[str, dict[str, Any]]:
    """Return the cards of all projects of this home by their ids."""
    return {id_: read_card(home, id_) for id_ in filter(is_project_id, project_ids(home))}


def has_lost_card(home: str, id_: str) -> bool:
    """True if a registered project has lost its card, which is written with the registration."""
    card = os.path.join(folder_of(home, id_), CARD)
    return not os.path.exists(card) and os.path.exists(os.path.join(home, REGISTRY))


def owner_of(registry: Registry, keys: Sequence[str]) -> str:
    """Return the project of a folder with these keys; '' if none is known.

    A key that the user settled wins, otherwise the first known one.
    """
    known = [key for key in keys if key in registry.keys]
    deciding = [key for key in known if key in registry.settled] or known
    return registry.keys[deciding[0]] if deciding else ""


def _registered(home: str, found: Identity, trust: Trust) -> tuple[str, tuple[str, ...]]:
    """Return the project's id, and the ids of other projects that some of its keys belong to."""
    known = read_registry(home)
    now = _with_keys(home, known, found, trust)
    if known.state != SOUND or now is not known:
        try:
            with registry_lock(home):
                known = read_registry(home)
                now = _with_keys(home, known, found, trust)._replace(state=SOUND)
                _write(home, known, now, found)
        except OSError:
            now = _with_keys(home, known, found, trust)
    id_ = place_owner(now, found)
    return id_, claimed(now, found)


def claimed(registry: Registry, found: Identity) -> tuple[str, ...]:
    """Return the ids of other projects that a folder's keys belong to, unless that was settled."""
    id_ = place_owner(registry, found)
    is_asked = any(key in registry.asked for key in found.own)
    if not is_asked and any(key in registry.settled for key in found.keys):
        return ()
    owners = [registry.keys.get(key, "") for key in (*found.keys, found.pointer)]
    return tuple(dict.fromkeys(owner for owner in owners if owner not in ("", id_)))


def first_claimed(home: str, registry: Registry, found: Identity) -> tuple[str, str]:
    """Return id and name of the first other project that a folder claims; '' if there is none."""
    for id_ in claimed(registry, found):
        return id_, str(read_card(home, id_).get("name") or id_)
    return "", ""


def place_owner(registry: Registry, found: Identity) -> str:
    """Return the project of a known folder; '' for a new one, whatever it claims."""
    keys = registry.keys
    own = [key for key in found.own if key in keys]
    for key in own:
        if key in registry.settled:
            return keys[key]
    if own:
        return owner_of(registry, found.keys) if own[0] in registry.earlier else keys[own[0]]
    named = found.pointer or (found.claims[-1] if found.claims else "")
    if found.place and keys.get(found.place) == keys.get(named, "none"):
        return keys[found.place]  # a worktree that its repository no longer lists
    return next((keys[key] for key in found.also if key in keys), "")


def _with_keys(home: str, known: Registry, found: Identity, trust: Trust) -> Registry:
    """Return the registry with this folder in it; the same object if nothing is new."""
    id_ = place_owner(known, found)
    if not id_:
        known, id_ = _assigned(home, known, found, trust)
    new = {key: id_ for key in found.keys if key not in known.keys}
    if found.place and found.own[-1].startswith("git:"):
        new |= {found.place: id_} if known.keys.get(found.place) != id_ else {}
    earlier = [key for key in found.own if key in known.earlier]
    if earlier:
        new |= dict.fromkeys(found.own, id_)
        left = tuple(key for key in known.earlier if key not in earlier)
        known = known._replace(earlier=left)
    return known._replace(keys={**known.keys, **new}) if new else known


def _assigned(home: str, known: Registry, found: Identity, trust: Trust) -> tuple[Registry, str]:
    """Return the registry and the id of the project that a new folder joins or begins."""
    from memory_fabric.store.projects import claims  # only for a new folder

    return claims.assign(home, LOCAL_FOLDER, known, found, trust)


def _write(home: str, known: Registry, now: Registry, found: Identity) -> None:
    """Write the changed registry, and leave a notice if the user must know. Raises OSError."""
    before = known.keys
    changed = {before.get(key, "") for key, owner in now.keys.items() if before.get(key) != owner}
    names = dict.fromkeys(sorted(filter(None, changed)), "")
    names[place_owner(now, found)] = found.name
    if known.state != SOUND:
        # only needed for a registry that is lost, damaged or old
        from memory_fabric.store.projects import cards

        cards.set_aside(home, os.path.join(home, REGISTRY), known)
        names = dict.fromkeys(cards.stale(read_cards(home), now), "") | names
    write_registry(home, now, names)
    # late: only for a changed registry. A queue needs the key later, when home may be read-only.
    from memory_fabric.store import signing

    signing.key_of(home)
    if known.asked != now.asked or not {*known.keys} <= {*now.keys}:
        from memory_fabric.store.projects import claims  # only for a new folder

        id_, other = place_owner(now, found), first_claimed(home, now, found)
        claims.leave_notice(home, known, now, found, id_, other)


def project_ids(home: str) -> list[str]:
    """Return the names of the projects' folders in home."""
    try:
        return sorted(os.listdir(os.path.join(home, "projects")))
    except OSError:
        return []


def _unsuitable(root: str, user_home: str) -> bool:
    """True if the local tier must not be here: the user's home, `/`, temporary, bare, read-only."""
    if root == os.path.dirname(root) or root in TEMPORARY:
        return True
    if user_home and os.path.realpath(root) == os.path.realpath(user_home):
        return True
    bare = not os.path.isdir(root) or os.path.isfile(os.path.join(root, "HEAD"))
    return bare or not os.access(root, os.W_OK)


def _plain(path: str, keep_root: bool = False) -> str:
    path = path.strip().rstrip("/").removesuffix(".git").rstrip("/")
    return path if keep_root else path.lstrip("/")
