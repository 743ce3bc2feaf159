"""Standard input and output as the SDK's streams, read and written by the loop itself.

The SDK's own transport hands every message through three threads and eight tasks, which costs more
than all of our work on it. It also cancels what is in flight the moment input ends; a client that
writes its requests and closes (a shell pipe) would get none of them answered, so here the end of
input is held back until every request has its answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections import deque
from typing import Any

import anyio
import mcp_types as types
import orjson
from mcp.shared.message import SessionMessage

from memory_fabric.servers.surrogates import whole_surrogates

# A listening request is answered when the connection ends, so nobody can wait for it.
ENDLESS = "subscriptions/listen"
CANCELLED = "notifications/cancelled"
READ_BYTES = 1 << 16


class Unanswered:
    """The requests that have come and not been answered."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._ids: set[str | int] = set()
        self._none_left = anyio.Event()

    def came(self, item: SessionMessage | Exception) -> None:
        """Note a request; forget one that the client cancelled."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCRequest) and message.method != ENDLESS:
            self._ids.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == CANCELLED:
            self._forget((message.params or {}).get("requestId"))

    def went(self, item: SessionMessage) -> None:
        """Forget the request that this message answers."""
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._forget(item.message.id)

    async def wait(self) -> None:
        """Return when all are answered, or when the time is over."""
        if self._ids:
            self._none_left = anyio.Event()
            with anyio.move_on_after(self._wait_s):
                await self._none_left.wait()

    def give_up(self) -> None:
        """Nobody waits for answers any longer."""
        self._ids.clear()
        self._none_left.set()

    def _forget(self, identifier: Any) -> None:
        self._ids.discard(identifier)
        if not self._ids:
            self._none_left.set()


class Incoming:
    """The client's messages, ending only after `Unanswered.wait`. Made inside the running loop."""

    def __init__(self, handle: int, unanswered: Unanswered) -> None:
        self._handle, self._unanswered = handle, unanswered
        self._loop = asyncio.get_running_loop()
        self._items: deque[SessionMessage | Exception | None] = deque()
        self._begun: list[bytes] = []
        self._waiting: asyncio.Future[None] | None = None
        try:
            self._loop.add_reader(handle, self._read)
        except (OSError, NotImplementedError):
            # A file, or a system without such watching: a thread, left behind in its last read.
            threading.Thread(target=self._read_all, name="stdin", daemon=True).start()

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or the error of a line that is none. Raises EndOfStream."""
        while not self._items:
            self._waiting = self._loop.create_future()
            await self._waiting
        item = self._items[0]
        if item is None:
            await self._unanswered.wait()
            raise anyio.EndOfStream
        self._items.popleft()
        self._unanswered.came(item)
        return item

    def end(self) -> None:
        """Let the stream end here: the client has gone."""
        self._items.clear()
        self._came(None)

    async def aclose(self) -> None:
        """Nothing is let go of: the process owns standard input."""

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Incoming:
        return self

    async def __aexit__(self, *_error: object) -> None:
        return None

    def _read(self) -> None:
        """What there is now; the loop calls this when there is some."""
        data = os.read(self._handle, READ_BYTES)
        if not data:
            self._loop.remove_reader(self._handle)
        self._take(data)

    def _read_all(self) -> None:
        data = b"-"
        try:
            while data:
                data = os.read(self._handle, READ_BYTES)
                self._loop.call_soon_threadsafe(self._take, data)
        except RuntimeError:
            return  # the loop has ended: nobody waits for more

    def _take(self, data: bytes) -> None:
        """The lines that are whole now; without data the last one is, too."""
        *ended, begun = data.split(b"\n")
        if ended or not data:
            first = b"".join([*self._begun, *ended[:1]])
            self._begun = []
            for line in (first, *ended[1:]):
                if line:
                    self._came(_message(line))
        self._begun.append(begun)
        if not data:
            self._came(None)

    def _came(self, item: SessionMessage | Exception | None) -> None:
        self._items.append(item)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Outgoing:
    """The server's messages, each written whole before the next; noted as answers once written.

    Where the client does not read any longer, its own messages end, too.
    """

    def __init__(self, handle: int, unanswered: Unanswered, incoming: Incoming) -> None:
        self._handle, self._unanswered, self._incoming = handle, unanswered, incoming

    async def send(self, item: SessionMessage, /) -> None:
        """Write one line."""
        view = memoryview(_line(item.message))
        try:
            while view:
                view = view[os.write(self._handle, view) :]
        except OSError as error:
            print(f"memory-fabric: the client is gone: {error}", file=sys.stderr)  # noqa: T201
            self._unanswered.give_up()
            self._incoming.end()
        self._unanswered.went(item)

    async def aclose(self) -> None:
        """Nothing is let go of: the process owns standard output."""

    async def __aenter__(self) -> Outgoing:
        return self

    async def __aexit__(self, *_error: object) -> None:
        return None


def claimed_output() -> int:
    """A private handle of standard output, which itself now leads to standard error (MEM-20)."""
    sys.stdout.flush()
    handle = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # started without standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return handle


def _message(line: bytes) -> SessionMessage | Exception:
    text = whole_surrogates(line.decode("utf-8", "replace"))
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error


def _line(message: types.JSONRPCMessage) -> bytes:
    if isinstance(message, types.JSONRPCResponse):
        whole = {"jsonrpc": "2.0", "id": message.id, "result": message.result}
        try:
            return orjson.dumps(whole, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:  # an id beyond 64 bits, which JSON allows
            return json.dumps(whole).encode() + b"\n"
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
