"""Records that contradict a new one: few and certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.capture.contradiction import (
    contradicted,
    contradicting,
    is_choice_against,
)
from memory_fabric.capture.statement import statement
from memory_fabric.models import Record
from recall.given import USER, open_memory

CONTRADICTING = [
    ("Use npm", "Use pnpm instead of npm"),
    ("We decided on pnpm instead of npm", "Use npm"),
    ("Always use tabs", "Never use tabs"),
    ("Use Redis for sessions", "Do not use Redis"),
    ("Use Redis for sessions", "We chose Memcached over Redis for sessions"),
    ("Always store secrets in the repository", "Never store secrets in the repository"),
    ("Answers are given in German", "Never answer in German"),
    ("We use RabbitMQ for the events", "Use Kafka instead of RabbitMQ for events"),
    ("Deploy on Fridays", "Never deploy on Fridays"),
    ("The user runs the dev server; never start the dev server", "Always start the dev server"),
]
COMPATIBLE = [
    ("Use Redis for the rate limiter", "Do not use Redis for sessions"),
    # An exception is no contradiction.
    ("Use PostgreSQL", "Never use PostgreSQL LISTEN/NOTIFY"),
    ("Use tabs", "Never use tabs in Python files"),
    ("Use cursor pagination instead of offset pagination", "Never use offset pagination"),
    ("Use pnpm, not npm", "Use pnpm"),
    ("Use Kafka instead of Redis for events", "Use Redis for sessions"),
    ("Never log request bodies", "Always log request ids"),
    ("Never push to main", "Push the tags to origin"),
    ("Do not commit generated files", "Commit after each subtask"),
    ("Use npm for now", "Use pnpm instead of npm"),
    ("Do we use npm?", "Use pnpm instead of npm"),
    ("Always store secrets in Vault", "Never store secrets in the repository"),
]


def said(text: str) -> Record:
    return statement(text)._replace(id=f"id of {text}", created_at=USER.at)


@pytest.mark.parametrize(("one", "other"), CONTRADICTING)
def test_opposite_choices_on_one_subject_contradict(one: str, other: str) -> None:
    assert contradicted(said(one), [said(other)]) == [said(other)]
    assert contradicted(said(other), [said(one)]) == [said(one)]
    assert is_choice_against(said(one), said(other))


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_statements_that_can_both_be_true_do_not_contradict(one: str, other: str) -> None:
    assert contradicted(said(one), [said(other)]) == []
    assert contradicted(said(other), [said(one)]) == []


def test_a_recorded_failure_contradicts_a_decision_but_is_not_itself_a_choice() -> None:
    failed = statement("Redis for sessions lost logins", type="antipattern")
    chosen = said("We decided to use Redis for sessions")

    assert contradicted(failed._replace(id="f"), [chosen]) == [chosen]
    assert not is_choice_against(failed, chosen)


def test_contradictions_with_local_or_forgotten_records_are_not_reported(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    old = memory.remember(statement("Use npm"), USER)
    memory.remember(statement("Use npm for the docs")._replace(scope="local"), USER)
    new = statement("Use pnpm instead of npm")._replace(session="another")
    assert old is not None

    found = contradicting(memory, new)
    memory.forget([old.id], USER)
    afterwards = contradicting(memory, new)
    memory.close()

    assert [record.id for record in found] == [old.id]
    assert afterwards == []
