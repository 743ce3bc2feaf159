"""POST /api/changes: changes of the memory by the person who looks at the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory_fabric.servers.http.bodies import whole_body
from memory_fabric.servers.http.change_body import change_in
from memory_fabric.servers.http.responses import Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from memory_fabric.servers.http.project_stores import ProjectStores
    from memory_fabric.store.memory import Memory

PATH = "/api/changes"
# Sixteen thousand characters of each text, escaped in six bytes each.
MAX_BYTES = 512 << 10


class ChangesApi:
    """The endpoint; a project's changes are made by the thread that owns its memory, in order."""

    def __init__(self, stores: ProjectStores) -> None:
        self._stores = stores

    async def change(self, request: Request) -> Response:
        """Make a change, or show what it would do."""
        from memory_fabric.servers.http import page_changes  # with the first change

        try:
            body = await whole_body(request.scope, request.receive, MAX_BYTES)
            asked = change_in(request.headers.get("content-type", ""), body)
        except Refused as refused:
            return refused.answer

        def job(memory: Memory) -> dict[str, Any]:
            return page_changes.carry_out(memory, asked)

        is_change = not page_changes.is_preview(asked)
        return await self._stores.answer(request, lambda: job, changes=is_change)
