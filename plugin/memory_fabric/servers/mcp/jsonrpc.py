"""JSON-RPC 2.0 (https://www.jsonrpc.org/specification): parses lines and serialises messages. As
MCP requires, the parameters are an object, and an id is a string or a number.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from json.encoder import encode_basestring as quoted  # leaves non-ASCII text as it is
from typing import Any, NamedTuple

from memory_fabric.text import each_text

Id = str | int | float
VERSION = "2.0"
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class Fault(Exception):
    """An error that is returned for a message; `id` is None if the message has no valid id."""

    def __init__(self, code: int, message: str, data: Any = None, *, id: Id | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.id = code, message, data, id


class Message:
    """A request, or a notification (a message without an id)."""

    __slots__ = ("id", "method", "params")

    def __init__(self, method: str, params: dict[str, Any], id: Id | None) -> None:
        self.method, self.params, self.id = method, params, id


def message_of(line: bytes) -> Message | None:
    """Parse a line as a message; return None for a response, which is ignored. Raises Fault."""
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Fault(PARSE_ERROR, "Parse error", str(error)) from None
    if not isinstance(value, dict):
        raise Fault(INVALID_REQUEST, "Invalid Request", "a message is an object")
    stated = value.get("id")
    id_: Id | None = stated if isinstance(stated, str) else None
    if isinstance(stated, int | float) and not isinstance(stated, bool):
        id_ = stated if stated - stated == 0 else None  # excludes inf and NaN, which JSON forbids
    method, params = value.get("method"), value.get("params")
    if "id" in value and id_ is None:
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
        return Message(method, params or {}, id_)
    raise Fault(INVALID_REQUEST, "Invalid Request", wrong, id=id_)


def error(fault: Fault, id: Id | None) -> dict[str, Any]:
    """Return the error response to a failed request, or to a line that is not a request."""
    fields = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        fields["data"] = fault.data
    return {"jsonrpc": VERSION, "id": id, "error": fields}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": VERSION, "method": method, "params": params}


def line_of(message: dict[str, Any]) -> bytes:
    try:
        return json.dumps(message, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # escape a lone surrogate
        return json.dumps(message).encode() + b"\n"


# The limit for answers of `recall`, `remember`, `forget` and `history`, which a model reads.
MAX_ANSWER_CHARS = 4000
# Characters reserved for a note about lines that were left out.
NOTE_CHARS = 100


class Outcome(NamedTuple):
    """The outcome of a tool call. `changed` is True if the call may have changed the graph."""

    texts: tuple[str, ...]
    structure: Mapping[str, Any] | None = None
    failed: bool = False
    changed: bool = False


def within(lines: Sequence[str], how_to_see_more: str, free: int = MAX_ANSWER_CHARS) -> str:
    """Join the lines that fit in `free` characters; `how_to_see_more` ends a note on the others."""
    lengths = accumulate(len(line) + 1 for line in lines)
    fitting = lines[: sum(length <= free - NOTE_CHARS for length in lengths)]
    not_shown = len(lines) - len(fitting)
    note = [f"{not_shown} more left out for length: {how_to_see_more}"] if not_shown else []
    return "\n".join([*fitting, *note])


def wire(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome in the form of the result of a `tools/call` request."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": t} for t in outcome.texts]}
    if outcome.structure is not None:
        result["structuredContent"] = outcome.structure
    if outcome.failed:
        result["isError"] = True
    return result


def as_json(value: Any, margin: str = "\n") -> str:
    """Format a value like `JSON.stringify(value, null, 2)`; `margin` is a newline and an indent."""
    if isinstance(value, str):
        return quoted(value)
    inner = margin + "  "
    # Most values of a graph are strings. They are quoted directly, to save a recursive call.
    if isinstance(value, dict) and value:
        items = [
            f"{inner}{quoted(k)}: {quoted(v) if isinstance(v, str) else as_json(v, inner)}"
            for k, v in value.items()
        ]
        return f"{{{','.join(items)}{margin}}}"
    if isinstance(value, list | tuple) and value:
        items = [inner + (quoted(v) if isinstance(v, str) else as_json(v, inner)) for v in value]
        return f"[{','.join(items)}{margin}]"
    return json.dumps(value)


def whole_text(value: Any) -> Any:
    """Replace lone surrogates in a JSON value by U+FFFD, because UTF-8 cannot encode surrogates."""

    def whole(text: str) -> str:
        if text.isascii():
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    return each_text(value, whole, keys=True)
