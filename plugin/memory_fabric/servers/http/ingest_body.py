"""The body of an ingest request: its fields, their validation and errors.

Unknown fields are ignored and null counts as absent, so that senders of other releases are
accepted.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)

from memory_fabric.ids import timestamp
from memory_fabric.ingest_protocol import (
    LEFT_OUT,
    MAX_DECISION_CHARS,
    MAX_DECISIONS,
    MAX_NAME_CHARS,
    Ingest,
)
from memory_fabric.recall.agent_domains import stated_name
from memory_fabric.servers.http.json_body import object_in, of_field
from memory_fabric.text import encodable

# The tolerance for a sender's clock; errors of time zones are smaller.
MAX_AHEAD = timedelta(days=1)
FIRST_YEAR = 1970


def _storable(value: Any) -> Any:
    """Return the text without NUL, and with lone surrogates replaced."""
    return encodable(value).replace("\0", "") if isinstance(value, str) else value


def _with_words(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value


def _a_domain(value: str) -> str:
    name = stated_name(value)
    if value and not name:
        raise ValueError("must have a letter or a digit")
    return name


def _a_time(value: str) -> str:
    """Return the time as the store writes it; a time without a zone is in UTC."""
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
    return timestamp(max(0.0, seconds))


Text = Annotated[str, BeforeValidator(_storable)]
Name = Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS), BeforeValidator(_storable)]
Domain = Annotated[
    Name,
    AfterValidator(_a_domain),
    WithJsonSchema({"type": "string", "maxLength": MAX_NAME_CHARS, "pattern": r"^$|[\p{L}\p{N}]"}),
]
Decision = Annotated[
    str, StringConstraints(max_length=MAX_DECISION_CHARS), BeforeValidator(_storable)
]


Time = Annotated[
    Name,
    AfterValidator(_a_time),
    WithJsonSchema({"type": "string", "anyOf": [{"format": "date-time"}, {"maxLength": 0}]}),
]


class IngestBody(BaseModel):
    """A text to be remembered, and its metadata."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "examples": [
                {
                    "session_summary": "We moved the invoices to PostgreSQL 17.",
                    "key_decisions": ["Use PostgreSQL 17 for the invoices"],
                    "domain": "billing",
                }
            ]
        },
    )

    session_summary: Annotated[Text, AfterValidator(_with_words)] = Field(
        description="The text itself: a summary, or messages with a line `---` between them.",
        json_schema_extra={"pattern": r"[^\s\u0000]"},
    )
    key_decisions: Annotated[list[Decision], Field(max_length=MAX_DECISIONS)] | None = Field(
        None, description="What was decided, one sentence each."
    )
    domain: Domain | None = Field(
        None, description=f"The domain of the text; `{LEFT_OUT.domain}` by default."
    )
    expert_domain: Domain | None = Field(
        None, description="An alias of `domain`; if both are sent, `domain` is used."
    )
    source_model: Name | None = Field(
        None, description=f"The model that wrote the text; `{LEFT_OUT.source_model}` by default."
    )
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = Field(
        None, description=f"The confidence of the sender; {LEFT_OUT.confidence} by default."
    )
    project: Name | None = Field(None, description="A tag that recall can filter by.")
    session_id: Name | None = Field(
        None, description="The session; overlapping texts of one session are stored once."
    )
    idempotency_key: Name | None = Field(
        None, description="A repeated key with the same text is treated as the same ingest."
    )
    created_at: Time | None = Field(
        None,
        description="When it was said, in ISO 8601; without a zone it is UTC. From 1970, and at "
        "most a day ahead.",
    )

    def as_ingest(self) -> Ingest:
        """The value that the store takes, its defaults filled in."""
        return Ingest(
            session_summary=self.session_summary,
            key_decisions=tuple(one for one in self.key_decisions or () if one.strip()),
            domain=self.domain or self.expert_domain or LEFT_OUT.domain,
            source_model=self.source_model or LEFT_OUT.source_model,
            confidence=LEFT_OUT.confidence if self.confidence is None else float(self.confidence),
            project=self.project or "",
            session_id=self.session_id or "",
            idempotency_key=self.idempotency_key or "",
            created_at=self.created_at or "",
        )


def ingest_in(content_type: str, body: bytes) -> Ingest:
    """Parse a request. Raises Refused: 400 unless it is a JSON object, 422 for an invalid field."""
    value = object_in(content_type, body)
    try:
        return IngestBody.model_validate(value).as_ingest()
    except ValidationError as error:
        raise of_field(error) from error
