"""Which project a folder belongs to: keys read from files, and the registry that joins them.

A project is known by its normalised git remote, the real path of its git common directory, or the
real path of a folder without git. No subprocess is started, and a basename never decides.
"""

from __future__ import annotations

import os

from memory_fabric.ids import checksum
from memory_fabric.store import files
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

# Of all projects, and of each in its own folder.
REGISTRY, CARD = "registry.json", "project.json"
LOCAL_FOLDER = os.path.join(".claude", "memory")
# Where a repository keeps those of its submodules.
MODULES = f"{os.sep}modules{os.sep}"
# Of git's files; of those that only point at another place; of the list of packed references.
MAX_TEXT_BYTES, MAX_POINTER_BYTES, MAX_REFS_BYTES = 1 << 20, 4 << 10, 16 << 20
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp")


class Project(Value):
    """One project: its id and name, the folder its local tier lies in, and the keys it is known by.

    `local` is `<main worktree>/.claude/memory`, or a folder in home where that would be wrong or
    a link leads elsewhere.
    `others` are the ids of other projects that some of its keys belong to: a conflict to settle.
    """

    id: str
    name: str
    root: str
    local: str
    keys: tuple[str, ...]
    others: tuple[str, ...] = ()


class Registry(Value):
    """Which key belongs to which project's id; `settled` keys somebody decided by hand.

    `undo` has, by a folder's own key, what its last settling changed (see `settling`). Without
    `is_whole` the file was lost, and the projects' cards gave the keys.
    """

    keys: Mapping[str, str]
    settled: tuple[str, ...] = ()
    undo: Mapping[str, Any] = {}
    is_whole: bool = True


class Identity(Value):
    """What a folder's files tell: keys, best first; the main worktree's root; a name for people.

    `place` is the path of a linked worktree. It is noted, so that the project can be told when the
    worktree has been removed, but decides nothing while something lies there.
    """

    keys: tuple[str, ...]
    root: str
    name: str
    place: str = ""


def find_project(home: str, folder: str, user_home: str = "") -> Project | None:
    """The project of a folder, registered in home on first sight; None without a folder.

    Raises nothing for a home that cannot be read or written: the id is then derived from the keys.
    """
    if not folder:
        return None
    found = identified(os.path.realpath(folder))
    id_, others = _registered(home, found)
    local = os.path.join(found.root, LOCAL_FOLDER)
    if _unsuitable(found.root, user_home) or os.path.realpath(local) != local:
        local = os.path.join(folder_of(home, id_), "local")
    return Project(id_, found.name, found.root, local, found.keys, others)


def folder_of(home: str, project_id: str) -> str:
    """Where a project's database lies."""
    return os.path.join(home, "projects", project_id)


def normalised_remote(url: str, root: str = "") -> str:
    """`host/owner/name` of a git URL, in lower case, without user, port, scheme and `.git`."""
    url = url.strip()
    if not url.lower().startswith("file:"):
        host, path = _host_and_path(url)
        if host:
            return f"{host}/{_plain(path)}".lower()
    elif url[5:7] == "//":
        url = url[7 + len(url[7:].partition("/")[0]) :]
    return "path:" + _plain(os.path.realpath(os.path.join(root, url)), keep_root=True)


def _host_and_path(url: str) -> tuple[str, str]:
    """Of `scheme://user@host:port/path` and of `user@host:path`; both empty for anything else."""
    scheme, marked, rest = url.partition("://")
    if marked:
        authority, slash, path = rest.partition("/")
        host, colon, port = authority.rpartition("@")[2].partition(":")
        fits = scheme[:1].isalpha() and slash and (port.isdigit() or not colon)
        return (host, path) if fits else ("", "")
    # As ssh has it; one letter before the colon is a drive.
    place, colon, path = url.partition(":")
    host = place.rpartition("@")[2]
    fits = colon and len(host) > 1 and not ("/" in place or any(map(str.isspace, place)))
    return (host, path) if fits else ("", "")


def identified(folder: str) -> Identity:
    """What the files of a folder (its real path) tell of its project."""
    top = _up_to_git(folder)
    gone = () if os.path.isdir(folder) else (f"worktree:{folder}",)
    if top is None:
        return Identity(gone or (f"folder:{folder}",), folder, os.path.basename(folder) or "root")
    common = common_directory(os.path.join(top, ".git"))
    own = os.path.basename(common) == ".git"
    root = os.path.dirname(common) if own else top
    name = os.path.basename(root) if own else _name_of_bare(common, top)
    keys: tuple[str, ...] = (f"git:{common}",)
    remote = _remote_url(common)
    if remote:
        normal = normalised_remote(remote, root)
        keys = (f"remote:{normal}", *keys)
        name = normal.rsplit("/", 1)[-1]
    is_linked = os.path.isfile(os.path.join(top, ".git")) and MODULES not in common
    place = f"worktree:{top}" if is_linked else ""
    return Identity((*gone, *keys), root, name.removesuffix(".git") or "root", place)


