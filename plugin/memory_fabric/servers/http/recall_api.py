"""GET /v1/memory/recall: what `memory-fabric recall --json` prints, for other programs."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric import ids
from memory_fabric.errors import BadInput
from memory_fabric.servers.http import query_params
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory

PATH = "/v1/memory/recall"
QUESTION, LIMIT, DEPTH, AS_OF = "q", "limit", "depth", "as_of"
MAX_LIMIT, DEFAULT_LIMIT, MAX_DEPTH = 100, 10, 3


class RecallApi:
    """Answers questions; the filters of the command are fields, each of which may be repeated."""

    def __init__(self, store: StoreThread) -> None:
        self._store = store

    async def recall(self, request: Request) -> Response:
        """Return the best memories for `q`, or the newest without it."""

        return await query_params.answer(self._store, lambda: asked(request))


def asked(request: Request) -> query_params.Job:
    """Return the job that answers a request. Raises BadInput."""
    from memory_fabric.recall import filters  # with the first question

    fields = {field: query_params.texts_in(request, field) for field in filters.KEYS}
    unknown = set(request.query_params) - {*fields, QUESTION, LIMIT, DEPTH, AS_OF}
    if unknown:
        known = ", ".join((QUESTION, LIMIT, DEPTH, AS_OF, *filters.KEYS))
        name = query_params.shown(min(unknown))
        raise BadInput(name, f"{name} is not a known parameter.", remedy=f"Fields are {known}.")
    text, as_of = (
        query_params.text_in(request, QUESTION),
        query_params.text_in(request, AS_OF),
    )
    limit = query_params.number_in(request, LIMIT, 1, MAX_LIMIT, DEFAULT_LIMIT)
    depth = query_params.number_in(request, DEPTH, 0, MAX_DEPTH, 0)
    now = ids.timestamp()
    given = {name: _stated(values) for name, values in fields.items() if values}
    stated = filters.stated(given, now, field="")

    def job(memory: Memory) -> dict[str, Any]:
        from memory_fabric.language import times
        from memory_fabric.recall.agent_domains import visible_to_process
        from memory_fabric.recall.pipeline import Fabric, answer_as_json
        from memory_fabric.semantic.measure import measure_for

        then = times.stated(as_of, now, AS_OF) if as_of else ""
        seen = visible_to_process(memory)
        fabric = Fabric(seen, now, measure_for(seen.settings))
        return answer_as_json(
            fabric.recall(text, limit=limit, depth=depth, as_of=then, filters=stated)
        )

    return job


def _stated(values: list[str]) -> str | list[str]:
    """One value as a text, so that of a time there is but one; several as any of them."""
    return values[0] if len(values) == 1 else values
