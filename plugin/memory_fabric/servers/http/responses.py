"""Responses of the server: JSON, and errors as JSON with a remedy."""

import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memory_fabric.errors import (
    BadInput,
    DeadlinePassed,
    FabricError,
    NotFound,
    StoreUnavailable,
)
from memory_fabric.redaction.prefilter import without_secrets
from memory_fabric.store.memory import Memory

# The most specific first.
STATUSES = (
    (BadInput, HTTPStatus.BAD_REQUEST, "bad_input"),
    (NotFound, HTTPStatus.NOT_FOUND, "not_found"),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    (DeadlinePassed, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    (FabricError, HTTPStatus.INTERNAL_SERVER_ERROR, "failed"),
)
# After so long a memory that cannot be written now is tried again: a person has to help, mostly.
RETRY_AFTER_S = 5


class Refused(Exception):
    """An error response, raised where the error is found; `answer` is the response."""

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
        self.answer = refusal(
            status, code, message, remedy, field=field, headers=headers, more=more
        )


def refusal(
    status: int,
    code: str,
    message: str,
    remedy: str = "",
    *,
    field: str = "",
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """Return an error as JSON: a code for programs, a message, a remedy, and the wrong field.

    `more` are further members of the error.
    """
    error = {"code": code, "message": message, "remedy": remedy, **(more or {})}
    if field:
        error["field"] = field
    return JSONResponse({"error": error}, status, headers)


def of_error(error: Exception) -> Response:
    """Return the response for an exception; details of unexpected ones go to the terminal only.

    What was asked may stand in it: secrets are taken out.
    """
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            later = status == HTTPStatus.SERVICE_UNAVAILABLE
            return refusal(
                status,
                code,
                without_secrets(without_names(error)),
                without_secrets(_unnamed(error, error.remedy)),
                field=without_secrets(getattr(error, "field", "")),
                headers={"Retry-After": str(RETRY_AFTER_S)} if later else None,
            )
    print(f"memory-fabric: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
    return refusal(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "failed",
        "The request could not be answered.",
        "The terminal of memory-fabric serve shows the error.",
    )


def without_names(error: Exception) -> str:
    """Return the message of an error without file names, for clients."""
    if not isinstance(error, FabricError):
        return "The memory cannot be written."
    return _unnamed(error, error.message)


def without_places(text: str, memory: Memory) -> str:
    """Return the text without paths of this machine, since any client may read it."""
    settings, project = memory.settings, memory.project
    places = {
        settings.home,
        settings.project_dir,
        settings.user_home,
        project.root if project else "",
    }
    for place in sorted(places, key=len, reverse=True):
        if place.strip("/"):
            text = text.replace(place, "…")
    return text


def _unnamed(error: FabricError, text: str) -> str:
    path = getattr(error, "path", "")
    if not path:
        return text
    begun = f"The memory{text.removeprefix(path)}" if text.startswith(path) else text
    return begun.replace(path, "the memory")


async def of_fault(_request: Request, error: Exception) -> Response:
    """Return the response for an unexpected exception."""
    return of_error(error)


async def of_route(_request: Request, error: Exception) -> Response:
    """Return the response for an unknown path, or a method that it does not have."""
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    phrase = f"{HTTPStatus(error.status_code).phrase}."
    return refusal(error.status_code, code, phrase, headers=error.headers)
