"""Answers of the server: JSON, and errors as JSON with what helps."""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from memory_fabric.errors import (
    BadInput,
    DeadlinePassed,
    FabricError,
    NotFound,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from starlette.requests import Request

# The narrowest first.
STATUSES = (
    (BadInput, HTTPStatus.BAD_REQUEST, "bad_input"),
    (NotFound, HTTPStatus.NOT_FOUND, "not_found"),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    (DeadlinePassed, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable"),
    (FabricError, HTTPStatus.INTERNAL_SERVER_ERROR, "failed"),
)


def refusal(status: int, code: str, message: str, remedy: str = "") -> Response:
    """An error as JSON: a word for programs, a sentence, and what helps."""
    error = {"code": code, "message": message, "remedy": remedy}
    return JSONResponse({"error": error}, status)


def of_error(error: Exception) -> Response:
    """The answer to a question that failed; what nobody foresaw is told to the terminal only."""
    for kind, status, code in STATUSES:
        if isinstance(error, kind):
            return refusal(status, code, error.message, error.remedy)
    print(f"memory-fabric: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
    return refusal(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "failed",
        "The question could not be answered.",
        "The terminal of memory-fabric serve says why.",
    )


async def of_route(_request: Request, error: Exception) -> Response:
    """The answer where there is nothing under a path, or not by this method."""
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    answer = refusal(error.status_code, code, f"{HTTPStatus(error.status_code).phrase}.")
    answer.headers.update(error.headers or {})
    return answer
