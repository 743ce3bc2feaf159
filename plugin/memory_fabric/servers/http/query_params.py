"""Query parameters, and running a query in the thread that owns the memory."""

import json
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric.errors import BadInput
from memory_fabric.redaction.prefilter import all_without_secrets, without_secrets
from memory_fabric.servers import store_thread
from memory_fabric.servers.http.responses import Refused, of_error, without_places
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory
from memory_fabric.text import encodable

Job = Callable[[Memory], Any]


MAX_TEXT_BYTES = 4096
MAX_SHOWN_CHARS = 40
# Fields of a recall answer that repeat the query.
ECHOES = ("query", "label", "notes", "searched")


async def answer(
    store: StoreThread, asked: Callable[[], Job], *, changes: bool = False
) -> Response:
    """Run the job that `asked` returns, and answer with its result or an error as JSON.

    `changes` says that the job writes.
    """
    try:
        job = asked()

        def answered(memory: Memory) -> bytes:
            store_thread.renew(memory)
            value = _for_strangers(job(memory), memory)
            store_thread.told(memory)
            return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")

        content = await store.ask(answered, changes=changes, at_once=False)
    except Refused as refused:
        return refused.answer
    except Exception as error:  # noqa: BLE001 - one request must not end the server
        return of_error(error)
    return Response(content, media_type="application/json")


def text_in(request: Request, field: str) -> str:
    """Return the parameter's text, or ''. Raises BadInput if it is repeated or over 4 KB."""
    values = texts_in(request, field)
    if len(values) > 1:
        raise BadInput(field, f"{field} is given more than once.", remedy="Send it once.")
    return values[0] if values else ""


def texts_in(request: Request, field: str) -> list[str]:
    """Return the texts of a repeatable parameter. Raises BadInput if one is over 4 KB."""
    return [_usable(field, value) for value in request.query_params.getlist(field)]


def number_in(request: Request, field: str, least: int, most: int, default: int) -> int:
    """Return the parameter's number. Raises BadInput unless it is from `least` to `most`."""
    value = text_in(request, field) or str(default)
    is_number = value.isascii() and value.isdigit() and len(value) <= len(str(most))
    if not is_number or not least <= int(value) <= most:
        raise BadInput(
            field, f"{field} must be a number from {least} to {most}, not {shown(value)!r}."
        )
    return int(value)


def shown(text: str) -> str:
    """The beginning of what was asked, without secrets: half of one would not be known as one."""
    return without_secrets(text)[:MAX_SHOWN_CHARS]


def _for_strangers(value: Any, memory: Memory) -> Any:
    """The answer without the folders of this machine, and without secrets that the question had."""
    if not isinstance(value, dict) or "failures" not in value:
        return value
    failures = [without_places(one, memory) for one in value["failures"]]
    echoes = {name: value[name] for name in ECHOES if name in value}
    return value | {"failures": failures} | all_without_secrets(echoes, {})


def _usable(field: str, value: str) -> str:
    value = encodable(value).replace("\0", "")
    if len(value.encode()) > MAX_TEXT_BYTES:
        raise BadInput(field, f"{field} is longer than 4 KB.", remedy="Ask for less at once.")
    return value
