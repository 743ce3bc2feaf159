"""Entities for a query: all that the reference's substring search finds, and more, best first."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.store.database import Database
from memory_fabric.store.queries import entity_search, graph
from memory_fabric.store.queries.entity_search import all_matching, find
from store.support import World, create, database, entity
from thorough import examples


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def db(world: World) -> Database:
    memory = world.memory()
    create(
        memory,
        entity("ann", "is an engineer", "wrote the pagination of the API", kind="person"),
        entity("bob", "is an engineer", kind="person"),
        entity("cursor-pagination", "scales to millions of rows", kind="pattern"),
        entity("HttpRequestParser", "reads snake_case_names and dotted.paths.here"),
        entity("сервер", "работает на порту 8080", kind="Компонент"),
        entity("支付服务", "处理退款和对账", kind="组件"),
        entity("İstanbul", "a city"),
        entity("café", "serves crème brûlée"),
        entity("percent", 'is 100% sure_of "it" and \' and \\'),
    )
    return database(memory)


def found(db: Database, query: str) -> list[str]:
    return [name for _, name in find(db, query).best]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("engineer pagination", ["ann", "cursor-pagination", "bob"]),
        ("pagination engineer", ["ann", "cursor-pagination", "bob"]),
        ("gina", ["cursor-pagination", "ann"]),
        ("PAGINATION", ["cursor-pagination", "ann"]),
        ("cursor_pagination", ["cursor-pagination", "ann"]),
        ("request parser", ["HttpRequestParser"]),
        ("case_nam", ["HttpRequestParser"]),
        ("paths.here", ["HttpRequestParser"]),
        ("dotted paths", ["HttpRequestParser"]),
        ("СЕРВЕР", ["сервер"]),
        ("порту", ["сервер"]),
        ("компонент", ["сервер"]),
        ("退款", ["支付服务"]),
        ("付", ["支付服务"]),
        ("Се", ["сервер"]),
        ("По", ["сервер"]),
        ("i\u0307stan", ["İstanbul"]),
        ("İSTAN", ["İstanbul"]),
        ("İ", ["İstanbul"]),
        ("支付服务", ["支付服务"]),
        ("cafe", ["café"]),
        ("brulee", ["café"]),
        ("Crème Brûlée", ["café"]),
        ("100%", ["percent"]),
        ("%", ["percent"]),
        ("_", ["HttpRequestParser", "percent"]),
        ('sure_of "it" and \'', ["percent"]),
        ("\\", ["percent"]),
        ("nothing of the kind", []),
        ("\0", []),
        ("   ", []),
    ],
)
def test_a_query_finds_its_entities_in_order(db: Database, query: str, names: list[str]) -> None:
    assert found(db, query) == names


def test_an_alias_finds_its_entity_first(db: Database) -> None:
    with db.transaction() as c:
        c.execute("INSERT INTO aliases VALUES ('k8s', 'k8s', (SELECT id FROM entities LIMIT 1))")

    assert found(db, "k8s") == ["ann"]


def test_entities_with_all_words_rank_before_entities_with_only_some_of_the_words(
    world: World,
) -> None:
    memory = world.memory()
    create(
        memory,
        entity("some", "the queue is full", "the queue is slow"),
        entity("apart", "a queue of jobs", "a broker restarts"),
        entity("one", "the broker of the queue"),
    )

    first, second, last = found(database(memory), "queue broker")
    assert ({first, second}, last) == ({"one", "apart"}, "some")


def test_matches_in_entity_names_or_types_are_listed_before_matches_in_observations(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_search, "POOL_ROWS", 5)
    monkeypatch.setattr(entity_search, "PORTION", 5)
    memory = world.memory()
    create(memory, *(entity(f"thing {n}", "a common word", "common again") for n in range(12)))
    create(memory, entity("the last", "nothing of it", kind="common kind"))
    db = database(memory)

    result = find(db, "common")
    every = list(all_matching(db, "common"))

    assert result.is_cut
    assert every == ["the last", *(f"thing {n}" for n in range(12))]
    assert {name for _, name in result.best} <= set(every)
    assert list(islice(all_matching(db, "common"), 3)) == every[:3]


def test_in_a_large_graph_entities_are_sought_by_the_words_that_few_rows_have(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_search, "MAX_SELECTIVE_ROWS", 3)
    memory = world.memory()
    create(
        memory, entity("lone", "a rare one here"), *(entity(f"e{n}", "common") for n in range(5))
    )
    create(memory, entity("apart", "a rare thing", "a common thing"), entity("both", "common rare"))

    assert found(database(memory), "common rare") == ["both", "apart", "lone"]
    create(memory, entity("fourth", "rare"))
    assert found(database(memory), "common rare") == ["both"]


def test_a_search_is_cut_if_as_many_entities_match_as_are_ranked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = world.memory()
    create(memory, *(entity(f"thing{n}") for n in range(3)))

    for most, is_cut in ((4, False), (3, True), (2, True)):
        monkeypatch.setattr(entity_search, "POOL_ROWS", most)
        assert find(database(memory), "thing").is_cut is is_cut


def test_a_name_that_is_meant_by_the_query_ranks_as_if_it_were_the_query(db: Database) -> None:
    assert found(db, "engineer")[:2] == ["ann", "bob"]

    assert find(db, "engineer", ["bob"]).best[0][1] == "bob"


LETTERS = st.text(alphabet="abcABÄäßiİI\u0307付款 _%\"'\\.-", max_size=8)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(LETTERS, LETTERS, st.lists(LETTERS, max_size=3)), max_size=6),
    LETTERS.filter(bool),
)
def test_everything_that_the_reference_server_finds_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    entities: list[tuple[str, str, list[str]]],
    query: str,
) -> None:
    memory = World(tmp_path_factory.mktemp("world")).memory()
    create(memory, *(entity(name, *texts, kind=kind) for name, kind, texts in entities))
    db, needle = database(memory), query.lower()

    there = graph.read_graph(db).entities
    expected = {
        e.name
        for e in there
        if any(needle in text.lower() for text in (e.name, e.type, *e.observations))
    }

    assert expected <= set(found(db, query))
    assert expected <= set(all_matching(db, query))
    memory.close()


def test_a_search_never_scans_the_whole_graph(db: Database) -> None:
    asked: list[str] = []
    db.connection.set_trace_callback(asked.append)

    find(db, "engineer pagination")

    db.connection.set_trace_callback(None)
    plans = [
        row[3]
        for sql in asked
        if sql.lstrip().startswith("SELECT")
        for row in db.connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
    ]
    assert plans
    assert set(plans).isdisjoint({"SCAN o", "SCAN e", "SCAN observations", "SCAN entities"})
