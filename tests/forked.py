"""`memory-fabric` as a process of its own that has its packages already.

To start Python and import the packages of a server takes ten times as long as the server itself. So
one process imports them, and each server is a fork of it: a process with its own environment,
folder, streams, signals and exit code. `python -m memory_fabric.cli` runs the same `main`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PRELOADED = (
    "memory_fabric.cli.main",
    "memory_fabric.cli.app",
    "memory_fabric.cli.commands.serve",
    "memory_fabric.servers.http.server",
    "memory_fabric.viewer.page",
    "memory_fabric.viewer.picture",
)
MAX_REQUEST_BYTES = 1 << 16


class Process:
    """A running fork; `stdout` and `stderr` are pipes of text. As `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], environ: Mapping[str, str], folder: Path) -> None:
        pipes = [os.pipe() for _ in range(3)]
        request = json.dumps([list(words), dict(environ), str(folder)]).encode()
        socket.send_fds(_forking(), [request], [writing for _, writing in pipes])
        self.pid = int(_forking().recv(32))
        for _, writing in pipes:
            os.close(writing)
        self.stdout, self.stderr, self._status = (
            open(reading, encoding="utf-8")  # noqa: SIM115 - closed by `communicate`
            for reading, _ in pipes
        )
        self.returncode: int | None = None
        # Several threads may end the process at once, and its status is read only once.
        self._asking = threading.Lock()

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        with self._asking:
            if self.returncode is None and select.select([self._status], [], [], 0)[0]:
                self.returncode = int(self._status.read())
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code. Raises TimeoutExpired."""
        if self.returncode is None and not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("memory-fabric", timeout or 0)
        return self.poll() or 0

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end, and close the pipes; what is left in them."""
        self.wait(timeout)
        if self.stdout.closed:
            return "", ""
        with self.stdout, self.stderr, self._status:
            return self.stdout.read(), self.stderr.read()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # its exit code is still on its way
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)


def run(
    words: Sequence[str], environ: Mapping[str, str], folder: Path, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `subprocess.run`. Raises TimeoutExpired."""
    process = Process(words, environ, folder)
    try:
        out, errors = process.communicate(timeout_s)
    finally:
        process.kill()
    return subprocess.CompletedProcess(words, process.wait(), out, errors)


@functools.cache
def _forking() -> socket.socket:
    """The connection to this process's forking process, which ends with it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "plugin")},
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _fork_forever(connection: socket.socket) -> None:
    """Fork at each request; return in the fork, and when nobody asks any more."""
    statuses: dict[int, int] = {}
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    while True:
        watched: list[Any] = [connection, woken]
        ready, _, _ = select.select(watched, [], [])
        if woken in ready:
            os.read(woken, MAX_REQUEST_BYTES)
            _tell_ended(statuses)
        if connection not in ready:
            continue
        request, files, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, 3)
        if not request:
            sys.exit()
        process = os.fork()
        if not process:
            connection.close()
            words, environ, folder = json.loads(request)
            _become(words, environ, folder, files)
            return
        stdout, stderr, statuses[process] = files
        os.close(stdout)
        os.close(stderr)
        connection.sendall(str(process).encode())


def _tell_ended(statuses: dict[int, int]) -> None:
    """Write the exit code of each fork that has ended to its pipe."""
    while statuses:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            return
        pipe = statuses.pop(process)
        with contextlib.suppress(BrokenPipeError):  # whoever started it does not ask
            os.write(pipe, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(pipe)


def _become(
    words: list[str], environ: Mapping[str, str], folder: str, files: Sequence[int]
) -> None:
    """Be the process that was asked for, but for its work."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(files[0], 1)
    os.dup2(files[1], 2)
    os.closerange(3, 256)
    # Streams of a file, as the pipes were, want to know the place in it.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - until the end
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    os.chdir(folder)
    sys.argv = ["memory-fabric", *words]


if __name__ == "__main__":
    import gc

    from memory_fabric.cli.main import main

    del sys.path[0]  # the folder of this file
    for preloaded in PRELOADED:
        importlib.import_module(preloaded)
    gc.collect()
    gc.freeze()
    _fork_forever(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(main())
