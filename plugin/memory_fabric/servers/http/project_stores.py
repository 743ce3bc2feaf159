"""Access to the memories of the user's projects: a thread for each, and processes that only read.

A page request contains a project's id, or none for the served project, for which the server was
started. All memories of the served project are shown. Of other projects, a server that runs in an
isolated domain (MEMORY_FABRIC_DOMAIN) shows only the memories of this domain.

Reader processes answer questions in parallel: one process answers 37 questions a second, and two
answer at least 50 (docs/benchmarks.md). They are started when two questions overlap for the first
time. If a reader ends unexpectedly, another one answers the open question, and a new one starts.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from starlette.responses import Response

from memory_fabric import config, errors, ids, models
from memory_fabric.language import times
from memory_fabric.recall import agent_domains, review
from memory_fabric.semantic.measure import measure_for
from memory_fabric.servers import store_thread
from memory_fabric.servers.http.responses import Job, answered, of_error
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.history import trace
from memory_fabric.store.home import switches
from memory_fabric.store.memory import Memory
from memory_fabric.store.projects import home_projects
from memory_fabric.store.queries.search import EVERYTHING

# The maximum number of open memories of other projects; the least recently used one is closed.
MAX_OPEN = 4


class ProjectStores:
    """A StoreThread for each open project; with `only_served`, only for the served project."""

    def __init__(
        self, settings: config.Settings, served: StoreThread, *, only_served: bool = False
    ) -> None:
        self._settings, self.served, self.only_served = settings, served, only_served
        self._others: dict[str, StoreThread] = {}

    async def answer(self, job: Job, project: str = "", *, changes: bool = False) -> Response:
        """Return a job's result as JSON, or raise its error. Set `changes` if the job writes."""
        own_id = await self.served.ask(lambda m: m.project and m.project.id) if project else ""
        store = self.served if project in ("", own_id) else self._other(project)

        def visible(memory: Memory) -> Any:
            return job(memory if store is self.served else agent_domains.visible_to_process(memory))

        return await store.ask(lambda m: answered(m, visible), changes=changes, at_once=False)

    def close_others(self, timeout_s: float) -> None:
        """Close the memories of the other projects; wait up to `timeout_s` for each one's jobs."""
        while self._others:
            self._others.popitem()[1].close(timeout_s)

    def _other(self, project_id: str) -> StoreThread:
        """Return the store of another project. Raises NotFound if this server may not show it."""
        if self.only_served:
            message = "This server can be reached from other machines and shows one project only."
            remedy = "Start memory-fabric serve without --host to see the others."
            raise errors.NotFound("project", message, remedy=remedy)
        store = self._others.pop(project_id, None)
        if store is None:
            home_projects.memory_of(self._settings, project_id).close()  # raises for an unknown id
            store = StoreThread(lambda: home_projects.memory_of(self._settings, project_id))
        self._others[project_id] = store
        while len(self._others) > MAX_OPEN:
            self._others.pop(next(iter(self._others))).close(0)
        return store


def need_folder(folder: str) -> None:
    """Raise StoreUnavailable if the folder is missing: opening it would create an empty project."""
    if folder and not os.path.isdir(folder):
        message = "The folder of the served project is missing."
        remedy = "Move it back, or start memory-fabric serve where it is now."
        raise errors.StoreUnavailable(folder, message, remedy=remedy)


def recalled(
    memory: Memory, text: str, limit: int, depth: int, as_of: str, filters: models.Filters, now: str
) -> dict[str, Any]:
    """Return the JSON of `memory-fabric recall --json`, limited to what other programs may see."""
    from memory_fabric.recall.explain import answer_as_json  # imported for the first question
    from memory_fabric.recall.pipeline import Fabric

    visible = agent_domains.visible_to_process(memory)
    if not visible.settings.reads:
        raise switches.off_error(visible.settings)
    fabric = Fabric(visible, now, measure_for(visible.settings))
    answer = fabric.recall(text, limit=limit, depth=depth, as_of=as_of, filters=filters)
    return answer_as_json(answer)


def picture(memory: Memory) -> dict[str, Any]:
    """Return the whole memory in the JSON format from which the page draws its graph."""
    from memory_fabric.viewer.picture import picture as drawn  # imported for the first question

    return drawn(memory, ids.timestamp()) | {"live": True, "takes_changes": True}


def explained(memory: Memory, q: str, limit: int, as_of: str) -> dict[str, Any]:
    """Return the JSON of `memory-fabric recall --explain --json` for the query `q`, as a dict."""
    from memory_fabric.recall import explain  # imported for the first question
    from memory_fabric.recall.pipeline import Fabric

    now = ids.timestamp()
    then = times.stated(as_of, now, "as_of") if as_of else ""
    fabric = Fabric(memory, now, measure_for(memory.settings))
    if not q:
        return explain.answer_as_json(fabric.recall(q, limit=limit, as_of=then))
    return explain.as_json(explain.explain_here(fabric, q, limit=limit, as_of=then))


def history(memory: Memory, name: str, limit: int) -> list[dict[str, Any]]:
    return [trace.as_json(change) for change in trace.history(memory, name or None, limit)]


