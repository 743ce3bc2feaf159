"""Processes: whether one runs and how one is started for good, on each system as far as here."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import processes

WRITE = "import os, sys; open(sys.argv[1], 'w').write(f'{os.getpid()} {os.getsid(0)}')"


def test_a_running_process_is_detected_and_an_ended_one_is_not() -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"]) as child:
        pass

    assert processes.is_running(os.getpid()) and processes.is_running(os.getppid())
    assert not processes.is_running(child.pid)


@pytest.mark.parametrize("states", ["/proc", "/nonexistent"])
def test_a_zombie_process_counts_as_ended(states: str) -> None:
    """Without /proc, as on macOS, `ps` tells it where it is installed."""
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "pass"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    has_ended = processes._has_ended(child.pid, states)
    child.wait()

    assert has_ended == (states == "/proc" or os.path.exists("/bin/ps"))
    assert not processes._has_ended(os.getpid(), states)


def test_a_detached_process_that_has_ended_leaves_no_zombie() -> None:
    child = processes.start_detached([sys.executable, "-I", "-S", "-c", "pass"], os.environ)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)

    processes.reap()

    assert child not in processes._started
    assert not os.path.exists(f"/proc/{child}")


def test_a_started_process_uses_the_same_folder_of_compiled_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)
    assert processes.cache_options() == []

    monkeypatch.setattr(sys, "pycache_prefix", "/cache")
    assert processes.cache_options() == ["-X", "pycache_prefix=/cache"]


class Kernel:
    """What Windows would answer for one process."""

    def __init__(self, code: int, handle: int | None = 7) -> None:
        self.code, self.handle, self.closed = code, handle, 0
        self.OpenProcess = type("Open", (), {"__call__": lambda _, *asked: self._open(*asked)})()

    def _open(self, rights: int, _inherits: bool, _process: int) -> int | None:
        assert rights == processes.QUERY
        return self.handle

    def GetExitCodeProcess(self, _handle: Any, code: Any) -> int:
        code._obj.value = self.code
        return 1

    def CloseHandle(self, _handle: Any) -> None:
        self.closed += 1


@pytest.mark.parametrize(("code", "runs"), [(259, True), (0, False), (1, False)])
def test_the_exit_code_shows_on_windows_whether_a_process_is_running(code: int, runs: bool) -> None:
    kernel = Kernel(code)

    assert processes._runs_by_handle(17, kernel) is runs
    assert kernel.closed == 1


@pytest.mark.parametrize(("error", "runs"), [(5, True), (87, False)])
def test_a_process_that_windows_refuses_to_open_counts_as_running(
    monkeypatch: pytest.MonkeyPatch, error: int, runs: bool
) -> None:
    monkeypatch.setattr(ctypes, "get_last_error", lambda: error, raising=False)

    assert processes._runs_by_handle(17, Kernel(0, handle=None)) is runs


def test_a_detached_process_runs_in_a_session_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "told"
    pid = processes.start_detached([sys.executable, "-I", "-S", "-c", WRITE, str(path)], {})
    os.waitpid(pid, 0)

    assert path.read_text() == f"{pid} {pid}"


def test_a_detached_process_gets_a_process_group_if_setsid_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spawn: Any = os.posix_spawn

    def older(*given: Any, **more: Any) -> int:
        if more.pop("setsid", False):
            raise NotImplementedError("setsid is not available on this platform")
        return int(spawn(*given, **more))

    monkeypatch.setattr(os, "posix_spawn", older)
    path = tmp_path / "told"
    pid = processes.start_detached([sys.executable, "-I", "-S", "-c", WRITE, str(path)], {})
    os.waitpid(pid, 0)

    assert path.read_text() == f"{pid} {os.getsid(0)}"


def test_a_detached_process_on_windows_starts_even_if_it_may_not_leave_its_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    flags: list[int] = []
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def as_windows(command: list[str], *, creationflags: int, **more: Any) -> Any:
        flags.append(creationflags)
        if creationflags & processes.BREAKAWAY:
            raise PermissionError(13, "Access is denied")
        started.append(start(command, **more))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", as_windows)
    path = tmp_path / "told"
    command = [sys.executable, "-I", "-S", "-c", WRITE, str(path)]
    pid = processes.start_detached(command, {}, "nt")
    started[0].wait()

    assert flags == [0x1000208, 0x208]
    assert path.read_text().startswith(f"{pid} ")
