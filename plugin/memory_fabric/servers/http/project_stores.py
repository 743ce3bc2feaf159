"""The memories of this home's projects, each with its own thread, and the answers to requests.

Each request of the page names its project by an id of this home; without an id, the served project
is meant. The page belongs to the user and shows the whole served project. If the server runs in an
isolated domain (MEMORY_FABRIC_DOMAIN), it shows only that domain of other projects.
"""

import os
import time
from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from memory_fabric import ids
from memory_fabric.config import Settings
from memory_fabric.errors import NotFound, StoreUnavailable
from memory_fabric.language import times
from memory_fabric.models import Filters
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.semantic.measure import measure_for
from memory_fabric.servers.http.responses import Job, answered
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory

# The most memories of other projects kept open; the least recently used one is closed.
MAX_OPEN = 4


class ProjectStores:
    """Stores of the served project and, unless `only_served`, of other projects on request.

    A process that handles one request at a time (`answers_one`) runs each job in its own thread.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        only_served: bool = False,
        answers_one: bool = False,
        open_memory: Callable[[], Memory] | None = None,
    ) -> None:
        self._settings, self.only_served = settings, only_served
        self.served = StoreThread(
            open_memory or (lambda: Memory.open(settings)),
            check=lambda: need_folder(settings.project_dir),
            answers_one=answers_one,
        )
        self._others: dict[str, StoreThread] = {}

    async def answer(self, job: Job, project: str = "", *, changes: bool = False) -> Response:
        """Return a job's result as JSON; with `changes`, the job writes. Raises its errors."""
        store = await self._store_of(project)

        def visible(memory: Memory) -> Any:
            return job(memory if store is self.served else visible_to_process(memory))

        return await store.ask(lambda m: answered(m, visible), changes=changes, at_once=False)

    def close_others(self, timeout_s: float) -> None:
        """Finish the jobs of other projects and close each memory within `timeout_s` seconds."""
        while self._others:
            self._others.popitem()[1].close(timeout_s)

    async def _store_of(self, project_id: str) -> StoreThread:
        """Return the store of a project. Raises NotFound if no project of this id may be shown."""
        served = self.served
        if not project_id or project_id == await served.ask(lambda m: m.project and m.project.id):
            return served
        if self.only_served:
            message = "This server can be reached from other machines and shows one project only."
            remedy = "Start memory-fabric serve without --host to see the others."
            raise NotFound("project", message, remedy=remedy)
        store = self._others.pop(project_id, None)
        if store is None:
            from memory_fabric.store.projects import home_projects  # imported for other projects

            home_projects.memory_of(self._settings, project_id).close()  # fails on an unknown id
            store = StoreThread(lambda: home_projects.memory_of(self._settings, project_id))
        self._others[project_id] = store
        while len(self._others) > MAX_OPEN:
            self._others.pop(next(iter(self._others))).close(0)
        return store


def need_folder(folder: str) -> None:
    """Raise StoreUnavailable if the folder is missing: its path would open a new, empty project."""
    if folder and not os.path.isdir(folder):
        message = "The folder of the served project is missing."
        remedy = "Move it back, or start memory-fabric serve where it is now."
        raise StoreUnavailable(folder, message, remedy=remedy)


def recalled(
    memory: Memory, text: str, limit: int, depth: int, as_of: str, filters: Filters, now: str
) -> dict[str, Any]:
    """Return the JSON of `memory-fabric recall --json`, limited to what programs may see."""
    from memory_fabric.recall.explain import answer_as_json  # imported for the first question
    from memory_fabric.recall.pipeline import Fabric

    visible = visible_to_process(memory)
    fabric = Fabric(visible, now, measure_for(visible.settings))
    answer = fabric.recall(text, limit=limit, depth=depth, as_of=as_of, filters=filters)
    return answer_as_json(answer)


def picture(memory: Memory) -> dict[str, Any]:
    """Return the whole memory as the JSON from which the page draws its graph."""
    from memory_fabric.viewer.picture import picture as drawn  # imported for the first question

    return drawn(memory, ids.timestamp()) | {"live": True, "takes_changes": True}


def explained(memory: Memory, q: str, limit: int, as_of: str) -> dict[str, Any]:
    """Return the JSON of `memory-fabric recall --explain --json`."""
    from memory_fabric.recall import explain  # imported only for the first question
    from memory_fabric.recall.pipeline import Fabric

    now = ids.timestamp()
    then = times.stated(as_of, now, "as_of") if as_of else ""
    fabric = Fabric(memory, now, measure_for(memory.settings))
    if not q:
        return explain.answer_as_json(fabric.recall(q, limit=limit, as_of=then))
    return explain.as_json(explain.explain_here(fabric, q, limit=limit, as_of=then))


def history(memory: Memory, name: str, limit: int) -> list[dict[str, Any]]:
    """Return the JSON of `memory-fabric history NAME --json`."""
    from memory_fabric.store.history import trace  # imported only for the first question

    return [trace.as_json(change) for change in trace.history(memory, name or None, limit)]


def status(memory: Memory) -> dict[str, Any]:
    """Return the health of the memory's tiers as JSON."""
    from memory_fabric.health import tiers as health  # imported only for the first question

    return {"tiers": [health.as_json(tier) for tier in health.tiers(memory, time.time())]}


def projects(memory: Memory, *, only_served: bool = False) -> dict[str, Any]:
    """Return the home's projects and their link proposals, of one domain if isolated to it."""
    from memory_fabric.recall import review  # imported only for the first question
    from memory_fabric.store.projects import home_projects
    from memory_fabric.viewer.picture import candidate, presentable

    listed: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    if not only_served:
        seen, settings = visible_to_process(memory), memory.settings
        domain = seen.domains[0] if seen.domains else ""
        summaries = home_projects.summaries(settings.home, domain)
        listed = [home_projects.as_json(one, settings.user_home) for one in summaries]
        proposals = [] if domain else review.proposals(settings)
        waiting = [{"project": p.id, "name": p.name, **candidate(r)} for p, r in proposals]
    found = presentable({"projects": listed, "proposals": waiting})
    return found | {"served": memory.project.id if memory.project else ""}
