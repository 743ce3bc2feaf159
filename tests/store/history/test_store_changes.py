"""The log of operations: their order, their ids, their entities and records, and their undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import NotFound
from memory_fabric.models import STAGED, Provenance
from memory_fabric.store.history import changes, undo
from memory_fabric.store.history.changes import LEARN, MAX_PHRASE_CHARS, MIN_ID_CHARS, Change
from memory_fabric.store.memory import Memory
from store.support import TOOL, World, create, entity

BY = Provenance("cli", trust="user", session="s2")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def change(id_: str, seq: int = 1, at: str = "", store: str = "project", **more: Any) -> Change:
    given: dict[str, Any] = {"kind": "forget", "payload": {}, "inverse": (), **more}
    return Change(id=id_, by={"at": at}, store=store, seq=seq, undone=False, **given)


def step(kind: str, **payload: Any) -> dict[str, Any]:
    return {"kind": kind, "payload": payload}


def test_changes_are_sorted_by_time_but_keep_the_order_of_each_log() -> None:
    first, late = change("a", 1, "3"), change("b", 2, "1")
    user = change("c", 1, "2", "user")

    assert [one.id for one in changes.newest_first([first, late, user])] == ["c", "b", "a"]
    assert changes.newest_first([]) == []


def test_a_change_settles_a_note_only_if_the_note_was_staged_before() -> None:
    staged = step("put_record", record={"id": "r1", "evidence": {STAGED: "2026"}})
    plain = step("put_record", record={"id": "r1"})

    assert change("a", kind="put_record", inverse=(staged,)).settles
    assert not change("a", kind="put_record", inverse=(plain,)).settles
    assert not change("a", kind="forget", inverse=(staged,)).settles
    assert not change("a", kind="put_record").settles


def test_the_entities_and_records_of_a_change_are_each_listed_once() -> None:
    payload = {
        "entities": [{"name": "a"}, {"name": "b"}],
        "relations": [{"from": "b", "to": "c", "relationType": "x"}],
        "entityNames": ["d", 3],
        "into": "e",
        "record": {
            "id": "r1",
            "entities": [["f", "t"], []],
            "relations": [["g", "u", "h"]],
            "source": "prompt",
        },
        "rows": {"relations": [{"source": "i", "target": "j", "type": "x"}]},
        "ids": ["r2", "r1"],
        "links": [{"id": "r3", "by": "r4"}],
    }
    one = change("a", payload=payload, inverse=(step("forget", ids=["r5"], name="k"),))

    assert sorted(changes.entity_names(one)) == list("abcdefghijk")
    assert changes.record_ids(one) == ["r1", "r2", "r3", "r4", "r5"]
    assert changes.record_ids(change("a")) == changes.entity_names(change("a")) == []


def test_a_change_is_attributed_to_its_author_agent_and_source_as_far_as_known() -> None:
    by = {"source": "mcp", "author": "ann", "agent": "tester", "trust": "tool"}

    assert changes.who(by) == "ann tester mcp"
    assert changes.who({"source": "mcp", "author": "", "agent": ""}) == "mcp"


def test_an_undo_is_described_by_what_it_undid_or_redid() -> None:
    known = {
        "a": change("a", kind="delete_entities", payload={"entityNames": []}),
        "b": change("b", kind="undo", payload={"operation": "a"}),
        "c": change("c", kind="undo", payload={"operation": "b"}),
        "d": change("d", kind="undo", payload={"operation": "gone"}),
        "e": change("e", kind="of a later release"),
    }
    said = {id_: changes.summary(one, known.get) for id_, one in known.items()}

    assert said["b"] == f"undid: {said['a']}" and said["c"] == f"redid: {said['a']}"
    assert "undid" not in said["a"] and not said["d"].startswith("undid: ")
    assert said["e"] == "of a later release"
    long = change("f", kind="x" * (MAX_PHRASE_CHARS + 1))
    assert len(changes.summary(long, known.get)) <= MAX_PHRASE_CHARS


def test_a_change_is_found_by_at_least_four_characters_of_its_id_in_any_case(
    memory: Memory,
) -> None:
    create(memory, entity("one"))
    id_ = undo.last(memory).id

    assert changes.by_id(memory, f" {id_[-MIN_ID_CHARS:].upper()}\n").id == id_
    with pytest.raises(NotFound):
        changes.by_id(memory, id_[1 - MIN_ID_CHARS :])
    found = changes.find(memory, "project", id_)
    assert found is not None and (found.id, found.undone) == (id_, False)
    assert changes.find(memory, "project", "none") is changes.find(memory, "user", id_) is None


def test_the_changes_of_a_batch_are_undone_together_and_the_undo_as_one_batch(
    memory: Memory,
) -> None:
    create(memory, entity("before"))
    memory.batch = "b1"
    create(memory, entity("one"))
    create(memory, entity("mine"), store="user")
    memory.batch = ""
    third, second, first = changes.read_all(memory)

    assert [one.id for one in changes.together(memory, first)] == [first.id]
    assert [one.id for one in changes.together(memory, second)] == [third.id, second.id]
    assert undo.of_step(memory, "b1") == changes.together(memory, second)
    done = undo.undo(memory, changes.together(memory, second), BY)
    undos = changes.read_all(memory, "kind = 'undo'")
    assert len({one.payload["batch"] for one in undos}) == 1
    again = changes.by_id(memory, second.id)
    assert changes.together(memory, again) == [again]
    with pytest.raises(NotFound, match="undone already"):
        undo.of_step(memory, "b1")
    undo.undo(memory, changes.together(memory, changes.by_id(memory, done[0].by)), BY)
    assert [one.undone for one in changes.of_batch(memory, "b1")] == [False, False]


def test_a_change_named_by_the_user_in_a_run_of_learn_is_undone_alone(memory: Memory) -> None:
    memory.write(LEARN, {"batch": "run"}, BY, store="project")
    memory.batch = "run"
    create(memory, entity("one"))
    create(memory, entity("two"))
    [second, first, begun] = changes.read_all(memory)

    assert changes.together(memory, second) == [second, first, begun]
    assert changes.together(memory, second, is_named=True) == [second]
    assert changes.together(memory, begun, is_named=True) == [second, first, begun]


def test_an_undone_change_counts_as_such_until_its_undo_is_undone(memory: Memory) -> None:
    create(memory, entity("one"))
    (done,) = undo.undo(memory, [undo.last(memory)], BY)
    once = changes.read_all(memory)
    undo.undo(memory, [changes.by_id(memory, done.by)], BY)
    twice = changes.read_all(memory)

    assert [one.undone for one in once] == [False, True]
    assert [one.undone for one in twice] == [False, True, False]


def test_changes_without_an_effect_or_already_purged_cannot_be_undone() -> None:
    inverse = (step("forget", ids=[]),)

    assert undo.prospect(change("a", inverse=inverse)) == ""
    assert undo.prospect(change("a")) == "it changed nothing"
    assert "turn" in undo.prospect(change("a", payload={"turns": ["u1"]}))
    assert "purged" in undo.prospect(change("a", kind="purged", inverse=inverse))
    assert "already" in undo.prospect(change("a", inverse=inverse)._replace(undone=True))


def test_the_last_change_and_all_changes_of_a_session_omit_those_of_other_sessions(
    memory: Memory,
) -> None:
    create(memory, entity("one"))
    other = TOOL._replace(session="other")
    memory.write("create_entities", {"entities": [entity("two")]}, other, store="project")
    (done,) = undo.undo(memory, [undo.last(memory, "s1")], BY._replace(session="s1", domain="x"))

    [made] = undo.of_session(memory, "s1")
    assert made.payload["entities"][0]["name"] == "one"
    with pytest.raises(NotFound):
        undo.last(memory, "s1")
    assert undo.last(memory).by["session"] == "other"
    assert changes.by_id(memory, done.by).by["domain"] == "general"
