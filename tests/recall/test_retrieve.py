from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.deadline import Deadline, running
from memory_fabric.errors import DeadlinePassed
from memory_fabric.models import Provenance, Relation
from memory_fabric.recall.normalize import normalize
from memory_fabric.recall.parse import parse
from memory_fabric.recall.retrieve import (
    FOR_PROMPTS,
    GRAPH_REQUIRED,
    newest,
    relations_around,
    retrieve,
    terms_of_few_records,
    valid_at,
)
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import conditions, graph
from memory_fabric.store.queries.reader import MAX_COUNTED
from recall.given import USER, open_memory, pagination_graph, remember


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    pagination_graph(memory)
    yield memory
    memory.close()


def test_an_entity_is_found_by_words_in_its_name_and_observations(memory: Memory) -> None:
    found, _, failures = retrieve(parse("pagination database-engineer"), memory)

    texts = {candidate.entity: candidate.text for candidate in found}
    assert texts["database-engineer"] == "Recommends a pagination approach for every list"
    assert failures == ()


def test_graph_records_and_turns_of_project_and_user_databases_are_searched(memory: Memory) -> None:
    remember(memory, "Pagination uses opaque cursors", names=["cursors"])
    remember(memory, "I like pagination by cursor", type="preference", scope="user")
    turn = {"id": "u1", "session": "s0", "role": "user", "text": "pagination was slow"}
    turn |= {"created_at": USER.at, "place": "", "agent": ""}
    memory.write("add_episodes", {"episodes": [turn]}, USER)

    found, _, _ = retrieve(parse("pagination"), memory)

    assert {c.source for c in found} == {"graph", "records", "episodes"}
    assert {c.store for c in found} == {"project", "user"}


def test_a_question_about_relationships_returns_the_traversed_path(memory: Memory) -> None:
    question = "What did database-engineer recommend about pagination?"

    found, paths, _ = retrieve(parse(question), memory)

    recommends = Relation("database-engineer", "recommends", "cursor-pagination")
    uses = Relation("cursor-pagination", "uses", "PostgreSQL")
    assert paths[0][0] == recommends
    assert (recommends, uses) in paths
    assert "database-engineer recommends cursor-pagination" in [c.text for c in found]


def test_the_graph_is_not_traversed_without_relationship_words(memory: Memory) -> None:
    _, paths, _ = retrieve(parse("pagination of lists"), memory)

    assert paths == ()


def test_a_failing_table_is_reported_and_the_other_tables_are_searched(memory: Memory) -> None:
    remember(memory, "Pagination uses opaque cursors")
    memory.session_database().connection.execute("DROP TABLE episodes_fts")

    found, _, failures = retrieve(parse("pagination"), memory)

    assert {c.source for c in found} == {"graph", "records"}
    assert [failure.partition(":")[0] for failure in failures] == ["episodes (project)"]


def test_a_damaged_database_is_reported_and_the_other_database_is_searched(tmp_path: Path) -> None:
    first = open_memory(tmp_path)
    remember(first, "I like pagination by cursor", type="preference", scope="user")
    remember(first, "Pagination uses opaque cursors")
    path = Path(first.path_of("project"))
    first.close()
    path.write_bytes(b"this is not a database, whatever its name says" * 100)

    memory = open_memory(tmp_path)
    found, _, failures = retrieve(parse("pagination"), memory)
    memory.close()

    assert {c.store for c in found} == {"user"}
    assert any(failure.startswith("graph (project)") for failure in failures)
    assert GRAPH_REQUIRED not in failures


def test_recall_with_an_unreadable_database_reports_that_the_graph_is_required(
    tmp_path: Path,
) -> None:
    first = open_memory(tmp_path)
    remember(first, "Pagination uses opaque cursors")
    path = Path(first.path_of("project"))
    first.close()
    path.write_bytes(b"this is not a database, whatever its name says" * 100)

    memory = open_memory(tmp_path)
    found, _, failures = retrieve(parse("pagination"), memory)
    _, newest_failures = newest(parse(""), memory, limit=5)
    memory.close()

    assert found == []
    assert failures[-1] == GRAPH_REQUIRED
    assert "required" in GRAPH_REQUIRED
    assert GRAPH_REQUIRED in newest_failures


def test_searching_an_empty_memory_reports_no_failure(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)

    assert retrieve(parse("pagination"), memory) == ([], (), ())


def test_a_search_past_its_deadline_is_aborted(tmp_path: Path) -> None:
    first = open_memory(tmp_path)
    for i in range(40):
        texts = [f"pagination of list {i} {j}" for j in range(100)]
        entity = {"name": f"list {i}", "entityType": "component", "observations": texts}
        first.write("create_entities", {"entities": [entity]}, USER)
    first.close()
    with running(Deadline(wall_s=-1)), pytest.raises(DeadlinePassed):
        retrieve(parse("pagination"), Memory.open(first.settings))


