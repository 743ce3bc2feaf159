"""Search: any text is a safe query, what matches is found, and nothing leaks past a filter."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.models import Entity, Filters, Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.database import Database, open_database
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import conditions, graph, search
from memory_fabric.store.scoped_memory import within
from memory_fabric.text import terms
from store.support import (
    TOOL,
    USER,
    World,
    create,
    database,
    decision,
    entity,
    observations_of,
    pagination,
)
from thorough import examples


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return World(tmp_path).memory()


def found(memory: Memory, asked: str) -> list[str]:
    match = conditions.match_expression(terms(asked), [])
    return [c.text for c in search.observations(database(memory), match, 10)]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("database-engineer recommends cursor pagination", "engineer pagination"),
        ("we call get_user_by_id here", "get_user_by_id"),
        ("we call get_user_by_id here", "user id"),
        ("use the FastAPIRouter class", "FastAPIRouter"),
        ("use the FastAPIRouter class", "router"),
        ("see os.path.join", "path.join"),
        ("kebab-case-name", "kebab"),
        ("the caches were cached", "caching"),
        ("Résumé of the naïve approach", "resume naive"),
        ("resume", "résumé"),
        ("résumé", "re\u0301sume\u0301"),
        ("re\u0301sume\u0301", "résumé"),
        ("我们决定使用数据库连接池", "数据库"),
        ("データベース接続プール", "接続"),
        ("데이터베이스 연결", "데이터"),
        ("Größe und Straße", "größe"),
        ("Решили использовать Redis", "решили"),
        ("C++20 and C#", "C++20"),
        ("error E1234 in v2.0.1", "E1234"),
    ],
)
def test_a_text_is_found_by_its_words_stems_and_parts_of_identifiers(
    memory: Memory, text: str, asked: str
) -> None:
    create(memory, entity("x", text), entity("y", "something else altogether"))
    assert found(memory, asked) == [text]


def test_an_entitys_name_finds_its_observations(memory: Memory) -> None:
    create(memory, entity("PgBouncer", "pools connections"))
    assert found(memory, "pgbouncer") == found(memory, "bouncer") == ["pools connections"]


def test_better_matches_come_first_with_higher_scores(memory: Memory) -> None:
    create(memory, entity("x", "redis cache", "redis", "cache of files and many other words here"))
    match = conditions.match_expression(["redis", "cache"], [])
    hits = search.observations(database(memory), match, 10)
    assert hits[0].text == "redis cache"
    assert [h.bm25 for h in hits] == sorted((h.bm25 for h in hits), reverse=True)
    assert all(h.bm25 > 0 for h in hits)


def test_a_phrase_matches_only_texts_with_its_words_in_the_same_order(memory: Memory) -> None:
    create(memory, entity("x", "cursor based pagination", "pagination based on a cursor"))
    match = conditions.match_expression(["pagination"], ["cursor based"])
    assert [c.text for c in search.observations(database(memory), match, 9)] == [
        "cursor based pagination"
    ]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Database:
    db = open_database(str(tmp_path_factory.mktemp("s") / "graph.db"), "project", create=True)
    assert db is not None
    return db


NASTY = st.sampled_from(
    [*"\" ' * NEAR(a AND OR NOT a:b {x y}:z ^a -b ( ) -- ;DROP + ½ ǅ".split(), "\0", "\udc80"]
)


@settings(max_examples=examples(300))
@given(st.lists(NASTY | st.text(), max_size=5), st.lists(NASTY | st.text(), max_size=3))
def test_any_text_is_a_safe_query(shared: Database, asked: list[str], phrases: list[str]) -> None:
    for words in (asked, terms(" ".join(asked))):
        match = conditions.match_expression(words, phrases)
        for look in (search.observations, search.records, search.episodes, search.entities_named):
            assert look(shared, match, 5) == []


def test_a_query_without_a_word_matches_nothing() -> None:
    assert conditions.match_expression(["", "!", "🙂", '"'], ["…"]) == ""


def test_the_number_of_terms_of_a_long_query_is_limited(memory: Memory) -> None:
    create(memory, entity("x", "w1 w2"))
    many = [f"w{i}" for i in range(5000)]
    match = conditions.match_expression(many, many)
    assert match.count('"') == 2 * conditions.MAX_TERMS
    assert search.observations(database(memory), match, 5) == []


# --- candidates ----------------------------------------------------------------------------------


def test_a_search_result_contains_its_source_and_the_metadata_of_its_row(memory: Memory) -> None:
    stored = memory.remember(pagination(alternatives=("offsets",)), USER)
    assert stored is not None
    create(memory, entity("cursor-pagination", "scales"))
    db = database(memory)
    [one, *_] = search.records(db, '"pagination"', 5)
    assert (one.id, one.source, one.store) == (f"record:{stored.id}", "records", "project")
    assert one.text == stored.what and one.timestamp == stored.created_at
    assert one.metadata["type"] == "decision" and one.metadata["why"] == "offsets are slow"
    assert one.metadata["entities"] == ["cursor-pagination", "list-endpoints", "billing"]
    assert one.metadata["trust"] == "user" and one.metadata["alternatives"] == ["offsets"]
    hits = {c.id: c for c in search.observations(db, '"pagination"', 9)}
    assert set(hits) == {f"record:{stored.id}", "graph:cursor-pagination#4"}
    plain = hits["graph:cursor-pagination#4"]
    assert plain.entity == "cursor-pagination" and plain.metadata["entityType"] == "pattern"
    [named, *_] = search.entities_named(db, '"pagination"', 5)
    assert named.id == "graph:cursor-pagination" and "scales" in named.text


def test_a_matching_turn_is_returned_with_the_turn_before_it(memory: Memory) -> None:
    turns = [
        {
            "id": f"u{i}",
            "session": session,
            "role": "user",
            "text": text,
            "created_at": f"2026-0{i}",
        }
        for i, (session, text) in enumerate(
            [("a", "Which cache?"), ("b", "unrelated"), ("a", "Redis, of course")], start=1
        )
    ]
    memory.write("add_episodes", {"episodes": turns}, USER)
    [hit] = search.episodes(database(memory), '"redis"', 5)
    assert (hit.id, hit.before, hit.timestamp) == ("episode:u3", "Which cache?", "2026-03")
    assert hit.metadata["session"] == "a" and hit.metadata["trust"] == "user"


def test_deleted_observations_and_entities_are_no_longer_found(memory: Memory) -> None:
    create(memory, entity("Redis", "is fast"))
    deletion = {"entityName": "Redis", "observations": ["is fast"]}
    memory.write("delete_observations", {"deletions": [deletion]}, TOOL)
    assert found(memory, "fast") == []
    memory.write("delete_entities", {"entityNames": ["Redis"]}, TOOL)
    assert search.entities_named(database(memory), '"redis"', 5) == []


def test_recent_memories_are_the_newest_records_followed_by_observations(memory: Memory) -> None:
    create(memory, entity("x", "told"))
    for i in range(3):
        memory.remember(decision(f"Number {i}"), USER._replace(at=f"2026-01-0{i + 1}"))
    db = database(memory)
    assert [c.text for c in search.recent(db, 9)] == ["Number 2", "Number 1", "Number 0", "told"]
    assert [c.text for c in search.recent(db, 2)] == ["Number 2", "Number 1"]
    assert [c.text for c in search.recent(db, 9, Filters(scopes=("user",)))] == []


# --- filters -------------------------------------------------------------------------------------


def reading(memory: Memory) -> Database:
    [db] = memory.databases()
    return db


def fill(memory: Memory) -> None:
    for i, (type_, domain, agent, session) in enumerate(
        [
            ("decision", "general", "", "s1"),
            ("pattern", "frontend", "ui", "s2"),
            ("problem", "backend", "db", "s3"),
        ]
    ):
        by = Provenance("prompt", "user", session, agent, at=f"2026-01-0{i + 1}", domain=domain)
        memory.remember(Record(type_, f"Redis {type_}", confidence=0.9), by)
        item = {"name": f"e{i}", "entityType": type_, "observations": [f"Redis {i}"]}
        memory.write("create_entities", {"entities": [item]}, by)
        turn = {"id": f"u{i}", "session": session, "role": "user", "text": "Redis"}
        turn |= {"created_at": by.at, "agent": agent}
        memory.write("add_episodes", {"episodes": [turn]}, by)


@pytest.mark.parametrize(
    ("filters", "records_found", "observations_found", "episodes_found"),
    [
        (Filters(), 3, 3, 3),
        (Filters(domains=("frontend",)), 1, 1, 1),
        (Filters(domains=("frontend", "backend")), 2, 2, 2),
        (Filters(types=("pattern",)), 1, 1, 0),
        (Filters(agents=("db",)), 1, 1, 1),
        (Filters(sessions=("s1",)), 1, 1, 1),
        (Filters(scopes=("team",)), 3, 3, 3),
        (Filters(scopes=("user",)), 0, 0, 0),
        (Filters(scopes=("local",)), 0, 0, 0),
        (Filters(since="2026-01-02"), 2, 2, 2),
        (Filters(before="2026-01-02"), 1, 1, 1),
        (Filters(since="2026-01-02", before="2026-01-03", domains=("backend",)), 0, 0, 0),
        (Filters(domains=("'; DROP TABLE records",)), 0, 0, 0),
    ],
)
def test_only_rows_that_match_all_filters_are_found(
    memory: Memory,
    filters: Filters,
    records_found: int,
    observations_found: int,
    episodes_found: int,
) -> None:
    fill(memory)
    db = reading(within(memory, filters.domains) if filters.domains else memory)
    counts = [
        len(look(db, '"redis"', 9, filters))
        for look in (search.records, search.observations, search.episodes)
    ]
    assert counts == [records_found, observations_found, episodes_found]
    assert len(search.recent(db, 9, filters)) <= 6


def test_a_filtered_search_finds_every_match_even_if_very_few_rows_pass_the_filter(
    memory: Memory,
) -> None:
    db = database(memory)
    with db.transaction() as c:
        for i in range(700):
            record = decision(f"Redis number {i}", id=f"{i}", status="active", session="s")
            records.put(c, record._replace(domain="rare" if i % 200 == 199 else "general"), ["s"])
    hits = search.records(reading(within(memory, ("rare",))), '"redis"', 5)
    assert {c.text for c in hits} == {f"Redis number {i}" for i in (199, 399, 599)}
    assert [h.bm25 for h in hits] == sorted((h.bm25 for h in hits), reverse=True)


def test_a_search_in_the_user_scope_finds_only_rows_of_the_user_database(memory: Memory) -> None:
    create(memory, entity("Ann", "likes Redis"), store="user")
    create(memory, entity("api", "uses Redis"), store="project")
    wanted = Filters(scopes=("user",))
    assert search.observations(database(memory), '"redis"', 5, wanted) == []
    [hit] = search.observations(database(memory, "user"), '"redis"', 5, wanted)
    assert (hit.store, hit.metadata["scope"]) == ("user", "user")


def test_candidates_are_neither_searched_nor_listed_as_recent(memory: Memory) -> None:
    memory.remember(decision("Maybe Redis", confidence=0.4), USER)
    assert search.records(database(memory), '"redis"', 5) == []
    assert search.recent(database(memory), 5) == []


# --- the graph for reading -----------------------------------------------------------------------


def test_opening_an_entity_returns_its_incoming_and_outgoing_relations(memory: Memory) -> None:
    edges = [
        {"from": a, "relationType": "uses", "to": b}
        for a, b in [("a", "b"), ("b", "c"), ("c", "d")]
    ]
    memory.write("create_relations", {"relations": edges}, TOOL)
    db = database(memory)
    opened = graph.open_nodes(db, ["b", "nobody", "b"])
    assert [e.name for e in opened.entities] == ["b"]
    assert [(r.source, r.target) for r in opened.relations] == [("a", "b"), ("b", "c")]
    assert graph.relations_of(db, ["b"], limit=1) == [opened.relations[0]]
    assert graph.existing(db, ["a", "x"]) == ["a"]
    assert observations_of(db, "nobody") == ()


def test_any_spelling_of_a_name_finds_the_oldest_entity(memory: Memory) -> None:
    create(memory, entity("cursor-pagination", kind="pattern"), entity("cursor_pagination"))
    db = database(memory)
    known = graph.entities_by_key(db, ["Cursor Pagination", "nobody"])
    assert known == {"cursorpagination": Entity("cursor-pagination", "pattern")}
    with db.transaction() as c:
        c.execute("INSERT INTO aliases VALUES ('pg', 'pg', 1)")
    assert graph.entities_by_key(db, ["PG"])["pg"].name == "cursor-pagination"


def test_thousands_of_names_can_be_looked_up_in_one_call(memory: Memory) -> None:
    create(memory, *[entity(f"e{i}") for i in range(1200)])
    asked = [f"e{i}" for i in range(2000)]
    assert len(graph.open_nodes(database(memory), asked).entities) == 1200
    assert len(graph.entities_by_key(database(memory), asked)) == 1200


# --- cost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("look", "table"),
    [
        (search.observations, "observations"),
        (search.records, "records"),
        (search.episodes, "episodes"),
        (search.entities_named, "entities"),
    ],
)
def test_a_search_uses_the_full_text_index_first_and_never_scans_a_table(
    memory: Memory, look: object, table: str
) -> None:
    """The index is asked first, alone; then rows by number. Nothing walks a whole table."""
    fill(memory)
    db = database(memory)
    asked: list[str] = []
    db.connection.set_trace_callback(asked.append)
    look(db, '"redis" OR "e0"', 2, Filters(since="2026-01-01"))  # type: ignore[operator]
    db.connection.set_trace_callback(None)
    selects = [sql for sql in asked if sql.startswith("SELECT") and "FROM meta" not in sql]
    assert f"{table}_fts" in selects[0] and "JOIN" not in selects[0] and "LIMIT" in selects[0]
    for sql in selects:
        plan = [row[3] for row in db.rows("EXPLAIN QUERY PLAN " + sql)]
        assert not any(step.startswith("SCAN") and "VIRTUAL" not in step for step in plan), plan
