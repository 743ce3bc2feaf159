"""Locks on open files, acquired without waiting, and released on close or at the process's end.

On POSIX systems, `flock` is used. Windows locks byte ranges, which other processes then cannot
read: an exclusive lock covers all of BYTES, a shared lock one byte. The package filelock locks the
first byte, so it and this module exclude each other on both systems.
"""

from __future__ import annotations

import os
from typing import Any

# Number of bytes of a lock on Windows; at most BYTES - 1 processes can share the lock.
BYTES = 64


def take(handle: int, *, shared: bool = False) -> bool:
    """Acquire a lock; return False if it is held elsewhere. Raises OSError if locks do not work."""
    try:
        _take(handle, shared)
    except (BlockingIOError, PermissionError):  # Both mean that the lock is held.
        return False
    return True


def _flock(handle: int, shared: bool) -> None:
    import fcntl  # imported late: not needed for reading

    fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _lock_bytes(handle: int, shared: bool) -> None:
    import msvcrt

    system: Any = vars(msvcrt)  # names that type checkers know only on Windows
    lock, now = system["locking"], system["LK_NBLCK"]
    spans = [(place, 1) for place in range(1, BYTES)] if shared else [(0, BYTES)]
    for place, size in spans:
        os.lseek(handle, place, os.SEEK_SET)  # `locking` starts at the current position.
        try:
            lock(handle, now, size)
        except PermissionError:
            if (place, size) == spans[-1]:
                raise
        else:
            break
    os.lseek(handle, 0, os.SEEK_SET)


_take = _flock if os.name == "posix" else _lock_bytes
