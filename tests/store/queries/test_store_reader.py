"""The queries that recall sends to one database, each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Entity, Filters, Provenance, Relation
from memory_fabric.store.history import merge
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import reader, search
from memory_fabric.store.queries.reader import Reader
from memory_fabric.store.queries.search import EVERYTHING
from store.support import TOOL, USER, World, create, database, decision, entity, relation

BY = Provenance("cli", trust="user")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


@pytest.fixture
def db_reader(memory: Memory) -> Reader:
    return Reader(database(memory))


def talk(memory: Memory, *said: tuple[str, str], **fields: str) -> None:
    """Store these turns as (session, text), with the ids u1, u2 ..."""
    turns = [
        {"id": f"u{number}", "session": session, "role": "user", "text": text, **fields}
        | {"created_at": f"2026-01-0{number}"}
        for number, (session, text) in enumerate(said, start=1)
    ]
    memory.write("add_episodes", {"episodes": turns}, USER)


def alias(memory: Memory, name: str, *names: str) -> None:
    merge.change_aliases(memory, name, list(names), BY)


def texts(found: list[Any]) -> list[str]:
    return [candidate.text for candidate in found]


def test_matching_turns_are_grouped_by_session_with_the_better_ones_first(
    memory: Memory, db_reader: Reader
) -> None:
    talk(memory, ("a", "Redis"), ("b", "Redis is quick and has many other words"), ("a", "no"))
    talk(memory, ("a", "Redis"), ("b", ""), ("c", ""), ("a", "Redis and Kafka"))

    found = db_reader.turns_by_session([["redis"]], EVERYTHING)

    assert {session: [row for row, _ in rows] for session, rows in found.items()} == {
        "a": [1, 4],
        "b": [2],
    }
    assert all(score > 0 for rows in found.values() for _, score in rows)
    assert db_reader.turns_by_session([], EVERYTHING) == {}
    assert db_reader.turns_by_session([["redis"]], Filters(sessions=("b",))).keys() == {"b"}


def test_the_text_of_a_session_joins_the_beginnings_of_its_turns(
    memory: Memory, db_reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x" * (reader.TURN_CHARS + 1)
    talk(memory, ("a", "one"), ("b", "two"), ("a", long), ("c", "four"))

    found = db_reader.session_texts(["a", "b"], EVERYTHING)

    assert found == {"a": f"one\n{long[:-1]}", "b": "two"}
    assert db_reader.session_texts(["a", "b"], Filters(sessions=("b",))) == {"b": "two"}
    monkeypatch.setattr(reader, "SESSION_CHARS", 5)
    assert db_reader.session_texts(["a"], EVERYTHING) == {"a": "one\nx"}
    monkeypatch.setattr(reader, "READ_TURNS", 1)
    assert db_reader.session_texts(["a", "b"], EVERYTHING) == {"a": "one"}


def test_turns_are_returned_by_their_rows_with_the_turns_around_them(
    memory: Memory, db_reader: Reader
) -> None:
    talk(memory, ("a", "one"), ("b", "apart"), ("a", "two"), ("a", "three"))

    first, second = db_reader.turns_at([(3, 2.5), (1, 1.0)], EVERYTHING)

    assert (first.id, first.text, first.bm25) == ("episode:u3", "two", 2.5)
    assert (first.before, first.before_id) == ("one", "episode:u1")
    assert (first.after, first.after_id) == ("three", "episode:u4")
    assert (second.text, second.before, second.after) == ("one", "", "two")
    assert second.timestamp == "2026-01-01" and second.metadata["trust"] == "user"


def test_turns_around_a_match_follow_as_candidates_only_if_they_are_asked_for(
    memory: Memory, db_reader: Reader
) -> None:
    talk(memory, ("a", "Which cache?"), ("a", "Redis"), ("a", "Redis too"), ("a", "Thanks"))

    alone = db_reader.episodes([["redis"]], 5, EVERYTHING)
    found = db_reader.episodes([["redis"]], 5, EVERYTHING, neighbours=True)

    assert texts(alone) == ["Redis", "Redis too"]
    assert texts(found) == ["Redis", "Redis too", "Which cache?", "Thanks"]
    assert [candidate.bm25 > 0 for candidate in found] == [True, True, False, False]


@pytest.mark.parametrize(
    ("role", "place", "trust"),
    [("user", "", "user"), ("assistant", "", "assistant"), ("user", "ingest", "tool")],
)
def test_the_trust_of_a_turn_follows_from_its_role_and_place(
    memory: Memory, db_reader: Reader, role: str, place: str, trust: str
) -> None:
    turn = {"id": "u1", "session": "a", "text": "Redis", "created_at": "2026"}
    turn |= {"role": role, "place": place}
    memory.write("add_episodes", {"episodes": [turn]}, USER)

    [hit] = db_reader.episodes([["redis"]], 5, EVERYTHING)

    assert (hit.metadata["trust"], hit.metadata["scope"]) == (trust, "team")
    assert (hit.before, hit.after) == ("", "")


def test_the_newest_direct_observations_of_an_entity_come_first(
    memory: Memory, db_reader: Reader
) -> None:
    create(memory, entity("Redis", "a", "b", "c"), entity("api", "d"))
    alias(memory, "Redis", "cache")
    memory.remember(decision("Use it", entities=(Entity("Redis", "technology"),)), USER)

    assert texts(db_reader.observations_of(["redis"], 2, EVERYTHING)) == ["c", "b"]
    assert texts(db_reader.observations_of(["Cache", "API"], 9, EVERYTHING)) == ["d", "c", "b", "a"]
    assert db_reader.observations_of(["nobody"], 9, EVERYTHING) == []
    [first, *_] = db_reader.observations_of(["redis"], 2, EVERYTHING)
    assert (first.id, first.bm25, first.metadata["scope"]) == ("graph:Redis#3", 0.0, "team")


def test_records_are_found_by_their_ids_if_they_are_active_and_of_the_session(
    memory: Memory, db_reader: Reader
) -> None:
    kept = [
        memory.remember(record, USER)
        for record in (
            decision("Use Redis"),
            decision("Maybe Kafka", confidence=0.4),
            decision("Try it", scope="local"),
        )
    ]
    ids = [record.id for record in kept if record]

    assert texts(db_reader.records_by_id(ids, EVERYTHING, "s2")) == ["Use Redis"]
    assert {*texts(db_reader.records_by_id(ids, EVERYTHING, "s1"))} == {"Use Redis", "Try it"}
    assert db_reader.records_by_id(ids, Filters(types=("note",)), "s1") == []


def test_relations_are_grouped_by_each_of_the_entities_that_they_concern(
    memory: Memory, db_reader: Reader
) -> None:
    edges = [relation("a", "uses", "b"), relation("b", "is", "b"), relation("c", "uses", "a")]
    memory.write("create_relations", {"relations": edges}, TOOL._replace(at="2026-03"))
    ab, bb, ca = Relation("a", "uses", "b"), Relation("b", "is", "b"), Relation("c", "uses", "a")

    assert db_reader.relations_by_key(["A", "b"], "9999", EVERYTHING) == {
        "a": [ab, ca],
        "b": [ab, bb],
    }
    assert db_reader.relations_by_key(["c"], "2026-02", EVERYTHING) == {"c": []}
    assert db_reader.relations_by_key(["nobody"], "", EVERYTHING) == {}
    assert db_reader.relations_of(["c", "b"], "9999", EVERYTHING) == [ab, bb, ca]
    assert db_reader.stated_at(ca) == "2026-03"
    assert db_reader.stated_at(Relation("a", "uses", "c")) == ""


def test_an_alias_is_translated_to_the_name_of_its_entity_and_a_name_is_not(
    memory: Memory, db_reader: Reader
) -> None:
    create(memory, entity("PostgreSQL"))
    alias(memory, "PostgreSQL", "pg", "elephant")

    assert db_reader.aliases(["pg", "postgresql", "x"]) == {"pg": "PostgreSQL"}
    assert db_reader.aliases([]) == {}
    assert db_reader.entities_by_key(["pg", "x"]) == {"pg": Entity("PostgreSQL", "component")}


def test_the_rows_with_a_word_are_counted_up_to_a_limit_in_the_chosen_sources(
    memory: Memory, db_reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(memory, entity("Redis", "Redis is fast", "is old"), entity("api", "needs Redis"))
    memory.remember(decision("Use Redis"), USER)
    talk(memory, ("a", "Redis"), ("a", "api"))
    terms = ["redis", "none", "api"]

    # The name of an entity belongs to each of its observations.
    assert db_reader.rows_with(terms, ("graph",)) == {"redis": 3, "api": 1}
    assert db_reader.rows_with(terms, ("entities",)) == {"redis": 1, "api": 1}
    assert db_reader.rows_with(terms, ("records", "episodes")) == {"redis": 2, "api": 1}
    every = ("graph", "entities", "records", "episodes")
    assert db_reader.rows_with(terms, every) == {"redis": 6, "api": 3}
    monkeypatch.setattr(reader, "MAX_COUNTED", 2)
    assert db_reader.rows_with(terms, every) == {"redis": 5, "api": 3}


def test_names_that_may_be_misspelt_share_letters_and_have_about_the_length_of_the_word(
    memory: Memory, db_reader: Reader
) -> None:
    create(
        memory, *(entity(name) for name in ("redis", "rediska", "rediskas", "red", "re", "rdis"))
    )
    create(memory, entity("kafka"))
    alias(memory, "kafka", "redes")

    found = db_reader.names_like("redis", 2)

    assert {*found} == {
        ("redis", "redis"),
        ("rediska", "rediska"),
        ("red", "red"),
        ("redes", "kafka"),
        ("rdis", "rdis"),
    }


def test_a_domain_is_known_if_any_kind_of_row_belongs_to_it(
    memory: Memory, db_reader: Reader
) -> None:
    memory.remember(decision("Use Redis", domain="law"), USER)
    create(memory, entity("a"))
    memory.write(
        "add_observations",
        {"observations": [{"entityName": "a", "contents": ["x"]}]},
        TOOL._replace(domain="ops"),
    )
    memory.write("create_relations", {"relations": [relation("a", "is", "a")]}, TOOL)
    talk(memory, ("a", "x"))
    with database(memory).transaction() as c:
        c.execute("UPDATE relations SET domain = 'edges'")
        c.execute("UPDATE episodes SET domain = 'turns'")

    known = [
        db_reader.has_domain(name) for name in ("law", "ops", "general", "edges", "turns", "no")
    ]

    assert known == [True, True, True, True, True, False]


def test_an_entity_is_described_by_its_three_newest_observations_or_by_its_name(
    memory: Memory, db_reader: Reader
) -> None:
    create(memory, entity("Redis", "a", "b", "c", "d"), entity("bare redis", kind="cache"))

    full, bare = sorted(
        db_reader.entities_named(["redis"], 5, EVERYTHING), key=lambda hit: hit.entity
    )

    assert (full.entity, full.text, full.id) == ("Redis", "d; c; b", "graph:Redis")
    assert bare.text == "bare redis (cache)"
    assert full.metadata["whole_entity"] is True and full.metadata["entityType"] == "component"
    assert full.metadata["scope"] == "team" and full.bm25 > 0
    assert db_reader.entities_named([], 5, EVERYTHING) == []
    assert len(db_reader.entities_named(["redis"], 1, EVERYTHING)) == 1


def test_an_entity_is_described_only_by_what_was_valid_at_the_time_asked_for(
    memory: Memory, db_reader: Reader
) -> None:
    create(memory, entity("Redis", "early"))
    with database(memory).transaction() as c:
        c.execute("UPDATE observations SET created_at = '2026-01'")
        c.execute("UPDATE entities SET created_at = '2026-01'")
    memory.write(
        "add_observations",
        {"observations": [{"entityName": "Redis", "contents": ["late"]}]},
        TOOL._replace(at="2026-03"),
    )

    assert texts(db_reader.entities_named(["redis"], 5, EVERYTHING)) == ["late; early"]
    assert texts(db_reader.entities_named(["redis"], 5, Filters(as_of="2026-02"))) == ["early"]


def test_only_entities_of_the_project_belong_to_no_named_project(
    memory: Memory, db_reader: Reader
) -> None:
    create(memory, entity("Redis"))
    create(memory, entity("Redis"), store="user")
    of_user = Reader(database(memory, "user"))

    for wanted in (Filters(projects=("",)), Filters(agents=("x",))):
        assert of_user.entities_named(["redis"], 5, wanted) == []
    assert len(db_reader.entities_named(["redis"], 5, Filters(projects=("",)))) == 1
    assert db_reader.entities_named(["redis"], 5, Filters(agents=("x",))) == []


@pytest.mark.parametrize("table", ["records", "observations", "episodes"])
def test_rows_are_returned_by_their_numbers_in_the_given_order(memory: Memory, table: str) -> None:
    create(memory, entity("x", "one", "two", "three"))
    for what in ("one", "two", "three"):
        memory.remember(decision(what), USER)
    talk(memory, ("a", "one"), ("a", "two"), ("a", "three"))
    db = database(memory)

    found = search.at_rows(db, table, [3, 1, 2, 9], 2, EVERYTHING)

    assert texts(found) == ["three", "one"]
    assert {candidate.bm25 for candidate in found} == {0.0}
    assert {(candidate.before, candidate.after) for candidate in found} == {("", "")}
    assert search.at_rows(db, table, [1], 2, Filters(agents=("ui",))) == []
    assert search.at_rows(db, table, [], 2, EVERYTHING) == []


def test_a_local_record_is_returned_by_its_number_only_to_its_session(memory: Memory) -> None:
    memory.remember(decision("Try it", scope="local"), USER)
    db = database(memory)

    assert texts(search.at_rows(db, "records", [1], 1, EVERYTHING, "s1")) == ["Try it"]
    assert search.at_rows(db, "records", [1], 1, EVERYTHING, "s2") == []
