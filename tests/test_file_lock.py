"""Locks of open files: by flock, and by bytes as on Windows, here with Linux's own byte locks."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from memory_fabric import file_lock

# Of Linux: a lock that belongs to the open file, as on Windows, rather than to the process.
F_OFD_SETLK = 37


def windows() -> ModuleType:
    """The part of `msvcrt` that locks, by Linux's locks of byte ranges."""

    def locking(handle: int, mode: int, size: int) -> None:
        assert mode == 2
        at = os.lseek(handle, 0, os.SEEK_CUR)
        asked = struct.pack("hhqqhxxxxxx", fcntl.F_WRLCK, os.SEEK_SET, at, size, 0)
        try:
            fcntl.fcntl(handle, F_OFD_SETLK, asked)
        except BlockingIOError as error:
            raise PermissionError(13, "Permission denied") from error

    found = ModuleType("msvcrt")
    vars(found).update(locking=locking, LK_NBLCK=2)
    return found


@pytest.fixture(params=["flock", "bytes"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "msvcrt", windows())
    chosen: Callable[[int, bool], None] = (
        file_lock._flock if request.param == "flock" else file_lock._lock_bytes
    )
    monkeypatch.setattr(file_lock, "_take", chosen)
    return str(request.param)


@contextmanager
def opened(path: Path, number: int) -> Iterator[list[int]]:
    handles = [os.open(path, os.O_RDWR | os.O_CREAT, 0o600) for _ in range(number)]
    yield handles
    for handle in handles:
        os.close(handle)


def test_an_exclusive_lock_prevents_other_locks_until_released(locks: str, tmp_path: Path) -> None:
    with opened(tmp_path / "lock", 2) as (second, third):
        with opened(tmp_path / "lock", 1) as (first,):
            assert file_lock.take(first)
            assert not file_lock.take(second)
            assert not file_lock.take(second, shared=True)
        assert file_lock.take(second)
        assert not file_lock.take(third)


def test_shared_locks_coexist_but_prevent_an_exclusive_lock(locks: str, tmp_path: Path) -> None:
    with opened(tmp_path / "lock", 1) as (alone,):
        with opened(tmp_path / "lock", 5) as holders:
            assert all(file_lock.take(one, shared=True) for one in holders)
            assert not file_lock.take(alone)
        assert file_lock.take(alone)


def test_a_locked_file_can_be_written_by_the_lock_owner(locks: str, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with opened(path, 1) as (handle,):
        assert file_lock.take(handle)
        os.write(handle, b"17\n")
    assert path.read_bytes() == b"17\n"


def test_locking_a_closed_file_raises_an_error(locks: str, tmp_path: Path) -> None:
    with opened(tmp_path / "lock", 1) as (handle,):
        pass
    with pytest.raises(OSError):
        file_lock.take(handle)
