"""The identity of a folder: keys that are read from its files, without a subprocess.

A folder's own key is the real path of its git common directory or, without git, of the folder. Two
keys are only claims, as an archive can state them, too: the git remote (normalised), and a
repository to which a `.git` file points, but which does not point back. A claim counts if no other
project has its key, or if the user trusts it (docs/decisions/0035). A folder's name never counts.
"""

import os

from memory_fabric.models import Identity
from memory_fabric.store import files

LOCAL_FOLDER = os.path.join(".claude", "memory")
# A path that contains this text belongs to a submodule's repository.
MODULES = f"{os.sep}modules{os.sep}"
# Size limits of git's files in general, and of files that contain nothing but a path.
MAX_TEXT_BYTES, MAX_POINTER_BYTES = 1 << 20, 4 << 10
MAX_REFS_BYTES = 16 << 20
TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp")
# No supported system allows longer paths.
MAX_PATH_CHARS = 4096


def local_tier(home: str, project_id: str, root: str, user_home: str) -> str:
    """Return the journal folder: in `root`, or if that is (for example) read-only, in `home`."""
    local = os.path.join(root, LOCAL_FOLDER)
    is_unsuitable = (
        (root == os.path.dirname(root) or root in TEMPORARY)
        or (user_home and os.path.realpath(root) == os.path.realpath(user_home))
        or os.path.isfile(os.path.join(root, "HEAD"))  # a bare repository
        or not (os.path.isdir(root) and os.access(root, os.W_OK))
        or os.path.realpath(local) != local
    )
    return os.path.join(folder_of(home, project_id), "local") if is_unsuitable else local


def folder_of(home: str, project_id: str) -> str:
    """Return the folder in home that contains a project's database."""
    return os.path.join(home, "projects", project_id)


def normalised_remote(url: str, root: str = "") -> str:
    """Return `host/owner/name` of a git URL, in lower case, or `path:…` of a local repository."""
    url = url.strip()
    scheme, marked, address = url.partition("://")
    host = path = ""
    if url.lower().startswith("file:"):
        if url[5:7] == "//":
            url = url[7 + len(url[7:].partition("/")[0]) :]
    elif marked:  # form: scheme://user@host:port/path
        authority, slash, path = address.partition("/")
        host, colon, port = authority.rpartition("@")[2].partition(":")
        host = host if scheme[:1].isalpha() and slash and (port.isdigit() or not colon) else ""
    else:  # form: user@host:path; a single letter before the colon is a drive, not a host
        place, colon, path = url.partition(":")
        host = place.rpartition("@")[2]
        is_host = colon and len(host) > 1 and not ("/" in place or any(map(str.isspace, place)))
        host = host if is_host else ""
    if host:
        return f"{host}/{_plain(path)}".lower()
    return "path:" + _plain(os.path.realpath(os.path.join(root, url)), keep_root=True)


def identify(folder: str) -> Identity:
    """Return the identity of a folder, read from its files. `folder` is a real path."""
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
    name = os.path.basename(root)
    if not is_main and MODULES not in common:  # a bare repository: use the name of its folder
        name = os.path.basename(common)
        name = os.path.basename(os.path.dirname(common)) if name.startswith(".") else name
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


def _unproved(top: str, deleted: tuple[str, ...], common: str, stated: dict[str, str]) -> Identity:
    """Return the identity of a folder whose `.git` points to a repository that does not point back.
    A repository made with `--separate-git-dir` belongs to the first folder that points to it.
    """
    key = _key("git", common)
    is_whole = os.path.basename(common) == ".git" or stated["bare"] == "true"
    is_git = os.path.isfile(os.path.join(common, "HEAD"))
    claims: tuple[str, ...] = (key,) if not is_whole and MODULES not in common and is_git else ()
    name = os.path.basename(top)
    if claims and stated["url"]:
        normal = normalised_remote(stated["url"], top)
        claims, name = (_key("remote", normal), key), normal.rsplit("/", 1)[-1]
    own, name = (*deleted, _key("folder", top)), name.removesuffix(".git") or "root"
    pointer, also = "" if claims else key, (_key("git", os.path.join(top, ".git")),)
    return Identity(own, top, name, claims, pointer=pointer, also=also, place=_key("worktree", top))


def _key(kind: str, path: str) -> str:
    """Return a key of this kind; a path that is not UTF-8 is escaped and remains unique."""
    try:
        path.encode()
    except UnicodeEncodeError:
        path = path.encode("utf-8", "backslashreplace").decode()
    return f"{kind}:{path}"


