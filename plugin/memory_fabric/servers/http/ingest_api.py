"""The ingest endpoints: store a text durably, and report its state."""

from http import HTTPStatus
from uuid import UUID

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memory_fabric.servers.http.batching import BatchedWriter
from memory_fabric.servers.http.bodies import whole_body
from memory_fabric.servers.http.ingest_body import ingest_in
from memory_fabric.servers.http.responses import Refused, of_error, refusal
from memory_fabric.store.queues.ingest_queue import Accepted, IdempotencyConflict


class IngestEndpoint:
    """The endpoint `POST /v1/memory/ingest`."""

    def __init__(self, writer: BatchedWriter) -> None:
        self._writer = writer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: 202 once its text is durable."""
        try:
            answer = await self._taken(scope, receive)
        except Refused as refused:
            answer = refused.answer
        except Exception as error:  # noqa: BLE001 - one request must not end the server
            answer = of_error(error)
        await answer(scope, receive, send)

    async def _taken(self, scope: Scope, receive: Receive) -> Response:
        content_type = Headers(scope=scope).get("content-type", "")
        ingest = ingest_in(content_type, await whole_body(scope, receive))
        return of_outcome(await self._writer.accept(ingest))


class StateApi:
    """The endpoint `GET /v1/memory/ingest/{id}`."""

    def __init__(self, writer: BatchedWriter) -> None:
        self._writer = writer

    async def state(self, request: Request) -> Response:
        """Return the state of a text and the records made from it."""
        asked = request.path_params["id"]
        try:
            found = await self._writer.passage(asked) if is_id(asked) else None
        except Exception as error:  # noqa: BLE001 - as above
            return of_error(error)
        if found is None:
            return refusal(HTTPStatus.NOT_FOUND, "not_found", "There is no text with this id.")
        told = orjson.dumps(found._asdict() | {"records": list(found.records)})
        return Response(told, media_type="application/json")


def of_outcome(outcome: Accepted | IdempotencyConflict) -> Response:
    """Return the response to a text: 202, or 409 if its idempotency key stands for another."""
    if isinstance(outcome, IdempotencyConflict):
        return refusal(
            HTTPStatus.CONFLICT,
            "conflict",
            f"This idempotency_key was used for another text, {outcome.id}.",
            "Send a new text with a new key.",
            field="idempotency_key",
        )
    told = {
        "status": "queued",
        "domain": outcome.domain,
        "length": outcome.length,
        "id": outcome.id,
    }
    return Response(orjson.dumps(told), HTTPStatus.ACCEPTED, media_type="application/json")


def is_id(text: str) -> bool:
    """True for a text in the form of an id."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
