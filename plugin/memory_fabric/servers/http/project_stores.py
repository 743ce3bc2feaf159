"""The store threads of the projects that the page shows, and the one place that finds a request's.

Each request of the page names its project with the parameter `project`, an id of this home;
without it, the served project is meant. An endpoint that reads or changes a memory answers with

    return await stores.answer(request, asked)                # asked() -> job(memory) -> JSON value
    return await stores.answer(request, asked, changes=True)  # if the job writes

and is given the memory of that project: the same folder, switches and tiers as in a session there.

The page belongs to a person and shows the whole of the served project. Of other projects, a server
in an isolated domain (MEMORY_FABRIC_DOMAIN) shows only that domain.
"""

import os
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric.config import Settings
from memory_fabric.errors import NotFound, StoreUnavailable
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.servers.http import query_params
from memory_fabric.servers.http.responses import of_error
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory

PROJECT = "project"
# Memories of other projects that stay open; the one that was asked for longest ago is closed.
MAX_OPEN = 4


class ProjectStores:
    """The store of the served project, and those of others that requests named.

    With `only_served` there are no others: the server can be reached from other machines.
    """

    def __init__(
        self, served: StoreThread, settings: Settings, *, only_served: bool = False
    ) -> None:
        self.served, self._settings, self.only_served = served, settings, only_served
        self._others: dict[str, StoreThread] = {}

    async def answer(
        self, request: Request, asked: Callable[[], query_params.Job], *, changes: bool = False
    ) -> Response:
        """Run the job that `asked` returns on the memory of the request's project, and answer with
        its result or an error as JSON; `changes` says that the job writes.
        """
        try:
            store = await self._store_of(query_params.text_in(request, PROJECT))
        except Exception as error:  # noqa: BLE001 - one request must not end the server
            return of_error(error)
        visible = asked if store is self.served else lambda: _within_domain(asked())
        return await query_params.answer(store, visible, changes=changes)

    def close(self, timeout_s: float) -> None:
        """Finish the jobs of the other projects and close their memories, each within this time."""
        while self._others:
            self._others.popitem()[1].close(timeout_s)

    async def _store_of(self, project_id: str) -> StoreThread:
        """Return the store of a project. Raises NotFound if none of the id is shown here."""
        if not project_id or project_id == await self.served.ask(_project_id):
            return self.served
        if self.only_served:
            raise NotFound(
                PROJECT,
                "This server can be reached from other machines and shows one project only.",
                remedy="Start memory-fabric serve without --host to see the others.",
            )
        store = self._others.pop(project_id, None) or self._opened(project_id)
        self._others[project_id] = store
        while len(self._others) > MAX_OPEN:
            self._others.pop(next(iter(self._others))).close(0)
        return store

    def _opened(self, project_id: str) -> StoreThread:
        from memory_fabric.store.projects import home_projects  # most pages show one project

        home_projects.memory_of(self._settings, project_id).close()  # an unknown id needs no thread
        return StoreThread(lambda: home_projects.memory_of(self._settings, project_id))


def need_folder(folder: str) -> None:
    """Raise StoreUnavailable if the project's folder is missing: its path would be another project,
    of which nothing is known.
    """
    if folder and not os.path.isdir(folder):
        raise StoreUnavailable(
            folder,
            "The folder of the served project is missing.",
            remedy="Move it back, or start memory-fabric serve where it is now.",
        )


def _project_id(memory: Memory) -> str:
    return memory.project.id if memory.project else ""


def _within_domain(job: query_params.Job) -> query_params.Job:
    """Return the job on what this process may see of another project."""
    return lambda memory: job(visible_to_process(memory))
