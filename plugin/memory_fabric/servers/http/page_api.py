"""The endpoints of the live page: picture, recall, history, status, and the projects.

All but the list of projects take `project`, the id of one; servers.http.project_stores finds it.
"""

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric import ids
from memory_fabric.language import times
from memory_fabric.recall.agent_domains import visible_to_process
from memory_fabric.redaction import prefilter
from memory_fabric.semantic.measure import measure_for
from memory_fabric.servers.http import query_params
from memory_fabric.servers.http.project_stores import ProjectStores
from memory_fabric.servers.http.query_params import number_in, text_in
from memory_fabric.store.memory import Memory

MAX_LIMIT = 100
DEFAULT_HITS, DEFAULT_CHANGES = 20, 50


class PageApi:
    """The endpoints of the page, each answered by the thread that owns the project's memory."""

    def __init__(self, stores: ProjectStores) -> None:
        self._stores = stores

    async def picture(self, request: Request) -> Response:
        """Return the whole memory as a picture."""
        return await self._stores.answer(request, lambda: _picture)

    async def recall(self, request: Request) -> Response:
        """Return the JSON of `recall --explain --json` for `q`, with `limit` and `as_of`."""

        def asked() -> query_params.Job:
            text, as_of = text_in(request, "q"), text_in(request, "as_of")
            limit = number_in(request, "limit", 1, MAX_LIMIT, DEFAULT_HITS)
            return lambda memory: _recall(memory, text, limit, as_of)

        return await self._stores.answer(request, asked)

    async def history(self, request: Request) -> Response:
        """Return the JSON of `history NAME --json` for `name`, with `limit`."""

        def asked() -> query_params.Job:
            name = text_in(request, "name")
            limit = number_in(request, "limit", 1, MAX_LIMIT, DEFAULT_CHANGES)
            return lambda memory: _history(memory, name, limit)

        return await self._stores.answer(request, asked)

    async def status(self, request: Request) -> Response:
        """Return the state of the tiers."""
        return await self._stores.answer(request, lambda: _status)

    async def projects(self, _request: Request) -> Response:
        """Return the projects of this home; of a confined server those with its domain.

        A server that other machines reach names its own project only.
        """
        job = _no_projects if self._stores.only_served else _projects
        return await query_params.answer(self._stores.served, lambda: job)


def _picture(memory: Memory) -> dict[str, Any]:
    from memory_fabric.viewer.picture import picture  # with the first question

    return picture(memory, ids.timestamp()) | {"live": True, "takes_changes": True}


def _recall(memory: Memory, text: str, limit: int, as_of: str) -> dict[str, Any]:
    from memory_fabric.recall.injection import explain
    from memory_fabric.recall.pipeline import Fabric, answer_as_json

    now = ids.timestamp()
    then = times.stated(as_of, now, "as_of") if as_of else ""
    fabric = Fabric(memory, now, measure_for(memory.settings))
    if not text:
        return answer_as_json(fabric.recall(text, limit=limit, as_of=then))
    told = explain.explain_here(fabric, text, limit=limit, as_of=then)
    return explain.as_json(told, answer_as_json(told.answer))


def _history(memory: Memory, name: str, limit: int) -> list[dict[str, Any]]:
    from memory_fabric.store.history import trace

    return [trace.as_json(told) for told in trace.history(memory, name or None, limit)]


def _status(memory: Memory) -> dict[str, Any]:
    from memory_fabric.health import tiers as health

    return {"tiers": [health.as_json(tier) for tier in health.tiers(memory, time.time())]}


def _no_projects(memory: Memory) -> dict[str, Any]:
    return {"projects": [], "served": memory.project.id if memory.project else ""}


def _projects(memory: Memory) -> dict[str, Any]:
    from memory_fabric.store.projects import home_projects  # with the first question

    seen, settings = visible_to_process(memory), memory.settings
    found = home_projects.summaries(settings.home, seen.domains[0] if seen.domains else "")
    listed = [home_projects.as_json(one, settings.user_home) for one in found]
    here = memory.project.id if memory.project else ""
    return {"projects": prefilter.all_without_secrets(listed, {}), "served": here}
