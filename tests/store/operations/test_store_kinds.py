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


def test_a_stored_inverse_is_read_back_even_if_it_cannot_be_derived() -> None:
    steps = [step("remove_orphans", entityNames=["x"])]

    text = kinds.stored_inverse("create_entities", {"entities": []}, steps)

    assert text != kinds.FOLLOWS
    assert kinds.read_inverse("create_entities", {"entities": []}, text) == steps


def put(**changed: Any) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """Return an operation that changes these fields of a record."""
    former: dict[str, Any] = {"record": FOUND, "seen_in": [], "rows": None}
    return "put_record", {"record": {**FOUND, **changed}}, [step("put_record", **former)]


def links(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"links": [{"id": id_, "at": at} for id_, at in pairs]}


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
        (("put_record", {"record": FOUND}, []), f"stored {PHRASE}"),
        (
            ("put_record", {"record": FOUND, "moved_from": "user"}, []),
            f"moved from scope user to team: {PHRASE}",
        ),
        (("supersede", links((OLD, "2026")), []), "closed aaaaaaaa"),
        (("supersede", links((OLD, "")), []), "opened aaaaaaaa again"),
        (
            ("supersede", links((OLD, "2026"), (NEW, "")), []),
            "opened bbbbbbbb again; closed aaaaaaaa",
        ),
        (("remember", {"record": FOUND}, []), f"did not store {PHRASE}: it was forgotten before"),
        (("remember", {"record": FOUND}, [step("forget", ids=[OLD])]), f"remembered {PHRASE}"),
        (
            ("remember", {"record": {**FOUND, "id": NEW}}, put()[2]),
            f"strengthened {PHRASE}",
        ),
        (("remember", {"record": FOUND}, put()[2]), f"strengthened {PHRASE}"),
        (
            (
                "remember",
                {"record": FOUND},
                [step("put_record", record={**FOUND, "status": "candidate"})],
            ),
            f"kept {PHRASE}",
        ),
        (
            (
                "remember",
                {"record": {**FOUND, "id": NEW}},
                [step("supersede", links=[{"id": OLD}]), step("forget", ids=[NEW])],
            ),
            "remembered decision bbbbbbbb: Use Redis, in place of aaaaaaaa",
        ),
        (("forget", {"ids": [NEW]}, []), "forgot bbbbbbbb"),
        (("forget", {"ids": []}, []), "forgot nothing"),
        (
            ("forget", {"ids": [OLD], "moved_to": "user"}, put()[2]),
            f"moved to scope user: {PHRASE}",
        ),
        (
            (
                "forget",
                {
                    "ids": [OLD],
                    "entityNames": ["Redis"],
                    "deletions": [{"entityName": "api", "observations": ["x", "y"]}],
                    "turns": ["t"],
                },
                put()[2],
            ),
            f"forgot {PHRASE}; Redis; 2 observations of api; 1 turn",
        ),
        (
            (
                "delete_entities",
                {"entityNames": ["a", "b"]},
                [step("restore", observations=[1, 2], relations=[3])],
            ),
            "deleted a, b with 2 observations and 1 relation",
        ),
        (("delete_observations", {"deletions": []}, []), "deleted nothing"),
        (
            ("restore", {"entities": [{"name": "a"}], "observations": [{"entity": "b"}] * 2}, []),
            "put back a, b",
        ),
        (("restore", {"entities": [], "observations": []}, []), "put back nothing"),
        (
            ("remove_orphans", {}, [step("restore", entities=[{"name": "a"}])]),
            "removed entities without observations and relations: a",
        ),
        (
            ("merge", {"into": "a", "names": list("bcdefg")}, []),
            "merged b, c, d, e and 2 more into a",
        ),
        (("alias", {"entity": "a", "aliases": ["b"]}, []), "a is also called b"),
        (("unalias", {"entity": "a", "aliases": ["b"]}, []), "a is no longer called b"),
        (
            ("create_relations", {"relations": [relation("a", "uses", "b")] * 2}, []),
            "related a uses b; a uses b",
        ),
        (
            ("create_entities", {"entities": [entity("a"), entity("b")]}, []),
            "nothing new about a, b",
        ),
        (("ingested", {"id": OLD, "outcome": {}}, []), "processed the text aaaaaaaa: 0 records"),
        (
            ("ingest", {"ingest": {"session_summary": "", "key_decisions": ["x", "y"]}}, []),
            "ingested a text of another program: x, y",
        ),
        (("tombstones", {"add": [1]}, []), "set 1 tombstone"),
        (("learn", {"batch": "x"}, []), "read past sessions in"),
    ],
)
def test_a_change_is_described_by_its_content_and_by_what_was_before(
    operation: tuple[str, dict[str, Any], list[dict[str, Any]]], phrase: str
) -> None:
    name, payload, inverse = operation

    assert kinds.KINDS[name].describe(payload, inverse) == phrase
