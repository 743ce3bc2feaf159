"""Subagents in the real client: each starts with what its own task needs."""

from __future__ import annotations

import pytest

from e2e.harness.home import Home
from e2e.harness.result import Result, injected
from e2e.harness.script import Script, delegate
from e2e.harness.wire import Turn

pytestmark = pytest.mark.e2e

ANALYTICS = "let's use PostgreSQL for the analytics DB because it handles our query load"
TOKENS = "We decided to keep session tokens in Redis because lookups must be fast."
TUNING = """You are a senior engineer working on a web shop.

Working directory: /somewhere/on/this/machine

## Background
The nightly report has become slow, and most of its time goes into the analytics DB.

## Task
1. Find the slow queries of the report.
2. Propose a better schema for the analytics tables.

- Do not change application code.
Return a concise report with file paths. When you are done, finish with a summary."""
EXPIRY = "Users are logged out too early. Find out when session tokens expire, and make it later."
LOGO = "Rename the logo file to brand.svg."


def state(home: Home, *decisions: str) -> None:
    home.session(Script(prompts=decisions, main=("Understood.",) * len(decisions)))


def at_once(*calls: Turn) -> Turn:
    """A turn in which the model starts several subagents."""
    return {"blocks": ["Several at once.", *calls]}


def work(home: Home, *calls: Turn) -> Result:
    """A session in which the model delegates all this in one turn."""
    script = Script(
        prompts=("Please have it all done.",),
        main=(at_once(*calls), "It was done."),
        subagent=("Done.",) * len(calls),
    )
    return home.session(script)


def briefing(session: Result, task: str) -> str:
    """What the subagent with this task was told by us."""
    [request] = [r for r in session.requests("subagent") if task[-40:] in r.text]
    return "\n".join(injected(request.text, "SubagentStart"))


def test_two_parallel_subagents_of_one_type_are_each_given_what_their_task_needs(
    home: Home,
) -> None:
    state(home, ANALYTICS, TOKENS)

    later = work(home, delegate(TUNING), delegate(EXPIRY))

    assert "PostgreSQL" in briefing(later, TUNING)
    assert "Redis" in briefing(later, EXPIRY)
    assert max(len(briefing(later, task)) for task in (TUNING, EXPIRY)) <= 1200


def test_two_parallel_subagents_of_two_types_are_given_their_own_memories(home: Home) -> None:
    state(home, ANALYTICS, TOKENS)

    later = work(home, delegate(TUNING), delegate(EXPIRY, "claude"))

    assert "PostgreSQL" in briefing(later, TUNING)
    assert "Redis" not in briefing(later, TUNING)
    assert "Redis" in briefing(later, EXPIRY)
    assert "PostgreSQL" not in briefing(later, EXPIRY)


def test_one_after_the_other_each_subagent_is_given_its_own_memories(home: Home) -> None:
    state(home, ANALYTICS, TOKENS)
    script = Script(
        prompts=("Please have it all done.",),
        main=(delegate(TUNING), delegate(EXPIRY), "It was done."),
        subagent=("Done.", "Done."),
    )

    later = home.session(script)

    assert "PostgreSQL" in briefing(later, TUNING)
    assert "Redis" not in briefing(later, TUNING)
    assert "Redis" in briefing(later, EXPIRY)
    assert "PostgreSQL" not in briefing(later, EXPIRY)


def test_a_searching_subagent_is_given_what_is_surely_meant_and_else_nothing(home: Home) -> None:
    state(home, ANALYTICS, TOKENS)
    where = "Where does the code read the session tokens?"
    overview = "Describe the overall structure of this repository."

    told = work(home, delegate(where, "Explore"))
    silent = work(home, delegate(overview, "Explore"))

    assert "Redis" in briefing(told, where)
    assert briefing(silent, overview) == ""


def test_a_subagent_with_an_unrelated_task_is_given_nothing(home: Home) -> None:
    state(home, ANALYTICS, TOKENS)

    later = work(home, delegate(LOGO))

    assert briefing(later, LOGO) == ""