def test_local_records_are_found_only_in_their_own_session(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    remember(memory, "Pagination is off in this branch", scope="local")

    assert retrieve(parse("pagination branch"), memory, session="other")[0] == []
    assert [c.source for c in retrieve(parse("pagination branch"), memory, session="s1")[0]]
    memory.close()


def test_relations_of_entities_mentioned_in_the_results_are_looked_up(
    memory: Memory,
) -> None:
    query = parse("analytics database")
    found, _, _ = retrieve(query, memory)

    around = relations_around(normalize(found, query, ""), memory)

    assert Relation("cursor-pagination", "uses", "PostgreSQL") in around["PostgreSQL"]


def test_an_empty_question_returns_the_newest_memories_first(memory: Memory) -> None:
    remember(memory, "Old", by=USER._replace(at="2026-01-01T00:00:00.000Z"))
    remember(memory, "New", by=USER._replace(at="2026-02-28T00:00:00.000Z"))

    found, failures = newest(parse(""), memory, limit=3)

    assert found[0].text == "New"
    assert len(found) == 3
    assert failures == ()


def test_a_word_found_in_most_rows_is_searched_only_if_no_rarer_word_is_given(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "COMMON_FROM_ROWS", 10)
    facts = [f"the service number {n}" for n in range(12)] + ["the service caches invoices"]
    memory.write(
        "create_entities",
        {"entities": [{"name": "api", "entityType": "component", "observations": facts}]},
        Provenance("mcp"),
    )
    (database,) = memory.databases()

    asked = [["service"], ["invoices"]]
    assert conditions.selective_query(database, "observations_fts", asked, 5) == '"invoices"'
    assert conditions.selective_query(database, "observations_fts", asked[:1], 5) == '"service"'
    found, _, _ = retrieve(parse("which service caches invoices"), memory)
    assert "the service caches invoices" in [candidate.text for candidate in found]


def test_a_synonym_that_is_too_common_is_not_searched(memory: Memory) -> None:
    texts = [f"step {number} runs in parallel" for number in range(MAX_COUNTED)]
    about = {"name": "pipeline", "entityType": "service", "observations": texts}
    other = {"name": "loader", "entityType": "service", "observations": ["has a concurrency bug"]}
    memory.write("create_entities", {"entities": [about, other]}, USER)
    asked: list[str] = []
    memory.session_database().connection.set_trace_callback(asked.append)

    found, _, failures = retrieve(parse("which race do we know?"), memory, wide=True)

    memory.session_database().connection.set_trace_callback(None)
    ranked = [query for query in asked if "bm25(observations_fts" in query]
    assert "has a concurrency bug" in [candidate.text for candidate in found]
    assert not [candidate for candidate in found if candidate.text in texts]
    assert ranked
    assert not [query for query in ranked if "parallel" in query]
    assert failures == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Why does findById fail?", 1),
        ("Then LOADER fails", 1),
        ("Then spec.shards fails", 1),
        ("Then src/run.py fails", 1),
        ("Then HTTP fails", 0),
        ("Then Caroline fails", 0),
    ],
)
def test_a_prompt_finds_observations_that_mention_its_identifiers(
    memory: Memory, text: str, count: int
) -> None:
    said = "findById and LOADER and spec.shards and src/run.py and HTTP and Caroline"
    entity = {"name": "engine", "entityType": "service", "observations": [said]}
    memory.write("create_entities", {"entities": [entity]}, USER)

    found, _, _ = retrieve(parse(text, plain=True), memory, sources=FOR_PROMPTS)

    assert [candidate.text for candidate in found] == [said] * count


@pytest.mark.parametrize(("rows", "is_rare"), [(4, True), (5, False)])
def test_a_word_is_rare_in_a_store_if_at_most_four_records_have_it(
    memory: Memory, rows: int, *, is_rare: bool
) -> None:
    for number in range(rows):
        remember(memory, f"The harbour number {number} is {'abcde'[number] * 4}")

    found = terms_of_few_records(parse("harbour unheard"), memory.readers())

    assert found == frozenset(("harbour", "unheard") if is_rare else ("unheard",))


def test_only_the_newest_memories_up_to_the_limit_are_returned(memory: Memory) -> None:
    for day in ("01", "03", "02"):
        remember(memory, f"Rule {day}", by=USER._replace(at=f"2026-02-{day}T10:00:00.000Z"))
        preference = USER._replace(at=f"2026-02-{day}T11:00:00.000Z")
        remember(memory, f"I like {day}", type="preference", scope="user", by=preference)

    found, _ = newest(parse("before:2026-02-10"), memory, limit=6)
    two, _ = newest(parse("before:2026-02-10"), memory, limit=2)

    stamps = [candidate.timestamp for candidate in found]
    assert stamps == sorted(stamps, reverse=True)
    assert found[:2] == two


def test_relations_are_valid_now_or_at_the_time_asked_for_or_at_any_time() -> None:
    assert valid_at(parse("redis")) == graph.NOW
    assert valid_at(parse("what did we use before redis?")) == ""
    asked = parse("redis as_of:2026-01-20", now="2026-03-01T12:00:00.000Z")
    assert valid_at(asked) == "2026-01-20T23:59:59.999Z"
