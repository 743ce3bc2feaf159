"""Readers: processes that answer questions side by side, while this one keeps all other state.

They are started once two questions overlap, so whoever looks at the page alone has none. Each
answers one question at a time; one that ends is replaced, and its question is asked again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric.config import Settings
from memory_fabric.servers.http.readers import frames
from memory_fabric.servers.http.readers.process import given_to
from memory_fabric.servers.http.readers.routes import Handler
from memory_fabric.servers.http.responses import RETRY_AFTER_S, refusal

MAX_READERS = 32
# A question that ended so many readers is refused.
ATTEMPTS = 2
# After an end that was too soon, each pause is twice the last one.
FIRST_PAUSE_S, MOST_PAUSE_S, LONG_S = 0.5, 60.0, 30.0
END_GRACE_S = 1.0
# A reader that has not answered by then is ended: it was stopped, or its disk hangs.
ANSWER_S = 30.0
STREAM_BYTES = 1 << 20
# The modules are found where this process found them.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from memory_fabric.servers.http.readers.process import main; main()"
)


class ReaderEnded(Exception):
    """The reader ended before it answered."""


class ReaderPool:
    """At most `number` readers; with one or none this process answers everything itself."""

    def __init__(
        self,
        settings: Settings,
        number: int,
        *,
        only_served: bool = False,
        command: Sequence[str] = (),
        first_pause_s: float = FIRST_PAUSE_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._given = given_to(settings, only_served=only_served)
        self._number, self._first_pause_s = number if number > 1 else 0, first_pause_s
        self._answer_s = answer_s
        cache = ("-X", f"pycache_prefix={sys.pycache_prefix}") if sys.pycache_prefix else ()
        paths = json.dumps([path for path in sys.path if path])
        self._command = command or (sys.executable, "-I", *cache, "-c", _START, paths)
        self._keepers: list[asyncio.Task[None]] = []
        # Questions that this process answers now; readers that run, and those that are free.
        self._inside = self._running = 0
        self._free: deque[Reader] = deque()
        self._waiting: deque[asyncio.Future[Reader | None]] = deque()

    def shared(self, handler: Handler) -> Handler:
        """Return a handler that has a reader answer, or `handler` where none runs."""

        async def handle(request: Request) -> Response:
            if self._running:
                scope = request.scope
                found = await self._answer((scope["path"], scope["query_string"]))
                if found is not None:
                    return found
            if self._inside:
                self._start()
            self._inside += 1
            try:
                return await handler(request)
            finally:
                self._inside -= 1

        return handle if self._number else handler

    async def end(self) -> None:
        """End all readers, and wait for them a little."""
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    def _start(self) -> None:
        if not self._keepers:
            self._keepers = [asyncio.create_task(self._keep()) for _ in range(self._number)]

    async def _answer(self, asked: tuple[str, bytes]) -> Response | None:
        """Return a reader's answer; None if none runs."""
        for _ in range(ATTEMPTS):
            reader = await self._next_free()
            if reader is None:
                return None
            # A client that leaves must not leave its answer to the next one.
            with suppress(ReaderEnded):
                return await asyncio.shield(asyncio.create_task(self._ask(reader, asked)))
        return refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "unavailable",
            "The processes that answered this question ended.",
            "The terminal of memory-fabric serve shows why.",
            headers={"Retry-After": str(RETRY_AFTER_S)},
        )

    async def _ask(self, reader: Reader, asked: tuple[str, bytes]) -> Response:
        status, headers, body = await reader.ask(asked)
        self._give(reader)
        response = Response(body, status)
        response.raw_headers = headers
        return response

    async def _next_free(self) -> Reader | None:
        if self._free or not self._running:
            return self._free.popleft() if self._free else None
        waiter: asyncio.Future[Reader | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and (reader := waiter.result()):
                self._give(reader)
            raise

    def _give(self, reader: Reader | None) -> None:
        """Let the longest waiting question have a free reader; None tells all that none runs."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(reader)
                if reader is not None:
                    return
        if reader is not None:
            self._free.append(reader)

    async def _keep(self) -> None:
        """Run a reader, and another one when it ends."""
        pause_s, loop = self._first_pause_s, asyncio.get_running_loop()
        while True:
            began = loop.time()
            ended = await self._run_once()
            if loop.time() - began >= LONG_S:
                pause_s = self._first_pause_s
            print(  # noqa: T201
                f"memory-fabric: a reader ended ({ended}); again in {pause_s:g} s.",
                file=sys.stderr,
            )
            await asyncio.sleep(pause_s)
            pause_s = min(MOST_PAUSE_S, 2 * pause_s)

    async def _run_once(self) -> str:
        """Run a reader until it ends, and describe how."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, limit=STREAM_BYTES
            )
        except OSError as error:
            return str(error)
        reader = Reader(process, self._answer_s)
        try:
            with suppress(ReaderEnded):
                await reader.begin(self._given)
                await self._serve_with(reader)
            return f"exit code {await process.wait()}"
        finally:
            await reader.end()

    async def _serve_with(self, reader: Reader) -> None:
        self._running += 1
        self._give(reader)
        try:
            await reader.process.wait()
        finally:
            self._running -= 1
            with suppress(ValueError):
                self._free.remove(reader)
            if not self._running:
                self._give(None)


class Reader:
    """A process with its pipes."""

    def __init__(self, process: Process, answer_s: float) -> None:
        self.process, self._answer_s = process, answer_s

    async def begin(self, given: bytes) -> None:
        """Give it the settings, and wait until it can answer. Raises ReaderEnded."""
        await self._sent(given, ANSWER_S)

    async def ask(self, asked: tuple[str, bytes]) -> Any:
        """Return its answer: status, headers and body. Raises ReaderEnded."""
        return await self._sent(frames.packed(asked), self._answer_s)

    async def end(self) -> None:
        """End it, at once if it does not end by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), END_GRACE_S)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()

    async def _sent(self, frame: bytes, limit_s: float) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            async with asyncio.timeout(limit_s):
                self.process.stdin.write(frame)
                await self.process.stdin.drain()
                return await frames.receive(self.process.stdout)
        # OSError: among them the TimeoutError of a reader that hangs.
        except (OSError, asyncio.IncompleteReadError, ValueError, EOFError) as error:
            with suppress(ProcessLookupError):
                self.process.kill()
            raise ReaderEnded from error
