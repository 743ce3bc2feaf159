"""The content that a purge removes from an operation, a line or a JSON value, and the rest."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.store.forget import scrub_log
from memory_fabric.store.forget.scrub_log import PurgeTarget, without
from memory_fabric.store.forget.spellings import MARK, Needle, Sought
from memory_fabric.store.operations import tombstones

TARGET = PurgeTarget(
    ids=frozenset(["r1"]),
    names=frozenset(["Ann"]),
    said=frozenset([("Bob", "is tall")]),
    texts=("likes green tea",),
    kept=frozenset(["He likes green tea"]),
    alive=frozenset(["r2"]),
    words=("secret plan",),
)
PLAN = "the secret plan"


def edge(source: str, target: str, kind: str = "knows") -> dict[str, str]:
    return {"from": source, "to": target, "relationType": kind}


def link(id_: str, by: str, was: str = "") -> dict[str, Any]:
    return {"id": id_, "by": by, "was": {"by": was}}


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        (
            "entities",
            [
                {"name": "Ann", "observations": ["is away"]},
                {"name": "Bob", "observations": ["is tall", "sings"], "aliases": [["k", PLAN]]},
                {"name": "Eve", "aliases": [["k", "Evelyn"], ["k", "Ann"]]},
            ],
            [
                {"name": "Bob", "observations": ["sings"], "aliases": []},
                {"name": "Eve", "aliases": [["k", "Evelyn"]]},
            ],
        ),
        (
            "observations",
            [
                {"entity": "Bob", "text": "is tall"},
                {"entity": "Eve", "text": "is tall"},
                {"entityName": "Bob", "contents": ["is tall"]},
                {"entityName": "Bob", "contents": ["sings", "is tall"]},
                {"entityName": "Bob", "contents": []},
                {"entityName": "Ann", "contents": []},
            ],
            [
                {"entity": "Eve", "text": "is tall"},
                {"entityName": "Bob", "contents": ["sings"]},
                {"entityName": "Bob", "contents": []},
            ],
        ),
        (
            "deletions",
            [{"entityName": name, "observations": ["is tall", "sings"]} for name in ("Ann", "Bob")],
            [{"entityName": "Bob", "observations": ["sings"]}],
        ),
        (
            "relations",
            [edge("Ann", "Bob"), edge("Bob", "Ann"), edge("Bob", "Eve", PLAN), edge("Bob", "Eve")],
            [edge("Bob", "Eve")],
        ),
        ("entityNames", ["Ann", "Bob", PLAN], ["Bob"]),
        ("names", ["Ann", "Bob"], ["Bob"]),
        ("aliases", ["Ann", "Bob"], ["Bob"]),
        ("ids", ["r1", "r2"], ["r2"]),
        (
            "links",
            [link("r1", ""), link("r2", "r1"), link("r2", "", "r1"), link("r2", "r3", "r4")],
            [link("r2", "r3", "r4")],
        ),
        (
            "remove",
            [["r1", 0, ""], [tombstones.of_entity("Ann"), 0, ""], ["r2", 0, ""]],
            [["r2", 0, ""]],
        ),
        (
            "groups",
            [
                {"in": {"entities": [{"name": "Ann"}]}, "out": {"entities": []}},
                {"in": {"entities": [{"name": "Bob"}], "relations": []}, "out": {"notes": []}},
            ],
            [{"in": {"entities": [{"name": "Bob"}], "relations": []}, "out": {"notes": []}}],
        ),
        (
            "steps",
            [
                {"kind": "forget", "payload": {"ids": ["r1"]}},
                {"kind": "forget", "payload": {"ids": ["r1", "r2"]}},
            ],
            [{"kind": "forget", "payload": {"ids": ["r2"]}}],
        ),
        (
            "record",
            {
                "id": "r2",
                "what": "He likes green tea",
                "evidence": {"quotation": f"It is {PLAN}."},
                "entities": [["Ann", "person"], ["Bob", "person"]],
                "relations": [["Bob", "knows", "Ann"], ["Ann", "is", "x"], ["Bob", "Ann", "Eve"]],
            },
            {
                "id": "r2",
                "what": "He likes green tea",
                "evidence": {"quotation": f"It is the {MARK}."},
                "entities": [["Bob", "person"]],
                "relations": [["Bob", "Ann", "Eve"]],
            },
        ),
    ],
)
def test_purged_content_is_removed_from_each_field_of_an_operation(
    field: str, before: Any, after: Any
) -> None:
    assert without("any", {field: before}, TARGET) == {field: after}


@pytest.mark.parametrize(
    "payload",
    [
        {"ids": ["r2"], "supersedes": ["r3"], "record": None, "batch": "b"},
        {"entity": "Bob", "aliases": ["Bobby"]},
        {"ingest": {"session_summary": "We use Redis", "key_decisions": ["Use it"]}},
        {"record": {"id": "r2", "type": "decision", "what": "Use Redis", "entities": "none"}},
        {"add": [["r1", 0, ""]], "remove": []},
    ],
)
def test_an_operation_without_purged_content_is_returned_as_it_is(payload: dict[str, Any]) -> None:
    assert without("any", payload, TARGET) is payload


@pytest.mark.parametrize(
    "payload",
    [
        {"ids": ["r1"], "batch": "b"},
        {"entity": "Ann", "aliases": ["Bobby"]},
        {"into": "Ann", "names": ["Bobby"]},
        {"record": {"id": "r1", "what": "Use Redis"}, "ids": ["r2"]},
        {"record": {"id": "r3", "what": "He likes green tea"}},
        {"record": {"id": "r3", "what": "x", "why": "likes green tea"}},
        {"record": {"id": "r2", "what": "x", "alternatives": [PLAN]}},
        {"ingest": {"session_summary": f"It is {PLAN}"}},
        {"ingest": {"session_summary": "x", "key_decisions": ["y", PLAN]}},
    ],
)
def test_an_operation_is_removed_as_a_whole_if_nothing_else_is_left_of_it(
    payload: dict[str, Any],
) -> None:
    assert without("any", payload, TARGET) is None
    line = {"id": "o1", "kind": "any", "payload": payload}
    purged = {"id": "o1", "kind": "purged", "payload": {}}
    assert scrub_log.line_without(line, TARGET) == purged


def test_a_line_is_changed_only_where_it_has_purged_content() -> None:
    left = {"kind": "forget", "payload": {"ids": ["r2"]}}
    odd = {"payload": {"ids": ["r1"]}, "text": f"see {PLAN}"}

    assert scrub_log.line_without(left, TARGET) is left
    partly = {"kind": "forget", "payload": {"ids": ["r1", "r2"]}, "id": "o1"}
    assert scrub_log.line_without(partly, TARGET) == {**left, "id": "o1"}
    assert scrub_log.line_without(odd, TARGET) == {**odd, "text": f"see the {MARK}"}


def test_an_observation_is_purged_by_name_by_statement_or_by_text_unless_it_is_kept() -> None:
    purged = [("Ann", "x"), ("Bob", "is tall"), ("Eve", "Likes  green tea"), ("Eve", PLAN)]
    kept = [("Eve", "is tall"), ("Eve", "He likes green tea"), ("Bob", "likes tea")]

    assert [pair for pair in (*purged, *kept) if TARGET.is_said(*pair)] == purged


def test_a_record_is_stated_by_purged_words_only_in_a_main_field_and_outside_sessions() -> None:
    fields = ("what", "why", "alternatives", "constraints", "tradeoffs", "category")
    stated = [name for name in fields if TARGET.is_stated_by({"type": "note", name: [PLAN]})]

    assert stated == [*fields[:-1]]
    assert not TARGET.is_stated_by({"type": "session", "what": PLAN})
    assert not PurgeTarget(texts=(PLAN,)).is_stated_by({"type": "note", "what": PLAN})


def test_a_line_with_a_purged_id_tombstone_or_word_is_not_skipped() -> None:
    for text in ('{"id": "r1"}', tombstones.of_observation("Bob", "is tall"), "secret plans"):
        assert TARGET.may_concern(text)
    assert not TARGET.may_concern("{}")


SOUGHT = Sought((Needle("correct horse", whole=True),))


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (["a correct", "horse b", "c"], [MARK, MARK, "c"]),
        (["x", "correct", "horse"], ["x", MARK, MARK]),
        (["correct", 1, "horse"], ["correct", 1, "horse"]),
        (["correct horse"], [MARK]),
        ({"correct horse": [{"a": "correct horse!"}]}, {MARK: [{"a": f"{MARK}!"}]}),
        ({"a": ["b", 3, None]}, {"a": ["b", 3, None]}),
    ],
)
def test_words_are_replaced_in_texts_and_keys_and_across_the_items_of_a_list(
    value: Any, left: Any
) -> None:
    assert scrub_log.marked(value, SOUGHT) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no horse", "no horse"),
        ("a correct horse", f"a {MARK}"),
        ('{"é": "correct horse"}', f'{{"é": "{MARK}"}}'),
        ('["correct horse", 1]', f'["{MARK}", 1]'),
        ('{"torn": "correct horse', f'{{"torn": "{MARK}'),
        ('["correct", "horse", 1]', "[]"),
        ('{"a": ["correct", "horse", 1]}', "{}"),
    ],
)
def test_words_are_replaced_in_a_text_and_in_the_values_of_its_json(text: str, left: str) -> None:
    assert scrub_log.marked_json(text, SOUGHT) == left
