"""Subagents in the real client: each starts with what its own task needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from e2e.harness.home import Home
from e2e.harness.result import injected
from e2e.harness.script import Script, delegate
from e2e.harness.stub import Request
from e2e.harness.wire import Turn

pytestmark = pytest.mark.e2e

STORES = "Let's take PostgreSQL for the analytics DB and Redis for session tokens."
NOTED = (
    "Understood.\n\n"
    "Noted decision: PostgreSQL is used for the analytics DB. Why: it handles our query load.\n"
    "Noted decision: Session tokens are kept in Redis. Why: lookups must be fast."
)
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


WHERE = "Where does the code read the session tokens?"
OVERVIEW = "Describe the overall structure of this repository."


def at_once(*calls: Turn) -> Turn:
    """A turn in which the model starts several subagents."""
    return {"blocks": ["Several at once.", *calls]}


@pytest.fixture(scope="module")
def work(shared_home: Callable[[], Home]) -> dict[str, list[Request]]:
    """Return what subagents read first that a session delegated to, after another had decided."""
    home = shared_home()
    home.session(Script(prompts=(STORES,), main=(NOTED,)))
    turns = {
        "one type": [at_once(delegate(TUNING), delegate(EXPIRY))],
        "searching": [delegate(WHERE, "Explore"), delegate(OVERVIEW, "Explore")],
        "unrelated": [delegate(LOGO)],
    }
    with home.open() as session:
        sent = {
            name: session.say("Please have it all done.", *calls, "It was done.")
            for name, calls in turns.items()
        }
        session.end()
    return sent


def briefing(sent: Sequence[Request], task: str) -> str:
    """Return what the subagent with this task was told by us."""
    subagents = [request for request in sent if request.kind == "subagent"]
    [request] = [request for request in subagents if task[-40:] in request.text]
    return "\n".join(injected(request.text, "SubagentStart"))


def test_two_parallel_subagents_of_one_type_each_get_memories_for_their_task(
    work: dict[str, list[Request]],
) -> None:
    told = {task: briefing(work["one type"], task) for task in (TUNING, EXPIRY)}

    assert "PostgreSQL" in told[TUNING]
    assert "Redis" in told[EXPIRY]
    assert max(len(text) for text in told.values()) <= 1200


def test_a_search_only_subagent_gets_only_memories_that_clearly_match(
    work: dict[str, list[Request]],
) -> None:
    assert "Redis" in briefing(work["searching"], WHERE)
    assert briefing(work["searching"], OVERVIEW) == ""


def test_a_subagent_with_an_unrelated_task_gets_no_memories(work: dict[str, list[Request]]) -> None:
    assert briefing(work["unrelated"], LOGO) == ""
