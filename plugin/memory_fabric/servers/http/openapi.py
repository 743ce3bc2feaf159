"""The description of the interface (OpenAPI 3.1), made of the models and a table of its routes."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from memory_fabric import __version__
from memory_fabric.ingest_protocol import MAX_NAME_CHARS
from memory_fabric.models import SCOPES
from memory_fabric.recall.filters import TIMES
from memory_fabric.recall.parse import TYPES
from memory_fabric.servers.http.ingest_body import IngestBody

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Schema = dict[str, Any]


class Queued(BaseModel):
    """The text is stored durably and will be processed."""

    status: Literal["queued"]
    domain: str = Field(description="The normalized name of its domain.")
    length: int = Field(ge=0, description="Characters of the summary as stored, secrets removed.")
    id: str = Field(description="The id to ask for its state with.")


class State(BaseModel):
    """The state of a text."""

    id: str
    state: Literal["waiting", "working", "done", "dead"]
    domain: str
    length: int = Field(ge=0)
    attempts: int = Field(ge=0)
    error: str = Field(description="Why the last attempt failed; empty when none did.")
    created_at: str
    ended_at: str
    records: list[str] = Field(description="Ids of the records that it brought.")


class Problem(BaseModel):
    """An error: a code for programs, a sentence, a remedy, and the field it is about."""

    code: str
    message: str
    remedy: str = ""
    field: str = ""


class Failure(BaseModel):
    """Every error has this body."""

    error: Problem


class Lives(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Ready(BaseModel):
    """A text that is sent now will be stored and processed."""

    status: Literal["ready"]


class NotReady(BaseModel):
    """The reason why it would not."""

    status: Literal["not ready"]
    reasons: list[str]


class Anything(BaseModel):
    """A JSON object, as the commands with --json print it."""


class Route(BaseModel):
    """One operation: `answers` and `errors` by status; `needs_key`: always, not only with keys."""

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
# What the guard may answer to anything, and what every address may be too much for.
GUARDED = (400, 401, 403, 413, 414, 429, 431)
OPEN = (400, 403, 413, 414, 429, 431)
FAILING = (500, 503)
SAID = {
    400: "No HTTP, no JSON object, no UTF-8, or another content type.",
    401: "No key, or none of ours.",
    403: "A Host or Origin that is not ours.",
    404: "There is nothing of this name.",
    405: "Another method; Allow names those there are.",
    406: "The client takes neither JSON nor a stream.",
    408: "The body took too long.",
    409: "The idempotency_key stands for another text.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "A message of MCP is JSON.",
    422: "A field is wrong; `field` names it.",
    429: "More often than whoever asks may.",
    431: "The headers are too large.",
    500: "Something failed that should not.",
    503: "The memory cannot be written now: a full disk, memory switched off, too much that waits, "
    "the project's folder missing.",
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
# All of them must hold; of one that is repeated, any of its values.
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
    """The field of a filter; a time stands once, anything else may be repeated."""
    schema = FILTERS[name]
    whole = schema if name in TIMES else {"type": "array", "items": schema, "maxItems": 50}
    return {"name": name, "in": "query", "description": f"Only this {name}.", "schema": whole}


# What a session of MCP is known by; only who begins one has none yet.
SESSION = {
    "name": "Mcp-Session-Id",
    "in": "header",
    "required": True,
    "description": "The session, as the answer to `initialize` told it.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
}
LIMIT = {
    "name": "limit",
    "in": "query",
    "description": "How many at most.",
    "schema": {"type": "integer", "minimum": 1, "maximum": 100},
}
ROUTES = (
    Route(
        path="/v1/memory/ingest",
        method="post",
        says="Bring in a text; 202 once it is durable.",
        body=IngestBody,
        answers={202: Queued},
        errors=(*GUARDED, 405, 408, 409, 422, *FAILING),
        needs_key=False,
    ),
    Route(
        path="/v1/memory/ingest/{id}",
        method="get",
        says="How far a text is.",
        answers={200: State},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(_text("id", "What 202 told.", "path", minLength=1),),
        needs_key=False,
    ),
    Route(
        path="/v1/memory/recall",
        method="get",
        says="The best memories for a question, or the newest: what `memory-fabric recall --json` "
        "prints.",
        answers={200: Anything},
        errors=(*GUARDED, 405, *FAILING),
        parameters=(
            _text("q", "The question, at most 4 KB; filters may stand in it, too."),
            LIMIT,
            {
                "name": "depth",
                "in": "query",
                "description": "Steps of the graph to walk from what the question names.",
                "schema": {"type": "integer", "minimum": 0, "maximum": 3},
            },
            _text("as_of", "What was on record then.") | {"schema": _DATE},
            *(_filter(name) for name in FILTERS),
        ),
    ),
    Route(
        path="/healthz",
        method="get",
        says="Whether the process lives.",
        answers={200: Lives},
        errors=(*OPEN, 405),
        is_open=True,
    ),
    Route(
        path="/readyz",
        method="get",
        says="Whether a text that is sent now will be kept and worked off.",
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
        says="Everything that is remembered, as the page draws it.",
        answers={200: Anything},
        errors=(*GUARDED, 405, *FAILING),
    ),
    Route(
        path="/api/recall",
        method="get",
        says="What `memory-fabric recall --explain --json` prints.",
        answers={200: Anything},
        errors=(*GUARDED, 405, *FAILING),
        parameters=(
            _text("q", "The question, at most 4 KB."),
            LIMIT,
            _text("as_of", "What was true at this time.") | {"schema": _DATE},
        ),
    ),
    Route(
        path="/api/history",
        method="get",
        says="What `memory-fabric history NAME --json` prints.",
        answers={200: "a list"},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(_text("name", "An entity or a record; all of them without."), LIMIT),
    ),
    Route(
        path="/api/status",
        method="get",
        says="How the tiers are.",
        answers={200: Anything},
        errors=(*GUARDED, 405, *FAILING),
    ),
    Route(
        path="/",
        method="get",
        says="The page; with `key` in its address the way in for a browser.",
        answers={200: HTML, 303: "", 401: HTML},
        errors=(400, 403, 405, 413, 414, 429, 431),
        parameters=(_text("key", "The key of this start, or one that opens once."),),
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
        says="The stream of what the MCP server tells by itself.",
        answers={200: STREAM},
        errors=(*GUARDED, 404, 405, 406, 409, *FAILING),
        parameters=(SESSION,),
    ),
    Route(
        path="/mcp",
        method="delete",
        says="End a session of MCP.",
        answers={200: ""},
        errors=(*GUARDED, 404, 405, *FAILING),
        parameters=(SESSION,),
    ),
)


def document(*, keys_are_needed: bool) -> Schema:
    """The whole description; `keys_are_needed` says whether bringing in needs a key, too."""
    paths: dict[str, Schema] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = _operation(route, keys_are_needed)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "memory-fabric",
            "version": __version__,
            "description": "The memory of one project, and texts for it.",
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
    # What is wrong with a message of MCP is told as MCP tells it.
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
