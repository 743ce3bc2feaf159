from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric import deadline
from memory_fabric.capture.remember import state, stated
from memory_fabric.models import Filters, Hit, Provenance, Relation
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE
from recall.given import NOW, USER, open_memory, pagination_graph, remember


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    yield memory
    memory.close()


@pytest.fixture
def fabric(memory: Memory) -> Fabric:
    return Fabric(memory, NOW)


def test_recall_answers_a_question_about_an_agents_recommendation(fabric: Fabric) -> None:
    pagination_graph(fabric.memory)

    answer = fabric.recall("What pagination approach did database-engineer recommend?")

    texts = [hit.text for hit in answer.hits]
    assert "Recommends a pagination approach for every list" in texts
    assert "Use cursor-based pagination for scalability" in texts


def test_the_json_answer_has_the_documented_format(fabric: Fabric) -> None:
    pagination_graph(fabric.memory)

    answer = answer_as_json(fabric.recall("cursor-based pagination scalability"))

    assert answer["query"] == "cursor-based pagination scalability"
    assert answer["total_results"] == len(answer["results"])
    assert sum(answer["sources"].values()) == answer["total_results"]
    best = answer["results"][0]
    assert best["id"] == "graph:cursor-pagination"
    assert best["text"] == "Use cursor-based pagination for scalability"
    assert best["source"] == "graph"
    assert best["timestamp"].startswith("2026-02-20T10:00:00")
    assert best["entities"][:2] == ["cursor-pagination", "database-engineer"]
    recommends = {"from": "database-engineer", "relation": "recommends", "to": "cursor-pagination"}
    assert recommends in best["graph_relations"]
    times = best["metadata"]["relation_timestamps"]
    assert len(times) == len(best["graph_relations"])
    assert all(time.startswith("2026-02-20T10:00:00") for time in times)
    scores = [result["score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= s <= 1 for s in scores)
    json.dumps(answer)


def test_the_answer_contains_the_path_of_relations(fabric: Fabric) -> None:
    pagination_graph(fabric.memory)

    answer = fabric.recall("What did database-engineer recommend about pagination?")

    recommends = Relation("database-engineer", "recommends", "cursor-pagination")
    uses = Relation("cursor-pagination", "uses", "PostgreSQL")
    assert any(recommends in path for path in answer.paths)
    assert any(uses in path for path in answer.paths)
    paths = answer_as_json(answer)["paths"]
    assert {"from": "database-engineer", "relation": "recommends", "to": "cursor-pagination"} in [
        step for path in paths for step in path
    ]


def test_equal_texts_from_two_sessions_are_merged_into_one_confirmed_result(fabric: Fabric) -> None:
    said = "All list endpoints of the public API return opaque cursors"
    entity = {"name": "API", "entityType": "component", "observations": [said + "."]}
    fabric.memory.write("create_entities", {"entities": [entity]}, USER._replace(session="s9"))
    remember(fabric.memory, said)

    [hit] = fabric.recall("opaque cursors of list endpoints").hits

    assert hit.metadata["cross_validated"] is True


def test_a_record_that_is_also_stored_as_observations_is_returned_once(fabric: Fabric) -> None:
    record = remember(fabric.memory, "Use Redis with Celery", names=["Redis", "Celery"])

    [hit] = fabric.recall("redis celery").hits

    assert hit.id == f"record:{record.id}"
    assert "cross_validated" not in hit.metadata


def test_a_result_includes_the_relations_of_an_entity_mentioned_in_its_text(fabric: Fabric) -> None:
    pagination_graph(fabric.memory)
    remember(fabric.memory, "Analytics moves to PostgreSQL next quarter")

    hits = fabric.recall("analytics quarter").hits

    hit = next(hit for hit in hits if hit.source == "records")
    assert hit.metadata["cross_referenced"] is True
    assert Relation("cursor-pagination", "uses", "PostgreSQL") in hit.graph_relations


def test_old_results_are_returned_and_marked_as_stale(fabric: Fabric) -> None:
    long_ago = USER._replace(at="2025-01-01T00:00:00.000Z")
    remember(fabric.memory, "Use Redis for sessions", by=long_ago)

    [hit] = fabric.recall("redis sessions").hits

    assert hit.metadata["stale"] is True
    assert hit.metadata["days_since"] == 424


@pytest.mark.parametrize("question", ["", "   ", "\n", "???"])
def test_an_empty_question_returns_recent_memories(fabric: Fabric, question: str) -> None:
    remember(fabric.memory, "Old", by=USER._replace(at="2026-01-01T00:00:00.000Z"))
    remember(fabric.memory, "New", by=USER._replace(at="2026-02-28T00:00:00.000Z"))

    answer = fabric.recall(question, limit=5)

    assert [hit.text for hit in answer.hits][:2] == ["New", "Old"]


def test_a_filter_without_words_returns_recent_matching_memories(fabric: Fabric) -> None:
    remember(fabric.memory, "Use tabs", type="preference")
    remember(fabric.memory, "Use Redis")

    assert [hit.text for hit in fabric.recall("type:preference").hits] == ["Use tabs"]


def test_only_results_that_match_the_filters_are_returned(fabric: Fabric) -> None:
    remember(fabric.memory, "Use Redis for sessions")
    remember(fabric.memory, "Prefer Redis streams", type="preference", domain="messaging")

    def texts(question: str, filters: Filters | None = None) -> list[str]:
        return [hit.text for hit in fabric.recall(question, filters=filters).hits]

    assert texts("redis type:preference") == ["Prefer Redis streams"]
    assert texts("redis domain:messaging") == ["Prefer Redis streams"]
    assert texts("redis", Filters(types=("decision",))) == ["Use Redis for sessions"]
    assert texts("redis domain:nowhere") == []


def test_an_answer_without_results_still_shows_the_filter(fabric: Fabric) -> None:
    answer = answer_as_json(fabric.recall("redis expert_domain:code_reviewer"))

    assert answer["label"] == "[Domain-Filtered Memory (expert_domain=code_reviewer)]"
    assert answer["total_results"] == 0


def test_only_results_with_the_exact_phrase_are_returned(fabric: Fabric) -> None:
    remember(fabric.memory, "The session cache lives in Redis")
    remember(fabric.memory, "The cache of a session expires")

    [hit] = fabric.recall('"session cache"').hits

    assert hit.text == "The session cache lives in Redis"


def test_the_limit_and_the_maximum_from_the_environment_are_respected(tmp_path: Path) -> None:
    memory = open_memory(tmp_path, MEMORY_FABRIC_MAX_RESULTS="3")
    for i in range(8):
        remember(memory, f"Redis rule {'abcdefgh'[i] * 5} holds {'hgfedcba'[i] * 4}")

    fabric = Fabric(memory, NOW)

    assert len(fabric.recall("redis rule", limit=50).hits) == 3
    assert len(fabric.recall("redis rule", limit=2).hits) == 2
    assert fabric.recall("redis rule", limit=0).hits == ()
    memory.close()


def test_the_deduplication_threshold_is_read_from_the_environment(tmp_path: Path) -> None:
    memory = open_memory(
        tmp_path, MEMORY_FABRIC_DEDUP_THRESHOLD="0.3", MEMORY_FABRIC_BOOST_FACTOR="1.0"
    )
    remember(memory, "Redis keeps the sessions warm")
    remember(memory, "Redis keeps the sessions warm overnight")

    assert len(Fabric(memory, NOW).recall("redis sessions").hits) == 1
    memory.close()


def test_a_prompt_gets_a_memory_block_with_the_fact_and_its_id(fabric: Fabric) -> None:
    record = remember(
        fabric.memory,
        "Use cursor-based pagination for all list endpoints",
        why="it scales",
        names=["cursor-pagination"],
    )

    injection = fabric.inject_for_prompt("Implement pagination for the users endpoint")

    assert injection.ids == (f"record:{record.id}",)
    assert injection.text.startswith(OPEN_FENCE + "\n")
    assert injection.text.endswith("\n" + CLOSE_FENCE)
    assert "cursor-based pagination for all list endpoints — because it scales" in injection.text
    assert record.id[-8:] in injection.text


def test_a_question_typed_as_a_prompt_gets_the_memory_that_answers_it(fabric: Fabric) -> None:
    remember(
        fabric.memory,
        "Use cursor-based pagination for all list endpoints",
        names=["cursor-pagination"],
    )

    question = "What pagination approach did database-engineer recommend?"

    assert "cursor-based" in fabric.inject_for_prompt(question).text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "yes, continue",
        "fix the typo in the README",
        "write a haiku about the sea",
        "what's the capital of France?",
        "make the logo bigger",
        "set the window title",
    ],
)
def test_a_prompt_unrelated_to_any_memory_gets_none(fabric: Fabric, text: str) -> None:
    remember(fabric.memory, "Use cursor-based pagination for all list endpoints")
    remember(fabric.memory, "PostgreSQL for analytics", why="we need window functions")
    remember(fabric.memory, "Auth tokens expire after 15 minutes")

    injection = fabric.inject_for_prompt(text)

    assert injection.text == ""
    assert injection.ids == ()


