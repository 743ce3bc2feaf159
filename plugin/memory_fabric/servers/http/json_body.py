"""The JSON object of a request's body, and errors that name a wrong field of it."""

import json
from http import HTTPStatus
from typing import Any

import orjson
from pydantic import ValidationError

from memory_fabric.ingest_protocol import MAX_NAME_CHARS
from memory_fabric.servers.http.responses import Refused

BOM = b"\xef\xbb\xbf"
JSON_TYPE = "application/json"
# Names that pydantic gives the branches of a type, which no sender wrote.
_INNER = ("constrained-", "function-", "list[")


def object_in(content_type: str, body: bytes) -> dict[str, Any]:
    """Return the object that a body holds. Raises Refused: 400 unless it is JSON in UTF-8."""
    kind, _, rest = content_type.partition(";")
    if kind.strip().lower() != JSON_TYPE:
        raise Refused(
            HTTPStatus.BAD_REQUEST,
            "wrong_content_type",
            f"The body must be {JSON_TYPE}.",
            f"Send the header Content-Type: {JSON_TYPE}.",
        )
    charset = rest.lower().partition("charset=")[2].strip("\"' ")
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Refused(HTTPStatus.BAD_REQUEST, "bad_encoding", "The body must be UTF-8.")
    value = _parsed(body)
    if not isinstance(value, dict):
        raise Refused(HTTPStatus.BAD_REQUEST, "bad_json", "The body must be one JSON object.")
    return value


def _parsed(body: bytes) -> Any:
    body = body.removeprefix(BOM)
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # Half of a pair, as a text cut between two units has it, is no reason to lose the rest.
        return json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, "bad_encoding", "The body must be UTF-8.") from error
    except (ValueError, RecursionError) as error:
        message = "The body must be one JSON object."
        raise Refused(HTTPStatus.BAD_REQUEST, "bad_json", message) from error


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def of_field(error: ValidationError, branches: frozenset[str] = frozenset()) -> Refused:
    """Return the refusal that names the first wrong field, by its place in a list, too.

    `branches` are names that a union adds to the place of a field.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    place = [str(part) for part in first["loc"] if not str(part).startswith(_INNER)]
    field = ".".join(part for n, part in enumerate(place) if n or part not in branches)
    why = _said(first["type"], first["msg"])
    return Refused(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "bad_field",
        f"{field or 'action'} {why}.",
        field=(field or "action")[:MAX_NAME_CHARS],
    )


def _said(kind: str, message: str) -> str:
    """Return pydantic's message as the end of a sentence that begins with the field's name."""
    if kind in ("missing", "union_tag_not_found"):
        return "is missing"
    if kind == "union_tag_invalid":
        return "is not known"
    if kind == "extra_forbidden":
        return "is not known"
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    words = message.removeprefix("Input ").removeprefix("String ").removeprefix("List ")
    return words[:1].lower() + words[1:] if words.startswith(("should", "must")) else words
