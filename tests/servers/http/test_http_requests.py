"""Bodies and parameters of requests, at their limits and beyond."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel
from starlette.requests import Request
from starlette.types import Message

from drawn import token
from memory_fabric.errors import BadInput
from memory_fabric.ingest_protocol import LEFT_OUT
from memory_fabric.servers.http import requests
from memory_fabric.servers.http.requests import (
    ChangeBody,
    HistoryQuery,
    IngestBody,
    PageQuery,
    PageQuestion,
    RecallQuery,
    query_in,
)
from memory_fabric.servers.http.responses import Refused

SHOWN = {"id": "0123ab", "version": "0" * 8}


def request(query: str = "", *parts: bytes, **headers: str) -> Request:
    """A request with this query, these pieces of a body, and headers."""
    left = list(parts)

    async def receive() -> Message:
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "query_string": query.encode(), "headers": named}, receive)


def model_of(model: type[BaseModel], value: Any) -> Any:
    """The parsed JSON body of a request with this value."""
    whole = request("", json.dumps(value).encode(), content_type="application/json")
    return asyncio.run(requests.model_in(whole, model))


def refused(model: type[BaseModel], value: Any) -> dict[str, Any]:
    """The error for a JSON body with this value, which must have an invalid field."""
    with pytest.raises(Refused) as caught:
        model_of(model, value)
    assert caught.value.answer.status_code == 422
    return dict(json.loads(bytes(caught.value.answer.body))["error"])


def test_parameters_that_are_left_out_or_empty_have_their_defaults() -> None:
    for query in ("", "q=&limit=&as_of=&project="):
        asked = query_in(request(query), PageQuestion)
        assert asked.model_dump() == {"project": "", "q": "", "as_of": "", "limit": 20}
    history = query_in(request("name="), HistoryQuery)
    assert history.model_dump() == {"project": "", "name": "", "limit": 50}
    recall: Any = query_in(request(), RecallQuery)
    assert (recall.q, recall.limit, recall.depth, recall.as_of) == ("", 10, 0, "")
    assert recall.domain == recall.type == recall.session == []


@pytest.mark.parametrize(
    ("model", "query"),
    [
        (PageQuestion, "limit=1"),
        (PageQuestion, "limit=100"),
        (HistoryQuery, "limit=100"),
        (RecallQuery, "limit=100&depth=3"),
        (RecallQuery, "limit=1&depth=0"),
        (PageQuestion, f"q={'x' * 4096}"),
        (PageQuery, "project=a&unknown=1&unknown=2"),
    ],
)
def test_parameters_at_their_limits_are_accepted(model: type[BaseModel], query: str) -> None:
    assert query_in(request(query), model)


@pytest.mark.parametrize(
    ("model", "query", "message"),
    [
        (PageQuestion, "limit=101", "limit should be less than or equal to 100."),
        (RecallQuery, "limit=0", "limit should be greater than or equal to 1."),
        (RecallQuery, "depth=4", "depth should be less than or equal to 3."),
        (RecallQuery, "depth=-1", "depth should be greater than or equal to 0."),
        (PageQuestion, f"q={'%C3%A4' * 2049}", "q is longer than 4 KB; ask for less at once."),
        (PageQuery, f"project={'x' * 4097}", "project is longer than 4 KB; ask for less at once."),
        (PageQuestion, "q=a&q=b", "q is given more than once."),
        (RecallQuery, "colour=red", "colour is not known."),
        (RecallQuery, f"{'n' * 41}=x", f"{'n' * 40} is not known."),
    ],
)
def test_an_invalid_parameter_is_refused_with_its_name_and_the_reason(
    model: type[BaseModel], query: str, message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        query_in(request(query), model)

    assert caught.value.message == message
    assert caught.value.field == message.partition(" ")[0]
    lists_fields = "is not known" in message
    assert ("Fields are q, limit, depth, as_of" in caught.value.remedy) is lists_fields


def test_a_secret_as_the_name_of_a_parameter_is_not_repeated() -> None:
    secret = token()

    with pytest.raises(BadInput) as caught:
        query_in(request(f"{secret}=1"), RecallQuery)

    assert secret[:12] not in f"{caught.value} {caught.value.field}"


def test_a_filter_may_be_given_several_times_and_keeps_the_order() -> None:
    recall: Any = query_in(request("domain=b&q=x&domain=a"), RecallQuery)

    assert (recall.domain, recall.q) == (["b", "a"], "x")


@pytest.mark.parametrize(
    "value",
    [
        {"action": "edit", "record": SHOWN, "why": "w" * 16_384, "instead_of": [SHOWN] * 100},
        {"action": "pin", "record": {"id": "0" * 36, "version": "0123abcf"}},
        {"action": "forget", "what": "w" * 4096},
        {"action": "forget", "what": "w", "code": "0123abcf"},
        {"action": "merge", "into": "a", "names": ["b"] * 100},
        {"action": "holds_all", "of": "o"},
        {"action": "undo"},
    ],
    ids=lambda value: str(value["action"]),
)
def test_a_change_with_fields_at_their_limits_is_accepted(value: dict[str, Any]) -> None:
    change = model_of(ChangeBody, value).root

    assert change.model_dump(exclude_unset=True) == value


@pytest.mark.parametrize(
    ("value", "field", "message"),
    [
        ({"action": "edit", "record": SHOWN, "why": "w" * 16_385}, "why", ""),
        ({"action": "edit", "record": SHOWN, "instead_of": [SHOWN] * 101}, "instead_of", ""),
        ({"action": "edit", "record": SHOWN, "text": 7}, "text", "text should be a valid string."),
        ({"action": "pin", "record": {**SHOWN, "id": "01234"}}, "record.id", ""),
        ({"action": "pin", "record": {**SHOWN, "id": "0" * 37}}, "record.id", ""),
        ({"action": "pin", "record": {"id": "0123ab"}}, "record.version", "is missing."),
        ({"action": "forget", "what": ""}, "what", ""),
        ({"action": "forget", "what": "w" * 4097}, "what", ""),
        ({"action": "forget", "what": "w", "code": "0" * 9}, "code", ""),
        ({"action": "merge", "into": "a", "names": ["b"] * 101}, "names", ""),
        ({"action": "merge", "into": "a", "names": ["b", ""]}, "names.1", ""),
        ({"action": "drop_all"}, "of", "of is missing."),
        ({"action": "undo", "edit": 1}, "edit", "edit is not known."),
        ({"action": "purge"}, "action", "action is not known."),
        ({"record": SHOWN}, "action", "action is missing."),
    ],
)
def test_a_change_with_a_field_beyond_its_limit_is_refused(
    value: dict[str, Any], field: str, message: str
) -> None:
    error = refused(ChangeBody, value)

    assert (error["code"], error["field"]) == ("bad_field", field)
    assert error["message"].startswith(f"{field} ") and error["message"].endswith(message)


def test_a_text_with_fields_at_their_limits_is_accepted() -> None:
    most = dict.fromkeys(("source_model", "project", "session_id"), "n" * 256)
    whole = {**most, "domain": "d" * 256, "key_decisions": ["d" * 4000] * 100, "confidence": 0}

    ingest = model_of(IngestBody, {"session_summary": "x", **whole}).as_ingest()

    assert (ingest.project, ingest.session_id) == (most["project"], most["session_id"])
    assert (len(ingest.key_decisions), ingest.confidence) == (100, 0)
    assert model_of(IngestBody, {"session_summary": "x", "confidence": 1}).confidence == 1


def test_the_domain_of_a_text_has_priority_over_its_other_name() -> None:
    both = {"session_summary": "x", "domain": "Legal Advisor", "expert_domain": "ops"}

    domains = [
        model_of(IngestBody, {name: both[name] for name in names}).as_ingest().domain
        for names in (both, ("session_summary", "expert_domain"), ("session_summary",))
    ]

    assert domains == ["legal_advisor", "ops", "session"]
    empty = model_of(IngestBody, {**both, "domain": "", "source_model": ""}).as_ingest()
    assert (empty.domain, empty.source_model) == ("ops", LEFT_OUT.source_model)


@pytest.mark.parametrize("stated", ["1969-12-31T23:59:59Z", "1969-06-01", "2999-01-01", "today"])
def test_a_time_before_1970_or_in_the_future_is_refused(stated: str) -> None:
    error = refused(IngestBody, {"session_summary": "x", "created_at": stated})

    assert error["field"] == "created_at"
    assert error["message"].startswith("created_at must be ")


@pytest.mark.parametrize(
    ("sizes", "announced", "is_read"),
    [
        ((10,), None, True),
        ((4, 6), None, True),
        ((4, 7), None, False),
        ((11,), None, False),
        ((10,), "10", True),
        ((), "11", False),  # refused before anything is read
        ((10,), "ten", True),
    ],
)
def test_a_body_of_the_maximum_size_is_read_and_a_larger_one_refused(
    sizes: tuple[int, ...], announced: str | None, *, is_read: bool
) -> None:
    headers = {} if announced is None else {"content_length": announced}
    sent = request("", *(b"a" * size for size in sizes), **headers)
    reading = requests.whole_body(sent.scope, sent.receive, 10)

    if is_read:
        assert asyncio.run(reading) == b"a" * 10
        return
    with pytest.raises(Refused, match="larger than 10 bytes") as caught:
        asyncio.run(reading)
    assert caught.value.answer.status_code == 413


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("application/json", ""),
        ("Application/JSON ;charset=utf-8", ""),
        ('application/json; charset="UTF8"', ""),
        ("application/json; charset=us-ascii", ""),
        ("application/json; charset=utf-16", "bad_encoding"),
        ("text/json", "wrong_content_type"),
        ("", "wrong_content_type"),
    ],
)
def test_the_content_type_must_be_json_in_utf8(kind: str, code: str) -> None:
    sent = request("", b'{"session_summary": "x"}', content_type=kind)
    reading = requests.model_in(sent, IngestBody)

    if not code:
        assert asyncio.run(reading).session_summary == "x"
        return
    with pytest.raises(Refused) as caught:
        asyncio.run(reading)
    assert caught.value.answer.status_code == 400
    assert json.loads(bytes(caught.value.answer.body))["error"]["code"] == code