def _name_of_bare(common: str, top: str) -> str:
    """A name where the repository is no `.git` in its worktree: bare ones, submodules."""
    if MODULES in common:
        return os.path.basename(top)
    name = os.path.basename(common)
    return os.path.basename(os.path.dirname(common)) if name.startswith(".") else name


def worktree_of(folder: str) -> str:
    """The top of the repository's worktree that a folder lies in; without one the folder itself."""
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
    """The real path of the folder that all worktrees of a repository share, from one's `.git`."""
    if os.path.isdir(dot_git):
        return os.path.realpath(dot_git)
    pointer = _text(dot_git, MAX_POINTER_BYTES).strip()
    if not pointer.startswith("gitdir:"):
        return os.path.realpath(dot_git)
    own = os.path.join(os.path.dirname(dot_git), pointer.removeprefix("gitdir:").strip())
    shared = _text(os.path.join(own, "commondir"), MAX_POINTER_BYTES).strip()
    if not shared:
        # Pruned, but still pointing there: a worktree's own folder lies two below the shared one.
        shared = "../.." if os.path.basename(os.path.dirname(own)) == "worktrees" else "."
    return os.path.realpath(os.path.join(own, shared))


def commit_at(folder: str) -> str:
    """The commit that is checked out in a folder; '' without one. Read from files alone."""
    top = _up_to_git(folder)
    if top is None:
        return ""
    dot_git = os.path.join(top, ".git")
    pointer = (
        ""
        if os.path.isdir(dot_git)
        else _text(dot_git, MAX_POINTER_BYTES).strip().removeprefix("gitdir:")
    )
    own = os.path.join(top, pointer.strip()) if pointer else dot_git
    head = _text(os.path.join(own, "HEAD")).strip()
    if not head.startswith("ref:"):
        return head if _is_commit(head) else ""
    ref, common = head.removeprefix("ref:").strip(), common_directory(dot_git)
    if ".." in ref or not ref.startswith("refs/"):
        return ""
    found = _text(os.path.join(own, ref)).strip() or _text(os.path.join(common, ref)).strip()
    if not found:
        packed = _text(os.path.join(common, "packed-refs"), MAX_REFS_BYTES).splitlines()
        found = next((line.split()[0] for line in packed if line.endswith(f" {ref}")), "")
    return found if _is_commit(found) else ""


def _is_commit(text: str) -> bool:
    return len(text) in (40, 64) and all(c in "0123456789abcdef" for c in text)


