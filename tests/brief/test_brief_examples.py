"""The numbered examples of the brief (BR-1 … BR-19), each through what a user can call.

Those with a test elsewhere, too: BR-3 to BR-5 and BR-10 as laws of their stage (tests/recall), BR-9
in the store (tests/store).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulated_client import SimulatedClient


def entities(*items: tuple[str, str, list[str]]) -> dict[str, Any]:
    """A call of another memory server that the bridge mirrors: one way into the graph."""
    return {
        "tool_name": "mcp__other__create_entities",
        "tool_input": {
            "entities": [
                {"name": name, "entityType": kind, "observations": texts}
                for name, kind, texts in items
            ]
        },
    }


def relations(*items: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "tool_name": "mcp__other__create_relations",
        "tool_input": {
            "relations": [{"from": s, "relationType": kind, "to": t} for s, kind, t in items]
        },
    }


@pytest.fixture
def pagination(client: SimulatedClient) -> SimulatedClient:
    """The graph of the brief's pagination example."""
    client.fire(
        "PostToolUse",
        **entities(
            ("database-engineer", "agent", ["Looks after schemas"]),
            ("cursor-pagination", "pattern", ["Use cursor-based pagination for scalability"]),
            ("opaque-tokens", "pattern", ["Base64 of the last key"]),
        ),
    )
    client.fire(
        "PostToolUse",
        **relations(
            ("database-engineer", "recommends", "cursor-pagination"),
            ("cursor-pagination", "uses", "opaque-tokens"),
        ),
    )
    return client


def test_br1_a_question_finds_an_entity_by_words_from_several_observations(
    client: SimulatedClient,
) -> None:
    client.fire(
        "PostToolUse",
        **entities(
            (
                "api-guidelines",
                "pattern",
                ["The database-engineer wants keyset paging", "pagination is by cursor"],
            )
        ),
    )

    answer = client.recall("What pagination approach did database-engineer recommend?")

    assert "api-guidelines" in [name for hit in answer["results"] for name in hit["entities"]]


def test_br2_br6_an_answer_of_recall_has_the_required_fields(pagination: SimulatedClient) -> None:
    answer = pagination.recall("cursor-pagination scalability")

    best = answer["results"][0]
    assert answer["query"] == "cursor-pagination scalability"
    assert answer["total_results"] == len(answer["results"])
    assert sum(answer["sources"].values()) == answer["total_results"]
    assert best["id"] == "graph:cursor-pagination"
    assert best["text"] == "Use cursor-based pagination for scalability"
    assert best["source"] == "graph"
    assert best["timestamp"].endswith("Z")
    assert 0 < best["score"] <= 1
    assert best["entities"][0] == "cursor-pagination"
    assert best["metadata"]["entityType"] == "pattern"
    assert {
        "from": "database-engineer",
        "relation": "recommends",
        "to": "cursor-pagination",
    } in best["graph_relations"]
    scores = [hit["score"] for hit in answer["results"]]
    assert scores == sorted(scores, reverse=True)


def test_br3_a_statement_in_two_sessions_yields_one_cross_validated_result(
    client: SimulatedClient,
) -> None:
    text = "Use cursor based pagination for every list endpoint of the public API"
    client.fire("PostToolUse", "session-1", **entities(("paging-a", "pattern", [text])))
    client.fire("PostToolUse", "session-2", **entities(("paging-b", "pattern", [text + "!"])))

    answer = client.recall("cursor pagination list endpoint")

    (hit,) = [h for h in answer["results"] if "list endpoint" in h["text"]]
    assert hit["metadata"]["cross_validated"] is True
    assert {"paging-a", "paging-b"} <= set(hit["entities"])


def test_br4_a_result_includes_the_relations_of_entities_it_mentions(
    client: SimulatedClient,
) -> None:
    client.fire(
        "PostToolUse",
        **entities(
            ("import-job", "component", ["The import job writes to pgvector in batches"]),
            ("pgvector", "technology", ["supports HNSW indexing"]),
        ),
    )
    client.fire("PostToolUse", **relations(("pgvector", "requires", "PostgreSQL")))

    answer = client.recall("how does the import job write in batches")

    best = answer["results"][0]
    assert best["metadata"]["cross_referenced"] is True
    assert {"from": "pgvector", "relation": "requires", "to": "PostgreSQL"} in best[
        "graph_relations"
    ]


