"""The application and its routes."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from http import HTTPStatus

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from memory_fabric import ingest_protocol
from memory_fabric.config import Settings
from memory_fabric.errors import FabricError
from memory_fabric.servers.http import changes_api, ingest_api, mcp_endpoint
from memory_fabric.servers.http.auth import FRONT
from memory_fabric.servers.http.batching import BatchedWriter
from memory_fabric.servers.http.bodies import WithBody
from memory_fabric.servers.http.ingest_process import WorkerChild
from memory_fabric.servers.http.keys import Keys
from memory_fabric.servers.http.openapi import document
from memory_fabric.servers.http.project_stores import ProjectStores
from memory_fabric.servers.http.readers.pool import ReaderPool
from memory_fabric.servers.http.readers.routes import read_routes
from memory_fabric.servers.http.responses import RETRY_AFTER_S, of_fault, of_route
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.viewer.page import page

# No key is needed, so the disk is checked at most once a second; no reply in time is a failure.
LOOK_EVERY_S, PATIENCE_S = 1.0, 5.0


class HealthApi:
    """Health endpoints for process monitoring."""

    def __init__(self, writer: BatchedWriter, worker: WorkerChild) -> None:
        self._writer, self._worker = writer, worker
        self._looked_at, self._reasons = -LOOK_EVERY_S, [""]
        self._looking = asyncio.Lock()

    async def lives(self, _request: Request) -> Response:
        """Return 200: the process answers."""
        return JSONResponse({"status": "ok"})

    async def is_ready(self, _request: Request) -> Response:
        """Return 200 if texts can be stored and processed, else 503 with the reasons."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
                self._reasons = await self._found()
                self._looked_at = time.monotonic()
        if not self._reasons:
            return JSONResponse({"status": "ready"})
        return JSONResponse(
            {"status": "not ready", "reasons": self._reasons},
            HTTPStatus.SERVICE_UNAVAILABLE,
            {"Retry-After": str(RETRY_AFTER_S)},
        )

    async def _found(self) -> list[str]:
        try:
            async with asyncio.timeout(PATIENCE_S):
                memory = await self._writer.complaint()
        except TimeoutError:
            memory = "The memory does not answer."
        waiting = "Too many texts wait to be processed." if self._writer.is_full else ""
        return [reason for reason in (memory, self._worker.complaint(), waiting) if reason]


# The most seconds for each other project's memory to write what a change of the page left.
CLOSE_GRACE_S = 0.5


def application(
    store: StoreThread,
    settings: Settings,
    keys: Keys,
    writer: BatchedWriter,
    worker: WorkerChild,
    readers: ReaderPool,
    *,
    only_served: bool = False,
) -> Starlette:
    """Build the application with all endpoints; `only_served` as in ProjectStores."""
    stores = ProjectStores(store, settings, only_served=only_served)
    html = page({"live": True}, live=True)

    async def front(_request: Request) -> Response:
        return HTMLResponse(html)

    async def described(_request: Request) -> Response:
        content = _description(keys.are_needed)
        return Response(content, media_type="application/json")

    mcp = mcp_endpoint.McpEndpoint(store, settings)

    @asynccontextmanager
    async def living(_app: Starlette) -> AsyncIterator[None]:
        await _take_up(writer, worker)
        try:
            yield
        finally:
            try:
                await mcp.close()
            except Exception as error:  # noqa: BLE001 - the worker must be ended in any case
                _say(error)
            finally:
                stores.close(CLOSE_GRACE_S)
                await asyncio.gather(worker.end(), readers.end())

    health, states = HealthApi(writer, worker), ingest_api.StateApi(writer)
    reads = read_routes(stores)
    app = Starlette(
        routes=[
            Route(ingest_protocol.PATH, ingest_api.IngestEndpoint(writer), methods=["POST"]),
            Route(ingest_protocol.PATH + "/{id}", states.state),
            *(Route(path, readers.shared(handler)) for path, handler in reads.items()),
            Route(
                mcp_endpoint.PATH,
                WithBody(mcp, mcp_endpoint.MAX_BYTES),
                methods=list(mcp_endpoint.METHODS),
            ),
            Route(FRONT, front),
            Route(changes_api.PATH, changes_api.ChangesApi(stores).change, methods=["POST"]),
            Route("/healthz", health.lives),
            Route("/readyz", health.is_ready),
            Route("/openapi.json", described),
        ],
        exception_handlers={HTTPException: of_route, Exception: of_fault},
        lifespan=living,
    )
    # A path with an extra slash is another path: no redirects.
    app.router.redirect_slashes = False
    return app


@cache
def _description(keys_are_needed: bool) -> bytes:
    """Return the description of all paths, built once, since it needs no key."""
    return orjson.dumps(document(keys_are_needed=keys_are_needed))


async def _take_up(writer: BatchedWriter, worker: WorkerChild) -> None:
    """Start the worker if an earlier server left texts; a failure shows in later requests."""
    try:
        left = await writer.backlog()
    except FabricError:
        return
    except Exception as error:  # noqa: BLE001 - the server answers, if only with errors
        _say(error)
        return
    if left.waiting or left.working:
        worker.start()


def _say(error: Exception) -> None:
    print(f"memory-fabric: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
