"""Statements about what was forgotten, named or said before, and what is answered to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import Entity, Graph, Provenance, Record, Relation
from memory_fabric.store.history import last_mentions, undo
from memory_fabric.store.memory import Memory
from memory_fabric.store.operations import merge, rows, tombstones
from memory_fabric.store.queries import graph
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    decision,
    entity,
    observations_of,
    relation,
)

EARLY, LATER, LATEST = "2026-01-01", "2026-02-01", "2026-03-01"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def at(time: str, source: str = "mcp") -> Provenance:
    return TOOL._replace(at=time, source=source)


def whole(memory: Memory) -> Graph:
    return graph.read_graph(database(memory))


def test_a_memory_that_was_said_again_is_as_old_as_its_last_statement(memory: Memory) -> None:
    for day in (EARLY, LATEST):
        memory.remember(decision("Sessions are kept in Redis"), USER, at=day)

    [stored] = last_mentions.records(database(memory), "2027-01-01", "2027-01-01")

    assert (stored.last_at, stored.newest) == (LATEST, 1)


def forget(memory: Memory, when: str = LATER, **what: Any) -> dict[str, Any]:
    return memory.write("forget", {"ids": [], **what}, at(when), store="project")


def count_tombstones(memory: Memory) -> int:
    [(count,)] = database(memory).rows("SELECT count(*) FROM tombstones")
    return int(count)


@pytest.mark.parametrize(
    ("by", "is_stored"),
    [
        (at(EARLY), False),
        (at(LATER), True),
        (at(LATEST), True),
        (at(LATEST, "import"), False),
        (at(LATEST, "journal"), False),
    ],
)
def test_a_forgotten_entity_and_its_text_return_only_with_a_later_statement(
    memory: Memory, by: Provenance, is_stored: bool
) -> None:
    create(memory, entity("Redis", "is fast"), entity("api", "is old"))
    forget(memory, entityNames=["Redis"])
    gone = {"entityName": "api", "observations": ["is old"]}
    forget(memory, deletions=[gone])
    assert count_tombstones(memory) == 3

    payload = {"entities": [entity("Redis", "is fast"), entity("api", "is old", "is new")]}
    told = memory.write("create_entities", payload, by, store="project")

    if is_stored:
        assert "forgotten" not in told and count_tombstones(memory) == 0
        assert [e["name"] for e in told["entities"]] == ["Redis"]
        assert observations_of(database(memory), "Redis") == ("is fast",)
        undo.undo(memory, [undo.last(memory)], USER)
        assert count_tombstones(memory) == 3
    else:
        assert told["forgotten"] == ["Redis", "api"] and count_tombstones(memory) == 3
        assert told["entities"] == []
    assert told["merged"][0]["observations"] == (["is old"] if is_stored else []) + ["is new"]


def test_an_observation_of_a_forgotten_entity_is_left_out_if_a_journal_repeats_it(
    memory: Memory,
) -> None:
    create(memory, entity("Redis"), entity("api"))
    forget(memory, entityNames=["Redis"])
    said = [{"entityName": name, "contents": ["x"]} for name in ("Redis", "api")]

    told = memory.write_now(
        "add_observations", {"observations": said}, at(LATEST, "journal"), store="project"
    )

    assert told["forgotten"] == ["Redis"]
    assert told["results"] == [{"entityName": "api", "addedObservations": ["x"]}]
    with pytest.raises(NotFound, match="Entity with name Redis not found"):
        memory.write("add_observations", {"observations": said}, at(LATEST), store="project")
    with pytest.raises(NotFound):
        unknown = {"observations": [{"entityName": "none", "contents": ["x"]}]}
        memory.write("add_observations", unknown, at(LATEST, "journal"), store="project")


def test_relations_with_a_forgotten_end_are_left_out_if_an_import_repeats_them(
    memory: Memory,
) -> None:
    create(memory, entity("Redis"), entity("api"))
    forget(memory, entityNames=["Redis"])
    edges = [relation("api", "uses", "Redis"), relation("api", "uses", "new")]

    told = memory.write(
        "create_relations", {"relations": edges}, at(LATEST, "import"), store="project"
    )

    assert told == {"relations": edges[1:], "created_ends": ["new"], "forgotten": ["Redis"]}


def test_forgetting_counts_what_it_deletes_and_also_forgets_aliases_and_texts(
    memory: Memory,
) -> None:
    create(memory, entity("Redis", "a", "b"), entity("api", "c", "d"))
    memory.write("alias", {"entity": "Redis", "aliases": ["cache"]}, at(EARLY), store="project")
    memory.write("create_relations", {"relations": [relation("api", "uses", "Redis")]}, at(EARLY))
    turn = {"id": "t", "session": "s", "role": "user", "text": "x", "created_at": EARLY}
    memory.write("add_episodes", {"episodes": [turn]}, USER)
    kept = memory.remember(decision("Use it"), USER)
    assert kept is not None
    gone = {"entityName": "api", "observations": ["c", "c", "none"]}

    told = forget(
        memory,
        ids=[kept.id, kept.id, "unknown"],
        entityNames=["Redis"],
        deletions=[gone],
        turns=["t", "u"],
    )

    assert told["deleted"] == 4  # a record, a turn, an entity and an observation
    # Two records, two turns, the entity, its alias, its two texts, and two texts of the other.
    assert count_tombstones(memory) == 10
    refused = memory.write(
        "create_entities",
        {"entities": [entity("cache"), entity("api", "c", "d")]},
        at(LATEST, "import"),
        store="project",
    )
    assert refused["forgotten"] == ["cache", "api"]
    assert memory.write("add_episodes", {"episodes": [turn]}, USER) == {"added": 0}
    assert forget(memory, entityNames=["Redis"], turns=["t"])["deleted"] == 0


def test_a_deletion_counts_entities_relations_and_rows_listed_twice(memory: Memory) -> None:
    create(memory, entity("a", "x", "y"), entity("b"), entity("c"))
    edges = [relation("a", "uses", "b"), relation("c", "uses", "a"), relation("a", "is", "a")]
    memory.write("create_relations", {"relations": edges}, TOOL)

    def delete(kind: str, **payload: Any) -> dict[str, Any]:
        return memory.write_now(f"delete_{kind}", payload, TOOL, store="project")

    texts = [{"entityName": "a", "observations": ["x", "x", "no"]}] * 2
    assert delete("observations", deletions=texts)["deleted"] == 1
    assert delete("relations", relations=[edges[0], edges[0]])["deleted"] == 1
    told = delete("entities", entityNames=["a", "a", "none"])

    assert (told["deleted"], told["relations"]) == (1, 2)
    assert whole(memory) == Graph((Entity("b", "component"), Entity("c", "component")))


def test_a_tombstone_is_set_once_and_lifted_only_as_it_was(memory: Memory) -> None:
    def change(add: list[Any], remove: list[Any]) -> dict[str, Any]:
        payload = {"add": add, "remove": remove}
        return memory.write_now("tombstones", payload, USER, store="project")

    assert change([["x", 1, EARLY], ["x", 2, LATER]], []) == {"set": 1, "lifted": 0}
    assert change([], [["x", 2, EARLY], ["x", 1, LATER], ["y", 1, EARLY]]) == {
        "set": 0,
        "lifted": 0,
    }
    databases = [database(memory), database(memory, "user")]
    assert tombstones.were_forgotten(databases, 1, EARLY)
    assert not tombstones.were_forgotten(databases, 1, LATER)
    assert not tombstones.were_forgotten(databases, 2, EARLY)
    assert change([], [["x", 1, EARLY]]) == {"set": 0, "lifted": 1}
    assert count_tombstones(memory) == 0


def test_free_aliases_are_added_while_others_are_refused_with_a_reason(memory: Memory) -> None:
    create(memory, entity("PostgreSQL"), entity("MySQL"))

    def alias(*names: str) -> dict[str, Any]:
        payload = {"entity": "PostgreSQL", "aliases": list(names)}
        return memory.write_now("alias", payload, USER, store="project")

    told = alias("PG", "MySQL", " ", "postgre-sql")

    assert told["aliases"] == ["PG"]
    assert [*told["refused"]] == ["MySQL", " "]
    assert alias("PG", "postgresql") == {"aliases": [], "refused": {}}
    with pytest.raises(BadInput):
        alias("MySQL", "MySQL")
    with database(memory).transaction() as c:
        put, inverse = merge.put_aliases(c, {"entity": "none", "aliases": ["x"]}, USER)
        assert (put, inverse) == ({"aliases": []}, [])
        assert merge.unalias(c, {"entity": "none", "aliases": ["x"]}, USER)[0] == {"removed": []}


def test_a_merge_counts_the_rows_that_it_moves_and_keeps_the_latest_time(memory: Memory) -> None:
    for name, when in (("a", EARLY), ("b", LATEST), ("c", LATER)):
        payload = {"entities": [entity(name, f"of {name}", "of all")]}
        memory.write("create_entities", payload, at(when), store="project")
    edges = [relation("b", "uses", "x"), relation("b", "is", "c"), relation("a", "uses", "x")]
    memory.write("create_relations", {"relations": edges}, at(EARLY))

    told = memory.write_now(
        "merge", {"into": "a", "names": ["b", "a", "c", "b"]}, USER, store="project"
    )

    assert told == {"into": "a", "merged": ["b", "c"], "observations": 3, "relations": 1}
    assert observations_of(database(memory), "a") == ("of a", "of all", "of b", "of c")
    assert whole(memory).relations == (Relation("a", "uses", "x"),)
    row = database(memory).row("SELECT created_at, updated_at FROM entities WHERE name = 'a'")
    assert row == (EARLY, LATEST)
    with pytest.raises(NotFound, match="There is no entity 'none'"):
        memory.write("merge", {"into": "a", "names": ["none"]}, USER, store="project")


def test_a_deleted_row_gets_its_old_number_back_if_the_number_is_valid_and_free(
    memory: Memory,
) -> None:
    create(memory, entity("a", "first"))
    biggest = (1 << 62) - 1
    numbers = [7, 7, 1, 0, -1, "x", True, 1 << 62, biggest]
    texts = [{"entity": "a", "text": str(n), "id": id_} for n, id_ in enumerate(numbers)]
    texts.append({"entity": "none", "text": "lost", "id": 9})

    told = memory.write_now(
        "restore", {"entities": [], "relations": [], "observations": texts}, TOOL, store="project"
    )

    assert told == {"restored": len(numbers)}
    stored = dict(database(memory).rows("SELECT text, id FROM observations"))
    assert (stored["first"], stored["0"], stored["8"]) == (1, 7, biggest)
    others = {stored[str(n)] for n in (1, 2, 3, 4, 5, 7)}
    assert len(others) == 6 and all(7 < id_ < 100 for id_ in others)


def test_a_name_is_resolved_by_itself_then_by_alias_then_by_the_oldest_spelling(
    memory: Memory,
) -> None:
    create(memory, entity("my-api"), entity("My_API"), entity("web"))
    with database(memory).transaction() as c:

        def found(name: str) -> int | None:
            return rows.variant_id(c, name)

        assert [found(name) for name in ("My_API", "my api", "WEB", "no")] == [2, 1, 3, None]
        assert rows.add_aliases(c, 3, [("myapi", "my api"), ("myapi", "again")]) == [
            ["myapi", "my api"]
        ]
        assert [found(name) for name in ("my-api", "my api")] == [1, 3]
        assert rows.remove_aliases(c, 1, ["myapi"]) == []
        assert rows.remove_aliases(c, 3, ["no", "myapi"]) == [["myapi", "my api"]]
        assert found("my api") == 1


def test_own_rows_are_read_in_portions_without_those_of_other_users(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 2)
    create(memory, *(entity(f"e{n}", f"t{n}") for n in range(5)))
    memory.write("create_relations", {"relations": [relation("e0", "is", "e1")]}, TOOL)
    with database(memory).transaction() as c:
        c.execute("UPDATE entities SET said_by = 'bob' WHERE name = 'e2'")
        c.execute("UPDATE observations SET source = 'journal' WHERE text = 't4'")

        assert [row["name"] for row in rows.own(c, "entities")] == ["e0", "e1", "e3", "e4"]
        assert [row["text"] for row in rows.own(c, "observations")] == ["t0", "t1", "t2", "t3"]
        assert rows.count_own(c) == (4, 1, 4)
        c.execute("DELETE FROM relations")
        assert [*rows.own(c, "relations")] == []


def say(memory: Memory, what: str, by: Provenance = USER, **fields: Any) -> Record:
    stored = memory.remember(decision(what, **fields), by)
    assert stored is not None
    return stored


def test_repeating_a_statement_in_its_session_raises_no_confidence_unless_it_adds_something(
    memory: Memory,
) -> None:
    say(memory, "Use Redis", confidence=0.6)

    assert say(memory, "Use Redis", confidence=0.9).confidence == 0.6
    assert say(memory, "Use Redis", confidence=0.8, why="fast").confidence == 0.8
    assert say(memory, "Use Redis", confidence=0.7, why="fast").confidence == 0.8
    elsewhere = USER._replace(session="s2")
    assert say(memory, "Use Redis", elsewhere, confidence=0.95).confidence == 0.95


def test_a_less_trusted_repetition_adds_no_reason_and_lowers_no_trust(memory: Memory) -> None:
    say(memory, "Use Redis")

    again = say(
        memory, "Use Redis", TOOL._replace(session="s2"), why="fast", alternatives=("Kafka",)
    )

    assert (again.why, again.alternatives, again.trust) == ("", (), "user")
    more = say(memory, "Use Redis", USER._replace(session="s3"), why="fast", alternatives=("x",))
    assert (more.why, more.alternatives) == ("fast", ("x",))
    later = say(memory, "Use Redis", USER._replace(session="s4"), why="slow", alternatives=("y",))
    assert (later.why, later.alternatives) == ("fast", ("x",))


def test_a_repetition_can_pin_a_record_and_make_it_general_but_not_the_reverse(
    memory: Memory,
) -> None:
    first = say(memory, "Use Redis")
    changed = say(memory, "Use Redis", pinned=True, generalizable=True)
    again = say(memory, "Use Redis")

    states = [(record.pinned, record.generalizable) for record in (first, changed, again)]
    assert states == [(False, False), (True, True), (True, True)]


def test_a_program_does_not_strengthen_a_statement_by_repeating_it(memory: Memory) -> None:
    def ingest(agent: str, session: str, trust: str = "tool") -> tuple[float, int]:
        by = Provenance("ingest", trust=trust, agent=agent, session=session)
        say(memory, "Use Redis", by, confidence=0.9 if session else 0.6)
        [(confidence, sightings)] = database(memory).rows(
            "SELECT confidence, sightings FROM records"
        )
        return confidence, sightings

    assert ingest("m1", "") == (0.6, 1)
    assert ingest("m1", "") == (0.6, 1)
    assert ingest("m2", "s1") == (0.9, 2)
    say(memory, "Use Redis", USER._replace(session="s5"), confidence=0.9)
    assert ingest("m3", "s9") == (0.9, 3)
