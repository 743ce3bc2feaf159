"""The server as a process: its socket, signals and shutdown."""

import os
import signal
from collections.abc import Sequence

import uvicorn

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput
from memory_fabric.servers import store_thread
from memory_fabric.servers.http import listen_sockets
from memory_fabric.servers.http.allowed_hosts import Names, checked
from memory_fabric.servers.http.auth import Guard
from memory_fabric.servers.http.batching import BatchedWriter
from memory_fabric.servers.http.connection_limits import ConnectionPool
from memory_fabric.servers.http.ingest_process import WorkerChild
from memory_fabric.servers.http.keys import Keys
from memory_fabric.servers.http.project_stores import need_folder
from memory_fabric.servers.http.rate_limit import Rate
from memory_fabric.servers.http.readers.pool import MAX_READERS, ReaderPool
from memory_fabric.servers.http.routes import application
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.sharing.team import ties
from memory_fabric.store.memory import Memory

MAX_REQUEST_BYTES = 16 << 10
# For answers under way when the server ends, then for the memory to close: what was answered is
# durable, so it has nothing to save.
ANSWERS_GRACE_S, CLOSE_GRACE_S = 1, 0.5
# Each takes some 45 MB once questions overlap.
MOST_BY_DEFAULT = 4


class Server:
    """A server that listens already; `run` answers until a signal comes, also one before.

    With `path` it listens on a Unix socket there, else on `host` and `port`; `allowed` are names
    that Host headers may have besides. Up to `workers` processes answer questions, by default as
    many as `default_workers` says. Raises BadInput for an address that others reach when no
    key is kept, CannotListen, StoreUnavailable when the kept keys cannot be read.
    """

    def __init__(
        self,
        settings: Settings,
        host: str = listen_sockets.LOCALHOST,
        port: int = 0,
        *,
        path: str = "",
        allowed: Sequence[str] = (),
        workers: int = 0,
    ) -> None:
        if not 0 <= workers <= MAX_READERS:
            raise BadInput("--workers", f"--workers must be from 1 to {MAX_READERS}.")
        self._workers = workers or default_workers()
        # Clients are not the session in which the server was started.
        settings = self._settings = settings._replace(session="")
        self.is_local = bool(path) or listen_sockets.is_loopback(host)
        self._keys = Keys(settings.home, strict=not self.is_local)
        if not self.is_local and not self._keys.has_kept:
            raise BadInput(
                "--host",
                f"{host} can be reached from other machines, and there is no permanent key.",
                remedy="Make one with memory-fabric serve --new-key, or stay on this machine: "
                "127.0.0.1, ::1 and localhost need none.",
            )
        names = checked(allowed)  # before there is a socket that a refusal would leave
        self._file = listen_sockets.SocketFile(path) if path else None
        try:
            self._socket = self._file.socket if self._file else listen_sockets.listening(host, port)
            address, self.port = "", 0
            if not path:
                address, self.port = self._socket.getsockname()[:2]
            self.host = f"[{address}]" if ":" in address else address
            self._prepare(settings, Names(self.host or "localhost", self.port, sorted(names)))
        except BaseException:
            self.close()
            raise

    def _prepare(self, settings: Settings, names: Names) -> None:
        def check() -> None:
            need_folder(settings.project_dir)

        self._store = StoreThread(lambda: Memory.open(settings), check=check)
        worker = WorkerChild(settings.project_dir)
        self._writer = BatchedWriter(
            lambda: Memory.open(settings),
            self._store,
            settings.serve_backlog,
            worker.start,
            check=check,
        )
        app = application(
            self._store,
            settings,
            self._keys,
            self._writer,
            worker,
            ReaderPool(settings, self._workers, only_served=not self.is_local),
            only_served=not self.is_local,
        )
        rate = Rate(settings.serve_rate)
        guard = Guard(app, self._keys, names, rate, f"memory-fabric-{self.port}")
        self._server = uvicorn.Server(config_for(guard, ConnectionPool()))
        # uvicorn puts its own handlers over these while it runs, and calls these at its end.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._leave)

    @property
    def key(self) -> str:
        """The key of this start."""
        return self._keys.lasting

    @property
    def address(self) -> str:
        """The address of the page, with the key of this run; the path of a Unix socket."""
        return self._file.path if self._file else self._with_key(self._keys.lasting)

    def address_for_once(self) -> str:
        """The address with a key that opens only the first time."""
        return self._with_key(self._keys.once())

    def run(self) -> None:
        """Answer until SIGINT or SIGTERM; a tied home exchanges with its shared log meanwhile."""
        store_thread.settle()
        if ties.exist(self._settings.home):
            from memory_fabric.sharing.team import follower  # only where a shared log is

            follower.start(lambda: self._settings)
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self.close()
        self._writer.close(CLOSE_GRACE_S)
        self._store.close(CLOSE_GRACE_S)

    def close(self) -> None:
        """Remove the socket's file, if there is one."""
        if self._file:
            self._file.close()

    def _leave(self, *_: object) -> None:
        self._server.should_exit = True

    def _with_key(self, key: str) -> str:
        return f"http://{self.host}:{self.port}/?key={key}"


def default_workers() -> int:
    """Return how many processes answer questions: one for each processor, at most four."""
    return min(MOST_BY_DEFAULT, os.cpu_count() or 1)


def config_for(app: object, connections: ConnectionPool) -> uvicorn.Config:
    """Return how uvicorn serves an application: bounded, quiet, without trust in proxies."""
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        loop="asyncio",
        http=connections.protocol,  # type: ignore[arg-type]
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=listen_sockets.WAITING,
        h11_max_incomplete_event_size=MAX_REQUEST_BYTES,
        timeout_graceful_shutdown=ANSWERS_GRACE_S,
    )
