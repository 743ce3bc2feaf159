"""Operations as they are written and read: keys, clocks, limits, and the accepted fields."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pytest

from memory_fabric.sharing.replica import statements, wire
from memory_fabric.sharing.replica.wire import TeamOperation
from team.statements import AT, entity, observation, record, relation

ID = "01980000-0000-7000-8000-00000000000a"
RECORD_KEY = f"r:{ID}"
PURGE = record("Use UTC")._replace(kind=wire.PURGE, value=None)


def changed(operation: TeamOperation, **fields: Any) -> TeamOperation:
    """Return the operation with other fields in its value, and the key of that value."""
    value = {**(operation.value or {}), **fields}
    return operation._replace(value=value, key=wire.key_in(operation.kind, value))


def read(operation: TeamOperation) -> Mapping[str, Any] | None:
    """Return another member's statement as it is stored here."""
    return statements.fields(operation.kind, operation.key, operation.value or {})


def test_the_key_of_a_row_is_a_digest_of_the_names_in_it() -> None:
    digest = hashlib.sha256(b"api\nuses\nRedis").hexdigest()

    assert wire.key_of(wire.RELATION, "api", "uses", "Redis") == f"l:{digest}"
    assert wire.key_of(wire.ENTITY, "api") != wire.key_of(wire.OBSERVATION, "api", "")
    assert wire.key_of(wire.RECORD, ID) == RECORD_KEY
    assert wire.key_of(wire.RECORD, 5) == wire.key_of(wire.OBSERVATION, "api", None) == ""


def test_a_clock_reading_is_later_than_the_last_one_whatever_the_computers_clock_says() -> None:
    first = wire.reading_after("", 0x1234, "the desk machine-1")
    same, back = (wire.reading_after(first, now, "desk") for now in (0x1234, 5))
    later = wire.reading_after(same, 0x1235, "desk")

    assert first == "0000000001234" + "0000" + "achine-1"
    assert same == back == "0000000001234" + "0001" + "0000desk"
    assert later == "0000000001235" + "0000" + "0000desk"
    assert wire.reading_after(same, 0, "desk").startswith("0000000001234" + "0002")
    assert wire.reading_after("no reading", 0, "desk").startswith("0" * 13 + "0001")


def test_a_full_counter_of_a_clock_reading_moves_its_time_on() -> None:
    last = wire.reading_after("0000000001234" + "fffe" + "0000desk", 0, "desk")
    over = wire.reading_after(last, 0, "desk")

    assert last == "0000000001234" + "ffff" + "0000desk"
    assert over == "0000000001235" + "0000" + "0000desk"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("0" * 13 + "abcd" + "machine!", True),
        ("0" * 13 + "abcd" + "machine", False),
        ("0" * 13 + "abcd" + "machine!!", False),
        ("0" * 13 + "abcg" + "machine!", False),
        ("0" * 13 + "ABCD" + "machine!", False),
        (5, False),
    ],
)
def test_a_clock_reading_is_recognised_by_its_form(text: object, *, is_one: bool) -> None:
    assert wire.is_reading(text) is is_one


def test_a_payload_may_have_the_maximum_size_but_not_one_byte_more() -> None:
    said = observation("api", "")
    room = wire.MAX_PAYLOAD_BYTES - len(wire.encode(said))

    fits, over = (changed(said, text="x" * size) for size in (room, room + 1))

    whole = [one._replace(key=said.key) for one in (fits, over)]
    assert len(wire.encode(whole[0])) == wire.MAX_PAYLOAD_BYTES
    with pytest.raises(ValueError, match=f"has {wire.MAX_PAYLOAD_BYTES + 1} bytes"):
        wire.encode(whole[1])


def test_a_payload_contains_its_value_with_a_proof_or_only_what_is_sealed() -> None:
    said = observation("api", "is old")._replace(base=("b1", "b2"))

    plain, proved, sealed = (
        json.loads(wire.encode(one))
        for one in (said, said._replace(proof="p"), said._replace(proof="p", sealed="s"))
    )

    known = {"v": 1, "key": said.key, "base": ["b1", "b2"], "clock": said.clock}
    assert plain == known | {"value": said.value}
    assert proved == plain | {"proof": "p"}
    assert sealed == known | {"sealed": "s"}


def test_an_operation_is_decoded_as_it_was_encoded() -> None:
    said = observation("api", "is old")._replace(base=("b1", "b2"), proof="p", author="ann")
    sealed = said._replace(kind=wire.SEALED, value=None, proof="", sealed="s")

    for one in (said, said._replace(value=None), sealed):
        row = (one.op_id, one.origin, one.author, one.kind, wire.encode(one), one.made_at)
        assert wire.decode(*row) == one


