"""The web application: the routes for a local memory or for a team's shared log."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib.resources import files
from itertools import starmap
from typing import Any, Protocol
from uuid import UUID

import orjson
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from memory_fabric import __version__, errors, ids, ingest_protocol
from memory_fabric.language import times
from memory_fabric.recall import filters
from memory_fabric.servers.http import guard, project_stores, requests, responses
from memory_fabric.servers.http.ingest import Outcome
from memory_fabric.store.queues.ingest_queue import IdempotencyConflict, QueuedText
from memory_fabric.viewer.page import page

# Minimum seconds between readiness checks, as anyone may ask for one, and a check's time limit.
LOOK_EVERY_S, PATIENCE_S = 1.0, 5.0
PAGE_QUERIES: Mapping[str, type[requests.PageQuery]] = {
    "picture": requests.PageQuery, "recall": requests.PageQuestion,
    "history": requests.HistoryQuery, "status": requests.PageQuery,
}  # fmt: skip
# The MCP SDK's default limit for a message; it is higher than for ingest, since graphs are larger.
MAX_MCP_BYTES = 4 << 20


class Store(Protocol):
    """The memory behind the application. `holder` identifies the API key of a request (see keys).
    `page` maps the names of the page's queries (as in PAGE_QUERIES) to functions, which take a
    memory and the query's parameters. `begin` starts background work; `end` stops it. `admit`
    raises Unauthorized for an invalid key. `answer` returns the result of `job(memory)` as JSON.
    `accept` stores a text in the ingest queue. `ingested` returns the state of a text in the queue,
    or None for an unknown id. `reasons` returns why a text sent now would not be stored or
    processed. `mcp_manager` returns the SDK's manager of MCP sessions. All may raise FabricError.
    """

    page: Mapping[str, Callable[..., Any]]
    more_routes: list[Route]

    async def begin(self) -> None: ...
    async def end(self) -> None: ...
    async def admit(self, holder: str) -> None: ...
    async def answer(self, holder: str, job: responses.Job, project: str = "") -> Response: ...
    async def accept(self, holder: str, ingest: ingest_protocol.Ingest) -> Outcome: ...
    async def ingested(self, holder: str, id_: str) -> QueuedText | None: ...
    async def reasons(self) -> list[str]: ...
    def mcp_manager(self, max_bytes: int) -> Any: ...


def application(store: Store, *, keys_are_needed: Callable[[], bool] = lambda: True) -> Starlette:
    """Build the application. `keys_are_needed` tells its OpenAPI document if ingest needs a key."""
    api, mcp = Api(store), McpEndpoint(store)
    html = page({"live": True}, live=True)

    async def front(request: Request) -> Response:
        await store.admit(request.scope[guard.HOLDER])
        return HTMLResponse(html)

    async def lives(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    @cache  # anyone may request the result, so it is computed only once
    def description(keys_are_needed: bool) -> bytes:
        paths = [route.path for route in app.routes if isinstance(route, Route)]
        return orjson.dumps(document(paths, keys_are_needed=keys_are_needed))

    async def described(_request: Request) -> Response:
        return Response(description(keys_are_needed()), media_type=requests.JSON_TYPE)

    @asynccontextmanager
    async def living(_app: Starlette) -> AsyncIterator[None]:
        await store.begin()
        try:
            yield
        finally:
            try:
                await mcp.close()
            except Exception as error:  # noqa: BLE001 - processes must be ended in any case
                print(f"memory-fabric: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
            finally:
                await store.end()

    faults = (HTTPException, responses.Refused, errors.FabricError, Exception)
    app = Starlette(
        routes=[
            Route(ingest_protocol.PATH, api.ingest, methods=["POST"]),
            Route(ingest_protocol.PATH + "/{id}", api.ingested),
            Route("/v1/memory/recall", api.recall),
            *starmap(api.page_route, PAGE_QUERIES.items()),
            Route("/api/projects", api.projects),
            Route("/mcp", mcp, methods=["GET", "POST", "DELETE"]),
            Route(guard.FRONT, front),
            Route("/healthz", lives),
            Route("/readyz", api.is_ready),
            Route("/openapi.json", described),
            *store.more_routes,
        ],
        exception_handlers=dict.fromkeys(faults, responses.of_fault),
        lifespan=living,
    )
    app.router.redirect_slashes = False  # a path with an extra slash is refused as unknown
    return app


class Api:
    """The endpoints for reading, ingesting and monitoring; errors are raised as exceptions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at, self._reasons = -LOOK_EVERY_S, [""]
        self._looking = asyncio.Lock()

    async def ingest(self, request: Request) -> Response:
        """Respond 202 once the text is durable; 409 if another text used its idempotency key."""
        text = (await requests.model_in(request, requests.IngestBody)).as_ingest()
        outcome = await self._store.accept(request.scope[guard.HOLDER], text)
        if isinstance(outcome, IdempotencyConflict):
            message = f"This idempotency_key was used for another text, {outcome.id}."
            remedy = "Send a new text with a new key."
            raise responses.Refused(409, "conflict", message, remedy, field="idempotency_key")
        queued = {"status": "queued", "domain": outcome.domain, "length": outcome.length}
        return JSONResponse(queued | {"id": outcome.id}, 202)

    async def ingested(self, request: Request) -> Response:
        """Return the state of an ingested text and the ids of the records made from it."""
        id_ = request.path_params["id"]
        try:
            is_id = str(UUID(id_)) == id_
        except ValueError:
            is_id = False
        text = await self._store.ingested(request.scope[guard.HOLDER], id_) if is_id else None
        if text is None:
            raise responses.Refused(404, "not_found", "There is no text with this id.")
        return JSONResponse(text._asdict())

    async def recall(self, request: Request) -> Response:
        """Return the memories that best match `q`, or the newest memories if `q` is empty."""
        query: Any = requests.query_in(request, requests.RecallQuery)
        now = ids.timestamp()
        # `filters.stated` expects a single value as a string, and several values as a list.
        fields = {name: getattr(query, name) for name in filters.KEYS}
        stated = {name: texts if texts[1:] else texts[0] for name, texts in fields.items() if texts}
        as_of = times.stated(query.as_of, now, "as_of") if query.as_of else ""
        chosen, numbers = filters.stated(stated, now, field=""), {"limit", "depth"}
        job = partial(project_stores.recalled, text=query.q, as_of=as_of, filters=chosen, now=now)
        job = partial(job, **query.model_dump(include=numbers))
        return await self._store.answer(request.scope[guard.HOLDER], job)

    async def projects(self, request: Request) -> Response:
        return await self._store.answer(request.scope[guard.HOLDER], self._store.page["projects"])

    def page_route(self, name: str, model: type[requests.PageQuery]) -> Route:
        """Return the route `/api/NAME`: it calls `Store.page[name]` with the fields of `model`."""

        async def answer(request: Request) -> Response:
            query = requests.query_in(request, model)
            job = partial(self._store.page[name], **query.model_dump(exclude={"project"}))
            return await self._store.answer(request.scope[guard.HOLDER], job, query.project)

        return Route(f"/api/{name}", answer)

    async def is_ready(self, _request: Request) -> Response:
        """Respond 200 if texts can be stored and processed, otherwise 503 with the reasons."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
                try:
                    async with asyncio.timeout(PATIENCE_S):
                        self._reasons = await self._store.reasons()
                except TimeoutError:
                    self._reasons = ["The memory does not answer."]
                self._looked_at = time.monotonic()
        if not self._reasons:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready", "reasons": self._reasons}, 503, responses.LATER)


class McpEndpoint:
    """The MCP endpoint for all clients; the first request imports the MCP SDK."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._opening: asyncio.Task[Any] | None = None
        self._end = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await requests.whole_body(scope, receive, MAX_MCP_BYTES)
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != requests.JSON_TYPE:
            message = f"An MCP message must be {requests.JSON_TYPE}."
            raise responses.Refused(415, "wrong_content_type", message)
        await self._store.admit(scope[guard.HOLDER])
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = self._opening = asyncio.create_task(self._open())
        manager = await asyncio.shield(opening)
        if self._end.is_set():
            raise errors.StoreUnavailable("", "The server is shutting down.")
        await manager.handle_request(scope, replay, send)

    async def close(self) -> None:
        self._end.set()
        if self._running is not None:
            await self._running

    async def _open(self) -> Any:
        manager = await asyncio.to_thread(self._store.mcp_manager, MAX_MCP_BYTES)
        begun = asyncio.Event()

        async def run() -> None:
            # A task group must be left by the task that entered it, so one task runs all sessions.
            async with manager.run():
                begun.set()
                await self._end.wait()

        self._running = asyncio.create_task(run())
        await begun.wait()
        return manager


def document(paths: Collection[str] = (), *, keys_are_needed: bool) -> dict[str, Any]:
    """Describe these paths (default: all) in OpenAPI; state whether ingest requests need a key."""
    described: dict[str, Any] = orjson.loads((files(__package__) / "openapi.json").read_bytes())
    described["info"]["version"] = __version__
    described["paths"] = {p: m for p, m in described["paths"].items() if not paths or p in paths}
    types = {"type": "string", "enum": sorted(filters.TYPES)}
    described["components"]["schemas"]["MemoryType"] = types
    if not keys_are_needed:
        for path, methods in described["paths"].items():
            for operation in methods.values() if path.startswith(ingest_protocol.PATH) else ():
                operation["security"] = [{}, {"key": []}]
    for model in (requests.IngestBody, requests.ChangeBody):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        described["components"]["schemas"] |= {**schema.pop("$defs", {}), model.__name__: schema}
    return described