def test_br5_a_cross_validated_memory_ranks_before_a_similar_memory(
    client: SimulatedClient,
) -> None:
    shared = "The nightly export compresses its archives with zstd before upload"
    client.fire("PostToolUse", "session-1", **entities(("export-a", "component", [shared])))
    client.fire("PostToolUse", "session-2", **entities(("export-b", "component", [shared + "."])))
    client.fire(
        "PostToolUse",
        "session-3",
        **entities(
            (
                "export-c",
                "component",
                ["The nightly export writes its archives as zstd, never before noon"],
            )
        ),
    )

    answer = client.recall("nightly export zstd archives")

    assert answer["results"][0]["metadata"].get("cross_validated") is True


def test_br7_entities_and_relations_are_extracted_from_a_sentence(client: SimulatedClient) -> None:
    done = client.command(
        "remember", "--json", "database-engineer uses pgvector for RAG applications"
    )

    stored = json.loads(done.stdout)
    record = stored.get("record", stored)
    assert {(e["name"], e["type"]) for e in record["entities"]} >= {
        ("database-engineer", "agent"),
        ("pgvector", "technology"),
        ("RAG", "pattern"),
    }
    assert {(r["from"], r["relation"], r["to"]) for r in record["relations"]} >= {
        ("database-engineer", "uses", "pgvector"),
        ("pgvector", "used_for", "RAG"),
    }


def test_br8_a_relationship_question_traverses_the_graph_and_shows_the_path(
    pagination: SimulatedClient,
) -> None:
    answer = pagination.recall("What did database-engineer recommend about pagination?")

    assert [
        {"from": "database-engineer", "relation": "recommends", "to": "cursor-pagination"},
        {"from": "cursor-pagination", "relation": "uses", "to": "opaque-tokens"},
    ] in answer["paths"]


def test_br9_spelling_variants_share_one_entity_without_dangling_relations(
    client: SimulatedClient,
) -> None:
    client.fire("PostToolUse", **entities(("cursor_pagination", "pattern", ["known already"])))
    client.fire("PostToolUse", **relations(("list-api", "uses", "cursor_pagination")))
    client.command("remember", "We decided to use cursor-pagination because offsets time out.")

    memory = client.memory()
    (project,) = [db for db in memory.databases() if db.kind == "project"]
    names = [row[0] for row in project.rows("SELECT name FROM entities")]
    dangling = project.rows(
        "SELECT 1 FROM relations WHERE source NOT IN (SELECT id FROM entities) "
        "OR target NOT IN (SELECT id FROM entities)"
    )
    memory.close()
    assert "cursor_pagination" in names
    assert "cursor-pagination" not in names
    assert "list-api" in names
    assert dangling == []


def test_br10_an_old_decision_is_found_and_flagged_as_stale(client: SimulatedClient) -> None:
    client.command("remember", "We decided to use Kafka for events because it scales.")
    memory = client.memory()
    (project,) = [db for db in memory.databases() if db.kind == "project"]
    with project.transaction() as connection:
        connection.execute("UPDATE records SET created_at = '2020-01-01T00:00:00.000Z'")
    memory.close()

    answer = client.recall("Kafka events type:decision")

    best = answer["results"][0]
    assert "Kafka" in best["text"]
    assert best["metadata"]["stale"] is True
    assert best["metadata"]["days_since"] > 90


