"""Start and check processes on this machine (Linux, macOS and Windows)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

# Windows constants: query right, exit code of a running process, error for another user's process.
QUERY, STILL_ACTIVE, ACCESS_DENIED = 0x1000, 259, 5
# Windows flags: no console; a new process group, so that Ctrl-C in the client does not reach the
# process; and, if allowed, no membership in the parent's job.
DETACHED_PROCESS, NEW_GROUP, BREAKAWAY = 0x8, 0x200, 0x1000000
# The ids of detached processes that this process has started but not yet reaped.
_started: list[int] = []


def start_detached(
    command: Sequence[str], environ: Mapping[str, str], system: str = os.name
) -> int:
    """Start a process that outlives this one and has no streams; return its id. Raises OSError."""
    if system == "posix":
        spawn: Any = partial(os.posix_spawn, command[0], list(command), dict(environ))
        nowhere = [(os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_RDWR, 0) for handle in range(3)]
        try:
            process = int(spawn(file_actions=nowhere, setsid=True))
        except NotImplementedError:  # macOS before 10.15: at least ignore Ctrl-C
            process = int(spawn(file_actions=nowhere, setpgroup=0))
        _started.append(process)
        return process
    # imported late: slow, and needed only on systems without posix_spawn
    import subprocess

    for flags in (DETACHED_PROCESS | NEW_GROUP | BREAKAWAY, DETACHED_PROCESS | NEW_GROUP):
        try:
            return subprocess.Popen(
                list(command),
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                creationflags=flags,
            ).pid
        except PermissionError:  # the parent's job may not be left: try without BREAKAWAY
            continue
    raise OSError(f"{command[0]} cannot be started.")


def reap() -> None:
    """Reap detached processes that have ended, which would otherwise remain as zombies."""
    for process in list(_started):
        try:
            has_ended = os.waitpid(process, os.WNOHANG)[0] == process
        except ChildProcessError:
            has_ended = True
        if has_ended:
            _started.remove(process)


def _runs_by_signal(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _has_ended(process)


def _has_ended(process: int, states: str = "/proc") -> bool:
    """Return True if a process is a zombie: it has ended, but its parent has not reaped it."""
    try:
        with open(f"{states}/{process}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return not os.path.isdir(f"{states}/self") and _state_by_ps(process).startswith("Z")


def _state_by_ps(process: int) -> str:
    """Return a process's state as printed by `ps`, for macOS without /proc; '' if unknown."""
    import subprocess  # imported late: not needed on Linux

    command = ["/bin/ps", "-o", "stat=", "-p", str(process)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()


def _runs_by_handle(process: int, kernel: Any = None) -> bool:
    """Return True if a process is running. For Windows, where signal 0 would end the process."""
    import ctypes

    system: Any = kernel or vars(ctypes)["WinDLL"]("kernel32", use_last_error=True)
    open_process = system.OpenProcess
    open_process.restype = ctypes.c_void_p
    handle = open_process(QUERY, False, process)
    if not handle:
        return int(vars(ctypes)["get_last_error"]()) == ACCESS_DENIED
    handle = ctypes.c_void_p(handle)
    code = ctypes.c_ulong()
    try:
        is_known = system.GetExitCodeProcess(handle, ctypes.byref(code))
        return bool(is_known) and code.value == STILL_ACTIVE
    finally:
        system.CloseHandle(handle)


# A function that returns True if the process with this id is running; zombies do not count.
is_running = _runs_by_signal if os.name == "posix" else _runs_by_handle


def program(module: str) -> str:
    """Return code that runs a module's `main()`; `sys.argv[1]` is the package's parent folder."""
    package, _, name = f"memory_fabric.{module}".rpartition(".")
    run = f"from {package} import {name}; sys.exit({name}.main())"
    return f"import sys; sys.path.insert(0, sys.argv[1]); {run}"


def start(module: str, environ: Mapping[str, str]) -> int:
    """Run a module's `main()` in a detached process; return the process's id. Raises OSError."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    # Keys must be passed in `environ`, because all users can read a process's arguments.
    command = [sys.executable, "-I", "-S", *cache_options(), "-c", program(module), folder]
    return start_detached(command, environ)


def cache_options() -> list[str]:
    """Return the option that sets Python's folder of compiled files; [] for the default folder."""
    return ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
