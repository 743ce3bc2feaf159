"""Locks on files, shared with the filelock package."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import filelock
import pytest

from memory_fabric.store import files
from memory_fabric.store.files import Locked
from store.support import World

APPENDER = """
import sys
from memory_fabric.store import files
for i in range(25):
    with files.Locked(sys.argv[1] + ".lock", 100):
        number = int(files.read_text(sys.argv[1]) or "0")
        files.write_atomic(sys.argv[1], str(number + 1).encode())
"""


def test_a_held_lock_cannot_be_acquired_a_second_time(tmp_path: Path) -> None:
    path = str(tmp_path / "x.lock")
    with Locked(path), pytest.raises(TimeoutError, match=r"x\.lock"), Locked(path, timeout_s=0):
        raise AssertionError("two at once")
    with Locked(path, timeout_s=0):
        pass


def test_the_filelock_package_waits_for_our_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "x.lock")
    with Locked(path), pytest.raises(filelock.Timeout):
        filelock.FileLock(path).acquire(timeout=0)
    with filelock.FileLock(path, timeout=0):
        pass


def test_our_lock_waits_for_the_filelock_package(tmp_path: Path) -> None:
    path = str(tmp_path / "x.lock")
    with filelock.FileLock(path), pytest.raises(TimeoutError), Locked(path, timeout_s=0):
        raise AssertionError("two at once")
    with Locked(path, timeout_s=0):
        pass


def test_a_lock_can_be_acquired_after_the_lock_file_of_its_holder_was_removed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.lock"
    with Locked(str(path)):
        path.unlink()
        with Locked(str(path), timeout_s=0):
            assert path.exists()


def test_a_lock_on_a_file_removed_meanwhile_is_replaced_by_a_lock_on_the_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, take, taken = tmp_path / "x.lock", fcntl.flock, list[int]()

    def removing(handle: int, how: int) -> None:
        if not taken:
            path.unlink()  # as its holder does between our open and our lock
        taken.append(handle)
        take(handle, how)

    monkeypatch.setattr(fcntl, "flock", removing)
    with Locked(str(path), timeout_s=60):
        assert path.exists() and len(taken) == 2
        with pytest.raises(TimeoutError), Locked(str(path), timeout_s=0):
            raise AssertionError("two at once")


def test_a_lock_is_released_when_its_process_dies(tmp_path: Path) -> None:
    world = World(tmp_path)
    script = """
import sys
from memory_fabric.store.files import Locked
with Locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
    path = str(tmp_path / "x.lock")
    process = world.start(script, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(TimeoutError), Locked(path, timeout_s=0):
        raise AssertionError("two at once")
    process.kill()
    process.communicate()
    with Locked(path, timeout_s=10):
        pass


def test_many_processes_under_one_lock_lose_no_write(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    processes = [World(tmp_path).start(APPENDER, str(path)) for _ in range(4)]
    for process in processes:
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    assert path.read_text() == "100"


def test_a_lock_in_an_unwritable_folder_raises_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError), Locked(str(tmp_path / "file" / "x.lock")):
        raise AssertionError("no such place")


def test_a_lock_is_not_acquired_on_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.lock")
    with pytest.raises(files.NotRegular), Locked(str(tmp_path / "x.lock")):
        raise AssertionError("taken")