def test_br15_remember_accepts_options_success_failed_and_global(client: SimulatedClient) -> None:
    success = client.command(
        "remember", "--json", "--success", "Cursor-based pagination scales for 2M+ rows"
    )
    failed = client.command(
        "remember", "--json", "--failed", "Offset pagination caused timeouts at 1M rows"
    )
    everywhere = client.command(
        "remember", "--json", "--global", "Always validate input at API boundaries"
    )

    kinds = [
        (r["type"], r["outcome"], r["scope"])
        for r in (
            json.loads(done.stdout).get("record", json.loads(done.stdout))
            for done in (success, failed, everywhere)
        )
    ]
    assert kinds[0] == ("pattern", "success", "team")
    assert kinds[1] == ("antipattern", "failed", "team")
    assert kinds[2][2] == "global"


def test_br16_a_decision_stores_the_chosen_and_the_rejected_option(client: SimulatedClient) -> None:
    client.command("remember", "We chose PostgreSQL over MongoDB because we need transactions.")

    (record,) = client.records()
    assert record.type == "decision"
    assert record.alternatives == ("MongoDB",)
    assert "transactions" in record.why
    assert "MongoDB" not in record.why
    assert ("PostgreSQL", "chose_over", "MongoDB") in [tuple(r) for r in record.relations]
    assert ("PostgreSQL", "technology") in [(e.name, e.type) for e in record.entities]


def test_br17_status_reports_each_tier_and_detects_a_corrupt_line(client: SimulatedClient) -> None:
    client.command("remember", "We decided to use Redis for sessions because of speed.")
    client.fire("Stop", last_assistant_message="ok")
    healthy = json.loads(client.command("status", "--json").stdout)
    with (client.project / ".claude" / "memory" / "decisions.jsonl").open("a") as stream:
        stream.write("{torn\n")
    degraded = json.loads(client.command("status", "--json").stdout)

    def states(status: dict[str, Any]) -> dict[str, str]:
        tiers = status["tiers"]
        rows = tiers.values() if isinstance(tiers, dict) else tiers
        return {row.get("tier") or row.get("name"): row["state"] for row in rows}

    assert set(states(healthy).values()) == {"healthy"}
    assert "degraded" in states(degraded).values()


def test_br18_a_reasoned_choice_of_a_known_technology_is_marked_generalizable(
    client: SimulatedClient,
) -> None:
    text = "We decided to use Redis instead of Memcached for caching because it persists."
    client.command("remember", text)

    (record,) = client.records()
    assert record.generalizable
    assert record.scope == "team"


def test_br19_recall_with_a_domain_filter_returns_only_memories_of_that_domain(
    client: SimulatedClient,
) -> None:
    for domain, text in (
        ("code_reviewer", "Always name branches after their issue"),
        ("legal_advisor", "Always name the clause that a branch of a contract rests on"),
    ):
        assert client.command("remember", text, "--domain", domain).returncode == 0

    asked = ("recall", "--json", "how to name a branch", "--expert-domain", "code_reviewer")
    answer = json.loads(client.command(*asked).stdout)
    named = client.recall("how to name a branch in the legal_advisor domain")
    tagged = client.command(*asked, "--project", "frontend")

    label = "[Domain-Filtered Memory (expert_domain={})]"
    assert answer["label"] == label.format("code_reviewer")
    assert {hit["metadata"]["domain"] for hit in answer["results"]} == {"code_reviewer"}
    assert named["label"] == label.format("legal_advisor")
    assert {hit["metadata"]["domain"] for hit in named["results"]} == {"legal_advisor"}
    assert tagged.returncode == 3
    assert json.loads(tagged.stdout)["notes"] == [
        "nothing was found under the filter (expert_domain=code_reviewer, project=frontend)"
    ]


@pytest.mark.parametrize(
    ("question", "intent", "first"),
    [
        ("Which import batch size did we choose?", "decision", "decision"),
        ("What is the problem with the import batch size?", "problem", "problem"),
        ("Which import batch size do I prefer?", "preference", "preference"),
    ],
)
def test_br1_the_type_that_a_question_asks_for_ranks_first_among_equal_memories(
    client: SimulatedClient, question: str, intent: str, first: str
) -> None:
    for kind in ("problem", "preference", "decision", "problem", "preference"):
        texts = {
            "decision": "The import batch size stays at 500 rows",
            "problem": "The import batch size exceeds 500 megabytes",
            "preference": "The import batch size reads well as 500",
        }
        client.command("remember", texts[kind], "--type", kind)

    answer = client.recall(question)

    assert answer["intent"] == intent
    assert answer["results"][0]["metadata"]["type"] == first


