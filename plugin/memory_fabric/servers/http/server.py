"""The server process: its socket, its signals and shutdown, and the limits on its connections.

Any program on this machine can open connections without a key. If there are too many, the one that
has waited longest for a complete request is closed, so that idle connections do not block others.
"""

import asyncio
import errno
import ipaddress
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, CannotListen, StoreUnavailable
from memory_fabric.servers import store_thread
from memory_fabric.servers.http import keys, routes
from memory_fabric.servers.http.guard import Guard, Names, Rate, checked
from memory_fabric.servers.http.local_store import LocalStore
from memory_fabric.servers.http.project_stores import MAX_READERS
from memory_fabric.sharing.team import ties

LOCALHOST = "127.0.0.1"
WAITING = 256
MAX_REQUEST_BYTES = 16 << 10
# Seconds to finish responses at shutdown. All acknowledged writes are already durable.
ANSWERS_GRACE_S = 1
# Seconds after which a worker that has not ended is killed; it may wait for a database statement.
END_S = 10.0
# The maximum number of processes by default, because each one needs about 45 MB under load.
MOST_BY_DEFAULT = 4
# Maximum seconds to receive a request's headers, from the connection's start or its last response.
ASKING_S = 5.0
# Time limit in seconds for a client to read a response that does not fit into the socket's buffer.
READING_S = 30.0
# After refusing a body, read at most this many bytes of it, so that the client gets the response.
MAX_UNREAD_BYTES = 4 << 20
MAX_CONNECTIONS = 512


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this address. Raises BadInput, CannotListen."""
    address = address_of(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # Without IPPROTO_TCP, asyncio would not set TCP_NODELAY (send small response parts at once).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((str(address), port))
        listener.listen(WAITING)
    except OSError as error:
        listener.close()
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
        text = f"Port {port} of {address} {why}."
        raise CannotListen(text, remedy="Say --port 0 for any that is free.") from error
    return listener


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parse a host that the user specified as an IP address. Raises BadInput."""
    try:
        return ipaddress.ip_address(LOCALHOST if host.lower() == "localhost" else host.strip("[]"))
    except ValueError as error:
        remedy = "127.0.0.1, ::1 and localhost are local addresses; names are for --allow-host."
        raise BadInput("--host", f"{host} is not an IP address.", remedy=remedy) from error


class Listener:
    """A listening socket; `allowed` are additional Host names. Raises CannotListen, BadInput."""

    def __init__(self, host: str, port: int, allowed: Sequence[str]) -> None:
        self.is_local = address_of(host).is_loopback
        stated = sorted(checked(allowed))  # checked before the socket is opened
        self._socket = listening(host, port)
        name, self.port = self._socket.getsockname()[:2]
        self.host = f"[{name}]" if ":" in name else name
        self.names = Names(self.host, self.port, stated)
        self._server: uvicorn.Server | None = None
        self._is_over = False
        # These handlers work until uvicorn installs its own. When uvicorn ends, it restores these
        # handlers and raises again each signal that it received.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._leave)

    @property
    def address(self) -> str:
        """The server's address as a URL."""
        return f"http://{self.host}:{self.port}/"

    def serve(self, config: uvicorn.Config) -> None:
        """Serve requests until SIGINT or SIGTERM; return at once if one has already arrived."""
        if self._is_over:
            return
        if config.workers > 1:
            Workers(config, [self._socket]).run()
        else:
            self._server = uvicorn.Server(config)
            self._server.run(sockets=[self._socket])

    def _leave(self, *_: object) -> None:
        self._is_over = True
        if self._server:
            self._server.should_exit = True


