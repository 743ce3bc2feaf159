"""Start of the process that compiles what hooks load, where that was not done or is out of date."""

from __future__ import annotations

import os
import sys
import time
from marshal import dumps, loads

from memory_fabric import compiled_modules, detached, file_lock, patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Sources = dict[str, tuple[int, int]]

# The file that says of which sources everything was compiled, and the one of the last start.
MARK, STARTED = "ahead", "ahead-started"
# A process that failed is not started again at every session.
BACK_OFF_S = 3_600.0
# In the environment of hooks that this process runs.
AHEAD = "MEMORY_FABRIC_AHEAD"


def start_when_due(environ: Mapping[str, str]) -> int:
    """Start the process if sources have changed since it last ran; return its id, else 0.

    Meant for hooks. Does nothing where compiled files cannot be written, or where it failed within
    an hour.
    """
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not compiled_modules.in_use() or sys.dont_write_bytecode or environ.get(AHEAD):
        return 0
    try:
        return detached.start("compile_ahead", environ) if is_due(folder) and claim(folder) else 0
    except OSError:  # a folder that cannot be written: everything is imported as before
        return 0


def is_due(folder: str) -> bool:
    """Return True if a source has changed since everything was compiled, or nothing was yet."""
    try:
        with open(compiled_modules.path_of(folder, MARK), "rb") as file:
            made_by, known = loads(file.read())
    except Exception:  # noqa: BLE001 - missing or damaged: it is written again
        return True
    return bool(made_by != sys.version or known != sources(folder))


def sources(folder: str) -> Sources:
    """Return time and size of each source of the package, by its path."""
    found: Sources = {}
    waiting = [f"{folder}/memory_fabric"]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    state = entry.stat()
                    found[entry.path] = int(state.st_mtime), state.st_size
                elif entry.is_dir() and entry.name != "__pycache__":
                    waiting.append(entry.path)
    return found


def mark(folder: str, known: Sources) -> None:
    """Note that everything was compiled from these sources."""
    patterns.write(compiled_modules.path_of(folder, MARK), dumps((sys.version, known)))


def claim(folder: str) -> bool:
    """Return True for the only process that may start it now. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(compiled_modules.path_of(folder, STARTED), flags, 0o600)
    try:
        if not file_lock.take(handle) or _started_lately(os.fstat(handle), folder):
            return False
        os.ftruncate(handle, 0)
        os.write(handle, b"started")
    finally:
        os.close(handle)
    return True


def _started_lately(state: os.stat_result, folder: str) -> bool:
    now, began = time.time(), state.st_mtime
    return (
        bool(state.st_size) and abs(now - began) < BACK_OFF_S and not _changed(folder, began, now)
    )


def _changed(folder: str, began: float, now: float) -> bool:
    """Return True if a source was changed after the process was started."""
    return any(began < seconds <= now for seconds, _ in sources(folder).values())
