"""Kinds of operations: which payloads fit, and the phrase that describes a change to people."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.models import CONFIRMED
from memory_fabric.store.operations import kind, kinds
from memory_fabric.store.operations.kind import step
from store.support import entity, relation

OLD, NEW = "0198a1b2-c3d4-7e5f-8a9b-0000aaaaaaaa", "0198a1b2-c3d4-7e5f-8a9b-0000bbbbbbbb"
FOUND = {"type": "decision", "what": "Use Redis", "id": OLD, "scope": "team", "status": "active"}
PHRASE = "decision aaaaaaaa: Use Redis"


@pytest.mark.parametrize(
    ("value", "shape", "fits"),
    [
        (1, int, True),
        (True, int, False),
        (True, bool, True),
        ("x", str, True),
        (None, str, False),
        (["x", "y"], [str], True),
        (("x",), [str], True),
        ([], [str], True),
        (["x", 1], [str], False),
        ("xy", [str], False),
        ({"a": "x", "b": 1}, {"a": str}, True),
        ({"a": 1}, {"a": str}, False),
        ({}, {"a": str}, False),
        ([], {"a": str}, False),
        ({}, kind.options(a=str), True),
        ({"a": "x"}, kind.options(a=str), True),
        ({"a": 1}, kind.options(a=str), False),
    ],
)
def test_a_value_fits_only_the_shape_of_its_type_and_fields(
    value: Any, shape: Any, fits: bool
) -> None:
    assert kind.fits(value, shape) is fits


def test_an_invalid_payload_has_a_reason_and_a_valid_one_has_none() -> None:
    assert kinds.problem("forget", {"ids": ["x"], "bury": None}) == ""
    assert kinds.problem("forget", {}) == "forget: 'ids' is missing or has the wrong type."
    assert "'bury'" in kinds.problem("forget", {"ids": [], "bury": 1})
    assert kinds.problem("none", {}) == "'none' is not a known kind of operation."


@pytest.mark.parametrize(
    "row", [("x", 1, "2026"), ["x", True, "2026"], ["x", 1, 2], ["x", 1], "x12", [1, 1, "2026"]]
)
def test_a_tombstone_row_has_an_id_a_number_and_a_time(row: Any) -> None:
    is_whole = row == ("x", 1, "2026")

    for payload in ({"add": [row], "remove": []}, {"add": [], "remove": [row]}):
        assert (kinds.problem("tombstones", payload) == "") is is_whole


@pytest.mark.parametrize(
    ("made", "is_valid"),
    [
        (step("forget", ids=["x"]), True),
        (step("forget", ids="x"), False),
        (step("none"), False),
        ({"kind": "forget"}, False),
        (step("undo", operation="x", steps=[]), False),
        (step("add_episodes", episodes=[]), False),
    ],
)
def test_an_undo_consists_of_logged_operations_other_than_undos(made: Any, is_valid: bool) -> None:
    payload = {"operation": "x", "steps": [made]}

    assert (kinds.problem("undo", payload) == "") is is_valid


Operation = tuple[str, dict[str, Any], list[dict[str, Any]]]


def op(name: str, *inverse: dict[str, Any], **payload: Any) -> Operation:
    return name, payload, [*inverse]


FORMER = step("put_record", record=FOUND, seen_in=[], rows=None)


def put(**changed: Any) -> Operation:
    """Return an operation that changes these fields of a record."""
    return op("put_record", FORMER, record={**FOUND, **changed})


def remember(*inverse: dict[str, Any], **changed: Any) -> Operation:
    return op("remember", *inverse, record={**FOUND, **changed})


def supersede(*links: tuple[str, str]) -> Operation:
    return op("supersede", links=[{"id": id_, "at": at} for id_, at in links])


@pytest.mark.parametrize(
    ("operation", "phrase"),
    [
        (put(what="Use Valkey"), "reworded decision aaaaaaaa: Use Valkey; before: Use Redis"),
        (put(pinned=True), f"pinned {PHRASE}"),
        (put(superseded_by=NEW), f"superseded {PHRASE} by bbbbbbbb"),
        (put(why="fast", status="candidate"), f"changed status, why of {PHRASE}"),
        (put(evidence={CONFIRMED: "2026"}), f"kept {PHRASE}"),
        (put(evidence={CONFIRMED: "2026"}, trust="user"), f"kept {PHRASE}"),
        (put(evidence={CONFIRMED: "2026"}, why="fast"), f"changed why of {PHRASE}"),
        (put(evidence={CONFIRMED: "2026", "file": "x"}), f"changed evidence of {PHRASE}"),
        (put(trust="user"), f"changed trust of {PHRASE}"),
        (put(), f"changed nothing of {PHRASE}"),
        (op("put_record", record=FOUND), f"stored {PHRASE}"),
        (
            op("put_record", record=FOUND, moved_from="user"),
            f"moved from scope user to team: {PHRASE}",
        ),
        (supersede((OLD, "2026")), "closed aaaaaaaa"),
        (supersede((OLD, "")), "opened aaaaaaaa again"),
        (supersede((OLD, "2026"), (NEW, "")), "opened bbbbbbbb again; closed aaaaaaaa"),
        (remember(), f"did not store {PHRASE}: it was forgotten before"),
        (remember(step("forget", ids=[OLD])), f"remembered {PHRASE}"),
        (remember(FORMER, id=NEW), f"strengthened {PHRASE}"),
        (remember(FORMER), f"strengthened {PHRASE}"),
        (remember(step("put_record", record={**FOUND, "status": "candidate"})), f"kept {PHRASE}"),
        (
            remember(step("supersede", links=[{"id": OLD}]), step("forget", ids=[NEW]), id=NEW),
            "remembered decision bbbbbbbb: Use Redis, in place of aaaaaaaa",
        ),
        (op("forget", ids=[NEW]), "forgot bbbbbbbb"),
        (op("forget", ids=[]), "forgot nothing"),
        (op("forget", FORMER, ids=[OLD], moved_to="user"), f"moved to scope user: {PHRASE}"),
        (
            op(
                "forget",
                FORMER,
                ids=[OLD],
                entityNames=["Redis"],
                deletions=[{"entityName": "api", "observations": ["x", "y"]}],
                turns=["t"],
            ),
            f"forgot {PHRASE}; Redis; 2 observations of api; 1 turn",
        ),
        (
            op(
                "delete_entities",
                step("restore", observations=[1, 2], relations=[3]),
                entityNames=["a", "b"],
            ),
            "deleted a, b with 2 observations and 1 relation",
        ),
        (op("delete_observations", deletions=[]), "deleted nothing"),
        (
            op("restore", entities=[{"name": "a"}], observations=[{"entity": "b"}] * 2),
            "put back a, b",
        ),
        (op("restore", entities=[], observations=[]), "put back nothing"),
        (
            op("remove_orphans", step("restore", entities=[{"name": "a"}])),
            "removed entities without observations and relations: a",
        ),
        (op("merge", into="a", names=list("bcdefg")), "merged b, c, d, e and 2 more into a"),
        (op("alias", entity="a", aliases=["b"]), "a is also called b"),
        (op("unalias", entity="a", aliases=["b"]), "a is no longer called b"),
        (
            op("create_relations", relations=[relation("a", "uses", "b")] * 2),
            "related a uses b; a uses b",
        ),
        (op("create_entities", entities=[entity("a"), entity("b")]), "nothing new about a, b"),
        (op("ingested", id=OLD, outcome={}), "processed the text aaaaaaaa: 0 records"),
        (
            op("ingest", ingest={"session_summary": "", "key_decisions": ["x", "y"]}),
            "ingested a text of another program: x, y",
        ),
        (op("tombstones", add=[1]), "set 1 tombstone"),
        (op("learn", batch="x"), "read past sessions in"),
    ],
)
def test_a_change_is_described_by_its_content_and_by_what_was_before(
    operation: Operation, phrase: str
) -> None:
    name, payload, inverse = operation

    assert kinds.KINDS[name].describe(payload, inverse) == phrase
