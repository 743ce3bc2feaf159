"""Reader processes: answer questions in parallel, while the server process keeps all other state.

A single process answers 37 questions a second, two keep up with 50 (docs/benchmarks.md). Readers
are started once two questions overlap, so a single user of the page runs none. Each reader answers
one question at a time; a reader that ends is replaced, and its question is asked again.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

from starlette.responses import Response

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import StoreUnavailable
from memory_fabric.servers import store_thread
from memory_fabric.servers.http.project_stores import ProjectStores, recalled
from memory_fabric.servers.http.responses import Job, of_error
from memory_fabric.store.queries.search import EVERYTHING

MAX_READERS = 32
# A question is refused after this many readers ended while answering it.
ATTEMPTS = 2
# Seconds before a reader that ended too soon is restarted; the pause doubles each time.
FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
# A reader without an answer after this many seconds is killed: it is stopped, or its disk hangs.
ANSWER_S = 30.0
# Loads the code that the first question needs.
WARM_UP = partial(
    recalled, text="warm up", limit=1, depth=0, as_of="", filters=EVERYTHING, now=ids.timestamp()
)


class Reader(NamedTuple):
    """A reader process, as an executor with a single process."""

    pid: int
    executor: ProcessPoolExecutor


class ReaderPool:
    """Pool of at most `number` readers; with 0 or 1, the server process answers everything."""

    def __init__(
        self,
        settings: Settings,
        number: int,
        *,
        only_served: bool = False,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._begun_with = (settings, only_served)
        self._number, self._answer_s = number if number > 1 else 0, answer_s
        self._readers: set[Reader] = set()
        self._free: asyncio.Queue[Reader] = asyncio.Queue()
        self._starting: set[asyncio.Task[None]] = set()
        # The number of questions that this process is answering itself.
        self._inside = 0

    async def answer(
        self, job: Job, project: str, inside: Callable[[], Awaitable[Response]]
    ) -> Response:
        """Run a job in a reader, or call `inside` if none is available. Raises StoreUnavailable."""
        ended, loop = 0, asyncio.get_running_loop()

        def free_again(reader: Reader, _: object) -> None:
            loop.call_soon_threadsafe(self._free.put_nowait, reader)

        while self._readers:
            try:
                reader = await asyncio.wait_for(self._free.get(), self._answer_s)
            except TimeoutError:
                break
            try:
                answer = reader.executor.submit(_answer, job, project)
            except BrokenExecutor:  # the reader process has ended since its last question
                self._replace(reader)
                continue
            try:
                response = await asyncio.wait_for(asyncio.wrap_future(answer), self._answer_s)
            except (BrokenExecutor, TimeoutError):
                self._replace(reader)
                ended += 1
                if ended == ATTEMPTS:
                    message = "The processes that answered this question ended."
                    remedy = "The terminal of memory-fabric serve shows why."
                    raise StoreUnavailable("", message, remedy=remedy) from None
            except asyncio.CancelledError:
                # A reader finishes its job even if the client has gone.
                answer.add_done_callback(partial(free_again, reader))
                raise
            else:
                self._free.put_nowait(reader)
                return response
        return await self._answer_inside(inside)

    async def end(self) -> None:
        """End all readers, even starting ones; the server has no other children of this kind."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for child in multiprocessing.active_children():
            child.kill()

    async def _answer_inside(self, inside: Callable[[], Awaitable[Response]]) -> Response:
        if self._inside and not self._readers and not self._starting:
            for _ in range(self._number):
                self._start(0.0)
        self._inside += 1
        try:
            return await inside()
        finally:
            self._inside -= 1

    def _replace(self, reader: Reader) -> None:
        self._readers.discard(reader)
        # Killing is safe because a reader writes nothing.
        for child in multiprocessing.active_children():
            if child.pid == reader.pid:
                child.kill()
        reader.executor.shutdown(wait=False, cancel_futures=True)
        message = f"memory-fabric: a reader ended; again in {FIRST_PAUSE_S:g} s."
        print(message, file=sys.stderr)  # noqa: T201
        self._start(FIRST_PAUSE_S)

    def _start(self, pause_s: float) -> None:
        task = asyncio.create_task(self._started(pause_s))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _started(self, pause_s: float) -> None:
        """Start a reader after a pause, and add it to the pool once it has opened the memory."""
        while True:
            await asyncio.sleep(pause_s)
            pause_s = min(MOST_PAUSE_S, 2 * max(pause_s, FIRST_PAUSE_S / 2))
            spawn = multiprocessing.get_context("spawn")
            executor = ProcessPoolExecutor(1, spawn, _begin, self._begun_with)
            try:
                reader = Reader(await asyncio.wrap_future(executor.submit(os.getpid)), executor)
            except (BrokenExecutor, OSError) as error:
                print(f"memory-fabric: a reader did not start: {error}", file=sys.stderr)  # noqa: T201
                executor.shutdown(wait=False, cancel_futures=True)
                continue
            self._readers.add(reader)
            self._free.put_nowait(reader)
            return


# In a reader process: its memories, and the event loop that opens them.
_stores: ProjectStores
_runner = asyncio.Runner()


def _begin(settings: Settings, only_served: bool) -> None:
    """Initialise a reader process: open the memory, and load the code for the first question."""
    global _stores
    # Ctrl-C reaches every process of a terminal; the server ends its readers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_server() -> None:
        server = multiprocessing.parent_process()
        if server is not None:
            server.join()
            os._exit(0)

    threading.Thread(target=end_with_server, daemon=True).start()
    _stores = ProjectStores(settings, only_served=only_served, answers_one=True)
    _answer(WARM_UP, "")
    store_thread.settle()


def _answer(job: Job, project: str) -> Response:
    try:
        return _runner.run(_stores.answer(job, project))
    except Exception as error:  # noqa: BLE001 - one question must not end the reader
        return of_error(error)
