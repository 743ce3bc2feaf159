"""Payloads: what is an operation, and what is passed over."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from memory_fabric.sharing.replica import wire
from memory_fabric.sharing.replica.wire import FORM, MAX_PAYLOAD_BYTES, Position
from team.conftest import OpenLog
from team.operations import APPEND, operation, texts
from team.postgres import ANN, BOB

GOOD: dict[str, Any] = {"v": 1, "key": "o:1", "base": [], "clock": "", "value": {"text": "x"}}
ROW = ("id", "machine", "ann", "observation")
TIME = "2026-01-02T03:04:05.678Z"
# Of this form, and not what this release writes.
BAD: dict[str, str] = {
    "no JSON": "{",
    "a list": "[]",
    "a text": '"x"',
    "too deep": '{"v": 1, "key": "k", "base": [], "value": ' + '{"a": ' * 50_000,
    "deeper than ours": json.dumps({**GOOD, "value": {"a": json.loads("[" * 60 + "]" * 60)}}),
    "no form": json.dumps({**GOOD, "v": None}),
    "a form that is true": json.dumps({**GOOD, "v": True}),
    "a form below 1": json.dumps({**GOOD, "v": 0}),
    "no key": json.dumps({**GOOD, "key": 7}),
    "a base of numbers": json.dumps({**GOOD, "base": [1]}),
    "a base that is none": json.dumps({**GOOD, "base": {"a": 1}}),
    "a value that is a list": json.dumps({**GOOD, "value": [1]}),
    "a clock that is a number": json.dumps({**GOOD, "clock": 1}),
    "a proof that is a number": json.dumps({**GOOD, "proof": 1}),
    "neither value nor seal": json.dumps({"v": 1, "key": "k", "base": []}),
}
# What a client could send by itself; the server takes none of it.
REFUSED: dict[str, object] = {
    "a list": [],
    "a text": "x",
    "nothing": {},
    "no form": {"key": "k", "base": [], "value": {}},
    "a key that is a number": {**GOOD, "key": 1},
    "a base that is none": {**GOOD, "base": "x"},
    "a base that is no id": {**GOOD, "base": ["x"]},
    "a base of far too many": {**GOOD, "base": ["0" * 32] * 1001},
    "a key that is too long": {**GOOD, "key": "k" * 201},
    "no key": {**GOOD, "key": ""},
    "neither value nor seal": {"v": 1, "key": "k", "base": []},
    "5 MB": {**GOOD, "value": {"text": "x" * 5_000_000}},
}


@pytest.mark.parametrize("case", BAD)
def test_decoding_an_invalid_payload_returns_none(case: str) -> None:
    assert wire.decode(*ROW, BAD[case], TIME) is None


def test_a_payload_in_a_later_format_is_stored_completely() -> None:
    payload = {**GOOD, "v": FORM + 1, "value": [1], "clock": {"at": 1}}

    found = wire.decode(*ROW, json.dumps(payload), TIME)

    assert found is not None
    assert (found.form, found.key, found.value) == (FORM + 1, "o:1", payload)


@pytest.mark.parametrize("text", ["ü" * (MAX_PAYLOAD_BYTES // 2), "x" * MAX_PAYLOAD_BYTES])
def test_the_size_limit_of_an_operation_is_in_bytes(text: str) -> None:
    with pytest.raises(ValueError, match=f"the limit is {MAX_PAYLOAD_BYTES}"):
        wire.encode(operation(text))


def test_a_value_that_json_cannot_express_is_refused(open_log: OpenLog) -> None:
    deep: dict[str, Any] = {}
    for _ in range(50_000):
        deep = {"a": deep}
    bad = [
        operation(value={"x": float("nan")}),
        operation(value={"x": {1, 2}}),
        operation(value=deep),
    ]
    refused: dict[str, str] = {}

    held = open_log(ANN).push(bad, refused.__setitem__)

    assert held == []
    assert refused.keys() == {said.op_id for said in bad}


@pytest.mark.parametrize("case", REFUSED)
def test_the_server_refuses_an_invalid_operation(case: str, space: str, open_log: OpenLog) -> None:
    log = open_log(ANN)

    with pytest.raises(psycopg.Error) as refused:
        log.connection.execute(APPEND, (space, json.dumps(REFUSED[case]), TIME))

    assert refused.value.sqlstate is not None
    assert refused.value.sqlstate[:2] in ("22", "23")


def test_numbers_with_huge_exponents_are_refused(space: str, open_log: OpenLog) -> None:
    numbers = json.dumps({**GOOD, "value": {"a": [7] * 12_000}}).replace("7", "1e131071")
    with pytest.raises(psycopg.Error):
        open_log(BOB).connection.execute(APPEND, (space, numbers, TIME))

    assert open_log(ANN).pull(Position())[0] == []


def test_readers_skip_a_row_with_an_invalid_payload_and_continue(
    space: str, open_log: OpenLog
) -> None:
    log = open_log(ANN)
    log.connection.execute(APPEND, (space, json.dumps({**GOOD, "value": 7}), TIME))
    log.push([operation("after it")])

    nothing, position = open_log(BOB).pull(Position(), limit=1)
    found, _ = open_log(BOB).pull(position)

    assert nothing == []
    assert texts(found) == ["after it"]


def test_an_impossible_or_future_time_of_an_operation_is_replaced_by_the_server_time(
    space: str, open_log: OpenLog
) -> None:
    log = open_log(ANN)
    for time in ("infinity", "0044-03-15 BC", "9999-01-01"):
        log.connection.execute(APPEND, (space, json.dumps(GOOD), time))

    found, _ = log.pull(Position())

    assert [said.made_at[:2] for said in found] == ["20"] * 3
