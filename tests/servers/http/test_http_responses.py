"""Errors as responses, and results without places of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.responses import Response

from drawn import token
from memory_fabric import errors
from memory_fabric.servers.http import responses
from memory_fabric.servers.http.responses import Forbidden, Refused, Unauthorized
from memory_fabric.store.memory import Memory
from servers.mcp_clients import settings


def error_in(response: Response) -> dict[str, Any]:
    """The error that a response contains, which must contain nothing else."""
    ((name, found),) = json.loads(bytes(response.body)).items()
    assert name == "error"
    return dict(found)


TELL = {"message": "It is 0.", "remedy": "Say 1."}
LATER, LOG_IN = {"retry-after": "5"}, {"www-authenticate": "Bearer"}


@pytest.mark.parametrize(
    ("error", "status", "code", "headers"),
    [
        (errors.BadInput("limit", **TELL), 400, "bad_input", {}),
        (errors.NotFound("x", **TELL), 404, "not_found", {}),
        (errors.StoreUnavailable("", **TELL), 503, "unavailable", LATER),
        (errors.StoreReadOnly("", **TELL), 503, "unavailable", LATER),
        (errors.DeadlinePassed(**TELL), 503, "unavailable", LATER),
        (Unauthorized(**TELL), 401, "unauthorized", LOG_IN),
        (Forbidden(**TELL), 403, "forbidden", {}),
        (errors.FabricError(**TELL), 500, "failed", {}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_each_error_has_its_status_code_message_and_headers(
    error: errors.FabricError,
    status: int,
    code: str,
    headers: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = responses.of_error(error)

    field = {"field": "limit"} if isinstance(error, errors.BadInput) else {}
    assert (answer.status_code, error_in(answer)) == (status, {"code": code, **TELL, **field})
    own = {name: value for name, value in answer.headers.items() if not name.startswith("content")}
    assert own == headers
    assert capsys.readouterr().err == ""


def test_the_error_of_the_framework_is_told_by_its_usual_phrase() -> None:
    answer = responses.of_error(HTTPException(405, headers={"Allow": "GET"}))

    told = {"code": "method_not_allowed", "message": "Method Not Allowed.", "remedy": ""}
    assert (answer.status_code, error_in(answer)) == (405, told)
    assert answer.headers["allow"] == "GET"


def test_a_refusal_may_name_a_field_and_have_more_members() -> None:
    plain = Refused(400, "bad", "No.")
    full = Refused(409, "changed", "No.", "Look.", field="code", more={"current": 1})

    told = {"code": "changed", "message": "No.", "remedy": "Look.", "field": "code", "current": 1}
    assert error_in(plain.answer) == {"code": "bad", "message": "No.", "remedy": ""}
    assert error_in(full.answer) == told
    assert responses.of_error(full) is full.answer


def test_an_error_is_told_without_the_path_of_the_database_and_without_secrets() -> None:
    secret = token()
    error = errors.StoreUnavailable("a/graph.db", "a/graph.db is damaged: see a/graph.db.")
    refused = errors.BadInput("text", f"{secret} is no text.", remedy=f"Leave {secret} out.")

    assert error_in(responses.of_error(error))["message"] == (
        "The memory is damaged: see the memory."
    )
    assert secret not in str(error_in(responses.of_error(refused)))
    assert responses.without_path(errors.NotFound("x", "x is not here."), "x") == "x"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory.open(settings(tmp_path / "home"))
    yield opened
    opened.close()


def result(memory: Memory, value: Any) -> Any:
    """The JSON of the response with this result of a job."""
    answer = responses.answered(memory, lambda _: value)
    assert answer.media_type == "application/json"
    return json.loads(bytes(answer.body))


def test_failures_are_told_without_places_of_this_machine(memory: Memory, tmp_path: Path) -> None:
    places = [tmp_path / place for place in ("home/graph.db", "project/a.py", "user/b")]
    failures = [f"{place} is damaged" for place in places]

    told = result(memory, {"failures": failures, "label": str(places[0])})

    assert told["failures"] == ["…/graph.db is damaged", "…/a.py is damaged", "…/b is damaged"]
    assert told["label"] == str(places[0])
    assert result(memory, {"results": failures}) == {"results": failures}
    assert result(memory, failures) == failures


def test_a_secret_of_a_question_is_removed_where_the_answer_repeats_the_question(
    memory: Memory,
) -> None:
    secret = token()
    repeated = dict.fromkeys(("query", "label", "notes", "searched"), f"about {secret}")

    told = result(memory, {"failures": [], **repeated, "results": ["ä"]})

    assert set(told) == {"failures", "results", *repeated}
    assert all(told[name].startswith("about [redacted") for name in repeated)
    assert told["results"] == ["ä"]


def test_failures_and_messages_of_an_earlier_question_are_not_told_again(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.failures.append("earlier")
    memory.messages.append("It was rebuilt.")

    first = responses.answered(memory, lambda asked: {"failures": list(asked.failures)})
    responses.answered(memory, lambda _: [])

    assert json.loads(bytes(first.body)) == {"failures": []}
    assert capsys.readouterr().err == "memory-fabric: It was rebuilt.\n"
