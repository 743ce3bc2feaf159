"""Files other than databases: locks, atomic replacement, owner-only modes, tolerant reading.

A path may come from a cloned repository, and be a link or a pipe. Therefore only regular files are
opened, opening never blocks, and every reader has a size limit. Hooks, the server and the package
filelock use the same system calls, so their locks exclude each other.
"""

from __future__ import annotations

import json
import os
import sys
import time
from _thread import _local
from collections.abc import Callable, Iterable, Iterator, Mapping
from errno import ENOENT
from typing import Any, BinaryIO

from memory_fabric import deadline
from memory_fabric.ids import checksum

LOCK_POLL_S = 0.005
Stamp = tuple[int, int, int] | None
Content = bytes | Iterable[bytes]
# Do not write through a link in a cloned repository, which may lead to another file of the user.
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Windows only: without this flag, each line feed would be written as two characters.
BINARY = getattr(os, "O_BINARY", 0)
# Opening a pipe must not block. Windows has neither O_NONBLOCK nor O_CLOEXEC.
NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | BINARY
# Retries on Windows, which cannot replace a file that another process (a virus scanner) has open.
REPLACE_TRIES, REPLACE_POLL_S = 20, 0.01
# Constants of renameat2 on Linux: relative paths start in the current folder; swap two files.
AT_FDCWD, RENAME_EXCHANGE = -100, 2
# Constants of the `stat` module, copied because importing it takes time.
FILE_KIND, REGULAR, LINK = 0o170000, 0o100000, 0o120000
# Maximum sizes to read: of files that people write, and of files that this package appends to.
DEFAULT_MAX_BYTES, MAX_LINES_BYTES = 8 << 20, 64 << 20
# Longer lines are cut to this size, and then count as invalid JSON.
MAX_LINE_BYTES = 4 << 20
CHUNK_BYTES = 256 << 10
# The maximum number of refused files recorded per thread until `take_refused_files` is called.
MAX_REFUSED = 20
_of_thread = _local()


class Refused(OSError):
    """Error for a file that must not be read or replaced; `path` is the file."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} {why}.")
        self.path, self.strerror = path, why


class NotRegular(Refused):
    """Error for a pipe, device, socket or folder, or a link to one, instead of a regular file."""

    def __init__(self, path: str, why: str = "is no regular file") -> None:
        super().__init__(path, why)


class TooLarge(Refused):
    """Error for a file larger than its reader's limit of `max_bytes`."""

    def __init__(self, path: str, max_bytes: int) -> None:
        size = f"{max_bytes >> 20} MB" if max_bytes >= 1 << 20 else f"{max_bytes >> 10} KB"
        super().__init__(path, f"is larger than {size}")


class Locked:
    """An exclusive lock on `path` for a `with` block. Raises OSError, or TimeoutError after
    `timeout_s` seconds or at the end of the event's time. The lock file is never deleted, because
    one process could then lock the deleted file while another locks a new one.
    """

    def __init__(self, path: str, timeout_s: float = 5.0) -> None:
        self.path, self.timeout_s, self.handle = path, timeout_s, -1

    def __enter__(self) -> Locked:
        make_folder(os.path.dirname(self.path))
        limit, began = deadline.current(), time.monotonic()
        give_up = began + limit.wait_s(self.timeout_s, for_file=True)
        from memory_fabric import file_lock  # imported late: readers take no locks

        while True:
            self.handle = opened(self.path, os.O_RDWR | os.O_CREAT | NO_LINK)
            is_locked = False
            try:
                # A lock on a removed file is useless, because the next process creates a new file.
                is_locked = file_lock.take(self.handle) and os.fstat(self.handle).st_nlink > 0
            finally:
                if not is_locked:
                    os.close(self.handle)
            if is_locked:
                return self
            if time.monotonic() >= give_up:
                limit.file_lock_s -= time.monotonic() - began
                raise TimeoutError(f"another process holds {self.path}")
            time.sleep(LOCK_POLL_S)

    def __exit__(self, *_error: object) -> None:
        os.close(self.handle)  # closing releases the lock


def lock_path(home: str, path: str) -> str:
    """Return a path in home for the lock of a file, to keep lock files out of the file's folder."""
    return os.path.join(home, "locks", f"{checksum(os.path.realpath(path)):08x}.lock")


def make_folder(path: str, mode: int = 0o700) -> None:
    """Create the folder and its missing parents, by default accessible to the owner only."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    if above != path:
        make_folder(above, mode)
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def can_make(path: str) -> bool:
    """Return True if a file and its missing parent folders could be created at the path."""
    above = os.path.dirname(path)
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    return os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)


def backups_of(path: str) -> str:
    """Return the folder of a database's backups."""
    return os.path.join(os.path.dirname(path), "backups")


def is_own_file(path: str) -> bool:
    """Return True for a regular file, but False for a link to one."""
    return os.path.isfile(path) and not os.path.islink(path)


def size_of(path: str) -> int:
    """Return the size of a file in bytes; 0 if it is missing."""
    return (stamp(path) or (0, 0, 0))[2]


