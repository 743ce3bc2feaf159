"""POST /api/changes: changes of the memory by the person who looks at the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from starlette.datastructures import Headers
from starlette.responses import Response

from memory_fabric.servers import refresh
from memory_fabric.servers.http.bodies import whole_body
from memory_fabric.servers.http.change_body import change_in
from memory_fabric.servers.http.responses import Refused, of_error

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from memory_fabric.servers.http.change_body import Asked
    from memory_fabric.servers.store_thread import StoreThread
    from memory_fabric.store.memory import Memory

PATH = "/api/changes"
# Sixteen thousand characters of each text, escaped in six bytes each.
MAX_BYTES = 512 << 10


class ChangesEndpoint:
    """The endpoint; its changes are made by the thread that owns the memory, one after another."""

    def __init__(self, store: StoreThread) -> None:
        self._store = store

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            content_type = Headers(scope=scope).get("content-type", "")
            asked = change_in(content_type, await whole_body(scope, receive, MAX_BYTES))
            answer = await self._answer(asked)
        except Refused as refused:
            answer = refused.answer
        except Exception as error:  # noqa: BLE001 - one request must not end the server
            answer = of_error(error)
        await answer(scope, receive, send)

    async def _answer(self, asked: Asked) -> Response:
        from memory_fabric.servers.http import page_changes  # with the first change

        def job(memory: Memory) -> bytes:
            refresh.renew(memory)
            content = orjson.dumps(page_changes.carry_out(memory, asked))
            refresh.told(memory)
            return content

        is_change = not page_changes.is_preview(asked)
        content = await self._store.ask(job, changes=is_change, at_once=False)
        return Response(content, media_type="application/json")
