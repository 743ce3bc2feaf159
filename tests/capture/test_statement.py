"""The record of one text that was said on purpose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.capture.statement import NOTE, STATED, statement
from memory_fabric.models import RECORD_TYPES, TYPE_ALIASES


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Use cursor-based pagination for all list endpoints", "decision"),
        ("We decided to always run the linter", "decision"),
        ("We moved from MongoDB to PostgreSQL for the orders", "decision"),
        ("The team chose Redis", "decision"),
        ("We will use Kafka for events", "decision"),
        ("Always validate input at API boundaries", "constraint"),
        ("Never use offset pagination, use cursors", "constraint"),
        ("Tests must not sleep", "constraint"),
        ("We will not use cron jobs", "constraint"),
        ("Only the release manager merges", "constraint"),
        ("I prefer tabs over spaces", "preference"),
        ("I'd rather read short answers", "preference"),
        ("The loop was fixed by removing the handler", "solution"),
        ("The release is blocked by the audit", "blocker"),
        ("Offset pagination failed at 1M rows", "antipattern"),
        ("The nightly export failed", "problem"),
        ("Blocker: the vendor has no sandbox key", "blocker"),
        ("The only blocker is the firewall change", "blocker"),
        ("Problem: invoices are rounded twice", "problem"),
        ("Known issue: the map is empty on Safari", "problem"),
        ("There is an issue with the upload form", "problem"),
        ("The importer has a memory problem", "problem"),
        ("The problem with the feed is its encoding", "problem"),
        ("There is no problem with the feed", "note"),
        ("The issue tracker is at issues.example.org", "note"),
        ("Do we deploy on Fridays?", "question"),
        ("Is it so？", "question"),
        ("We prefer and decided on Redis", "preference"),
        ("We decided, as I prefer tabs", "decision"),
        ("The staging box is called zephyr", "note"),
        ("database-engineer uses pgvector for RAG applications", "note"),
        # The reason does not tell the type.
        ("Redis keeps the sessions because logins must never get lost", "note"),
        ("Wir nehmen Redis statt Kafka, weil es schneller ist", "decision"),
        ("Niemals auf main pushen", "constraint"),
        ("Siempre validamos la entrada", "constraint"),
        ("Je préfère les réponses courtes", "preference"),
        ("我们决定使用 Redis 而不是 Kafka", "decision"),
        ("必须先运行测试", "constraint"),
        ("テストを必ず実行する", "constraint"),
        ("Redis를 사용하기로 결정", "decision"),
    ],
)
def test_the_record_type_is_inferred_from_the_wording(text: str, kind: str) -> None:
    assert statement(text).type == kind


@pytest.mark.parametrize(
    ("text", "why", "alternatives"),
    [
        (
            "We chose PostgreSQL over MongoDB because we need transactions.",
            "we need transactions",
            ("MongoDB",),
        ),
        ("We use pnpm. Because npm is slow.", "npm is slow", ()),
        ("Offsets time out, so we use cursors", "Offsets time out", ()),
        ("Since joins are slow, we keep one table.", "joins are slow", ()),
        ("Use spaces instead of tabs", "", ("tabs",)),
        ("Wir nehmen Redis statt Kafka, weil es schneller ist", "es schneller ist", ("Kafka",)),
        ("The staging box is called zephyr", "", ()),
    ],
)
def test_the_reason_and_the_alternatives_are_read_from_the_text(
    text: str, why: str, alternatives: tuple[str, ...]
) -> None:
    record = statement(text)

    assert (record.what, record.why, record.alternatives) == (text, why, alternatives)


def test_explicit_arguments_override_values_found_in_the_text() -> None:
    record = statement(
        "Use Redis instead of Kafka because it is fast",
        type="preference",
        why="it is here already",
        alternatives=["RabbitMQ"],
    )

    assert (record.type, record.why) == ("preference", "it is here already")
    assert record.alternatives == ("RabbitMQ",)


@pytest.mark.parametrize(("alias", "kind"), TYPE_ALIASES.items())
def test_every_type_alias_is_mapped_to_its_record_type(alias: str, kind: str) -> None:
    assert statement("The box is zephyr", type=alias).type == kind


def test_a_reason_raises_confidence_and_names_in_it_become_entities() -> None:
    without = statement("Use pnpm")
    with_one = statement("Use pnpm", why="npm hoists packages")

    assert without.confidence == 0.9
    assert with_one.confidence == 0.95
    assert [entity.name for entity in with_one.entities] == ["pnpm", "npm"]


def test_a_choice_is_generalizable_only_with_confidence_a_known_technology_and_a_reason() -> None:
    with_reason = "Use Redis for caching because it persists"

    assert statement(with_reason).generalizable
    assert statement(with_reason, base=STATED).generalizable
    assert not statement(with_reason, base=NOTE).generalizable
    assert not statement("Use Redis for caching").generalizable
    assert not statement("Use the blue folder because it is nearer").generalizable


@given(st.text(max_size=200))
def test_a_record_of_any_text_has_that_text_unchanged(text: str) -> None:
    record = statement(text)

    assert record.what == text
    assert record.type in RECORD_TYPES
    assert 0.9 <= record.confidence <= 0.95


@pytest.mark.parametrize(
    ("text", "kind", "outcome", "entities"),
    [
        ("Offset pagination failed at 1M rows", "antipattern", "failed",
         [("offset-pagination", "antipattern")]),
        ("Redis failed for sessions", "antipattern", "failed", [("Redis", "technology")]),
        ("The edge caching failed", "problem", "neutral", []),
        ("We use Redis", "decision", "neutral", [("Redis", "technology")]),
    ],
)  # fmt: skip
def test_only_a_failed_pattern_or_technology_makes_an_antipattern(
    text: str, kind: str, outcome: str, entities: list[tuple[str, str]]
) -> None:
    record = statement(text)

    assert (record.type, record.outcome) == (kind, outcome)
    assert [(entity.name, entity.type) for entity in record.entities] == entities


def test_an_explicit_antipattern_names_what_failed_but_has_no_outcome_of_its_own() -> None:
    record = statement("Nightly polling caused lag in Kafka", type="antipattern")
    entities = {(entity.name, entity.type) for entity in record.entities}

    assert (record.type, record.outcome) == ("antipattern", "neutral")
    assert {("nightly-polling", "antipattern"), ("Kafka", "technology")} <= entities