def _text(path: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """The text of a file of git's; empty where there is none, or nothing of git's."""
    try:
        text = files.read_text(path, max_bytes) or ""
    except files.Refused as error:
        files.pass_over(error)
        return ""
    except OSError:
        return ""
    return "" if "\0" in text else text


def _remote_url(common: str) -> str:
    """The URL of `origin`, else of the first remote; empty without one."""
    urls: dict[str, str] = {}
    section = ""
    for line in _text(os.path.join(common, "config")).splitlines():
        line = line.strip()
        if line.startswith("["):
            head, _, rest = line.partition('"')
            section = rest.rpartition('"]')[0] if head.lower().split() == ["[remote"] else ""
        elif section and "=" in line and line.split("=", 1)[0].strip().lower() == "url":
            urls.setdefault(section, line.split("=", 1)[1].strip().strip('"'))
    return urls.get("origin") or next(iter(urls.values()), "")


def read_registry(home: str) -> Registry:
    """The registry; where it is lost, what the projects' own cards say."""
    page = files.read_json(os.path.join(home, REGISTRY))
    found = page.get("keys")
    if isinstance(found, dict):  # one that says nothing is lost, too
        listed = {str(k): str(v) for k, v in found.items() if is_id(v)}
        undo = page.get("undo")
    if isinstance(found, dict) and listed:
        return Registry(listed, _texts(page.get("settled")), undo if isinstance(undo, dict) else {})
    keys: dict[str, str] = {}
    settled: list[str] = []
    for id_ in filter(is_id, project_ids(home)):
        card = read_card(home, id_)
        keys |= dict.fromkeys(_texts(card.get("keys")), id_)
        settled += _texts(card.get("settled"))
    return Registry(keys, tuple(settled), {}, is_whole=False)


def registry_stamp(home: str) -> tuple[int, int]:
    """What changes with every write of the registry."""
    try:
        found = os.stat(os.path.join(home, REGISTRY))
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def write_registry(home: str, registry: Registry, names: Mapping[str, str]) -> None:
    """Write the registry, and the cards of the projects whose `names` are given by their ids.

    The caller holds `registry_lock`. Raises OSError.
    """
    page: dict[str, Any] = {"keys": dict(registry.keys)}
    page |= {"settled": sorted(registry.settled)} if registry.settled else {}
    page |= {"undo": dict(registry.undo)} if registry.undo else {}
    files.write_atomic(os.path.join(home, REGISTRY), files.as_page(page))
    for id_, name in names.items():
        keys = [key for key, owner in registry.keys.items() if owner == id_]
        settled = [key for key in keys if key in registry.settled]
        card: dict[str, Any] = {"id": id_, "name": name, "keys": keys}
        card |= {"settled": settled} if settled else {}
        files.write_atomic(os.path.join(folder_of(home, id_), CARD), files.as_page(card))


def registry_lock(home: str) -> files.Locked:
    """The lock under which the registry is read, changed and written."""
    return files.Locked(os.path.join(home, REGISTRY + ".lock"))


def read_card(home: str, id_: str) -> dict[str, Any]:
    """What a project's own folder says of it: id, name, keys; empty without a card."""
    return files.read_json(os.path.join(folder_of(home, id_), CARD))


def owner_of(registry: Registry, keys: Sequence[str]) -> str:
    """The project of a folder with these keys: by one that somebody settled, else by the best;
    '' where none is known.
    """
    known = [key for key in keys if key in registry.keys]
    deciding = [key for key in known if key in registry.settled] or known
    return registry.keys[deciding[0]] if deciding else ""


def _registered(home: str, found: Identity) -> tuple[str, tuple[str, ...]]:
    """The project's id, and ids of other projects that some of its keys belong to."""
    known = read_registry(home)
    now = _with_keys(known, found)
    if not known.is_whole or now.keys != known.keys:
        try:
            with registry_lock(home):
                now = _with_keys(read_registry(home), found)
                write_registry(home, now, {owner_of(now, found.keys): found.name})
        except OSError:
            now = _with_keys(known, found)
    id_ = owner_of(now, found.keys)
    if any(key in now.settled for key in found.keys):
        return id_, ()
    return id_, tuple(dict.fromkeys(i for key in found.keys if (i := now.keys[key]) != id_))


def _with_keys(known: Registry, found: Identity) -> Registry:
    """The registry with these keys in it: new ones join the project of the best known one."""
    id_ = owner_of(known, found.keys) or new_id(found.keys[0], found.name, set(known.keys.values()))
    new = {key: id_ for key in found.keys if key not in known.keys}
    new |= {found.place: id_} if found.place else {}
    return known._replace(keys={**known.keys, **new}, is_whole=True)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def is_id(value: object) -> bool:
    """Whether this is an id of ours: it becomes the name of a folder."""
    return isinstance(value, str) and value.isascii() and value.replace("-", "").isalnum()


def project_ids(home: str) -> list[str]:
    """The names of the folders that projects have in home."""
    try:
        return sorted(os.listdir(os.path.join(home, "projects")))
    except OSError:
        return []


def new_id(key: str, name: str, taken: Collection[str]) -> str:
    """A readable id, the same for the same key: the name and a checksum of the key."""
    plain = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower())
    slug = "-".join(plain.split())[:40] or "project"
    salt = 0
    while True:
        id_ = f"{slug}-{checksum(f'{key}{salt or str()}'):08x}"
        if id_ not in taken:
            return id_
        salt += 1


def _unsuitable(root: str, user_home: str) -> bool:
    """Whether the local tier must not lie there: home, `/`, temporary, bare or read-only places."""
    if root == os.path.dirname(root) or root in TEMPORARY:
        return True
    if user_home and os.path.realpath(root) == os.path.realpath(user_home):
        return True
    bare = not os.path.isdir(root) or os.path.isfile(os.path.join(root, "HEAD"))
    return bare or not os.access(root, os.W_OK)


def _plain(path: str, keep_root: bool = False) -> str:
    path = path.strip().rstrip("/").removesuffix(".git").rstrip("/")
    return path if keep_root else path.lstrip("/")