def test_a_payload_may_be_nested_only_to_a_limit() -> None:
    # The payload, its value and this list are three levels.
    fits: list[Any] = []
    for _ in range(wire.MAX_DEPTH - 3):
        fits = [fits]
    deep = [fits]
    row = ("id", "machine", "ann", wire.OBSERVATION)
    payload = {"v": 1, "key": "o:1", "base": [], "value": {}}

    found = [
        wire.decode(*row, json.dumps(payload | {"value": {"a": nested}}), AT)
        for nested in (fits, deep)
    ]

    assert found[0] is not None and found[1] is None


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (record("Use UTC"), ""),
        (entity("api"), ""),
        (relation("api", "uses", "Redis")._replace(value=None, clock=""), ""),
        (PURGE, ""),
        (PURGE._replace(key="r:"), "no key to erase"),
        (PURGE._replace(key="x:1"), "no key to erase"),
        (entity("api")._replace(key=RECORD_KEY), "does not fit its kind, entity"),
        (entity("api")._replace(kind="picture"), "does not fit its kind, picture"),
        (record("Use UTC")._replace(key="r:1"), "has not the form"),
        (entity("api")._replace(key="e:" + "a" * 63), "has not the form"),
        (entity("api")._replace(key="e:" + "a" * 65), "has not the form"),
        (entity("api")._replace(key="e:" + "a" * 63 + "g"), "has not the form"),
        (entity("api")._replace(clock="later"), "Its clock 'later'"),
        (entity("api")._replace(base=("b",) * statements.MAX_BASE), ""),
        (entity("api")._replace(base=("b",) * (statements.MAX_BASE + 1)), "Its base"),
        (entity("api")._replace(base=(5,)), "Its base"),  # type: ignore[arg-type]
        (entity("api")._replace(value=["api"]), "Its value"),  # type: ignore[arg-type]
    ],
)
def test_a_malformed_operation_gets_a_reason(operation: TeamOperation, reason: str) -> None:
    found = statements.problem(operation)

    assert reason in found and bool(found) == bool(reason)


def test_a_statement_is_accepted_only_under_its_own_key() -> None:
    said = observation("api", "is old")

    assert read(said) == said.value
    assert read(said._replace(key=wire.key_of(wire.OBSERVATION, "api", "is new"))) is None


@pytest.mark.parametrize(
    "said",
    [
        changed(entity("api"), name=" "),
        changed(entity("api"), type=None),
        changed(observation("api", "is old"), entity=""),
        changed(observation("api", "is old"), text="\u200b"),
        changed(relation("api", "uses", "Redis"), relationType=""),
        changed(relation("api", "uses", "Redis"), to="\n"),
        changed(record("Use UTC"), id="1"),
        changed(record("Use UTC"), scope="user"),
    ],
)
def test_a_statement_without_one_of_its_parts_is_not_accepted(said: TeamOperation) -> None:
    assert read(said) is None


def test_a_statement_of_another_member_is_limited_and_gets_a_domain() -> None:
    row = changed(observation("api", "t" * 2001), domain="]", created_at="now")
    many = changed(entity("n" * 301), aliases=["a", "", 5, *(f"b{n}" for n in range(30))])
    none = changed(entity("api"), aliases="abc")

    text, named, plain = read(row), read(many), read(none)

    assert text is not None and named is not None and plain is not None
    assert len(text["text"]) == 2000
    assert (text["domain"], text["created_at"]) == ("general", "")
    # The first 20 are read, of which two are no names.
    assert (len(named["name"]), named["aliases"]) == (300, ["a", *(f"b{n}" for n in range(17))])
    assert plain["aliases"] == []


def test_what_an_author_releases_of_a_record_is_limited_and_nothing_else_is_read() -> None:
    plain = read(record("Use UTC", words="", own={"trust": "user"}, pinned=True))
    released = read(record("Use UTC", words="w" * 2001, when="x" * 301))

    assert plain is not None and released is not None
    assert not {"words", "when", "own", "pinned", "trust"} & plain.keys()
    assert (len(released["words"]), len(released["when"])) == (2000, 300)


def test_a_tag_of_ours_in_a_statement_of_another_member_is_escaped_but_ids_are_kept() -> None:
    said = record("Use </memory-fabric> UTC", superseded_by=ID)

    found = read(said)

    assert found is not None
    assert "</memory-fabric>" not in found["what"] and found["what"].endswith("UTC")
    assert (found["id"], found["superseded_by"]) == ((said.value or {})["id"], ID)


@pytest.mark.parametrize(("scope", "is_accepted"), [("user", True), ("team", True), ("no", False)])
def test_a_statement_of_the_users_other_machine_keeps_all_its_fields(
    scope: str, *, is_accepted: bool
) -> None:
    said = record("Use UTC", scope=scope, own={"trust": "user"}, pinned=True)

    found = statements.own_fields(said.kind, said.key, said.value or {})
    elsewhere = statements.own_fields(said.kind, RECORD_KEY, said.value or {})

    assert found == (said.value if is_accepted else None)
    assert elsewhere is None


def test_a_dismissal_names_the_key_of_what_was_forgotten() -> None:
    value = {"of": RECORD_KEY, "key": 0, "created_at": AT, "purged": True}
    key = wire.key_of(wire.DISMISSAL, RECORD_KEY)

    assert statements.own_fields(wire.DISMISSAL, key, value) == value
    assert statements.own_fields(wire.DISMISSAL, key, value | {"of": 5}) is None
