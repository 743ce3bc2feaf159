"""Laws of what comes in: it is taken as it was sent, or refused with a field, and nothing else."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.requests import Request
from starlette.types import Message

from memory_fabric.ingest_protocol import Ingest
from memory_fabric.servers.http.requests import IngestBody, model_in
from memory_fabric.servers.http.responses import Refused

KIND = "application/json"
TEXT = some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ANYTHING = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=5,
)


def ingest_in(kind: str, body: bytes) -> Ingest:
    """Return the text in a body of this content type."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", kind.encode("latin-1"))]
    request = Request({"type": "http", "headers": headers}, receive)
    return asyncio.run(model_in(request, IngestBody)).as_ingest()


@given(TEXT.filter(str.strip), some.lists(TEXT.filter(str.strip), max_size=5))
def test_texts_are_taken_as_they_were_sent(text: str, decisions: list[str]) -> None:
    body = json.dumps({"session_summary": text, "key_decisions": decisions}).encode()

    ingest = ingest_in(KIND, body)

    assert (ingest.session_summary, ingest.key_decisions) == (text, tuple(decisions))


@given(some.sampled_from(sorted(IngestBody.model_fields)), ANYTHING)
def test_any_value_of_any_field_is_taken_or_named(field: str, value: Any) -> None:
    body = json.dumps({"session_summary": "x", field: value})

    try:
        ingest_in(KIND, body.encode())
    except Refused as refused:
        error = json.loads(bytes(refused.answer.body))["error"]
        assert refused.answer.status_code == 422
        assert error["field"].partition(".")[0] == field


@given(some.binary())
def test_any_bytes_are_taken_or_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        ingest_in(KIND, body)


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ("2026-01-15", "2026-01-15T00:00:00.000Z"),
        ("2026-01-15T10:00:00", "2026-01-15T10:00:00.000Z"),
        ("2026-01-15T10:00:00.123456+02:00", "2026-01-15T08:00:00.123Z"),
        ("1970-01-01T00:00:00+14:00", "1970-01-01T00:00:00.000Z"),
        ("", ""),
    ],
)
def test_times_are_converted_to_utc_with_milliseconds(stated: str, kept: str) -> None:
    body = json.dumps({"session_summary": "x", "created_at": stated}).encode()

    assert ingest_in(KIND, body).created_at == kept


def test_blank_decisions_are_ignored() -> None:
    body = json.dumps({"session_summary": "x", "key_decisions": ["", " ", "Use UTC"]}).encode()

    assert ingest_in(KIND, body).key_decisions == ("Use UTC",)
