"""The OpenAPI 3.1 description of the HTTP interface, made from models and a table of routes."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, Field

from memory_fabric import __version__
from memory_fabric.ingest_protocol import MAX_NAME_CHARS
from memory_fabric.models import SCOPES
from memory_fabric.recall.filters import TIMES
from memory_fabric.recall.parse import TYPES
from memory_fabric.servers.http.change_body import ChangeBody
from memory_fabric.servers.http.ingest_body import IngestBody

Schema = dict[str, Any]


class Queued(BaseModel):
    """The text is stored durably and will be processed."""

    status: Literal["queued"]
    domain: str = Field(description="The normalized name of its domain.")
    length: int = Field(ge=0, description="Characters of the summary as stored, secrets removed.")
    id: str = Field(description="The id of the text, for requests of its state.")


class State(BaseModel):
    """The state of a text."""

    id: str
    state: Literal["waiting", "working", "done", "dead"]
    domain: str
    length: int = Field(ge=0)
    attempts: int = Field(ge=0)
    error: str = Field(description="The error of the last attempt; empty if none failed.")
    created_at: str
    ended_at: str
    records: list[str] = Field(description="Ids of the records made from the text.")


class Problem(BaseModel):
    """An error: a code for programs, a message, a remedy, and the field that is wrong."""

    code: str
    message: str
    remedy: str = ""
    field: str = ""


class Failure(BaseModel):
    """The body of every error."""

    error: Problem


class Lives(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Ready(BaseModel):
    """A text that is sent now will be stored and processed."""

    status: Literal["ready"]


class NotReady(BaseModel):
    """The reasons why a text would not be stored or processed."""

    status: Literal["not ready"]
    reasons: list[str]


class ChangeAnswer(BaseModel):
    """The change that was made, or the preview of it."""

    done: str = Field("", description="`changed`, `remembered`, `forgotten`, `pinned`, …")
    said: str = Field("", description="The same as a sentence.")
    record: str = Field("", description="The id of the memory concerned.")
    preview: dict[str, Any] | None = Field(
        None, description="What would be changed, with its `code`."
    )
    undo: dict[str, Any] | None = Field(
        None, description="`id` and `code` for an `undo` of this change."
    )
    failures: list[str] = []


class Anything(BaseModel):
    """A JSON object, as the commands with --json print it."""


class Route(BaseModel):
    """One operation: `answers` and `errors` by status; `needs_key`: even without permanent keys."""

    path: str
    method: str
    says: str
    answers: dict[int, type[BaseModel] | str]
    errors: tuple[int, ...] = ()
    body: type[BaseModel] | None = None
    parameters: tuple[Schema, ...] = ()
    needs_key: bool = True
    is_open: bool = False


HTML, STREAM = "text/html", "text/event-stream"
# Errors that the checks of every request can return.
GUARDED = (400, 401, 403, 413, 414, 429, 431)
OPEN = (400, 403, 413, 414, 429, 431)
FAILING = (500, 503)
SAID = {
    400: "The request is not HTTP, or its body is not a JSON object in UTF-8 of that content type.",
    401: "The key is missing or not valid.",
    403: "The Host or Origin header is not allowed.",
    404: "Nothing has this name or path.",
    405: "The method is not allowed; the Allow header names the allowed ones.",
    406: "The client accepts neither JSON nor an event stream.",
    408: "The body took too long to arrive.",
    409: "The idempotency_key was used for another text, or what a change names is not as it was "
    "shown; `current` has it as it is.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "The content type is not JSON, as MCP messages need.",
    422: "A field is wrong; `field` names it.",
    429: "Too many requests with this key; Retry-After gives the seconds to wait.",
    431: "The headers are too large.",
    500: "An unexpected error of the server.",
    503: "The memory cannot be written now: the disk is full, memory is switched off, too many "
    "texts wait, or the project's folder is missing.",
}
LATER = (429, 503)


def _text(name: str, says: str, place: str = "query", **more: Any) -> Schema:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": says,
        "schema": {"type": "string"} | more,
    }


_DATE = {"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "maxLength": 0}]}
_NAME = {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS}
_DOMAIN = _NAME | {"pattern": r"[\p{L}\p{N}]"}
# Filters combine with AND; the values of a repeated filter combine with OR.
FILTERS: Mapping[str, Schema] = {
    "domain": _DOMAIN,
    "expert_domain": _DOMAIN,
    "project": _NAME,
    "type": {"type": "string", "enum": sorted(TYPES)},
    "agent": _NAME,
    "scope": {"type": "string", "enum": list(SCOPES)},
    "session": _NAME,
    "since": {"type": "string", "format": "date"},
    "before": {"type": "string", "format": "date"},
}


def _filter(name: str) -> Schema:
    """Return the parameter of a filter; all but times may be repeated."""
    schema = FILTERS[name]
    whole = schema if name in TIMES else {"type": "array", "items": schema, "maxItems": 50}
    return {"name": name, "in": "query", "description": f"Only this {name}.", "schema": whole}


# The id of an MCP session; only the request that begins one has none.
SESSION = {
    "name": "Mcp-Session-Id",
    "in": "header",
    "required": True,
    "description": "The session id from the response to `initialize`.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}
PROJECT = _text("project", "The id of a project of this home; without it, the served one.")
LIMIT = {
    "name": "limit",
    "in": "query",
    "description": "The maximum number of results.",
    "schema": {"type": "integer", "minimum": 1, "maximum": 100},
}
ROUTES = (
    Route(
        path="/v1/memory/ingest",
        method="post",
        says="Ingest a text; 202 once it is stored durably.",
        body=IngestBody,
        answers={202: Queued},
        errors=(*GUARDED, 405, 408, 409, 422, *FAILING),
        needs_key=False,
    ),
    Route(
        path="/v1/memory/ingest/{id}",
        method="get",
        says="The processing state of a text.",
        answers={200: State},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(_text("id", "The id from the 202 response.", "path", minLength=1),),
        needs_key=False,
    ),
    Route(
        path="/v1/memory/recall",
        method="get",
        says="The best memories for a query, or the newest without one: the JSON of "
        "`memory-fabric recall --json`.",
        answers={200: Anything},
        errors=(*GUARDED, 405, *FAILING),
        parameters=(
            _text("q", "The query, at most 4 KB; it may contain filters."),
            LIMIT,
            {
                "name": "depth",
                "in": "query",
                "description": "How many relations to follow from entities in the query.",
                "schema": {"type": "integer", "minimum": 0, "maximum": 3},
            },
            _text("as_of", "Only what was stored at this time.") | {"schema": _DATE},
            *(_filter(name) for name in FILTERS),
        ),
    ),
    Route(
        path="/healthz",
        method="get",
        says="Liveness: the process answers.",
        answers={200: Lives},
        errors=(*OPEN, 405),
        is_open=True,
    ),
    Route(
        path="/readyz",
        method="get",
        says="Readiness: texts sent now will be stored and processed.",
        answers={200: Ready, 503: NotReady},
        errors=(*OPEN, 405),
        is_open=True,
    ),
    Route(
        path="/openapi.json",
        method="get",
        says="This description.",
        answers={200: Anything},
        errors=(*OPEN, 405),
        is_open=True,
    ),
    Route(
        path="/api/picture",
        method="get",
        says="The whole memory, as the page draws it.",
        answers={200: Anything},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(PROJECT,),
    ),
    Route(
        path="/api/recall",
        method="get",
        says="The JSON of `memory-fabric recall --explain --json`.",
        answers={200: Anything},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(
            PROJECT,
            _text("q", "The query, at most 4 KB."),
            LIMIT,
            _text("as_of", "Only what was stored at this time.") | {"schema": _DATE},
        ),
    ),
    Route(
        path="/api/history",
        method="get",
        says="The JSON of `memory-fabric history NAME --json`.",
        answers={200: "a list"},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(
            PROJECT,
            _text("name", "The name of an entity or the id of a record; all changes without it."),
            LIMIT,
        ),
    ),
    Route(
        path="/api/status",
        method="get",
        says="The state of the tiers.",
        answers={200: Anything},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(PROJECT,),
    ),
    Route(
        path="/api/projects",
        method="get",
        says="The projects of this home that hold something, the last changed first.",
        answers={200: Anything},
        errors=(*GUARDED, 405, *FAILING),
    ),
    Route(
        path="/api/changes",
        method="post",
        says="Change the memory, as `edit`, `candidates`, `review --holds`, `pin`, `forget`, "
        "`merge` and `undo` do. `forget`, `merge` and `undo` without `code` only show what they "
        "would change.",
        body=ChangeBody,
        answers={200: ChangeAnswer},
        parameters=(PROJECT,),
        errors=(*GUARDED, 404, 405, 408, 409, 422, *FAILING),
    ),
    Route(
        path="/",
        method="get",
        says="The page; with `key` in the address, a browser is logged in.",
        answers={200: HTML, 303: "", 401: HTML},
        errors=(400, 403, 405, 413, 414, 429, 431),
        parameters=(_text("key", "The key of this run, or a single-use key."),),
    ),
    Route(
        path="/mcp",
        method="post",
        says="A message of MCP (streamable HTTP); the protocol defines body and answers.",
        body=Anything,
        answers={200: STREAM, 202: ""},
        errors=(*GUARDED, 404, 405, 406, 408, 415, *FAILING),
        parameters=(SESSION | {"required": False},),
    ),
    Route(
        path="/mcp",
        method="get",
        says="The stream of notifications of the MCP server.",
        answers={200: STREAM},
        errors=(*GUARDED, 404, 405, 406, 409, *FAILING),
        parameters=(SESSION,),
    ),
    Route(
        path="/mcp",
        method="delete",
        says="End an MCP session.",
        answers={200: ""},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(SESSION,),
    ),
)


def document(*, keys_are_needed: bool) -> Schema:
    """Return the whole description; with `keys_are_needed` ingest requires a key, too."""
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = _operation(route, keys_are_needed)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "memory-fabric",
            "version": __version__,
            "description": "Recall, ingest and MCP for the memory of one project.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, keys_are_needed: bool) -> Schema:
    answers = {str(status): _answer(status, kind) for status, kind in route.answers.items()}
    for status in route.errors:
        answers.setdefault(str(status), _failure(status, route.path))
    found: Schema = {
        "summary": route.says,
        "operationId": f"{route.method} {route.path}",
        "responses": dict(sorted(answers.items())),
        "security": _security(route, keys_are_needed),
    }
    if route.parameters:
        found["parameters"] = list(route.parameters)
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": _json(_named(route.body))}
    return found


def _security(route: Route, keys_are_needed: bool) -> list[Schema]:
    if route.is_open:
        return []
    return [{"key": []}] if route.needs_key or keys_are_needed else [{}, {"key": []}]


def _answer(status: int, kind: type[BaseModel] | str) -> Schema:
    says = {"description": HTTPStatus(status).phrase}
    if not isinstance(kind, str):
        return says | {"content": _json(_named(kind))} | _later(status)
    if kind in (HTML, STREAM):
        both = _json({}) if kind == STREAM else {}
        return says | {"content": {kind: {"schema": {"type": "string"}}} | both}
    if kind:
        return says | {"content": _json({"type": "array"})}
    return says


def _failure(status: int, path: str) -> Schema:
    # Errors in MCP messages are returned as MCP defines.
    schema = {} if path == "/mcp" else _named(Failure)
    return {"description": SAID[status], "content": _json(schema)} | _later(status)


def _later(status: int) -> Schema:
    if status not in LATER:
        return {}
    says = "Seconds to wait."
    return {"headers": {"Retry-After": {"description": says, "schema": {"type": "integer"}}}}


def _json(schema: Mapping[str, Any]) -> Schema:
    return {"application/json": {"schema": dict(schema)}}


def _named(model: type[BaseModel]) -> Schema:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _schemas() -> Schema:
    found: Schema = {}
    for model in _models(ROUTES):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        found |= schema.pop("$defs", {})
        found[model.__name__] = schema
    return found


def _models(routes: Iterable[Route]) -> list[type[BaseModel]]:
    stated = [kind for route in routes for kind in (*route.answers.values(), route.body)]
    return [Failure, *dict.fromkeys(kind for kind in stated if isinstance(kind, type))]
