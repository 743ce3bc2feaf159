"""Validation of requests: limits of size and time for bodies, and models of bodies and parameters.
Unknown fields of changes and recall are refused. In an ingested text, they are ignored and null
counts as absent, so that the server accepts senders written for other releases.
"""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, WithJsonSchema
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope

from memory_fabric import errors, ids, ingest_protocol
from memory_fabric.capture.remember import MAX_TEXT_CHARS
from memory_fabric.ingest_protocol import LEFT_OUT, MAX_NAME_CHARS, Ingest
from memory_fabric.recall import agent_domains, filters
from memory_fabric.redaction.redact import without_secrets
from memory_fabric.servers.http.responses import Refused
from memory_fabric.text import encodable

Model = TypeVar("Model", bound=pydantic.BaseModel)
MAX_BYTES = 1 << 20
# Seconds within which the whole body must arrive.
BODY_S = 10.0
JSON_TYPE = "application/json"
# Parts of pydantic's error paths with these prefixes name a type, not a field, and are left out.
_INNER = ("constrained-", "function-", "list[")
# Times may lie this far in the future: clocks differ, and times without zone are taken as UTC.
MAX_AHEAD = timedelta(days=1)
FIRST_YEAR = 1970
MAX_QUERY_BYTES, MAX_SHOWN_CHARS, MAX_LIMIT = 4096, 40, 100


