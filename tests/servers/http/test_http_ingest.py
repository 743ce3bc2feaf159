"""Texts that programs bring in over real HTTP: what is taken, what is refused, how that is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cli.shell import Shell
from drawn import token
from servers.http.http_server import INGEST, Serving, serving

LARGEST = 1 << 20


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell in a project of which nothing is remembered."""
    return Shell(tmp_path_factory.mktemp("ingest"))


@pytest.fixture(scope="module")
def server(shell: Shell) -> Iterator[Serving]:
    """A server of its memory, without kept keys."""
    with serving(shell) as found:
        yield found


def test_a_text_is_queued_with_its_domain_and_length(server: Serving) -> None:
    reply = server.send("health-check")

    told = reply.json
    assert reply.status == 202
    assert told.pop("id")
    assert told == {"status": "queued", "domain": "session", "length": 12}


def test_the_processing_state_of_a_text_is_returned_for_its_id(server: Serving) -> None:
    told = server.send("We moved to PostgreSQL 17.", domain="Legal Advisor").json

    reply = server.get(f"{INGEST}/{told['id']}", key="none")

    assert reply.status == 200
    state = reply.json
    assert (state["id"], state["domain"], state["length"]) == (told["id"], "legal_advisor", 26)
    assert state["state"] in ("waiting", "working", "done")
    assert set(state) == {
        *("id", "state", "domain", "length", "attempts", "error"),
        *("created_at", "ended_at", "records"),
    }
    id_ = told["id"]
    for spelling in (id_.upper(), "%7B" + id_ + "%7D", id_.replace("-", "")):
        assert server.get(f"{INGEST}/{spelling}", key="none").status == 404


def test_all_documented_fields_are_accepted_and_unknown_ones_ignored(server: Serving) -> None:
    reply = server.send(
        "All of them",
        key_decisions=["Use UTC"],
        expert_domain="ops",
        source_model="other-model",
        confidence=1,
        project="shop",
        session_id="s1",
        idempotency_key="all-1",
        created_at="2026-01-15T10:00:00+02:00",
        tomorrow={"deep": [1]},
    )

    assert (reply.status, reply.json["domain"]) == (202, "ops")


def test_a_null_field_is_treated_like_a_missing_field(server: Serving) -> None:
    left: dict[str, Any] = {
        "key_decisions": None,
        "domain": None,
        "confidence": None,
        "created_at": None,
    }

    assert server.send("Nothing more", key="none", **left).json["domain"] == "session"


def test_the_returned_length_is_measured_after_redaction(server: Serving) -> None:
    secret = token()

    told = server.send(f"The key is {secret}").json

    assert told["length"] != len(f"The key is {secret}")


def test_a_text_sent_again_with_its_idempotency_key_gets_the_same_response(server: Serving) -> None:
    first = server.send("Sent twice", idempotency_key="twice")
    again = server.send("Sent twice", idempotency_key="twice")

    assert (first.status, again.status) == (202, 202)
    assert again.json == first.json


def test_another_text_with_the_same_idempotency_key_is_a_conflict(server: Serving) -> None:
    first = server.send("One text", idempotency_key="conflict")

    reply = server.send("Another text", idempotency_key="conflict")

    assert (reply.status, reply.code) == (409, "conflict")
    assert reply.json["error"]["field"] == "idempotency_key"
    assert first.json["id"] in reply.json["error"]["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("session_summary", 5),
        ("session_summary", ""),
        ("session_summary", " \n"),
        ("session_summary", None),
        ("key_decisions", "one"),
        ("key_decisions", ["x"] * 101),
        ("domain", 5),
        ("domain", "!!"),
        ("domain", "d" * 257),
        ("expert_domain", []),
        ("source_model", "m" * 257),
        ("confidence", 1.01),
        ("confidence", -0.1),
        ("confidence", True),
        ("confidence", "0.5"),
        ("project", {"a": 1}),
        ("session_id", "s" * 257),
        ("idempotency_key", "k" * 257),
        ("created_at", "yesterday"),
        ("created_at", "2999-01-01T00:00:00Z"),
        ("created_at", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_the_error_names_an_invalid_field(server: Serving, field: str, value: Any) -> None:
    reply = server.post(INGEST, json.dumps({"session_summary": "x", field: value}))

    assert (reply.status, reply.code) == (422, "bad_field")
    assert reply.json["error"]["field"] == field
    assert reply.json["error"]["message"].startswith(field)


@pytest.mark.parametrize("value", [5, "d" * 4001, None])
def test_the_error_contains_the_index_of_an_invalid_decision(server: Serving, value: Any) -> None:
    reply = server.send("x", key_decisions=["fine", value])

    assert (reply.status, reply.json["error"]["field"]) == (422, "key_decisions.1")


def test_a_missing_text_is_reported_in_the_error(server: Serving) -> None:
    reply = server.post(INGEST, "{}")

    assert reply.status == 422
    assert reply.json["error"]["message"] == "session_summary is missing."


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"session_summary": "x", "confidence": NaN}',
        b'{"session_summary": "x", "confidence": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"session_summary": "\xff"}',
        '{"session_summary": "x"}'.encode("utf-16"),
    ],
)
def test_a_body_that_is_not_a_json_object_is_refused(server: Serving, body: bytes) -> None:
    reply = server.post(INGEST, body)

    assert reply.status == 400
    assert reply.code in ("bad_json", "bad_encoding")


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "json"])
def test_a_content_type_other_than_json_is_refused(server: Serving, kind: str) -> None:
    reply = server.post(INGEST, '{"session_summary": "x"}', Content_Type=kind)

    assert (reply.status, reply.code) == (400, "wrong_content_type")


