"""The endpoints that only read: any process that has the memory open can answer them."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric.servers.http import recall_api
from memory_fabric.servers.http.page_api import PageApi
from memory_fabric.servers.http.project_stores import ProjectStores

Handler = Callable[[Request], Awaitable[Response]]


def read_routes(stores: ProjectStores) -> dict[str, Handler]:
    """Return the handler of each path; none of them uses more of a request than its query."""
    page = PageApi(stores)
    return {
        recall_api.PATH: recall_api.RecallApi(stores.served).recall,
        "/api/picture": page.picture,
        "/api/recall": page.recall,
        "/api/history": page.history,
        "/api/status": page.status,
        "/api/projects": page.projects,
    }
