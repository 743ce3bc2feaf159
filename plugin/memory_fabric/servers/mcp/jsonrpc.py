"""JSON-RPC 2.0: a line into messages, and messages into a line.

https://www.jsonrpc.org/specification, with what MCP narrows: parameters are an object, and an id is
a text or a number.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

Id = str | int | float

VERSION = "2.0"
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class Fault(Exception):
    """The error that a message is answered with; `id` is None where the message told none."""

    def __init__(self, code: int, message: str, data: Any = None, *, id: Id | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.id = code, message, data, id


class Message(NamedTuple):
    """A request, or a notification, which has no id."""

    method: str
    params: dict[str, Any]
    id: Id | None = None


def value_of(line: bytes) -> Any:
    """The JSON value of a line. Raises Fault."""
    try:
        return json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Fault(PARSE_ERROR, "Parse error", str(error)) from None


def message_of(value: Any) -> Message | None:
    """The message that a value is; None for an answer, since nothing is asked. Raises Fault."""
    if not isinstance(value, dict):
        raise Fault(INVALID_REQUEST, "Invalid Request", "a message is an object")
    stated = value.get("id")
    known = stated if _is_id(stated) else None
    method, params = value.get("method"), value.get("params")
    if "id" in value and known is None:
        wrong = "an id is a text or a number"
    elif value.get("jsonrpc") != VERSION:
        wrong = f"jsonrpc is not {VERSION}"
    elif "method" not in value and ("result" in value or "error" in value):
        return None
    elif not isinstance(method, str):
        wrong = "a method is a text"
    elif params is not None and not isinstance(params, dict):
        wrong = "params are an object"
    else:
        return Message(method, params or {}, known)
    raise Fault(INVALID_REQUEST, "Invalid Request", wrong, id=known)


def result(id: Id, found: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    return {"jsonrpc": VERSION, "id": id, "result": found}


def error(fault: Fault, id: Id | None) -> dict[str, Any]:
    """The answer to a request that failed, or to what was none."""
    told = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        told["data"] = fault.data
    return {"jsonrpc": VERSION, "id": id, "error": told}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A message that wants no answer."""
    return {"jsonrpc": VERSION, "method": method, "params": params}


def line_of(message: Any) -> bytes:
    """A message, or a list of them, as one line."""
    try:
        return json.dumps(message, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair goes back as it came: as an escape
        return json.dumps(message).encode() + b"\n"


def _is_id(stated: object) -> bool:
    if isinstance(stated, float):
        return stated - stated == 0  # neither infinite nor NaN, which no JSON can give back
    return isinstance(stated, str | int) and not isinstance(stated, bool)