def names_in(folder: str) -> list[str]:
    """Return the sorted names of a folder's entries; an empty list if the folder is unreadable."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def open_regular(path: str) -> BinaryIO:
    """Open a regular file or a link to one for reading; never block. Raises NotRegular, OSError."""
    return open(opened(path, os.O_RDONLY), "rb")


def read_bytes(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes | None:
    """Return a file's content; None if it is missing. Raises NotRegular, TooLarge, OSError."""
    try:
        handle = opened(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        parts, bytes_left = [], max_bytes + 1
        # Check the size first, so that no part of a file that is too large is read.
        too_large = os.fstat(handle).st_size > max_bytes
        while not too_large and (part := os.read(handle, min(bytes_left, CHUNK_BYTES))):
            parts.append(part)
            bytes_left -= len(part)
            too_large = not bytes_left
    finally:
        os.close(handle)
    if too_large:
        raise TooLarge(path, max_bytes)
    return b"".join(parts)


def read_text(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> str | None:
    """Return a file's text (bad bytes replaced, without the byte order mark that some editors add);
    None if missing. Raises as `read_bytes` does.
    """
    data = read_bytes(path, max_bytes)
    return None if data is None else data.decode("utf-8", "replace").removeprefix("\ufeff")


def read_toml(path: str) -> dict[str, Any]:
    """Return a TOML file's tables; {} if missing. Raises ValueError, and errors of `read_bytes`."""
    text = read_text(path)
    if text is None:
        return {}
    import tomllib  # imported only if the file exists, because the import is slow

    return tomllib.loads(text)


def stamp(path: str) -> Stamp:
    """Return a value that changes with every change of the file; None if the file is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def readable_text(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> str:
    """Return a file's text, or '' if unreadable; `take_refused_files` reports refused files."""
    try:
        return read_text(path, max_bytes) or ""
    except OSError as error:
        if isinstance(error, Refused):
            note_refused(error)
        return ""


def read_json(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> dict[str, Any]:
    """Return a file's JSON object, {} if unreadable; `take_refused_files` reports refused files."""
    return parsed(readable_text(path, max_bytes)) or {}


def note_refused(error: Refused) -> None:
    """Record a refused file for `take_refused_files`, so that the user can be notified."""
    refused: dict[str, str] = _of_thread.__dict__.setdefault("refused", {})
    if len(refused) < MAX_REFUSED:
        refused[error.path] = str(error)


def take_refused_files() -> list[str]:
    """Return, and clear, the list of reasons why files were refused in this thread."""
    return list(_of_thread.__dict__.pop("refused", {}).values())


def lines_in(
    path: str, max_bytes: int = MAX_LINES_BYTES, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[bytes]:
    """Yield a file's lines (none if missing), cut to `max_line_bytes`. Raises TooLarge, OSError."""
    try:
        stream = open_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    with stream:
        if os.fstat(stream.fileno()).st_size > max_bytes:
            raise TooLarge(path, max_bytes)
        while line := stream.readline(max_line_bytes):
            if len(line) == max_line_bytes and not line.endswith(b"\n"):
                skip_line(stream)
            yield line.removesuffix(b"\n")


def read_lines(path: str) -> tuple[list[dict[str, Any]], list[int]]:
    """Return a JSONL file's objects, and the numbers of invalid lines. Raises TooLarge, OSError."""
    numbered = list(_objects_in(path, MAX_LINES_BYTES))
    objects = [value for _, value in numbered if value is not None]
    return objects, [number for number, value in numbered if value is None]


def invalid_lines(path: str, max_bytes: int = MAX_LINES_BYTES) -> list[int]:
    """Return the numbers (from 1) of lines without a JSON object. Raises as `read_bytes` does."""
    return [number for number, value in _objects_in(path, max_bytes) if value is None]


def _objects_in(path: str, max_bytes: int) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield (line number from 1, JSON object or None if invalid) for each non-empty line."""
    for number, line in enumerate(lines_in(path, max_bytes), start=1):
        text = line.decode("utf-8", "replace")
        if number == 1:
            text = text.removeprefix("\ufeff")
        if text.strip():
            yield number, parsed(text)


def parsed(text: str) -> dict[str, Any] | None:
    """Parse a JSON object; return None if the text is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_list(value: object) -> tuple[str, ...]:
    """Return a list's items, converted by `str`, as a tuple; `()` if the value is not a list."""
    return tuple(map(str, value)) if isinstance(value, list) else ()


def pretty_json(value: Mapping[str, Any]) -> bytes:
    """Format a JSON object for human readers, one field per line, in UTF-8."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")


def write_atomic(
    path: str, data: Content, *, still: Callable[[str], bool] | None = None, durable: bool = True
) -> bool:
    """Replace a file's content atomically and keep its mode; return True if it was replaced. Keep
    the old file if `still` returns False, for example because the file has changed. `still` gets
    the path of the old content, before and (on Linux) after the exchange. A link to a regular file
    of the same user is followed: users link their settings. Large content may be an iterable.
    Unless `durable`, a power failure may undo the replacement. Raises NotRegular, OSError.
    """
    target, own_mode = _replaceable(path)
    make_folder(os.path.dirname(target))
    beside = f"{target}.{os.getpid()}-{time.monotonic_ns()}.tmp"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o600)
    try:
        try:
            if own_mode is not None:
                os.chmod(beside, own_mode)
            for part in (data,) if isinstance(data, bytes) else data:
                write_all(handle, part)
            if durable:
                os.fsync(handle)
        finally:
            os.close(handle)
        if still is None or still(target):
            ours = stamp(beside)
            if still is None or not _swap(beside, target):
                _replace(beside, target, 1 if os.name == "posix" else REPLACE_TRIES)
                return True
            is_replaced = False
            try:
                is_replaced = still(beside)
            finally:
                if not is_replaced:
                    # Another program wrote after the first `still`: put its version back.
                    _swap(beside, target)
                    if stamp(beside) != ours:  # it wrote over our version, too: keep its newest
                        _swap(beside, target)
            remove(beside)
            return is_replaced
    except BaseException:
        remove(beside)
        raise
    remove(beside)
    return False


def sync(path: str, flags: int = os.O_RDWR) -> None:
    """Sync a file to disk, so that a power failure cannot lose its content. Raises OSError."""
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: str) -> None:
    """Sync a folder's entries, so that a power failure cannot lose a new file's name."""
    if os.name == "posix":  # Windows cannot open folders to sync them
        sync(folder, os.O_RDONLY)


def _swap(one: str, other: str) -> bool:
    """Exchange two files atomically; return False if that fails, or if this is not Linux."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes  # imported late: few writes need it

        rename = ctypes.CDLL(None).renameat2
    except (ImportError, AttributeError):
        return False
    here = (AT_FDCWD, os.fsencode(one))
    return bool(rename(*here, AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0)


def _replace(beside: str, target: str, tries: int) -> None:
    for tries_left in reversed(range(tries)):
        try:
            os.replace(beside, target)
            return
        except PermissionError:
            if not tries_left:
                raise
            time.sleep(REPLACE_POLL_S)


def json_line(value: Mapping[str, Any]) -> str:
    """Serialise the object as one line of JSON."""
    return json.dumps(value, ensure_ascii=False) + "\n"


def expect_regular(*paths: str) -> None:
    """Raise NotRegular if one of the paths exists but does not lead to a regular file."""
    for path in paths:
        try:
            kind = os.stat(path).st_mode & FILE_KIND
        except FileNotFoundError:
            continue
        if kind != REGULAR:
            raise NotRegular(path)


def append_lines(path: str, objects: Iterable[Mapping[str, Any]]) -> None:
    """Append JSON lines durably. If the last line lacks its line feed, add it. Raises OSError."""
    lines = "".join(map(json_line, objects))
    if not lines:
        return
    make_folder(os.path.dirname(path))
    handle = opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINK)
    try:
        data = lines.encode("utf-8", "replace")
        if os.fstat(handle).st_size:
            os.lseek(handle, -1, os.SEEK_END)
            data = data if os.read(handle, 1) == b"\n" else b"\n" + data
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def opened(path: str, flags: int) -> int:
    """Open a regular file; O_CREAT creates an owner-only file. Raises NotRegular, OSError."""
    if "\0" in path:
        raise FileNotFoundError(ENOENT, "No file can have this path", path)
    expect_regular(path)  # checked first, because opening some devices has side effects
    handle = os.open(path, flags | NO_WAIT, 0o600)
    if os.fstat(handle).st_mode & FILE_KIND != REGULAR:  # the file was replaced after the check
        os.close(handle)
        raise NotRegular(path)
    return handle


def skip_line(stream: BinaryIO) -> None:
    """Read and discard the rest of a line whose beginning was read, in chunks of limited size."""
    while (part := stream.readline(CHUNK_BYTES)) and not part.endswith(b"\n"):
        continue


def _replaceable(path: str) -> tuple[str, int | None]:
    """Return a file's real path, and its mode (None if missing). Raises NotRegular, OSError."""
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return target, None
    if status.st_mode & FILE_KIND != REGULAR:
        raise NotRegular(path)
    is_link = os.lstat(path).st_mode & FILE_KIND == LINK
    if is_link and hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise NotRegular(path, "is a link to a file of another user")
    return target, status.st_mode & 0o7777


def remove(path: str) -> None:
    """Delete a file if it exists. Raises OSError."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def write_all(handle: int, data: bytes) -> None:
    """Write all of the data, in as many system calls as needed. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def as_address(path: str, separator: str = os.sep) -> str:
    """Return a path escaped for SQLite's `file:` URI; with `\\` as `separator`, a Windows path."""
    if separator == "\\":  # SQLite needs C:\Users as /C:/Users
        path = "/" + path.replace("\\", "/").lstrip("/")
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
