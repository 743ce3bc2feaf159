"""A relay between processes and a PostgreSQL's Unix socket that counts bytes and can be cut."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable

CHUNK_BYTES = 4096


class Relay:
    """A socket like that of the server. `relayed` counts bytes; `cut` closes all connections.

    After `limit` bytes from now `event` is called once, in the middle of whatever is sent.
    """

    def __init__(self, folder: str, server_folder: str, port: int) -> None:
        name = f".s.PGSQL.{port}"
        self.folder = folder
        self._target = os.path.join(server_folder, name)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(os.path.join(folder, name))
        self._listening.listen(16)
        self._peers: dict[socket.socket, socket.socket] = {}
        self.relayed = 0
        self._limit = 0
        self._event: Callable[[], object] | None = None

    def expect(self, limit: int, event: Callable[[], object] | None) -> None:
        """Call `event` after so many bytes."""
        self._limit, self._event = self.relayed + limit, event

    @property
    def is_expecting(self) -> bool:
        """True until the event has come."""
        return self._event is not None

    def step(self, timeout_s: float) -> None:
        """Relay what is there now, or comes in time."""
        sockets = [self._listening, *self._peers]
        for ready in select.select(sockets, [], [], timeout_s)[0]:
            if ready is self._listening:
                self._accept()
            elif ready in self._peers:  # may be closed by now
                self._relay(ready)

    def cut(self) -> None:
        """Close all connections, as a network that is gone."""
        for one in list(self._peers):
            self._close(one)

    def close(self) -> None:
        """End the relay."""
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        client = self._listening.accept()[0]
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._target)
        except OSError:  # the server is down
            server.close()
            client.close()
            return
        self._peers |= {client: server, server: client}

    def _relay(self, source: socket.socket) -> None:
        try:
            data = source.recv(CHUNK_BYTES)
        except OSError:
            data = b""
        if not data:
            self._close(source)
            return
        left, event = max(0, self._limit - self.relayed), self._event
        if event is None or len(data) < left:
            self._send(source, data)
            return
        self._event = None
        self._send(source, data[:left])
        event()
        self._send(source, data[left:])

    def _send(self, source: socket.socket, data: bytes) -> None:
        """Pass on what came from one end, unless an end is gone."""
        if source not in self._peers:
            return
        self.relayed += len(data)
        try:
            self._peers[source].sendall(data)
        except OSError:
            self._close(source)

    def _close(self, one: socket.socket) -> None:
        for end in (one, self._peers.pop(one, None)):
            if end is not None:
                self._peers.pop(end, None)
                end.close()
