"""The application of the shared server and its routes."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memory_fabric import ids, ingest_protocol
from memory_fabric.language.concepts import concepts
from memory_fabric.redaction.prefilter import all_without_secrets
from memory_fabric.servers.http import mcp_endpoint, recall_api
from memory_fabric.servers.http.auth import FRONT
from memory_fabric.servers.http.bodies import WithBody, whole_body
from memory_fabric.servers.http.ingest_api import is_id, of_outcome
from memory_fabric.servers.http.ingest_body import ingest_in
from memory_fabric.servers.http.query_params import ECHOES, number_in, text_in
from memory_fabric.servers.http.responses import RETRY_AFTER_S, Refused, of_error, of_route, refusal
from memory_fabric.servers.team import ingest, page_api, writes
from memory_fabric.servers.team.access import Access, Busy
from memory_fabric.servers.team.errors import NoMember, Unauthorized
from memory_fabric.servers.team.guard import DIGEST
from memory_fabric.servers.team.mcp_server import McpServer
from memory_fabric.servers.team.memory import TeamMemory
from memory_fabric.store.queues.ingest_queue import Accepted
from memory_fabric.viewer.page import page

Job = Callable[[TeamMemory], Any]


UNDO_PATH = "/v1/memory/undo"
MAX_LIMIT, DEFAULT_HITS, DEFAULT_CHANGES = 100, 20, 50
# The most seconds of the end of a request or text that is under way.
CLOSE_GRACE_S = 2.0


def application(access: Access) -> Starlette:
    """Build the application with all endpoints."""
    html = page({"live": True}, live=True)
    worker = ingest.Worker(access, _say)
    mcp = McpServer(access)

    async def front(request: Request) -> Response:
        return await _answered(access, request, lambda _: "", lambda _: HTMLResponse(html))

    @asynccontextmanager
    async def living(_app: Starlette) -> AsyncIterator[None]:
        await mcp.begin()
        worker.start()
        try:
            yield
        finally:
            await mcp.close()
            worker.close(CLOSE_GRACE_S)

    def of(endpoint: Callable[[Access, Request], Awaitable[Response]]) -> Any:
        return partial(endpoint, access)

    app = Starlette(
        routes=[
            Route(FRONT, front),
            Route(
                mcp_endpoint.PATH,
                WithBody(mcp, mcp_endpoint.MAX_BYTES),
                methods=list(mcp_endpoint.METHODS),
            ),
            Route(recall_api.PATH, of(_recall)),
            Route(ingest_protocol.PATH, IngestEndpoint(access, worker), methods=["POST"]),
            Route(ingest_protocol.PATH + "/{id}", of(_ingest_state)),
            Route(UNDO_PATH, of(_undo), methods=["POST"]),
            Route("/api/picture", of(_picture)),
            Route("/api/recall", of(_page_recall)),
            Route("/api/history", of(_history)),
            Route("/api/status", of(_status)),
            Route("/api/projects", of(_projects)),
            Route("/healthz", _lives),
            Route("/readyz", of(_is_ready)),
        ],
        exception_handlers={HTTPException: of_route, Exception: _of_fault},
        lifespan=living,
    )
    app.router.redirect_slashes = False
    return app


class IngestEndpoint:
    """The endpoint `POST /v1/memory/ingest`: 202 once the text is in the queue."""

    def __init__(self, access: Access, worker: ingest.Worker) -> None:
        self._access, self._worker = access, worker

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            answer = await self._taken(scope, receive)
        except Refused as refused:
            answer = refused.answer
        except Exception as error:  # noqa: BLE001 - one request must not end the server
            answer = of_request_error(error)
        await answer(scope, receive, send)

    async def _taken(self, scope: Scope, receive: Receive) -> Response:
        headers = dict(scope["headers"])
        content_type = headers.get(b"content-type", b"").decode("latin-1")
        said = ingest_in(content_type, await whole_body(scope, receive))
        outcome = await self._access.ask(scope[DIGEST], lambda m: ingest.accept(m, said))
        if isinstance(outcome, Accepted):
            self._worker.wake()
        return of_outcome(outcome)


def of_request_error(error: Exception) -> Response:
    """Return the response for an exception of a request."""
    if isinstance(error, Unauthorized):
        headers = {"WWW-Authenticate": "Bearer"}
        status = HTTPStatus.UNAUTHORIZED
        return refusal(status, "unauthorized", error.message, error.remedy, headers=headers)
    if isinstance(error, NoMember):
        return refusal(HTTPStatus.FORBIDDEN, "forbidden", error.message, error.remedy)
    if isinstance(error, Busy):
        return refusal(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "unavailable",
            "Too many requests wait for the database.",
            headers={"Retry-After": str(RETRY_AFTER_S)},
        )
    return of_error(error)


async def _recall(access: Access, request: Request) -> Response:
    return await _json(access, request, lambda: recall_api.asked(request))


async def _page_recall(access: Access, request: Request) -> Response:
    def asked() -> Job:
        text, as_of = text_in(request, "q"), text_in(request, "as_of")
        limit = number_in(request, "limit", 1, MAX_LIMIT, DEFAULT_HITS)
        return lambda memory: _explained(memory, text, limit, as_of)

    return await _json(access, request, asked)


def _explained(memory: TeamMemory, text: str, limit: int, as_of: str) -> dict[str, Any]:
    from memory_fabric.language import times  # with the first question
    from memory_fabric.recall.pipeline import Fabric, answer_as_json

    now = ids.timestamp()
    then = times.stated(as_of, now, "as_of") if as_of else ""
    answer = Fabric(memory, now).recall(text, limit=limit, as_of=then, explain=bool(text))
    searched = [{"word": c.text, "strength": c.strength} for c in concepts(answer.query)]
    return answer_as_json(answer) | {"searched": searched, "silence": ""}


async def _history(access: Access, request: Request) -> Response:
    def asked() -> Job:
        name = text_in(request, "name")
        limit = number_in(request, "limit", 1, MAX_LIMIT, DEFAULT_CHANGES)
        return lambda memory: page_api.history(memory, name, limit)

    return await _json(access, request, asked)


async def _picture(access: Access, request: Request) -> Response:
    return await _json(access, request, lambda: page_api.picture)


async def _status(access: Access, request: Request) -> Response:
    return await _json(access, request, lambda: page_api.status)


async def _projects(access: Access, request: Request) -> Response:
    # The page asks every server; the log of a team is one memory.
    return await _json(access, request, lambda: lambda _: {"projects": [], "served": ""})


async def _undo(access: Access, request: Request) -> Response:
    return await _json(access, request, lambda: lambda m: {"undone": writes.undo_last(m)})


async def _ingest_state(access: Access, request: Request) -> Response:
    asked = request.path_params["id"]

    def told(found: Any) -> Response:
        if found is None:
            return refusal(HTTPStatus.NOT_FOUND, "not_found", "There is no text with this id.")
        return JSONResponse(found._asdict() | {"records": list(found.records)})

    def job(memory: TeamMemory) -> Any:
        return ingest.find(memory, asked) if is_id(asked) else None

    return await _answered(access, request, job, told)


async def _lives(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def _is_ready(access: Access, _request: Request) -> Response:
    """Answer 200 if the database answers, else 503 with the reason."""
    try:
        await access.check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready
        answer = {"status": "not ready", "reasons": [str(error)]}
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        return JSONResponse(answer, HTTPStatus.SERVICE_UNAVAILABLE, headers)
    return JSONResponse({"status": "ready"})


async def _json(access: Access, request: Request, asked: Callable[[], Job]) -> Response:
    """Answer with the job's value as JSON, what it repeats of the question without secrets."""

    def told(value: Any) -> Response:
        if isinstance(value, dict):
            echoes = {name: value[name] for name in ECHOES if name in value}
            value = value | all_without_secrets(echoes, {})
        content = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return Response(content, media_type="application/json")

    try:
        job = asked()
    except Exception as error:  # noqa: BLE001 - one request must not end the server
        return of_request_error(error)
    return await _answered(access, request, job, told)


async def _answered(
    access: Access, request: Request, job: Job, told: Callable[[Any], Response]
) -> Response:
    try:
        return told(await access.ask(request.scope[DIGEST], job))
    except Exception as error:  # noqa: BLE001 - one request must not end the server
        return of_request_error(error)


async def _of_fault(_request: Request, error: Exception) -> Response:
    return of_request_error(error)


def _say(text: str) -> None:
    print(f"memory-fabric: {text}", file=sys.stderr)  # noqa: T201
