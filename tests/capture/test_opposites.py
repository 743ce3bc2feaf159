"""Records to the contrary: few and sure."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.capture.contradiction import MAX_SHOWN, as_line, contradicting, opposed
from memory_fabric.capture.statement import statement
from memory_fabric.models import Record
from recall.given import USER, open_memory

FAILED, WORKED, CHOSEN = "failed", "success", "neutral"


def said(text: str, outcome: str = CHOSEN, at: str = USER.at) -> Record:
    """Return a statement: an antipattern, a pattern, or whatever the text tells."""
    kinds = {FAILED: "antipattern", WORKED: "pattern"}
    told = statement(text, type=kinds.get(outcome, ""))
    return told._replace(outcome=outcome, id=f"id-{text}", created_at=at)


OFFSET_FAILED = said("Offset pagination caused timeouts at 1M rows", FAILED)
REDIS_WORKED = said("Redis works well for sessions", WORKED)

OPPOSITE = [
    (
        said("The e2e suite in parallel took 40 minutes", FAILED),
        said("The e2e suite in parallel took 5 minutes", WORKED),
    ),
    (said("Redis 7 works as a queue", WORKED), said("Redis 7 failed as a queue", FAILED)),
    (said("Redis 7 works as a queue", WORKED), said("Redis failed as a queue", FAILED)),
    (said("Use offset pagination for the exports"), OFFSET_FAILED),
    (said("Offset pagination is fine below 10k rows", WORKED), OFFSET_FAILED),
    (said("Use offset pagination for all list endpoints"), OFFSET_FAILED),
    (said("Redis for sessions lost logins on restart", FAILED), REDIS_WORKED),
    (said("Redis for sessions lost logins", FAILED), said("We decided to use Redis for sessions")),
    (
        said("Always mock the database in unit tests"),
        said("Mocking the database hid a bug", FAILED),
    ),
    (
        said("Postgres full text search was too slow", FAILED),
        said("PostgreSQL full text search is good enough", WORKED),
    ),
    (
        said("Offset pagination caused timeouts at 1M rows", WORKED)._replace(id="other"),
        OFFSET_FAILED,
    ),
]
NOT_OPPOSITE = {
    "another release": (
        said("Redis 7 works as a queue", WORKED),
        said("Redis 6 failed as a queue", FAILED),
    ),
    "another release with a letter": (
        said("Docker Compose v2 works on arm64", WORKED),
        said("Docker Compose v1 broke on arm64", FAILED),
    ),
    "another minor release": (
        said("Python 3.12 wheels exist for lxml", WORKED),
        said("Python 3.11 wheels were missing for lxml", FAILED),
    ),
    "with and without": (
        said("npm ci works on the runner with lockfile", WORKED),
        said("npm ci failed on the runner without a lockfile", FAILED),
    ),
    "another pattern": (said("Cursor-based pagination scales for 2M+ rows", WORKED), OFFSET_FAILED),
    "another pattern on the same database": (
        said("Cursor pagination in PostgreSQL scales", WORKED),
        said("Offset pagination in PostgreSQL times out", FAILED),
    ),
    "what is left for something else": (
        said("We chose cursor-based pagination over offset pagination"),
        OFFSET_FAILED,
    ),
    "a rule against it": (said("Never use offset pagination"), OFFSET_FAILED),
    "another part of the same thing": (
        said("PostgreSQL partial indexes speed up search", WORKED),
        said("PostgreSQL LISTEN/NOTIFY lost messages under load", FAILED),
    ),
    "another use of the same thing": (
        said("We decided to use Redis for the rate limiter"),
        said("Redis for sessions lost logins on restart", FAILED),
    ),
    "the same outcome": (said("Offset pagination was slow for exports", FAILED), OFFSET_FAILED),
    "only the place is shared": (
        said("Caching list endpoints at the edge halves the load", WORKED),
        said("Streaming list endpoints broke the mobile client", FAILED),
    ),
    "a note": (said("Offset pagination counts rows"), OFFSET_FAILED),
}


@pytest.mark.parametrize(("new", "old"), OPPOSITE, ids=lambda r: r.what)
def test_records_with_opposite_outcomes_on_one_subject_are_reported(
    new: Record, old: Record
) -> None:
    assert opposed(new, [old]) == [old]
    assert opposed(old, [new]) == [new]


@pytest.mark.parametrize(("new", "old"), NOT_OPPOSITE.values(), ids=NOT_OPPOSITE)
def test_records_without_opposite_outcomes_are_not_reported(new: Record, old: Record) -> None:
    assert opposed(new, [old]) == []
    assert opposed(old, [new]) == []


def test_opposites_are_limited_and_sorted_by_similarity_and_then_by_age() -> None:
    known = [
        said(f"Redis for sessions lost logins in run {n}", FAILED, at=f"2026-01-0{n}")
        for n in range(1, 6)
    ]

    found = opposed(REDIS_WORKED, known)

    assert found == known[: -MAX_SHOWN - 1 : -1]


def test_opposites_of_the_same_similarity_and_age_keep_their_order() -> None:
    known = [said(f"Redis for sessions lost logins in run {n}", FAILED) for n in (1, 2)]

    assert opposed(REDIS_WORKED, known) == known


def test_an_opposed_record_is_shown_with_date_outcome_text_and_id() -> None:
    record = OFFSET_FAILED._replace(id="0000-1a2b3c4d", created_at="2026-01-03T10:00:00Z")

    assert as_line(record) == f"earlier, 2026-01-03: failed: {record.what} (1a2b3c4d)"
    assert ": worked: " in as_line(REDIS_WORKED)
    assert ": decision: " in as_line(said("We decided to use Redis for sessions"))
    shared = record._replace(trust="foreign", author="bob")
    assert "from bob as claimed, unverified" in as_line(shared)


def test_only_current_records_are_reported_as_opposites(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    old = memory.remember(OFFSET_FAILED, USER)
    assert old is not None
    new = said("Offset pagination is fine below 10k rows", WORKED)

    found = contradicting(memory, new)
    memory.forget([old.id], USER)
    afterwards = contradicting(memory, new)
    memory.close()

    assert [record.id for record in found] == [old.id]
    assert afterwards == []


def test_opposite_local_records_of_another_session_are_not_reported(tmp_path: Path) -> None:
    memory = open_memory(tmp_path)
    memory.remember(OFFSET_FAILED._replace(scope="local"), USER)
    new = said("Offset pagination is fine below 10k rows", WORKED)

    elsewhere = contradicting(memory, new._replace(session="s2"))
    here = contradicting(memory, new._replace(session=USER.session))
    memory.close()

    assert elsewhere == []
    assert len(here) == 1