async def whole_body(scope: Scope, receive: Receive, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the complete body. Raises Refused if it is too large, too slow or incomplete."""
    announced = Headers(scope=scope).get("content-length", "")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            if not announced.isdigit() or int(announced) <= max_bytes:
                async for chunk in Request(scope, receive).stream():
                    body += chunk
                    if len(body) > max_bytes:
                        break
                else:
                    return bytes(body)
    except TimeoutError as error:
        text = f"The body did not arrive within {BODY_S:g} seconds."
        raise Refused(408, "too_slow", text, headers={"Connection": "close"}) from error
    except ClientDisconnect as error:
        raise Refused(400, "broken_off", "The body is incomplete.") from error
    text = f"The body is larger than {max_bytes:,} bytes."
    raise Refused(413, "too_large", text, "Send it in parts.")


async def model_in(request: Request, model: type[Model], max_bytes: int = MAX_BYTES) -> Model:
    """Parse the body as a model. Raises Refused: 400 for invalid JSON, 422 for an invalid field."""
    body = await whole_body(request.scope, request.receive, max_bytes)
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    if kind.strip().lower() != JSON_TYPE:
        remedy = f"Send the header Content-Type: {JSON_TYPE}."
        raise Refused(400, "wrong_content_type", f"The body must be {JSON_TYPE}.", remedy)
    charset = parameters.lower().partition("charset=")[2].strip("\"' ")
    try:
        if charset not in ("", "utf-8", "utf8", "us-ascii"):
            raise UnicodeError(charset)
        # json.loads accepts lone surrogates, as in a text that was cut within a surrogate pair.
        # `parse_constant=int` raises ValueError for NaN and Infinity, which JSON does not allow.
        value = json.loads(body.decode("utf-8-sig"), parse_constant=int)
    except UnicodeError as error:
        raise Refused(400, "bad_encoding", "The body must be UTF-8.") from error
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused(400, "bad_json", "The body must be one JSON object.")
    try:
        return model.model_validate(value)
    except pydantic.ValidationError as error:
        field, why = first_error(error)
        field = field or "action"
        raise Refused(422, "bad_field", f"{field} {why}.", field=field[:MAX_NAME_CHARS]) from error


def first_error(error: pydantic.ValidationError) -> tuple[str, str]:
    """Return the path of the first invalid field, and a phrase about its error ("is missing")."""
    first: Any = error.errors(include_url=False, include_input=False)[0]
    place = [str(part) for part in first["loc"] if not str(part).startswith(_INNER)]
    field = ".".join(part for n, part in enumerate(place) if n or part not in ACTIONS)
    kind, message = first["type"], first["msg"]
    if kind in ("missing", "union_tag_not_found"):
        return field, "is missing"
    if kind in ("union_tag_invalid", "extra_forbidden"):
        return field, "is not known"
    for prefix in ("Value error, ", "Input ", "String ", "List "):
        message = message.removeprefix(prefix)
    return field, message


def _storable(value: Any) -> Any:
    return encodable(value).replace("\0", "") if isinstance(value, str) else value


def _with_words(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _a_domain(value: str) -> str:
    name = agent_domains.stated_name(value)
    if value and not name:
        raise ValueError("must have a letter or a digit")
    return name


def _a_time(value: str) -> str:
    if not value:
        return value
    try:
        time = datetime.fromisoformat(value)
        time = time.replace(tzinfo=time.tzinfo or UTC)
        seconds = time.timestamp()
    except (ValueError, OverflowError) as error:
        raise ValueError("must be a time as in ISO 8601, 2026-01-15T10:00:00Z") from error
    if time.year < FIRST_YEAR or time > datetime.now(UTC) + MAX_AHEAD:
        raise ValueError(f"must be between {FIRST_YEAR} and tomorrow")
    return ids.timestamp(max(0.0, seconds))


Name = Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS), BeforeValidator(_storable)]
Domain = Annotated[
    Name,
    AfterValidator(_a_domain),
    WithJsonSchema({"type": "string", "maxLength": MAX_NAME_CHARS, "pattern": r"^$|[\p{L}\p{N}]"}),
]
Decision = Annotated[
    str,
    StringConstraints(max_length=ingest_protocol.MAX_DECISION_CHARS),
    BeforeValidator(_storable),
]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Time = Annotated[
    Name,
    AfterValidator(_a_time),
    WithJsonSchema({"type": "string", "anyOf": [{"format": "date-time"}, {"maxLength": 0}]}),
]
EXAMPLE: dict[str, Any] = {
    "session_summary": "We moved the invoices to PostgreSQL 17.",
    "key_decisions": ["Use PostgreSQL 17 for the invoices"],
    "domain": "billing",
}


def _field(description: str) -> Any:
    return Field(None, description=description)


class IngestBody(pydantic.BaseModel):
    """Body of an ingest request: a text to remember, and its metadata."""

    model_config = pydantic.ConfigDict(strict=True, json_schema_extra={"examples": [EXAMPLE]})

    session_summary: Annotated[str, BeforeValidator(_storable), AfterValidator(_with_words)] = (
        Field(
            description="The text itself: a summary, or messages with a line `---` between them.",
            json_schema_extra={"pattern": r"[^\s\u0000]"},
        )
    )
    key_decisions: (
        Annotated[list[Decision], Field(max_length=ingest_protocol.MAX_DECISIONS)] | None
    ) = _field("What was decided, one sentence each.")
    domain: Domain | None = _field(f"The domain of the text; `{LEFT_OUT.domain}` by default.")
    expert_domain: Domain | None = _field("Another name of `domain`, which has priority.")
    source_model: Name | None = _field(f"The model; `{LEFT_OUT.source_model}` by default.")
    confidence: Share | None = _field(f"The sender's; {LEFT_OUT.confidence} by default.")
    project: Name | None = _field("A tag that recall can filter by.")
    session_id: Name | None = _field("The session; its overlapping texts are stored once.")
    idempotency_key: Name | None = _field("A repeated key with the same text stores nothing.")
    created_at: Time | None = _field("ISO 8601, else UTC; from 1970 to a day ahead.")

    def as_ingest(self) -> Ingest:
        """Return the item for the ingest queue, with default values for the missing fields."""
        values = self.model_dump(exclude_none=True)
        alias = values.pop("expert_domain", "")
        values["domain"] = values.get("domain") or alias or LEFT_OUT.domain
        values["source_model"] = values.get("source_model") or LEFT_OUT.source_model
        values["key_decisions"] = tuple(filter(str.strip, values.get("key_decisions", ())))
        return Ingest(**values)


MAX_SUBJECT_CHARS, MAX_MANY = 4096, 100
# All values of `action`. Pydantic's error paths begin with it (`edit.text` for the field `text`).
ACTIONS = frozenset("edit keep drop replace holds pin unpin forget merge undo".split())
ACTIONS |= {"holds_all", "drop_all"}

Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f-]{6,36}$")]
Code = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}$")]
Wording = Annotated[str, StringConstraints(max_length=MAX_TEXT_CHARS)]
Subject = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SUBJECT_CHARS)]


class _Body(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")


class Shown(_Body):
    """A memory's id and the version that the page showed, by which a later change is detected."""

    id: Id = Field(description="Its id, or the end of it.")
    version: Code = Field(description="`version` of the picture that showed it.")


class EditBody(_Body):
    """Request to change the text, type, scope or reason of a memory, like `memory-fabric edit`."""

    action: Literal["edit"]
    record: Shown
    text: Wording | None = _field("The new wording.")
    type: Subject | None = _field("The new type.")
    scope: Subject | None = _field("The new scope.")
    why: Wording | None = _field("The new reason; '' removes it.")
    when: Wording | None = _field("In what it applies; '' removes it.")
    instead_of: list[Shown] = Field(
        [], max_length=MAX_MANY, description="Memories that are closed in favour of this one."
    )


class RecordBody(_Body):
    """Request to keep, drop, confirm, pin or unpin a record, or let it replace contrary ones."""

    action: Literal["keep", "drop", "replace", "holds", "pin", "unpin"]
    record: Shown


class Confirmed(_Body):
    """Request for a change: without `code`, preview it; with the preview's code, carry it out."""

    code: Code | None = _field("The code of the preview; without it nothing is changed.")


class BroughtBody(Confirmed):
    """Request to confirm or forget all unconfirmed records of a program or colleague (`review`)."""

    action: Literal["holds_all", "drop_all"]
    of: Subject = Field(description="The name of the program or colleague.")


class ForgetBody(Confirmed):
    """Request to forget all that an id, a name or a text matches, like `memory-fabric forget`."""

    action: Literal["forget"]
    what: Subject = Field(description="An id, an entity's name, or words.")


class MergeBody(Confirmed):
    """Request to merge entities into one, like `memory-fabric merge`."""

    action: Literal["merge"]
    into: Subject = Field(description="The entity to keep.")
    names: list[Subject] = Field(
        min_length=1, max_length=MAX_MANY, description="The entities to merge into it."
    )


class UndoBody(Confirmed):
    """Request to undo a change, like `memory-fabric undo`."""

    action: Literal["undo"]
    id: Id | None = _field("The change; by default the last one.")


PageChange = EditBody | RecordBody | BroughtBody | ForgetBody | MergeBody | UndoBody


class ChangeBody(pydantic.RootModel[Annotated[PageChange, Field(discriminator="action")]]):
    """Request for one change of the memory: edit, keep, drop, forget, merge, undo and so on."""


def _usable(value: str) -> str:
    value = encodable(value).replace("\0", "")
    if len(value.encode()) > MAX_QUERY_BYTES:
        raise ValueError("is longer than 4 KB; ask for less at once")
    return value


Words = Annotated[str, AfterValidator(_usable)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]


class PageQuery(pydantic.BaseModel):
    """Parameters of the page's requests: the id of the project to show, '' for the served one."""

    project: Words = ""


class PageQuestion(PageQuery):
    q: Words = ""
    as_of: Words = ""
    limit: Limit = 20


class HistoryQuery(PageQuery):
    name: Words = ""
    limit: Limit = 50


class _Question(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    q: Words = ""
    limit: Limit = 10
    depth: Annotated[int, Field(ge=0, le=3)] = 0
    as_of: Words = ""


# Filters that a program may send with a question; each filter may occur several times.
filter_fields: dict[str, Any] = {name: (list[Words], []) for name in filters.KEYS}
RecallQuery = pydantic.create_model("RecallQuery", __base__=_Question, **filter_fields)


def query_in(request: Request, model: type[Model]) -> Model:
    """Return the query parameters as a model. Raises BadInput with the name of an invalid one."""
    values: dict[str, Any] = {}
    for name in request.query_params:
        texts = request.query_params.getlist(name)
        field = model.model_fields.get(name)
        if field is not None and field.annotation not in (str, int):
            values[name] = texts
        elif field is not None and len(texts) > 1:
            raise errors.BadInput(name, f"{name} is given more than once.", remedy="Send it once.")
        elif field is None or texts[0]:
            values[name] = texts[0]
    try:
        return model.model_validate(values)
    except pydantic.ValidationError as error:
        field_name, why = first_error(error)
        # Secrets are removed before the name is cut, because half a secret is not recognised.
        name = without_secrets(field_name.partition(".")[0])[:MAX_SHOWN_CHARS]
        remedy = f"Fields are {', '.join(model.model_fields)}." if why == "is not known" else ""
        raise errors.BadInput(name, f"{name} {why}.", remedy=remedy) from error
