"""Checks of the folders of memory: permissions, owners, leftover files, disk space, file system."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from memory_fabric.store.files import CHUNK_BYTES, open_regular

# Maximum number of paths to check. The plugin's home has fewer; a wrong folder (`/`) may have many.
MAX_LOOKED_AT = 20_000
# The folder of installed packages is not checked: it has many files, none of which is secret.
NOT_PRIVATE = frozenset(("runtime",))
OTHERS = 0o077
# Suffixes of temporary files, and the age (seconds) after which no process still writes one.
TEMPORARY_SUFFIXES, LEFT_AFTER_S = (".tmp", ".tmp-journal"), 3600
DATABASE = ".db"
MOUNTS = "/proc/self/mounts"
# File systems to which several machines may write. A write-ahead log works on one machine only.
SHARED_BY_MACHINES = "nfs nfs4 cifs smb3 smbfs afs ceph glusterfs lustre gpfs 9p".split()
SHARED_PREFIXES = ("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3")


def all_paths(folders: Iterable[str]) -> list[str]:
    """Return the folders and all paths in them except symbolic links, 20,000 paths at most."""

    def below(folder: str) -> Iterator[str]:
        if os.path.islink(folder) or not os.path.isdir(folder):
            return
        yield folder
        for parent, subfolders, names in os.walk(folder):
            subfolders[:] = [name for name in subfolders if name not in NOT_PRIVATE]
            paths = (os.path.join(parent, name) for name in (*subfolders, *names))
            yield from (path for path in paths if not os.path.islink(path))

    return list(islice(chain.from_iterable(map(below, folders)), MAX_LOOKED_AT))


def exposed(paths: Iterable[str]) -> list[str]:
    """Return the paths that other users may read, write or enter; always empty on Windows."""
    return [path for path, mode, _, _ in _statuses(paths) if mode & OTHERS and os.name == "posix"]


def foreign(paths: Iterable[str]) -> list[str]:
    """Return the paths that belong to a different user from the one who runs this process."""
    me = os.getuid() if hasattr(os, "getuid") else 0  # Windows reports 0 for all owners
    return [path for path, _, owner, _ in _statuses(paths) if owner != me]


def make_private(paths: Iterable[str]) -> list[str]:
    """Remove other users' permissions from the paths; return the changed paths. Raises OSError."""
    changed = []
    for path, mode, _, _ in _statuses(exposed(paths)):
        os.chmod(path, mode & 0o700)
        changed.append(path)
    return changed


def leftovers(paths: Iterable[str], now_s: float) -> list[str]:
    """Return temporary files left by killed processes, recognised by their names and age."""
    temporary = []
    for path in paths:
        stem, ending = os.path.splitext(path)
        pid, dash, moment = os.path.splitext(stem)[1].removeprefix(".").partition("-")
        is_ours = stem.endswith(DATABASE) or (pid.isdigit() and dash and moment.isdigit())
        if ending in TEMPORARY_SUFFIXES and is_ours and os.path.isfile(path):
            temporary.append(path)
    return [path for path, _, _, at_s in _statuses(temporary) if now_s - at_s > LEFT_AFTER_S]


def files_with(text: str, folders: Iterable[str]) -> list[str]:
    """Return the files in these folders whose bytes contain the text. Raises OSError."""

    def has(path: str) -> bool:
        sought, tail = text.encode(), b""
        with open_regular(path) as file:
            while part := file.read(CHUNK_BYTES):
                if sought in tail + part:
                    return True
                tail = part[-len(sought) :]
        return False

    return [path for path in all_paths(folders) if os.path.isfile(path) and has(path)]


def nearest(path: str) -> str:
    """Return the path if it exists, else its nearest existing parent folder."""
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def free_bytes(path: str) -> int | None:
    """Return the free bytes on the path's disk; None if the system does not report them."""
    import shutil  # imported late: only for the command doctor

    try:
        return shutil.disk_usage(nearest(path)).free
    except OSError:
        return None


def file_system(path: str, mounts: str = MOUNTS) -> str:
    """Return the type of the path's file system; empty if the system does not report it."""
    try:
        with open(mounts, encoding="utf-8", errors="replace") as lines:
            rows = [line.split() for line in lines]
    except OSError:
        import subprocess  # imported late: only for the command doctor, and not on Linux

        try:
            mount = subprocess.run(["/sbin/mount"], capture_output=True, check=False, timeout=5)
            rows = _mounted(mount.stdout.decode("utf-8", "replace"))
        except (OSError, subprocess.SubprocessError):
            return ""
    real = os.path.realpath(nearest(path))
    best, kind = "", ""
    for fields in rows:
        if len(fields) < 3:
            continue
        place = fields[1].replace("\\040", " ")
        inside = real == place or real.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):  # the innermost mount; of equal ones, the last
            best, kind = place, fields[2]
    return kind


def _mounted(output: str) -> list[list[str]]:
    """Parse lines like `//ann@nas/x on /Volumes/x (smbfs, nodev)` into device, folder and type."""
    mounts = []
    for line in output.splitlines():
        device, _, tail = line.partition(" on ")
        place, _, kind = tail.rpartition(" (")
        if place:
            mounts.append([device, place, kind.split(",")[0].rstrip(")")])
    return mounts


def is_shared(kind: str) -> bool:
    """Return True if several machines may write to a file system of this type."""
    return kind in SHARED_BY_MACHINES or kind.startswith(SHARED_PREFIXES)


def _statuses(paths: Iterable[str]) -> Iterator[tuple[str, int, int, float]]:
    """Yield (path, mode, owner, modification time) of each file that still exists."""
    for path in paths:
        try:
            status = os.lstat(path)
        except OSError:
            continue  # the file has been deleted since it was listed
        yield path, status.st_mode, status.st_uid, status.st_mtime