def status(memory: Memory) -> dict[str, Any]:
    from memory_fabric.health import tiers as health  # imported for the first question

    return {"tiers": [health.as_json(tier) for tier in health.tiers(memory, time.time())]}


def projects(memory: Memory, *, only_served: bool = False) -> dict[str, Any]:
    """Return the user's projects, and the records that the user must still keep or drop. In an
    isolated domain, return only the projects with memories in it; with `only_served`, none.
    """
    from memory_fabric.viewer.picture import candidate, presentable  # imported on first use

    listed: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    if not only_served:
        seen, settings = agent_domains.visible_to_process(memory), memory.settings
        domain = seen.domains[0] if seen.domains else ""
        summaries = home_projects.summaries(settings.home, domain)
        listed = [home_projects.as_json(one, settings.user_home) for one in summaries]
        proposals = [] if domain else review.proposals(settings)
        waiting = [{"project": p.id, "name": p.name, **candidate(r)} for p, r in proposals]
    found = presentable({"projects": listed, "proposals": waiting})
    return found | {"served": memory.project.id if memory.project else ""}


MAX_READERS = 32
# The first and the longest pause in seconds before a reader's restart; each pause doubles the last.
FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
# A reader that takes more than this many seconds to answer is killed; its disk may not respond.
ANSWER_S = 30.0
# A question that each new reader answers first, so that its code is loaded before real questions.
WARM_UP = partial(
    recalled, text="warm up", limit=1, depth=0, as_of="", filters=EVERYTHING, now=ids.timestamp()
)


class Reader(NamedTuple):
    """A reader process, and the executor that runs jobs in it."""

    pid: int
    executor: ProcessPoolExecutor


class ReaderPool:
    """A pool of up to `number` reader processes; if `number` < 2, the server process answers."""

    def __init__(
        self, settings: config.Settings, number: int, *, only_served: bool = False
    ) -> None:
        self._begun_with = (settings, only_served)
        self._number = number if number > 1 else 0
        self._readers: set[Reader] = set()
        self._free: asyncio.Queue[Reader] = asyncio.Queue()
        self._starting: set[asyncio.Task[None]] = set()
        self._inside = 0  # number of questions that the server process is answering now

    async def answer(
        self, job: Job, project: str, inside: Callable[[], Awaitable[Response]]
    ) -> Response:
        """Run a job in a reader, or call `inside` if none is available. Raises StoreUnavailable."""
        ended, loop = 0, asyncio.get_running_loop()

        def free_again(reader: Reader, _: object) -> None:
            loop.call_soon_threadsafe(self._free.put_nowait, reader)

        while self._readers:
            try:
                reader = await asyncio.wait_for(self._free.get(), ANSWER_S)
            except TimeoutError:
                break
            try:
                answer = reader.executor.submit(_answer, job, project)
            except BrokenExecutor:  # the idle process has ended: try another reader
                self._replace(reader)
                continue
            try:
                response = await asyncio.wait_for(asyncio.wrap_future(answer), ANSWER_S)
            except (BrokenExecutor, TimeoutError):
                self._replace(reader)
                ended += 1
                if ended == 2:
                    message = "The processes that answered this question ended."
                    remedy = "The terminal of memory-fabric serve shows why."
                    raise errors.StoreUnavailable("", message, remedy=remedy) from None
            except asyncio.CancelledError:
                # The client has disconnected, but the job goes on: free the reader when it is done.
                answer.add_done_callback(partial(free_again, reader))
                raise
            else:
                self._free.put_nowait(reader)
                return response
        if self._inside and not self._readers and not self._starting:
            for _ in range(self._number):
                self._start(0.0)
        self._inside += 1
        try:
            return await inside()
        finally:
            self._inside -= 1

    async def end(self) -> None:
        """Kill all child processes of multiprocessing: they are readers, running or starting."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        for child in multiprocessing.active_children():
            child.kill()

    def _replace(self, reader: Reader) -> None:
        self._readers.discard(reader)
        # Killing the process is safe, because a reader writes nothing.
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


# Globals of a reader process: its memories, and the event loop in which questions are answered.
_stores: ProjectStores
_runner = asyncio.Runner()


def _begin(settings: config.Settings, only_served: bool) -> None:
    """Initialise a reader process: open the memory, and answer WARM_UP, which loads the code."""
    global _stores
    # Ctrl-C in a terminal also reaches this process. Ignore it: the server ends its readers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_server() -> None:
        server = multiprocessing.parent_process()
        if server is not None:
            server.join()
            os._exit(0)

    threading.Thread(target=end_with_server, daemon=True).start()
    check = partial(need_folder, settings.project_dir)
    served = StoreThread(lambda: Memory.open(settings), check=check, answers_one=True)
    _stores = ProjectStores(settings, served, only_served=only_served)
    _answer(WARM_UP, "")
    store_thread.settle()


def _answer(job: Job, project: str) -> Response:
    try:
        return _runner.run(_stores.answer(job, project))
    except Exception as error:  # noqa: BLE001 - one question must not end the reader
        return of_error(error)
