"""Processes of this machine by their ids, on Linux, macOS and Windows."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

# Of Windows: a process that may be asked for its state; the state of one that runs; its error for
# a process of another user.
QUERY, STILL_ACTIVE, ACCESS_DENIED = 0x1000, 259, 5
# Of Windows: no console, a group of its own so that Ctrl-C in the client's does not reach it, and
# no job of its parent's where that is allowed.
DETACHED_PROCESS, NEW_GROUP, BREAKAWAY = 0x8, 0x200, 0x1000000


# Detached processes that were started by this one and may have ended.
_started: list[int] = []


def start_detached(
    command: Sequence[str], environ: Mapping[str, str], system: str = os.name
) -> int:
    """Start a process without streams that outlives this one; return its id. Raises OSError."""
    if system == "posix":
        spawn: Any = partial(os.posix_spawn, command[0], list(command), dict(environ))
        nowhere = [(os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_RDWR, 0) for handle in range(3)]
        try:
            process = int(spawn(file_actions=nowhere, setsid=True))
        except NotImplementedError:  # macOS before 10.15: at least Ctrl-C does not reach it
            process = int(spawn(file_actions=nowhere, setpgroup=0))
        _started.append(process)
        return process
    # What has no posix_spawn; it takes time to import.
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
        except PermissionError:  # the job does not let the process leave
            continue
    raise OSError(f"{command[0]} cannot be started.")


def reap() -> None:
    """Let the system forget the detached processes that have ended, where this one lives on."""
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
    """Return True for a process that has ended and that its parent has not waited for."""
    try:
        with open(f"{states}/{process}/stat", "rb") as stream:
            return stream.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except OSError:
        return not os.path.isdir(f"{states}/self") and _state_by_ps(process).startswith("Z")


def _state_by_ps(process: int) -> str:
    """Return the state of a process on systems without /proc, such as macOS; '' if unknown."""
    import subprocess  # late: Linux needs none

    command = ["/bin/ps", "-o", "stat=", "-p", str(process)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()


def _runs_by_handle(process: int, kernel: Any = None) -> bool:
    """Ask Windows, where a signal of any number would end the process."""
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


# Whether the process of this id is running; a zombie is not.
is_running = _runs_by_signal if os.name == "posix" else _runs_by_handle


def program(module: str) -> str:
    """Return the program that runs `main()` of a module of this package, given its folder."""
    package, _, name = f"memory_fabric.{module}".rpartition(".")
    return (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        f"from {package} import {name}; sys.exit({name}.main())"
    )


def start(module: str, environ: Mapping[str, str]) -> int:
    """Start a module's `main()` detached and return the process id.

    A key belongs into `environ` (all of the process's environment), not into arguments, which every
    user can read. Standard streams are /dev/null. Raises OSError.
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-I", "-S", *cache_options(), "-c", program(module), folder]
    return start_detached(command, environ)


def cache_options() -> list[str]:
    """Return Python's options for the folder of compiled files, where it is not the usual one."""
    return ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
