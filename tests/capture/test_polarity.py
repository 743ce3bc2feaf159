"""A relation has the polarity of its sentence, or is not made; and it ends with its record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_fabric.capture import remember
from memory_fabric.capture.clauses import is_denied, is_left
from memory_fabric.capture.extract import extract
from memory_fabric.models import Entity, Record
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import NOW, USER, open_memory
from simulated_client import SimulatedClient

DENIED = [
    "We decided not to use GraphQL",
    "We will not use GraphQL",
    "We won't use GraphQL",
    "We never use GraphQL here",
    "Avoid GraphQL",
    "Wir verwenden kein GraphQL",
    "Wir nutzen GraphQL nicht mehr",
    "Nous n'utilisons plus GraphQL",
    "On n'utilise jamais GraphQL",
    "No usaremos GraphQL",
    "Nunca usamos GraphQL",
    "Não vamos usar GraphQL",
    "不再使用 GraphQL",
    "禁止使用 GraphQL",
    "GraphQLは使わない",
    "GraphQLを使いません",
    "GraphQL 사용하지 않기로 결정",
]
LEFT = [
    "Drop GraphQL from the API",
    "We decided to stop using GraphQL",
    "Remove GraphQL",
    "We move away from GraphQL",
    "We decided to migrate from GraphQL",
    "We rejected GraphQL",
    "GraphQL fliegt raus",
    "On abandonne GraphQL",
    "Dejamos de usar GraphQL",
    "放弃 GraphQL",
    "GraphQLをやめる",
    "GraphQL 폐기하기로 결정",
]
MEANT = [
    "We decided to use GraphQL",
    "Use GraphQL, not REST, for the API",
    "No, we use GraphQL here",
    "Wir nehmen GraphQL statt REST",
    "使用 GraphQL 而不是 REST",
]


@pytest.mark.parametrize("text", DENIED)
def test_a_negation_is_recognised_in_every_language_of_capture(text: str) -> None:
    assert is_denied(text)


@pytest.mark.parametrize("text", LEFT)
def test_moving_away_from_a_tool_is_recognised_in_every_language_of_capture(text: str) -> None:
    assert is_left(text)


@pytest.mark.parametrize("text", MEANT)
def test_a_comparison_or_an_answer_containing_no_is_not_a_negation(text: str) -> None:
    assert not is_denied(text)
    assert not is_left(text)


@pytest.mark.parametrize("text", [*DENIED, *LEFT, "Meet in Berlin", "Hire Alice Smith as lead"])
def test_rejected_tools_places_and_people_create_no_choice_relation(
    text: str, tmp_path: Path
) -> None:
    memory = open_memory(tmp_path)
    entities, relations = extract(text)
    record = Record("decision", text, entities=entities, relations=relations, confidence=0.9)

    stored, _ = remember.state(memory, record, USER)

    assert stored is not None
    assert stored.relations == ()
    memory.close()


def test_a_decision_to_use_something_yields_a_choice_relation(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    record = Record("decision", "Use GraphQL", entities=(Entity("GraphQL", "technology"),))

    stored, _ = remember.state(memory, record._replace(confidence=0.9), USER)

    assert stored is not None
    assert [(r.type, r.target) for r in stored.relations] == [("chose", "GraphQL")]
    memory.close()


@pytest.mark.parametrize(
    "text",
    [
        "billing-service never uses Redis",
        "billing-service uses no Redis",
        "billing-service does not depend on Redis",
        "We dropped Redis for session-caching",
    ],
)
def test_a_negated_or_abandoned_use_creates_no_relation(text: str) -> None:
    assert extract(text)[1] == ()


def test_a_negation_in_the_reason_does_not_negate_the_clause() -> None:
    text = "billing-service uses Redis because Postgres cannot keep up"

    assert [tuple(r) for r in extract(text)[1]] == [("billing-service", "uses", "Redis")]


@pytest.mark.parametrize(
    "text",
    [
        "Use SQLite instead of DuckDB for image-service",
        "Use SQLite rather than DuckDB for image-service",
        "We prefer SQLite to DuckDB for image-service",
        "We chose SQLite over DuckDB for image-service",
    ],
)
def test_the_purpose_of_a_choice_is_linked_to_chosen_and_rejected_options(text: str) -> None:
    assert [tuple(r) for r in extract(text)[1]] == [
        ("SQLite", "chose_over", "DuckDB"),
        ("SQLite", "used_for", "image-service"),
        ("DuckDB", "rejected_for", "image-service"),
    ]


def test_a_relation_ends_when_its_record_is_replaced_or_forgotten(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    redis = say(memory, "We decided to use Redis for sessions.")
    assert chosen(memory) == {"Redis"}

    say(memory, "We decided to use Kafka for events.")
    say(memory, "We moved from Redis to Valkey for sessions.", instead_of=[redis])
    assert chosen(memory) == {"Kafka", "Valkey"}

    gone = memory.find_records("what LIKE '%Kafka%'")
    memory.forget([record.id for record in gone], USER)
    assert chosen(memory) == {"Valkey"}
    memory.close()


def say(memory: Memory, text: str, instead_of: Sequence[str] = ()) -> str:
    """The id of the record of a text that is said on purpose."""
    stored, _ = remember.state(memory, remember.stated(memory, text), USER, instead_of)
    assert stored is not None
    return stored.id


def chosen(memory: Memory) -> set[str]:
    """Return what recall still says that the project chose."""
    hits = Fabric(memory, NOW).recall("project Redis Kafka Valkey").hits
    said = {r.target for hit in hits for r in hit.graph_relations if r.type == "chose"}
    return said | {
        hit.entities[1] for hit in hits if " chose " in hit.text and hit.source == "graph"
    }


def test_hooks_never_inject_the_opposite_of_a_decision(tmp_path: Path) -> None:
    client = SimulatedClient(tmp_path)
    memory = client.memory()
    say(memory, "We decided not to use GraphQL because the clients cannot cache it.")
    memory.close()

    told = client.prompt("Should the shop use GraphQL for its API?", "session-2")

    assert "not to use GraphQL" in told
    assert "chose GraphQL" not in told
