"""What the live page asks for: picture, recall, history and status, as the commands print them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from memory_fabric import ids
from memory_fabric.errors import BadInput
from memory_fabric.servers import fresh
from memory_fabric.servers.http.replies import of_error
from memory_fabric.text import encodable

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from memory_fabric.servers.store_thread import StoreThread
    from memory_fabric.store.memory import Memory

    Job = Callable[[Memory], Any]

MAX_TEXT_BYTES = 4096
MAX_LIMIT = 100
DEFAULT_HITS, DEFAULT_CHANGES = 20, 50


class PageApi:
    """The questions of the page, each answered by the one thread that owns the memory."""

    def __init__(self, store: StoreThread) -> None:
        self._store = store

    async def picture(self, request: Request) -> Response:
        """Everything that is remembered."""
        return await self._answer(lambda: _picture)

    async def recall(self, request: Request) -> Response:
        """What `recall --explain --json` prints for `q`, with `limit` and `as_of`."""

        def asked() -> Job:
            text, as_of = _text(request, "q"), _text(request, "as_of")
            limit = _limit(request, DEFAULT_HITS)
            return lambda memory: _recall(memory, text, limit, as_of)

        return await self._answer(asked)

    async def history(self, request: Request) -> Response:
        """What `history NAME --json` prints for `name`, with `limit`."""

        def asked() -> Job:
            name, limit = _text(request, "name"), _limit(request, DEFAULT_CHANGES)
            return lambda memory: _history(memory, name, limit)

        return await self._answer(asked)

    async def status(self, request: Request) -> Response:
        """How the tiers are."""
        return await self._answer(lambda: _status)

    async def _answer(self, asked: Callable[[], Job]) -> Response:
        try:
            job = asked()

            def answered(memory: Memory) -> bytes:
                fresh.renew(memory)
                value = job(memory)
                fresh.told(memory)
                return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")

            content = await self._store.ask(answered, at_once=False)
        except Exception as error:  # noqa: BLE001 - a door: one question must not end the server
            return of_error(error)
        return Response(content, media_type="application/json")


def _picture(memory: Memory) -> dict[str, Any]:
    from memory_fabric.viewer.picture import picture  # with the first question

    return picture(memory, ids.timestamp()) | {"live": True}


def _recall(memory: Memory, text: str, limit: int, as_of: str) -> dict[str, Any]:
    from memory_fabric.fabric import explain, times
    from memory_fabric.fabric.core import Fabric, answer_as_json
    from memory_fabric.semantic.measure import measure_for

    now = ids.timestamp()
    then = times.stated(as_of, now, "as_of") if as_of else ""
    fabric = Fabric(memory, now, measure_for(memory.settings))
    if not text:
        return answer_as_json(fabric.recall(text, limit=limit, as_of=then))
    told = explain.explain_here(fabric, text, limit=limit, as_of=then)
    return explain.as_json(told, answer_as_json(told.answer))


def _history(memory: Memory, name: str, limit: int) -> list[dict[str, Any]]:
    from memory_fabric.store.history import tracing

    return [tracing.as_json(told) for told in tracing.history(memory, name or None, limit)]


def _status(memory: Memory) -> dict[str, Any]:
    from memory_fabric.store import health

    return {"tiers": [health.as_json(tier) for tier in health.tiers(memory, time.time())]}


def _text(request: Request, field: str) -> str:
    value = encodable(request.query_params.get(field, "")).replace("\0", "")
    if len(value.encode()) > MAX_TEXT_BYTES:
        raise BadInput(field, f"{field} is longer than 4 KB.", remedy="Ask for less at once.")
    return value


def _limit(request: Request, default: int) -> int:
    value = request.query_params.get("limit", "") or str(default)
    is_number = value.isascii() and value.isdigit() and len(value) <= len(str(MAX_LIMIT))
    if not is_number or not 1 <= int(value) <= MAX_LIMIT:
        raise BadInput("limit", f"limit is a number from 1 to {MAX_LIMIT}, not {value[:40]!r}.")
    return int(value)