def test_br2_an_entity_is_one_result_with_all_its_observations(client: SimulatedClient) -> None:
    seen = ["reads batches of invoices", "writes batches of receipts", "sleeps between batches"]
    client.fire("PostToolUse", **entities(("import-job", "component", seen)))

    answer = client.recall("batches of invoices")
    newest = client.recall("")
    shown = client.command("recall", "batches of invoices").stdout

    for hits in (answer["results"], newest["results"]):
        assert [hit["id"] for hit in hits] == ["graph:import-job"]
    (hit,) = answer["results"]
    assert sorted([hit["text"], *hit["metadata"]["also_observed"]]) == sorted(seen)
    assert "writes batches of receipts" in " ".join(shown.split())


def test_br3_a_statement_repeated_in_one_session_is_cross_validated(
    client: SimulatedClient,
) -> None:
    text = "Use cursor based pagination for every list endpoint of the public API"
    client.fire("PostToolUse", **entities(("paging-a", "pattern", [text])))
    client.fire("PostToolUse", **entities(("paging-b", "pattern", [text + "!"])))

    (hit,) = client.recall("cursor pagination list endpoint")["results"]

    assert hit["metadata"]["cross_validated"] is True


def test_br3_a_lower_similarity_threshold_merges_more_results(client: SimulatedClient) -> None:
    client.fire(
        "PostToolUse",
        **entities(
            ("paging-a", "pattern", ["Use cursor pagination for list endpoints"]),
            ("paging-b", "pattern", ["Cursor pagination keeps list pages stable"]),
        ),
    )
    apart = client.recall("cursor pagination list")["results"]
    client.environ["MEMORY_FABRIC_DEDUP_THRESHOLD"] = "0.2"

    merged = client.recall("cursor pagination list")["results"]

    assert [len(apart), len(merged)] == [2, 1]
    assert merged[0]["metadata"]["cross_validated"] is True


def test_br16_the_phrase_from_now_on_is_not_parsed_as_a_rejected_option(
    client: SimulatedClient,
) -> None:
    client.fire("UserPromptSubmit", prompt="From now on add a test to every mended fault.")
    client.fire("Stop", last_assistant_message="ok")
    client.command("remember", "From now on use pnpm over npm, instead of that.")

    typed, stated = sorted(client.records(), key=lambda record: record.source, reverse=True)
    assert typed.alternatives == ()
    assert stated.alternatives == ("npm",)


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Offset pagination caused timeouts at 1M rows", "offset-pagination"),
        ("Polling every second overloaded the API", "polling-every-second"),
    ],
)
def test_br15_a_failure_becomes_an_antipattern_in_the_graph(
    client: SimulatedClient, text: str, failed: str
) -> None:
    done = client.command("remember", "--json", "--failed", text)

    record = json.loads(done.stdout)
    assert {"name": failed, "type": "antipattern"} in [
        {key: entity[key] for key in ("name", "type")} for entity in record["entities"]
    ]


def test_br7_a_sentence_with_recommends_becomes_a_relation(client: SimulatedClient) -> None:
    done = client.command("remember", "--json", "The vendor recommends nightly backups")

    assert json.loads(done.stdout)["relations"] == [
        {"from": "vendor", "relation": "recommends", "to": "nightly-backups"}
    ]


def test_br9_a_missing_relation_entity_is_created_with_its_type(client: SimulatedClient) -> None:
    client.fire(
        "PostToolUse",
        **relations(
            ("database-engineer", "recommends", "pgvector"), ("ledger", "uses", "pgvector")
        ),
    )

    memory = client.memory()
    (project,) = [db for db in memory.databases() if db.kind == "project"]
    types = dict(project.rows("SELECT name, type FROM entities"))
    memory.close()
    assert types == {"database-engineer": "agent", "pgvector": "technology", "ledger": "unknown"}
