"""Files other than databases: locked, atomic, owner-only, and read without dying on a bad line.

Locks are `flock` on a file of their own, the same call that the filelock package makes, so hooks
and server exclude each other. On Windows `msvcrt.locking` takes its place (untested).
"""

from __future__ import annotations

import os
import time

from memory_fabric import jsontext
from memory_fabric.ids import checksum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

LOCK_POLL_S = 0.005
# A link in a cloned repository must not lead our lines into another file of the user's.
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Nor may a pipe in its place be waited for.
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
# As in the module stat, which costs an import.
FILE_KIND, REGULAR = 0o170000, 0o100000


class Locked:
    """A lock on `path` for a `with` block; waits at most `timeout_s`, then raises TimeoutError.

    The file stays when the lock is let go: who removes it splits the waiters. Raises OSError where
    the file cannot be made.
    """

    def __init__(self, path: str, timeout_s: float = 5.0) -> None:
        self.path, self.timeout_s, self.handle = path, timeout_s, -1

    def __enter__(self) -> Locked:
        make_folder(os.path.dirname(self.path))
        give_up = time.monotonic() + self.timeout_s
        while not self._taken():
            if time.monotonic() >= give_up:
                raise TimeoutError(f"another process holds {self.path}")
            time.sleep(LOCK_POLL_S)
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self.handle)  # closing releases the lock

    def _taken(self) -> bool:
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
        try:
            # A file that was removed meanwhile guards nothing: whoever comes next makes a new one.
            if _try_lock(handle) and os.fstat(handle).st_nlink:
                self.handle = handle
                return True
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        return False


def lock_path(home: str, path: str) -> str:
    """A lock file in home for a file of someone else's, beside which nothing of ours may lie."""
    return os.path.join(home, "locks", f"{checksum(os.path.realpath(path)):08x}.lock")


def make_folder(path: str) -> None:
    """The folder and those above it that are missing, for the owner only."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above != path:
        make_folder(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def can_make(path: str) -> bool:
    """Whether a file at the path, and the folders above it, could be made."""
    above = os.path.dirname(path)
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    return os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)


def backups_of(path: str) -> str:
    """The folder in which the backups of a database lie."""
    return os.path.join(os.path.dirname(path), "backups")


def is_own_file(path: str) -> bool:
    """Whether a regular file lies at the path itself, not a link to one."""
    try:
        return os.lstat(path).st_mode & FILE_KIND == REGULAR
    except OSError:
        return False


def size_of(path: str) -> int:
    """The size of a file in bytes; 0 when it is missing."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def read_text(path: str) -> str | None:
    """The text of a UTF-8 file, undecodable bytes replaced; None when there is no such file.

    Raises OSError, also for a device or pipe: a link in a repository may lead to one without end.
    """
    try:
        handle = os.open(path, os.O_RDONLY | NO_WAIT)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if os.fstat(handle).st_mode & FILE_KIND != REGULAR:
        os.close(handle)
        raise OSError(f"{path} is no regular file.")
    with open(handle, "rb") as stream:
        return stream.read().decode("utf-8", "replace")


def read_toml(path: str) -> dict[str, Any]:
    """The tables of a TOML file; empty when it is missing. Raises ValueError when it is broken."""
    text = read_text(path)
    if text is None:
        return {}
    import tomllib  # costs a bare start: only who has a config.toml pays it

    return tomllib.loads(text)


def read_json(path: str) -> dict[str, Any]:
    """The JSON object in a file; empty when it cannot be read or holds anything else."""
    try:
        text = read_text(path)
    except OSError:
        return {}
    return parsed(text or "") or {}


def read_lines(path: str) -> tuple[list[dict[str, Any]], list[int]]:
    """The JSON objects of a JSONL file in order, and the numbers (from 1) of lines set aside."""
    text = read_text(path)
    objects: list[dict[str, Any]] = []
    bad: list[int] = []
    for number, line in enumerate((text or "").removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip():
            continue
        value = parsed(line)
        if value is None:
            bad.append(number)
        else:
            objects.append(value)
    return objects, bad


def parsed(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None when it is anything else."""
    try:
        value = jsontext.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_page(value: Mapping[str, Any]) -> bytes:
    """JSON that people read, too: one field a line."""
    import json  # few hooks change such a file

    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def write_atomic(
    path: str,
    data: bytes,
    mode: int = 0o600,
    *,
    still: Callable[[], bool] | None = None,
    durable: bool = True,
) -> bool:
    """Replace the file's content in one step; a link is followed, an existing mode is kept.

    `still` is asked last, when all is on disk: if it says no, nothing is replaced and the answer is
    False. What is not `durable` may be lost with the power. Whatever happens, no file of ours is
    left beside. Raises OSError.
    """
    target = os.path.realpath(path)
    make_folder(os.path.dirname(target))
    kept = _mode(target)
    beside = f"{target}.{os.getpid()}-{time.monotonic_ns()}.tmp"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        try:
            if kept is not None:
                os.chmod(beside, kept)
            _write_all(handle, data)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        replace = still is None or still()
        if replace:
            os.replace(beside, target)
            return True
    except BaseException:
        _remove(beside)
        raise
    _remove(beside)
    return False


def line_of(value: Mapping[str, Any]) -> str:
    """The object as a line of JSON."""
    return jsontext.dumps(value, ensure_ascii=False) + "\n"


def append_lines(path: str, objects: Iterable[Mapping[str, Any]]) -> None:
    """Append one JSON line for each object, durable on return; a torn last line is closed first.

    Raises OSError, also where the path is a link.
    """
    lines = "".join(map(line_of, objects))
    if not lines:
        return
    make_folder(os.path.dirname(path))
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINK, 0o600)
    try:
        data = lines.encode("utf-8", "replace")
        if _is_torn(handle):
            data = b"\n" + data
        _write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_torn(handle: int) -> bool:
    """Whether the file's last line has no end."""
    if not os.fstat(handle).st_size:
        return False
    os.lseek(handle, -1, os.SEEK_END)
    return os.read(handle, 1) != b"\n"


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        return None


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _try_lock(handle: int) -> bool:
    """Whether the lock is ours now. Another holder shows as one of two errors, the rest is real."""
    try:
        _lock_now(handle)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _lock_with_fcntl(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock_with_msvcrt(handle: int) -> None:
    import msvcrt

    lock: Any = vars(msvcrt)  # names that type checkers see on Windows only
    lock["locking"](handle, lock["LK_NBLCK"], 1)


try:
    import fcntl

    _lock_now = _lock_with_fcntl
except ImportError:
    _lock_now = _lock_with_msvcrt
