"""The shared server as one process or several: sockets, signals and shutdown.

With several workers the parent listens and each worker, a process of its own, takes connections
from the same socket. A worker that ends is replaced.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

import uvicorn

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, CannotListen
from memory_fabric.servers import store_thread
from memory_fabric.servers.http import listen_sockets
from memory_fabric.servers.http.allowed_hosts import Names, checked
from memory_fabric.servers.http.connection_limits import ConnectionPool
from memory_fabric.servers.http.rate_limit import Rate
from memory_fabric.servers.http.server import config_for
from memory_fabric.servers.team.access import Access
from memory_fabric.servers.team.guard import TeamGuard
from memory_fabric.servers.team.routes import application
from memory_fabric.sharing.server import connect, versions
from memory_fabric.sharing.server.translate import translated
from memory_fabric.sharing.team.errors import NotAMember

MAX_WORKERS = 32
# A worker that cannot start is not started again at once.
RESTART_S = 2.0
END_S = 10.0


class TeamServer:
    """A shared server that listens already; `run` answers until a signal comes.

    `socket_fd` is a listening socket that a parent gave; else `host` and `port`, or a Unix socket
    at `path`. Raises BadInput, CannotListen.
    """

    def __init__(
        self,
        settings: Settings,
        dsn: str,
        space: str,
        *,
        host: str = listen_sockets.LOCALHOST,
        port: int = 0,
        path: str = "",
        allowed: Sequence[str] = (),
        insecure: bool = False,
        workers: int = 1,
        socket_fd: int = -1,
    ) -> None:
        if not 1 <= workers <= MAX_WORKERS:
            raise BadInput("--workers", f"--workers must be from 1 to {MAX_WORKERS}.")
        self._settings, self._dsn, self._space = settings._replace(session=""), dsn, space
        self._insecure, self._workers, self._path = insecure, workers, path
        self._allowed = sorted(checked(allowed))
        self._ending = False
        self._file: listen_sockets.SocketFile | None = None
        self.is_local = bool(path) or listen_sockets.is_loopback(host)
        self._socket = self._listening(host, port, path, socket_fd)
        name, self.port = "", 0
        if self._socket.family.name != "AF_UNIX":
            name, self.port = self._socket.getsockname()[:2]
        self.host = f"[{name}]" if ":" in name else name

    @property
    def address(self) -> str:
        """The address of the server; the path of a Unix socket."""
        return self._path or f"http://{self.host}:{self.port}/"

    def run(self) -> None:
        """Answer until SIGINT or SIGTERM."""
        try:
            if self._workers > 1:
                if os.name != "posix":
                    raise CannotListen(
                        "Windows hands no socket to several workers.", remedy="Leave out --workers."
                    )
                self._supervise()
            else:
                self._serve()
        finally:
            if self._file is not None:
                self._file.close()

    def _serve(self) -> None:
        access = Access(self._settings, self._dsn, self._space, insecure=self._insecure)
        names = Names(self.host or "localhost", self.port, self._allowed)
        rate = Rate(self._settings.serve_rate)
        guard = TeamGuard(application(access), names, rate, f"memory-fabric-team-{self.port}")
        server = uvicorn.Server(config_for(guard, ConnectionPool()))

        def leave(*_: object) -> None:
            server.should_exit = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, leave)
        store_thread.settle()
        try:
            server.run(sockets=[self._socket])
        finally:
            access.close()

    def _supervise(self) -> None:
        """Start the workers and replace those that end, until a signal comes."""

        def leave(*_: object) -> None:
            self._ending = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, leave)
        running: list[subprocess.Popen[bytes]] = []
        started_s = 0.0
        while not self._ending:
            running = [one for one in running if one.poll() is None]
            if len(running) < self._workers and time.monotonic() - started_s >= RESTART_S:
                running += [self._worker() for _ in range(self._workers - len(running))]
                started_s = time.monotonic()
            with contextlib.suppress(InterruptedError):
                time.sleep(0.1)
        for one in running:
            one.terminate()
        for one in running:
            try:
                one.wait(END_S)
            except subprocess.TimeoutExpired:
                one.kill()

    def _worker(self) -> subprocess.Popen[bytes]:
        number = self._socket.fileno()
        command = [sys.executable, "-m", "memory_fabric.cli", "serve", "--team", self._dsn]
        command += ["--space", self._space, "--socket-fd", str(number)]
        command += ["--insecure"] if self._insecure else []
        command += [part for name in self._allowed for part in ("--allow-host", name)]
        environ = os.environ | {"PYTHONPATH": _path()}
        return subprocess.Popen(command, env=environ, pass_fds=[number], start_new_session=True)

    def _listening(self, host: str, port: int, path: str, socket_fd: int) -> socket.socket:
        if socket_fd >= 0:
            import socket  # only a worker is given one

            return socket.socket(fileno=socket_fd)
        if path:
            self._file = listen_sockets.SocketFile(path)
            return self._file.socket
        return listen_sockets.listening(host, port)


def space_of(dsn: str, space: str, *, insecure: bool = False) -> str:
    """Return the space to serve: the named one, else the only one of the login.

    Raises TeamError unless the database can be reached, holds a schema of this release, and the
    login is a member of the space.
    """
    connection = connect.connect(dsn, insecure=insecure)
    try:
        versions.expect(connection)
        with translated("Cannot list the spaces"):
            rows = connection.execute("SELECT memory_fabric.spaces_of_caller()").fetchall()
    finally:
        connection.close()
    known = sorted(str(name) for (name,) in rows)
    if space in known:
        return space
    if space:
        raise NotAMember(
            f"The login is no member of {space}.",
            remedy="Ask an owner of the space: memory-fabric team add MEMBER.",
        )
    if len(known) == 1:
        return known[0]
    listed = ", ".join(known) or "none"
    raise BadInput(
        "--space",
        f"The login is in several spaces or none: {listed}.",
        remedy="Name the one to serve: --space NAME.",
    )


def _path() -> str:
    """Return the folders of modules as this process has them, extras included."""
    return os.pathsep.join(dict.fromkeys(part for part in sys.path if part))
