"""Records as JSON and as rows: nothing is lost on the way, and what is wrong gets a default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric import models
from memory_fabric.models import Entity, Record, Relation
from memory_fabric.store import records
from memory_fabric.store.database import Database
from memory_fabric.store.memory import Memory
from store.support import USER, World, database, decision, pagination


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def put(memory: Memory, *some: Record, sessions: tuple[str, ...] = ("s1",)) -> Database:
    db = database(memory)
    with db.transaction() as c:
        for record in some:
            records.put(c, record, list(sessions))
    return db


def made(id_: str, what: str = "", **fields: Any) -> Record:
    given = {"id": id_, "created_at": "2026-01", "type": "decision", **fields}
    return Record(what=what or f"Use library {id_}", **given)


def test_a_record_is_read_from_json_and_from_its_row_as_it_was_written(memory: Memory) -> None:
    record = pagination(
        id="r1", pinned=True, generalizable=True, alternatives=("offsets",), evidence={"n": [1]}
    )
    db = put(memory, record, sessions=("s1", "s2"))

    assert records.from_object(records.as_object(record)) == record
    assert records.find(db.connection, "id = ?", ("r1",)) == [(record, ["s1", "s2"])]
    stored = records.as_object(record)
    assert stored["entities"][0] == ["cursor-pagination", "pattern"]
    assert stored["relations"] == [["billing", "chose", "cursor-pagination"]]


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [(0, 0.0), (1, 1.0), (0.4, 0.4), (1.01, 0.5), (-0.01, 0.5), ("0.9", 0.5), (None, 0.5)],
)
def test_a_confidence_that_is_no_share_gets_the_default(confidence: Any, expected: float) -> None:
    read = records.from_object({"type": "note", "what": "x", "confidence": confidence})

    assert read.confidence == expected


def test_fields_of_a_wrong_kind_get_defaults_and_a_record_without_a_text_is_refused() -> None:
    wrong: dict[str, Any] = {"alternatives": "offsets", "evidence": ["x"], "why": 3, "pinned": 1}
    wrong |= {"entities": "text", "relations": [["a", "b"], ["a", "uses", "b"], "abc"]}
    right = {"tradeoffs": ["a", 1], "entities": [["a", "t"], ["b"], "ab"], "pinned": 0}

    read = records.from_object({"type": "note", "what": "x", **wrong})
    other = records.from_object({"type": "note", "what": "x", **right})

    assert (read.alternatives, read.evidence, read.why, read.pinned) == ((), {}, "", True)
    assert (read.entities, read.relations) == ((), (Relation("a", "uses", "b"),))
    assert (other.tradeoffs, other.pinned) == (("a", "1"), False)
    assert other.entities == (Entity("a", "t"),)
    for missing in ({"type": "note"}, {"what": "x"}):
        with pytest.raises(KeyError):
            records.from_object(missing)


def test_long_texts_that_differ_only_at_their_end_have_different_keys() -> None:
    long = "a" * records.MAX_KEY_CHARS

    keys = {records.key_of(long + end) for end in ("", " bcd", " bce")}

    assert len(keys) == 3 and max(map(len, keys)) < 2 * len(long)
    assert records.key_of("Use THE cursors!") == records.key_of("use the cursor")


def test_texts_that_differ_only_in_case_spaces_and_a_full_stop_are_the_same() -> None:
    assert records.have_same_text(decision("Use Redis."), decision("use  redis"))
    assert not records.have_same_text(decision("Use Redis"), decision("Use Redis again"))


def test_a_record_counts_as_stated_once_even_without_a_session(memory: Memory) -> None:
    put(memory, made("r1"), sessions=())
    db = put(memory, made("r2"), sessions=("s1", "s2"))

    assert records.sightings_of([db], ["r1", "r2", "unknown"]) == {"r1": 1, "r2": 2}
    assert records.sightings_of([db], []) == {}


def test_records_are_found_newest_first_up_to_a_limit_and_by_many_values(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [made("r1"), made("r2", created_at="2026-03"), made("r3")]
    db = put(memory, *some)

    found = [record.id for record, _ in records.find(db.connection, "1", ())]
    limited = [record.id for record, _ in records.find(db.connection, "1", (), 1)]
    monkeypatch.setattr(records, "CHUNK", 2)
    among = {record.id for record in records.among(db, "id", ["r1", "r2", "r3", "r4"])}

    assert (found, limited) == (["r2", "r3", "r1"], ["r2"])
    assert among == {"r1", "r2", "r3"}


def test_a_record_is_put_again_in_place_of_its_former_state(memory: Memory) -> None:
    put(memory, made("r1", "Use Redis", entities=(Entity("Redis", "technology"),)))
    db = put(memory, made("r1", "Use Valkey", status="candidate"), sessions=("s1", "s2"))

    assert records.about(db, '"redis"', ["decision"], 9, candidates=True) == []
    [(found, seen_in)] = records.find(db.connection, "1", ())
    assert (found.what, found.status, seen_in) == ("Use Valkey", "candidate", ["s1", "s2"])


def test_records_of_the_user_about_a_word_precede_those_of_others(
    memory: Memory,
) -> None:
    db = put(
        memory,
        made("r1", "Use Redis for carts"),
        made("r2", "Use Redis"),
        made("r3", "Redis it is", type="note"),
        made("r4", "Redis may be slow", status="candidate"),
        made("r5", "Redis is gone", valid_to="2026-02"),
    )

    def found(limit: int, *types: str, candidates: bool = False) -> list[str]:
        about = records.about(db, '"redis"', types, limit, candidates=candidates)
        return [record.id for record in about]

    assert found(9, "decision") == ["r2", "r1"]
    assert found(1, "decision") == ["r2"]
    assert set(found(9, "decision", "note", candidates=True)) == {"r1", "r2", "r3", "r4"}
    put(memory, made("r6", "Others use Redis", source=models.OTHERS))
    assert found(9, "decision") == ["r2", "r1"]
    with db.transaction() as c:
        c.execute("INSERT INTO meta VALUES (?, '')", (models.HAS_OTHERS,))
    assert found(1, "decision") == ["r2", "r6"]


def test_a_record_is_found_by_its_alternatives_and_by_words_and_errors_in_its_evidence(
    memory: Memory,
) -> None:
    evidence = {"also": "berths", "error": "ECONNRESET", "symptom": "stalls", "other": "nothing"}
    db = put(memory, made("r1", alternatives=("offsets",), evidence=evidence))

    for word, is_found in {
        "offsets": True,
        "berths": True,
        "econnreset": True,
        "stalls": True,
        "nothing": False,
    }.items():
        assert bool(records.about(db, f'"{word}"', ["decision"], 9)) == is_found, word


def test_the_newest_fixes_of_each_database_are_returned_with_their_error_and_entities(
    memory: Memory,
) -> None:
    user = database(memory, "user")
    fix: dict[str, Any] = {"type": "solution", "trust": "user", "session": "s1"}
    shown = made("f1", "Clear the cache", evidence={"error": "x"}, **fix)
    shown = shown._replace(entities=(Entity("Redis", "technology"),))
    local = made("f3", scope="local", **fix)
    db = put(memory, shown, made("f2", **fix), local, made("r1"), made("f4", valid_to="1", **fix))

    found = records.newest_fixes([db, user], "s2", 9)

    assert [one.id for one in found] == ["f2", "f1"]
    assert found[1] == Record(
        "solution",
        "Clear the cache",
        id="f1",
        trust="user",
        session="s1",
        created_at="2026-01",
        evidence={"error": "x"},
        entities=shown.entities,
    )
    assert [one.id for one in records.newest_fixes([db], "s1", 2)] == ["f3", "f2"]


def test_records_that_contradict_one_of_several_are_selected(memory: Memory) -> None:
    db = put(
        memory,
        made("r1"),
        made("r2", evidence={models.CONTRADICTS: ["r1"]}),
        made("r3", evidence={models.CONTRADICTS: ["r9"]}),
        made("r4", evidence={models.CONTRADICTS: ["r1"]}, scope="local"),
        made("r5", evidence={models.CONTRADICTS: ["r1"]}, superseded_by="r2"),
    )

    def contradicting(*ids: str) -> list[str]:
        where, values = records.contradicting_any(ids)
        return [record.id for record, _ in records.find(db.connection, where, values)]

    assert contradicting("r1", "r8") == ["r2"]
    assert contradicting("r9") == ["r3"]
    assert contradicting("r1", "r2") == []


def test_a_memory_finds_the_newest_records_of_both_databases(memory: Memory) -> None:
    for number, scope in enumerate(("user", "team", "user", "team")):
        memory.remember(
            decision(f"Use library {number}", scope=scope), USER._replace(at=f"2026-0{number + 1}")
        )

    found = {n: [r.what[-1] for r in memory.find_records("1", (), n)] for n in (-1, 3, 0)}
    assert found == {-1: ["3", "2", "1", "0"], 3: ["3", "2", "1"], 0: []}
