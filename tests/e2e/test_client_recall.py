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

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
NOTED = (
    "Understood.\n\nNoted decision: PostgreSQL is used for the analytics DB. Why: it handles our "
    'query load. From: "let\'s use PostgreSQL for the analytics DB"'
)
QUESTION = "Which database should the analytics service talk to?"
WHERE = "And where does the analytics DB run?"
UNRELATED = "Please rename the button on the login page to Continue."
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
    return Days(home, first, ask(home, QUESTION, QUESTION, WHERE, COMPACT, "Go on."))


@pytest.fixture(scope="module")
def beside(days: Days) -> Result:
    """A session that begins with something else, and then has a subagent review the schema."""
    script = Script(
        prompts=(UNRELATED, "Please have the schema reviewed."),
        main=("Done.", delegate("Review the schema of the analytics DB."), "It was reviewed."),
        subagent=("Looks fine.",),
    )
    return days.home.session(script)


def ask(home: Home, *prompts: str) -> Result:
    """A session in which nothing the user or the model says names the decision."""
    return home.session(Script(prompts=prompts))


def told_of(text: str) -> list[str]:
    """The blocks of ours that hold the decision."""
    return [block for block in blocks(text) if "PostgreSQL is used" in block]


def test_a_decision_stated_in_one_session_is_in_the_first_request_of_the_next(days: Days) -> None:
    assert told_of(days.later.main_texts[0])


def test_a_decision_is_shown_with_its_reason(days: Days) -> None:
    assert any("handles our query load" in block for block in blocks(days.later.main_texts[0]))


def test_a_decision_is_shown_once_per_session(days: Days) -> None:
    third = days.later.main_texts[2]

    assert WHERE in third
    assert len(told_of(third)) == 1


def test_a_paraphrased_prompt_recalls_a_decision_missing_at_the_session_start(
    home: Home,
) -> None:
    home.attend()
    things = "billing shipping catalogue checkout loyalty pricing search basket stock refunds"
    things += " returns audit mail tax"  # more than the block has lines for
    newer = [f"We decided to use queue-{t} for the {t} worker" for t in things.split()]
    notes = [f'Noted decision: {n}. From: "{n}"' for n in newer]
    answers = (NOTED, "\n".join(("Understood.\n", *notes)))
    home.session(Script(prompts=(DECISION, ".\n\n".join(newer)), main=answers))

    later = ask(home, "Please rename the login button.", QUESTION, QUESTION)

    first, second, third = later.main_texts
    assert "PostgreSQL" not in first
    assert any("PostgreSQL" in told for told in injected(second, "UserPromptSubmit"))
    assert injected(third, "UserPromptSubmit") == injected(second, "UserPromptSubmit")


def test_a_subagent_gets_the_decision_and_its_parent_gets_it_only_once(beside: Result) -> None:
    [subagent] = beside.requests("subagent")
    briefed = injected(subagent.text, "SubagentStart")
    assert any("PostgreSQL" in block for block in briefed)
    told = told_of(beside.main_texts[-1])
    assert len(told) == 1
    assert not set(told) & set(briefed)


def test_a_decision_of_this_session_is_restored_after_compaction(days: Days) -> None:
    restored = injected(days.first.main_texts[-1], "SessionStart")

    assert len(days.first.requests("compact")) == 1
    assert any("PostgreSQL" in block for block in restored)


def test_a_decision_of_an_earlier_session_is_restored_after_compaction(days: Days) -> None:
    assert len(days.later.requests("compact")) == 1
    assert len(told_of(days.later.main_texts[-1])) == 1


def test_instructions_for_a_compaction_contain_only_the_users_own_words(days: Days) -> None:
    [summary] = days.later.requests("compact")
    instructions = summary.text.rpartition("Additional Instructions:")[2]
    assert instructions.strip().startswith("keep it short")
    assert blocks(instructions) == []


def test_an_unrelated_prompt_receives_nothing_beyond_the_session_block(beside: Result) -> None:
    first = beside.main_texts[0]

    assert injected(first, "UserPromptSubmit") == []
    assert len(blocks(first)) == 1


def test_another_project_in_the_same_home_gets_no_memories(
    days: Days, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(days.home, "project", days.home.root / "another-project")
    days.home.project.mkdir()

    later = ask(days.home, QUESTION)

    assert "PostgreSQL" not in later.all_text


def test_a_forked_session_recalls_the_decision(days: Days) -> None:
    fork = ("--resume", days.first.session_id, "--fork-session")

    later = days.home.session(Script(prompts=("Go on.", COMPACT, QUESTION), arguments=fork))

    assert later.session_id != days.first.session_id
    assert told_of(later.main_texts[-1])


def test_notices_for_the_user_are_not_sent_to_the_model(days: Days) -> None:
    said = days.first.own_notices + days.later.own_notices

    assert said
    for notice in said:
        assert notice not in days.first.all_text + days.later.all_text


def test_no_hook_fails_during_two_ordinary_days_of_work(days: Days) -> None:
    for session in (days.first, days.later):
        assert session.hooks
        assert [hook for hook in session.hooks if hook.exit_code != 0 or hook.stderr] == []
        assert session.complaints == []
        assert session.exit_code == 0


def test_two_concurrent_sessions_both_store_memories_without_loss(home: Home) -> None:
    left = ("PostgreSQL for billing", "Redis for the cache", "Celery for the queue")
    right = ("FastAPI for the API", "React for the frontend", "Docker for deployment")

    with home.open() as one, home.open() as other, ThreadPoolExecutor(2) as at_once:
        for choices in zip(left, right, strict=True):
            sayings = [f"Let's use {choice}, it is proven." for choice in choices]
            notes = [f"Noted decision: The shop uses {choice}." for choice in choices]
            list(at_once.map(Session.say, (one, other), sayings, notes))
        results = (one.end(), other.end())

    assert [result.exit_code for result in results] == [0, 0]
    [block] = blocks(ask(home, "Hello there.").main_texts[0])
    missing = [c for c in left + right if c.split()[0] not in block]
    assert missing == []