def test_a_memory_already_shown_to_the_session_is_not_injected_again(fabric: Fabric) -> None:
    record = remember(fabric.memory, "Use Redis for the session cache", names=["Redis"])
    prompt = "how does the session cache use Redis?"

    assert fabric.inject_for_prompt(prompt).ids
    assert not fabric.inject_for_prompt(prompt, seen={f"record:{record.id}"}).ids
    assert not fabric.inject_for_prompt(prompt, shown={record.id}).ids


def test_the_injected_text_stays_within_the_budget_of_a_prompt(fabric: Fabric) -> None:
    for i in range(12):
        remember(fabric.memory, f"Redis session cache {i} " + f"{'xyzuvw'[i % 6] * 5}{i} " * 60)

    injection = fabric.inject_for_prompt("redis session cache")

    assert 0 < len(injection.text) <= 2000


def test_a_prompt_about_relationships_gets_matching_relations(fabric: Fabric) -> None:
    graph = {"entities": [{"name": n, "entityType": "component", "observations": []} for n in "ab"]}
    fabric.memory.write("create_entities", graph, USER)
    edge = {"from": "billing-service", "to": "ledger-store", "relationType": "depends_on"}
    fabric.memory.write("create_relations", {"relations": [edge]}, USER)

    injection = fabric.inject_for_prompt("what depends on ledger-store?")

    assert "billing-service depends on ledger-store" in injection.text