class Workers(Multiprocess):
    """The worker processes of a server; `run` raises StoreUnavailable if a worker cannot start."""

    def run(self) -> None:
        """Run the workers until a signal arrives; replace a worker that ends unexpectedly."""
        super().run()
        if any(worker.exitcode == STARTUP_FAILURE for worker in self.processes):
            text = "A worker could not begin to answer."
            raise StoreUnavailable("", text, remedy="Run with --workers 1 to see why.")

    def join_all(self) -> None:
        """Wait for the workers to end; kill a worker that takes longer than END_S."""
        for worker in self.processes:
            worker.process.join(END_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


class Server(Listener):
    """The server of the local memory; `run` serves requests until a signal arrives. Up to `workers`
    processes answer questions; the default is one for each processor, but at most four. Raises
    CannotListen and StoreUnavailable, and BadInput for a public address without a permanent key.
    """

    def __init__(
        self,
        settings: Settings,
        host: str = LOCALHOST,
        port: int = 0,
        *,
        allowed: Sequence[str] = (),
        workers: int = 0,
    ) -> None:
        if not 0 <= workers <= MAX_READERS:
            raise BadInput("--workers", f"--workers must be from 1 to {MAX_READERS}.")
        is_local = address_of(host).is_loopback
        self._keys = keys.Keys(settings.home, strict=not is_local)
        if not is_local and not self._keys.has_kept:
            text = f"{host} can be reached from other machines, and there is no permanent key."
            remedy = "Make one with memory-fabric serve --new-key, or stay on this machine: "
            remedy += "127.0.0.1, ::1 and localhost need none."
            raise BadInput("--host", text, remedy=remedy)
        super().__init__(host, port, allowed)
        self._settings = settings._replace(session="")  # requests come from no agent session
        self._workers = workers or min(MOST_BY_DEFAULT, os.cpu_count() or 1)

    @property
    def address(self) -> str:
        """The URL of the page, including the key of this run."""
        return f"{super().address}?key={self._keys.lasting}"

    def address_for_once(self) -> str:
        """Return a URL of the page that includes a single-use key."""
        return f"{super().address}?key={self._keys.once()}"

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM, and meanwhile sync projects linked to a shared log."""
        store = LocalStore(self._settings, workers=self._workers, only_served=not self.is_local)
        app = routes.application(store, keys_are_needed=lambda: self._keys.are_needed)
        rate = Rate(self._settings.serve_rate)
        guard = Guard(app, self._keys, self.names, rate, f"memory-fabric-{self.port}")
        store_thread.settle()
        if ties.exist(self._settings.home):
            from memory_fabric.sharing.team import follower  # imported only for a shared log

            follower.start(lambda: self._settings)
        self.serve(config_for(guard))
        store.close()


class TeamServer(Listener):
    """A server of a team's shared log; `run` serves until a signal arrives. `dsn` is the connection
    string of the database, `read` that of its replica ('' if none). Raises BadInput, CannotListen.
    """

    def __init__(
        self,
        settings: Settings,
        dsn: str,
        space: str,
        read: str = "",
        *,
        host: str = LOCALHOST,
        port: int = 0,
        allowed: Sequence[str] = (),
        insecure: bool = False,
        workers: int = 1,
    ) -> None:
        if not 1 <= workers <= MAX_READERS:
            raise BadInput("--workers", f"--workers must be from 1 to {MAX_READERS}.")
        super().__init__(host, port, allowed)
        settings = settings._replace(session="")
        cookie = f"memory-fabric-team-{self.port}"
        app = partial(_team_app, settings, dsn, space, read, insecure, self.names, cookie)
        self.run = partial(self.serve, config_for(app, workers))


def _team_app(
    settings: Settings, dsn: str, space: str, read: str, insecure: bool, names: Names, cookie: str
) -> ASGIApp:
    from memory_fabric.servers.http import team_access, team_store  # these import a database driver

    access = team_access.Access(settings, dsn, space, read, insecure=insecure)
    app = routes.application(team_store.TeamStore(access))
    store_thread.settle()
    return Guard(app, keys.MemberKeys(), names, Rate(settings.serve_rate), cookie)


def config_for(app: ASGIApp | Callable[[], ASGIApp], workers: int = 0) -> uvicorn.Config:
    """Return uvicorn's settings, ignoring proxy headers. With `workers` > 0, `app` is a factory."""
    return uvicorn.Config(
        app, factory=workers > 0, workers=workers or 1, loop="asyncio", http=PatientProtocol,
        ws="none", lifespan="on", log_config=None, log_level="critical", access_log=False,
        proxy_headers=False, server_header=False, backlog=WAITING,
        h11_max_incomplete_event_size=MAX_REQUEST_BYTES, timeout_graceful_shutdown=ANSWERS_GRACE_S,
    )  # fmt: skip


class PatientProtocol(H11Protocol):
    """HTTP/1.1 protocol that closes a connection if its client sends or reads too slowly."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        # When the wait for a complete request began; None while the server answers a request.
        self._waits_since: float | None = None
        # Timers that close the connection if a request arrives, or a response is read, too slowly.
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unread_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request; with too many connections, close the one that has waited longest."""
        super().connection_made(transport)
        self._waits_since = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            others: Any = self.connections - {self}
            waiting = [other for other in others if other._waits_since is not None]
            if not waiting:
                self.connections.discard(self)
                transport.write(_NO_ROOM)
                transport.close()
                return
            longest = min(waiting, key=lambda other: other._waits_since)
            self.connections.discard(longest)
            longest.transport.abort()
        self._wait_or_not()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait_or_not()
        answered = self.cycle is not None and self.cycle.response_complete
        if answered and self.conn.their_state is h11.SEND_BODY:  # the refused body still arrives
            self._unread_bytes += len(data)
            if self._unread_bytes > MAX_UNREAD_BYTES:
                self.transport.abort()

    def on_response_complete(self) -> None:
        if self._waits_since is None:
            self._waits_since = self.loop.time()
        super().on_response_complete()
        self._wait_or_not()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop("request")
        self._stop("response")

    def pause_writing(self) -> None:
        """Start the timer: the client reads its response more slowly than the server writes it."""
        super().pause_writing()
        if "response" not in self._timers:
            self._timers["response"] = self.loop.call_later(READING_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer: the client has read enough of its response."""
        super().resume_writing()
        self._stop("response")

    def send_400_response(self, msg: str) -> None:
        """Respond to a request that h11 cannot parse with an error in this server's JSON format."""
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        status, code, error = HTTPStatus.BAD_REQUEST, "bad_request", sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
            status, code = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "too_large"
            msg = "The head of the request is longer than 16 KB."
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            head = h11.Response(status_code=status, headers=headers, reason=status.phrase.encode())
            for part in (head, h11.Data(data=_error(code, msg)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part) or b"")
        self.transport.close()

    def _wait_or_not(self) -> None:
        # More bytes of an incomplete request do not restart the request's timer.
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop("request")
            if not self.cycle.more_body:
                self._waits_since = None
        elif "request" not in self._timers and not self.transport.is_closing():

            def end() -> None:
                if self.transport.get_write_buffer_size():
                    self.transport.abort()  # close() would wait until the client reads
                else:
                    self.transport.close()

            self._timers["request"] = self.loop.call_later(ASKING_S, end)

    def _stop(self, timer: str) -> None:
        if timer in self._timers:
            self._timers.pop(timer).cancel()


def _error(code: str, message: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "remedy": ""}}).encode()


_FULL = _error("unavailable", "Too many requests are in progress.")
_NO_ROOM = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
    b"Connection: close\r\nContent-Length: " + str(len(_FULL)).encode() + b"\r\n\r\n" + _FULL
)
