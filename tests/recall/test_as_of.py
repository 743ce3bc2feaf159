"""As memory stood then, questions about the past, and events that date a question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as for_any
from hypothesis import strategies as st

from memory_fabric.language.times import moment
from memory_fabric.models import Record
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.memory import Memory
from recall.given import on, open_memory, remember

NOW = "2026-03-01T12:00:00.000Z"
DAYS = ("2026-01-05", "2026-01-15", "2026-02-03", "2026-02-20")


def at(day: str) -> str:
    return f"{day}T10:00:00.000Z"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    yield memory
    memory.close()


def archive(memory: Memory) -> tuple[Record, Record]:
    """MongoDB on 5 January, Postgres in its place on 3 February."""
    old = remember(
        memory, "Use MongoDB for the order archive", names=["MongoDB"], by=on("2026-01-05")
    )
    new = memory.remember(
        Record(
            "decision",
            "We moved the order archive from MongoDB to Postgres",
            confidence=0.8,
            entities=(*old.entities,),
        ),
        on("2026-02-03"),
        [old.id],
    )
    assert new is not None
    return old, new


def found(memory: Memory, text: str) -> dict[str, dict[str, object]]:
    answer = answer_as_json(Fabric(memory, NOW).recall(text))
    return {r["id"].removeprefix("record:"): r["metadata"] for r in answer["results"]}


def test_as_of_shows_a_record_that_was_closed_later_as_open(memory: Memory) -> None:
    old, new = archive(memory)

    then = found(memory, "order archive as_of:2026-01-20")
    assert set(then) >= {old.id} and new.id not in then
    assert (then[old.id]["over"], then[old.id]["superseded_by"]) == (False, "")
    assert then[old.id]["days_since"] == 15

    later = found(memory, "order archive as_of:2026-02-03")
    assert later[old.id]["over"] is True
    assert later[old.id]["superseded_by"] == new.id
    assert new.id in later


def test_as_of_ignores_observations_and_relations_created_later(memory: Memory) -> None:
    archive(memory)
    memory.write(
        "create_entities",
        {
            "entities": [
                {"name": "order-archive", "entityType": "component", "observations": ["is slow"]}
            ]
        },
        on("2026-02-20"),
    )
    memory.write(
        "create_relations",
        {"relations": [{"from": "order-archive", "relationType": "uses", "to": "MongoDB"}]},
        on("2026-02-20"),
    )
    fabric = Fabric(memory, NOW)

    then = fabric.recall('What uses the order archive and MongoDB? as_of:"2026-01-20"')
    now = fabric.recall("What uses the order archive and MongoDB?")

    assert not then.paths and now.paths
    assert all(hit.timestamp <= "2026-01-21" for hit in then.hits)
    assert not any(hit.graph_relations for hit in then.hits)


@for_any(st.sampled_from(DAYS), st.lists(st.sampled_from(DAYS), max_size=6))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_as_of_returns_no_hit_from_a_later_day(memory: Memory, day: str, days: list[str]) -> None:
    for n, stated in enumerate(days):
        remember(memory, f"Archive rule {n} of {stated}", by=on(stated))

    hits = Fabric(memory, NOW).recall("archive rule", as_of=f"{day}T23:59:59.999Z", limit=50).hits
    newest = Fabric(memory, NOW).recall("", as_of=f"{day}T23:59:59.999Z", limit=50).hits

    assert all(hit.timestamp[:10] <= day for hit in (*hits, *newest))
    assert not any(hit.metadata["days_since"] is None for hit in hits)


def test_a_replaced_record_is_not_ranked_lower_in_a_question_about_the_past(memory: Memory) -> None:
    old, _ = archive(memory)
    fabric = Fabric(memory, NOW)

    past = {h.id: h.score for h in fabric.recall("What did we use for the order archive?").hits}
    now = {h.id: h.score for h in fabric.recall("What do we use for the order archive?").hits}

    assert past[f"record:{old.id}"] > 1.5 * now[f"record:{old.id}"]


@pytest.mark.parametrize(
    ("text", "searched", "typed"),
    [
        ("what did we use before Postgres?", True, True),
        ("we used to deploy where?", True, True),
        ("which database did we have in March?", True, False),
        ("what was the old queue?", True, False),
        ("Run the tests before you commit", True, False),
        ("Can you run the tests before you commit?", True, False),
        ("Did they have another queue earlier?", True, True),
        ("what was formerly called the archive?", True, True),
        ("What carried our jobs before SQS?", True, True),
        ("Which checks must pass before a release?", True, False),
        ("what are the tools we used to deploy with?", True, True),
        ("which tool is used to deploy?", False, False),
        ("what are those flags mostly used to do?", False, False),
        ("which database do we use?", False, False),
        ("how is the archive used?", False, False),
    ],
)
def test_a_typed_prompt_must_refer_to_the_past_more_clearly_than_a_search_query(
    text: str, *, searched: bool, typed: bool
) -> None:
    assert parse(text).past is searched
    assert parse(text, plain=True).past is typed


@pytest.mark.parametrize(
    ("question", "period"),
    [
        ("order archive before the migration", ("0001-01-01", "2026-02-03")),
        ("order archive until we moved to Postgres", ("0001-01-01", "2026-02-03")),
        ("order archive after the move to Postgres", ("2026-02-03", "9999-12-31")),
        ("order archive since Postgres", ("2026-02-03", "9999-12-31")),
        ("order archive before the rewrite", None),
        ("order archive before Monday", None),
        ("order archive since last week", None),
        ("order archive after 2025", None),
        ("order archive before", None),
        ("what holds the order archive?", None),
    ],
)
def test_a_question_about_the_time_before_or_after_a_recorded_event_gets_a_date_range(
    memory: Memory, question: str, period: tuple[str, str] | None
) -> None:
    archive(memory)

    query = Fabric(memory, NOW).recall(question).query

    assert query.spans == ((period,) if period else ())


def test_the_record_from_before_or_after_the_event_in_a_question_is_ranked_first(
    memory: Memory,
) -> None:
    old, new = archive(memory)
    fabric = Fabric(memory, NOW)

    before = fabric.recall("order archive before the migration")
    after = fabric.recall("order archive after the move to Postgres")

    assert before.hits[0].id == f"record:{old.id}"
    assert after.hits[0].id == f"record:{new.id}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-15", "2026-01-15T23:59:59.999Z"),
        ("2026-01", "2026-01-31T23:59:59.999Z"),
        ("2025", "2025-12-31T23:59:59.999Z"),
        ("last month", "2026-02-28T23:59:59.999Z"),
        ("7d", "2026-02-22T23:59:59.999Z"),
        ("2026-01-15T10:00:00+01:00", "2026-01-15T09:00:00.000Z"),
        ("2027-01-15", NOW),
        ("soon", ""),
        ("2026-13", ""),
    ],
)
def test_as_of_uses_the_end_of_the_given_day_month_or_year(text: str, expected: str) -> None:
    assert moment(text, NOW) == expected


def test_a_pinned_memory_is_never_stale(memory: Memory) -> None:
    old = on("2025-01-05")
    kept = remember(memory, "Archive rule one", by=old, pinned=True)
    other = remember(memory, "Archive rule two", by=old)

    marks = found(memory, "archive rule")

    assert (marks[kept.id]["stale"], marks[other.id]["stale"]) == (False, True)


def test_a_named_event_is_dated_by_its_first_record_and_others_by_the_latest(
    memory: Memory,
) -> None:
    archive(memory)
    for day in ("2026-02-10", "2026-02-20"):
        step = f"The migration to Postgres reached step {day[-2:]}"
        remember(memory, step, names=["Postgres"], by=on(day))
    fabric = Fabric(memory, NOW)

    def span(question: str) -> tuple[tuple[str, str], ...]:
        return fabric.recall(question).query.spans

    assert span("order archive before the Postgres migration") == (("0001-01-01", "2026-02-03"),)
    assert span("order archive before the migration") == (("0001-01-01", "2026-02-20"),)
    assert span("order archive after the migration") == (("2026-02-20", "9999-12-31"),)


@pytest.mark.parametrize(
    ("question", "is_dated"),
    [
        ("order archive before all that we had of migration", True),
        ("order archive before all that we had of the migration", False),
        ("order archive before 3 migrations", False),
        ("order archive after lunch before the migration", True),
        ("order archive before the migration".ljust(500, "?"), True),
        ("order archive before the migration".ljust(501, "?"), False),
    ],
)
def test_the_first_words_after_before_can_name_an_event_in_a_question_of_500_characters(
    memory: Memory, question: str, *, is_dated: bool
) -> None:
    archive(memory)

    assert bool(Fabric(memory, NOW).recall(question).query.spans) is is_dated