def test_a_database_engineer_subagent_gets_memories_about_databases(fabric: Fabric) -> None:
    remember(fabric.memory, "The schema lives in one migration a release", names=["PostgreSQL"])
    remember(fabric.memory, "Buttons are rounded", names=["React"])

    injection = fabric.inject_for_agent("database-engineer")

    assert "one migration a release" in injection.text
    assert "Buttons" not in injection.text


def test_a_subagent_gets_memories_about_its_task_first(fabric: Fabric) -> None:
    remember(fabric.memory, "The schema lives in one migration a release", names=["PostgreSQL"])
    remember(fabric.memory, "Invoices are numbered without gaps", names=["invoices"])

    injection = fabric.inject_for_agent(
        "database-engineer", ["Add numbered invoices to the ledger"]
    )

    assert injection.text.index("without gaps") < injection.text.index("one migration")
    assert len(injection.text) <= 1200


def test_a_general_purpose_agent_without_a_task_gets_no_memory(fabric: Fabric) -> None:
    remember(fabric.memory, "The schema lives in one migration a release", names=["PostgreSQL"])

    assert fabric.inject_for_agent("general-purpose").text == ""


def test_recall_finds_a_decision_stored_from_a_statement(fabric: Fabric) -> None:
    said = stated(fabric.memory, "We decided to use PostgreSQL for the analytics DB.")
    stored, _ = state(fabric.memory, said, USER)

    assert stored
    assert fabric.recall("which database for analytics").hits[0].id == f"record:{stored.id}"


