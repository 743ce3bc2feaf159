"""Locks on open files, acquired without waiting and released when the file is closed. POSIX systems
use `flock`. Windows locks bytes, which other processes then cannot read. There, an exclusive lock
covers the first BYTES bytes. A shared lock covers one of these bytes, but never the first, so that
several shared locks fit beside each other. The package filelock also uses `flock`, or locks the
first byte, so its locks and our exclusive ones exclude each other.
"""

from __future__ import annotations

import os
from typing import Any

BYTES = 64  # length of an exclusive lock on Windows; allows 63 shared locks, of one byte each


def take(handle: int, *, shared: bool = False) -> bool:
    """Lock a file descriptor. Return False if another process's lock forbids it. Raises OSError."""
    try:
        _take(handle, shared)
    except (BlockingIOError, PermissionError):  # another process holds the lock
        return False
    return True


def _flock(handle: int, shared: bool) -> None:
    import fcntl  # imported late: not needed for reading files

    fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _lock_bytes(handle: int, shared: bool) -> None:
    import msvcrt

    system: Any = vars(msvcrt)  # type checkers know these names only on Windows
    lock, now = system["locking"], system["LK_NBLCK"]
    spans = [(place, 1) for place in range(1, BYTES)] if shared else [(0, BYTES)]
    for place, size in spans:
        os.lseek(handle, place, os.SEEK_SET)  # `locking` starts at the current position
        try:
            lock(handle, now, size)
        except PermissionError:
            if (place, size) == spans[-1]:
                raise
        else:
            break
    os.lseek(handle, 0, os.SEEK_SET)


_take = _flock if os.name == "posix" else _lock_bytes
