"""Locks on open files: never waited for, released when the file is closed or the process ends.

POSIX has `flock`. Windows locks bytes for one holder, and nobody else can read them meanwhile: an
exclusive lock takes all of BYTES, a shared lock takes one byte. The package filelock locks the
first byte, so it and this module exclude each other on either system.
"""

from __future__ import annotations

import os
from typing import Any

# The bytes of a lock on Windows; at most BYTES - 1 processes can share it.
BYTES = 64


def take(handle: int, *, shared: bool = False) -> bool:
    """Take a file's lock; False if another process has it. Raises OSError where there are none."""
    try:
        _take(handle, shared)
    except (BlockingIOError, PermissionError):  # both mean another holder
        return False
    return True


def _flock(handle: int, shared: bool) -> None:
    import fcntl  # late: a process that only reads does not load the library

    fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _lock_bytes(handle: int, shared: bool) -> None:
    import msvcrt

    system: Any = vars(msvcrt)  # names that type checkers see on Windows only
    lock, now = system["locking"], system["LK_NBLCK"]
    spans = [(place, 1) for place in range(1, BYTES)] if shared else [(0, BYTES)]
    for place, size in spans:
        os.lseek(handle, place, os.SEEK_SET)  # `locking` begins at the current position
        try:
            lock(handle, now, size)
        except PermissionError:
            if (place, size) == spans[-1]:
                raise
        else:
            break
    os.lseek(handle, 0, os.SEEK_SET)


_take = _flock if os.name == "posix" else _lock_bytes
