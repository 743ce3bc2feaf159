from __future__ import annotations

import pytest

from memory_fabric.models import Hit, Query
from memory_fabric.recall import inject
from memory_fabric.recall.inject import (
    MAX_EPISODES,
    MAX_HITS,
    above_floor,
    choose,
    is_silent,
    shortlist,
)
from memory_fabric.recall.parse import parse
from recall.given import a_hit


def prompt(text: str) -> Query:
    return parse(text, plain=True)


def a_match(text: str, *matched: str, coverage: float = 0.5, **fields: object) -> Hit:
    metadata = {"matched": list(matched), "coverage": coverage}
    return a_hit(text, metadata=metadata | dict(fields.pop("metadata", {})), **fields)  # type: ignore[call-overload]


TRACE = """Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    import redis
  File "/usr/lib/importer.py", line 10, in load
    module = find(name);
  at java.lang.Thread.run(Thread.java:748)
[2026-01-01 10:00:00] ERROR celery worker died {}
2026-01-01 10:00:01 redis.exceptions.ConnectionError
ModuleNotFoundError: No module named 'redis'
"""


@pytest.mark.parametrize(
    "text",
    ["", "hi", "yes", "ok, continue", "thanks!", "please fix it", "run the tests", "go on", TRACE],
)
def test_greetings_nods_and_pasted_logs_get_nothing(text: str) -> None:
    query = prompt(text)

    assert is_silent(query)
    assert above_floor([a_match("Redis", "redis", coverage=1.0)], query) == []


def test_a_prompt_about_the_memory_gets_it() -> None:
    query = prompt("Implement pagination for the users endpoint")
    hit = a_match("Use cursor pagination for endpoints", "pagination", "endpoint", coverage=0.7)

    assert above_floor([hit], query) == [hit]


def test_one_ordinary_word_in_common_is_not_enough() -> None:
    query = prompt("set the window title of the editor")

    assert (
        above_floor([a_match("Close the window in winter", "window", coverage=0.25)], query) == []
    )


def test_a_prompt_about_somebody_unknown_needs_more_than_a_known_one() -> None:
    hit = a_match("Pottery class starts in July", "pottery", "class", coverage=0.2)
    known = a_match("Melanie signed up for a pottery class", "pottery", "class", coverage=0.2)

    stranger = prompt("When does Melanie go to the pottery class with her kids and friends?")
    nobody = prompt("When does the pottery class with the kids and friends start?")

    assert above_floor([hit], stranger) == []
    assert above_floor([hit], nobody) == [hit]
    assert above_floor([known], stranger) == [known]


def test_a_capital_at_the_start_of_a_sentence_is_nobody() -> None:
    hit = a_match("Session tokens live in Redis", "session", "tokens", coverage=0.25)
    query = prompt("Users are logged out too early. Find out when session tokens expire.")

    assert above_floor([hit], query) == [hit]


def test_words_of_every_prompt_are_never_enough() -> None:
    query = prompt("use the same approach for invoices")
    hit = a_match("use an approach", "use", "approach", coverage=0.6)

    assert above_floor([hit], query) == []


def test_a_memory_that_a_long_prompt_spells_out_is_meant() -> None:
    query = prompt("We talked about many things: alpha beta gamma delta, and retry budgets, too")
    hit = a_match("retry budgets", "retry", "budgets", coverage=0.1)

    assert above_floor([hit], query) == [hit]


def test_a_named_entity_needs_less_beside_it_while_few_memories_share_it() -> None:
    query = prompt("write a parser for ledgers with pytest")
    one = a_match("Prefer fixtures", "pytest", coverage=0.2, entities=("pytest",))
    many = [one._replace(id=f"record:{i}") for i in range(40)]

    assert above_floor([one], query) == [one]
    assert above_floor(many, query) == []


def test_what_is_over_is_never_pushed() -> None:
    query = prompt("redis session expiry")
    hit = a_match("redis", "redis", "session", coverage=1.0, metadata={"over": True})

    assert above_floor([hit], query) == []


def test_what_the_session_has_or_memory_md_shows_is_not_repeated() -> None:
    query = prompt("redis session expiry")
    metadata = {"record": "1"}
    hit = a_match("redis", "redis", "session", coverage=1.0, id="record:1", metadata=metadata)

    assert above_floor([hit], query) == [hit]
    assert above_floor([hit], query, seen={"record:1"}) == []
    assert above_floor([hit], query, shown={"1"}) == []


def test_past_turns_need_to_be_strong_and_no_questions() -> None:
    query = prompt("redis session expiry")

    def turn(text: str, coverage: float) -> Hit:
        return a_match(text, "redis", "session", coverage=coverage, source="episodes")

    weak = inject.EPISODE_COVERAGE - 0.01
    assert above_floor([turn("redis session", weak)], query) == []
    assert above_floor([turn("redis session?", 0.9)], query) == []
    assert len(above_floor([turn("redis session", 0.9)], query)) == 1


def test_facts_come_before_past_turns_and_both_are_few() -> None:
    turns = [a_hit(f"t{i}", id=f"episode:{i}", source="episodes", relevance=0.9) for i in range(9)]
    facts = [a_hit(f"f{i}", id=f"record:{i}", relevance=0.8) for i in range(3)]

    chosen = choose([*turns, *facts])

    assert [hit.source for hit in chosen] == ["records"] * 3 + ["episodes"] * MAX_EPISODES
    assert len(choose(facts * 9)) == MAX_HITS


def test_many_strong_past_turns_never_crowd_out_a_fact() -> None:
    said = [a_hit(f"turn {n}", source="episodes", id=f"episode:{n}") for n in range(30)]
    facts = [a_hit(f"fact {n}", id=f"record:{n}") for n in range(30)]

    kept = shortlist([*said, *facts])

    assert choose(kept)[:MAX_HITS] == facts[:MAX_HITS]
    assert len(kept) == 2 * (MAX_HITS + MAX_EPISODES)
    assert shortlist(said[:1]) == said[:1]


def test_what_is_far_below_the_best_is_left_out() -> None:
    chosen = choose([a_hit(id="record:1", relevance=0.9), a_hit(id="record:2", relevance=0.3)])

    assert [hit.id for hit in chosen] == ["record:1"]