def test_json_results_include_relevance_category_and_the_time_of_relations(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    pagination_graph(memory)
    remember(memory, "Cursors are opaque to clients", category="api")
    fabric = Fabric(memory, NOW)

    told = answer_as_json(fabric.recall("what does the database-engineer recommend?"))
    edges = [r for r in told["results"] if r["metadata"].get("entityType") == "relation"]
    (record,) = answer_as_json(fabric.recall("opaque cursors"))["results"][:1]

    assert edges
    assert all(edge["timestamp"] == USER.at for edge in edges)
    assert all(0 < result["relevance"] <= 1 for result in told["results"])
    assert record["metadata"]["category"] == "api"
    memory.close()


def test_a_prompt_with_a_pasted_log_gets_the_fix_of_its_error(fabric: Fabric) -> None:
    fix = remember(
        fabric.memory,
        '"ESLint couldn\'t find an eslint.config file" means that the package needs its own config',
        type="solution",
    )
    remember(fabric.memory, "Packages are linted in the monorepo", names=["ESLint"])
    log = """> turbo run lint
    at Object.<anonymous> (/app/lint.js:3:1)
    at Module._compile (node:internal:1)
[12:00:01] cache miss, executing dcfe64d4484e9adf
Oops! Something went wrong! :(
ESLint couldn't find an eslint.config.(js|mjs|cjs) file.
    at async main (/app/cli.js:9:2)
    at async run (/app/cli.js:19:2)
{ "exit": 2 };
"""

    assert fabric.inject_for_prompt(log).ids == (f"record:{fix.id}",)


@pytest.mark.parametrize(
    "text", ["What does zephyr-gateway do?", "Does the retry budget of zephyr-gateway suffice?"]
)
def test_a_prompt_gets_observations_only_of_the_entity_it_mentions(
    fabric: Fabric, text: str
) -> None:
    entity = {
        "name": "zephyr-gateway",
        "entityType": "service",
        "observations": ["Has a retry budget of ten percent", "Terminates TLS"],
    }
    fabric.memory.write("create_entities", {"entities": [entity]}, USER)

    assert "retry budget of ten percent" in fabric.inject_for_prompt(text).text
    assert fabric.inject_for_prompt("Does the retry budget of the mailer suffice?").text == ""


class LateAfterFacts(Fabric):
    """Recall that has used up the event's time when it has found the facts."""

    def hits_to_inject(self, text: str, **known: Any) -> list[Hit]:
        hits = super().hits_to_inject(text, **known)
        deadline.current().ends_s = 0.0
        return hits


def test_facts_are_injected_although_no_time_is_left_to_search_for_an_earlier_task(
    memory: Memory,
) -> None:
    remember(memory, "The sprocket of the carburettor gets synthetic oil")
    texts = ["Mend the sprocket of the carburettor"]
    texts += [f"Which oil, lorry {n}?" for n in range(1500)]
    about = {"role": "user", "created_at": "2026-02-01T10:00:00.000Z"}
    turns = [about | {"id": str(n), "session": f"s{n}", "text": x} for n, x in enumerate(texts)]
    memory.write("add_episodes", {"episodes": turns}, Provenance("prompt", "user"))

    with deadline.running(deadline.Deadline(60)):
        given = LateAfterFacts(memory, NOW).inject_for_prompt(
            "Which oil gets the sprocket of the carburettor?", session="now", begins=True
        )

    assert "synthetic oil" in given.text
