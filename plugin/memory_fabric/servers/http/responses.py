"""HTTP responses in JSON: the result of a job, or an error with advice on how to correct it."""

import json
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memory_fabric.errors import BadInput, DeadlinePassed, FabricError, NotFound, StoreUnavailable
from memory_fabric.redaction.redact import all_without_secrets, without_secrets
from memory_fabric.servers import store_thread
from memory_fabric.store.memory import Memory

Job = Callable[[Memory], Any]


class Unauthorized(FabricError):
    """The key is missing, unknown or deleted, or its holder is no longer a member of the team."""


class Forbidden(FabricError):
    """The holder of the key has no permission for the request."""


# Seconds after which clients may retry if the memory cannot be written now.
LATER = {"Retry-After": "5"}
# A subclass must come before its base class, because the first match is used.
STATUSES: tuple[tuple[type[FabricError], int, str, Mapping[str, str] | None], ...] = (
    (BadInput, 400, "bad_input", None),
    (NotFound, 404, "not_found", None),
    (StoreUnavailable, 503, "unavailable", LATER),
    (DeadlinePassed, 503, "unavailable", LATER),
    (Unauthorized, 401, "unauthorized", {"WWW-Authenticate": "Bearer"}),
    (Forbidden, 403, "forbidden", None),
    (FabricError, 500, "failed", None),
)


class Refused(Exception):
    """Exception with a ready JSON error response; `more` adds members to the `error` object."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        remedy: str = "",
        *,
        field: str = "",
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        error = {"code": code, "message": message, "remedy": remedy, **(more or {})}
        if field:
            error["field"] = field
        self.answer = JSONResponse({"error": error}, status, headers)


def answered(memory: Memory, job: Job) -> Response:
    """Return a job's result as JSON, without paths in `failures` or secrets in the echoed query."""
    store_thread.renew(memory)
    value = job(memory)
    if isinstance(value, dict) and "failures" in value:
        settings, root = memory.settings, memory.project.root if memory.project else ""
        places = {settings.home, settings.project_dir, settings.user_home, root}
        failures = list(value["failures"])
        for place in sorted((p for p in places if p.strip("/")), key=len, reverse=True):
            failures = [failure.replace(place, "…") for failure in failures]
        echoes = ("query", "label", "notes", "searched")  # these members quote the query
        repeated = {name: value[name] for name in echoes if name in value}
        value = value | {"failures": failures} | all_without_secrets(repeated, {})
    store_thread.told(memory)
    content = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    return Response(content, media_type="application/json")


def of_error(error: Exception) -> Response:
    """Build the redacted response for an exception; print the exception if it is unexpected."""
    if isinstance(error, Refused):
        return error.answer
    if isinstance(error, HTTPException):
        phrase = HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "_")
        return Refused(error.status_code, code, f"{phrase}.", headers=error.headers).answer
    for kind, status, code, headers in STATUSES:
        if isinstance(error, kind):
            texts = [without_path(error, text) for text in (error.message, error.remedy)]
            message, remedy, field = map(without_secrets, (*texts, getattr(error, "field", "")))
            return Refused(status, code, message, remedy, field=field, headers=headers).answer
    print(f"memory-fabric: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
    text = "The request could not be answered."
    remedy = "The terminal of memory-fabric serve shows the error."
    return Refused(500, "failed", text, remedy).answer


async def of_fault(_request: Request, error: Exception) -> Response:
    """Build the response for an error of an endpoint, an unknown path or a disallowed method."""
    return of_error(error)


def without_path(error: FabricError, text: str) -> str:
    """Return an error's text with "the memory" in place of the path of the memory's file."""
    path = getattr(error, "path", "")
    begun = f"The memory{text.removeprefix(path)}" if text.startswith(path) else text
    return begun.replace(path, "the memory") if path else text
