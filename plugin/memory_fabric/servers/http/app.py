"""The application: what lies under which path, behind the guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from memory_fabric.servers.http.guard import FRONT, Guard
from memory_fabric.servers.http.page_api import PageApi
from memory_fabric.servers.http.replies import of_route
from memory_fabric.viewer.page import page

if TYPE_CHECKING:
    from starlette.requests import Request

    from memory_fabric.servers.http.guard import Keys
    from memory_fabric.servers.store_thread import StoreThread


def application(store: StoreThread, keys: Keys, host: str, port: int) -> Guard:
    """What answers under this address; the page asks for the memory when it is open."""
    html = page({"live": True}, live=True)

    async def front(_request: Request) -> Response:
        return HTMLResponse(html)

    api = PageApi(store)
    routes = [
        Route(FRONT, front),
        Route("/api/picture", api.picture),
        Route("/api/recall", api.recall),
        Route("/api/history", api.history),
        Route("/api/status", api.status),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: of_route})
    # A path with a slash too many is another path: nothing is guessed.
    app.router.redirect_slashes = False
    return Guard(app, keys, host, port)
