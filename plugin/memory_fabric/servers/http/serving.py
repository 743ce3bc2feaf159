"""The server as a process: its address, its signals, its end."""

from __future__ import annotations

import errno
import ipaddress
import signal
import socket
from typing import TYPE_CHECKING

import uvicorn

from memory_fabric.errors import BadInput, CannotListen
from memory_fabric.servers.http.app import application
from memory_fabric.servers.http.guard import Keys
from memory_fabric.servers.http.patience import PatientProtocol
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory

if TYPE_CHECKING:
    from memory_fabric.config import Settings

LOCALHOST = "127.0.0.1"
WAITING = 128
MAX_REQUEST_BYTES = 16 << 10
MAX_CONNECTIONS = 64
# For answers under way when the server ends, then for the memory to close: it has nothing to save.
ANSWERS_GRACE_S, CLOSE_GRACE_S = 1, 0.5


class Server:
    """A server that listens already; `run` answers until a signal comes, also one before.

    Raises BadInput for an address that is not of this machine alone, and CannotListen.
    """

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        self._socket = _listening(_loopback(host), port)
        address, self.port = self._socket.getsockname()[:2]
        self.host = f"[{address}]" if ":" in address else address
        self._keys = Keys()
        self._store = StoreThread(lambda: Memory.open(settings))
        app = application(self._store, self._keys, self.host, self.port)
        self._server = uvicorn.Server(_config(app))
        # uvicorn puts its own handlers over these while it runs, and calls these at its end.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._leave)

    @property
    def address(self) -> str:
        """Where a person opens the page, with the key of this start."""
        return self._with_key(self._keys.lasting)

    def address_for_once(self) -> str:
        """The same with a key that opens only the first time."""
        return self._with_key(self._keys.once())

    def run(self) -> None:
        """Answer until SIGINT or SIGTERM."""
        self._server.run(sockets=[self._socket])
        self._store.close(CLOSE_GRACE_S)

    def _leave(self, *_: object) -> None:
        self._server.should_exit = True

    def _with_key(self, key: str) -> str:
        return f"http://{self.host}:{self.port}/?key={key}"


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        loop="asyncio",
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_REQUEST_BYTES,
        timeout_graceful_shutdown=ANSWERS_GRACE_S,
    )


def _loopback(host: str) -> str:
    address = LOCALHOST if host.lower() == "localhost" else host.strip("[]")
    try:
        if ipaddress.ip_address(address).is_loopback:
            return address
    except ValueError:
        pass
    raise BadInput(
        "--host",
        f"{host} is no address of this machine alone.",
        remedy="127.0.0.1, ::1 and localhost are accepted; "
        "a later release has keys for those who ask from elsewhere.",
    )


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address, port))
        listening.listen(WAITING)
    except OSError as error:
        listening.close()
        why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
        raise CannotListen(
            f"Port {port} of {address} {why}.", remedy="Say --port 0 for any that is free."
        ) from error
    return listening