def test_an_encoding_other_than_utf8_is_refused(server: Serving) -> None:
    kind = "application/json; charset=latin-1"

    assert server.post(INGEST, "{}", Content_Type=kind).code == "bad_encoding"


def test_json_with_a_byte_order_mark_a_lone_surrogate_and_a_nul_is_accepted(
    server: Serving,
) -> None:
    body = b'\xef\xbb\xbf{"session_summary": "cut \\ud83d here\\u0000"}'

    reply = server.post(INGEST, body, Content_Type="application/json; charset=UTF-8")

    assert (reply.status, reply.json["length"]) == (202, len("cut ? here"))


def test_a_body_of_the_maximum_size_is_accepted_and_a_larger_one_refused(server: Serving) -> None:
    frame = len(b'{"session_summary": ""}')
    text = "word " * LARGEST

    fits = server.send(text[: LARGEST - frame])
    larger = server.send(text[: LARGEST - frame + 1])

    assert (fits.status, fits.json["length"]) == (202, LARGEST - frame)
    assert (larger.status, larger.code) == (413, "too_large")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_a_wrong_method_is_refused_and_the_error_names_the_right_one(
    server: Serving, method: str
) -> None:
    reply = server.get(INGEST, method=method)

    assert reply.status == 405
    assert reply.headers["allow"] == "POST"


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_the_state_of_a_text_is_read_only(server: Serving, method: str) -> None:
    reply = server.get(f"{INGEST}/x", method=method)

    assert reply.status == 405
    assert set(reply.headers["allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize(
    "path",
    [
        INGEST + "/",
        "/" + INGEST,
        "/v1//memory/ingest",
        "/v1/memory/../memory/ingest",
        "/v1/memory/%2e%2e/memory/ingest",
        "/v1/memory%2fingest%00",
        "/v1/memory/ingest%00",
        "/v1/memory/ingest;a",
        "/v2/memory/ingest",
    ],
)
def test_a_path_that_differs_slightly_from_a_known_path_is_not_found(
    server: Serving, path: str
) -> None:
    reply = server.post(path, '{"session_summary": "x"}', key=server.key)

    assert (reply.status, reply.code) == (404, "not_found")


@pytest.mark.parametrize("id_", ["x", "..", "%2e%2e", "%00", "1" * 36, "a" * 300, "0" * 32])
def test_the_state_of_an_invalid_id_is_not_found(server: Serving, id_: str) -> None:
    reply = server.get(f"{INGEST}/{id_}", key="none")

    assert (reply.status, reply.code) == (404, "not_found")


def test_a_request_line_with_the_url_of_another_host_is_answered_with_404(server: Serving) -> None:
    head = f"POST http://evil.example{INGEST} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    body = '{"session_summary": "x"}'
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"

    answer = server.raw(f"{head}{kind}Authorization: Bearer {server.key}\r\n\r\n{body}".encode())

    assert answer.split(b" ")[1] == b"404"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "evil.example"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Sec_Fetch_Site", "cross-site"),
    ],
)
def test_cross_site_requests_cannot_ingest(server: Serving, name: str, value: str) -> None:
    reply = server.post(INGEST, '{"session_summary": "x"}', **{name: value})

    assert (reply.status, reply.code) == (403, f"wrong_{'host' if name == 'Host' else 'origin'}")


def test_health_checks_and_the_openapi_description_need_no_key(server: Serving) -> None:
    assert server.get("/healthz", key="none").json == {"status": "ok"}
    ready = server.get("/readyz", key="none")
    assert (ready.status, ready.json) == (200, {"status": "ready"})
    assert server.get("/openapi.json", key="none").json["openapi"].startswith("3.1")


def test_reading_memory_needs_the_key_even_if_ingesting_needs_none(server: Serving) -> None:
    for path in ("/api/picture", "/api/recall?q=x", "/mcp", "/"):
        assert server.get(path, key="none").status == 401


def test_ingesting_while_memory_is_switched_off_is_refused_with_the_reason(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with serving(Shell(tmp_path_factory.mktemp("off")), MEMORY_FABRIC="off") as server:
        reply, ready = server.send("x"), server.get("/readyz", key="none")

    assert (reply.status, reply.code) == (503, "unavailable")
    assert "switched off" in reply.json["error"]["message"]
    assert int(reply.headers["retry-after"]) > 0
    assert ready.status == 503
    why = "Memory is switched off here. Turn it on with memory-fabric on."
    assert ready.json["reasons"] == [why]
