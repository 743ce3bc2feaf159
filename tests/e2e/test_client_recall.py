"""What a person said in one session reaches the model in the next, where it matters and once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, blocks, injected
from e2e.harness.script import Script, delegate
from e2e.harness.session import Session

pytestmark = pytest.mark.e2e

DECISION = "let's use PostgreSQL for the analytics DB because it handles our query load"
QUESTION = "Which database should the analytics service talk to?"
COMPACT = "/compact keep it short"


def state(home: Home, *decisions: str) -> Result:
    """A session in which the user states decisions and the model only acknowledges."""
    return home.session(Script(prompts=decisions, main=("Understood.",) * len(decisions)))


def ask(home: Home, *prompts: str) -> Result:
    """A session in which nothing the user or the model says names the decision."""
    return home.session(Script(prompts=prompts))


def test_a_decision_stated_in_one_session_is_in_the_first_request_of_the_next(home: Home) -> None:
    state(home, DECISION)

    later = ask(home, QUESTION)

    assert any("PostgreSQL" in block for block in blocks(later.main_texts[0]))


def test_the_reason_comes_along_with_the_decision(home: Home) -> None:
    state(home, DECISION)

    later = ask(home, QUESTION)

    assert any("handles our query load" in block for block in blocks(later.main_texts[0]))


def test_one_session_is_told_a_decision_once(home: Home) -> None:
    state(home, DECISION)

    later = ask(home, QUESTION, QUESTION, "And where does the analytics DB run?")

    told = [block for block in blocks(later.main_texts[-1]) if "PostgreSQL" in block]
    assert len(told) == 1


def test_a_decision_that_the_session_block_leaves_out_comes_with_a_paraphrased_prompt(
    home: Home,
) -> None:
    things = "billing shipping catalogue checkout loyalty pricing search basket stock refunds"
    newer = (f"We decided to use queue-{t} for the {t} worker." for t in things.split())
    state(home, DECISION, *newer)

    later = ask(home, "Please rename the login button.", QUESTION, QUESTION)

    first, second, third = later.main_texts
    assert "PostgreSQL" not in first
    assert any("PostgreSQL" in told for told in injected(second, "UserPromptSubmit"))
    assert injected(third, "UserPromptSubmit") == injected(second, "UserPromptSubmit")


def test_a_subagent_is_told_and_its_parent_not_twice(home: Home) -> None:
    state(home, DECISION)
    script = Script(
        prompts=("Please have the schema reviewed.",),
        main=(delegate("Review the schema of the analytics DB."), "It was reviewed."),
        subagent=("Looks fine.",),
    )

    later = home.session(script)

    [subagent] = later.requests("subagent")
    briefed = injected(subagent.text, "SubagentStart")
    assert any("PostgreSQL" in block for block in briefed)
    told = [block for block in blocks(later.main_texts[-1]) if "PostgreSQL" in block]
    assert len(told) == 1
    assert not set(told) & set(briefed)


def test_a_decision_of_this_session_is_back_after_compaction(home: Home) -> None:
    script = Script(prompts=(DECISION, COMPACT, "Go on."), main=("Understood.",))

    session = home.session(script)

    restored = injected(session.main_texts[-1], "SessionStart")
    assert len(session.requests("compact")) == 1
    assert any("PostgreSQL" in block for block in restored)


def test_a_decision_of_an_earlier_session_is_back_after_compaction(home: Home) -> None:
    state(home, DECISION)

    later = ask(home, QUESTION, COMPACT, "Go on.")

    told = [block for block in blocks(later.main_texts[-1]) if "PostgreSQL" in block]
    assert len(later.requests("compact")) == 1
    assert len(told) == 1


def test_compaction_is_asked_for_in_the_users_words_alone(home: Home) -> None:
    state(home, DECISION)

    later = ask(home, QUESTION, COMPACT, "Go on.")

    [summary] = later.requests("compact")
    instructions = summary.text.rpartition("Additional Instructions:")[2]
    assert instructions.strip().startswith("keep it short")
    assert blocks(instructions) == []


def test_an_unrelated_prompt_receives_nothing_beyond_the_session_block(home: Home) -> None:
    state(home, DECISION)

    later = ask(home, "Please rename the button on the login page to Continue.")

    assert injected(later.main_texts[0], "UserPromptSubmit") == []
    assert len(blocks(later.main_texts[0])) == 1


def test_another_project_in_the_same_home_is_told_nothing(home: Home) -> None:
    state(home, DECISION)
    home.project = home.root / "another-project"
    home.project.mkdir()

    later = ask(home, QUESTION)

    assert "PostgreSQL" not in later.all_text


def test_a_forked_session_remembers(home: Home) -> None:
    first = state(home, DECISION)
    fork = ("--resume", first.session_id, "--fork-session")

    later = home.session(Script(prompts=("Go on.", COMPACT, QUESTION), arguments=fork))

    assert later.session_id != first.session_id
    assert any("PostgreSQL" in block for block in blocks(later.main_texts[-1]))


def test_notices_for_the_user_are_in_no_request(home: Home) -> None:
    first = home.session(
        Script(
            prompts=(DECISION, COMPACT, "Go on."),
            main=(delegate("Plan the migration of the analytics DB."), "Done."),
            subagent=("We decided to use Flyway for migrations because it is plain SQL.",),
        )
    )
    later = ask(home, QUESTION)

    said = first.own_notices + later.own_notices
    assert said
    for notice in said:
        assert notice not in first.all_text + later.all_text


def test_two_sessions_at_once_both_remember_and_nothing_is_lost(home: Home) -> None:
    left = ("PostgreSQL for billing", "Redis for the cache", "Celery for the queue")
    right = ("FastAPI for the API", "React for the frontend", "Docker for deployment")

    with home.open() as one, home.open() as other, ThreadPoolExecutor(2) as at_once:
        for choices in zip(left, right, strict=True):
            sayings = [f"We decided to use {choice} because it is proven." for choice in choices]
            list(at_once.map(Session.say, (one, other), sayings))
        results = (one.end(), other.end())

    assert [result.exit_code for result in results] == [0, 0]
    [block] = blocks(ask(home, "Hello there.").main_texts[0])
    missing = [c for c in left + right if c.split()[0] not in block]
    assert missing == []


def test_every_hook_of_an_ordinary_day_ends_well(home: Home) -> None:
    script = Script(
        prompts=(DECISION, "Please have it reviewed.", COMPACT, "Go on."),
        main=("Understood.", delegate("Review the analytics DB."), "Reviewed."),
        subagent=("Looks fine.",),
    )

    session = home.session(script)

    assert [hook for hook in session.hooks if hook.exit_code != 0 or hook.stderr] == []
    assert session.complaints == []
    assert session.exit_code == 0
