"""Words of one session that reach the model in the next, where they matter and once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, blocks, injected
from e2e.harness.script import Script, delegate
from e2e.harness.session import Session
from e2e.harness.tiers import tiers

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
NOTED = (
    "Understood.\n\nNoted decision: PostgreSQL is used for the analytics DB. Why: it handles our "
    'query load. From: "let\'s use PostgreSQL for the analytics DB"'
)
QUESTION = "Which database should the analytics service talk to?"
WHERE = "And where does the analytics DB run?"
REVIEW, TASK = "Please have the schema reviewed.", "Review the schema of the analytics DB."
COMPACT = "/compact keep it short"


@dataclass(frozen=True, slots=True)
class Days:
    """A home, the session in which its user decided, and one that asks about it."""

    home: Home
    first: Result
    later: Result


@pytest.fixture(scope="module")
def days(shared_home: Callable[[], Home]) -> Days:
    """Nothing that the user or the model says in the later session names the decision."""
    home = shared_home()
    script = Script(
        prompts=(DECISION, "Please have it planned.", COMPACT, "Go on."),
        main=(NOTED, delegate("Plan the migration of the analytics DB."), "Done."),
        subagent=("Noted decision: Flyway runs the migrations. Why: it is plain SQL.",),
    )
    first = home.session(script)
    later = Script(
        prompts=(QUESTION, QUESTION, WHERE, REVIEW, COMPACT, "Go on."),
        main=("It does.", "It does.", "Here.", delegate(TASK), "It was reviewed."),
        subagent=("Looks fine.",),
    )
    return Days(home, first, home.session(later))


def told_of(text: str) -> list[str]:
    """The blocks of ours that hold the decision."""
    return [block for block in blocks(text) if "PostgreSQL is used" in block]


def test_the_next_session_is_shown_a_decision_in_its_first_request(days: Days) -> None:
    assert told_of(days.later.main_texts[0])


def test_a_decision_is_shown_together_with_its_reason(days: Days) -> None:
    assert any("handles our query load" in block for block in blocks(days.later.main_texts[0]))


def test_a_decision_is_shown_only_once_per_session(days: Days) -> None:
    third = days.later.main_texts[2]

    assert WHERE in third
    assert len(told_of(third)) == 1


def test_a_subagent_is_shown_a_decision_and_its_parent_sees_it_only_once(
    days: Days,
) -> None:
    [subagent] = days.later.requests("subagent")
    briefed = injected(subagent.text, "SubagentStart")
    assert any("PostgreSQL" in block for block in briefed)
    [reviewed] = [text for text in days.later.main_texts if "Looks fine." in text]
    told = told_of(reviewed)
    assert len(told) == 1
    assert not set(told) & set(briefed)


def test_a_decision_of_the_current_session_is_restored_after_a_compaction(days: Days) -> None:
    restored = injected(days.first.main_texts[-1], "SessionStart")

    assert len(days.first.requests("compact")) == 1
    assert any("PostgreSQL" in block for block in restored)


def test_a_decision_of_an_earlier_session_is_restored_after_a_compaction(days: Days) -> None:
    assert len(days.later.requests("compact")) == 1
    assert len(told_of(days.later.main_texts[-1])) == 1


def test_hooks_leave_the_users_instructions_for_a_compaction_unchanged(days: Days) -> None:
    [summary] = days.later.requests("compact")
    instructions = summary.text.rpartition("Additional Instructions:")[2]
    assert instructions.strip().startswith("keep it short")
    assert blocks(instructions) == []


def test_a_decision_is_restored_after_a_compaction_in_a_forked_session(days: Days) -> None:
    fork = ("--resume", days.first.session_id, "--fork-session")

    later = days.home.session(Script(prompts=("Go on.", COMPACT, QUESTION), arguments=fork))

    assert later.session_id != days.first.session_id
    assert told_of(later.main_texts[-1])


def test_notices_for_the_user_are_not_sent_to_the_model(days: Days) -> None:
    said = days.first.own_notices + days.later.own_notices

    assert said
    for notice in said:
        assert notice not in days.first.all_text + days.later.all_text


def test_no_hook_fails_in_two_ordinary_sessions(days: Days) -> None:
    for session in (days.first, days.later):
        assert session.hooks
        assert [hook for hook in session.hooks if hook.exit_code != 0 or hook.stderr] == []
        assert session.complaints == []
        assert session.exit_code == 0


def test_two_concurrent_sessions_store_memories_without_losing_any(home: Home) -> None:
    left = ("PostgreSQL for billing", "Redis for the cache", "Celery for the queue")
    right = ("FastAPI for the API", "React for the frontend", "Docker for deployment")

    with home.open() as one, home.open() as other, ThreadPoolExecutor(2) as at_once:
        for choices in zip(left, right, strict=True):
            sayings = [f"Let's use {choice}, it is proven." for choice in choices]
            notes = [f"Noted decision: The shop uses {choice}." for choice in choices]
            list(at_once.map(Session.say, (one, other), sayings, notes))
        results = (one.end(), other.end())

    assert [result.exit_code for result in results] == [0, 0]
    kept = "\n".join(tiers(home).told)
    assert [choice for choice in left + right if choice not in kept] == []