def _repository(top: str) -> tuple[str, bool, dict[str, str]]:
    """Return a folder's git common directory, True if it provably belongs to the folder, and the
    repository's settings. A directory outside the folder must point back to the folder: by the file
    `worktrees/<name>/gitdir` (linked worktree) or by the setting `core.worktree` (submodule).
    """
    dot_git = os.path.join(top, ".git")
    own = "" if os.path.isdir(dot_git) else git_directory(dot_git)
    common = common_directory(dot_git, own)
    stated = _settings(os.path.join(common, "config"))
    real = os.path.realpath(own or dot_git)
    if os.path.islink(dot_git) or real.startswith(top + os.sep):
        return common, common.startswith(top + os.sep), stated
    if real != common:
        back = git_text(os.path.join(own, "gitdir"), MAX_POINTER_BYTES).strip()
        inside = os.path.dirname(real) == os.path.join(common, "worktrees")
        return common, inside and _is_at(os.path.join(own, back), dot_git), stated
    back = stated["worktree"]
    if not back:  # `core.worktree` may be in config.worktree instead
        back = _settings(os.path.join(common, "config.worktree"))["worktree"]
    return common, bool(back) and _is_at(os.path.join(common, back, ".git"), dot_git), stated


def _is_at(path: str, place: str) -> bool:
    is_short = len(path) <= 2 * MAX_PATH_CHARS and os.path.basename(path) == ".git"
    return is_short and os.path.realpath(os.path.dirname(path)) == os.path.dirname(place)


def worktree_of(folder: str) -> str:
    """Return the top folder of the worktree that contains `folder`; without one, `folder`."""
    return _up_to_git(folder) or folder


def _up_to_git(folder: str) -> str | None:
    while not os.path.exists(os.path.join(folder, ".git")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return None
    return folder


def common_directory(dot_git: str, own: str | None = None) -> str:
    """Return the real path of the git directory that all worktrees share. `own` is the git
    directory that the file `dot_git` names, or '' if it names none; if None, it is read here.
    """
    if own is None:
        own = "" if os.path.isdir(dot_git) else git_directory(dot_git)
    if not own:
        return os.path.realpath(dot_git)
    shared = git_text(os.path.join(own, "commondir"), MAX_POINTER_BYTES).strip()
    if not shared or len(shared) > MAX_PATH_CHARS:
        # If git pruned the worktree, `.git` still points to `<common>/worktrees/<name>`.
        shared = "../.." if os.path.basename(os.path.dirname(own)) == "worktrees" else "."
    return os.path.realpath(os.path.join(own, shared))


def git_directory(dot_git: str) -> str:
    """Return the git directory to which a `.git` file points; '' if it points to none."""
    pointer = git_text(dot_git, MAX_POINTER_BYTES).strip()
    if not pointer.startswith("gitdir:") or len(pointer) > MAX_PATH_CHARS:
        return ""
    return os.path.join(os.path.dirname(dot_git), pointer.removeprefix("gitdir:").strip())


def git_text(path: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the content of one of git's files; '' if the file is missing or not text."""
    text = files.readable_text(path, max_bytes)
    return "" if "\0" in text else text


def _settings(path: str) -> dict[str, str]:
    """Parse `worktree`, `bare`, `url` (origin or first remote) in a git config; '' if missing."""
    urls: dict[str, str] = {}
    core = {"worktree": "", "bare": ""}
    section = ""
    for line in git_text(path).splitlines():
        line = line.strip()
        if line.startswith("["):
            head, _, tail = line.partition('"')
            kind = head.lower().split()
            section = tail.rpartition('"]')[0] if kind == ["[remote"] else ""
            section = "[core]" if kind == ["[core]"] else section
        elif section and "=" in line:
            stated, _, value = line.partition("=")
            name, value = stated.strip().lower(), value.strip().strip('"')
            if section == "[core]":
                core |= {name: value} if name in core else {}
            elif name == "url":
                urls.setdefault(section, value)
    return core | {"url": urls.get("origin") or next(iter(urls.values()), "")}


def _plain(path: str, keep_root: bool = False) -> str:
    path = path.strip().rstrip("/").removesuffix(".git").rstrip("/")
    return path if keep_root else path.lstrip("/")


def commit_at(folder: str) -> str:
    """Return the commit that is checked out in a folder, without running git; '' if none is."""
    dot_git = os.path.join(worktree_of(folder), ".git")
    own = dot_git if os.path.isdir(dot_git) else git_directory(dot_git) or dot_git
    commit = git_text(os.path.join(own, "HEAD")).strip()
    if commit.startswith("ref:"):
        ref, common = commit.removeprefix("ref:").strip(), common_directory(dot_git)
        if ".." in ref or not ref.startswith("refs/"):
            return ""
        stated = (git_text(os.path.join(at, ref)).strip() for at in (own, common))
        if not (commit := next(filter(None, stated), "")):
            packed = git_text(os.path.join(common, "packed-refs"), MAX_REFS_BYTES).splitlines()
            commit = next((line.split()[0] for line in packed if line.endswith(f" {ref}")), "")
    is_commit = len(commit) in (40, 64) and all(c in "0123456789abcdef" for c in commit)
    return commit if is_commit else ""
